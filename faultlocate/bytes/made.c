// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What code without optimization makes of addresses within a statement: it computes them as the source says. So a
 * constant that is added to a struct's address leads to a member; the distance between two variables, added
 * to a pointer to the one, leads that astray, if it is used at once; and what is loaded from a pointer's place is
 * what the line names by it, a block of the heap or an array in it.
 */
#include <stdlib.h>
#include <string.h>

#include "faultlocate/bytes/bytes_int.h"

#include "decode/x86/zydis.h"

/* ---- distances ---------------------------------------------------------------------------------- */

static struct bytes_object *object_of(struct bytes_walk *w, int reg)
{
	uint32_t number = reg < DEC_GPRS ? w->objects.derive.regs->gpr[reg] : 0;

	return number ? &w->objects.all.data[number - 1] : NULL;
}

static bool is_same(const struct bytes_object *x, const struct bytes_object *y)
{
	return x->around.at.start == y->around.at.start &&
	       x->around.at.size == y->around.at.size &&
	       (x->around.at.name || x->around.before.start == y->around.before.start) &&
	       x->frame.rsp == y->frame.rsp && x->frame.time == y->frame.time;
}

/* .. by the name that the distance was made by? Who walks through one block by a pointer may copy to another so. */
static bool has_same_name(const struct bytes_object *x, const struct bytes_object *y)
{
	return !x->block.name || (y->block.name && !strcmp(x->block.name, y->block.name));
}

bool fl_made_is_distance(struct bytes_walk *w, int reg, const struct bytes_object *x)
{
	const struct bytes_objects *o = &w->objects;
	uint32_t from = reg < DEC_GPRS && o->derive.regs->gpr[reg] ?
				o->made.distance_from[reg] :
				0;

	return from && x && x->is_literal && is_same(x, &o->all.data[from - 1]) &&
	       has_same_name(x, &o->all.data[from - 1]);
}

static bool leads(struct bytes_walk *w, int pointer, int by)
{
	return pointer < DEC_GPRS && fl_made_is_distance(w, by, object_of(w, pointer));
}

int fl_made_led(struct bytes_walk *w, int a, int b)
{
	return leads(w, a, b) ? a : leads(w, b, a) ? b : -1;
}

/* ---- blocks ------------------------------------------------------------------------------------- */

// Beside a dec_flow and SITE_SLOT, in keys of sites.
enum { SITE_MEMBER = 256, SITE_POINTER };

/* The array in @p block that the line of @p rip names, which computes @p addr there: it is asked once. */
static uint32_t named_in(struct bytes_walk *w, uint64_t rip,
			 const struct dec_object *block, uint64_t addr,
			 struct dec_object *ret)
{
	struct bytes_objects *o = &w->objects;
	uint64_t key = hg_derive_key(rip, SITE_MEMBER), at = addr - block->start;
	const uint64_t *known = map_get(&o->sites, key);
	struct bytes_site site = { .addr = at };

	if (known && (!*known || o->site.data[*known - 1].addr != at))
		return 0;
	if (!known) {
		site.element = fl_named_array(w, rip, block, true, addr, ret);
		site.member = *ret;
		site.member.start -= block->start;
		// The last one goes on to the block's end.
		if (ret->start + ret->size == block->start + block->size)
			site.member.size = 0;
		if (site.element && vec_add(&o->site, site))
			return 0;
		if (map_put(&o->sites, key, site.element ? o->site.size : 0) ||
		    !site.element)
			return 0;
	} else {
		site = o->site.data[*known - 1];
	}
	*ret = site.member;
	if (!ret->size && block->size > ret->start)
		ret->size = block->size - ret->start;
	ret->start += block->start;
	return ret->start + ret->size <= block->start + block->size ? site.element : 0;
}

uint32_t fl_made_in_block(struct bytes_walk *w, const struct dec_step *s,
			  const struct dec_object *block, uint64_t addr)
{
	struct bytes_objects *o = &w->objects;
	struct dec_around around = { .at = *block, .is_static = true };
	struct dec_object member;
	uint32_t number, element;
	size_t before;

	if (o->n_blocks == BYTES_BLOCKS)
		return 0;
	element = named_in(w, s->insn->rip, block, addr, &member);
	if (element)
		around.at = member;
	before = o->all.size;
	number = fl_objects_number(w, &around, s->insn->rip);
	if (o->all.size != before) {
		o->all.data[number - 1].element = element;
		o->all.data[number - 1].block = *block;
		o->all.data[number - 1].outer = block->start;
		o->n_blocks++;
	}
	return number;
}

