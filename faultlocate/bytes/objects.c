// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Pointers to variables. One begins where code computes an address in its frame or in static data, or where it
 * reads one of static data from memory; copies and arithmetic keep it (hg_derive.h).
 *
 * Which variable is meant: what lies at the address, or what ends there; the first access decides. Compilers that
 * optimize compute addresses that are off by what an index or displacement adds again, or lead from one variable
 * to another, and have what has no name in a variable's place. So of code that was optimized only what reaches
 * another variable, or leaves the frame, is told; and of accesses in the function itself those of an instruction that
 * was inside before, or begins inside.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "faultlocate/bytes/bytes_int.h"

#include "decode/x86/zydis.h"

#define OFF_MAX 65536 // an access that is farther away was not meant to be there

/* ---- which variable ----------------------------------------------------------------------------- */

static bool is_in(const struct dec_object *o, uint64_t addr, uint64_t size)
{
	return o->name && addr >= o->start && addr - o->start <= o->size &&
	       size <= o->size - (addr - o->start);
}

bool fl_objects_is_literal(struct bytes_walk *w, uint64_t rip)
{
	size_t at = (rip ^ rip >> 10) %
		    (sizeof(w->objects.at_hand) / sizeof(w->objects.at_hand[0]));
	const uint64_t *known;
	bool ret;

	if (w->objects.at_hand[at].rip == rip)
		return w->objects.at_hand[at].is_literal;
	known = map_get(&w->objects.literal, rip);
	ret = known ? *known == 2 : dec_symbols_is_literal(w->symbols, rip);
	// What cannot be kept is asked again.
	if (!known)
		map_put(&w->objects.literal, rip, 1 + ret);
	w->objects.at_hand[at].rip = rip;
	w->objects.at_hand[at].is_literal = ret;
	return ret;
}

struct frame fl_objects_frame(const struct bytes_walk *w)
{
	const struct frames *f = w->frames;

	return f->stack.size ? f->stack.data[f->stack.size - 1] : (struct frame){};
}

/* The number of what @p around tells of, in the call that is under way; 0: no memory. */
static uint32_t number_of(struct bytes_walk *w, const struct dec_around *around,
			  uint64_t rip, bool is_indexed)
{
	struct bytes_objects *o = &w->objects;
	struct frame frame = around->is_static ? (struct frame){} : fl_objects_frame(w);
	uint64_t start = around->at.name ? around->at.start : around->before.start;
	uint64_t place = hg_derive_key(start, around->before.start) + around->at.size;
	uint64_t key = hg_derive_key(place, hg_derive_key(frame.time, rip));
	const uint64_t *known = map_get(&o->known, key);
	struct bytes_object x = {
		.around = *around, .frame = frame, .site = rip, .tid = w->thread->tid
	};

	if (known)
		return *known;
	x.is_literal = rip && fl_objects_is_literal(w, rip);
	o->has_literal |= x.is_literal;
	// An index goes from what lies there, if nothing was optimized.
	if (!around->before.name || (is_indexed && x.is_literal))
		x.is = around->at;
	if (vec_add(&o->all, x) || map_put(&o->known, key, o->all.size)) {
		o->derive.is_out_of_memory = true;
		return 0;
	}
	return o->all.size;
}

uint32_t fl_objects_number(struct bytes_walk *w, const struct dec_around *around,
			   uint64_t rip)
{
	return number_of(w, around, rip, false);
}

/* Words of memory whose origin is not known: static objects' addresses, if they begin there. */
static uint32_t pointer_of(void *ctx, uint64_t value)
{
	struct bytes_walk *w = ctx;
	struct bytes_objects *o = &w->objects;
	size_t at = (value ^ value >> 12) % (sizeof(o->words) / sizeof(o->words[0]));
	struct dec_around around = { .is_static = true };

	if (value < 4096 || value >> 47)
		return 0;
	if (o->words[at].is_known && o->words[at].value == value)
		return o->words[at].number;
	o->words[at].value = value;
	o->words[at].is_known = true;
	o->words[at].number = dec_symbols_begins(w->symbols, value, &around.at) ?
				      number_of(w, &around, 0, false) :
				      0;
	return o->words[at].number;
}

