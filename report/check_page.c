// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What bug rules found, as a page: the text, finding by finding.
 */
#include <string.h>

#include "base/file.h"
#include "report/check.h"

static const char head[] =
	"<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
	"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
	"style-src 'unsafe-inline'\">\n<meta name=\"viewport\" content=\"width=device-width\">"
	"<title>Faultline: check</title>\n<style>:root{color-scheme:light dark}"
	"body{font:14px/1.5 system-ui,sans-serif;max-width:70rem;margin:1rem auto;padding:0 1rem}"
	"pre{font:12px/1.5 ui-monospace,monospace;overflow-x:auto;white-space:pre-wrap}"
	"</style></head>\n<body><h1>What is wrong</h1>\n<pre>";

struct err *report_check_html(const struct fl_analysis *a, const report_findings *f,
			      const char *path)
{
	_cleanup_(new_file_deinit) struct new_file file = {};
	_cleanup_free_ char *text = NULL;
	size_t n = 0;
	FILE *memory = open_memstream(&text, &n);
	struct err *err = memory ? report_check_text(a, f, memory) : &err_nomem;

	if (memory && fclose(memory) && !err)
		err = &err_nomem;
	if (!err)
		err = new_file_open(&file, path, 0666);
	if (err)
		return err;
	fputs(head, file.stream);
	text_put_markup(file.stream, text, n);
	fputs("</pre></body></html>\n", file.stream);
	return new_file_commit(&file);
}
