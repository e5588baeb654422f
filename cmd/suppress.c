// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
// COMMAND explain/suppress: from a crash to the statement that first corrupted memory, by running again without it

#include <cjson/cJSON.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/option.h"
#include "cmd/command.h"
#include "report/suppress.h"
#include "suppress-hw/suppress/suppress.h"

#define EXIT_FOUND 1
#define EXIT_COULD_NOT 2
#define RUNS_MAX 40

enum { KEY_JSON = 256, KEY_RUNS, KEY_MODE, KEY_GRANULE, KEY_RACE, KEY_REORDER, KEY_HTML };

static const char *const modes[] = { "software", "nat-reg", "nat-mem" };

struct arguments {
	const char *capture, *process, *html;
	bool as_json, reorders;
	uint64_t runs, race;
	enum dec_nullify_mode mode;
	uint8_t granule;
};

static const struct argp_option options[] = {
	{ "json", KEY_JSON, NULL, 0, "Print the result as one JSON object", 0 },
	{ "html", KEY_HTML, "OUT", 0, "Write it as a page (-: to stdout)", 0 },
	{ "runs", KEY_RUNS, "N", 0, "Give up after N altered runs (40)", 0 },
	{ "mode", KEY_MODE, "MODE", 0,
	  "How altered runs know what is corrupt: software (each instruction tests what it uses), "
	  "nat-reg (registers have NaT bits, memory is tested) or nat-mem (memory has them, too); "
	  "they find the same (nat-reg)",
	  0 },
	{ "granule", KEY_GRANULE, "BYTES", 0,
	  "So many bytes of memory have one bit: 1, 4 or 8 (1)", 0 },
	{ "reorder", KEY_REORDER, NULL, 0,
	  "When nothing crashes any more, or did at all, run it with its variables in other "
	  "places, each buffer with a pointer, an index or a return address just behind it, until "
	  "something does",
	  0 },
	{ "race", KEY_RACE, "N", 0,
	  "Suppress nothing: judge by other schedules whether the Nth race that `faultline check' tells "
	  "of, from 1, may do harm",
	  0 },
	{ "process", 'p', "PROCESS", 0,
	  "Of a capture made by `record -f', this process: a number or a process id", 0 },
	{ 0 },
};

static const char doc[] =
	"Replay CAPTURE to its crash (a fault, abort(), a failed assertion, the allocator's or the "
	"stack protector's abort), find the instructions that defined what it crashed by, "
	"and run the program again with these and all that they influence left out; and so on "
	"with the crash that comes next, until there is none. What was left out last is the "
	"likely first corruption of memory; or a data race that made it, and that other "
	"schedules show may do harm. With --reorder variables are moved to where an overflow that "
	"nobody notices does damage. Nothing of the altered runs reaches the host.\v"
	"Exit status: 1 when a crash was found (--reorder: or made one; --race: the race may do harm), 0 when the program "
	"did not crash (it was not seen to), 2 when it could not be looked at.\n\n"
	"Examples:\n"
	"  faultline suppress crash.flt\n"
	"  faultline suppress --json crash.flt | jq .identified\n"
	"  faultline suppress --reorder --html crash.html wrong.flt\n"
	"  faultline suppress --race 1 server.flt\n";

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;
	char *end;

	switch (key) {
	case KEY_JSON:
		a->as_json = true;
		text_guard_json();
		return 0;
	case KEY_RUNS:
		a->runs = strtoul(arg, &end, 10);
		if (*end || !*arg || *arg == '-' || !a->runs || a->runs > 1000)
			argp_error(state, "'%s' is no number of runs (1 to 1000)", arg);
		return 0;
	case KEY_HTML:
		a->html = arg;
		return 0;
	case KEY_REORDER:
		a->reorders = true;
		return 0;
	case KEY_RACE:
		a->race = strtoul(arg, &end, 10);
		if (*end || !*arg || *arg == '-' || !a->race)
			argp_error(state, "'%s' is no number of a race", arg);
		return 0;
	case KEY_MODE:
		for (a->mode = 0; a->mode < DEC_NULLIFY_MODES; a->mode++)
			if (!strcmp(arg, modes[a->mode]))
				return 0;
		argp_error(state, "'%s' is no mode: software, nat-reg or nat-mem", arg);
		return 0;
	case KEY_GRANULE:
		if (strcmp(arg, "1") && strcmp(arg, "4") && strcmp(arg, "8"))
			argp_error(state, "'%s' is no granule: 1, 4 or 8", arg);
		a->granule = *arg - '0';
		return 0;
	case 'p':
		a->process = arg;
		return 0;
	case ARGP_KEY_END:
		if (a->as_json && a->html)
			argp_error(state, "one of --json and --html");
		return option_only(state, key, arg, "capture", &a->capture);
	default:
		return option_only(state, key, arg, "capture", &a->capture);
	}
}

