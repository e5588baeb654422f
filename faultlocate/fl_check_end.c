// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Rules at the end of the run. What is lost is what nothing leads to: registers, static data and the
 * stack are where pointers are looked for, by value, and in what they lead to, and so on; what
 * the allocator keeps for itself in between does not count. An interior pointer leads to its block, too.
 */
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "decode/symbols/object.h"
#include "faultlocate/fl_check_int.h"
#include "faultlocate/fl_end.h"

#define PIECE_BYTES 65536
#define NEAR_BYTES 4096ull
#define NEARS 256
#define PAGE_BYTES 4096
#define CHUNK_HEAD 16 ///< what allocators have in front of the first block of a mapping

/* ---- P ------------------------------------------------------------------------------------------ */

static struct err *on_pointer(void *ctx, uint64_t value, struct hg_node_id node)
{
	struct fl_check *c = ctx;

	return vec_add(&c->pointers, (struct spec_bug_value){ value, node.v, 0, true });
}

struct err *fl_check_list_pointers(struct fl_check *c)
{
	c->pointers.size = 0;
	return hg_access_pointers(c->finder, on_pointer, c);
}

/* ---- what is reached ---------------------------------------------------------------------------- */

/** A search for what pointers lead to. */
struct reach {
	struct fl_check *c;
	struct dec_machine *m;
	VEC(uint32_t) todo; ///< blocks that were reached and not looked into
	uint32_t lost;	    ///< a block that is, from which is looked; 0: none
	/** Nobody's variables: below the end of the stack of the thread that runs, and of main()'s. */
	struct {
		uint64_t start, end;
	} dead[2];
	struct dec_symbols *symbols;
	uint64_t allocator; ///< where it is entered; 0: not known
	bool is_allocators; ///< what is looked into is its module's
	bool is_root; ///< .. is nobody's block: what lies in one there waits for that to be reached
	uint8_t piece[PIECE_BYTES];
	/** Small blocks lie side by side: what was read lately, by address. */
	struct {
		uint64_t at; ///< 0: nothing
		uint8_t bytes[NEAR_BYTES];
	} near[NEARS];
};

/* @return the @p n bytes at @p at, until the next time; NULL: they cannot be read. */
static const uint8_t *read_near(struct reach *r, uint64_t at, uint64_t n)
{
	uint64_t start = at - at % NEAR_BYTES;
	typeof(r->near[0]) *near = &r->near[start / NEAR_BYTES % NEARS];
	struct err *unread = NULL;

	if (start + NEAR_BYTES >= at + n) {
		if (near->at != start)
			unread = dec_machine_read(r->m, start, near->bytes, NEAR_BYTES);
		near->at = unread ? 0 : start;
		err_destroy(unread);
		if (near->at)
			return near->bytes + (at - start);
	}
	unread = dec_machine_read(r->m, at, r->piece, n);
	err_destroy(unread);
	return unread ? NULL : r->piece;
}

/* glibc's allocator knows where the chunk behind the last block begins: in that block's last 8 bytes. */
static bool is_next_chunk(const struct reach *r, struct hg_node_id id, uint64_t value)
{
	const struct hg_node *n = hg_graph_node(r->c->graph, id);

	return value % 16 == 0 && value > n->start && value + 8 >= n->start + n->size;
}

/* Was what the word at @p at holds left there by who had the memory before, and the word never written since? */
static bool is_left_word(const struct fl_check *c, uint64_t at)
{
	size_t i = vec_rank(c->left_words.size, k, c->left_words.data[k] < at);

	return i < c->left_words.size && c->left_words.data[i] == at;
}

/* There is @p value at @p from, 0: in a register. */
static struct err *meet(struct reach *r, uint64_t from, uint64_t value)
{
	struct hg_node_id id = hg_access_live_at(r->c->finder, value);

	if (!id.v || r->c->reached[id.v] ||
	    (r->is_allocators && is_next_chunk(r, id, value)) ||
	    (r->is_root && hg_access_live_at(r->c->finder, from).v))
		return NULL;
	if (id.v == r->lost || is_left_word(r->c, from))
		return NULL;
	r->c->reached[id.v] = r->lost ? 2 : 1;
	return vec_add(&r->todo, id.v);
}

