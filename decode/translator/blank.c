// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "decode/translator/blank.h"

#include <cpuid.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "decode/translator/guard_int.h"
#include "decode/translator/touch.h"
#include "decode/x86/zydis.h"

#define CHUNK 65536ull
// At a distance of whole pages a byte and its shadow would have one place in the first cache, which looks for it by the low
// bits: each access would wait for the other (on Zen 4 half of the time was spent so).
#define STAGGER 0x840
#define PROBES 64
// What is looked at beside what is there: behind masked operands; below a stack's end, by its red zone.
#define BEHIND 64
#define BELOW 4096
#define BOTTOM 0x10000ull
#define TOP 0x7ffffffe0000ull
// Of a block that is released the allocator reads so much, to see whether that happens twice.
#define FREE_BYTES 16
// So far from its beginning the code of a function of strings is its own for sure.
#define STRING_CODE 4096
// So much that is new nobody may ever touch: it is mapped, in pieces.
#define ONES_FROM (8ull << 20)
#define ONES_BYTES (2ull << 20)

// The linker's; NULL: there is no such section.
extern const struct dec_blank_ops __start_dec_blank_ops[] __attribute__((weak));

static const struct dec_blank_ops *ops;

/* ---- the shadow ----------------------------------------------------------------------------------- */

static const uint64_t *chunk_of(const struct dec_blank *k, uint64_t number)
{
	// Spread, as ranges of neighbours would otherwise run into each other.
	uint64_t i = number * 0x9e3779b97f4a7c15 >> 32 & (BLANK_CHUNKS - 1);

	for (int n = 0; n < PROBES; n++, i = (i + 1) % BLANK_CHUNKS)
		if (!k->chunks[i] || k->chunks[i] == number + 1)
			return &k->chunks[i];
	return NULL;
}

static bool has_chunk(const struct dec_blank *k, uint64_t number)
{
	const uint64_t *chunk = chunk_of(k, number);

	return chunk && *chunk;
}

/* Chunks [at, at + n) are new. @return false: something is there. */
static bool map_chunks(struct dec_blank *k, uint64_t at, uint64_t n)
{
	void *p = mmap((void *)(at * CHUNK), n * CHUNK, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE,
		       -1, 0);

	if (p != (void *)(at * CHUNK)) {
		if (p != MAP_FAILED) // a kernel before 4.17 took it for a hint
			munmap(p, n * CHUNK);
		return false;
	}
	for (uint64_t i = at; i < at + n; i++) {
		const uint64_t *chunk = chunk_of(k, i);

		if (!chunk)
			return false;
		k->chunks[chunk - k->chunks] = i + 1;
	}
	return true;
}

static bool cover(struct dec_blank *k, uint64_t start, uint64_t end)
{
	uint64_t at = (start - BELOW + k->off) / CHUNK;
	uint64_t last = (end - 1 + BEHIND + k->off) / CHUNK;
	bool is_there = true;

	for (uint64_t n; at <= last && is_there; at += n) {
		n = 1;
		if (has_chunk(k, at))
			continue;
		while (at + n <= last && !has_chunk(k, at + n))
			n++;
		is_there = map_chunks(k, at, n);
	}
	return is_there;
}

void dec_blank_cover(struct dec_engine *e, uint64_t start, uint64_t end)
{
	if (e->guard && e->guard->blank && !cover(e->guard->blank, start, end))
		dec_guard_doubt(e, DEC_DOUBT_ROOM, e->ctx->rip);
}

static void uncover(struct dec_blank *k)
{
	for (size_t i = 0; i < BLANK_CHUNKS; i++) {
		if (k->chunks[i])
			munmap((void *)((k->chunks[i] - 1) * CHUNK), CHUNK);
		k->chunks[i] = 0;
	}
}

/* .. at about distance @p off? */
static bool fits(struct dec_blank *k, int32_t off, const struct blank_span *spans,
		 size_t n)
{
	off += STAGGER;
	k->off = off;
	for (size_t i = 0; i < n; i++)
		if (spans[i].start + off < BOTTOM || spans[i].start + off >= TOP ||
		    spans[i].end + off > TOP || !cover(k, spans[i].start, spans[i].end)) {
			uncover(k);
			return false;
		}
	return true;
}

