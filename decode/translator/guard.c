// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "decode/translator/guard.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "decode/translator/emulate.h"
#include "decode/translator/guard_int.h"
#include "decode/translator/touch.h"
#include "decode/x86/zydis.h"

enum { SOURCES = 64 };

// Behind the heap of a program that lies low, as the context somewhere below 2 GiB.
#define LOW_START 0x48000000ull
#define LOW_END 0x80000000ull
// .. of which a program that lies at the bottom may have the rest for the shadow of its heap.
#define LOW_REST 0x6a000000ull
#define LOW_TRIES 16
// Rows are addressed by tags: of most programs nothing lies behind 2 GiB.
#define FIXED_BYTES (GUARD_ROWS_AT + GUARD_PAGE)
#define MOST_BYTES (1536ull << 20)
// Nodes, and rows of parts: not so many that they do not stay in the cache.
#define SWEEP_PARTS_AT (1u << 16)
#define SWEEP_AT (1u << 14)
// What grows leaves what it was in the heap behind it, as this process has one piece (dec_rollback_prepare()); what is only room
// takes none.
#define NODES_ROOM (1u << 20)

/* ---- life ------------------------------------------------------------------------------------- */

/* The guest may turn out to want it: then the machine starts again, without a guard. Of @p bytes as many as @p low are to be
 * below 2 GiB. */
static void *map_low(uint64_t start, uint64_t bytes, uint64_t low)
{
	const uint64_t room = LOW_END - start - low;

	for (int i = 0; i < LOW_TRIES && start + low < LOW_END; i++) {
		uint64_t at =
			start + dec_engine_random() % room / GUARD_PAGE * GUARD_PAGE;
		void *p = mmap((void *)at, bytes, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE |
				       MAP_FIXED_NOREPLACE,
			       -1, 0);

		if (p == (void *)at)
			return p;
		if (p != MAP_FAILED) // a kernel before 4.17 took it for a hint
			munmap(p, bytes);
	}
	return NULL;
}

struct err *dec_guard_start(struct dec_engine *e, uint32_t how)
{
	struct dec_guard *g = calloc(1, sizeof(*g));
	uint64_t bytes = GUARD_BYTES, behind = (uint64_t)(e->ctx + 1);
	void *at = NULL;

	if (!g)
		return &err_nomem;
	if (how & DEC_GUARD_LEAVES_ROOM)
		at = map_low(LOW_REST, bytes, bytes);
	else if ((at = map_low(behind > LOW_START ? behind : LOW_START, MOST_BYTES,
			       FIXED_BYTES)))
		bytes = MOST_BYTES;
	at = at ?: map_low(LOW_START, bytes, bytes);
	if (!at || (uint64_t)e->ctx >= LOW_END || vec_reserve(&g->nodes, NODES_ROOM) ||
	    !vec_push(&g->nodes)) {
		free(g);
		return err_new(ERR_UNSUPPORTED, "there is no room for the guard");
	}
	g->is_patient = how & DEC_GUARD_PATIENT;
	g->is_without_pointers = how & DEC_GUARD_NO_POINTERS;
	g->at = (uint64_t)at;
	g->regions = at;
	g->sweep_at = how & DEC_GUARD_FEW_ROWS ? 64 : SWEEP_AT;
	g->sweep_parts_at = how & DEC_GUARD_FEW_ROWS ? 64 : SWEEP_PARTS_AT;
	g->parts_rows_max = (bytes - GUARD_PARTS_AT) / sizeof(struct guard_parts_row);
	g->roots = (struct guard_root *)((char *)at + GUARD_ROOTS_AT);
	g->lanes = (uint32_t(*)[8])((char *)at + GUARD_LANES_AT);
	g->starts = (uint32_t *)((char *)at + GUARD_STARTS_AT);
	g->rows = (struct guard_row *)((char *)at + GUARD_ROWS_AT);
	g->moves = (struct guard_move *)((char *)at + GUARD_MOVES_AT);
	g->rows[0] = (struct guard_row){ 0, UINT64_MAX };
	g->low = g->high_low = UINT64_MAX;
	e->guard = g;
	if (e->ctx->stop_door) { // what C does at doors can be compiled so
		e->ctx->door = (uint64_t)dec_door;
		dec_guard_open_door(e);
	}
	// Operands relative to fs have addresses then.
	e->ctx->lacks |= CTX_HAS_NO_FS;
	dec_engine_flush(e);
	return NULL;
}