/* Where memory tells where a variable is, that may change. */
bool fl_objects_read_nothing(void *ctx, uint64_t addr, void *buf, size_t size)
{
	(void)ctx, (void)addr, (void)buf, (void)size;
	return false;
}

static void move_object(struct dec_object *o, int64_t by)
{
	o->start += o->name ? by : 0;
}

/* Does the statement name an array that is a member of the variable? Or that variable, and not what ends where it begins? */
static void name_member(struct bytes_walk *w, uint64_t rip, struct bytes_site *site)
{
	struct dec_object *o = &site->around.at, *before = &site->around.before;

	if (!o->name || !fl_objects_is_literal(w, rip))
		return;
	site->element = fl_named_array(w, rip, o, false, site->addr, &site->member);
	site->member.scope = o->scope;
	site->member.die = o->die;
	if (site->element ||
	    (before->name && o->start == site->addr && fl_named_start(w, rip, o->name)))
		*before = (struct dec_object){};
}

/* May the statement mean something else than @p at, in the midst of which @p addr is? What is added to the index of either of
 * two arrays compilers add to their addresses, which lead to what lies before or behind. */
static bool is_beside(struct bytes_walk *w, uint64_t rip, uint64_t addr,
		      const struct dec_object *at)
{
	return at->name && at->start != addr && fl_objects_is_literal(w, rip) &&
	       fl_named_either(w, rip);
}

/* clang makes one of where an array begins and of what its index is lowered by (`a[--i]`): what is @p addr without the
 * index is in what lies before then. @return whether it may be so; @p ret is that array, or what lies before, as the first
 * access says, or nothing, then. */
static bool is_stepped_back(struct bytes_walk *w, const struct dec_step *s,
			    struct dec_frame *f, uint64_t addr, struct dec_around *ret)
{
	const struct dec_object was = ret->at;
	struct dec_around next;
	bool is_named;

	if (!was.name || was.start == addr || ret->is_static || s->insn->n_mem != 1 ||
	    !fl_objects_is_literal(w, s->insn->rip))
		return false;
	is_named = fl_named_back(w, s->insn->rip);
	if (was.is_array && !is_named)
		return false;
	addr += s->insn->mem[0].size;
	if (dec_symbols_around(w->symbols, f, addr, &next) && next.at.is_array &&
	    next.at.start == addr) {
		*ret = next;
		ret->before = was;
		return true;
	}
	if (is_named)
		ret->at.name = NULL;
	return is_named;
}

/* The number of the variable that code at @p rip means by @p addr; 0: none. Where in a frame variables are
 * does not change, so it is asked once. */
