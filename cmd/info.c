// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * faultline info, and `faultline CAPTURE`: what it is, how it ended, and what to do with it.
 * Only manifests are read: it answers at once, however long the capture.
 */
// COMMAND look/info: what a capture is, how it ended, and which commands make sense for it
#include <argp.h>
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <string.h>

#include "base/option.h"
#include "base/text.h"
#include "capture/cap_suite.h"
#include "capture/capture.h"

#define EXIT_FAILED 2
#define NEXT_MAX 4

int cmd_info(int argc, char **argv);

struct arguments {
	const char *path;
	bool as_json;
};

enum { OPT_JSON = 256 };

static const struct argp_option options[] = {
	{ "json", OPT_JSON, NULL, 0, "Print it as one JSON object", 0 },
	{},
};

static const char doc[] =
	"Say what CAPTURE is (a directory that `record' or `suite record' made, or a "
	"perf.data), how the program in it ended, and which commands make sense for it. "
	"`faultline CAPTURE' is the same.\v"
	"Examples:\n"
	"  faultline info crash.flt\n"
	"  faultline info --json crash.flt | jq -r '.next[0].command'\n"
	"  faultline info tests.suite\n";

/** One command that makes sense: `faultline HEAD 'path' TAIL`. */
struct next {
	const char *head, *tail, *why;
};

struct advice {
	struct next next[NEXT_MAX];
	size_t n;
};

static void advise(struct advice *a, const char *head, const char *tail, const char *why)
{
	if (a->n < NEXT_MAX)
		a->next[a->n++] = (struct next){ head, tail, why };
}

static void advise_run(struct advice *a, const struct cap_info *info)
{
	bool is_killed = info->end == CAP_END_SIGNAL;

	if (info->is_unfinished)
		advise(a, "replay", "", "how far it can be run again");
	// Others would take what a slice capture leaves out for what did not happen.
	if (info->slice_of) {
		advise(a, "debug", "", "walk through the slice, forward and backward");
		return;
	}
	if (is_killed)
		advise(a, "analyze", "",
		       "why it was ended: which value was wrong, and which statement made it");
	advise(a, "check", "", "errors of memory and of descriptors, and leaks");
	advise(a, "debug", "", "walk through it with gdb, forward and backward");
	if (!is_killed)
		advise(a, "replay --stdout", "", "what it printed");
	if (info->n_processes)
		advise(a, "dump --processes", "",
		       "its processes, each for --process of a command");
}

static void advise_flight(struct advice *a, const struct cap_info *info)
{
	if (info->pt.is_recorded)
		advise(a, "recover", "", "the values before its end");
	advise(a, "dump", "", "what the recorder's rings held at its end");
	if (info->pt.is_recorded)
		advise(a, "decode", "", "which code ran");
}

/* ---- the text ---------------------------------------------------------------------------- */

/** As a shell takes it for one word. */
static void print_word(const char *word, FILE *out)
{
	const char *plain =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
		"_-./+=:,@%";

	if (*word && !word[strspn(word, plain)]) {
		fputs(word, out);
		return;
	}
	fputc('\'', out);
	for (; *word; word++)
		fputs(*word == '\'' ? "'\\''" : (char[]){ *word, 0 }, out);
	fputc('\'', out);
}

/** @return for free(): the command @p n of path @p path as one types it; NULL = no memory. */
static char *command_of(const struct next *n, const char *path)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	fprintf(out, "faultline %s ", n->head);
	print_word(path, out);
	fputs(n->tail, out);
	return fclose(out) ? free(text), NULL : text;
}

static struct err *print_advice(const struct advice *a, const char *path)
{
	puts("\nWhat makes sense now:");
	for (size_t i = 0; i < a->n; i++) {
		_cleanup_free_ char *command = command_of(&a->next[i], path);

		if (!command)
			return &err_nomem;
		printf("  %s\n      %s\n", text_line(command), a->next[i].why);
	}
	return NULL;
}