static const struct argp argp = {
	.options = options, .parser = parse, .args_doc = "CAPTURE", .doc = doc
};

/* ---- for people --------------------------------------------------------------------------- */

static void print_place(const struct sup_place *p)
{
	dec_place_print(&p->place, stdout);
	if (p->by)
		printf(", by %s()", text_line(p->by));
}

static void print_points(const struct sup_result *r, const struct sup_step *s)
{
	for (size_t i = s->first; i < s->first + s->n; i++) {
		printf("     suppressed: ");
		print_place(&r->points.data[i].place);
		printf("  (instruction %lu)\n", r->points.data[i].position);
	}
}

static const char *ending(const struct dec_outcome *o)
{
	static char text[64];

	switch (o->fate) {
	case DEC_FATE_EXIT:
		snprintf(text, sizeof(text), "exits with status %d", o->value);
		return text;
	case DEC_FATE_SIGNAL:
		snprintf(text, sizeof(text), "is ended by %s", text_signal(o->value));
		return text;
	case DEC_FATE_END:
		return "comes to the recording's end";
	case DEC_FATE_LIMIT:
		return "goes on";
	case DEC_FATE_HANG:
		return "hangs";
	case DEC_FATE_LEFT:
		return "leaves the recorded inputs";
	default:
		return "cannot be followed";
	}
}

static void print_output(const char *name, const char *bytes, uint32_t n)
{
	if (!n)
		return;
	printf("its %s%s:\n", name, n == DEC_PRINTED_MAX ? ", the beginning" : "");
	fwrite(bytes, 1, n, stdout);
	if (bytes[n - 1] != '\n')
		putchar('\n');
}

/* The last step for which something was suppressed; NULL: there is none. */
static const struct sup_step *last_found(const struct sup_result *r)
{
	for (size_t i = r->steps.size; i-- > 0;)
		if (r->steps.data[i].n)
			return &r->steps.data[i];
	return NULL;
}

static void print_places(const struct sup_result *r, const struct sup_step *s,
			 const char *what)
{
	printf("%s: ", what);
	for (size_t i = s->first; i < s->first + s->n; i++) {
		if (i > s->first)
			printf("%*s: ", (int)strlen(what), "or");
		print_place(&r->points.data[i].place);
		putchar('\n');
	}
}

/* ---- races, for people ---- */

static void print_access(const struct sup_result *r, const char *which,
			 const struct fl_race_access *x)
{
	struct dec_place place = {};

	dec_symbols_place(r->symbols, x->rip, &place);
	printf("     %s: %s by thread %u at ", which, x->is_write ? "write" : "read",
	       x->tid);
	dec_place_print(&place, stdout);
	printf("  (instruction %lu)\n", x->time);
}

static void print_value(const uint8_t *value, uint32_t bytes)
{
	uint64_t number = 0;

	memcpy(&number, value, bytes);
	printf("%#lx", number);
}

static void print_race(const struct sup_result *r, const struct sup_race *race)
{
	printf("race, %s, %s\n", sup_race_kind(&race->race),
	       race->is_harmful ? "may do harm" : "not seen to do harm");
	print_access(r, "earlier", &race->race.earlier);
	print_access(r, "later", &race->race.later);
	printf("     %s: ", race->race.later.is_write && race->race.earlier.is_write ?
				    "left there" :
				    "read there");
	print_value(race->value, race->bytes);
	putchar('\n');
	for (size_t i = 0; i < race->schedules.size; i++) {
		const struct sup_schedule *s = &race->schedules.data[i];

		printf("     with thread %u before the earlier one: ", s->tid);
		if (s->is_reached)
			print_value(s->value, race->bytes);
		else
			printf("they are not made the other way round");
		printf("; the run %s\n", s->has_ended ? ending(&s->outcome) : "goes on");
	}
	if (!race->schedules.size)
		puts("     no other thread was ready there");
}

