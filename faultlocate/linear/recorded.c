// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The program is replayed twice: once to learn where its libraries are mapped, and once with
 * breakpoints at the functions' entries and where their calls return to.
 */
#include "faultlocate/linear/recorded.h"

#include <string.h>

#include "decode/machine/machine.h"
#include "decode/symbols/symbols.h"

#define ENTRIES 64 ///< of one function
#define PAUSE_S 2.0

_Static_assert(LIN_NONE == SPEC_OBJECT_NONE && LIN_EMPTY == SPEC_OBJECT_EMPTY,
	       "what stands for nothing");

/* A call under way. */
struct open_call {
	uint32_t tid;
	uint64_t rsp; ///< behind its return
	const char *function;
	uint64_t arg[SPEC_CALL_ARGS];
	size_t op;
};

struct recording {
	const struct spec_object *written;
	const struct fl_lin_object *o;
	struct fl_lin_history *h;
	struct fl_lin_recorded *told;
	struct dec_symbols *symbols;
	struct dec_machine *machine;
	struct map entries; ///< address -> index of the first CALL of its function
	struct map returns; ///< addresses that have a breakpoint
	VEC(struct open_call) open;
	double start;
	bool has_shown;
};

/* ---- what is asked for ------------------------------------------------------------------------ */

static struct err *check_call(const struct fl_lin_object *o, const struct spec_call *c)
{
	char known[256];
	int does;

	if (!c->operation)
		return NULL;
	does = fl_lin_object_operation(o, c->operation, strlen(c->operation));
	if (does < 0) {
		fl_lin_object_operations(o, known, sizeof(known));
		return err_new(ERR_SPEC, "%s:%d: a %s has no operation '%s' (it has: %s)",
			       c->place.file, c->place.line, fl_lin_object_name(o),
			       c->operation, known);
	}
	if (c->n_given != fl_lin_does_args(o, does))
		return err_new(ERR_SPEC, "%s:%d: %s takes %u arguments, not %u",
			       c->place.file, c->place.line, c->operation,
			       fl_lin_does_args(o, does), c->n_given);
	return NULL;
}

static bool is_first_of_function(const struct spec_object *o, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (!strcmp(o->calls[k].function, o->calls[i].function))
			return false;
	return true;
}

static struct err *watch_function(struct recording *r, size_t call)
{
	const char *function = r->written->calls[call].function;
	uint64_t at[ENTRIES];
	size_t n = dec_symbols_methods(r->symbols, function, at, ENTRIES);
	struct err *err = NULL;

	if (dec_symbols_inlined_entries(r->symbols, function, (uint64_t[ENTRIES]){},
					ENTRIES))
		err = vec_add(&r->told->inlined, function);
	if (!n && !err)
		err = vec_add(&r->told->missing, function);
	for (size_t i = 0; !err && i < n && i < ENTRIES; i++) {
		if (map_put(&r->entries, at[i], call))
			return &err_nomem;
		err = dec_machine_break(r->machine, at[i], true);
	}
	return err;
}

static struct err *watch_functions(struct recording *r)
{
	struct err *err = NULL;
	size_t n = 0;

	for (size_t i = 0; !err && i < r->written->n_calls; i++) {
		if (!is_first_of_function(r->written, i))
			continue;
		n++;
		err = watch_function(r, i);
	}
	if (!err && r->told->missing.size == n)
		err = err_new(
			ERR_NOT_FOUND,
			"the program has none of the functions that '%s' names: %s%s",
			r->written->calls[0].place.file, r->told->missing.data[0],
			r->told->inlined.size ? " (it is inlined everywhere: make it "
						"noinline)" :
						"");
	return err;
}

/* ---- values -------------------------------------------------------------------------------------- */

static int64_t widen(uint64_t raw, bool is_int)
{
	int64_t value = is_int ? (int64_t)(int32_t)raw : (int64_t)raw;

	// Three numbers are ours.
	return value <= LIN_ANY ? LIN_ANY + 1 : value;
}

static bool is_number(const struct spec_call_value *v, uint64_t raw)
{
	return v->is_int || raw >> 32 == 0 ?
		       (int32_t)raw == v->number || raw == (uint64_t)v->number :
		       (int64_t)raw == v->number;
}