static uint32_t at_site(struct bytes_walk *w, const struct dec_step *s, uint64_t addr,
			const uint64_t *gpr, bool is_indexed)
{
	struct bytes_objects *o = &w->objects;
	uint64_t rip = s->insn->rip, key = hg_derive_key(rip, s->insn->flow);
	const uint64_t *known = map_get(&o->sites, key);
	struct dec_frame f = { .rip = rip, .read = fl_objects_read_nothing };
	struct bytes_site site = { .addr = addr };
	struct dec_around *around = &site.around;
	uint64_t by, outer;
	uint32_t number, whole;
	bool is_one;

	if (!known) {
		memcpy(f.gpr, gpr, sizeof(f.gpr));
		is_one = dec_symbols_around(w->symbols, &f, addr, around) &&
			 !is_beside(w, rip, addr, &around->at);
		site.is_back = is_one && is_indexed &&
			       is_stepped_back(w, s, &f, addr, around);
		is_one &= !site.is_back || around->at.name;
		if (is_one && !site.is_back)
			name_member(w, rip, &site);
		if (is_one && vec_add(&o->site, site))
			return 0;
		if (map_put(&o->sites, key, is_one ? o->site.size : 0))
			return 0;
		known = map_get(&o->sites, key);
	}
	if (!known || !*known)
		return 0;
	site = o->site.data[*known - 1];
	by = addr - site.addr;
	if (around->is_static && by)
		return 0;
	move_object(&around->at, by);
	move_object(&around->before, by);
	around->other_end += by;
	if (around->other_start != UINT64_MAX)
		around->other_start += by;
	whole = number_of(w, around, rip, is_indexed && !site.is_back);
	if (!whole || !site.element)
		return whole;
	outer = around->at.start;
	around->at = site.member;
	move_object(&around->at, by);
	number = number_of(w, around, rip, is_indexed);
	if (number) {
		o->all.data[number - 1].element = site.element;
		o->all.data[number - 1].outer = outer;
		o->all.data[number - 1].whole = whole;
	}
	return number;
}

/* ---- judgement ---------------------------------------------------------------------------------- */

#define STACK_GAP (1u << 20)

/* Where code has several stacks it is not known which calls are under way. */
static bool has_stacks(const struct bytes_walk *w)
{
	return w->has_stacks || w->frames->has_stacks;
}

static bool is_gone(const struct bytes_walk *w, const struct bytes_object *x)
{
	const frame_stack *stack = &w->frames->stack;

	if (x->around.is_static || x->tid != w->thread->tid || !x->frame.rsp ||
	    has_stacks(w))
		return false;
	for (size_t i = stack->size; i; i--) {
		const struct frame *f = &stack->data[i - 1];

		// A call from so far away is from another stack.
		if (f->rsp >= x->frame.rsp)
			return f->rsp - x->frame.rsp < STACK_GAP &&
			       (f->rsp != x->frame.rsp || f->time != x->frame.time);
	}
	return true;
}

/* Parts that compilers take out of a function are called f.cold, f.part.0. */
bool fl_objects_same_function(struct bytes_walk *w, uint64_t a, uint64_t b)
{
	struct dec_place x = {}, y = {};
	size_t n;

	dec_symbols_place(w->symbols, a, &x);
	dec_symbols_place(w->symbols, b, &y);
	if (!x.outer || !y.outer)
		return true;
	n = strcspn(x.outer, ".");
	return n == strcspn(y.outer, ".") && !strncmp(x.outer, y.outer, n);
}

/* How an access is known: bits. */
enum {
	BY_CALL = 1,   // a library's, or what a call means
	BY_ASTRAY = 2, // by a pointer that a distance led away
	BY_HELD =
		4, // by an address that was loaded in the block of the variable: clang's load of what an inlined
		   // function returns is behind that
};

static bool was_inside(const struct bytes_object *x, uint64_t pc)
{
	for (int i = 0; i < x->n_met; i++)
		if (x->met[i].key == pc)
			return true;
	return false;
}

static void note_inside(struct bytes_object *x, uint64_t pc)
{
	size_t n = sizeof(x->met) / sizeof(x->met[0]);

	if (was_inside(x, pc))
		return;
	if (x->n_met < n)
		x->n_met++;
	else
		memmove(x->met, x->met + 1, (n - 1) * sizeof(x->met[0]));
	x->met[x->n_met - 1].key = pc;
}

/* Which of the two that the pointer may be to? The one that the first access is in. */
static void choose(struct bytes_object *x, uint64_t addr, uint64_t size)
{
	if (is_in(&x->around.at, addr, size ? 1 : 0))
		x->is = x->around.at;
	else if (is_in(&x->around.before, addr, size ? 1 : 0))
		x->is = x->around.before;
}

