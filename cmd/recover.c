// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
// COMMAND explain/recover: show the values before a crash that was not recorded from the start

#include <argp.h>
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/base.h"
#include "base/option.h"
#include "capture/perf_data.h"
#include "cmd/command.h"
#include "decode/past/flight.h"
#include "decode/symbols/symbols.h"

enum { OPT_JSON = 256, OPT_NO_HEAP, OPT_NO_STORES };

struct recover_command {
	const char *capture;
	uint64_t last; ///< instructions to show
	bool as_json;
	struct dec_flight_options o;
};

static const struct argp_option options[] = {
	{ "window", 'w', "N", 0, "Recover the values of the last N instructions (100000)",
	  0 },
	{ "last", 'n', "N", 0, "Show the last N instructions with their values (20)", 0 },
	{ "no-heap-events", OPT_NO_HEAP, NULL, 0, "Do without recorded allocator calls",
	  0 },
	{ "no-store-events", OPT_NO_STORES, NULL, 0,
	  "Do without what store probes recorded", 0 },
	{ "json", OPT_JSON, NULL, 0,
	  "Print one JSON object: the summary, and the last instructions", 0 },
	{ 0 },
};

/* More than a window can be worked on within memory. */
#define INSNS_MAX 100000000

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct recover_command *c = state->input;

	switch (key) {
	case 'w':
		c->o.n_insns = option_number(state, "--window", arg, 0, INSNS_MAX);
		return 0;
	case 'n':
		c->last = option_number(state, "--last", arg, 0, INSNS_MAX);
		return 0;
	case OPT_NO_HEAP:
		c->o.without_heap = true;
		return 0;
	case OPT_NO_STORES:
		c->o.without_stores = true;
		return 0;
	case OPT_JSON:
		c->as_json = true;
		text_guard_json();
		return 0;
	default:
		return option_only(state, key, arg, "capture", &c->capture);
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "CAPTURE",
	.doc = "Recover what the last instructions before the crash in CAPTURE read and wrote, from "
	       "its Intel PT, its end.core and its allocator calls: `record --snapshot' makes such a "
	       "capture, `encode --flight --core' makes one of a perf.data and a core. A value is known, or inferred (~: it takes a guess, that a store whose "
	       "address is not known hit something else), or unknown (?).\v"
	       "Exit status: 0 recovered, 2 could not.\n\n"
	       "Examples:\n"
	       "  faultline recover crash.flt\n"
	       "  faultline recover --window 1000000 --last 200 crash.flt\n"
	       "  faultline recover --json crash.flt | jq .registers\n",
};

/* ---- counting ---------------------------------------------------------------------------- */

struct recover_count {
	uint64_t of[3]; ///< by enum dec_certainty
};

struct recover_counts {
	struct recover_count registers, memory;
};

static struct err *count_step(void *ctx, const struct dec_step *s)
{
	struct recover_counts *c = ctx;

	for (size_t i = 0; i < s->n_refs; i++) {
		const struct dec_ref *r = &s->refs[i];
		enum dec_certainty is = r->certainty;

		if (!r->is_mem && r->reg >= DEC_REG_FLAGS)
			continue;
		if (r->is_mem && r->addr_certainty > is)
			is = r->addr_certainty;
		(r->is_mem ? &c->memory : &c->registers)->of[is]++;
	}
	return NULL;
}

static uint64_t count_all(const struct recover_count *c)
{
	return c->of[0] + c->of[1] + c->of[2];
}

static double share(const struct recover_count *c, enum dec_certainty is)
{
	uint64_t n = count_all(c);

	return n ? 100.0 * c->of[is] / n : 0;
}

/* ---- text ------------------------------------------------------------------------------------ */

static const char *const marks[] = { "", "~", "?" };

static void name_of(const struct dec_ref *r, char *buf, size_t n)
{
	char name[DEC_REG_NAME];

	if (r->is_mem && r->addr_certainty == DEC_UNKNOWN)
		snprintf(buf, n, "[?]");
	else if (r->is_mem)
		snprintf(buf, n, "[%s0x%" PRIx64 "]", marks[r->addr_certainty], r->addr);
	else
		snprintf(buf, n, "%s", dec_reg_name(r->reg, name));
}

