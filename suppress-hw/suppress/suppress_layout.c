// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Buffers, and variables of which addresses are made: DWARF has the types, and the code of all functions
 * says which integers are indices, and which instructions name which variable.
 */
#include "suppress-hw/suppress/suppress_layout.h"

#include <string.h>

#define NONE UINT32_MAX
#define CODE_MAX (1u << 20) ///< bytes of a function
#define FRAME 16	    ///< from the frame pointer to behind the return address
#define MAINS 4		    ///< parts of main() that a compiler may have split off

/** What code does, looked at from its beginning to its end. */
struct look {
	struct sup_variables *v;
	struct sup_function *function;
	bool has_frame;		    ///< rbp is the frame pointer
	uint32_t from[CAP_GPRS][2]; ///< of which variables a register was made
};

/* ---- finding ------------------------------------------------------------------------------- */

static int by_place(const void *a, const void *b)
{
	const struct sup_variable *x = a, *y = b;

	if (x->placed.kind != y->placed.kind)
		return x->placed.kind < y->placed.kind ? -1 : 1;
	if (x->placed.kind == DEC_PLACED_LOCAL && x->placed.addr != y->placed.addr)
		return x->placed.addr < y->placed.addr ? -1 : 1;
	return (x->at > y->at) - (x->at < y->at);
}

static int by_address(const void *a, const void *b)
{
	const struct sup_function *x = a, *y = b;

	return (x->addr > y->addr) - (x->addr < y->addr);
}

static struct err *add(struct sup_variables *v, const struct dec_placed *p)
{
	struct sup_variable var = { .placed = *p, .align = p->align };
	struct sup_function f = { .name = p->name,
				  .addr = p->addr,
				  .size = p->size,
				  .is_open = p->is_literal };

	if (p->kind == DEC_PLACED_FUNCTION)
		return p->size > CODE_MAX ? NULL : vec_add(&v->functions, f);
	var.at = p->kind == DEC_PLACED_GLOBAL ? (int64_t)p->addr : p->offset + FRAME;
	var.is_buffer = p->type == DEC_PLACED_BUFFER;
	var.is_address = p->type == DEC_PLACED_POINTER;
	// What the caller has put there stays where the caller put it.
	if (p->kind == DEC_PLACED_LOCAL && var.at + (int64_t)p->size > 0)
		return NULL;
	return vec_add(&v->all, var);
}

/* What lies in one place is one. */
static void drop_doubles(struct sup_variables *v)
{
	size_t n = 0;

	for (size_t i = 0; i < v->all.size; i++) {
		const struct sup_variable *x = &v->all.data[i];
		const struct sup_variable *last = n ? &v->all.data[n - 1] : NULL;

		if (last && !by_place(last, x))
			continue;
		v->all.data[n++] = *x;
	}
	v->all.size = n;
}

/* Which variables are whose? Where two of a frame share bytes it stays as it is. */
static void assign(struct sup_variables *v)
{
	for (size_t i = 0; i < v->functions.size; i++) {
		struct sup_function *f = &v->functions.data[i];

		f->first = v->n_globals +
			   vec_rank(v->all.size - v->n_globals, k,
				    v->all.data[v->n_globals + k].placed.addr < f->addr);
		for (size_t k = f->first; k < v->all.size; k++) {
			struct sup_variable *x = &v->all.data[k];

			if (x->placed.addr != f->addr)
				break;
			x->function = i;
			f->n++;
			if (k > f->first && x[-1].at + (int64_t)x[-1].placed.size > x->at)
				f->is_open = false;
		}
		f->is_open &= f->n > 0;
	}
}

static struct err *list_all(struct dec_symbols *s, struct sup_variables *v)
{
	dec_placed_list list = {};
	struct err *err = dec_symbols_placed(s, &list);