void dec_guard_doubt(struct dec_engine *e, enum dec_doubt doubt, uint64_t rip)
{
	if (!e->guard || (e->guard->doubt && e->guard->doubt != DEC_DOUBT_ASKS))
		return;
	if (e->guard->is_without_pointers && doubt < DEC_DOUBT_VALUE)
		return;
	if (!e->guard->is_patient ||
	    (doubt != DEC_DOUBT_ACCESS && doubt != DEC_DOUBT_VALUE) ||
	    vec_add(&e->guard->accesses, rip))
		e->guard->doubt = doubt;
}

/* From here on blocks of @p size bytes may have parts, and those that are there already. */
static struct err *add_parts(struct dec_engine *e, uint64_t size)
{
	struct dec_guard *g = e->guard;

	dec_guard_parts_anew(g);
	map_deinit(
		&g->class_of); // a module was mapped: its structs may be what is allocated from now on
	if (map_get(&g->parts, size))
		return NULL;
	if (vec_find(&g->nodes, n, n->is_live && n->size == size))
		dec_guard_doubt(e, DEC_DOUBT_BEYOND, e->ctx->rip);
	if (!g->parts.size) // calls of string functions were looked at without
		dec_engine_flush(e);
	return map_put(&g->parts, size, 1) ? &err_nomem : NULL;
}

/* Blocks that begin at @p rip begin with an event, which knows the hook that is there. */
struct err *dec_guard_add_stop(struct dec_engine *e, uint64_t rip)
{
	if (map_put(&e->guard->stops, rip, 1))
		return &err_nomem;
	dec_engine_forget(e, rip, 1);
	return NULL;
}

bool dec_guard_stops_at(const struct dec_guard *g, uint64_t rip)
{
	return map_get(&g->stops, rip) != NULL;
}

bool dec_guard_is_copy(const struct dec_guard *g, const struct dec_insn *insn)
{
	const struct dec_mem *m = insn->n_mem ? insn->mem : NULL;

	return (insn->flow == DEC_FLOW_JMP_IND || insn->flow == DEC_FLOW_CALL_IND) && m &&
	       m->is_absolute && m->is_read && map_get(&g->hooks, m->disp);
}

struct err *dec_guard_hook(struct dec_engine *e, const struct dec_hook *h)
{
	struct dec_guard *g = e->guard;
	uint64_t *known = map_get(&g->hooks, h->rip);

	if (h->kind == DEC_HOOK_PARTS)
		return add_parts(e, h->end);
	if (h->kind > DEC_HOOK_PARTS)
		return dec_guard_parts_told(g, h);
	if (h->kind == DEC_HOOK_FOREIGN)
		return vec_add(&g->foreign, *h);
	if (known) { // another module may have such functions, too
		g->hook.data[*known - 1].is_once &= h->is_once;
		return NULL;
	}
	if (vec_add(&g->hook, *h) || map_put(&g->hooks, h->rip, g->hook.size))
		return &err_nomem;
	if (h->is_resolver)
		dec_engine_set_break(e, h->rip, true);
	else if (h->kind == DEC_HOOK_ALLOCATOR || h->kind == DEC_HOOK_FAMILY)
		return dec_guard_add_stop(e, h->rip);
	else if (h->kind == DEC_HOOK_STRING)
		dec_engine_invalidate(e, h->rip, 1);
	else
		dec_engine_flush(e);
	return NULL;
}

/* ---- accesses ----------------------------------------------------------------------------------- */

static uint32_t tag_of_address(const struct dec_engine *e, const struct dec_mem *m,
			       uint64_t addr, uint64_t size)
{
	const uint32_t *tag = e->ctx->tag;
	uint32_t base = m->base < DEC_GPRS ? tag[m->base] : 0;
	uint32_t index = m->index < DEC_GPRS && m->scale == 1 ? tag[m->index] : 0;

	if (m->base >= DEC_GPRS)
		return 0;
	if (index &&
	    (!base || guard_is_inside(guard_node_of(e->guard, index), addr, size)))
		return index;
	return base;
}