struct err *dec_blank_start(struct dec_engine *e, const struct blank_span *spans,
			    size_t n)
{
	// Code, data and heap have none of theirs there, nor, mostly, our own code. A program that lies at the bottom has
	// all above, as far as its stack has room there.
	static const int32_t offs[] = { -0x60000000, -0x50000000, -0x40000000, 0x7c000000,
					0x28000000,  0x20000000,  0x18000000 };
	const size_t n_offs = sizeof(offs) / sizeof(*offs);
	struct dec_blank *k = NULL;
	uint32_t a, b, c, d;
	size_t i = 0;

	ops = __start_dec_blank_ops;
	if (ops)
		k = calloc(1, sizeof(*k));
	while (k && i < n_offs && !fits(k, offs[i], spans, n))
		i++;
	if (k && i < n_offs)
		k->state = ops->create(k->off);
	if (!k || !k->state) {
		free(k);
		return err_new(ERR_UNSUPPORTED, "what has no value cannot be followed");
	}
	__cpuid_count(7, 0, a, b, c, d);
	k->has_avx2 = b & bit_AVX2 && e->ctx->xmask & 4;
	e->guard->blank = k;
	dec_engine_flush(e);
	return NULL;
}

/* The shadow at @p at, whole pages of it, becomes that of a file; -1: that of nothing. */
static bool map_over(uint64_t at, uint64_t size, int fd)
{
	int how = fd < 0 ? MAP_ANONYMOUS : 0;

	return mmap((void *)at, size, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE | how, fd, 0) != MAP_FAILED;
}

/* The memory has values. */
static void give(struct dec_blank *k, uint64_t addr, uint64_t size)
{
	for (uint64_t at = addr + k->off, end = at + size, n; at < end; at += n) {
		n = CHUNK - at % CHUNK < end - at ? CHUNK - at % CHUNK : end - at;
		if (!has_chunk(k, at / CHUNK))
			continue;
		while (at % CHUNK == 0 && n % CHUNK == 0 && end - at - n >= CHUNK &&
		       has_chunk(k, (at + n) / CHUNK))
			n += CHUNK;
		if (n < CHUNK || !map_over(at, n, -1))
			guard_fill((void *)at, 0, n);
	}
}

static bool make_ones(struct dec_blank *k)
{
	void *p;

	if (k->ones)
		return true;
	k->ones = memfd_create("ones", MFD_CLOEXEC);
	if (k->ones < 0 || ftruncate(k->ones, ONES_BYTES))
		return false;
	p = mmap(NULL, ONES_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, k->ones, 0);
	if (p == MAP_FAILED)
		return false;
	memset(p, 0xff, ONES_BYTES);
	munmap(p, ONES_BYTES);
	return true;
}

/* The memory has no values. @return false: there is no room to say so. */
static bool take(struct dec_blank *k, uint64_t addr, uint64_t size)
{
	uint64_t at = addr + k->off, end = at + size, last = end & -GUARD_PAGE, n;

	if (size < ONES_FROM) {
		guard_fill((void *)at, 0xff, size);
		return true;
	}
	n = -at % GUARD_PAGE;
	guard_fill((void *)at, 0xff, n);
	guard_fill((void *)last, 0xff, end - last);
	if (!make_ones(k))
		return false;
	for (at += n; at < last; at += n) {
		n = last - at < ONES_BYTES ? last - at : ONES_BYTES;
		if (!map_over(at, n, k->ones))
			return false;
	}
	return true;
}

static bool is_blank(const struct dec_blank *k, uint64_t addr, uint32_t size)
{
	const uint8_t *shadow = (const uint8_t *)addr + k->off;
	uint8_t any = 0;

	for (uint32_t i = 0; i < size; i++)
		any |= shadow[i];
	return any;
}

bool dec_blank_lacks_word(const struct dec_blank *k, uint64_t addr)
{
	return has_chunk(k, (addr + k->off) / CHUNK) &&
	       *(const uint64_t *)(addr + k->off) == UINT64_MAX;
}