/* Is this the CALL for what was called and returned? */
static bool call_is(const struct spec_call *c, const struct open_call *open,
		    uint64_t result)
{
	if (strcmp(c->function, open->function))
		return false;
	for (unsigned i = 0; i < c->n_args; i++)
		if (c->arg[i].is == CALL_NUMBER && !is_number(&c->arg[i], open->arg[i]))
			return false;
	return c->returns.is != CALL_NUMBER || is_number(&c->returns, result);
}

/* What @p given stands for; @p result NULL: it has not returned. */
static int64_t given_value(struct recording *r, const struct spec_call *c,
			   const struct spec_call_given *given,
			   const struct open_call *open, const uint64_t *result)
{
	const struct spec_call_value *v;
	uint64_t raw = 0;

	if (given->slot < 0)
		return given->number;
	if (given->slot == SPEC_CALL_ARGS)
		return result ? widen(*result, c->returns.is_int) : LIN_NONE;
	v = &c->arg[given->slot];
	raw = open->arg[given->slot];
	if (v->is == CALL_BEHIND) {
		struct err *err = result ? dec_machine_read(r->machine, raw, &raw,
							    v->is_int ? 4 : 8) :
					   err_new(ERR_RANGE, "it has not returned");

		if (err) {
			err_destroy(err);
			return LIN_NONE;
		}
	}
	return widen(raw, v->is_int);
}

/* ---- calls and returns ----------------------------------------------------------------------------- */

static void fill(struct recording *r, const struct spec_call *c,
		 const struct open_call *open, const uint64_t *result)
{
	struct fl_lin_op *op = &r->h->ops.data[open->op];

	op->does = c->operation ? fl_lin_object_operation(r->o, c->operation,
							  strlen(c->operation)) :
				  -1;
	for (unsigned i = 0; i < SPEC_OBJECT_ARGS; i++)
		op->arg[i] = i < c->n_given ?
				     given_value(r, c, &c->given[i], open, result) :
				     LIN_NONE;
	op->ret = result ? given_value(r, c, &c->gives, open, result) : LIN_NONE;
	op->instance = c->operation ? given_value(r, c, &c->on, open, result) : 0;
	for (unsigned i = 0; i < c->n_given; i++)
		if (op->arg[i] == LIN_NONE)
			op->does = -1;
}

static struct err *enter(struct recording *r, const struct dec_where *w, size_t call)
{
	static const uint8_t args[] = {
		CAP_RDI, CAP_RSI, CAP_RDX, CAP_RCX, CAP_R8, CAP_R9
	};
	struct cap_regs regs;
	struct open_call open, *above;
	struct fl_lin_op *op;
	uint64_t back;
	struct err *err;

	err = dec_machine_regs(r->machine, &regs);
	above = vec_find(&r->open, o, o->tid == w->tid);
	if (err || above) {
		// Who lost the processor here comes by again.
		r->told->n_nested += !err && above->rsp != regs.gpr[CAP_RSP] + 8;
		return err;
	}
	err = dec_machine_read(r->machine, regs.gpr[CAP_RSP], &back, sizeof(back));
	if (err)
		return err;
	open = (struct open_call){ .tid = w->tid,
				   .rsp = regs.gpr[CAP_RSP] + 8,
				   .function = r->written->calls[call].function,
				   .op = r->h->ops.size };
	for (int i = 0; i < SPEC_CALL_ARGS; i++)
		open.arg[i] = regs.gpr[args[i]];
	op = vec_push(&r->h->ops);
	if (!op)
		return &err_nomem;
	*op = (struct fl_lin_op){ .process = w->tid,
				  .call = r->h->moments++,
				  .end = LIN_PENDING,
				  .call_at = w->position };
	// For when it does not return: the first that it may be.
	while (call < r->written->n_calls &&
	       (strcmp(r->written->calls[call].function, open.function) ||
		!r->written->calls[call].operation))
		call++;
	if (call < r->written->n_calls)
		fill(r, &r->written->calls[call], &open, NULL);
	else
		op->does = -1;
	err = vec_add(&r->open, open);
	if (err || map_get(&r->returns, back))
		return err;
	return map_put(&r->returns, back, 1) ? &err_nomem :
					       dec_machine_break(r->machine, back, true);
}