/* The same of what libraries and the kernel do. */
static bool may_use(struct dec_guard *g, uint32_t tag, uint64_t addr, uint64_t size)
{
	return dec_guard_is_right(g, tag, addr, size) &&
	       (!dec_guard_has_parts(tag) || !guard_node_of(g, tag)->is_live ||
		!guard_is_inside(guard_node_of(g, tag), addr, size) ||
		dec_guard_parts_may(g, tag, addr, size, size));
}

/* ---- an instruction ------------------------------------------------------------------------------ */

struct guard_do {
	struct dec_engine *e;
	struct dec_guard *g;
	struct dec_insn insn;
	uint64_t gpr[DEC_GPRS]; ///< before
	uint64_t addr[DEC_MEMS], bytes[DEC_MEMS];
	struct {
		uint64_t value;
		uint32_t tag;
		bool is_address;
	} source[SOURCES];
	int n;
};

static bool can_read(const struct guard_do *s, uint64_t addr, uint64_t size)
{
	return s->e->world.avail(s->e->world.ctx, addr, PROT_READ) >= size;
}

static void add_source(struct guard_do *s, uint64_t value, uint32_t tag, bool is_address)
{
	if (!tag || s->n == SOURCES)
		return;
	s->source[s->n].value = value;
	s->source[s->n].tag = tag;
	s->source[s->n++].is_address = is_address;
}

static void find_operands(struct guard_do *s)
{
	const struct dec_ctx *c = s->e->ctx;

	for (int i = 0; i < s->insn.n_mem; i++) {
		const struct dec_mem *m = &s->insn.mem[i];

		s->addr[i] = dec_insn_address(m, c->gpr, c->fs_base, c->gs_base);
		s->bytes[i] = m->size;
		if (s->insn.is_rep)
			s->bytes[i] *= c->gpr[CAP_RCX];
		if (m->is_write && m->base == CAP_RSP &&
		    s->insn.mnemonic == ZYDIS_MNEMONIC_POP)
			s->addr[i] += m->size; // rsp has moved before
	}
}

static void find_sources(struct guard_do *s)
{
	const struct dec_ctx *c = s->e->ctx;
	uint8_t vec[160];

	for (uint32_t r = s->insn.gpr_read; r; r &= r - 1) {
		int reg = __builtin_ctz(r);

		add_source(s, c->gpr[reg], c->tag[reg],
			   dec_insn_is_only_address(&s->insn, reg));
	}
	for (int i = 0; i < s->insn.n_mem; i++)
		for (uint64_t k = 0;
		     s->insn.mem[i].is_read && s->bytes[i] <= 64 &&
		     k + 8 <= s->bytes[i] && can_read(s, s->addr[i], s->bytes[i]);
		     k += 8)
			add_source(s, guard_word_at(s->addr[i] + k),
				   dec_guard_recall(s->g, s->addr[i] + k,
						    guard_word_at(s->addr[i] + k)),
				   false);
	for (uint32_t v = s->insn.other_read & c->vec_tags; v; v &= v - 1) {
		int reg = __builtin_ctz(v);

		dec_engine_read_reg(s->e, DEC_REG_VEC + reg, vec);
		for (int k = 0; k < 8; k++)
			add_source(s, guard_word_at((uint64_t)(vec + 8 * k)),
				   s->g->lanes[reg][k], false);
	}
}

static uint32_t same(const struct guard_do *s, uint64_t value)
{
	uint32_t tag = 0;

	for (int i = 0; i < s->n; i++)
		if (s->source[i].value == value && !s->source[i].is_address &&
		    (!tag || (!guard_node_of(s->g, tag)->is_live &&
			      guard_node_of(s->g, s->source[i].tag)->is_live)))
			tag = s->source[i].tag;
	return tag;
}

static uint64_t way_to(const struct guard_node *n, uint64_t value)
{
	if (value < n->start)
		return n->start - value;
	return value > n->start + n->size ? value - n->start - n->size : 0;
}