static void print_identified(const struct sup_result *r)
{
	const struct sup_step *last = &r->steps.data[r->steps.size - 1];
	const struct sup_step *reported = &r->steps.data[r->found];
	const struct sup_step *found = last_found(r);

	if (r->is_race) {
		print_places(r, reported, "made by a race, likely");
		return;
	}
	if (!r->is_removed) {
		printf("not removed: ");
		print_place(&last->place);
		printf(last->n ?
			       " still crashes\n" :
			       ": nothing more is known that defined what it crashed by\n");
		if (found && found != last)
			print_places(r, found, "what was suppressed last");
		return;
	}
	print_places(r, reported, "first corruption, likely");
}

static void print_notes(const struct sup_result *r)
{
	for (size_t i = 0; i < r->notes.size; i++)
		log_note("%s", r->notes.data[i]);
}

/* With which ordering step @p i comes, if it is the first. */
static void print_ordering(const struct sup_result *r, size_t i)
{
	size_t n = r->steps.data[i].ordering;
	const struct sup_ordering *o = n ? &r->orderings.data[n - 1] : NULL;

	if (!o || (i && r->steps.data[i - 1].ordering == n))
		return;
	printf("with variables elsewhere (%s, %u runs to find that), the latter just behind the "
	       "former:\n",
	       o->space, o->n_runs);
	for (size_t k = 0; k < o->pairs.size; k++)
		printf("     %s\n", o->pairs.data[k]);
}

static void print_text(const struct sup_result *r, bool is_of_race)
{
	for (size_t i = 0; is_of_race && i < r->races.size; i++)
		print_race(r, &r->races.data[i]);
	if (is_of_race)
		return;
	if (!r->has_crashed) {
		printf("the program did not crash%s: there is nothing to suppress\n",
		       r->n_orderings ? ", nor with its variables elsewhere" : "");
		print_notes(r);
		return;
	}
	for (size_t i = 0; i < r->steps.size; i++) {
		const struct sup_step *s = &r->steps.data[i];

		print_ordering(r, i);
		printf("%3zu. %s at ", i + 1, text_signal(s->signal));
		print_place(&s->place);
		printf("  (instruction %lu)\n", s->position);
		print_points(r, s);
		if (s->n && s->n_steps)
			printf("     %lu instructions followed, %lu of them left out, "
			       "%lu not in emitted code\n",
			       s->n_steps, s->n_omitted, s->n_slow);
	}
	for (size_t i = 0; i < r->races.size; i++)
		print_race(r, &r->races.data[i]);
	if (r->points.size && !r->is_race)
		printf("the altered run %s\n", ending(&r->outcome));
	print_identified(r);
	print_output("stdout from where it was altered", r->told.printed[0],
		     r->told.n_printed[0]);
	print_output("stderr from there", r->told.printed[1], r->told.n_printed[1]);
	print_notes(r);
}

/* ---- for scripts ---------------------------------------------------------------------------- */

static cJSON *json_place(const struct sup_place *p)
{
	cJSON *o = cJSON_CreateObject();

	if (p->place.file)
		cJSON_AddStringToObject(o, "file", p->place.file);
	if (p->place.line)
		cJSON_AddNumberToObject(o, "line", p->place.line);
	if (p->place.function ?: p->place.outer)
		cJSON_AddStringToObject(o, "function",
					p->place.function ?: p->place.outer);
	if (p->by)
		cJSON_AddStringToObject(o, "by", p->by);
	return o;
}

static cJSON *json_points(const struct sup_result *r, const struct sup_step *s)
{
	cJSON *list = cJSON_CreateArray();

	for (size_t i = s->first; i < s->first + s->n; i++) {
		cJSON *o = json_place(&r->points.data[i].place);

		cJSON_AddNumberToObject(o, "position", r->points.data[i].position);
		cJSON_AddItemToArray(list, o);
	}
	return list;
}

