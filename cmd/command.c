// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "cmd/command.h"

#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "faultlocate/fl_process.h"

void cmd_command_push(struct argp_state *state, fl_texts *v, const char *text)
{
	const char **slot = vec_push(v);

	if (!slot)
		argp_failure(state, argp_err_exit_status, 0, "out of memory");
	else
		*slot = text;
}

struct err *cmd_command_process(const char *capture, const char *process,
				const fl_texts *specs, char **ret)
{
	_cleanup_free_ char *note = NULL;
	struct err *err;

	if (process)
		return capture_process_dir(capture, process, ret);
	err = fl_process_choose(capture, specs->data, specs->size, ret, &note);
	if (note)
		log_note("%schoose with --process", note);
	return err;
}

struct err *cmd_command_note_map(void *maps, const struct dec_where *w)
{
	return vec_add((cmd_maps *)maps, *w);
}

struct err *cmd_command_symbols(const struct capture *c, const cmd_maps *maps,
				const char *sources, struct dec_symbols **ret)
{
	struct err *err = dec_symbols_create(c, ret);

	for (size_t i = 0; maps && i < maps->size && !err; i++) {
		const struct dec_where *w = &maps->data[i];

		err = dec_symbols_add(*ret, w->map.file, w->map.addr, w->map.size,
				      w->map.file_offset);
	}
	if (!err)
		dec_symbols_sources(*ret, sources);
	return err;
}

static void show(const char *what, uint64_t position)
{
	if (isatty(STDERR_FILENO))
		fprintf(stderr, TEXT_AGAIN "faultline: %s %lu million instructions", what,
			position / 1000000);
}

void cmd_command_show_reading(void *ctx, uint64_t position)
{
	(void)ctx;
	show("read the run up to", position);
}

void cmd_command_show_way_back(void *ctx, uint64_t position)
{
	(void)ctx;
	show("back at", position);
}

void cmd_command_show_end(void)
{
	if (isatty(STDERR_FILENO))
		fputs(TEXT_AGAIN, stderr);
}

void cmd_command_tell_trace(const struct capture *c, struct fl_trace *trace,
			    const char *lost)
{
	const struct dec_where *end = fl_trace_end(trace);
	const struct cap_info *info = capture_info(c);
	_cleanup_free_ char *notes =
		strdup(dec_machine_notes(fl_trace_machine(trace)) ?: "");
	char *rest = notes, *line;

	if (end->at == DEC_AT_DIVERGENCE)
		log_note(
			"the replay leaves the recorded path at position %lu: %s behind it "
			"(`faultline replay --explain' says why)",
			end->position, lost);
	else if (end->is_cut)
		log_note("the capture ends early, at position %lu", end->position);
	for (size_t i = 0; i < info->n_missing && !end->is_cut; i++)
		log_note("the capture is not complete: %s", text_line(info->missing[i]));
	while ((line = strsep(&rest, "\n")))
		if (*line)
			log_note("%s", text_line(line));
}

void cmd_command_add_notes(cJSON *o, const line_list *notes)
{
	cJSON *list = cJSON_AddArrayToObject(o, "notes");

	for (size_t i = 0; i < notes->size; i++)
		cJSON_AddItemToArray(list, cJSON_CreateString(notes->data[i]));
}

void cmd_command_put_quoted(FILE *out, const char *text)
{
	fputs(" '", out);
	for (; *text; text++)
		if (*text == '\'')
			fputs("'\\''", out);
		else
			fputc(*text, out);
	fputc('\'', out);
}

void cmd_command_print_json(cJSON *o)
{
	_cleanup_free_ char *text = cJSON_PrintUnformatted(o);

	puts(text ?: "{}");
	cJSON_Delete(o);
}

int cmd_command_flush(int status)
{
	if (!fflush(stdout) && !ferror(stdout))
		return status;
	fprintf(stderr, "faultline: cannot write to stdout: %s\n", strerror(errno));
	return 2;
}