struct blank_regs dec_blank_live(const struct dec_engine *e)
{
	return (struct blank_regs){ e->ctx->blank, e->ctx->blank_low,
				    e->ctx->blank_high };
}

static struct blank_bits *bits_of(const struct dec_engine *e)
{
	return (struct blank_bits *)e->ctx->blank_bits;
}

static void show(struct dec_engine *e)
{
	struct blank_regs live;

	ops->live(e->guard->blank->state, &live, bits_of(e));
	e->ctx->blank = live.own;
	e->ctx->blank_low = live.low;
	e->ctx->blank_high = live.high;
}

/* Emitted code has defined registers, or loaded into them what has no value. */
static void settle(const struct dec_engine *e)
{
	const struct blank_regs live = dec_blank_live(e);

	ops->settle(e->guard->blank->state, &live, bits_of(e));
}

void dec_blank_define(struct dec_engine *e, struct blank_regs defs)
{
	e->ctx->blank &= ~defs.own;
	e->ctx->blank_low &= ~defs.low;
	e->ctx->blank_high &= ~defs.high;
}

/* ---- registers ---------------------------------------------------------------------------------------- */

/* Has it to do with the low 8 bytes of vector registers alone, or with less, and leaves the rest as it was? */
static bool is_low(const struct dec_insn *insn)
{
	switch (insn->mnemonic) {
	case ZYDIS_MNEMONIC_COMISD:
	case ZYDIS_MNEMONIC_COMISS:
	case ZYDIS_MNEMONIC_UCOMISD:
	case ZYDIS_MNEMONIC_UCOMISS:
	case ZYDIS_MNEMONIC_CVTSD2SI:
	case ZYDIS_MNEMONIC_CVTSS2SI:
	case ZYDIS_MNEMONIC_CVTTSD2SI:
	case ZYDIS_MNEMONIC_CVTTSS2SI:
	case ZYDIS_MNEMONIC_CVTSI2SD:
	case ZYDIS_MNEMONIC_CVTSI2SS:
	case ZYDIS_MNEMONIC_CVTSD2SS:
	case ZYDIS_MNEMONIC_CVTSS2SD:
	case ZYDIS_MNEMONIC_ADDSD:
	case ZYDIS_MNEMONIC_ADDSS:
	case ZYDIS_MNEMONIC_SUBSD:
	case ZYDIS_MNEMONIC_SUBSS:
	case ZYDIS_MNEMONIC_MULSD:
	case ZYDIS_MNEMONIC_MULSS:
	case ZYDIS_MNEMONIC_DIVSD:
	case ZYDIS_MNEMONIC_DIVSS:
	case ZYDIS_MNEMONIC_SQRTSD:
	case ZYDIS_MNEMONIC_SQRTSS:
	case ZYDIS_MNEMONIC_MINSD:
	case ZYDIS_MNEMONIC_MINSS:
	case ZYDIS_MNEMONIC_MAXSD:
	case ZYDIS_MNEMONIC_MAXSS:
		return true;
	case ZYDIS_MNEMONIC_MOVD:
	case ZYDIS_MNEMONIC_MOVQ:
	case ZYDIS_MNEMONIC_MOVSD:
	case ZYDIS_MNEMONIC_MOVSS:
	case ZYDIS_MNEMONIC_VMOVD:
	case ZYDIS_MNEMONIC_VMOVQ:
	case ZYDIS_MNEMONIC_VCOMISD:
	case ZYDIS_MNEMONIC_VCOMISS:
	case ZYDIS_MNEMONIC_VUCOMISD:
	case ZYDIS_MNEMONIC_VUCOMISS:
		return !(uint32_t)insn->other_written;
	default:
		return false;
	}
}

/* Does it load the low bytes of a vector register, and clear the rest? */
static bool is_low_load(const struct dec_insn *insn)
{
	switch (insn->mnemonic) {
	case ZYDIS_MNEMONIC_MOVD:
	case ZYDIS_MNEMONIC_MOVQ:
	case ZYDIS_MNEMONIC_MOVSD:
	case ZYDIS_MNEMONIC_MOVSS:
		return insn->n_mem && insn->mem[0].is_read;
	default:
		return false;
	}
}