/* Of which something was left out in the run behind step @p s. */
static cJSON *json_lines(const struct sup_step *s)
{
	cJSON *lines = cJSON_CreateArray();

	for (size_t i = 0; i < s->omitted.size; i++) {
		cJSON *line = json_place(&s->omitted.data[i].place);

		cJSON_AddNumberToObject(line, "instructions", s->omitted.data[i].n);
		cJSON_AddItemToArray(lines, line);
	}
	return lines;
}

static cJSON *json_steps(const struct sup_result *r)
{
	cJSON *list = cJSON_CreateArray();

	for (size_t i = 0; i < r->steps.size; i++) {
		const struct sup_step *s = &r->steps.data[i];
		cJSON *o = cJSON_CreateObject();

		cJSON_AddNumberToObject(o, "signal", s->signal);
		cJSON_AddNumberToObject(o, "ordering", s->ordering);
		cJSON_AddNumberToObject(o, "position", s->position);
		cJSON_AddItemToObject(o, "at", json_place(&s->place));
		cJSON_AddItemToObject(o, "suppressed", json_points(r, s));
		cJSON_AddNumberToObject(o, "begin", s->begin);
		cJSON_AddNumberToObject(o, "instructions", s->n_steps);
		cJSON_AddNumberToObject(o, "omitted", s->n_omitted);
		cJSON_AddNumberToObject(o, "stepped", s->n_slow);
		cJSON_AddItemToObject(o, "lines", json_lines(s));
		cJSON_AddItemToArray(list, o);
	}
	return list;
}

/* Those with which there was a crash. */
static cJSON *json_orderings(const struct sup_result *r)
{
	cJSON *list = cJSON_CreateArray();

	for (size_t i = 0; i < r->orderings.size; i++) {
		cJSON *o = cJSON_CreateObject(),
		      *pairs = cJSON_AddArrayToObject(o, "pairs");

		for (size_t k = 0; k < r->orderings.data[i].pairs.size; k++)
			cJSON_AddItemToArray(
				pairs,
				cJSON_CreateString(r->orderings.data[i].pairs.data[k]));
		cJSON_AddStringToObject(o, "space", r->orderings.data[i].space);
		cJSON_AddNumberToObject(o, "runs", r->orderings.data[i].n_runs);
		cJSON_AddItemToArray(list, o);
	}
	return list;
}

static cJSON *json_run(const struct sup_result *r)
{
	cJSON *o = cJSON_CreateObject();

	cJSON_AddStringToObject(o, "end", ending(&r->outcome));
	cJSON_AddStringToObject(o, "mode", modes[r->mode]);
	cJSON_AddNumberToObject(o, "constructs_left_out", r->told.n_joined);
	cJSON_AddNumberToObject(o, "calls_left_out", r->told.n_calls);
	for (int i = 0; i < 2; i++) {
		char text[DEC_PRINTED_MAX + 1];

		snprintf(text, sizeof(text), "%.*s", (int)r->told.n_printed[i],
			 r->told.printed[i]);
		cJSON_AddStringToObject(o, i ? "stderr" : "stdout", text);
	}
	return o;
}

static cJSON *json_access(const struct sup_result *r, const struct fl_race_access *x)
{
	struct sup_place p = { .rip = x->rip };
	cJSON *o;

	dec_symbols_place(r->symbols, x->rip, &p.place);
	o = json_place(&p);
	cJSON_AddBoolToObject(o, "write", x->is_write);
	cJSON_AddNumberToObject(o, "thread", x->tid);
	cJSON_AddNumberToObject(o, "position", x->time);
	return o;
}

static void json_value(cJSON *o, const uint8_t *value, uint32_t bytes)
{
	uint64_t number = 0;
	char text[24];

	memcpy(&number, value, bytes);
	snprintf(text, sizeof(text), "%#lx", number);
	cJSON_AddStringToObject(o, "value", text);
}