static bool is_dead(const struct reach *r, uint64_t at)
{
	return (at >= r->dead[0].start && at < r->dead[0].end) ||
	       (at >= r->dead[1].start && at < r->dead[1].end);
}

/* Look into @p start to @p end, which may be there or not. Where @p is_heap, what is in blocks or between them waits for them to be
 * reached. Memory that cannot be read holds nothing. */
static struct err *look_into_piece(struct reach *r, uint64_t start, uint64_t end)
{
	struct err *err = NULL;

	for (uint64_t at = (start + 7) & ~7ull; at + 8 <= end && !err;) {
		uint64_t n = end - at < PIECE_BYTES ? (end - at) & ~7ull : PIECE_BYTES;
		const uint8_t *bytes = read_near(r, at, n);

		for (uint64_t i = 0; bytes && !err && i < n; i += 8) {
			uint64_t value;

			memcpy(&value, bytes + i, 8);
			if (!is_dead(r, at + i))
				err = meet(r, at + i, value);
		}
		at += n;
	}
	return err;
}

/* .. of much, into what was ever touched. */
static struct err *look_into(struct reach *r, uint64_t start, uint64_t end)
{
	struct dec_range piece = { .end = start };
	struct err *err = NULL;

	if (end - start <= PIECE_BYTES)
		return look_into_piece(r, start, end);
	while (piece.end < end && !err) {
		err = dec_machine_touched(r->m, piece.end, end, &piece);
		if (!err)
			err = look_into_piece(r, piece.start, piece.end);
	}
	return err;
}

/* Has @p n a mapping of its own, as far as one sees? It goes with the block, and another one may be there then, or beside it. */
static bool has_own_mapping(const struct hg_node *n)
{
	return n->start % PAGE_BYTES == CHUNK_HEAD && n->size >= PAGE_BYTES;
}

/* Is the allocator at work there: did blocks ever begin in it? (In a module's data, too: musl's takes what is left of
 * their last page.) */
static bool is_heap(const struct fl_check *c, const struct dec_range *range)
{
	for (uint32_t id = 1; id <= hg_graph_nodes(c->graph); id++) {
		const struct hg_node *n =
			hg_graph_node(c->graph, (struct hg_node_id){ id });

		if (n->start >= range->start && n->start < range->end &&
		    !has_own_mapping(n))
			return true;
	}
	return false;
}

static bool is_allocators(const struct reach *r, const struct dec_range *range)
{
	return r->allocator &&
	       dec_symbols_same_module(r->symbols, r->allocator, range->start);
}

/* What is read-only now may have been written before, as what a module keeps under RELRO. Code holds none. */
static bool may_hold_pointers(const struct dec_range *range)
{
	return range->prot & PROT_WRITE ||
	       (range->prot & (PROT_READ | PROT_EXEC)) == PROT_READ;
}

static struct err *look_at_root(struct reach *r, struct dec_range range)
{
	uint64_t start, end = range.start;
	struct err *err = NULL;

	r->is_allocators = is_allocators(r, &range);
	r->is_root = true;
	if (dec_symbols_extent(r->symbols, range.start, &start, &end)) {
		end = end < range.end ? end : range.end;
		err = look_into(r, range.start, end);
	}
	range.start = end; // the heap may follow
	if (!err && (hg_access_has_strangers(r->c->finder) || !is_heap(r->c, &range)))
		err = look_into(r, range.start, range.end);
	r->is_root = false;
	r->is_allocators = false;
	return err;
}

/* Who ends the process is in a function that was called for it: what that need not keep for its caller holds nothing of the
 * caller's, but what may have been left there since malloc() returned. */
static bool is_left_over(const struct dec_thread *t, int reg)
{
	static const uint16_t kept = 1 << CAP_RBX | 1 << CAP_RBP | 1 << CAP_RSP |
				     1 << CAP_R12 | 1 << CAP_R13 | 1 << CAP_R14 |
				     1 << CAP_R15;

	return t->is_running && !(kept >> reg & 1);
}

