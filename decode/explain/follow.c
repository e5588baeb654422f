// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "decode/explain/follow.h"

#include <string.h>

#include "decode/x86/zydis.h"

// Copies followed; writes looked at that are none; and how far a pointer may be from what it was made of.
#define HOPS_MAX 400
#define PIECES_MAX 32
// Of an address in user space: the two above are 0.
#define ADDRESS_BYTES 6
#define ADDRESS_BITS 47
#define NEAR_BYTES (1 << 16)

static bool begins(const char *name, const char *with)
{
	return !strncmp(name, with, strlen(with));
}

/* May its destination be its source, byte for byte or widened? */
static bool is_copying(const struct dec_insn *insn)
{
	static const char *const names[] = {
		"mov",	  "vmov",     "push",	     "pop",	   "xchg",     "cmov",
		"pinsr",  "vpinsr",   "punpckl",     "vpunpckl",   "leave",    "cdqe",
		"lddqu",  "vlddqu",   "vpbroadcast", "vbroadcast", "cwde",     "pextr",
		"vpextr", "lods",     "stos",	     "unpcklp",	   "vunpcklp", "shufp",
		"pshufd", "vinserti", "vextracti",   "call"
	};
	const char *name = dec_insn_name(insn);

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (begins(name, names[i]))
			return true;
	return false;
}

/* Is register @p reg only part of where something is? */
static bool is_address(const struct dec_insn *insn, int reg)
{
	return (insn->is_string &&
		(reg == CAP_RSI || reg == CAP_RDI || reg == CAP_RCX)) ||
	       dec_insn_is_only_address(insn, reg);
}

static bool is_data(const struct dec_insn *insn, const struct dec_past_ref *r)
{
	return !r->is_def &&
	       (r->is_mem || (r->reg < DEC_REG_K && !is_address(insn, r->reg)));
}

static const struct dec_past_ref *definition(const struct dec_past *p,
					     const struct dec_past_step *s,
					     const struct dec_location *l)
{
	const struct dec_past_ref *r;

	for (uint32_t i = 0; (r = dec_past_ref(p, s, i)); i++) {
		if (!r->is_def || r->is_mem != l->is_mem)
			continue;
		if (l->is_mem ?
			    r->addr < l->addr + l->size && l->addr < r->addr + r->size :
			    r->reg == l->reg)
			return r;
	}
	return NULL;
}

static struct dec_location location_of(const struct dec_past_ref *r, uint32_t tid,
				       uint64_t offset, uint32_t size)
{
	return (struct dec_location){ .is_mem = r->is_mem,
				      .reg = r->reg,
				      .tid = tid,
				      .addr = r->is_mem ? r->addr + offset : 0,
				      .offset = r->is_mem ? 0 : offset,
				      .size = size };
}

/* ---- copies ------------------------------------------------------------------------------ */

/* Of how many bytes of a register a widening instruction makes more, at least. */
static uint32_t widened_bytes(const struct dec_insn *insn)
{
	const char *name = dec_insn_name(insn);

	return !strcmp(name, "cwde") || !strcmp(name, "movsx") ? 2 : 4;
}

/* Do the @p n bytes wanted at @p v stand in @p r at @p offset? @return how many of them; the
 * others are what widening makes of those: of @p widened bytes of a register (0: of none). */
static uint32_t same_bytes(const struct dec_past *p, const struct dec_past_ref *r,
			   uint64_t offset, const uint8_t *v, uint32_t n,
			   uint32_t widened)
{
	const uint8_t *has = dec_past_value(p, r);
	uint32_t have, same = 0;

	if (!has || offset >= r->size || offset >= 64)
		return 0;
	have = r->size - offset < n ? r->size - offset : n;
	if (offset + have > 64)
		return 0;
	while (same < have && has[offset + same] == v[same])
		same++;
	// A whole register is said to be read where only its lower part is widened.
	if (same < have)
		have = widened && same >= widened ? widened : 0;
	for (uint32_t i = have; i < n; i++)
		if (!widened || (v[i] && v[i] != 0xff))
			return 0;
	return have;
}

