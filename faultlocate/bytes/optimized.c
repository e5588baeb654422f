// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What optimized code adds up of variables' addresses, which is not what lies there.
 */
#include <string.h>

#include "faultlocate/bytes/bytes_int.h"

#include "decode/x86/zydis.h"

/* Do @p a and @p b lie in @p o, or at its end? */
static bool are_of(const struct dec_object *o, uint64_t a, uint64_t b)
{
	return o->name && a - o->start <= o->size && b - o->start <= o->size;
}

/* .. in the variable that a pointer of number @p number is to, or that ends there? */
static bool are_of_one(const struct bytes_walk *w, uint32_t number, uint64_t a,
		       uint64_t b)
{
	const struct bytes_object *x = number ? &w->objects.all.data[number - 1] : NULL;

	return x && (are_of(&x->around.at, a, b) || are_of(&x->around.before, a, b));
}

/* It keeps a variable's end as an address, of whatever is there: that less an address inside of the
 * variable is how many bytes there are, and no pointer. */
static void note_bytes_between(struct bytes_walk *w, const struct dec_step *s,
			       const struct bytes_sum *b)
{
	struct hg_derived_regs *r = w->objects.derive.regs;
	int to = s->insn->mnemonic == ZYDIS_MNEMONIC_SUB ? fl_bytes_defined(w, s->insn) :
							   -1,
	    by;
	const struct insn_model *m;
	uint64_t from;

	if (to < 0 || !r->gpr[to])
		return;
	m = fl_bytes_model(w, s->insn);
	by = m->op[1].kind == MODEL_GPR ? m->op[1].reg : to;
	from = b->value[to] - r->value[to];
	if (are_of_one(w, b->number[to], b->value[to], from) ||
	    (by != to && are_of_one(w, b->number[by], b->value[to], from)))
		hg_derived_set(r, to, 0);
}

/* Is it in @p reg how far it is from the start of the table that a pointer of number @p number is to? clang makes that of
 * an array of pointers to what is constant, and adds it to the table's address (-fPIC, LLVM's reltable.f). */
static bool is_relative(const struct bytes_walk *w, int reg, uint32_t number)
{
	const struct bytes_relative *r = &w->thread->relative;

	return number && r->table[reg] == number &&
	       r->value[reg] == w->objects.derive.regs->value[reg];
}

/* The register to which the instruction of @p s adds up the address of a table and what it read of
 * it, which leads elsewhere; -1: none. */
static int relative_sum(struct bytes_walk *w, const struct dec_step *s)
{
	const uint32_t *number = w->objects.derive.regs->gpr;
	int to = s->insn->mnemonic == ZYDIS_MNEMONIC_ADD ? fl_bytes_defined(w, s->insn) :
							   -1,
	    by;
	const struct insn_model *m;

	if (to < 0)
		return -1;
	m = fl_bytes_model(w, s->insn);
	if (m->op[1].kind != MODEL_GPR)
		return -1;
	by = m->op[1].reg;
	return is_relative(w, by, number[to]) || is_relative(w, to, number[by]) ? to : -1;
}

/* Does it read of a table how far it is from there? */
static void note_relative(struct bytes_walk *w, const struct dec_step *s,
			  const uint32_t *number)
{
	struct bytes_relative *r = &w->thread->relative;
	const struct bytes_object *x;
	const struct insn_model *m;
	int to;

	if (s->insn->mnemonic != ZYDIS_MNEMONIC_MOVSXD || !s->insn->n_mem)
		return;
	m = fl_bytes_model(w, s->insn);
	to = fl_bytes_defined(w, s->insn);
	if (to < 0 || m->address.base >= DEC_GPRS || !number[m->address.base])
		return;
	x = &w->objects.all.data[number[m->address.base] - 1];
	r->table[to] = x->around.is_static ? number[m->address.base] : 0;
	r->value[to] = w->objects.derive.regs->value[to];
}

#define LEA_BYTES 5 // at most, without a displacement

/* clang adds a variable's place in the frame behind a lea that has added an index to where the frame ends
 * (LLVM's FixupLEAs), and not in it, whatever lies at that end. @return the register to
 * which the instruction of @p s adds such, with @p ret the address without the index; -1: none. */
static int placed_by(struct bytes_walk *w, const struct dec_step *s, uint64_t *ret)
{
	const uint32_t *number = w->objects.derive.regs->gpr;
	const struct bytes_objects *o = &w->objects;
	int to = s->insn->mnemonic == ZYDIS_MNEMONIC_ADD ? fl_bytes_defined(w, s->insn) :
							   -1;
	const struct bytes_object *x;
	const struct bytes_site *site;
	const struct insn_model *m;
	const uint64_t *known;

	if (to < 0 || !number[to])
		return -1;
	m = fl_bytes_model(w, s->insn);
	x = &o->all.data[number[to] - 1];
	if (m->op[1].kind != MODEL_IMM || !x->site || x->around.is_static ||
	    s->insn->rip - x->site > LEA_BYTES)
		return -1;
	known = map_get(&o->sites, hg_derive_key(x->site, DEC_FLOW_NEXT));
	if (!known || !*known)
		return -1;
	site = &o->site.data[*known - 1];
	*ret = site->addr + m->op[1].imm +
	       (x->around.at.name ? x->around.at.start - site->around.at.start :
				    x->around.before.start - site->around.before.start);
	return to;
}

void fl_optimized_begin(struct bytes_walk *w, const struct dec_step *s,
			struct bytes_sum *b)
{
	const struct hg_derived_regs *r = w->objects.derive.regs;

	memcpy(b->value, r->value, sizeof(b->value));
	memcpy(b->number, r->gpr, sizeof(b->number));
	b->led = relative_sum(w, s);
	b->placed = placed_by(w, s, &b->place);
}

void fl_optimized_end(struct bytes_walk *w, const struct dec_step *s,
		      const struct bytes_sum *b)
{
	note_bytes_between(w, s, b);
	note_relative(w, s, b->number);
	if (b->led >= 0)
		hg_derived_set(w->objects.derive.regs, b->led, 0);
}