/* As nearest() of hg_derive.c. */
static uint32_t nearest(const struct guard_do *s, uint64_t value, uint64_t *source)
{
	uint64_t least = UINT64_MAX, least_way = UINT64_MAX;
	uint32_t tag = 0, n_inside = 0;

	for (int i = 0; i < s->n; i++) {
		uint64_t distance = llabs((int64_t)(value - s->source[i].value)), way = 0;

		if (s->source[i].is_address)
			continue;
		if (s->n > 1) {
			const struct guard_node *n =
				guard_node_of(s->g, s->source[i].tag);

			way = way_to(n, value);
			n_inside += !way_to(n, s->source[i].value);
		}
		if (way > least_way || (way == least_way && distance >= least))
			continue;
		least = distance;
		least_way = way;
		tag = s->source[i].tag;
		*source = s->source[i].value;
	}
	if (s->n < 2 || least_way <= GUARD_REACH)
		return tag;
	// There it is none if they are no distances; of what leads out of its node that is not known here.
	if (n_inside > 1)
		return 0;
	return dec_guard_has_parts(tag) ? dec_guard_parts_unknown(s->e, tag) : tag;
}

/* ---- what it defines -------------------------------------------------------------------------- */

/* Arithmetic led from a pointer of @p tag to @p value: from what is gone, and far, to whatever has the
 * memory now. */
static uint32_t led_to(const struct guard_do *s, uint32_t tag, uint64_t value)
{
	const struct guard_node *n = guard_node_of(s->g, tag);

	if (!n->is_live && llabs((int64_t)(value - n->start)) > GUARD_REACH)
		return 0;
	return dec_guard_has_parts(tag) ?
		       dec_guard_parts_step(s->e, tag, s->insn.rip,
					    __builtin_popcount(s->insn.gpr_read) > 1,
					    value) :
		       tag;
}

static uint32_t subtract(const struct guard_do *s, int reg, uint32_t tag, uint64_t value)
{
	uint64_t less = s->gpr[reg] - value;

	if (!dec_insn_is_wide(&s->insn))
		less = (uint32_t)less;
	if (!tag || (s->gpr[reg] >> 32 && !dec_insn_is_wide(&s->insn)))
		return 0;
	for (int i = 0; i < s->n; i++)
		if (s->source[i].value == less &&
		    guard_node_of(s->g, s->source[i].tag) == guard_node_of(s->g, tag))
			return 0;
	return led_to(s, tag, value);
}

static uint32_t derived_from(const struct guard_do *s, uint64_t value)
{
	uint32_t tag = same(s, value);
	uint64_t source = 0;

	if (tag || !s->n || !dec_insn_is_arithmetic(s->insn.mnemonic))
		return tag;
	tag = nearest(s, value, &source);
	return tag && !dec_insn_cuts(s->insn.mnemonic, source, value) ?
		       led_to(s, tag, value) :
		       0;
}

static void define_gpr(struct guard_do *s, int reg)
{
	struct dec_ctx *c = s->e->ctx;
	uint64_t value = c->gpr[reg];
	uint32_t tag = c->tag[reg];

	if (s->insn.mnemonic == ZYDIS_MNEMONIC_SUB)
		tag = subtract(s, reg, tag, value);
	else if (s->insn.is_string && (reg == CAP_RSI || reg == CAP_RDI))
		tag = tag ? led_to(s, tag, value) : 0;
	else
		tag = derived_from(s, value);
	if (reg == CAP_RSP && tag) // a stack in the heap
		dec_guard_doubt(s->e, DEC_DOUBT_BEYOND, s->insn.rip);
	c->tag[reg] = tag;
}

static uint32_t living(const struct guard_do *s, int v, int k)
{
	uint32_t tag = s->e->ctx->vec_tags >> v & 1 ? s->g->lanes[v][k] : 0;

	return tag && guard_node_of(s->g, tag)->is_live ? tag : 0;
}

/* As lane_from() of hg_derive.c. */
static uint32_t lane_from(const struct guard_do *s, int v, int k, uint64_t value)
{
	uint32_t tag = same(s, value), read = s->insn.other_read;

	if (tag || !dec_insn_is_lane_arithmetic(s->insn.mnemonic))
		return tag;
	if (read >> v & 1)
		tag = living(s, v, k);
	for (; read && !tag; read &= read - 1)
		tag = living(s, __builtin_ctz(read), k);
	return dec_guard_has_parts(tag) ? dec_guard_parts_unknown(s->e, tag) : tag;
}