	for (size_t i = 0; i < list.size && !err; i++)
		err = add(v, &list.data[i]);
	vec_deinit(&list);
	if (err || !v->functions.size)
		return err;
	vec_sort(&v->all, by_place);
	vec_sort(&v->functions, by_address);
	drop_doubles(v);
	while (v->n_globals < v->all.size &&
	       v->all.data[v->n_globals].placed.kind == DEC_PLACED_GLOBAL)
		v->n_globals++;
	assign(v);
	return NULL;
}

/* ---- what code names -------------------------------------------------------------------------- */

/* The variable of [first, first + n) that place @p at is in; else the one that ends there. */
static uint32_t variable_at(const struct sup_variables *v, size_t first, size_t n,
			    int64_t at)
{
	const struct sup_variable *all = v->all.data + first;
	size_t i = vec_rank(n, k, all[k].at <= at);

	if (!i || at > all[i - 1].at + (int64_t)all[i - 1].placed.size)
		return NONE;
	return first + i - 1;
}

/* Which variable does @p insn name? What is the frame's and nobody knows closes it. */
static uint32_t named_by(struct look *l, const struct dec_insn *insn)
{
	struct sup_function *f = l->function;
	int64_t disp;
	uint8_t base = dec_insn_names(insn, &disp);
	uint32_t which;

	if (base == DEC_REG_RIP)
		return variable_at(l->v, 0, l->v->n_globals, disp);
	if (base != CAP_RBP || !l->has_frame || disp >= 0)
		return NONE;
	which = variable_at(l->v, f->first, f->n, disp);
	// Its end alone is the place of something else there.
	if (which != NONE &&
	    disp >= l->v->all.data[which].at + (int64_t)l->v->all.data[which].placed.size)
		which = NONE;
	// A register that is kept, or the canary, lies above them all.
	if (which == NONE && f->n && disp < l->v->all.data[f->first + f->n - 1].at)
		f->is_open = false;
	return which;
}

static void make_from(struct look *l, uint8_t reg, uint32_t which)
{
	uint32_t *from = l->from[reg];

	if (which == NONE || from[0] == which || from[1] == which)
		return;
	from[from[0] == NONE ? 0 : 1] = which;
}

static void mark_address(struct look *l, uint8_t reg)
{
	for (int i = 0; i < 2 && reg < CAP_GPRS; i++)
		if (l->from[reg][i] != NONE)
			l->v->all.data[l->from[reg][i]].is_address |=
				l->v->all.data[l->from[reg][i]].placed.type !=
				DEC_PLACED_BUFFER;
}

/* What registers are made of behind @p insn, which names @p which. */
static void follow(struct look *l, const struct dec_insn *insn, uint32_t which)
{
	uint32_t was[CAP_GPRS][2];

	memcpy(was, l->from, sizeof(was));
	for (int i = 0; i < insn->n_mem; i++)
		if (insn->mem[i].base != CAP_RBP && insn->mem[i].base != CAP_RSP) {
			mark_address(l, insn->mem[i].base);
			mark_address(l, insn->mem[i].index);
		} else {
			mark_address(l, insn->mem[i].index);
		}
	for (uint8_t reg = 0; reg < CAP_GPRS; reg++) {
		bool is_call = insn->flow == DEC_FLOW_CALL ||
			       insn->flow == DEC_FLOW_CALL_IND;

		if (!is_call && !(insn->gpr_written >> reg & 1))
			continue;
		l->from[reg][0] = l->from[reg][1] = NONE;
		if (is_call)
			continue;
		if (insn->n_mem && insn->mem[0].is_read)
			make_from(l, reg, which);
		for (uint8_t r = 0; r < CAP_GPRS; r++)
			for (int i = 0; i < 2 && (insn->gpr_read >> r & 1); i++)
				make_from(l, reg, was[r][i]);
	}
}

static struct err *look_at(struct look *l, const struct dec_insn *insn)
{
	uint32_t which;