/* Masks of @p other, as struct dec_insn has it. */
static uint32_t masks_of(uint64_t other)
{
	return (other >> (DEC_REG_K - DEC_GPRS) & 0xff) << BLANK_MASKS;
}

/* Of the x87 no instruction defines all. */
static uint32_t x87_of(const struct dec_insn *insn)
{
	return ((insn->other_read | insn->other_written) >> (DEC_REG_X87 - DEC_GPRS) & 1)
	       << BLANK_X87;
}

struct blank_regs dec_blank_regs(const struct dec_insn *insn, struct blank_regs *writes)
{
	bool zeroes = dec_insn_zeroes(insn);
	// Some of the flags, or perhaps none.
	bool reads_flags = insn->reads_flags ||
			   (insn->writes_flags && !insn->kills_flags);
	uint32_t read = zeroes || is_low_load(insn) ? 0 : insn->other_read;
	uint32_t written = insn->other_written;
	struct blank_regs reads = {
		.own = (zeroes ? 0 : insn->gpr_read) |
		       (uint32_t)reads_flags << BLANK_FLAGS | masks_of(insn->other_read) |
		       x87_of(insn),
		.low = read,
		.high = is_low(insn) ? 0 : read,
	};

	if (insn->mnemonic ==
	    ZYDIS_MNEMONIC_VZEROUPPER) // what it clears may be said to have none still
		reads.low = reads.high = written = 0;
	*writes = (struct blank_regs){
		.own = insn->gpr_written | (uint32_t)insn->kills_flags << BLANK_FLAGS |
		       masks_of(insn->other_written),
		.low = written,
		.high = is_low(insn) ? 0 : written,
	};
	return reads;
}

void dec_blank_add(struct blank_course *c, const struct dec_insn *insn)
{
	struct blank_regs writes, reads = dec_blank_regs(insn, &writes);

	if (c->has_branch)
		reads = blank_regs_add(reads, writes);
	c->uses = blank_regs_add(c->uses, blank_regs_without(reads, c->defs));
	if (!c->has_branch)
		c->defs = blank_regs_add(c->defs, writes);
	c->has_branch |= insn->flow != DEC_FLOW_NEXT;
}

bool dec_blank_keep(const struct dec_engine *e, struct blank_thread *t)
{
	memcpy(t->call, e->ctx->blank_call, sizeof(t->call));
	t->hook = e->ctx->blank_hook;
	settle(e);
	t->regs = ops->keep(e->guard->blank->state, t->regs);
	return t->regs;
}

void dec_blank_bring(struct dec_engine *e, const struct blank_thread *t)
{
	const struct blank_thread none = {};

	if (t)
		ops->bring(e->guard->blank->state, t->regs);
	else
		ops->settle(e->guard->blank->state, &(struct blank_regs){}, bits_of(e));
	t = t ?: &none;
	memcpy(e->ctx->blank_call, t->call, sizeof(t->call));
	e->ctx->blank_hook = t->hook;
	show(e);
}

static void doubt(struct dec_engine *e)
{
	dec_guard_doubt(e, DEC_DOUBT_VALUE, e->ctx->rip);
}

/* ---- functions of strings -------------------------------------------------------------------------- */

/* @return how many bytes at @p addr can be read. */
static uint64_t can_read(const struct dec_engine *e, uint64_t addr)
{
	return e->world.avail(e->world.ctx, addr, PROT_READ);
}

/* That of which the code at @p rip is; NULL: none. A stale one has another return address, or was forgotten (blank_emit.c). */
static const struct dec_hook *string_at(const struct dec_engine *e, uint64_t rip)
{
	const struct dec_guard *g = e->guard;
	const struct dec_ctx *c = e->ctx;
	uint64_t returns;

	if (!c->blank_call[0] || c->gpr[CAP_RSP] > c->blank_call[0] ||
	    !dec_guard_foreign(g, rip) || can_read(e, c->blank_call[0]) < 8)
		return NULL;
	memcpy(&returns, (const void *)c->blank_call[0], 8);
	return returns == c->blank_call[4] ? &g->hook.data[c->blank_hook] : NULL;
}