/* The upper half of what is put together of two registers comes from the second. */
static bool is_second_half(const struct dec_insn *insn, uint64_t offset,
			   const struct dec_past_ref *r, const struct dec_past_ref *def)
{
	const char *name = dec_insn_name(insn);
	bool puts_together = begins(name, "punpckl") || begins(name, "pinsr") ||
			     begins(name, "movhp") || begins(name, "movlhp");

	return puts_together &&
	       (offset >= 8) == (!r->is_mem && r->reg == def->reg && !def->is_mem);
}

static bool find_source(const struct dec_past *p, const struct dec_past_step *s,
			const struct dec_past_ref *def, uint64_t offset,
			const struct dec_location *l, struct dec_location *from)
{
	const struct dec_insn *insn = dec_past_insn(p, s);
	const uint8_t *v = dec_past_value(p, def);
	const struct dec_past_ref *r;

	for (uint32_t i = 0; (r = dec_past_ref(p, s, i)); i++) {
		const uint64_t at[] = { offset, 0, 8 };

		if (!is_data(insn, r) || is_second_half(insn, offset, r, def))
			continue;
		if (insn->is_rep && r->is_mem && def->is_mem && r->size == def->size) {
			*from = location_of(r, s->tid, offset, l->size);
			return true;
		}
		if (!v || offset + l->size > 64)
			continue;
		for (int k = 0; k < 3; k++) {
			uint32_t n = same_bytes(p, r, at[k], v + offset, l->size,
						l->is_mem ? 0 : widened_bytes(insn));

			if (!n)
				continue;
			*from = location_of(r, s->tid, at[k], n);
			return true;
		}
	}
	return false;
}

/* ---- sums -------------------------------------------------------------------------------- */

static uint64_t number(const struct dec_past *p, const struct dec_past_ref *r)
{
	const uint8_t *v = dec_past_value(p, r);
	uint64_t n = 0;

	if (v)
		memcpy(&n, v, r->size < 8 ? r->size : 8);
	return n;
}

static bool is_near(uint64_t a, uint64_t b)
{
	return a - b + NEAR_BYTES <= 2 * NEAR_BYTES;
}

