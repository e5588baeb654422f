// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Which bits of memory have no value, and where such decide something. What becomes of them in an instruction:
 * values_flow.c.
 */
#include <string.h>

#include "faultlocate/bytes/values_int.h"

#include "decode/machine/call_args.h"
#include "decode/x86/zydis.h"

/* ---- memory ------------------------------------------------------------------------------------- */

/* Stands for each page of which no bit has a value, as in large blocks that nobody has touched. */
static const uint8_t *nothing(void)
{
	static uint8_t bits[BYTES_PAGE];

	if (!bits[0])
		memset(bits, 0xff, BYTES_PAGE);
	return bits;
}

static void put_at_hand(struct bytes_values *v, uint64_t number, const uint8_t *bits)
{
	struct bytes_at_hand *at = &v->at_hand[number % BYTES_AT_HAND];

	at->number = number;
	at->bits = bits;
	at->own = bits == nothing() ? NULL : (uint8_t *)bits;
}

// Pages in a row, which are found together: there may be many of a large block.
struct range {
	const uint8_t *page[512];
};

#define RANGE_PAGES (sizeof(struct range) / sizeof(uint8_t *))

static struct range *range_of(const struct bytes_values *v, uint64_t number)
{
	const uint64_t *known = map_get(&v->ranges, number / RANGE_PAGES);

	return known ? (struct range *)(uintptr_t)*known : NULL;
}

/* @return its bits; NULL: all have values. */
static const uint8_t *page_of(struct bytes_values *v, uint64_t number)
{
	const struct range *range;
	size_t at = number % BYTES_AT_HAND;

	if (v->at_hand[at].number == number && number)
		return v->at_hand[at].bits;
	if (v->shadow) {
		put_at_hand(v, number, (uint8_t *)(number * BYTES_PAGE + v->shadow));
		return v->at_hand[at].bits;
	}
	range = range_of(v, number);
	put_at_hand(v, number, range ? range->page[number % RANGE_PAGES] : NULL);
	return v->at_hand[at].bits;
}

static void free_page(const uint8_t *bits)
{
	if (bits != nothing())
		free((uint8_t *)bits);
}

/* @p bits, which are NULL, nothing() or from calloc(), instead of what the page had. */
static struct err *put_page(struct bytes_values *v, uint64_t number, const uint8_t *bits)
{
	struct range *range = range_of(v, number);

	if (!range) {
		range = calloc(1, sizeof(*range));
		if (!range ||
		    map_put(&v->ranges, number / RANGE_PAGES, (uintptr_t)range)) {
			free(range);
			return &err_nomem;
		}
	}
	free_page(range->page[number % RANGE_PAGES]);
	range->page[number % RANGE_PAGES] = bits;
	put_at_hand(v, number, bits);
	return NULL;
}

/* @return its bits, to be changed; NULL: no memory. */
static uint8_t *own_page(struct bytes_values *v, uint64_t number)
{
	const uint8_t *bits = page_of(v, number);
	uint8_t *own;

	if (bits && bits != nothing())
		return (uint8_t *)bits;
	own = calloc(1, BYTES_PAGE);
	if (own && bits)
		memcpy(own, bits, BYTES_PAGE);
	if (own && put_page(v, number, own)) {
		free(own);
		own = NULL;
	}
	return own;
}

struct err *fl_values_set(struct bytes_values *v, uint64_t addr, uint64_t size,
			  bool has_value)
{
	for (uint64_t n; size; addr += n, size -= n) {
		uint64_t number = addr / BYTES_PAGE, at = addr % BYTES_PAGE;
		const uint8_t *bits = page_of(v, number);
		uint8_t *own;

		n = BYTES_PAGE - at < size ? BYTES_PAGE - at : size;
		if (bits ? bits == nothing() && !has_value : has_value)
			continue;
		if (n == BYTES_PAGE && !v->shadow) {
			struct err *err =
				put_page(v, number, has_value ? NULL : nothing());

			if (err)
				return err;
			continue;
		}
		own = own_page(v, number);
		if (!own)
			return &err_nomem;
		memset(own + at, has_value ? 0 : 0xff, n);
	}
	return NULL;
}

