// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "base/new_file.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

struct err *new_file_open(struct new_file *f, const char *path)
{
	*f = (struct new_file){ .path = strdup(path) };
	if (!f->path || asprintf(&f->partial, "%s.part", path) < 0) {
		f->partial = NULL;
		return &err_nomem;
	}
	f->stream = fopen(f->partial, "we");
	if (!f->stream)
		return err_errno("cannot write '%s'", path);
	return NULL;
}

struct err *new_file_commit(struct new_file *f)
{
	bool is_broken = fflush(f->stream) || ferror(f->stream);

	if (fclose(take_ptr(&f->stream)) || is_broken || rename(f->partial, f->path)) {
		struct err *err = err_errno("cannot write '%s'", f->path);

		unlink(f->partial);
		free(take_ptr(&f->partial));
		return err;
	}
	free(take_ptr(&f->partial));
	return NULL;
}

void new_file_deinit(struct new_file *f)
{
	if (f->stream) {
		fclose(take_ptr(&f->stream));
		unlink(f->partial);
	}
	free(take_ptr(&f->partial));
	free(take_ptr(&f->path));
}