bool fl_made_may_load(const struct dec_insn *insn)
{
	return insn->mnemonic == ZYDIS_MNEMONIC_MOV && insn->n_mem == 1 &&
	       insn->mem[0].is_read && insn->mem[0].index == DEC_REG_NONE &&
	       insn->mem[0].size == 8 &&
	       (insn->mem[0].is_absolute || insn->mem[0].base == CAP_RBP ||
		insn->mem[0].base == CAP_RSP);
}

bool fl_made_is_block(const struct bytes_walk *w, uint64_t value)
{
	return value >= w->first_block && value <= w->last_block &&
	       map_get(&w->blocks, value);
}

bool fl_made_is_asked(struct bytes_walk *w, uint64_t rip)
{
	const uint64_t *known =
		map_get(&w->objects.sites, hg_derive_key(rip, SITE_POINTER));

	return known ? *known : fl_objects_is_literal(w, rip);
}

/* The variable at @p slot, a pointer, that the instruction of @p s loads: it is asked once. */
static const struct dec_object *pointer_at(struct bytes_walk *w, const struct dec_step *s,
					   uint64_t slot)
{
	struct dec_frame f = { .rip = s->insn->rip, .read = fl_objects_read_nothing };
	uint64_t key = hg_derive_key(s->insn->rip, SITE_POINTER);
	struct bytes_objects *o = &w->objects;
	const uint64_t *known = map_get(&o->sites, key);
	struct bytes_site site = {};
	bool is_one;

	if (!known) {
		memcpy(f.gpr, o->derive.regs->value, sizeof(f.gpr));
		is_one = dec_symbols_around(w->symbols, &f, slot, &site.around) &&
			 site.around.at.start == slot && site.around.at.size == 8 &&
			 fl_named_may(w, s->insn->rip, site.around.at.name);
		if ((is_one && vec_add(&o->site, site)) ||
		    map_put(&o->sites, key, is_one ? o->site.size : 0))
			return NULL;
		known = map_get(&o->sites, key);
	}
	return known && *known ? &o->site.data[*known - 1].around.at : NULL;
}

uint32_t fl_made_block(struct bytes_walk *w, const struct dec_step *s, uint64_t value)
{
	const uint64_t *size = map_get(&w->blocks, value);
	const struct dec_object *pointer;
	struct dec_object block;

	pointer = size && *size && w->objects.n_blocks < BYTES_BLOCKS ?
			  pointer_at(w, s, fl_made_slot(s)) :
			  NULL;
	if (!pointer)
		return 0;
	block = *pointer;
	block.start = value;
	block.size = *size;
	return fl_made_in_block(w, s, &block, value);
}

/* ---- registers ---------------------------------------------------------------------------------- */

static uint64_t outer_of(const struct bytes_object *x)
{
	return x->outer ? x->outer : x->around.at.start;
}

/* Are both the same, or arrays in the same? */
static bool is_in_one(const struct bytes_object *x, const struct bytes_object *y)
{
	return is_same(x, y) ||
	       ((x->element || y->element) && outer_of(x) == outer_of(y) &&
		x->frame.rsp == y->frame.rsp && x->frame.time == y->frame.time);
}

/* Register @p to, which was object @p number's (0: none's), is less register @p by now, which is @p from's. Is that a
 * distance from there? Within one object it is a number. */
static bool is_distance_to_other(struct bytes_walk *w, int to, uint32_t number, int by,
				 uint32_t from)
{
	const struct hg_derived_regs *r = w->objects.derive.regs;
	const struct bytes_object *x = &w->objects.all.data[from - 1];
	const struct dec_object *at = x->block.name ? &x->block : &x->around.at;
	uint64_t was = r->value[to] + r->value[by];

	if (!x->is_literal)
		return false;
	return number ? !is_in_one(x, &w->objects.all.data[number - 1]) :
			was - at->start > at->size;
}