/** How it ended, in words behind "it". @p text: of size @p size. */
static void end_words(const struct cap_info *info, char *text, size_t size)
{
	if (info->end == CAP_END_SIGNAL)
		snprintf(text, size, "was ended by %s", text_signal(info->end_value));
	else if (info->end == CAP_END_EXIT)
		snprintf(text, size, "ended with status %d", info->end_value);
	else if (info->end == CAP_END_DETACHED && info->slice_of)
		snprintf(text, size, "goes on behind what the slice is of");
	else if (info->end == CAP_END_DETACHED)
		snprintf(text, size, "was left running when the recording ended");
	else if (info->end == CAP_END_EXEC)
		snprintf(text, size, "executed another program");
	else
		snprintf(text, size, "ended in a way that is not known");
}

static void print_run(const struct cap_info *info)
{
	char end[128], brand[49];
	size_t n_followed;

	fputs(info->mode == CAP_MODE_FLIGHT ? "The recent past of:" : "A run of:",
	      stdout);
	for (size_t i = 0; info->argv && info->argv[i]; i++)
		printf(" %s", text_line(info->argv[i]));
	if (!info->argv || !info->argv[0])
		printf(" %s", text_line(info->exe ?: "?"));
	end_words(info, end, sizeof(end));
	printf("\n  process %u, in %s\n  it %s\n", info->pid, text_line(info->cwd ?: "?"),
	       end);
	printf("  %" PRIu64 " system calls, %" PRIu64 " events in all", info->n_syscalls,
	       info->n_events);
	n_followed = cap_process_followed(info->processes, info->n_processes);
	if (n_followed)
		printf("; %zu more processes, which it or its children created",
		       n_followed);
	if (info->n_processes > n_followed)
		printf("; programs before an exec: %zu", info->n_processes - n_followed);
	cap_cpu_brand(&info->cpu, brand);
	if (brand[0])
		printf("\n  recorded on an %s", text_line(brand));
	printf("\n  %s\n", info->is_complete ? "complete: it can be run again exactly" :
					       "not complete:");
	for (size_t i = 0; i < info->n_missing; i++)
		printf("    %s\n", text_line(info->missing[i]));
	if (info->is_unfinished)
		puts("    the recorder was killed before it had finished");
}

/* ---- JSON -------------------------------------------------------------------------------- */

static void json_deletep(cJSON **j)
{
	cJSON_Delete(*j);
}

static struct err *print_json(cJSON *o, const struct advice *a, const char *path)
{
	_cleanup_free_ char *text = NULL;
	cJSON *next = cJSON_AddArrayToObject(o, "next");

	for (size_t i = 0; i < a->n; i++) {
		_cleanup_free_ char *command = command_of(&a->next[i], path);
		cJSON *n = cJSON_CreateObject();

		if (!command || !cJSON_AddStringToObject(n, "command", command) ||
		    !cJSON_AddStringToObject(n, "why", a->next[i].why)) {
			cJSON_Delete(n);
			return &err_nomem;
		}
		cJSON_AddItemToArray(next, n);
	}
	text = cJSON_PrintUnformatted(o);
	if (!text)
		return &err_nomem;
	puts(text);
	return NULL;
}

static void add_texts(cJSON *o, const char *name, char *const *texts, size_t n)
{
	cJSON *list = cJSON_AddArrayToObject(o, name);

	for (size_t i = 0; i < n; i++)
		cJSON_AddItemToArray(list, cJSON_CreateString(texts[i]));
}

static cJSON *json_run(const struct cap_info *info)
{
	cJSON *o = cJSON_CreateObject();
	size_t n = 0;
	char brand[49];

	while (info->argv && info->argv[n])
		n++;
	cJSON_AddStringToObject(o, "kind",
				info->mode == CAP_MODE_FLIGHT ? "flight" : "capture");
	add_texts(o, "argv", info->argv, n);
	cJSON_AddStringToObject(o, "exe", info->exe ?: "");
	cJSON_AddStringToObject(o, "cwd", info->cwd ?: "");
	cJSON_AddNumberToObject(o, "pid", info->pid);
	cJSON_AddStringToObject(o, "end", cap_end_name(info->end));
	if (info->end == CAP_END_SIGNAL || info->end == CAP_END_EXIT)
		cJSON_AddNumberToObject(o, "end_value", info->end_value);
	cJSON_AddNumberToObject(o, "syscalls", info->n_syscalls);
	cJSON_AddNumberToObject(o, "events", info->n_events);
	cJSON_AddNumberToObject(o, "processes", info->n_processes);
	cJSON_AddStringToObject(o, "cpu", cap_cpu_brand(&info->cpu, brand));
	cJSON_AddBoolToObject(o, "complete", info->is_complete);
	add_texts(o, "missing", info->missing, info->n_missing);
	return o;
}

