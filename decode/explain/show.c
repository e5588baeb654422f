// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <string.h>

#include "decode/explain/explain.h"

/* ---- for people --------------------------------------------------------------------------- */

static void show_place(const struct dec_place *p, FILE *out)
{
	if (p->line)
		fprintf(out, "%s:%d in %s", p->file, p->line,
			p->function ? p->function : "?");
	else if (p->outer)
		fprintf(out, "%s+%#lx in %s", p->outer, p->offset, p->module);
	else if (p->module)
		fprintf(out, "%s", p->module);
}

static bool has_place(const struct dec_place *p)
{
	return p->line || p->outer || p->module;
}

static void dec_pt_show_call(const struct dec_explain_call *c, bool has_returned,
			     FILE *out)
{
	fprintf(out, "%s(", c->name);
	for (int i = 0; i < c->n_args; i++)
		fprintf(out, "%s%#lx", i ? ", " : "", c->args[i]);
	fprintf(out, ")");
	if (has_returned && c->ret < 0)
		fprintf(out, " = %ld", c->ret);
	else if (has_returned)
		fprintf(out, " = %#lx", c->ret);
	if (c->file)
		fprintf(out, " [%s]", c->file);
}

static void show_agreed(const struct dec_explanation *x, FILE *out)
{
	if (!x->agreed.is_known) {
		fprintf(out, "no system call agreed before it\n");
		return;
	}
	fprintf(out, "last system call that agreed:\n  ");
	dec_pt_show_call(&x->agreed, true, out);
	fprintf(out, "\n  at instruction %lu, event %lu", x->agreed.position,
		x->agreed.seq);
	if (x->agreed.tid != x->at.tid)
		fprintf(out, ", of thread %u", x->agreed.tid);
	if (has_place(&x->agreed.place)) {
		fprintf(out, ", ");
		show_place(&x->agreed.place, out);
	}
	fprintf(out, "\n");
}

static const char *const event_names[CAP_EV_KINDS] = {
	[0] = "nothing known",
	[CAP_EV_SYSCALL] = "a system call",
	[CAP_EV_SIGNAL] = "a signal",
	[CAP_EV_TSC] = "a time stamp",
	[CAP_EV_CPUID] = "a cpuid",
	[CAP_EV_HEAP] = "an allocator call",
	[CAP_EV_EXIT] = "a thread's end",
	[CAP_EV_GAP] = "a gap",
	[CAP_EV_SWITCH] = "a switch of threads",
	[CAP_EV_RANDOM] = "a random number",
	[CAP_EV_OMITTED] = "a piece that was left out",
	[CAP_EV_SHARED] = "shared memory",
	[CAP_EV_HEAP_DONE] = "an allocator's return",
	[CAP_EV_PROBE] = "a store probe",
};

static void show_flow(const struct dec_explanation *x, FILE *out)
{
	const struct dec_divergence *d = &x->at;

	fprintf(out, "first difference: where the program went\n");
	if (d->parting == DEC_PARTED_FAULT)
		fprintf(out,
			"  replayed: a fault (signal %d) at rip %#lx, address %#lx\n",
			d->signo, d->rip, d->fault_addr);
	else if (x->here.is_known) {
		fprintf(out, "  replayed: ");
		dec_pt_show_call(&x->here, false, out);
		fprintf(out, " at rip %#lx\n", d->rip);
	}
	if (x->written.is_known) {
		fprintf(out, "  recorded: ");
		dec_pt_show_call(&x->written, true, out);
		fprintf(out, " at rip %#lx, ", d->event_rip);
		show_place(&x->written.place, out);
		fprintf(out, "\n");
	} else if (d->event) {
		fprintf(out, "  recorded: %s (event %lu) at rip %#lx\n",
			event_names[d->event < CAP_EV_KINDS ? d->event : 0], d->seq,
			d->event_rip);
	}
}

static void show_difference(const struct dec_explanation *x, FILE *out)
{
	const struct dec_divergence *d = &x->at;

	switch (d->parting) {
	case DEC_PARTED_REGISTER:
		fprintf(out, "first difference: %s%s\n  recorded: ",
			d->reg == CAP_RAX ? "the call's number, " : "",
			dec_reg_gpr_name(d->reg));
		fprintf(out, "%#lx in ", d->recorded);
		dec_pt_show_call(&x->written, false, out);
		fprintf(out, "\n  replayed: %#lx in ", d->replayed);
		dec_pt_show_call(&x->here, false, out);
		fprintf(out, "\n  at instruction %lu; %u of 14 registers differ%s\n",
			d->position, x->n_differing, x->n_differing == 1 ? "s" : "");
		return;
	case DEC_PARTED_MEMORY:
		fprintf(out,
			"first difference: what the recorded call did to memory\n  ");
		if (x->written.is_known)
			dec_pt_show_call(&x->written, true, out);
		fprintf(out, "\n");
		return;
	case DEC_PARTED_MACHINE:
		fprintf(out, "first difference: an instruction that is not executed\n");
		return;
	default:
		show_flow(x, out);
	}
}