static cJSON *json_schedule(const struct sup_race *race, const struct sup_schedule *s)
{
	cJSON *o = cJSON_CreateObject();

	cJSON_AddNumberToObject(o, "thread", s->tid);
	cJSON_AddBoolToObject(o, "reached", s->is_reached);
	if (s->is_reached)
		json_value(o, s->value, race->bytes);
	cJSON_AddStringToObject(o, "end", s->has_ended ? ending(&s->outcome) : "goes on");
	return o;
}

/* Those that were judged. */
static cJSON *json_races(const struct sup_result *r)
{
	cJSON *list = cJSON_CreateArray();

	for (size_t i = 0; i < r->races.size; i++) {
		const struct sup_race *race = &r->races.data[i];
		cJSON *o = cJSON_CreateObject(), *schedules = cJSON_CreateArray();

		cJSON_AddStringToObject(o, "kind", sup_race_kind(&race->race));
		cJSON_AddBoolToObject(o, "harmful", race->is_harmful);
		cJSON_AddItemToObject(o, "earlier", json_access(r, &race->race.earlier));
		cJSON_AddItemToObject(o, "later", json_access(r, &race->race.later));
		json_value(o, race->value, race->bytes);
		for (size_t k = 0; k < race->schedules.size; k++)
			cJSON_AddItemToArray(
				schedules, json_schedule(race, &race->schedules.data[k]));
		cJSON_AddItemToObject(o, "schedules", schedules);
		cJSON_AddItemToArray(list, o);
	}
	return list;
}

static void print_json(const struct sup_result *r)
{
	cJSON *o = cJSON_CreateObject();

	cJSON_AddBoolToObject(o, "crashed", r->has_crashed);
	cJSON_AddBoolToObject(o, "race", r->is_race);
	cJSON_AddItemToObject(o, "races", json_races(r));
	cJSON_AddNumberToObject(o, "orderings_tried", r->n_orderings);
	cJSON_AddItemToObject(o, "orderings", json_orderings(r));
	cJSON_AddBoolToObject(o, "removed", r->is_removed);
	cJSON_AddItemToObject(o, "steps", json_steps(r));
	if (r->is_removed || (r->is_race && r->steps.size))
		cJSON_AddItemToObject(o, "identified",
				      json_points(r, &r->steps.data[r->found]));
	else if (last_found(r))
		cJSON_AddItemToObject(o, "suppressed_last",
				      json_points(r, last_found(r)));
	if (r->points.size)
		cJSON_AddItemToObject(o, "run", json_run(r));
	cmd_command_add_notes(o, &r->notes);
	cmd_command_print_json(o);
}

static struct err *tell(const struct arguments *a, const struct sup_result *r)
{
	if (a->html)
		return report_suppress_page(r, a->html, capture_mode(r->capture));
	if (a->as_json)
		print_json(r);
	else
		print_text(r, a->race);
	return NULL;
}

int cmd_suppress(int argc, char **argv)
{
	struct arguments a = { .runs = RUNS_MAX,
			       .mode = DEC_NULLIFY_NAT_REG,
			       .granule = 1 };
	_cleanup_free_ char *dir = NULL;
	struct sup_result result = {};
	struct sup_options o = {};
	static const fl_texts none;
	struct err *err;
	int status;

	argp_err_exit_status = EXIT_COULD_NOT;
	if (argp_parse(&argp, argc, argv, 0, NULL, &a))
		return EXIT_COULD_NOT;
	err = cmd_command_process(a.capture, a.process, &none, &dir);
	o = (struct sup_options){ .capture = dir,
				  .with_progress = isatty(2),
				  .max_runs = a.runs,
				  .mode = a.mode,
				  .granule = a.granule,
				  .reorders = a.reorders,
				  .race = a.race };
	if (!err)
		err = sup_suppress(&o, &result);
	if (!err)
		err = tell(&a, &result);
	if (err) {
		fprintf(stderr,
			"faultline: cannot look for the first corruption in '%s': %s\n",
			text_line(a.capture), text_line(err->message));
		err_destroy(err);
		status = EXIT_COULD_NOT;
	} else {
		status = (a.race ? result.is_race : result.has_crashed) ? EXIT_FOUND : 0;
	}
	sup_result_deinit(&result);
	return status;
}
