// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * faultline dump --processes: who created whom.
 */
#define LOG_ROOM "capture"
#include <cjson/cJSON.h>
#include <inttypes.h>

#include "cmd/dump_int.h"

#define COMMAND_MAX 100 ///< characters of a process' command line
#define DEPTH_MAX 200	///< deeper ones are not indented further

static bool has_value(enum cap_end end)
{
	return end == CAP_END_EXIT || end == CAP_END_SIGNAL;
}

/** The program itself, as one of the list. */
static struct cap_process program_of(const struct cap_info *info)
{
	return (struct cap_process){ .pid = info->pid,
				     .exe = info->exe,
				     .argv = info->argv,
				     .n_syscalls = info->n_syscalls,
				     .end = info->end,
				     .end_value = info->end_value,
				     .is_complete = info->is_complete };
}

/* ---- a tree ---------------------------------------------------------------------------- */

/** Positions in info->processes, plus 1; 0 = none. [0] is the program, [i + 1] position i. */
struct tree {
	const struct cap_info *info;
	size_t *first_child, *next;
};

static void print_process(const struct cap_process *p, unsigned depth, FILE *out)
{
	int left = COMMAND_MAX;
	char end[32];

	snprintf(end, sizeof(end), has_value(p->end) ? "%s %d" : "%s",
		 cap_end_name(p->end), p->end_value);
	fprintf(out, "%7u %7u %9" PRIu64 " %-10s %*s", p->index, p->pid, p->n_syscalls,
		end, 2 * (int)depth, "");
	if (!p->argv || !p->argv[0])
		fputs(text_line(p->exe ?: "?"), out);
	for (size_t i = 0; p->argv && p->argv[i] && left > 0; i++)
		left -= fprintf(out, "%s%.*s", i ? " " : "", left, text_line(p->argv[i]));
	if (left <= 0)
		fputs("...", out);
	if (p->index && !p->dir)
		fprintf(out, " (%s)", cap_process_nothing(p));
	else if (!p->is_complete)
		fputs(" (incomplete)", out);
	fputc('\n', out);
}

static void print_children(const struct tree *t, size_t of, unsigned depth, FILE *out)
{
	for (size_t i = t->first_child[of]; i; i = t->next[i]) {
		print_process(&t->info->processes[i - 1],
			      depth < DEPTH_MAX ? depth : DEPTH_MAX, out);
		print_children(t, i, depth + 1, out);
	}
}

/** Where the parent of process @p p is: before it, because it is older. */
static size_t find_parent(const struct cap_info *info, const struct cap_process *p)
{
	// By number they are in order; some may be missing when there is no manifest.
	size_t i = p->parent < info->n_processes ? p->parent : info->n_processes;

	while (i && info->processes[i - 1].index > p->parent)
		i--;
	return i && info->processes[i - 1].index == p->parent &&
			       &info->processes[i - 1] < p ?
		       i :
		       0;
}

struct err *cmd_dump_processes(const struct cap_info *info, FILE *out)
{
	_cleanup_free_ size_t *first_child =
		calloc(info->n_processes + 1, sizeof(*first_child));
	_cleanup_free_ size_t *next = calloc(info->n_processes + 1, sizeof(*next));
	struct tree t = { info, first_child, next };
	struct cap_process program = program_of(info);

	if (!first_child || !next)
		return &err_nomem;
	for (size_t i = info->n_processes; i; i--) {
		size_t parent = find_parent(info, &info->processes[i - 1]);

		next[i] = first_child[parent];
		first_child[parent] = i;
	}
	fputs("process     pid  syscalls end        command\n", out);
	print_process(&program, 0, out);
	print_children(&t, 0, 1, out);
	return NULL;
}

/* ---- JSON ------------------------------------------------------------------------------ */

static void json_deletep(cJSON **j)
{
	cJSON_Delete(*j);
}

static void add_text(cJSON *o, const char *name, const char *text)
{
	if (text)
		cJSON_AddStringToObject(o, name, text);
	else
		cJSON_AddNullToObject(o, name);
}

static struct err *print_json(const struct cap_process *p, FILE *out)
{
	_cleanup_(json_deletep) cJSON *o = cJSON_CreateObject();
	_cleanup_free_ char *text = NULL;
	cJSON *argv;

	cJSON_AddNumberToObject(o, "process", p->index);
	if (p->index) {
		cJSON_AddNumberToObject(o, "parent", p->parent);
		cJSON_AddStringToObject(o, "created", cap_created_name(p->created));
	}
	cJSON_AddNumberToObject(o, "pid", p->pid);
	add_text(o, "exe", p->exe);
	argv = cJSON_AddArrayToObject(o, "argv");
	for (size_t i = 0; p->argv && p->argv[i]; i++)
		cJSON_AddItemToArray(argv, cJSON_CreateString(p->argv[i]));
	if (p->index)
		add_text(o, "dir", p->dir);
	cJSON_AddNumberToObject(o, "syscalls", p->n_syscalls);
	cJSON_AddStringToObject(o, "end", cap_end_name(p->end));
	if (has_value(p->end))
		cJSON_AddNumberToObject(o, "end_value", p->end_value);
	cJSON_AddBoolToObject(o, "complete", p->is_complete);
	text = cJSON_PrintUnformatted(o);
	if (!text)
		return &err_nomem;
	fprintf(out, "%s\n", text);
	return NULL;
}

struct err *cmd_dump_processes_json(const struct cap_info *info, FILE *out)
{
	struct cap_process program = program_of(info);
	struct err *err = print_json(&program, out);

	for (size_t i = 0; !err && i < info->n_processes; i++)
		err = print_json(&info->processes[i], out);
	return err;
}