	// mov rbp, rsp
	if (insn->len == 3 && !insn->n_mem && insn->gpr_written == 1 << CAP_RBP &&
	    insn->gpr_read == 1 << CAP_RSP)
		l->has_frame = true;
	which = named_by(l, insn);
	if (which != NONE) {
		struct sup_variable *x = &l->v->all.data[which];
		uint32_t bytes = insn->n_mem ? insn->mem[0].size : 0;

		x->is_accessed |= l->function->has_run;
		if (bytes >= 16 && bytes > x->align)
			x->align = bytes;
		if (vec_add(&l->v->namings,
			    (struct sup_naming){ .rip = insn->rip, .variable = which }))
			return &err_nomem;
	}
	follow(l, insn, which);
	return NULL;
}

static struct err *look_through(struct dec_machine *m, struct sup_variables *v,
				struct sup_function *f)
{
	struct look l = { .v = v, .function = f };
	_cleanup_free_ uint8_t *code = malloc(f->size);
	struct dec_insn insn;
	struct err *err;

	if (!code)
		return &err_nomem;
	memset(l.from, 0xff, sizeof(l.from));
	err = dec_machine_read(m, f->addr, code, f->size);
	for (uint64_t at = 0; at < f->size && !err; at += insn.len) {
		if (!dec_insn_decode(code + at, f->size - at, f->addr + at, &insn))
			break;
		err = look_at(&l, &insn);
	}
	f->is_open &= l.has_frame;
	return err;
}

/* ---- what ran ------------------------------------------------------------------------------- */

/* Which functions run? Each is stopped at once. The first time is the only one. */
static struct err *see_functions(struct dec_machine *m, const uint64_t main[MAINS],
				 uint64_t end, struct sup_variables *v)
{
	struct dec_where w;
	struct err *err = dec_machine_seek(m, 0, &w);

	v->begin = UINT64_MAX;
	for (int i = 0; i < MAINS && main[i] && !err; i++)
		err = dec_machine_break(m, main[i], true);
	for (size_t i = 0; i < v->functions.size && !err; i++)
		err = dec_machine_break(m, v->functions.data[i].addr, true);
	while (!err) {
		struct sup_function *f;

		err = dec_machine_run(m, end, &w);
		if (err || w.at != DEC_AT_BREAK)
			break;
		for (int i = 0; i < MAINS; i++)
			if (w.rip == main[i] && v->begin == UINT64_MAX)
				v->begin = w.position;
		f = vec_find(&v->functions, x, x->addr == w.rip);
		if (f)
			f->has_run = true;
		err = dec_machine_break(m, w.rip, false);
	}
	for (size_t i = 0; i < v->functions.size && !err; i++)
		if (!v->functions.data[i].has_run)
			err = dec_machine_break(m, v->functions.data[i].addr, false);
	return err;
}

struct err *sup_variables_find(struct dec_machine *m, struct dec_symbols *s, uint64_t end,
			       struct sup_variables *ret)
{
	uint64_t main[MAINS] = {};
	struct dec_where w;
	struct err *err = dec_machine_seek(m, 0, &w);

	ret->symbols = s;
	if (!err)
		err = list_all(s, ret);
	if (!err && !dec_symbols_entries(s, "main", main, MAINS))
		return err_new(ERR_NOT_FOUND,
			       "there is no main() with debug information");
	if (!err)
		err = see_functions(m, main, end, ret);
	if (!err && ret->begin == UINT64_MAX)
		return err_new(ERR_NOT_FOUND, "main() did not run");
	if (!err)
		err = dec_machine_seek(m, ret->begin, &w);
	for (size_t i = 0; i < ret->functions.size && !err; i++)
		err = look_through(m, ret, &ret->functions.data[i]);
	return err;
}

void sup_variables_deinit(struct sup_variables *v)
{
	vec_deinit(&v->all);
	vec_deinit(&v->functions);
	vec_deinit(&v->namings);
}