static void define_vector(struct guard_do *s, int reg)
{
	uint32_t any = 0;
	uint8_t vec[160];

	if (s->n || s->e->ctx->vec_tags >> reg & 1) {
		dec_engine_read_reg(s->e, DEC_REG_VEC + reg, vec);
		for (int k = 0; k < 8; k++)
			any |= s->g->lanes[reg][k] = lane_from(
				s, reg, k, guard_word_at((uint64_t)(vec + 8 * k)));
	}
	s->e->ctx->vec_tags &= ~(1u << reg);
	s->e->ctx->vec_tags |= (uint32_t)(any != 0) << reg;
}

/* As word_from() of hg_derive.c. */
static uint32_t word_from(const struct guard_do *s, uint64_t addr, uint64_t value)
{
	uint64_t *word = s->insn.mnemonic == ZYDIS_MNEMONIC_SUB && addr % 8 == 0 ?
				 dec_guard_shadow(s->g, addr, false) :
				 NULL;
	uint32_t was = word ? *word >> 32 : 0;

	return was ? led_to(s, was, value) : derived_from(s, value);
}

static void define_memory(struct guard_do *s, int i)
{
	for (uint64_t k = 0; k + 8 <= s->bytes[i] && s->bytes[i] <= 64; k += 8) {
		uint64_t value = guard_word_at(s->addr[i] + k);
		uint32_t tag = word_from(s, s->addr[i] + k, value);

		if (!tag && s->insn.lane_bytes) // a mask may have left what was there
			tag = dec_guard_word_tag(s->g, s->addr[i] + k, value);
		dec_guard_put_word(s->g, s->addr[i] + k, value, tag);
	}
}

/* A string instruction moved many words at once. */
static void copy_words(struct guard_do *s)
{
	int to = s->insn.mem[0].is_write ? 0 : 1;

	if (s->insn.n_mem != 2 || s->bytes[to] <= 64 || !s->insn.mem[!to].is_read ||
	    !s->insn.mem[to].is_write)
		return;
	dec_guard_copy_words(s->g, s->addr[to], s->addr[!to], s->bytes[to], true);
}

static void define(struct guard_do *s)
{
	for (uint32_t r = s->insn.gpr_written; r; r &= r - 1)
		define_gpr(s, __builtin_ctz(r));
	for (int i = 0; i < s->insn.n_mem; i++)
		if (s->insn.mem[i].is_write && can_read(s, s->addr[i], s->bytes[i]))
			define_memory(s, i);
	for (uint32_t v = s->insn.other_written; v; v &= v - 1)
		define_vector(s, __builtin_ctz(v));
	if (s->insn.is_rep)
		copy_words(s);
}

/* As hg_astray.c has it, of what is no pointer that masks had a part in. */
static bool may_read_ahead(const struct guard_do *s, const struct dec_mem *m,
			   uint32_t tag, uint64_t addr, uint64_t size)
{
	const struct guard_node *n = guard_node_of(s->g, tag);

	return !m->is_write && addr / GUARD_PAGE >= n->start / GUARD_PAGE &&
	       (addr + size - 1) / GUARD_PAGE <= (n->start + n->size) / GUARD_PAGE &&
	       (size >= 16 || (uint32_t)(s->insn.other_read | s->insn.other_written)) &&
	       dec_guard_foreign(s->g, s->insn.rip);
}

/* Of a node with parts: is it in the one that the pointer is to? */
static bool is_of_part(struct guard_do *s, const struct dec_mem *m, uint32_t tag,
		       uint64_t addr, uint64_t size)
{
	const struct guard_node *n = guard_node_of(s->g, tag);

	return !dec_guard_has_parts(tag) || !n->is_live ||
	       !guard_is_inside(n, addr, size) ||
	       dec_guard_parts_is_right(s->e, tag, &s->insn, m, s->gpr, addr, size);
}