/* Does the reading from argument @p i end with the element @p at bytes on? Of the other one @p can bytes can be read. */
static bool is_last(const struct dec_engine *e, const struct dec_hook *h, int i,
		    uint64_t at, uint64_t can)
{
	const uint64_t *args = &e->ctx->blank_call[1];
	uint64_t mask = h->width == 1 ? 0xff : UINT32_MAX;
	uint64_t v = dec_guard_element(args[i] + at, h->width), other;

	switch (h->extent[i]) {
	case DEC_EXTENT_TEXT:
		return !v;
	case DEC_EXTENT_VALUE:
	case DEC_EXTENT_UNKNOWN:
		return v == (args[1] & mask);
	case DEC_EXTENT_ORDER:
		if (!v)
			return true;
		break;
	case DEC_EXTENT_DIFFERENCE:
		break;
	default:
		return false;
	}
	if (at + h->width > can)
		return true;
	other = dec_guard_element(args[!i] + at, h->width);
	return h->which ? dec_guard_fold(v) != dec_guard_fold(other) : v != other;
}

/* Has something in [addr, addr+size) of what call @p h means to read, from argument @p i on, no value? */
static bool means_blank(const struct dec_engine *e, const struct dec_hook *h, int i,
			uint64_t addr, uint64_t size)
{
	const uint64_t *args = &e->ctx->blank_call[1];
	uint64_t limit = h->limit == CAP_RDX ? args[2] :
			 h->limit == CAP_RSI ? args[1] :
					       UINT64_MAX;
	uint64_t can = can_read(e, args[i]), other = can_read(e, args[!i]);

	for (uint64_t n = 0; n < limit && h->extent[i]; n++) {
		uint64_t at = n * h->width;

		if (at + h->width > can)
			return false;
		if (args[i] + at + h->width - 1 - addr < size + h->width - 1 &&
		    is_blank(e->guard->blank, args[i] + at, h->width))
			return true;
		if (is_last(e, h, i, at, other))
			return false;
	}
	return false;
}

/* .. from either. */
static bool means_any(const struct dec_engine *e, const struct dec_hook *h, uint64_t addr,
		      uint64_t size)
{
	return means_blank(e, h, 0, addr, size) || means_blank(e, h, 1, addr, size);
}

/* A copy is no use. */
static bool copies(const struct dec_hook *h)
{
	return !h->extent[0] && h->extent[1] == DEC_EXTENT_ALL;
}

bool dec_blank_may_pass(const struct dec_engine *e, uint64_t rip)
{
	const struct dec_hook *h = string_at(e, rip);

	return h && rip - h->rip < STRING_CODE && (h->extent[0] || h->extent[1]) &&
	       !copies(h) && !means_any(e, h, 0, UINT64_MAX - h->width);
}

/* ---- an instruction ---------------------------------------------------------------------------------- */

enum { REFS = DEC_TOUCHES + 2 * 64, VALUE_MAX = 64 };

struct look {
	struct dec_insn insn;
	uint64_t gpr[DEC_GPRS]; ///< before it
	struct dec_touch touch[DEC_TOUCHES];
	int n_touches;
	struct blank_ref ref[REFS];
	int n;
	uint8_t value[DEC_TOUCHES][VALUE_MAX];
	uint8_t other[2 * 64][160]; ///< as dec_engine_read_reg() has them
	int n_others;
};

static struct blank_ref *add(struct look *l, bool is_def)
{
	l->ref[l->n] = (struct blank_ref){ .is_def = is_def };
	return &l->ref[l->n++];
}

static void add_memory(const struct dec_engine *e, struct look *l, bool is_def)
{
	for (int i = 0; i < l->n_touches; i++) {
		const struct dec_touch *t = &l->touch[i];
		struct blank_ref *r;

		if (t->is_def != is_def || !t->size)
			continue;
		r = add(l, is_def);
		r->is_mem = true;
		r->addr = t->addr;
		r->size = t->size;
		if (t->size > VALUE_MAX || !dec_touch_is_readable(e, t->addr, t->size))
			continue;
		memcpy(l->value[i], (const void *)t->addr, t->size);
		r->value = l->value[i];
	}
}

