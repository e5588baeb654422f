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

static bool is_literal(struct bytes_walk *w, uint64_t rip)
{
	const uint64_t *known = map_get(&w->objects.literal, rip);
	bool ret = known ? *known == 2 : dec_symbols_is_literal(w->symbols, rip);

	// What cannot be kept is asked again.
	if (!known)
		map_put(&w->objects.literal, rip, 1 + ret);
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
	x.is_literal = rip && is_literal(w, rip);
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
static bool read_nothing(void *ctx, uint64_t addr, void *buf, size_t size)
{
	(void)ctx, (void)addr, (void)buf, (void)size;
	return false;
}

static void move_object(struct dec_object *o, int64_t by)
{
	o->start += o->name ? by : 0;
}

/* The number of the variable that code at @p rip means by @p addr; 0: none. Where in a frame variables are
 * does not change, so it is asked once. */
static uint32_t at_site(struct bytes_walk *w, const struct dec_step *s, uint64_t addr,
			const uint64_t *gpr, bool is_indexed)
{
	struct bytes_objects *o = &w->objects;
	uint64_t rip = s->insn->rip, key = hg_derive_key(rip, s->insn->flow);
	const uint64_t *known = map_get(&o->sites, key);
	struct dec_frame f = { .rip = rip, .read = read_nothing };
	struct dec_around around = {};
	size_t index;
	bool is_one;

	if (!known) {
		memcpy(f.gpr, gpr, sizeof(f.gpr));
		is_one = dec_symbols_around(w->symbols, &f, addr, &around);
		if (is_one && (vec_add(&o->site, around) || vec_add(&o->site_addr, addr)))
			return 0;
		if (map_put(&o->sites, key, is_one ? o->site.size : 0))
			return 0;
		known = map_get(&o->sites, key);
	}
	if (!known || !*known)
		return 0;
	index = *known - 1;
	around = o->site.data[index];
	if (around.is_static && addr != o->site_addr.data[index])
		return 0;
	move_object(&around.at, addr - o->site_addr.data[index]);
	move_object(&around.before, addr - o->site_addr.data[index]);
	around.other_end += addr - o->site_addr.data[index];
	if (around.other_start != UINT64_MAX)
		around.other_start += addr - o->site_addr.data[index];
	return number_of(w, &around, rip, is_indexed);
}

/* ---- judgement ---------------------------------------------------------------------------------- */

static bool is_gone(const struct bytes_walk *w, const struct bytes_object *x)
{
	const frame_stack *stack = &w->frames->stack;

	if (x->around.is_static || x->tid != w->thread->tid || !x->frame.rsp)
		return false;
	for (size_t i = stack->size; i; i--)
		if (stack->data[i - 1].rsp >= x->frame.rsp)
			return stack->data[i - 1].rsp != x->frame.rsp ||
			       stack->data[i - 1].time != x->frame.time;
	return true;
}

/* Parts that compilers take out of a function are called f.cold, f.part.0. */
static bool is_same_function(struct bytes_walk *w, uint64_t a, uint64_t b)
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

/* Has the block ended that declares the variable? Of a pointer that was made in it; what is made outside is the
 * compiler's. */
static bool has_ended(struct bytes_walk *w, const struct bytes_object *x, uint64_t pc)
{
	const frame_stack *stack = &w->frames->stack;
	const struct dec_object *o = &x->is;
	size_t i = stack->size;

	if (!o->scope_end || !x->is_literal || x->tid != w->thread->tid ||
	    x->site < o->scope_start || x->site >= o->scope_end)
		return false;
	while (i && (stack->data[i - 1].rsp != x->frame.rsp ||
		     stack->data[i - 1].time != x->frame.time))
		i--;
	if (i && i < stack->size)
		pc = stack->data[i].return_rip - 1;
	return i && (pc < o->scope_start || pc >= o->scope_end) &&
	       is_same_function(w, x->site, pc);
}

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
		return !x->site || is_same_function(w, x->site, pc);
	return now.rsp == x->frame.rsp && now.time == x->frame.time;
}

/* Do compilers make such accesses of right ones? */
static bool is_compilers(struct bytes_walk *w, const struct bytes_object *x, uint64_t pc,
			 uint64_t addr, uint64_t size, bool is_call)
{
	if (x->is_literal)
		return false;
	if (!x->around.is_static && addr >= x->around.other_end &&
	    addr + size <= x->around.other_start)
		return true; // something that has no name may be there
	if (is_call || was_inside(x, pc))
		return false;
	if (is_in(&x->is, addr, size ? 1 : 0)) // it begins inside
		return false;
	return is_own_function(w, x, pc);
}