static struct err *leave(struct recording *r, const struct dec_where *w)
{
	struct open_call *open = vec_find(&r->open, o, o->tid == w->tid);
	struct cap_regs regs;
	struct err *err;
	size_t i = 0;

	if (!open)
		return NULL;
	err = dec_machine_regs(r->machine, &regs);
	if (err || regs.gpr[CAP_RSP] != open->rsp)
		return err;
	while (i < r->written->n_calls &&
	       !call_is(&r->written->calls[i], open, regs.gpr[CAP_RAX]))
		i++;
	if (i < r->written->n_calls) {
		fill(r, &r->written->calls[i], open, &regs.gpr[CAP_RAX]);
	} else {
		r->h->ops.data[open->op].does = -1;
		r->told->first_unmatched = open->function;
		r->told->n_unmatched++;
	}
	r->h->ops.data[open->op].end = r->h->moments++;
	r->h->ops.data[open->op].end_at = w->position;
	*open = r->open.data[--r->open.size];
	return NULL;
}

static struct err *stopped(struct recording *r, const struct dec_where *w)
{
	const uint64_t *call;
	struct err *err = NULL;

	if (map_get(&r->returns, w->rip))
		err = leave(r, w);
	call = map_get(&r->entries, w->rip);
	return err || !call ? err : enter(r, w, *call);
}

/* ---- the replays -------------------------------------------------------------------------------- */

static struct err *note_map(void *ctx, const struct dec_where *w)
{
	struct recording *r = ctx;

	return dec_symbols_add(r->symbols, w->map.file, w->map.addr, w->map.size,
			       w->map.file_offset);
}

static void show_progress(void *ctx, const struct dec_where *w)
{
	struct recording *r = ctx;

	if (clock_now_s() - r->start < PAUSE_S || !isatty(2))
		return;
	fprintf(stderr,
		TEXT_AGAIN "faultline: replayed %lu million instructions, %zu calls",
		w->position / 1000000, r->h->ops.size);
	r->has_shown = true;
}

static struct err *run(struct recording *r)
{
	struct dec_where w = {};
	struct err *err = dec_machine_run(r->machine, UINT64_MAX, &w);
	const char *text;

	if (!err)
		err = dec_machine_seek(r->machine, 0, &w);
	if (!err)
		err = watch_functions(r);
	while (!err) {
		err = dec_machine_run(r->machine, UINT64_MAX, &w);
		if (err || w.at != DEC_AT_BREAK)
			break;
		err = stopped(r, &w);
	}
	for (size_t i = 0; i < r->open.size; i++)
		r->told->n_unknown += r->h->ops.data[r->open.data[i].op].does < 0;
	r->told->has_matched = w.at == DEC_AT_END && !w.is_cut;
	text = r->told->has_matched ? NULL : dec_machine_divergence(r->machine);
	snprintf(r->told->divergence, sizeof(r->told->divergence), "%s", text ?: "");
	return err;
}

struct err *fl_lin_history_record(const struct capture *c,
				  const struct spec_object *written,
				  const struct fl_lin_object *o, struct fl_lin_history *h,
				  struct fl_lin_recorded *ret)
{
	struct recording r = {
		.written = written, .o = o, .h = h, .told = ret, .start = clock_now_s()
	};
	const struct dec_machine_options options = {
		.output_fd = -1, .mapped = note_map, .progress = show_progress, .ctx = &r
	};
	struct err *err = NULL;

	*ret = (struct fl_lin_recorded){};
	for (size_t i = 0; !err && i < written->n_calls; i++)
		err = check_call(o, &written->calls[i]);
	if (!err)
		err = dec_symbols_create(c, &r.symbols);
	if (!err)
		err = dec_machine_create(c, &options, &r.machine);
	if (!err)
		err = run(&r);
	if (r.has_shown)
		fputs(TEXT_AGAIN, stderr);
	fl_lin_history_drop(h);
	dec_machine_destroy(r.machine);
	dec_symbols_destroy(r.symbols);
	map_deinit(&r.entries);
	map_deinit(&r.returns);
	vec_deinit(&r.open);
	return err;
}

void fl_lin_recorded_deinit(struct fl_lin_recorded *r)
{
	vec_deinit(&r->missing);
	vec_deinit(&r->inlined);
}