static struct err *look_at_roots(struct reach *r)
{
	struct dec_range range;
	struct dec_thread t;
	struct err *err = NULL, *none = NULL;

	for (size_t i = 0; !err && !(none = dec_machine_thread(r->m, i, &t)); i++)
		for (int k = 0; k < 16 && !err; k++)
			if (!is_left_over(&t, k))
				err = meet(r, 0, t.regs.gpr[k]);
	err_destroy(none);
	for (size_t i = 0; !err && !(none = dec_machine_range(r->m, i, &range)); i++)
		if (may_hold_pointers(&range))
			err = look_at_root(r, range);
	err_destroy(none);
	return err;
}

/* Is it the first thread that runs? A log may begin with its number: nothing ran before. */
static bool is_first_thread(const struct frames *frames)
{
	return !frames->thread ||
	       (frames->thread == 1 && !frames->threads.data[0].stack.size);
}

// Below the first thread's stack is nothing else for longer than that.
#define STACK_BYTES (8ull << 20)

/* Is there memory from @p at up to @p end without a gap? */
static bool is_one_piece(struct reach *r, uint64_t at, uint64_t end)
{
	struct dec_range range;
	struct err *none = NULL;

	for (size_t i = 0; at < end && !(none = dec_machine_range(r->m, i, &range)); i++)
		if (range.start <= at && at < range.end)
			at = range.end;
	err_destroy(none);
	return at >= end;
}

/* @return where the stack begins that the C library made for thread @p t: a mapping behind a guard, with what the thread has for
 * itself at its end; the stack pointer: that one leads elsewhere, say to a coroutine's stack, and what else is there nobody knows. */
static uint64_t own_stack(struct reach *r, const struct dec_thread *t)
{
	uint64_t rsp = t->regs.gpr[CAP_RSP], guard = 0, start = rsp;
	struct dec_range range;
	struct err *none = NULL;

	for (size_t i = 0; start == rsp && !(none = dec_machine_range(r->m, i, &range));
	     i++) {
		if (range.start == guard && rsp > range.start && rsp < range.end &&
		    t->regs.fs_base > rsp && t->regs.fs_base < range.end)
			start = range.start;
		guard = range.prot ? 0 : range.end;
	}
	err_destroy(none);
	return start;
}

/* Below the stack pointer are no variables; nor is there any on the first thread's stack once main() has returned. */
static void find_dead_stack(struct reach *r, const struct frames *frames)
{
	uint64_t first = is_first_thread(frames) && frames->stack.size ?
				 frames->stack.data[0].rsp :
				 0;
	struct dec_thread t;
	struct err *none = NULL;

	for (size_t i = 0; !(none = dec_machine_thread(r->m, i, &t)); i++) {
		uint64_t rsp = t.regs.gpr[CAP_RSP];
		bool is_first;

		if (!t.is_running)
			continue;
		is_first = first >= rsp && is_one_piece(r, rsp, first);
		r->dead[0].end = rsp;
		r->dead[0].start = is_first ? rsp - STACK_BYTES : own_stack(r, &t);
		if (r->c->has_main_returned && first) {
			r->dead[1].end = first;
			r->dead[1].start = (is_first ? rsp : first) - STACK_BYTES;
		}
	}
	err_destroy(none);
}

static bool is_live(const struct hg_node *n)
{
	return n->died == UINT64_MAX;
}

/* What a vfork child may have released is not lost, nor what a function of the allocator may have that nobody knows. */
static struct err *spare_unknown(struct reach *r)
{
	struct err *err = NULL;

	for (uint32_t id = 1; id <= hg_graph_nodes(r->c->graph) && !err; id++) {
		const struct hg_node *n =
			hg_graph_node(r->c->graph, (struct hg_node_id){ id });

		if (!is_live(n) || r->c->reached[id] ||
		    (!hg_access_is_childs(r->c->finder, n->start, n->born) &&
		     !hg_access_is_lent(r->c->finder, (struct hg_node_id){ id })))
			continue;
		r->c->reached[id] = 1;
		err = vec_add(&r->todo, id);
	}
	return err;
}