static void add_registers(const struct dec_engine *e, struct look *l, bool is_def,
			  const uint64_t *gpr)
{
	uint32_t regs = is_def ? l->insn.gpr_written : l->insn.gpr_read;
	uint64_t other = is_def ? l->insn.other_written : l->insn.other_read;

	for (; regs; regs &= regs - 1) {
		struct blank_ref *r = add(l, is_def);

		r->reg = __builtin_ctz(regs);
		r->size = 8;
		r->value = (const uint8_t *)&gpr[r->reg];
	}
	for (; other; other &= other - 1) {
		struct blank_ref *r = add(l, is_def);

		r->reg = DEC_REG_VEC + __builtin_ctzll(other);
		r->size = dec_engine_read_reg(e, r->reg, l->other[l->n_others]);
		r->value = l->other[l->n_others++];
	}
}

/* What it uses, of a loop in one instruction in @p n rounds. */
static void add_uses(const struct dec_engine *e, struct look *l, uint64_t n)
{
	l->n_touches = dec_touch_list(e, &l->insn, l->gpr, n, l->touch);
	l->n = l->n_others = 0;
	add_memory(e, l, false);
	add_registers(e, l, false, l->gpr);
}

static void begin(const struct dec_engine *e, struct look *l)
{
	memcpy(l->gpr, e->ctx->gpr, sizeof(l->gpr));
	add_uses(e, l, l->insn.is_rep ? dec_touch_count(&l->insn, l->gpr) : 1);
}

static void finish(const struct dec_engine *e, struct look *l)
{
	uint64_t left = l->insn.is_rep ? dec_touch_count(&l->insn, e->ctx->gpr) : 0;

	if (left) // a compare ended it
		add_uses(e, l, dec_touch_count(&l->insn, l->gpr) - left);
	add_memory(e, l, true);
	add_registers(e, l, true, e->ctx->gpr);
}

/* Does it read memory that has no value, and that call @p h means to read? strcat() has none behind what it wrote, and its
 * text there has no end then. */
static bool reads_meant(const struct dec_engine *e, const struct look *l,
			const struct dec_hook *h)
{
	for (int i = 0; i < l->n; i++) {
		const struct blank_ref *r = &l->ref[i];

		if (r->is_mem &&
		    (!r->value || is_blank(e->guard->blank, r->addr, r->size)) &&
		    means_any(e, h, r->addr, r->size))
			return true;
	}
	return false;
}

static void apply(struct dec_engine *e, const struct blank_step *s)
{
	settle(e);
	if (ops->step(e->guard->blank->state, s))
		dec_guard_doubt(e, DEC_DOUBT_VALUE, s->insn->rip);
	show(e);
}

int dec_blank_step(struct dec_engine *e)
{
	const struct dec_guard *g = e->guard;
	bool is_quiet = g->call.is_open && g->call.hook.kind == DEC_HOOK_ALLOCATOR;
	const struct dec_hook *string;
	static struct look l; // large; the guest's code runs in one thread
	enum dec_verdict v;

	l.insn = *dec_engine_insn(e, e->ctx->rip);
	if (!l.insn.len || l.insn.flow >= DEC_FLOW_SYSCALL)
		return dec_engine_step(e);
	string = is_quiet ? NULL : string_at(e, e->ctx->rip);
	begin(e, &l);
	if (string && !copies(string) && reads_meant(e, &l, string))
		doubt(e);
	v = dec_engine_step(e);
	if (v != DEC_GO)
		return v;
	finish(e, &l);
	apply(e, &(struct blank_step){ .insn = &l.insn,
				       .refs = l.ref,
				       .n_refs = l.n,
				       .before = l.gpr,
				       .gpr = e->ctx->gpr,
				       .is_quiet = is_quiet || string });
	// What it is to read has a value, then so has what it is about to return.
	if (string && !copies(string))
		dec_blank_define(e, (struct blank_regs){ .own = 1u << CAP_RAX });
	return v;
}

/* ---- what is around ------------------------------------------------------------------------------- */