/* The value, highest byte first; of a vector register the lower 16 bytes. */
static void value_of(const struct dec_ref *r, char *buf, size_t n)
{
	uint32_t size = r->size > 16 ? 16 : r->size, at = 0;
	int len = 0;

	for (uint32_t i = size; i-- > 1 && !r->value[i];)
		size = i;
	for (uint32_t i = size; i-- > 0 && len + 3 < (int)n; at++)
		len += snprintf(buf + len, n - len, at ? "%02x" : "%x", r->value[i]);
}

static void place_of(struct dec_symbols *symbols, uint64_t rip, char *buf, size_t n)
{
	struct dec_place p;
	const char *file;

	dec_symbols_place(symbols, rip, &p);
	file = p.file && strrchr(p.file, '/') ? strrchr(p.file, '/') + 1 : p.file;
	if (file && p.line)
		snprintf(buf, n, "%s (%s:%d)", p.function ? p.function : "?", file,
			 p.line);
	else if (p.outer)
		snprintf(buf, n, "%s+0x%" PRIx64, p.outer, p.offset);
	else
		snprintf(buf, n, "0x%" PRIx64, rip);
}

/* Values read, an arrow, values written; rsp only where nothing else is. */
static void print_refs(const struct dec_step *s)
{
	for (int is_def = 0; is_def < 2; is_def++) {
		bool is_first = true;

		for (size_t i = 0; i < s->n_refs; i++) {
			const struct dec_ref *r = &s->refs[i];
			char name[40], value[40] = "";

			if (r->is_def != is_def ||
			    (!r->is_mem &&
			     (r->reg >= DEC_REG_FLAGS || r->reg == CAP_RSP)))
				continue;
			name_of(r, name, sizeof(name));
			if (r->has_value)
				value_of(r, value, sizeof(value));
			printf("%s%s=%s%s", is_first && is_def ? "  -> " : "  ", name,
			       marks[r->certainty], value);
			is_first = false;
		}
	}
}

static void print_last(struct dec_flight *f, struct dec_symbols *symbols, uint64_t n)
{
	uint64_t from = f->stats.steps > n ? f->stats.steps - n : 0;
	char last[256] = "";

	for (uint64_t i = from; i < f->stats.steps; i++) {
		char text[128], place[256];
		struct dec_step s;

		dec_recover_show(f->recover, i, &s);
		place_of(symbols, s.insn->rip, place, sizeof(place));
		if (strcmp(place, last) != 0)
			printf("%s\n", place);
		strcpy(last, place);
		dec_insn_text(s.insn, text, sizeof(text));
		printf("%7" PRId64 "  %-40s", (int64_t)(i - f->stats.steps), text);
		print_refs(&s);
		putchar('\n');
	}
}

/* What was to run next: at a crash, the instruction that faulted. @return false: no code is
 * kept of it. */
static bool end_insn(const struct capture *c, const struct cap_core *core,
		     struct dec_insn *ret)
{
	uint8_t bytes[sizeof(ret->bytes)];

	for (size_t n = sizeof(bytes); n > 0; n--) {
		struct err *err = cap_core_read(c, core, core->regs.rip, bytes, n);

		if (!err)
			return dec_insn_decode(bytes, n, core->regs.rip, ret);
		err_destroy(err);
	}
	return false;
}

/* It ran not: what it would have read is as end.core has it. */
static void print_end(const struct capture *c, const struct cap_core *core)
{
	struct dec_insn insn;
	char text[128];

	if (!end_insn(c, core, &insn))
		return;
	dec_insn_text(&insn, text, sizeof(text));
	printf("%7d  %-40s", 0, text);
	for (int r = 0; r < DEC_GPRS; r++)
		if ((insn.gpr_read >> r & 1) && r != CAP_RSP)
			printf("  %s=%" PRIx64, dec_reg_gpr_name(r), core->regs.gpr[r]);
	putchar('\n');
}