uint64_t fl_values_first(struct bytes_values *v, uint64_t addr, uint64_t size)
{
	for (uint64_t n; size; addr += n, size -= n) {
		uint64_t at = addr % BYTES_PAGE;
		const uint8_t *bits = page_of(v, addr / BYTES_PAGE);

		n = BYTES_PAGE - at < size ? BYTES_PAGE - at : size;
		for (uint64_t i = 0; bits && i < n; i++)
			if (bits[at + i])
				return addr + i;
	}
	return UINT64_MAX;
}

void fl_values_read(struct bytes_values *v, uint64_t addr, uint8_t *ret, uint64_t size)
{
	for (uint64_t i = 0; i < size; i++) {
		const uint8_t *bits = page_of(v, (addr + i) / BYTES_PAGE);

		ret[i] = bits ? bits[(addr + i) % BYTES_PAGE] : 0;
	}
}

struct err *fl_values_write(struct bytes_values *v, uint64_t addr, const uint8_t *from,
			    uint64_t size)
{
	for (uint64_t i = 0; i < size; i++) {
		uint64_t number = (addr + i) / BYTES_PAGE;
		uint8_t *own;

		if (!page_of(v, number) && !from[i])
			continue;
		own = own_page(v, number);
		if (!own)
			return &err_nomem;
		own[(addr + i) % BYTES_PAGE] = from[i];
	}
	return NULL;
}

void fl_values_deinit(struct bytes_values *v)
{
	for (size_t i = 0; i < v->ranges.capacity; i++) {
		const struct map_slot *s = &v->ranges.slots[i];
		struct range *range = (struct range *)(uintptr_t)s->value;

		for (size_t k = 0; s->key != MAP_EMPTY_KEY && k < RANGE_PAGES; k++)
			free_page(range->page[k]);
		if (s->key != MAP_EMPTY_KEY)
			free(range);
	}
	map_deinit(&v->ranges);
}

/* ---- the stack ---------------------------------------------------------------------------------- */

#define FRAME_MAX (16 << 20) // what is more leads to another stack

/* Does it make room on the stack, rather than go to another one? */
static bool makes_room(const struct dec_insn *insn)
{
	switch (insn->mnemonic) {
	case ZYDIS_MNEMONIC_PUSH:
	case ZYDIS_MNEMONIC_SUB:
	case ZYDIS_MNEMONIC_ADD:
	case ZYDIS_MNEMONIC_AND:
	case ZYDIS_MNEMONIC_LEA:
	case ZYDIS_MNEMONIC_ENTER:
	case ZYDIS_MNEMONIC_CALL:
		return true;
	default:
		return false;
	}
}

struct err *fl_values_follow_stack(struct bytes_walk *w, const struct dec_insn *insn,
				   uint64_t rsp)
{
	struct bytes_regs *r = &w->thread->regs;
	uint64_t old = r->rsp, end = old - BYTES_RED_ZONE;

	r->rsp = rsp;
	if (rsp >= old || old - rsp > FRAME_MAX || !makes_room(insn))
		return NULL;
	// A function that is called gets nothing below its return address.
	if (insn->mnemonic == ZYDIS_MNEMONIC_CALL)
		end = rsp;
	return fl_values_take(&w->values, rsp - BYTES_RED_ZONE,
			      end - (rsp - BYTES_RED_ZONE));
}

/* ---- uses --------------------------------------------------------------------------------------- */

/* Does the program bring another function for memcheck, by the name that valgrind.h makes, in place of the one
 * at @p pc? Such look at what has no value on purpose (words of a text of which only its part counts). */
static bool is_replaced(struct bytes_walk *w, uint64_t pc)
{
	const uint64_t *known = map_get(&w->replaced, pc);
	struct dec_place p = {};
	char name[256];
	uint64_t entry;
	bool is;

	if (known)
		return *known;
	dec_symbols_place(w->symbols, pc, &p);
	snprintf(name, sizeof(name), "_vgr00000ZU_NONE_%s", p.function ?: "");
	is = p.function && dec_symbols_entries(w->symbols, name, &entry, 1);
	if (map_put(&w->replaced, pc, is))
		return false;
	return is;
}