void dec_blank_written(struct dec_engine *e, uint64_t addr, uint64_t size)
{
	give(e->guard->blank, addr, size);
}

void dec_blank_got(struct dec_engine *e, uint64_t addr, uint64_t size)
{
	struct dec_blank *k = e->guard->blank;

	for (uint64_t at = addr, end = addr + size, n; at < end; at += n) {
		uint64_t left = CHUNK - (at + k->off) % CHUNK;

		n = left < end - at ? left : end - at;
		if (has_chunk(k, (at + k->off) / CHUNK) && is_blank(k, at, n))
			doubt(e);
	}
}

void dec_blank_answered(struct dec_engine *e, uint64_t number)
{
	const struct dec_insn insn = {
		.rip = e->ctx->rip - 2,
		.flow = DEC_FLOW_SYSCALL,
		.gpr_read = 1u << CAP_RAX | 1u << CAP_RDI | 1u << CAP_RSI |
			    1u << CAP_RDX | 1u << CAP_R10 | 1u << CAP_R8 | 1u << CAP_R9,
		.gpr_written = 1u << CAP_RAX | 1u << CAP_RCX | 1u << CAP_R11,
	};
	struct dec_blank *k = e->guard->blank;
	static struct look l;

	if (number == SYS_rt_sigreturn) { // all of them are others
		dec_blank_define(e, (struct blank_regs){ -1, -1, -1 });
		return;
	}
	l.insn = insn;
	l.n = l.n_others = 0;
	memcpy(l.gpr, e->ctx->gpr, sizeof(l.gpr));
	l.gpr[CAP_RAX] = number;
	add_registers(e, &l, false, l.gpr);
	add_registers(e, &l, true, e->ctx->gpr);
	apply(e, &(struct blank_step){ .insn = &l.insn,
				       .refs = l.ref,
				       .n_refs = l.n,
				       .before = l.gpr,
				       .gpr = e->ctx->gpr });
	if (number == SYS_mmap && (int64_t)e->ctx->gpr[CAP_RAX] > 0)
		give(k, e->ctx->gpr[CAP_RAX], e->ctx->gpr[CAP_RSI]);
	if (number == SYS_mremap && (int64_t)e->ctx->gpr[CAP_RAX] > 0 &&
	    e->ctx->gpr[CAP_RAX] != e->ctx->gpr[CAP_RDI]) // who moves it would know
		give(k, e->ctx->gpr[CAP_RAX], e->ctx->gpr[CAP_RDX]);
}

void dec_blank_special(struct dec_engine *e, const struct dec_insn *insn)
{
	dec_blank_define(e, (struct blank_regs){ .own = insn->gpr_written });
}

void dec_blank_enter(struct dec_engine *e, int fn)
{
	uint32_t args = 1u << CAP_RDI;

	if (fn == CAP_HEAP_CALLOC || fn == CAP_HEAP_REALLOC ||
	    fn == CAP_HEAP_ALIGNED_ALLOC || fn == CAP_HEAP_POSIX_MEMALIGN)
		args |= 1u << CAP_RSI;
	if (fn == CAP_HEAP_POSIX_MEMALIGN)
		args |= 1u << CAP_RDX;
	if (e->ctx->blank & args)
		doubt(e);
}

void dec_blank_died(struct dec_blank *k, uint64_t addr, uint64_t size)
{
	give(k, addr, size < FREE_BYTES ? size : FREE_BYTES);
}

void dec_blank_leave(struct dec_engine *e, uint64_t result)
{
	if (result)
		give(e->guard->blank, result, 8);
	dec_blank_define(e, (struct blank_regs){ .own = 1u << CAP_RAX });
}

void dec_blank_born(struct dec_engine *e, uint64_t addr, uint64_t size, uint64_t kept,
		    bool is_zeroed)
{
	kept = kept < size ? kept : size;
	if (is_zeroed)
		give(e->guard->blank, addr + kept, size - kept);
	else if (!take(e->guard->blank, addr + kept, size - kept))
		dec_guard_doubt(e, DEC_DOUBT_ROOM, e->ctx->rip);
}