/* May it step a pointer? What multiplies or shifts makes numbers; what sets bits makes no index of them. */
static bool is_stepping(const struct dec_insn *insn)
{
	static const char *const names[] = { "add", "sub", "lea", "inc", "dec", "xadd" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (begins(dec_insn_name(insn), names[i]))
			return true;
	return false;
}

/* lea of a register by a scale, perhaps with itself: a multiple. */
static bool is_scaling(const struct dec_insn *insn)
{
	const uint8_t *b = insn->bytes;

	if (!begins(dec_insn_name(insn), "lea") || !insn->gpr_read ||
	    insn->gpr_read & (insn->gpr_read - 1))
		return false;
	while (b < insn->bytes + 8 && *b != 0x8d) // prefixes are none
		b++;
	return (b[1] & 7) == 4 && b[1] < 0xc0 && (b[2] >> 3 & 7) != 4;
}

/* Are the ones of @p n neighbours? */
static bool is_stretch(uint64_t n)
{
	return n && !((n + (n & -n)) & n);
}

static bool is_marking(const struct dec_insn *insn)
{
	const char *name = dec_insn_name(insn);

	return begins(name, "and") || !strcmp(name, "or") || !strcmp(name, "xor");
}

/* Does the instruction take a whole word from it? */
static bool is_word(const struct dec_insn *insn, const struct dec_past_ref *r)
{
	return is_data(insn, r) && r->size >= 8 && (r->is_mem || r->reg < DEC_GPRS);
}

/* The operand that the pointer is a little away from; NULL where it can come of each, or none. */
static const struct dec_past_ref *
pointer_operand(const struct dec_past *p, const struct dec_past_step *s, uint64_t value)
{
	const struct dec_insn *insn = dec_past_insn(p, s);
	const struct dec_past_ref *r, *best = NULL;
	uint32_t n_near = 0;

	for (uint32_t i = 0; (r = dec_past_ref(p, s, i)); i++) {
		uint64_t n = number(p, r);

		if (!is_word(insn, r) || !is_near(n, value))
			continue;
		n_near++;
		// Of NULL and an index it is NULL that is the pointer.
		if (!best ||
		    (is_near(value, 0) ? n < number(p, best) : n > number(p, best)))
			best = r;
	}
	if (n_near > 1 && is_near(value, 0) && number(p, best))
		return NULL; // a sum of small numbers
	return best;
}

/* The word that something is taken out of, by a mask that is all ones in one stretch, or by a shift to the
 * right (of what is more than an address: else a number is divided); NULL: none is. */
static const struct dec_past_ref *
packed_operand(const struct dec_past *p, const struct dec_past_step *s, uint64_t value)
{
	const struct dec_insn *insn = dec_past_insn(p, s);
	bool is_masking = !strcmp(dec_insn_name(insn), "and");
	const struct dec_past_ref *r, *word = NULL;
	uint32_t n = 0;

	if (!is_masking && !begins(dec_insn_name(insn), "shr") &&
	    !begins(dec_insn_name(insn), "sar"))
		return NULL;
	for (uint32_t i = 0; (r = dec_past_ref(p, s, i)); i++) {
		uint64_t is = number(p, r);

		if (!is_word(insn, r))
			continue;
		if (is_masking ? is_stretch(is) : !(is >> ADDRESS_BITS))
			continue;
		word = r;
		n++;
	}
	return n == 1 && (!is_masking || !(value & ~number(p, word))) ? word : NULL;
}

/* The operand with the address in a word that gets something else above it. */
static const struct dec_past_ref *
address_operand(const struct dec_past *p, const struct dec_past_step *s, uint64_t value)
{
	const struct dec_insn *insn = dec_past_insn(p, s);
	const struct dec_past_ref *r, *found = NULL;
	uint32_t n = 0;

	for (uint32_t i = 0; (r = dec_past_ref(p, s, i)); i++) {
		if (!is_word(insn, r) || (number(p, r) ^ value) << (64 - ADDRESS_BITS))
			continue;
		found = r;
		n++;
	}
	return n == 1 ? found : NULL;
}

/* The operand that is no pointer, beside one or alone. */
static const struct dec_past_ref *index_operand(const struct dec_past *p,
						const struct dec_past_step *s,
						enum dec_follow_what what)
{
	const struct dec_insn *insn = dec_past_insn(p, s);
	const struct dec_past_ref *r, *found = NULL, *only = NULL;
	uint32_t n = 0, n_all = 0;

	for (uint32_t i = 0; (r = dec_past_ref(p, s, i)); i++) {
		uint64_t is = number(p, r);

		if (!is_data(insn, r) || (!r->is_mem && r->reg >= DEC_GPRS))
			continue;
		only = r;
		n_all++;
		if (is >= UINT64_C(1) << 32 && is < UINT64_C(1) << 47)
			continue; // in the range of addresses
		found = r;
		n++;
	}
	if (n_all == 1 && what == DEC_FOLLOW_INDEX)
		return only;
	return n == 1 ? found : NULL;
}

/* The address of a local variable, which is a little away from where the stack is. */
static bool is_frame(const struct dec_past *p, const struct dec_past_step *s)
{
	const struct dec_past_ref *r;

	for (uint32_t i = 0; (r = dec_past_ref(p, s, i)); i++)
		if (!r->is_def && !r->is_mem && r->reg == CAP_RSP)
			return true;
	return false;
}

static bool is_pointer(enum dec_follow_what what)
{
	return what == DEC_FOLLOW_POINTER || what == DEC_FOLLOW_WORD;
}

/* The operand that has the pointer which @p hop made, or its part of a word; NULL: none has. */
static const struct dec_past_ref *source_of_pointer(const struct dec_past *p,
						    const struct dec_past_step *s,
						    enum dec_follow_what what,
						    struct dec_hop *hop)
{
	const struct dec_insn *insn = dec_past_insn(p, s);
	const struct dec_past_ref *r = NULL;

	hop->kind = DEC_HOP_COPY;
	if (what == DEC_FOLLOW_WORD && is_marking(insn))
		r = address_operand(p, s, hop->value);
	if (!r && !is_frame(p, s) &&
	    (is_marking(insn) || (is_stepping(insn) && !is_scaling(insn))) &&
	    (r = pointer_operand(p, s, hop->value)))
		hop->kind = DEC_HOP_OFFSET;
	if (!r)
		r = packed_operand(p, s, hop->value);
	hop->is_part = r && hop->kind == DEC_HOP_COPY;
	return r;
}

static void make_sum(const struct dec_past *p, const struct dec_past_step *s,
		     enum dec_follow_what what, struct dec_hop *hop)
{
	const struct dec_insn *insn = dec_past_insn(p, s);
	const struct dec_past_ref *r = NULL;

	if (is_stepping(insn) && is_near(hop->value, 0) && !dec_insn_is_wide(insn) &&
	    is_pointer(what)) {
		hop->kind = DEC_HOP_COMPUTED;
		hop->is_narrow = true;
		return;
	}
	if (is_pointer(what))
		r = source_of_pointer(p, s, what, hop);
	// Links that are XORed of two addresses are no marks.
	if (!r && what != DEC_FOLLOW_NUMBER &&
	    (!is_marking(insn) || !strcmp(dec_insn_name(insn), "xor"))) {
		hop->kind = DEC_HOP_INDEX;
		r = index_operand(p, s, what);
	}
	if (r)
		hop->from = location_of(r, s->tid, 0, r->size < 8 ? r->size : 8);
	else
		hop->kind = DEC_HOP_COMPUTED;
}

/* ---- hops -------------------------------------------------------------------------------- */

static bool uses_data(const struct dec_past *p, const struct dec_past_step *s)
{
	const struct dec_past_ref *r;

	for (uint32_t i = 0; (r = dec_past_ref(p, s, i)); i++)
		if (is_data(dec_past_insn(p, s), r))
			return true;
	return false;
}

void dec_follow_hop(const struct dec_past *p, const struct dec_past_step *s,
		    const struct dec_location *l, enum dec_follow_what what,
		    struct dec_hop *ret)
{
	const struct dec_past_ref *def = definition(p, s, l);
	const struct dec_insn *insn = dec_past_insn(p, s);
	const uint8_t *v = dec_past_value(p, def);
	uint64_t offset = l->is_mem ? l->addr - def->addr : l->offset;

	*ret = (struct dec_hop){ .position = s->position,
				 .rip = dec_past_rip(p, s),
				 .tid = s->tid,
				 .to = *l,
				 .written = def->size };
	if (l->is_mem && (l->addr < def->addr || offset + l->size > def->size)) {
		ret->kind = DEC_HOP_PIECE;
		return;
	}
	ret->has_value = v && offset + l->size <= 64;
	if (ret->has_value)
		memcpy(&ret->value, v + offset, l->size);
	if (!insn || insn->flow == DEC_FLOW_SYSCALL)
		ret->kind = DEC_HOP_KERNEL;
	else if (dec_insn_zeroes(insn) || !uses_data(p, s))
		ret->kind = DEC_HOP_CONSTANT;
	else if (is_copying(insn) && find_source(p, s, def, offset, l, &ret->from))
		ret->kind = DEC_HOP_COPY;
	else if (ret->has_value && !is_copying(insn))
		make_sum(p, s, what, ret);
	else
		ret->kind = DEC_HOP_COMPUTED;
}

static bool goes_on(const struct dec_hop *hop)
{
	return hop->kind == DEC_HOP_COPY || hop->kind == DEC_HOP_OFFSET ||
	       hop->kind == DEC_HOP_INDEX;
}

static bool is_memory(struct dec_machine *m, uint64_t addr)
{
	uint8_t byte;
	struct err *err = dec_machine_read(m, addr, &byte, 1);
	bool is = !err;

	err_destroy(err);
	return is;
}

/* Was the number an index, added to where there is something? Else it is what the pointer was made
 * of. */
static struct err *check_index(struct dec_past *p, const struct dec_past_step *s,
			       struct dec_hop *hop)
{
	const struct dec_past_ref *r;
	struct dec_machine *m;
	uint64_t index = 0, bases[8];
	size_t n = 0;
	struct err *err;

	for (uint32_t i = 0; (r = dec_past_ref(p, s, i)); i++)
		if (!r->is_def && r->is_mem == hop->from.is_mem &&
		    (r->is_mem || r->reg == hop->from.reg))
			index = number(p, r);
	for (uint32_t i = 0; (r = dec_past_ref(p, s, i)) && n < 4; i++) {
		if (!is_data(dec_past_insn(p, s), r) || r->size < 8 ||
		    (!r->is_mem && r->reg >= DEC_GPRS))
			continue;
		bases[n++] = number(p, r);
	}
	for (int scale = 1; scale <= 8; scale *= 2)
		bases[n++] = hop->value - index * scale;
	err = dec_past_seek(p, hop->position, &m);
	while (!err && n && !is_memory(m, bases[n - 1]))
		n--;
	if (!n)
		hop->kind = DEC_HOP_COMPUTED;
	return err;
}

/* A sum of two that may be addresses, of which one leads somewhere: the other is an index. */
static struct err *find_index(struct dec_past *p, const struct dec_past_step *s,
			      struct dec_hop *hop)
{
	const struct dec_insn *insn = dec_past_insn(p, s);
	const struct dec_past_ref *r, *index = NULL;
	struct dec_machine *m;
	struct err *err = NULL;
	size_t n = 0, n_led = 0;

	if (!insn || hop->kind != DEC_HOP_COMPUTED || !is_stepping(insn))
		return NULL;
	err = dec_past_seek(p, hop->position, &m);
	for (uint32_t i = 0; !err && (r = dec_past_ref(p, s, i)); i++) {
		if (!is_data(insn, r) || r->size < 8 ||
		    (!r->is_mem && r->reg >= DEC_GPRS))
			continue;
		n++;
		if (is_memory(m, number(p, r)))
			n_led++;
		else
			index = r;
	}
	if (err || n != 2 || n_led != 1)
		return err;
	hop->kind = DEC_HOP_INDEX;
	hop->from = location_of(index, s->tid, 0, 8);
	return NULL;
}

/* Did the write of a piece of @p at leave all that is there as it was? So do the moves that overlap, of
 * which memcpy and compilers make one of a size between theirs. */
static struct err *is_same_again(struct dec_past *p, const struct dec_past_step *s,
				 const struct dec_location *at, bool *ret)
{
	const struct dec_past_ref *def = definition(p, s, at);
	const uint8_t *is = dec_past_value(p, def);
	uint64_t start = at->addr > def->addr ? at->addr : def->addr;
	uint64_t end = at->addr + at->size < def->addr + def->size ?
			       at->addr + at->size :
			       def->addr + def->size;
	struct dec_machine *m;
	uint8_t was[8];
	struct err *err;

	*ret = false;
	if (!is || end - start > sizeof(was) || end - def->addr > 64)
		return NULL;
	err = dec_past_seek(p, s->position, &m);
	if (!err)
		err = dec_machine_read(m, start, was, end - start);
	*ret = !err && !memcmp(was, is + (start - def->addr), end - start);
	return err;
}

/* A piece that has all of an address is what there is to follow. @return whether it is one. */
static bool narrow(const struct dec_past *p, const struct dec_past_step *s,
		   struct dec_location *at)
{
	const struct dec_past_ref *def = definition(p, s, at);

	if (at->addr < def->addr || at->addr + ADDRESS_BYTES > def->addr + def->size)
		return false;
	at->size = def->addr + def->size - at->addr;
	return true;
}

/* @p hop wrote only a piece of @p at: may the way go on behind it (@p is_over), or with the piece? */
static struct err *look_at_piece(struct dec_past *p, const struct dec_past_step *s,
				 enum dec_follow_what what, struct dec_location *at,
				 struct dec_hop *hop, bool *is_over)
{
	struct err *err = is_same_again(p, s, at, is_over);

	if (!err && !*is_over && narrow(p, s, at))
		dec_follow_hop(p, s, at, what, hop);
	return err;
}

/* Four bytes that a pointer was cut to, or that were a number: they are where it comes from. */
static bool is_cut(const struct dec_location *at, const struct dec_hop *hop,
		   const struct dec_past *p, const struct dec_past_step *s)
{
	const struct dec_past_ref *def = definition(p, s, at);
	uint32_t upper = 0;

	if (at->size != 4 || hop->kind == DEC_HOP_PIECE)
		return false;
	if (def->size >= 8 && !hop->to.is_mem && !at->offset && dec_past_value(p, def))
		memcpy(&upper, dec_past_value(p, def) + 4, 4);
	return upper && upper != UINT32_MAX;
}

/* A sum that four bytes had a part in was no pointer's before: the last sum made it. */
static void forget_number(struct dec_follow *f)
{
	size_t first = 0;

	while (first < f->hops.size && f->hops.data[first].kind != DEC_HOP_OFFSET)
		first++;
	for (size_t i = first + 1; i < f->hops.size; i++) {
		const struct dec_hop *hop = &f->hops.data[i];

		if (!hop->is_narrow &&
		    (hop->kind != DEC_HOP_COPY || hop->to.size < 8 || hop->from.size > 4))
			continue;
		f->hops.size = first + 1;
		f->is_unwritten = false;
	}
}

/* Of a number that was computed and counted up in registers the last sum made the pointer, too. */
static void forget_start(struct dec_follow *f)
{
	const struct dec_hop *hops = f->hops.data;
	size_t i = f->hops.size, last = 0;

	if (!i-- || hops[i].kind != DEC_HOP_COMPUTED || hops[i].to.is_mem)
		return;
	while (i-- && !hops[i].to.is_mem && !hops[i].from.is_mem)
		if (hops[i].kind == DEC_HOP_OFFSET)
			last = i + 1;
	if (last)
		f->hops.size = last;
}

struct err *dec_follow(struct dec_past *p, const struct dec_location *l, uint64_t before,
		       enum dec_follow_what what, dec_follow_stop_fn stop, void *ctx,
		       struct dec_follow *ret)
{
	struct dec_location at = *l;
	bool is_over;
	int n_pieces = 0;

	while (ret->hops.size < HOPS_MAX) {
		const struct dec_past_step *s;
		struct dec_hop hop, *later = NULL;
		enum dec_follow_next next;
		struct err *err = dec_past_writer(p, &at, before, &s, &ret->is_far);

		if (err)
			return err;
		ret->last = at;
		if (!s) {
			ret->is_unwritten = !ret->is_far;
			if (is_pointer(what))
				forget_number(ret);
			return NULL;
		}
		dec_follow_hop(p, s, &at, what, &hop);
		is_over = false;
		if (hop.kind == DEC_HOP_PIECE && at.is_mem && n_pieces++ < PIECES_MAX)
			err = look_at_piece(p, s, what, &at, &hop, &is_over);
		if (err)
			return err;
		if (is_over) {
			before = hop.position;
			continue;
		}
		if (is_pointer(what) && ret->hops.size && is_cut(&at, &hop, p, s))
			return NULL;
		if (hop.kind == DEC_HOP_INDEX && is_pointer(what))
			err = check_index(p, s, &hop);
		else if (is_pointer(what))
			err = find_index(p, s, &hop);
		if (err)
			return err;
		if (ret->hops.size)
			later = &ret->hops.data[ret->hops.size - 1];
		next = stop ? stop(ctx, later, &hop) : DEC_FOLLOW_ON;
		if (next == DEC_FOLLOW_STOP)
			return NULL;
		if (vec_add(&ret->hops, hop))
			return &err_nomem;
		if (next == DEC_FOLLOW_LAST)
			return NULL;
		if (!goes_on(&hop)) {
			if (is_pointer(what)) {
				forget_number(ret);
				forget_start(ret);
			}
			return NULL;
		}
		if (hop.is_part)
			what = DEC_FOLLOW_WORD;
		if (hop.kind == DEC_HOP_INDEX && is_pointer(what))
			what = DEC_FOLLOW_INDEX;
		if (what == DEC_FOLLOW_INDEX && hop.from.is_mem)
			what = DEC_FOLLOW_NUMBER;
		at = hop.from;
		before = hop.position;
	}
	ret->is_far = true;
	return NULL;
}

void dec_follow_deinit(struct dec_follow *f)
{
	vec_deinit(&f->hops);
}