static void check_operands(struct guard_do *s)
{
	struct dec_guard *g = s->g;
	bool is_string = guard_is_under_way(s->e, s->e->ctx->string_call[0],
					    s->e->ctx->string_call[1]);

	if (!guard_is_under_way(s->e, g->fill.rsp, g->fill.returns))
		g->fill.bytes = 0;
	for (int i = 0; i < s->insn.n_mem; i++) {
		const struct dec_mem *m = &s->insn.mem[i];
		uint32_t tag = tag_of_address(s->e, m, s->addr[i], s->bytes[i]);

		if (!tag || !s->bytes[i] || (is_string && !m->is_write) ||
		    (dec_guard_is_right(s->g, tag, s->addr[i], s->bytes[i]) &&
		     is_of_part(s, m, tag, s->addr[i], s->bytes[i])) ||
		    may_read_ahead(s, m, tag, s->addr[i], s->bytes[i]))
			continue;
		dec_guard_doubt(s->e, DEC_DOUBT_ACCESS, s->insn.rip);
	}
}

/* What a loop of one instruction did is less than it was to do: scas and cmps end it. */
static void find_rounds(struct guard_do *s)
{
	uint64_t n = s->gpr[CAP_RCX] - s->e->ctx->gpr[CAP_RCX];

	for (int i = 0; s->insn.is_rep && i < s->insn.n_mem; i++) {
		s->bytes[i] = n * s->insn.mem[i].size;
		if (s->e->ctx->rflags & 0x400)
			dec_guard_doubt(s->e, DEC_DOUBT_BEYOND, s->insn.rip);
	}
}

/* Of the one operand, lanes of which a mask has accessed: from the first of these to the last. @return false:
 * it accesses what is not of the operand, which is as it was. */
static bool narrow(struct guard_do *s)
{
	struct dec_touch touch[DEC_TOUCHES];
	int n = dec_touch_list(s->e, &s->insn, s->gpr, 0, touch);
	uint64_t start = UINT64_MAX, end = s->addr[0];

	for (int i = 0; i < n; i++) {
		uint64_t at = touch[i].addr;

		if (at - s->addr[0] > s->bytes[0] ||
		    touch[i].size > s->bytes[0] - (at - s->addr[0]))
			return false;
		start = at < start ? at : start;
		end = at + touch[i].size > end ? at + touch[i].size : end;
	}
	s->bytes[0] = n ? end - start : 0;
	s->addr[0] = n ? start : end;
	return true;
}

/* Does it access memory, perhaps by a pointer, where its operands do not tell? Gathers, bits by number. */
static bool is_unknown(struct guard_do *s)
{
	const struct dec_insn *insn = &s->insn;
	bool is_any = false;

	for (int r = 0; r < DEC_GPRS; r++)
		is_any |= insn->gpr_read >> r & 1 && s->e->ctx->tag[r];
	if (!is_any || insn->is_string || insn->is_rep)
		return false;
	return insn->is_slow_always ||
	       (insn->is_slow_addr && (insn->n_mem != 1 || !narrow(s)));
}

/* Is it memcpy that is called (dec_guard_is_copy()), between memory that is the same in part? */
static void check_copy(const struct guard_do *s)
{
	uint64_t n = s->gpr[CAP_RDX], ahead = s->gpr[CAP_RDI] - s->gpr[CAP_RSI];

	if (dec_guard_is_copy(s->g, &s->insn) && ahead && (ahead < n || -ahead < n))
		dec_guard_doubt(s->e, DEC_DOUBT_CALL, s->insn.rip);
}