struct err *fl_objects_check(struct bytes_walk *w, struct fl_bytes_place p,
			     uint32_t number, uint64_t addr, uint64_t size, bool is_write,
			     bool is_call)
{
	struct bytes_object *x = &w->objects.all.data[number - 1];
	struct fl_bytes_access a = { .is_static = x->around.is_static,
				     .is_write = is_write,
				     .addr = addr,
				     .size = size };

	if (x->is_pending)
		return NULL;
	a.is_gone = is_gone(w, x);
	if (!x->is.name)
		choose(x, addr, size);
	a.object = x->is.name	     ? x->is :
		   x->around.at.name ? x->around.at :
				       x->around.before;
	if (is_in(&a.object, addr, size) && !a.is_gone)
		a.is_ended = has_ended(w, x, p.pc);
	if (is_in(&a.object, addr, size) && !a.is_gone && !a.is_ended) {
		note_inside(x, p.pc);
		return NULL;
	}
	// Behind what ends there may be something that has no name.
	if (!a.object.name || (!x->is.name && !x->around.at.name && !a.is_gone))
		return NULL;
	if (addr + OFF_MAX < a.object.start ||
	    addr > a.object.start + a.object.size + OFF_MAX)
		return NULL;
	if (!a.is_gone && !a.is_ended && is_compilers(w, x, p.pc, addr, size, is_call))
		return NULL;
	return fl_bytes_is_own(w, &p) ? w->events->access(w->events->ctx, &p, &a) : NULL;
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

static bool is_frame_register(const struct hg_derived_regs *r, uint8_t reg)
{
	return (reg == CAP_RSP || reg == CAP_RBP) && !r->gpr[reg];
}

/* The address that @p m has without its index, if it is one in the frame or in static data. */
static bool base_of(const struct hg_derived_regs *r, const struct dec_mem *m,
		    uint64_t *ret)
{
	if (m->is_fs || m->is_gs || (m->index < DEC_GPRS && r->gpr[m->index]))
		return false;
	if (m->base != DEC_REG_NONE && !is_frame_register(r, m->base))
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
	// Of two, one is the distance to the other.
	if (is_in(&w->objects.all.data[base - 1].is, ref->addr, ref->size))
		return base;
	return is_in(&w->objects.all.data[index - 1].is, ref->addr, ref->size) ? index :
										 0;
}

/* @p r, a pointer's or an indexed variable's access. */
static struct err *check_ref(struct bytes_walk *w, const struct dec_step *s,
			     const struct dec_ref *r, bool is_own)
{
	const struct hg_derived_regs *regs = w->objects.derive.regs;
	const struct fl_bytes_place p = { .time = s->position, .pc = s->insn->rip };
	uint32_t number = 0;
	uint64_t base;

	for (int i = 0; i < s->insn->n_mem && !number; i++) {
		const struct dec_mem *m = &s->insn->mem[i];

		if (!(r->is_def ? m->is_write : m->is_read))
			continue;
		number = pointer_in(w, m, r);
		if (!number && is_own && m->index != DEC_REG_NONE &&
		    base_of(regs, m, &base))
			number = at_site(w, s, base, regs->value, true);
	}
	if (!number || (!is_own && !r->is_def)) // libraries read ahead
		return NULL;
	if (!r->is_def && fl_looks_is_known(w, s->insn->rip))
		return NULL;
	return fl_objects_check(w, p, number, r->addr, r->size, r->is_def, !is_own);
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
		return base_of(r, &m->address, ret);
	*ret = m->op[1].kind == MODEL_IMM ? m->op[1].imm : r->value[CAP_RSP];
	return (m->op[1].kind == MODEL_IMM && *ret >= 4096) ||
	       (m->op[1].kind == MODEL_GPR && m->op[1].reg == CAP_RSP &&
		m->op[0].reg != CAP_RBP);
}

/* To what does @p addr lead, which is made there of registers that were @p gpr? */
static uint32_t object_at(struct bytes_walk *w, const struct dec_step *s, uint64_t addr,
			  const uint64_t *gpr)
{
	uint32_t number = fl_dynamic_pointer(w, s, addr);

	if (!number)
		number = at_site(w, s, addr, gpr, false);
	return number || addr != s->gpr[CAP_RSP] ? number : BYTES_NOBODY;
}

struct err *fl_objects_step(struct bytes_walk *w, const struct dec_step *s)
{
	struct hg_derive *d = &w->objects.derive;
	bool is_own = dec_frames_is_own(w->frames, s->insn->rip), is_new;
	uint64_t before[DEC_GPRS], addr;
	struct err *err = NULL;
	int reg;

	for (size_t i = 0; i < s->n_refs && !err; i++)
		if (s->refs[i].is_mem && s->refs[i].size)
			err = check_ref(w, s, &s->refs[i], is_own);
	is_new = !err && is_own && makes_pointer(w, s, &reg, &addr);
	if (is_new)
		memcpy(before, d->regs->value, sizeof(before));
	hg_derive_step(d, s);
	// Where the stack ends is no pointer to what lies there, whatever it was set from.
	hg_derived_set(d->regs, CAP_RSP, 0);
	if (is_new && !d->regs->gpr[reg])
		hg_derived_set(d->regs, reg, object_at(w, s, addr, before));
	if (is_own && s->insn->gpr_written)
		fl_dynamic_step(w, s);
	return err ? err : d->is_out_of_memory ? &err_nomem : NULL;
}

/* ---- life --------------------------------------------------------------------------------------- */

struct err *fl_objects_init(struct bytes_walk *w)
{
	const struct bytes_object nobody = { .is_pending = true };

	hg_derive_init_plain(&w->objects.derive, pointer_of, w);
	return w->objects.derive.is_out_of_memory ? &err_nomem :
						    vec_add(&w->objects.all, nobody);
}

void fl_objects_deinit(struct bytes_objects *o)
{
	hg_derive_deinit(&o->derive);
	vec_deinit(&o->all);
	vec_deinit(&o->site);
	vec_deinit(&o->site_addr);
	map_deinit(&o->known);
	map_deinit(&o->sites);
	map_deinit(&o->literal);
}