/* How much of block @p id is the program's? As it was asked for, or as malloc_usable_size() said. */
static uint64_t usable_bytes(const struct fl_check *c, struct hg_node_id id)
{
	const struct hg_node *n = hg_graph_node(c->graph, id);
	const uint64_t *wide = map_get(&c->wide_blocks, n->start);
	uint64_t usable = wide ? *wide : hg_access_usable(c->finder, id);

	return usable > n->size ? usable : n->size;
}

static struct err *look_into_blocks(struct reach *r)
{
	struct err *err = NULL;

	while (r->todo.size && !err) {
		struct hg_node_id id = { r->todo.data[--r->todo.size] };
		uint64_t start = hg_graph_node(r->c->graph, id)->start;

		err = look_into(r, start, start + usable_bytes(r->c, id));
	}
	return err;
}

/* Of lost blocks that lead to one another in a circle the first stands for all. */
static struct err *reach_from_lost(struct reach *r)
{
	struct err *err = NULL;

	for (uint32_t id = 1; id <= hg_graph_nodes(r->c->graph) && !err; id++) {
		if (r->c->reached[id] ||
		    !is_live(hg_graph_node(r->c->graph, (struct hg_node_id){ id })))
			continue;
		r->lost = id;
		err = vec_add(&r->todo, id);
		if (!err)
			err = look_into_blocks(r);
	}
	return err;
}

static struct err *reach_all(struct fl_check *c, struct dec_machine *m,
			     const struct frames *frames)
{
	struct reach *r = calloc(1, sizeof(*r));
	struct err *err = NULL;

	c->reached = calloc(hg_graph_nodes(c->graph) + 1, 1);
	if (!r || !c->reached) {
		free(r);
		return &err_nomem;
	}
	r->c = c;
	r->m = m;
	r->symbols = frames->symbols;
	if (!dec_symbols_entries(r->symbols, "malloc", &r->allocator, 1))
		r->allocator = 0;
	find_dead_stack(r, frames);
	err = look_at_roots(r);
	if (!err)
		err = spare_unknown(r);
	if (!err)
		err = look_into_blocks(r);
	if (!err)
		err = reach_from_lost(r);
	vec_deinit(&r->todo);
	free(r);
	return err;
}

static bool is_reachable(void *ctx, uint32_t bid)
{
	const struct fl_check *c = ctx;

	return !c->reached || c->reached[bid] == 1;
}

static bool is_led_to(void *ctx, uint32_t bid)
{
	const struct fl_check *c = ctx;

	return c->reached && c->reached[bid] == 2;
}

/* ---- leaks -------------------------------------------------------------------------------------- */

static struct err *ask_at_exit(struct fl_check *c, struct frames *frames, size_t i,
			       uint64_t time)
{
	struct spec_bug_world w = { .graph = c->graph,
				    .time = time,
				    .pointers = c->pointers.data,
				    .n_pointers = c->pointers.size,
				    .ctx = c,
				    .is_reachable = is_reachable,
				    .is_led_to = is_led_to };
	uint32_t n = spec_bug(c->rules, i)->n_args;
	struct err *err = NULL;

	for (uint32_t next = 0; !err;) {
		struct spec_bug_value slots[SPEC_BUG_SLOTS] = {};

		if (!spec_bug_next(c->rules, i, &w, slots, &next))
			return NULL;
		err = fl_check_add_block(c, frames, i, time, &slots[n]);
	}
	return err;
}

static bool is_at_exit(const struct fl_check *c, size_t i)
{
	const struct spec_bug *b = spec_bug(c->rules, i);

	return c->is_on[i] && b->point == SPEC_POINT_RET && !strcmp(b->function, "main");
}

/* The same where no symbol tells which one it is: of the executable's code, what has called main()'s caller is under way,
 * and nothing else. (All calls were seen; in a static program that caller is the executable's, too.) */
static bool has_left_executable(const struct fl_check *c, const struct frames *frames)
{
	size_t n = 0;

	for (size_t i = 0; i < frames->stack.size; i++) {
		const char *module = dec_symbols_module(
			frames->symbols, frames->stack.data[i].return_rip - 1);

		n += module && frames->exe && !strcmp(module, frames->exe);
	}
	return c->is_from_start && n == 1;
}