/* Is the function that accesses by @p x at @p pc the one that made it? */
static bool is_own_function(struct bytes_walk *w, const struct bytes_object *x,
			    uint64_t pc)
{
	struct frame now = fl_objects_frame(w);

	if (x->around.is_static)
		return !x->site || fl_objects_same_function(w, x->site, pc);
	return now.rsp == x->frame.rsp && now.time == x->frame.time;
}

/* May what leaves an array that is a member be meant for others? Whoever is called may be given the first of several,
 * as may a copy that the compiler made: what begins there, and is wider than an element. */
static bool may_be_others(const struct bytes_object *x, uint64_t addr, uint64_t size,
			  bool is_call)
{
	return x->element &&
	       (is_call ? !x->is_given_out : size > x->element && addr == x->is.start);
}

/* May what has no name have its place? */
static bool may_be_nameless(const struct bytes_object *x)
{
	const struct dec_object *o = x->is.name ? &x->is : &x->around.at;

	return x->around.shares_from && o->size >= x->around.shares_from &&
	       !o->is_array && !x->element;
}

/* Do compilers make such accesses of right ones? */
static bool is_compilers(struct bytes_walk *w, const struct bytes_object *x, uint64_t pc,
			 uint64_t addr, uint64_t size, bool is_call)
{
	if (x->is_literal && !may_be_nameless(x))
		return false;
	if (!x->around.is_static && addr >= x->around.other_end &&
	    addr <= x->around.other_start && size <= x->around.other_start - addr)
		return true; // something that has no name may be there
	if (x->is_literal)
		return false;
	if (is_call || was_inside(x, pc))
		return false;
	if (is_in(&x->is, addr, size ? 1 : 0)) // it begins inside
		return false;
	return is_own_function(w, x, pc);
}

/* @p how: BY_.. */
static struct err *check(struct bytes_walk *w, struct fl_bytes_place p, uint32_t number,
			 uint64_t addr, uint64_t size, bool is_write, int how)
{
	struct bytes_object *x = &w->objects.all.data[number - 1];
	struct fl_bytes_access a = { .is_static = x->around.is_static,
				     .is_block = x->block.name,
				     .is_write = is_write,
				     .addr = addr,
				     .size = size };
	bool is_call = how & BY_CALL, is_astray = how & BY_ASTRAY;

	if (x->is_pending)
		return NULL;
	a.is_gone = is_gone(w, x);
	if (!x->is.name && is_astray)
		x->is = x->around.at;
	if (!x->is.name)
		choose(x, addr, size);
	a.object = x->is.name	     ? x->is :
		   x->around.at.name ? x->around.at :
				       x->around.before;
	if (is_in(&a.object, addr, size) && !a.is_gone)
		a.is_ended = !(how & BY_HELD) && !may_be_nameless(x) &&
			     fl_ended_has(w, x, p.pc);
	if (is_in(&a.object, addr, size) && !a.is_gone && !a.is_ended) {
		note_inside(x, p.pc);
		return NULL;
	}
	// Behind what ends there may be something that has no name.
	if (!a.object.name || (!x->is.name && !x->around.at.name && !a.is_gone))
		return NULL;
	is_astray |= is_call && x->is_literal && x->is_given_out;
	if (!is_astray && (addr + OFF_MAX < a.object.start ||
			   addr > a.object.start + a.object.size + OFF_MAX))
		return NULL;
	if (x->block.name && !x->element && !is_astray) // heapgraph/ judges those
		return NULL;
	if (!a.is_gone && !a.is_ended && may_be_others(x, addr, size, is_call))
		return NULL;
	if (!a.is_gone && !a.is_ended && is_compilers(w, x, p.pc, addr, size, is_call))
		return NULL;
	return fl_bytes_is_own(w, &p) ? w->events->access(w->events->ctx, &p, &a) : NULL;
}

struct err *fl_objects_check(struct bytes_walk *w, struct fl_bytes_place p,
			     uint32_t number, uint64_t addr, uint64_t size, bool is_write,
			     bool is_call)
{
	return check(w, p, number, addr, size, is_write, is_call ? BY_CALL : 0);
}