/* What the registers say that the instruction writes. */
static void note(struct bytes_walk *w, const struct dec_step *s,
		 const struct insn_model *m, const struct bytes_before *b)
{
	struct bytes_made *made = &w->objects.made;
	const struct bytes_made *was = &b->made;
	int to = m->op[0].reg, by = m->op[1].kind == MODEL_GPR ? m->op[1].reg : to;

	switch (s->insn->mnemonic) {
	case ZYDIS_MNEMONIC_MOV:
		if (m->op[1].kind != MODEL_GPR)
			break;
		made->fresh |= (was->fresh >> by & 1) << to;
		made->astray |= (was->astray >> by & 1) << to;
		made->given |= (was->given >> by & 1) << to;
		made->untold |= (was->untold >> by & 1) << to;
		made->inside |= (was->inside >> by & 1) << to;
		made->distance_from[to] = was->distance_from[by];
		if (b->number[by] == BYTES_DISTANCE)
			hg_derived_set(w->objects.derive.regs, to, BYTES_DISTANCE);
		break;
	case ZYDIS_MNEMONIC_SUB:
		if (by == to || !b->number[by])
			break;
		if (is_distance_to_other(w, to, b->number[to], by, b->number[by]))
			made->distance_from[to] = b->number[by],
			made->has_distance = true;
		else if (w->objects.all.data[b->number[by] - 1].is_literal)
			hg_derived_set(w->objects.derive.regs, to, 0);
		break;
	case ZYDIS_MNEMONIC_ADD: // an index; or a constant
		if (m->op[1].kind == MODEL_IMM)
			made->untold |= was->untold & 1u << to;
		made->astray |= ((was->astray >> to | was->astray >> by) & 1) << to;
		made->distance_from[to] = b->number[to] && was->distance_from[to] ?
						  was->distance_from[to] :
						  was->distance_from[by];
		break;
	case ZYDIS_MNEMONIC_AND: // a tag is taken off
		made->distance_from[to] = was->distance_from[to];
		break;
	default:
		break;
	}
}

/* Which of the registers that the instruction adds is led astray? -1: none. */
static int led_by(struct bytes_walk *w, const struct dec_step *s)
{
	const struct insn_model *m;

	if (!w->objects.made.has_distance || (s->insn->mnemonic != ZYDIS_MNEMONIC_ADD &&
					      s->insn->mnemonic != ZYDIS_MNEMONIC_LEA))
		return -1;
	m = fl_bytes_model(w, s->insn);
	if (!m || m->op[0].kind != MODEL_GPR || m->op[0].bytes != 8)
		return -1;
	if (s->insn->mnemonic == ZYDIS_MNEMONIC_LEA)
		return m->address.scale == 1 ?
			       fl_made_led(w, m->address.base, m->address.index) :
			       -1;
	return m->op[1].kind == MODEL_GPR ? fl_made_led(w, m->op[0].reg, m->op[1].reg) :
					    -1;
}

/* By how much does an instruction move what operand 0 of @p m is to? 0: by nothing that is known, or by what a register
 * holds. */
static int64_t moves_by(const struct dec_step *s, const struct insn_model *m)
{
	switch (s->insn->mnemonic) {
	case ZYDIS_MNEMONIC_ADD:
	case ZYDIS_MNEMONIC_SUB:
		return m->op[1].kind == MODEL_IMM ? (int64_t)m->op[1].imm : 0;
	case ZYDIS_MNEMONIC_LEA:
		return m->address.disp;
	default:
		return 0;
	}
}

/* What @p number is from here on, which was moved by @p by, or is another function's result. Who knows where members are
 * may lead a pointer from one to the next, but for steps from element to element. */
static uint32_t widened(const struct bytes_walk *w, uint32_t number, bool is_given,
			int64_t by)
{
	const struct bytes_object *x = number ? &w->objects.all.data[number - 1] : NULL;

	return x && x->element &&
			       (is_given || (by && (uint64_t)llabs(by) != x->element)) ?
		       x->whole :
		       number;
}

/* What is kept in memory: nothing of distances' results, by which code moves what it points to, nor of whole blocks,
 * pointers to which heapgraph/ knows. */
static void keep(struct bytes_walk *w, const struct dec_ref *r,
		 const struct insn_model *m, const struct bytes_before *b, int64_t by)
{
	struct hg_derive *d = &w->objects.derive;
	const struct bytes_object *x;
	bool is_given = false, is_astray = false;
	uint32_t number, will_be;
	uint64_t value;

	memcpy(&value, r->value, sizeof(value));
	if (m->op[1].kind == MODEL_GPR && b->made.distance_from[m->op[1].reg] &&
	    b->number[m->op[1].reg]) {
		hg_derive_set_word(d, r->addr, value, BYTES_DISTANCE);
		return;
	}
	number = hg_derive_word(d, r->addr, value);
	if (!number)
		return;
	if (m->op[1].kind == MODEL_GPR) {
		is_given = b->made.given >> m->op[1].reg & 1;
		is_astray = b->made.astray >> m->op[1].reg & 1;
	}
	x = &w->objects.all.data[number - 1];
	will_be = is_astray || (x->block.name && !x->element) ?
			  0 :
			  widened(w, number, is_given, by);
	if (will_be != number)
		hg_derive_set_word(d, r->addr, value, will_be);
}