static int step(struct dec_engine *e)
{
	struct guard_do s = { .e = e, .g = e->guard };
	uint64_t rip = e->ctx->rip, next;
	enum dec_verdict v;

	if (s.g->is_without_pointers && !s.g->doubt) {
		v = dec_blank_step(e);
		if (v != DEC_GO)
			dec_guard_doubt(e, DEC_DOUBT_BEYOND, rip);
		return v;
	}
	if (!s.g->doubt)
		s.insn = *dec_engine_insn(e, rip);
	if (s.g->doubt || !s.insn.len || s.insn.flow >= DEC_FLOW_SYSCALL)
		return dec_engine_step(e);
	next = rip + s.insn.len;
	memcpy(s.gpr, e->ctx->gpr, sizeof(s.gpr));
	find_operands(&s);
	if (is_unknown(&s))
		dec_guard_doubt(e, DEC_DOUBT_BEYOND, rip);
	check_copy(&s);
	find_sources(&s);
	v = s.g->blank ? dec_blank_step(e) : (int)dec_engine_step(e);
	if (v != DEC_GO || (s.insn.flow == DEC_FLOW_NEXT && e->ctx->rip != next)) {
		dec_guard_doubt(e, DEC_DOUBT_BEYOND, rip);
		return v;
	}
	find_rounds(&s);
	if (!s.g->call.is_open || s.g->call.hook.kind != DEC_HOOK_ALLOCATOR) {
		check_operands(&s);
		if (s.insn.flow == DEC_FLOW_NEXT)
			define(&s);
	}
	return v;
}

/* Only at the operands. */
static void look(struct dec_engine *e)
{
	struct guard_do s = { .e = e, .g = e->guard };

	s.insn = *dec_engine_insn(e, e->ctx->rip);
	memcpy(s.gpr, e->ctx->gpr, sizeof(s.gpr));
	find_operands(&s);
	check_operands(&s);
}

/* ---- events ------------------------------------------------------------------------------------- */

/* The guest stands where it is to stop, if that was not seen to already. */
static void stop(struct dec_engine *e)
{
	struct dec_guard *g = e->guard;
	bool is_passed = g->passed == e->ctx->rip;

	g->passed = 0;
	if (!is_passed)
		dec_guard_at_stop(e);
}

int dec_guard_step(struct dec_engine *e)
{
	if (dec_guard_stops_at(e->guard, e->ctx->rip))
		stop(e);
	return e->guard->doubt == DEC_DOUBT_ASKS ? DEC_GO : step(e);
}

/* Has what is behind instruction @p i of @p b, where rip is, to do with what has no value? If not, what it defines has. */
static bool concerns_rest(struct dec_engine *e, const struct engine_block *b, int i)
{
	struct blank_course rest = {};
	uint64_t rip = e->ctx->rip;

	for (; i < b->n_insns; i++) {
		const struct dec_insn *insn = dec_engine_insn(e, rip);

		dec_blank_add(&rest, insn);
		rip += insn->len;
	}
	if (blank_regs_meet(rest.uses, dec_blank_live(e)))
		return true;
	dec_blank_define(e, rest.defs);
	return false;
}

/* Do what event @p ev, in @p b, is of; and what is behind it to the block's end, if that has to do with what has no value.
 * @return how many of the block were done then, in all; 0: the block goes on. */
static int do_steps(struct dec_engine *e, const struct engine_block *b,
		    const struct guard_event *ev)
{
	int i = ev->index + 1;

	step(e);
	if (ev->kind != GUARD_EVENT_RUN && !concerns_rest(e, b, i))
		return 0;
	for (; i < b->n_insns && !e->guard->doubt && !e->is_flushed; i++)
		step(e);
	return i;
}

/* The block is left behind its first @p n instructions. */
static void leave_block(struct dec_engine *e, const struct engine_block *b,
			const struct guard_event *ev, int n)
{
	e->ctx->budget[0] += (ev->is_counted ? b->debit : 0) - b->pending - n;
	e->ctx->exit_id = DEC_EXIT_GUARD;
}

/* Block @p b begins at a stop. @return as dec_guard_event(). */
static uint8_t *at_beginning(struct dec_engine *e, const struct engine_block *b)
{
	struct dec_guard *g = e->guard;
	struct guard_event *ev = &g->events.data[e->ctx->guard_event];
	uint8_t *to = NULL;

	e->ctx->rip = b->rip;
	stop(e);
	if (g->doubt == DEC_DOUBT_ASKS)
		e->is_flushed = true; // there is no exit that it would go on from
	if (!e->is_flushed && !g->doubt)
		to = guard_go_on(e, ev);
	if (to)
		return to;
	g->passed = g->doubt ? 0 : b->rip;
	e->ctx->budget[0] -= b->pending;
	e->ctx->exit_id = DEC_EXIT_GUARD;
	return NULL;
}