static struct err *tell(struct bytes_walk *w, const struct dec_step *s,
			enum fl_bytes_use use, uint64_t addr)
{
	struct fl_bytes_place p = { .time = s->position, .pc = s->insn->rip };

	if (w->is_live)
		return w->events->use(w->events->ctx, &p, use, addr);
	// What main() returns exit() gets.
	if (use == FL_USE_SYSCALL && !fl_bytes_is_own(w, &p))
		p.statement = w->frames->left;
	return fl_bytes_is_own(w, &p) && !is_replaced(w, p.pc) ?
		       w->events->use(w->events->ctx, &p, use, addr) :
		       NULL;
}

static bool is_undecided(const struct bytes_regs *r, uint8_t condition)
{
	return (condition & MODEL_ZERO && r->no_zero) ||
	       (condition & MODEL_SIGN && r->no_sign) ||
	       (condition & MODEL_CARRIES && r->no_carry) ||
	       (condition & MODEL_OVERFLOW && r->no_overflow) ||
	       (condition & MODEL_PARITY && r->no_parity);
}

bool fl_values_is_undecided(const struct bytes_regs *r, const struct insn_model *m)
{
	return is_undecided(r, m->condition);
}

/* .. what it reads of memory, too. What is behind a variable's end is told of already. */
static struct err *use_accesses(struct bytes_walk *w, const struct dec_step *s)
{
	for (size_t i = 0; i < s->n_accesses; i++) {
		const struct dec_access *a = &s->accesses[i];
		uint32_t object = fl_bytes_object(w, a);
		uint64_t room = object ? fl_objects_room(w, object, a->addr) : 0, first;

		first = a->is_value ?
				fl_values_first(&w->values, a->addr,
						room && room < a->size ? room : a->size) :
				UINT64_MAX;
		if (first != UINT64_MAX)
			return tell(w, s, FL_USE_OUTPUT, first);
	}
	return NULL;
}

/* What a system call gets must have a value; an argument that is an int, its lower half. */
static struct err *use_syscall(struct bytes_walk *w, const struct dec_step *s)
{
	static const uint8_t args[6] = { CAP_RDI, CAP_RSI, CAP_RDX,
					 CAP_R10, CAP_R8,  CAP_R9 };
	const struct bytes_regs *r = &w->thread->regs;
	uint64_t value[6];
	int n;

	for (int k = 0; k < 6; k++)
		value[k] = w->thread->gpr[args[k]];
	n = dec_call_args_looked_at(w->thread->gpr[CAP_RAX], value);
	for (int k = 0; k < n; k++)
		if ((uint32_t)r->gpr[args[k]])
			return tell(w, s, FL_USE_SYSCALL, 0);
	return use_accesses(w, s);
}

/* Of register @p reg, that is of an address, these bits have no value. */
static uint64_t address_bits(const struct bytes_regs *r, const struct dec_step *s,
			     uint8_t reg)
{
	if (reg >= DEC_GPRS || reg == CAP_RSP)
		return 0;
	switch (s->insn->mnemonic) {
	case ZYDIS_MNEMONIC_XLAT: // by al
		return r->gpr[reg] & (reg == CAP_RAX ? 0xff : UINT64_MAX);
	case ZYDIS_MNEMONIC_ENTER: // by rbp, if there is something to be copied
		return fl_flow_memory(s, false) ? r->gpr[reg] : 0;
	default:
		return r->gpr[reg];
	}
}

/* Are registers of an address without a value? They are not told of again. */
static bool is_address_unknown(struct bytes_regs *r, const struct dec_step *s)
{
	const struct dec_insn *insn = s->insn;
	bool is_xlat = insn->mnemonic == ZYDIS_MNEMONIC_XLAT, is_unknown = false;

	for (int i = 0; i < insn->n_mem; i++) {
		const uint8_t regs[] = { insn->mem[i].base,
					 is_xlat ? CAP_RAX : insn->mem[i].index };

		for (int k = 0; k < 2; k++) {
			if (!address_bits(r, s, regs[k]))
				continue;
			is_unknown = true;
			fl_values_put_gpr(r, regs[k], 0);
		}
	}
	return is_unknown;
}