/* ---- each kind --------------------------------------------------------------------------- */

static struct err *tell_run(const struct arguments *args, const struct cap_info *info)
{
	_cleanup_(json_deletep) cJSON *o = NULL;
	struct advice a = {};

	(info->mode == CAP_MODE_FLIGHT ? advise_flight : advise_run)(&a, info);
	if (args->as_json) {
		o = json_run(info);
		return o ? print_json(o, &a, args->path) : &err_nomem;
	}
	print_run(info);
	return print_advice(&a, args->path);
}

static struct err *tell_suite(const struct arguments *args, const struct cap_suite *s)
{
	_cleanup_(json_deletep) cJSON *o = NULL;
	size_t n[3] = {};
	struct advice a = {};

	for (size_t i = 0; i < s->n_tests; i++)
		n[s->tests[i].outcome]++;
	advise(&a, "suite list", "", "each test, with its outcome and its capture");
	if (n[CAP_SUITE_FAILED] && n[CAP_SUITE_PASSED])
		advise(&a, "rank", "", "which statement makes the tests fail");
	if (args->as_json) {
		o = cJSON_CreateObject();
		cJSON_AddStringToObject(o, "kind", "suite");
		add_texts(o, "command", s->command, s->n_command);
		for (int i = CAP_SUITE_UNKNOWN; i <= CAP_SUITE_FAILED; i++)
			cJSON_AddNumberToObject(o, cap_suite_outcome_name(i), n[i]);
		return print_json(o, &a, args->path);
	}
	fputs("A suite of tests of:", stdout);
	for (size_t i = 0; i < s->n_command; i++)
		printf(" %s", text_line(s->command[i]));
	printf("\n  %zu tests: %zu passed, %zu failed, %zu not known\n", s->n_tests,
	       n[CAP_SUITE_PASSED], n[CAP_SUITE_FAILED], n[CAP_SUITE_UNKNOWN]);
	return print_advice(&a, args->path);
}

static struct err *tell_perf(const struct arguments *args)
{
	_cleanup_(json_deletep) cJSON *o = NULL;
	struct advice a = {};

	advise(&a, "decode", "", "which code ran, by its Intel PT packets");
	advise(&a, "decode --calls", "", "which functions called which");
	if (args->as_json) {
		o = cJSON_CreateObject();
		cJSON_AddStringToObject(o, "kind", "perf.data");
		return print_json(o, &a, args->path);
	}
	puts("A perf.data of perf record: there are no values in it.");
	return print_advice(&a, args->path);
}

static struct err *tell(const struct arguments *args)
{
	_cleanup_(capture_closep) struct capture *c = NULL;
	_cleanup_(cap_suite_deinit) struct cap_suite suite = {};
	struct err *err = cap_suite_read(args->path, CAP_SUITE_FILE, &suite);

	if (!err)
		return tell_suite(args, &suite);
	if (err->code != ERR_NOT_FOUND)
		return err;
	err_destroyp(&err);
	err = capture_open(args->path, &c);
	if (!err)
		return tell_run(args, capture_info(c));
	if (err->code != ERR_UNSUPPORTED)
		return err;
	err_destroyp(&err);
	return tell_perf(args);
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	if (key == OPT_JSON) {
		a->as_json = true;
		text_guard_json();
		return 0;
	}
	return option_only(state, key, arg, "capture", &a->path);
}

int cmd_info(int argc, char **argv)
{
	static const struct argp argp = { options, parse_option, "CAPTURE", doc,
					  NULL,	   NULL,	 NULL };
	_cleanup_err_ struct err *err = NULL;
	struct arguments a = {};

	argp_err_exit_status = EXIT_FAILED;
	argp_parse(&argp, argc, argv, 0, NULL, &a);
	err = tell(&a);
	if (!err)
		return 0;
	fflush(stdout);
	fprintf(stderr, "faultline: %s\n", err->message);
	return EXIT_FAILED;
}