uint64_t fl_objects_room(const struct bytes_walk *w, uint32_t number, uint64_t addr)
{
	const struct bytes_object *x = &w->objects.all.data[number - 1];
	const struct dec_object *o = x->is.name ? &x->is : &x->around.at;

	return o->name && !x->is_pending && addr - o->start < o->size ?
		       o->start + o->size - addr :
		       0;
}

/* ---- instructions ------------------------------------------------------------------------------- */

/* Code that needs no register for its frame may have a pointer in rbp, to where its caller wants what it returns: that
 * is behind the return address. */
static bool is_frame_register(const struct bytes_walk *w, uint8_t reg)
{
	const struct hg_derived_regs *r = w->objects.derive.regs;
	uint64_t outer = has_stacks(w) ? 0 : fl_objects_frame(w).rsp;

	return !r->gpr[reg] &&
	       (reg == CAP_RSP ||
		(reg == CAP_RBP && (!outer || r->value[CAP_RBP] < outer)));
}

/* The address that @p m has without its index, if it is one in the frame or in static data. */
static bool base_of(const struct bytes_walk *w, const struct dec_mem *m, uint64_t *ret)
{
	const struct hg_derived_regs *r = w->objects.derive.regs;

	if (m->is_fs || m->is_gs || (m->index < DEC_GPRS && r->gpr[m->index]))
		return false;
	if (m->base != DEC_REG_NONE && !is_frame_register(w, m->base))
		return false;
	*ret = m->disp + (m->base == DEC_REG_NONE ? 0 : r->value[m->base]);
	return m->base != DEC_REG_NONE || m->is_absolute || m->index != DEC_REG_NONE;
}

/* Whose pointer is the address of @p m made of? */
static uint32_t pointer_in(const struct bytes_walk *w, const struct dec_mem *m,
			   const struct dec_ref *ref)
{
	const struct hg_derived_regs *r = w->objects.derive.regs;
	uint32_t base = m->base < DEC_GPRS ? r->gpr[m->base] : 0;
	uint32_t index = m->index < DEC_GPRS && m->scale == 1 ? r->gpr[m->index] : 0;

	if (!base || !index)
		return base ? base : index;
	if (base == BYTES_DISTANCE || index == BYTES_DISTANCE)
		return 0;
	// Of two, one is the distance to the other.
	if (is_in(&w->objects.all.data[base - 1].is, ref->addr, ref->size))
		return base;
	return is_in(&w->objects.all.data[index - 1].is, ref->addr, ref->size) ? index :
										 0;
}

/* ---- accesses ----------------------------------------------------------------------------------- */

/* The number of what is at @p addr, a constant behind a pointer of number @p from. */
static uint32_t made_at(struct bytes_walk *w, const struct dec_step *s, uint32_t from,
			uint64_t addr, const uint64_t *gpr, bool is_indexed)
{
	const struct dec_object block = w->objects.all.data[from - 1].block;

	return block.name ? fl_made_in_block(w, s, &block, addr) :
			    at_site(w, s, addr, gpr, is_indexed);
}

/* The number of what the address of @p m is made of, in the user's code that is not optimized: @p number is what its
 * registers tell. A constant behind a struct's start is another member's, or may be. */