static struct err *read_memory(struct bytes_walk *w, const struct dec_step *s)
{
	struct err *err = NULL;

	for (size_t i = 0; i < s->n_refs && !err; i++) {
		const struct dec_ref *r = &s->refs[i];
		uint64_t first = r->is_mem && !r->is_def ?
					 fl_values_first(&w->values, r->addr, r->size) :
					 UINT64_MAX;

		if (first != UINT64_MAX)
			err = tell(w, s, FL_USE_READ, first);
	}
	return err;
}

/* .. of rcx, by which jrcxz, and loops, decide: whether that is 0? */
static bool is_count_unknown(struct bytes_walk *w, const struct dec_step *s)
{
	uint64_t bits = w->thread->regs.gpr[CAP_RCX], value = w->thread->gpr[CAP_RCX];

	if (s->insn->mnemonic == ZYDIS_MNEMONIC_JECXZ) {
		bits = (uint32_t)bits;
		value = (uint32_t)value;
	}
	return s->insn->mnemonic == ZYDIS_MNEMONIC_JRCXZ ||
			       s->insn->mnemonic == ZYDIS_MNEMONIC_JECXZ ?
		       bits && !(value & ~bits) :
		       bits != 0;
}

static struct err *use(struct bytes_walk *w, const struct dec_step *s,
		       const struct insn_model *m)
{
	struct bytes_regs *r = &w->thread->regs;
	const struct bytes_flow f = { w, r, s, m };
	const struct dec_insn *insn = s->insn;
	struct err *err = NULL;

	if (is_address_unknown(r, s) || fl_lanes_is_address_unknown(&f))
		err = tell(w, s, FL_USE_ADDRESS, 0);
	if (!err && fl_bits_is_end_unknown(&f))
		err = tell(w, s, FL_USE_BRANCH, 0);
	if (err || insn->flow == DEC_FLOW_NEXT)
		return err;
	if (insn->flow == DEC_FLOW_SYSCALL)
		return use_syscall(w, s);
	if (insn->flow == DEC_FLOW_JCC && is_undecided(r, m->condition)) {
		fl_flow_clear_flags(r);
		return tell(w, s, FL_USE_BRANCH, 0);
	}
	if (insn->flow == DEC_FLOW_JRCX && is_count_unknown(w, s)) {
		fl_values_put_gpr(r, CAP_RCX, 0);
		return tell(w, s, FL_USE_BRANCH, 0);
	}
	if ((insn->flow == DEC_FLOW_JMP_IND || insn->flow == DEC_FLOW_CALL_IND) &&
	    fl_values_operand(w, s, &m->op[0]))
		return tell(w, s, FL_USE_TARGET, 0);
	return NULL;
}

/* ---- a step ------------------------------------------------------------------------------------- */

/* Can it have to do with what has no value? */
static bool is_concerned(struct bytes_walk *w, const struct dec_step *s)
{
	const struct bytes_regs *r = &w->thread->regs;
	const struct dec_insn *insn = s->insn;

	if (r->live & fl_values_regs(insn))
		return true;
	if (r->vec_live & (uint32_t)(insn->other_read | insn->other_written))
		return true;
	if (insn->reads_flags && !fl_has_flags(r))
		return true;
	if (insn->flow == DEC_FLOW_SYSCALL)
		return true;
	for (size_t i = 0; i < s->n_refs; i++)
		if (s->refs[i].is_mem && !s->refs[i].is_def &&
		    !fl_values_are_there(&w->values, s->refs[i].addr, s->refs[i].size))
			return true;
	return false;
}

/* What it stores has values. */
static struct err *define_memory(struct bytes_walk *w, const struct dec_step *s)
{
	struct err *err = NULL;

