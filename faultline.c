// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The command table, nothing else. The Makefile writes commands.inc from the line
 * `// COMMAND group/name: summary` of each file in cmd/: one COMMAND(group, name, function,
 * summary).
 */
#include <argp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "cmd/command.h"
#include "confine/confine.h"
#include "pt-collect/tracee/privilege.h"

#ifndef FAULTLINE_VERSION
#error "the Makefile defines FAULTLINE_VERSION"
#endif

#define COMMAND(group, name, function, summary) int function(int argc, char **argv);
#include "commands.inc"
#undef COMMAND

/** What a person wants of a command, in the order in which it comes up. */
enum group {
	GROUP_record,
	GROUP_look,
	GROUP_find,
	GROUP_explain,
	GROUP_fix,
	GROUP_measure,
	GROUPS
};

static const char *const group_titles[GROUPS] = {
	[GROUP_record] = "Record it",
	[GROUP_look] = "Look at what ran",
	[GROUP_find] = "Find what is wrong",
	[GROUP_explain] = "Explain where it comes from",
	[GROUP_fix] = "Fix it",
	[GROUP_measure] = "Measure",
};

struct command {
	enum group group;
	const char *name;
	int (*run)(int argc, char **argv);
	const char *summary;
};

#define COMMAND(group, name, function, summary) \
	{ GROUP_##group, name, function, summary },
static const struct command commands[] = {
#include "commands.inc"
	{},
};
#undef COMMAND

#define EXIT_COULD_NOT 2 ///< doc/exit-status.md

static const struct command *command_find(const char *name)
{
	for (const struct command *c = commands; c->name; c++)
		if (strcmp(c->name, name) == 0)
			return c;
	return NULL;
}

static void group_print(enum group group, FILE *out)
{
	bool is_first = true;

	for (const struct command *c = commands; c->name; c++) {
		if (c->group != group)
			continue;
		if (is_first)
			fprintf(out, " %s:\n", group_titles[group]);
		is_first = false;
		fprintf(out, "  %-10s %s\n", c->name, c->summary);
	}
}

static void usage_print(FILE *out)
{
	fputs("Usage: faultline COMMAND [ARGUMENT...]\n"
	      "  or:  faultline CAPTURE\n"
	      "Record a program, replay it exactly, and name the statement that broke its heap."
	      "\n\nExamples:\n"
	      "  faultline record -o crash.flt -- ./prog input.txt\n"
	      "  faultline crash.flt           what it is, and what makes sense now\n"
	      "  faultline analyze crash.flt   why did it end so?\n"
	      "  faultline check crash.flt     which errors of memory led there?\n"
	      "  faultline debug crash.flt     gdb, forward and backward\n"
	      "\nCommands:\n",
	      out);
	for (enum group g = 0; g < GROUPS; g++)
		group_print(g, out);
	fputs("\nOptions:\n"
	      "  --help     print this, or with a command: its options and examples\n"
	      "  --version  print the version\n",
	      out);
}

static const char *const pictures[] = { "svg", "html", "o", NULL };
static const char *const checks[] = { "sarif", "html", NULL };
static const char *const packets[] = { "o", "output", NULL };
static const char *const derived[] = { "derived", "svg", NULL };
static const char *const learned[] = { "into", NULL };
static const char *const bundles[] = { "flight", NULL };
static const char *const slices[] = { "capture", NULL };

/* Those that read what strangers wrote, and what they may write. `suite', `rank', `reduce',
 * `debug' and `report' know themselves when. */
static const struct reader {
	const char *name;
	struct confine_outputs outputs;
} readers[] = {
	{ "analyze", { .files = pictures } },
	{ "check", { .files = checks } },
	{ "decode", {} },
	{ "dump", {} },
	{ "encode",
	  { .files = packets, .dirs = bundles, .beside = ".symfs", .has_inside = true } },
	{ "fixes", { .files = learned } },
	{ "graph", { .files = pictures } },
	{ "info", {} },
	{ "inputs", { .files = pictures } },
	{ "linear", { .files = derived } },
	{ "recover", {} },
	{ "repair", { .files = pictures } },
	{ "replay", {} },
	{ "sites", {} },
	{ "slice", { .files = pictures, .dirs = slices } },
	{ "spec", { .in_place = "in-place" } },
	{ "suppress", { .files = pictures } },
	{},
};

static const struct command *running;

/** What was printed, and is lost, is a failure whatever came out. */
static int running_run(int argc, char **argv)
{
	return cmd_command_flush(running->run(argc, argv));
}

/** Only recording takes capabilities: whatever else reads a stranger's capture has none. */
static int command_run(const struct command *c, int argc, char **argv)
{
	static char full_name[64]; // argp prints argv[0] in usage and error lines
	const struct reader *r = readers;

	if (strcmp(c->name, "record"))
		ptc_privilege_end();
	snprintf(full_name, sizeof(full_name), "faultline %s", c->name);
	argv[0] = full_name;
	while (r->name && strcmp(r->name, c->name))
		r++;
	running = c;
	return r->name ? confine_command(running_run, argc, argv, &r->outputs) :
			 running_run(argc, argv);
}

int main(int argc, char **argv)
{
	const struct command *c;

	text_guard();
	argp_err_exit_status =
		EXIT_COULD_NOT; // a command with another convention sets it
	if (argc < 2) {
		usage_print(stderr);
		return EXIT_COULD_NOT;
	}
	if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
		puts("faultline " FAULTLINE_VERSION);
		return 0;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
	    (strcmp(argv[1], "help") == 0 && argc == 2)) {
		usage_print(stdout);
		return 0;
	}
	if (strcmp(argv[1], "help") == 0) {
		c = command_find(argv[2]);
		if (c)
			return command_run(c, 2, (char *[]){ NULL, "--help", NULL });
		argv++;
	}
	c = command_find(argv[1]);
	if (c)
		return command_run(c, argc - 1, argv + 1);
	// Of a capture alone it is told what it is.
	if (access(argv[1], F_OK) == 0)
		return command_run(command_find("info"), argc, argv);
	fprintf(stderr,
		"faultline: cannot run '%s': no such command, and no capture of that name (see "
		"faultline --help)\n",
		text_line(argv[1]));
	return EXIT_COULD_NOT;
}