static void show_step(const struct dec_explain_step *s, uint32_t tid, FILE *out)
{
	fprintf(out, "  %12lu  ", s->position);
	if (!strcmp(s->needed_as, "address"))
		fprintf(out, "(address) ");
	else if (!strcmp(s->needed_as, "branch"))
		fprintf(out, "(decides) ");
	fprintf(out, "%s", s->what);
	if (s->has_value)
		fprintf(out, " = %#lx", s->value);
	if (*s->insn)
		fprintf(out, "  by  %s", s->insn);
	if (has_place(&s->place)) {
		fprintf(out, "  at ");
		show_place(&s->place, out);
	}
	if (s->n_merged)
		fprintf(out, " (and %u more there)", s->n_merged);
	if (s->tid != tid)
		fprintf(out, " [thread %u]", s->tid);
	fprintf(out, "\n");
}

static void show_chain(const struct dec_explanation *x, FILE *out)
{
	// The middle was left out behind the steps kept at the beginning.
	size_t gap = DEC_EXPLAIN_HEAD;

	if (!x->chain.size)
		return;
	fprintf(out, "where it comes from, backward:\n");
	for (size_t i = 0; i < x->chain.size; i++) {
		if (x->n_left_out && i == gap)
			fprintf(out, "  %12s  (%u steps left out)\n", "...",
				x->n_left_out);
		show_step(&x->chain.data[i], x->at.tid, out);
	}
}

void dec_explanation_print(const struct dec_explanation *x, FILE *out)
{
	show_agreed(x, out);
	show_difference(x, out);
	show_chain(x, out);
	fprintf(out, "likely cause: %s\n  %s\n", dec_cause_name(x->cause), x->sentence);
	if (x->input.file)
		fprintf(out, "  the descriptor is %s\n", x->input.file);
	if (x->n_input_data) {
		fprintf(out, "  recorded there:");
		for (uint32_t i = 0; i < x->n_input_data; i++)
			fprintf(out, " %02x", x->input_data[i]);
		fprintf(out, "%s\n", x->n_input_data < x->input_bytes ? " ..." : "");
	}
	for (size_t i = 0; i < x->others.size; i++)
		fprintf(out, "%s  %s\n", i ? "" : "it also depends on:\n",
			x->others.data[i]);
	if (x->is_partial)
		fprintf(out, "the search was cut short: there may be older causes\n");
	fprintf(out, "what to do: %s\n", x->advice);
}

/* ---- as JSON ------------------------------------------------------------------------------ */

/* 64 bits do not fit a JSON number. */
static void add_hex(cJSON *o, const char *name, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%#lx", value);
	cJSON_AddStringToObject(o, name, text);
}

static void add_place(cJSON *o, const struct dec_place *p)
{
	if (p->line) {
		cJSON_AddStringToObject(o, "file", p->file);
		cJSON_AddNumberToObject(o, "line", p->line);
	}
	if (p->function)
		cJSON_AddStringToObject(o, "function", p->function);
	if (p->module)
		cJSON_AddStringToObject(o, "module", p->module);
}

static void add_call(cJSON *o, const char *name, const struct dec_explain_call *c)
{
	cJSON *call, *args;

	if (!c->is_known)
		return;
	call = cJSON_AddObjectToObject(o, name);
	cJSON_AddStringToObject(call, "name", c->name);
	cJSON_AddNumberToObject(call, "number", c->nr);
	cJSON_AddNumberToObject(call, "thread", c->tid);
	args = cJSON_AddArrayToObject(call, "arguments");
	for (int i = 0; i < c->n_args; i++) {
		char text[24];

		snprintf(text, sizeof(text), "%#lx", c->args[i]);
		cJSON_AddItemToArray(args, cJSON_CreateString(text));
	}
	if (c->seq) {
		add_hex(call, "result", c->ret);
		cJSON_AddNumberToObject(call, "event", c->seq);
	}
	if (c->has_position)
		cJSON_AddNumberToObject(call, "position", c->position);
	if (c->file)
		cJSON_AddStringToObject(call, "descriptor", c->file);
	add_place(call, &c->place);
}