/* What comes of a distance that was kept, and a pointer, may be to what code copies to; else it is an index. */
static bool adds_kept_distance(struct bytes_walk *w, const struct dec_step *s,
			       const struct bytes_before *b)
{
	bool ret = false;

	for (size_t i = 0; i < s->n_refs; i++) {
		const struct dec_ref *r = &s->refs[i];
		uint64_t value;

		if (r->is_def)
			continue;
		if (r->is_mem && r->size == 8 && r->has_value) {
			memcpy(&value, r->value, sizeof(value));
			ret |= hg_derive_word(&w->objects.derive, r->addr, value) ==
			       BYTES_DISTANCE;
		} else if (!r->is_mem && r->reg < DEC_GPRS) {
			ret |= b->number[r->reg] == BYTES_DISTANCE &&
			       !b->made.distance_from[r->reg];
		}
	}
	return ret && dec_insn_is_arithmetic(s->insn->mnemonic);
}

/* A function is called: note which arguments are outside of what they are to. */
static void give_out(struct bytes_walk *w)
{
	const struct bytes_objects *o = &w->objects;

	for (int reg = 0; reg < DEC_GPRS; reg++) {
		struct bytes_object *x = BYTES_ARGUMENTS >> reg & 1 ? object_of(w, reg) :
								      NULL;

		if (x && (x->element || x->is_literal))
			x->is_given_out =
				o->made.astray >> reg & 1 ||
				(x->element &&
				 o->derive.regs->value[reg] - x->is.start >= x->is.size);
	}
}

void fl_made_begin(struct bytes_walk *w, const struct dec_step *s, struct bytes_before *b)
{
	struct hg_derived_regs *r = w->objects.derive.regs;

	b->made = w->objects.made;
	memcpy(b->number, r->gpr, sizeof(b->number));
	b->led = led_by(w, s);
	if (fl_made_is_call(s->insn)) {
		give_out(w);
		fl_ended_call(w, s);
	}
	b->was_live = r->live;
	b->hidden = 0;
	for (uint32_t left = r->live; left; left &= left - 1) {
		int reg = __builtin_ctz(left);

		if (b->number[reg] == BYTES_DISTANCE) {
			b->hidden |= 1u << reg;
			hg_derived_set(r, reg, 0);
		}
	}
}

void fl_made_end(struct bytes_walk *w, const struct dec_step *s,
		 const struct bytes_before *b, bool is_fixed)
{
	struct hg_derived_regs *r = w->objects.derive.regs;
	struct bytes_made *made = &w->objects.made;
	uint32_t written = s->insn->gpr_written & ((1u << DEC_GPRS) - 1);
	const struct insn_model *m;
	int64_t by;
	int to;

	if (fl_made_is_call(s->insn)) {
		*made = (struct bytes_made){ .given = UINT32_MAX };
		return;
	}
	made->fresh &= ~written;
	made->astray &= ~written;
	made->given &= ~written;
	made->untold &= ~written;
	made->inside &= ~written;
	for (uint32_t left = written; left; left &= left - 1)
		made->distance_from[__builtin_ctz(left)] = 0;
	for (uint32_t left = b->hidden & ~written; left; left &= left - 1)
		hg_derived_set(r, __builtin_ctz(left), BYTES_DISTANCE);
	// Nearly all have to do with none of that.
	if (!(written & r->live) && !b->was_live &&
	    !(s->insn->n_mem && s->insn->mem[0].is_write && s->insn->mem[0].is_read))
		return;
	m = fl_bytes_model(w, s->insn);
	if (!m)
		return;
	by = moves_by(s, m);
	for (size_t i = 0; i < s->n_refs; i++)
		if (s->refs[i].is_def && s->refs[i].is_mem && s->refs[i].has_value &&
		    s->refs[i].size == 8)
			keep(w, &s->refs[i], m, b, by);
	if (m->op[0].kind != MODEL_GPR || m->op[0].bytes != 8)
		return;
	to = m->op[0].reg;
	if (b->led >= 0) {
		bool is_named = b->made.fresh >> b->led &
				1; // else it is to what was copied

		made->astray |= is_named << to;
		hg_derived_set(r, to, is_named ? b->number[b->led] : 0);
	} else if (is_fixed) {
		made->fresh |= 1u << to;
		made->untold |= 1u << to;
	} else if (adds_kept_distance(w, s, b)) {
		hg_derived_set(r, to, 0);
	} else {
		if (!s->insn->n_mem)
			note(w, s, m, b);
		else
			fl_ended_load(w, s, to);
		hg_derived_set(r, to, widened(w, r->gpr[to], false, by));
		if (made->distance_from[to] && !r->gpr[to])
			hg_derived_set(r, to, BYTES_DISTANCE);
	}
}