static uint32_t member_in(struct bytes_walk *w, const struct dec_step *s,
			  const struct dec_mem *m, uint32_t number, bool *is_astray)
{
	const struct bytes_objects *o = &w->objects;
	const struct hg_derived_regs *r = o->derive.regs;
	uint32_t other;
	int led;

	if (m->base >= DEC_GPRS)
		return number;
	led = m->scale == 1 ? fl_made_led(w, m->base, m->index) : -1;
	if (led >= 0 && !(o->made.fresh >> led & 1))
		return 0;
	*is_astray = led >= 0 || (r->gpr[m->base] && o->made.astray >> m->base & 1);
	if (led >= 0)
		number = r->gpr[led];
	if (led == m->index || !m->disp || !r->gpr[m->base])
		return number;
	if (!(o->made.fresh >> m->base & 1)) {
		const struct bytes_object *x = &o->all.data[r->gpr[m->base] - 1];

		return x->element && (uint64_t)llabs(m->disp) != x->element ? x->whole :
									      number;
	}
	other = made_at(w, s, r->gpr[m->base], r->value[m->base] + m->disp, r->value,
			m->index != DEC_REG_NONE);
	return other && (o->all.data[other - 1].element ||
			 o->all.data[r->gpr[m->base] - 1].element) ?
		       other :
		       number;
}

/* The variable in the frame that @p m indexes by how far it is from there to elsewhere; 0: none. */
static uint32_t indexed_by_distance(struct bytes_walk *w, const struct dec_step *s,
				    const struct dec_mem *m)
{
	const struct hg_derived_regs *r = w->objects.derive.regs;
	struct dec_mem plain = *m;
	uint32_t number;
	uint64_t base;

	if (m->index >= DEC_GPRS || m->scale != 1 || !r->gpr[m->index] ||
	    !w->objects.made.distance_from[m->index])
		return 0;
	plain.index = DEC_REG_NONE;
	if (!base_of(w, &plain, &base))
		return 0;
	number = at_site(w, s, base, r->value, true);
	return number && fl_made_is_distance(w, m->index,
					     &w->objects.all.data[number - 1]) ?
		       number :
		       0;
}

/* Libraries read ahead: string functions, which are judged when they return, and others by words and vectors. What reads
 * piece by piece has read of the variable before it leaves it. */
static bool may_read_ahead(const struct bytes_walk *w, const struct dec_step *s,
			   const struct dec_ref *r, uint32_t number)
{
	const struct bytes_object *x = &w->objects.all.data[number - 1];

	return w->thread->string.rsp || r->size >= sizeof(uint64_t) ||
	       (uint32_t)(s->insn->other_read | s->insn->other_written) ||
	       (!was_inside(x, s->insn->rip) && !is_in(&x->around.at, r->addr, 1) &&
		!is_in(&x->around.before, r->addr, 1));
}

static bool is_held(const struct bytes_walk *w, const struct dec_insn *insn)
{
	uint32_t bases = 0;

	for (int i = 0; i < insn->n_mem; i++)
		if (insn->mem[i].base < DEC_GPRS)
			bases |= 1u << insn->mem[i].base;
	return bases & w->objects.made.inside;
}

/* @p r, a pointer's or an indexed variable's access. */
static struct err *check_ref(struct bytes_walk *w, const struct dec_step *s,
			     const struct dec_ref *r, bool is_own)
{
	const struct hg_derived_regs *regs = w->objects.derive.regs;
	const struct fl_bytes_place p = { .time = s->position, .pc = s->insn->rip };
	uint32_t number = 0;
	bool is_astray = false;
	uint64_t base;

	for (int i = 0; i < s->insn->n_mem && !number; i++) {
		const struct dec_mem *m = &s->insn->mem[i];

		if (!(r->is_def ? m->is_write : m->is_read) ||
		    (s->insn->is_string &&
		     m != hg_derive_operand(s->insn, r, regs->value)))
			continue;
		number = is_own ? indexed_by_distance(w, s, m) : 0;
		is_astray = number;
		if (number)
			break;
		number = pointer_in(w, m, r);
		if (is_own && (number || m->index < DEC_GPRS))
			number = member_in(w, s, m, number, &is_astray);
		if (!number && is_own && m->index != DEC_REG_NONE && base_of(w, m, &base))
			number = at_site(w, s, base, regs->value, true);
	}
	if (!number || (!is_own && !r->is_def && may_read_ahead(w, s, r, number)))
		return NULL;
	if (r->is_def ? !is_own && hg_string_call_fills(&w->thread->string) :
			fl_looks_is_known(w, s->insn->rip))
		return NULL;
	return check(w, p, number, r->addr, r->size, r->is_def,
		     (is_own ? 0 : BY_CALL) | (is_astray ? BY_ASTRAY : 0) |
			     (is_held(w, s->insn) ? BY_HELD : 0));
}