/* Parts that compilers take out of it, as what ends in abort(), are called main.cold and the like. */
static bool is_main(const char *function)
{
	return function && !strncmp(function, "main", 4) &&
	       (!function[4] || function[4] == '.');
}

/* Is main() none of those that are under way, in the thread that began with it? Who looks along the run was told. */
static bool has_main_returned(const struct fl_check *c, const struct frames *frames)
{
	uint64_t main;

	if (c->has_main_returned || !is_first_thread(frames))
		return c->has_main_returned;
	if (!dec_symbols_entries(frames->symbols, "main", &main, 1))
		return has_left_executable(c, frames);
	for (size_t i = 0; i < frames->stack.size; i++) {
		struct dec_place place = {};

		dec_symbols_place_bare(frames->symbols,
				       frames->stack.data[i].return_rip - 1, &place);
		if (is_main(place.function))
			return false;
	}
	return true;
}

bool fl_check_asks_what_is_lost(const struct fl_check *c)
{
	for (size_t i = 0; i < spec_bugs(c->rules); i++)
		if (is_at_exit(c, i) && spec_bug_needs(c->rules, i) & SPEC_NEED_POINTERS)
			return true;
	return false;
}

struct err *fl_check_left_word(struct fl_check *c, uint64_t addr)
{
	return vec_add(&c->left_words, addr);
}

struct err *fl_check_wide_block(struct fl_check *c, uint64_t start, uint64_t bytes)
{
	return map_put(&c->wide_blocks, start, bytes) ? &err_nomem : NULL;
}

static struct err *look_for_leaks(struct fl_check *c, struct dec_machine *m,
				  struct frames *frames, uint64_t time)
{
	struct err *err = NULL;

	c->has_main_returned = has_main_returned(c, frames);
	for (size_t i = 0; i < spec_bugs(c->rules) && !err; i++) {
		if (!is_at_exit(c, i))
			continue;
		if (!c->reached && spec_bug_needs(c->rules, i) & SPEC_NEED_POINTERS) {
			err = reach_all(c, m, frames);
			if (!err)
				err = fl_check_list_pointers(c);
		}
		if (!err)
			err = ask_at_exit(c, frames, i, time);
	}
	return err;
}

/* ---- the access that ended it ------------------------------------------------------------------- */

/* A jump, call or return that faults without an address leads to NULL, or to where no address is. */
static void lead(struct dec_machine *m, const struct cap_regs *regs, const uint8_t *bytes,
		 uint64_t *addr)
{
	struct dec_insn insn;
	uint8_t reg;

	if (!dec_insn_decode(bytes, 15, regs->rip, &insn) ||
	    (insn.flow != DEC_FLOW_RET && insn.flow != DEC_FLOW_JMP_IND &&
	     insn.flow != DEC_FLOW_CALL_IND))
		return;
	reg = insn.flow == DEC_FLOW_RET ? DEC_REG_NONE : dec_insn_target_reg(&insn);
	if (reg != DEC_REG_NONE)
		*addr = regs->gpr[reg];
	else // else the operand itself is what cannot be accessed
		err_destroy(dec_machine_read(
			m, dec_insn_address(&insn.mem[0], regs->gpr, regs->fs_base, 0),
			addr, sizeof(*addr)));
}

/* Else accesses relative to the stack fault with SIGBUS, others with SIGSEGV, and the kernel tells no address. */
static bool is_canonical(uint64_t addr)
{
	int64_t high = (int64_t)addr >> 47;

	return !high || high == -1;
}

static struct err *keep_fault(struct fl_check *c, struct dec_machine *m,
			      struct frames *frames, const struct dec_where *w)
{
	struct fl_error *e = &c->fault;
	struct cap_regs regs;
	struct hg_judged x = { .addr = w->fault_addr };
	uint8_t bytes[15] = {};
	bool is_code = false;
	int reg = -1;
	struct err *err = dec_machine_regs(m, &regs), *unread;