static void add_difference(cJSON *o, const struct dec_explanation *x)
{
	static const char *const kinds[] = { "none",  "register", "place",  "event",
					     "fault", "memory",	  "machine" };
	const struct dec_divergence *d = &x->at;
	cJSON *diff = cJSON_AddObjectToObject(o, "difference");

	cJSON_AddStringToObject(diff, "kind", kinds[d->parting]);
	add_hex(diff, "rip", d->rip);
	add_place(diff, &x->place);
	if (d->event) {
		cJSON_AddNumberToObject(diff, "event", d->seq);
		add_hex(diff, "recorded_rip", d->event_rip);
	}
	if (d->parting == DEC_PARTED_REGISTER) {
		cJSON_AddStringToObject(diff, "register", dec_reg_gpr_name(d->reg));
		add_hex(diff, "recorded", d->recorded);
		add_hex(diff, "replayed", d->replayed);
		cJSON_AddNumberToObject(diff, "registers", x->n_differing);
	} else if (d->parting == DEC_PARTED_FAULT) {
		cJSON_AddNumberToObject(diff, "signal", d->signo);
		add_hex(diff, "address", d->fault_addr);
	}
	if (x->near.n_passed) {
		cJSON *near = cJSON_AddObjectToObject(diff, "nearest");

		cJSON_AddNumberToObject(near, "passed", x->near.n_passed);
		cJSON_AddNumberToObject(near, "position", x->near.position);
		cJSON_AddNumberToObject(near, "registers", x->near.n_differing);
		cJSON_AddStringToObject(near, "register", dec_reg_gpr_name(x->near.reg));
		add_hex(near, "recorded", x->near.recorded);
		add_hex(near, "replayed", x->near.replayed);
	}
	add_call(diff, "replayed_call", &x->here);
	add_call(diff, "recorded_call", &x->written);
}

static void add_chain(cJSON *o, const struct dec_explanation *x)
{
	cJSON *chain = cJSON_AddArrayToObject(o, "chain");

	for (size_t i = 0; i < x->chain.size; i++) {
		const struct dec_explain_step *s = &x->chain.data[i];
		cJSON *step = cJSON_CreateObject();

		cJSON_AddNumberToObject(step, "position", s->position);
		cJSON_AddNumberToObject(step, "thread", s->tid);
		cJSON_AddStringToObject(step, "what", s->what);
		cJSON_AddStringToObject(step, "needed_as", s->needed_as);
		if (s->has_value)
			add_hex(step, "value", s->value);
		if (s->rip)
			add_hex(step, "rip", s->rip);
		if (*s->insn)
			cJSON_AddStringToObject(step, "instruction", s->insn);
		add_place(step, &s->place);
		cJSON_AddItemToArray(chain, step);
	}
	cJSON_AddNumberToObject(o, "left_out", x->n_left_out);
}

static void add_cause(cJSON *o, const struct dec_explanation *x)
{
	cJSON *cause = cJSON_AddObjectToObject(o, "cause"), *others;
	char bytes[40] = "";

	cJSON_AddStringToObject(cause, "name", dec_cause_name(x->cause));
	cJSON_AddStringToObject(cause, "text", x->sentence);
	cJSON_AddStringToObject(cause, "advice", x->advice);
	add_call(cause, "call", &x->input);
	if (x->input_bytes) {
		add_hex(cause, "address", x->input_addr);
		cJSON_AddNumberToObject(cause, "bytes", x->input_bytes);
	}
	for (uint32_t i = 0; i < x->n_input_data; i++)
		snprintf(bytes + 2 * i, sizeof(bytes) - 2 * i, "%02x", x->input_data[i]);
	if (*bytes)
		cJSON_AddStringToObject(cause, "recorded", bytes);
	others = cJSON_AddArrayToObject(cause, "others");
	for (size_t i = 0; i < x->others.size; i++)
		cJSON_AddItemToArray(others, cJSON_CreateString(x->others.data[i]));
	cJSON_AddBoolToObject(cause, "partial", x->is_partial);
}

void dec_explanation_json(const struct dec_explanation *x, struct cJSON *o)
{
	cJSON *e = cJSON_AddObjectToObject(o, "explanation");

	cJSON_AddNumberToObject(e, "thread", x->at.tid);
	cJSON_AddNumberToObject(e, "position", x->at.position);
	add_call(e, "agreed", &x->agreed);
	add_difference(e, x);
	add_chain(e, x);
	add_cause(e, x);
}