/* Does it make a pointer to a variable? Then @p ret is the address, in register @p reg. */
static bool makes_pointer(struct bytes_walk *w, const struct dec_step *s, int *reg,
			  uint64_t *ret)
{
	const struct hg_derived_regs *r = w->objects.derive.regs;
	const struct insn_model *m;

	if (s->insn->mnemonic != ZYDIS_MNEMONIC_LEA &&
	    (s->insn->mnemonic != ZYDIS_MNEMONIC_MOV || s->insn->n_mem))
		return false;
	m = fl_bytes_model(w, s->insn);
	if (!m || m->op[0].kind != MODEL_GPR || m->op[0].bytes < 4 ||
	    m->op[0].reg == CAP_RSP)
		return false;
	*reg = m->op[0].reg;
	if (s->insn->mnemonic == ZYDIS_MNEMONIC_LEA)
		return base_of(w, &m->address, ret);
	*ret = m->op[1].kind == MODEL_IMM ? m->op[1].imm : r->value[CAP_RSP];
	return (m->op[1].kind == MODEL_IMM && *ret >= 4096) ||
	       (m->op[1].kind == MODEL_GPR && m->op[1].reg == CAP_RSP &&
		m->op[0].reg != CAP_RBP);
}

/* To what does @p addr lead, which is made there of registers that were @p gpr? @p is_fixed: it is always the same
 * in the frame. */
static uint32_t object_at(struct bytes_walk *w, const struct dec_step *s, uint64_t addr,
			  const uint64_t *gpr, bool *is_fixed)
{
	uint32_t number = fl_dynamic_pointer(w, s, addr);

	if (!number) {
		number = at_site(w, s, addr, gpr, false);
		*is_fixed = number;
	}
	return number || addr != s->gpr[CAP_RSP] ? number : BYTES_NOBODY;
}

/* Is @p addr in the variable that begins where the pointer @p x is to? Else that is moved in front of it, as by who counts
 * from 1. */
static bool stays_inside(const struct bytes_walk *w, const struct bytes_object *x,
			 uint64_t addr)
{
	const struct bytes_object *whole = x->whole ? &w->objects.all.data[x->whole - 1] :
						      x;
	const struct dec_object *o = &whole->around.at;

	return x->block.name || !o->name || addr - o->start <= o->size;
}

/* As makes_pointer(), by a constant that is added to such an address: of a struct to that of its member. */
static bool makes_member(struct bytes_walk *w, const struct dec_step *s, int *reg,
			 uint32_t *number, uint64_t *ret)
{
	const struct bytes_objects *o = &w->objects;
	const struct insn_model *m;
	int from;

	if (!(o->made.fresh & o->derive.regs->live) ||
	    (s->insn->mnemonic != ZYDIS_MNEMONIC_LEA &&
	     s->insn->mnemonic != ZYDIS_MNEMONIC_ADD))
		return false;
	m = fl_bytes_model(w, s->insn);
	if (!m || m->op[0].kind != MODEL_GPR || m->op[0].bytes != 8)
		return false;
	*reg = from = m->op[0].reg;
	if (s->insn->mnemonic == ZYDIS_MNEMONIC_LEA) {
		if (m->address.index != DEC_REG_NONE || m->address.base >= DEC_GPRS)
			return false;
		from = m->address.base;
		*ret = o->derive.regs->value[from] + m->address.disp;
	} else if (m->op[1].kind == MODEL_IMM) {
		*ret = o->derive.regs->value[from] + m->op[1].imm;
	} else {
		return false;
	}
	*number = o->derive.regs->gpr[from];
	return *number && o->all.data[*number - 1].is_literal &&
	       o->made.fresh >> from & 1 &&
	       stays_inside(w, &o->all.data[*number - 1], *ret);
}