	for (size_t i = 0; i < s->n_refs && !err; i++)
		if (s->refs[i].is_mem && s->refs[i].is_def)
			err = fl_values_give(&w->values, s->refs[i].addr,
					     s->refs[i].size);
	return err;
}

/* Does @p insn store vector registers, or (@p loads) load them, with all else that is the processor's state? */
static bool is_of_state(const struct dec_insn *insn, bool *loads)
{
	*loads = false;
	switch (insn->mnemonic) {
	case ZYDIS_MNEMONIC_FXRSTOR ... ZYDIS_MNEMONIC_FXRSTOR64:
	case ZYDIS_MNEMONIC_XRSTOR ... ZYDIS_MNEMONIC_XRSTOR64:
		*loads = true;
		return true;
	case ZYDIS_MNEMONIC_FXSAVE ... ZYDIS_MNEMONIC_FXSAVE64:
	case ZYDIS_MNEMONIC_XSAVE ... ZYDIS_MNEMONIC_XSAVEOPT64:
		return true;
	default:
		return false;
	}
}

#define MASKS (0xffu << BYTES_MASKS)

static uint64_t address_of(const struct dec_mem *m, const uint64_t *gpr)
{
	return m->disp + (m->base < DEC_GPRS ? gpr[m->base] : 0) +
	       (m->index < DEC_GPRS ? gpr[m->index] * m->scale : 0);
}

static struct err *keep_state(struct bytes_walk *w, const struct dec_step *s, bool loads)
{
	const struct insn_model *m = fl_bytes_model(w, s->insn);
	struct bytes_regs *r = &w->thread->regs;
	struct bytes_state *state = &w->thread->state;
	uint64_t addr;

	if (!m)
		return &err_nomem;
	addr = address_of(&m->address, w->thread->gpr);
	if (!loads) {
		memcpy(state->vec, r->vec, sizeof(state->vec));
		memcpy(state->mask, r->mask, sizeof(state->mask));
		state->live = r->live & MASKS;
		state->vec_live = r->vec_live;
		state->addr = addr;
	} else {
		fl_values_clear_others(r);
		if (state->addr == addr) {
			memcpy(r->vec, state->vec, sizeof(r->vec));
			memcpy(r->mask, state->mask, sizeof(r->mask));
			r->live |= state->live;
			r->vec_live = state->vec_live;
		}
	}
	return define_memory(w, s);
}

static struct err *apply(struct bytes_walk *w, const struct dec_step *s, bool is_quiet)
{
	struct bytes_regs *r = &w->thread->regs;
	const struct insn_model *m;
	struct err *err;

	if (!is_concerned(w, s)) {
		if (s->insn->writes_flags)
			fl_flow_clear_flags(r);
		return define_memory(w, s);
	}
	m = fl_bytes_model(w, s->insn);
	if (!m)
		return &err_nomem;
	err = !is_quiet && w->events->wants_reads ? read_memory(w, s) : NULL;
	if (!is_quiet && !err)
		err = use(w, s, m);
	return err ? err : fl_values_flow(w, s, m);
}

struct err *fl_values_step(struct bytes_walk *w, const struct dec_step *s, bool is_quiet)
{
	struct bytes_regs *r = &w->thread->regs;
	struct err *err;
	bool loads;

	if (!s->insn) { // a signal's frame, or what the kernel wrote
		r->rsp = s->gpr ? s->gpr[CAP_RSP] : r->rsp;
		return define_memory(w, s);
	}
	err = fl_values_follow_stack(w, s->insn, s->gpr[CAP_RSP]);
	if (err)
		return err;
	if (is_of_state(s->insn, &loads))
		return keep_state(w, s, loads);
	if (!is_quiet && s->n_refs && !w->is_live)
		err = fl_looks_step(w, s);
	return err ? err : apply(w, s, is_quiet);
}

struct err *fl_values_fault(struct bytes_walk *w, const struct dec_step *s)
{
	const struct insn_model *m = fl_bytes_model(w, s->insn);

	return m ? use(w, s, m) : &err_nomem;
}