static void print_text(const struct capture *capture, struct dec_flight *f,
		       struct dec_symbols *symbols, const struct recover_command *cmd)
{
	struct recover_counts c = {};
	char place[256];

	err_destroy(dec_recover_trace(f->recover, count_step, &c));
	if (cmd->last)
		print_last(f, symbols, cmd->last);
	print_end(capture, f->core);
	place_of(symbols, f->core->regs.rip, place, sizeof(place));
	printf("thread %u ended in %s\n", f->tid, place);
	printf("%" PRIu64 " of %" PRIu64 " instructions decoded, %" PRIu64 " gap%s; "
	       "%zu allocator calls, %zu hits of store probes recorded there\n",
	       f->stats.steps, f->n_decoded, f->n_gaps, f->n_gaps == 1 ? "" : "s",
	       f->calls.size, f->hits.size);
	printf("%-10s %10s %8s %8s %8s\n", "values", "", "known", "inferred", "unknown");
	printf("%-10s %10" PRIu64 " %7.1f%% %7.1f%% %7.1f%%\n", "registers",
	       count_all(&c.registers), share(&c.registers, DEC_KNOWN),
	       share(&c.registers, DEC_INFERRED), share(&c.registers, DEC_UNKNOWN));
	printf("%-10s %10" PRIu64 " %7.1f%% %7.1f%% %7.1f%%\n", "memory",
	       count_all(&c.memory), share(&c.memory, DEC_KNOWN),
	       share(&c.memory, DEC_INFERRED), share(&c.memory, DEC_UNKNOWN));
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static const char *const certainty_names[] = { "known", "inferred", "unknown" };

static void json_count(cJSON *to, const char *name, const struct recover_count *c)
{
	cJSON *o = cJSON_AddObjectToObject(to, name);

	for (int i = 0; i < 3; i++)
		cJSON_AddNumberToObject(o, certainty_names[i], c->of[i]);
}

static void json_ref(cJSON *to, const struct dec_ref *r)
{
	cJSON *o = cJSON_CreateObject();
	char text[40];

	cJSON_AddItemToArray(to, o);
	cJSON_AddStringToObject(o, "kind", r->is_def ? "write" : "read");
	if (r->is_mem) {
		snprintf(text, sizeof(text), "0x%" PRIx64, r->addr);
		if (r->addr_certainty != DEC_UNKNOWN)
			cJSON_AddStringToObject(o, "address", text);
		cJSON_AddStringToObject(o, "address_certainty",
					certainty_names[r->addr_certainty]);
		cJSON_AddNumberToObject(o, "bytes", r->size);
	} else {
		name_of(r, text, sizeof(text));
		cJSON_AddStringToObject(o, "register", text);
	}
	if (r->has_value) {
		text[0] = '0', text[1] = 'x';
		value_of(r, text + 2, sizeof(text) - 2);
		cJSON_AddStringToObject(o, "value", text);
	}
	cJSON_AddStringToObject(o, "certainty", certainty_names[r->certainty]);
}

static void json_steps(cJSON *to, struct dec_flight *f, struct dec_symbols *symbols,
		       uint64_t n)
{
	cJSON *list = cJSON_AddArrayToObject(to, "instructions");
	uint64_t from = f->stats.steps > n ? f->stats.steps - n : 0;

	for (uint64_t i = from; i < f->stats.steps; i++) {
		cJSON *o = cJSON_CreateObject(), *refs;
		char text[256];
		struct dec_step s;

		dec_recover_show(f->recover, i, &s);
		cJSON_AddItemToArray(list, o);
		snprintf(text, sizeof(text), "0x%" PRIx64, s.insn->rip);
		cJSON_AddStringToObject(o, "rip", text);
		place_of(symbols, s.insn->rip, text, sizeof(text));
		cJSON_AddStringToObject(o, "place", text);
		dec_insn_text(s.insn, text, sizeof(text));
		cJSON_AddStringToObject(o, "text", text);
		refs = cJSON_AddArrayToObject(o, "values");
		for (size_t k = 0; k < s.n_refs; k++) {
			if (s.refs[k].is_mem || s.refs[k].reg < DEC_REG_FLAGS)
				json_ref(refs, &s.refs[k]);
		}
	}
}

static void json_end(cJSON *to, const struct capture *c, const struct cap_core *core,
		     struct dec_symbols *symbols)
{
	cJSON *o = cJSON_AddObjectToObject(to, "end"), *registers;
	struct dec_insn insn;
	char text[256];