/* An instruction of the user's, which is to be carried on. */
static void step_own(struct bytes_walk *w, const struct dec_step *s)
{
	struct hg_derive *d = &w->objects.derive;
	struct bytes_before b;
	struct bytes_sum sum;
	uint64_t before[DEC_GPRS], addr;
	uint32_t other, from;
	bool is_literal = fl_objects_is_literal(w, s->insn->rip), is_new,
	     is_fixed = false, is_member = false;
	int reg = 0;

	memcpy(before, d->regs->value, sizeof(before));
	is_new = makes_pointer(w, s, &reg, &addr);
	if (is_literal) {
		is_member = !is_new && makes_member(w, s, &reg, &from, &addr);
		fl_made_begin(w, s, &b);
	} else {
		fl_optimized_begin(w, s, &sum);
	}
	hg_derive_step(d, s);
	// Where the stack ends is no pointer to what lies there, whatever it was set from.
	hg_derived_set(d->regs, CAP_RSP, 0);
	if (is_new && !d->regs->gpr[reg])
		hg_derived_set(d->regs, reg, object_at(w, s, addr, before, &is_fixed));
	if (is_member && (other = made_at(w, s, from, addr, before, false))) {
		hg_derived_set(d->regs, reg, other);
		is_fixed = true;
	}
	if (is_literal && fl_made_may_load(s->insn) &&
	    (reg = fl_bytes_defined(w, s->insn)) >= 0 && !d->regs->gpr[reg] &&
	    fl_made_is_block(w, d->regs->value[reg]) &&
	    fl_made_is_asked(w, s->insn->rip)) {
		hg_derived_set(d->regs, reg, fl_made_block(w, s, d->regs->value[reg]));
		is_fixed = d->regs->gpr[reg];
	}
	if (is_literal) {
		fl_made_end(w, s, &b, is_fixed);
	} else {
		fl_optimized_end(w, s, &sum);
		if (sum.placed >= 0)
			hg_derived_set(d->regs, sum.placed,
				       at_site(w, s, sum.place, before, true));
	}
	if (s->insn->gpr_written)
		fl_dynamic_step(w, s);
}

struct err *fl_objects_step(struct bytes_walk *w, const struct dec_step *s)
{
	struct hg_derive *d = &w->objects.derive;
	bool is_own = dec_frames_is_own(w->frames, s->insn->rip);
	struct err *err = NULL;

	for (size_t i = 0; i < s->n_refs && !err; i++)
		if (s->refs[i].is_mem && s->refs[i].size)
			err = check_ref(w, s, &s->refs[i], is_own);
	if (err)
		return err;
	if (is_own) {
		step_own(w, s);
	} else {
		hg_derive_step(d, s);
		hg_derived_set(d->regs, CAP_RSP, 0);
	}
	return d->is_out_of_memory ? &err_nomem : NULL;
}

/* ---- life --------------------------------------------------------------------------------------- */

struct err *fl_objects_init(struct bytes_walk *w)
{
	const struct bytes_object nobody = { .is_pending = true };

	hg_derive_init_plain(&w->objects.derive, pointer_of, w);
	if (w->objects.derive.is_out_of_memory || vec_add(&w->objects.all, nobody) ||
	    vec_add(&w->objects.all, nobody))
		return &err_nomem;
	assert(w->objects.all.size == BYTES_DISTANCE);
	return NULL;
}

void fl_objects_deinit(struct bytes_objects *o)
{
	hg_derive_deinit(&o->derive);
	vec_deinit(&o->all);
	vec_deinit(&o->site);
	map_deinit(&o->known);
	map_deinit(&o->sites);
	map_deinit(&o->literal);
	map_deinit(&o->cleanups);
}
