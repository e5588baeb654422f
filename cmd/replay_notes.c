// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "cmd/replay_notes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/text.h"

#define PROCESSES_SHOWN 4

static struct err *add(struct replay_notes *n, const char *line, uint32_t process)
{
	struct replay_note *note = vec_find(&n->list, e, text_has_line(e->text, line));

	if (!note) {
		note = vec_push(&n->list);
		if (!note)
			return &err_nomem;
		note->text = strdup(line);
		if (!note->text) {
			n->list.size--;
			return &err_nomem;
		}
	}
	if (note->processes.size &&
	    note->processes.data[note->processes.size - 1] == process)
		return NULL;
	return vec_add(&note->processes, process);
}

struct err *cmd_replay_notes_add(struct replay_notes *n, const char *lines,
				 uint32_t process)
{
	struct err *err = NULL;

	while (lines && *lines && !err) {
		size_t length = strcspn(lines, "\n");
		_cleanup_free_ char *line = strndup(lines, length);

		err = line ? add(n, line, process) : &err_nomem;
		lines += length + (lines[length] == '\n');
	}
	return err;
}

/** " (processes 1, 4)" */
static void print_processes(const struct replay_note *note, FILE *out)
{
	size_t n = note->processes.size;

	fprintf(out, " (process%s ", n == 1 ? "" : "es");
	for (size_t i = 0; i < n && i < PROCESSES_SHOWN; i++)
		fprintf(out, "%s%u", i ? ", " : "", note->processes.data[i]);
	if (n > PROCESSES_SHOWN)
		fprintf(out, " and %zu more", n - PROCESSES_SHOWN);
	fputc(')', out);
}

void cmd_replay_notes_tell(struct replay_notes *n, size_t n_processes)
{
	for (size_t i = 0; i < n->list.size; i++) {
		struct replay_note *note = &n->list.data[i];
		char whose[128] = "";
		FILE *out = fmemopen(whose, sizeof(whose), "w");

		if (out && n_processes > 1)
			print_processes(note, out);
		if (out)
			fclose(out);
		log_note("%s%s", note->text, whose);
		free(note->text);
		vec_deinit(&note->processes);
	}
	vec_deinit(&n->list);
}