	snprintf(text, sizeof(text), "0x%" PRIx64, core->regs.rip);
	cJSON_AddStringToObject(o, "rip", text);
	place_of(symbols, core->regs.rip, text, sizeof(text));
	cJSON_AddStringToObject(o, "place", text);
	if (end_insn(c, core, &insn)) {
		dec_insn_text(&insn, text, sizeof(text));
		cJSON_AddStringToObject(o, "text", text);
	}
	registers = cJSON_AddObjectToObject(o, "registers");
	for (int r = 0; r < DEC_GPRS; r++) {
		snprintf(text, sizeof(text), "0x%" PRIx64, core->regs.gpr[r]);
		cJSON_AddStringToObject(registers, dec_reg_gpr_name(r), text);
	}
}

static void print_json(const struct capture *capture, struct dec_flight *f,
		       struct dec_symbols *symbols, const struct recover_command *cmd)
{
	cJSON *o = cJSON_CreateObject();
	struct recover_counts c = {};

	err_destroy(dec_recover_trace(f->recover, count_step, &c));
	cJSON_AddNumberToObject(o, "thread", f->tid);
	cJSON_AddNumberToObject(o, "window", f->stats.steps);
	cJSON_AddNumberToObject(o, "decoded", f->n_decoded);
	cJSON_AddNumberToObject(o, "gaps", f->n_gaps);
	cJSON_AddNumberToObject(o, "allocator_calls", f->calls.size);
	cJSON_AddNumberToObject(o, "store_probe_hits", f->hits.size);
	cJSON_AddNumberToObject(o, "seconds", f->stats.seconds);
	json_count(o, "registers", &c.registers);
	json_count(o, "memory", &c.memory);
	json_steps(o, f, symbols, cmd->last);
	json_end(o, capture, f->core, symbols);
	cmd_command_print_json(o);
}

/* ---- the command --------------------------------------------------------------------------------- */

/* Names for the code, as it lay at the end. */
static struct err *symbols_at_end(const struct capture *c, const struct cap_core *core,
				  struct dec_symbols **ret)
{
	struct err *err = dec_symbols_create(c, ret);

	return err ? err : dec_symbols_add_core(*ret, core);
}

int cmd_recover(int argc, char **argv)
{
	struct recover_command cmd = { .last = 20 };
	_cleanup_(capture_closep) struct capture *c = NULL;
	_cleanup_(dec_flight_closep) struct dec_flight *f = NULL;
	_cleanup_err_ struct err *err = NULL;
	struct dec_symbols *symbols = NULL;

	argp_err_exit_status = 2;
	argp_parse(&argp, argc, argv, 0, NULL, &cmd);
	if (perf_data_is(cmd.capture))
		err = err_new(
			ERR_USAGE,
			"it is a perf.data: make a capture of it and of the core with "
			"`faultline encode --flight DIR --core CORE %s'",
			text_line(cmd.capture));
	if (!err)
		err = capture_open(cmd.capture, &c);
	if (!err)
		err = dec_flight_open(c, &cmd.o, &f);
	if (!err)
		err = symbols_at_end(c, f->core, &symbols);
	if (err) {
		fprintf(stderr, "faultline: cannot recover values from '%s': %s\n",
			text_line(cmd.capture), err->message);
		return 2;
	}
	if (cmd.as_json)
		print_json(c, f, symbols, &cmd);
	else
		print_text(c, f, symbols, &cmd);
	dec_symbols_destroy(symbols);
	return 0;
}