uint8_t *dec_guard_event(struct dec_engine *e)
{
	struct dec_guard *g = e->guard;
	const struct guard_event ev = g->events.data[e->ctx->guard_event];
	const struct engine_block b = e->blocks.data[ev.block];
	struct dec_ctx *c = e->ctx;
	// A function begins before that register is borrowed.
	bool has_far = b.far_reg != DEC_REG_NONE && ev.kind != GUARD_EVENT_STRING;
	uint64_t borrowed[3], now = e->now;
	int64_t budget[CTX_CELLS];
	int n = 0;

	if (ev.kind == GUARD_EVENT_CALL)
		return at_beginning(e, &b);
	guard_swap_scratch(e, &b, borrowed, true);
	if (has_far)
		c->gpr[b.far_reg] = c->spill[3];
	c->rip = ev.rip;
	switch (ev.kind) {
	case GUARD_EVENT_STEP:
	case GUARD_EVENT_RUN:
	case GUARD_EVENT_MOVE:
	case GUARD_EVENT_MOVS:
	case GUARD_EVENT_BLANK:
		memcpy(budget, c->budget, sizeof(budget));
		n = do_steps(e, &b, &ev);
		memcpy(c->budget, budget, sizeof(budget));
		e->now = now;
		break;
	case GUARD_EVENT_LOOK:
		look(e);
		break;
	case GUARD_EVENT_WORD:
		c->tag[ev.reg] = dec_guard_recall(g, borrowed[0], c->gpr[ev.reg]);
		break;
	case GUARD_EVENT_STRING:
		dec_guard_enter_function(e, &g->hook.data[ev.hook - 1]);
		break;
	case GUARD_EVENT_BACKWARD:
		dec_guard_doubt(e, DEC_DOUBT_BEYOND, ev.rip);
		break;
	default:
		dec_guard_doubt(e, DEC_DOUBT_CALL, ev.rip);
	}
	if (n && !g->doubt) {
		leave_block(e, &b, &ev, n);
		return NULL;
	}
	if (has_far) // it is borrowed in front of an instruction, which was done; and in steps
		c->spill[3] = c->gpr[b.far_reg];
	guard_swap_scratch(e, &b, borrowed, false);
	if (e->is_flushed)
		dec_guard_doubt(e, DEC_DOUBT_BEYOND, ev.rip);
	return g->doubt ? NULL : ev.resume;
}

/* ---- system calls ------------------------------------------------------------------------------- */

static bool may_access(struct dec_engine *e, const struct dec_access *a)
{
	uint32_t tag = a->reg == DEC_ACCESS_WORD ?
			       dec_guard_recall(e->guard, a->at, guard_word_at(a->at)) :
			       e->ctx->tag[a->reg];

	return may_use(e->guard, tag, a->addr, a->size);
}

void dec_guard_accessed(struct dec_engine *e, const struct dec_access *a, size_t n)
{
	const struct dec_guard *g = e->guard;

	for (size_t i = 0; i < n; i++) {
		if (a[i].is_bounds && !g->is_without_pointers && !may_access(e, &a[i]))
			dec_guard_doubt(e, DEC_DOUBT_CALL, e->ctx->rip);
		if (a[i].is_value && g->blank)
			dec_blank_got(e, a[i].addr, a[i].size);
	}
}

void dec_guard_answered(struct dec_engine *e, uint64_t number)
{
	int64_t ret = e->ctx->gpr[CAP_RAX];

	if (e->guard->blank)
		dec_blank_answered(e, number);
	if (number == SYS_rt_sigreturn)
		return;
	e->ctx->tag[CAP_RAX] = e->ctx->tag[CAP_RCX] = e->ctx->tag[CAP_R11] = 0;
	if (number == SYS_execve || number == SYS_execveat)
		dec_guard_doubt(e, DEC_DOUBT_BEYOND, e->ctx->rip);
	if (ret == -EBADF || ret == -EFAULT)
		dec_guard_doubt(e, DEC_DOUBT_CALL, e->ctx->rip);
}

void dec_guard_written(struct dec_engine *e, uint64_t addr, uint64_t n)
{
	if (e->guard->blank)
		dec_blank_written(e, addr, n);
}