	if (err)
		return err;
	for (int i = 0; i < 15; i++) { // the next page may be none
		unread = dec_machine_read(m, regs.rip + i, bytes + i, 1);
		is_code |= !unread;
		err_destroy(unread);
	}
	if (!is_code)
		x.addr = regs.rip; // it was led there
	else
		reg = hg_access_fault(c->finder, bytes, regs.rip, regs.gpr, &x);
	if (is_code && !w->fault_addr)
		lead(m, &regs, bytes, &x.addr);
	if (w->end_value == SIGBUS && !w->fault_addr && is_canonical(x.addr))
		return NULL; // somebody sent it
	*e = (struct fl_error){ .time = w->position,
				.rip = dec_frames_statement(frames, regs.rip),
				.pc = regs.rip,
				.value = { { x.addr, x.node.v, 0, true } },
				.n_values = 1,
				.is_write = x.is_write,
				.reg = reg };
	c->fault_bytes = x.size;
	c->has_fault = true;
	hg_chain_list(frames, e->rip, &e->callers);
	return NULL;
}

/* What led to where no code is did it: the return, call or jump; of a library's return who overwrote its address. */
static struct err *place_jump(struct fl_check *c, struct dec_symbols *symbols,
			      const struct fl_end *end)
{
	uint64_t writer = end->smash.statement.rip;
	struct fl_error *e = &c->fault;
	char text[128];

	if (!end->is_known || end->kind != FL_END_JUMP || !end->rip)
		return NULL;
	if (end->rip != e->pc)
		e->time--;
	e->rip = e->pc = end->rip;
	if (writer && !dec_symbols_same_module(symbols, writer, end->rip))
		e->rip = writer;
	e->target_at = end->target_at;
	snprintf(text, sizeof(text), "return or call to address %#llx, which is no code",
		 (unsigned long long)end->address);
	e->detail = arena_strndup(&c->arena, text, strlen(text));
	return e->detail ? NULL : &err_nomem;
}

struct err *fl_check_fault(struct fl_check *c, struct dec_symbols *symbols,
			   const struct fl_end *end, const hg_accesses *accesses)
{
	const struct fl_error *e = &c->fault;
	bool is_null = end->has_value && end->value.bad == FL_BAD_NULL;
	struct err *err = fl_check_smash(c, symbols, end);

	if (!err && c->has_fault)
		err = place_jump(c, symbols, end);
	const struct hg_judged x = {
		e->is_write, e->time, e->value[0].n, c->fault_bytes, { e->value[0].bid },
		0,	     0
	};
	const struct spec_bug_world w = { .graph = c->graph,
					  .time = e->time,
					  .width = c->fault_bytes,
					  .base = is_null ? 0 : e->value[0].n,
					  .ctx = c };
	int rule = c->has_fault ? fl_check_access(c, &x) : -1;

	for (size_t i = 0; c->has_fault && rule < 0 && i < spec_bugs(c->rules); i++) {
		struct spec_bug_value slots[SPEC_BUG_SLOTS] = { e->value[0] };

		if (c->is_on[i] && spec_bug(c->rules, i)->point == SPEC_POINT_FAULT &&
		    spec_bug_holds(c->rules, i, &w, slots))
			rule = (int)i;
	}
	if (err)
		return err;
	// What was told of this statement, such as a release that is wrong, led to the signal.
	if (rule < 0 || vec_find(&c->errors, k, k->rip == e->rip) ||
	    vec_find(accesses, k, k->rip == e->rip && k->rule == rule))
		return NULL;
	c->fault.rule = rule;
	return fl_check_add(c, NULL, e);
}

struct err *fl_check_end(struct fl_check *c, struct dec_machine *m, struct frames *frames,
			 const struct dec_where *w)
{
	if (w->end == CAP_END_SIGNAL &&
	    (w->end_value == SIGSEGV || w->end_value == SIGBUS))
		return keep_fault(c, m, frames, w);
	// abort() is an exit, too: by an assertion, an exception that nobody catches.
	if (w->end == CAP_END_EXIT ||
	    (w->end == CAP_END_SIGNAL && w->end_value == SIGABRT))
		return look_for_leaks(c, m, frames, w->position);
	return NULL;
}
