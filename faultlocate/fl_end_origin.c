// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * How the value that ended the program came there: copies are followed back to the statement that
 * made it, or to memory that was never written, or not any more.
 */
#include <string.h>

#include "faultlocate/fl_end_int.h"

#define RED_ZONE 128
#define COPIES_MAX 64
// What was written less than this before is found by looking; of longer runs replays are made for
// static data, so many at most.
#define REPLAY_WORTH 20000000
#define REPLAYS_MAX 4
#define REALLOCS_MAX 64 ///< of one block, gone back through

/* ---- statements --------------------------------------------------------------------------- */

/* The statement at @p rip, whose place a library's is replaced by: find_callers(). */
static struct fl_statement statement(struct valuer *v, uint64_t time, uint64_t rip)
{
	struct fl_analysis *a = v->e->a;
	struct fl_statement s = { .time = time, .rip = rip };

	if (rip && !fl_end_users_place(a, rip, &s.place))
		s.by = fl_end_is_own(a, rip) || !s.place.outer ? s.place.function :
								 s.place.outer;
	return s;
}

static struct err *on_calls(void *ctx, uint64_t time, const uint64_t *calls, size_t n)
{
	struct valuer *v = ctx;
	struct fl_statement *s = &v->v->statement;
	struct dec_place place;

	for (size_t k = 0; k < n && s->time == time && s->by; k++)
		if (fl_end_users_place(v->e->a, calls[k], &place)) {
			s->rip = calls[k];
			s->place = place;
			break;
		}
	return NULL;
}

/* What a library did was done by the call of it: one more replay, up to there. */
static struct err *find_caller(struct valuer *v)
{
	struct dec_heap_options o = { .calls_at = &v->v->statement.time,
				      .n_calls_at = 1,
				      .calls = on_calls,
				      .calls_ctx = v };
	const struct dec_heap_events nothing_else = {};
	struct fl_analysis *a = v->e->a;
	struct dec_run run = {};
	struct err *err;

	if (!v->v->has_statement || !v->v->statement.by)
		return NULL;
	err = dec_heap_trace(a->capture, a->symbols, &o, &nothing_else, &run);
	dec_run_deinit(&run);
	return err;
}

struct err *fl_end_statement(struct fl_ender *e, uint64_t time, uint64_t rip,
			     struct fl_statement *ret)
{
	struct fl_end_value value = { .has_statement = true };
	struct valuer v = { .e = e, .v = &value };
	struct err *err;

	value.statement = statement(&v, time, rip);
	err = find_caller(&v);
	*ret = value.statement;
	return err;
}

/* ---- the way back ----------------------------------------------------------------------- */

static bool is_on_stack(const struct valuer *v, uint64_t addr)
{
	return addr >= v->stack_start && addr < v->stack_end;
}

/* A static variable is being looked for in a replay. */
struct writes {
	const struct dec_location *l;
	uint64_t before, time;
	bool is_written;
};

static struct err *on_stores(void *ctx, const struct dec_heap_store *stores, size_t n)
{
	struct writes *w = ctx;

	for (size_t i = 0; i < n; i++) {
		const struct dec_heap_store *s = &stores[i];

		if (s->time >= w->before || s->addr >= w->l->addr + w->l->size ||
		    w->l->addr >= s->addr + s->size)
			continue;
		w->time = s->time;
		w->is_written = true;
	}
	return NULL;
}

static enum dec_past_known known_static(struct valuer *v, const struct dec_location *l,
					uint64_t before, uint64_t *time)
{
	struct writes w = { .l = l, .before = before };
	const struct dec_heap_events events = { .ctx = &w, .stores = on_stores };
	const struct dec_heap_options o = {};
	struct fl_analysis *a = v->e->a;
	struct dec_run run = {};

	if (before < REPLAY_WORTH || is_on_stack(v, l->addr) ||
	    v->n_replays++ == REPLAYS_MAX)
		return DEC_PAST_UNKNOWN;
	v->err = dec_heap_trace(a->capture, a->symbols, &o, &events, &run);
	dec_run_deinit(&run);
	*time = w.time;
	return !v->err && w.is_written ? DEC_PAST_AT : DEC_PAST_UNKNOWN;
}

enum dec_past_known fl_end_known(void *ctx, const struct dec_location *l, uint64_t before,
				 uint64_t *time)
{
	struct valuer *v = ctx;
	const struct hg_graph *g = v->e->a->sides[FL_SIDE_APP].graph;
	struct hg_node_id id = before ? hg_graph_find(g, l->addr, before - 1) :
					(struct hg_node_id){ 0 };
	_cleanup_(hg_view_destroyp) struct hg_view *view = NULL;
	uint64_t last;

	if (v->err)
		return DEC_PAST_NEVER;
	if (!id.v)
		return known_static(v, l, before, time);
	v->err = hg_view_create(g, hg_graph_op_after(g, before - 1), &view);
	if (v->err)
		return DEC_PAST_NEVER;
	last = hg_view_last_write_of(view, id, l->addr, l->size);
	*time = hg_graph_op(g, last).time;
	return hg_graph_op(g, last).kind == HG_OP_STORE ? DEC_PAST_AT : DEC_PAST_NEVER;
}

/* The call whose function has @p addr among its variables, of those under way at the end. */
static const struct frame *owner_of(const struct valuer *v, uint64_t addr)
{
	const frame_stack *calls = &v->e->end->calls;

	for (size_t i = calls->size; i--;)
		if (calls->data[i].rsp > addr)
			return &calls->data[i];
	return NULL;
}

static uint64_t rsp_at(struct valuer *v, uint64_t position)
{
	struct dec_machine *m;
	struct cap_regs regs = {};

	if (!v->err)
		v->err = dec_past_seek(v->e->past, position, &m);
	if (!v->err)
		v->err = dec_machine_regs(m, &regs);
	return v->err ? 0 : regs.gpr[CAP_RSP];
}

/* Below the stack; and not what a function that calls nobody keeps there. */
static bool is_dead(struct valuer *v, uint64_t addr, uint64_t read_at, uint64_t position)
{
	uint64_t rsp = rsp_at(v, read_at);

	return addr < rsp && (addr + RED_ZONE < rsp || rsp_at(v, position) != rsp);
}

/* What was read at @p read_at from memory at @p addr was written at @p position (0: never): was it
 * meant for what is there then? */
static enum fl_made judge(struct valuer *v, uint64_t addr, uint64_t read_at,
			  uint64_t position)
{
	const struct hg_graph *g = v->e->a->sides[FL_SIDE_APP].graph;
	struct hg_node_id id = hg_graph_find(g, addr, read_at);
	const struct frame *f;

	v->read_at = read_at;
	if (id.v) {
		v->node = id;
		return position < hg_graph_node(g, id)->born ? FL_MADE_HEAP :
							       FL_MADE_UNKNOWN;
	}
	if (!is_on_stack(v, addr)) {
		v->node = fl_end_freed(g, addr, read_at);
		return v->node.v ? FL_MADE_FREED : FL_MADE_UNKNOWN;
	}
	if (is_dead(v, addr, read_at, position))
		return FL_MADE_DEAD;
	f = owner_of(v, addr);
	return f && f->time < read_at && position < f->time ? FL_MADE_LOCAL :
							      FL_MADE_UNKNOWN;
}

/* dec_follow_stop_fn: behind the instruction that took an address from the frame pointer. */
static enum dec_follow_next is_taken(void *ctx, const struct dec_hop *later,
				     const struct dec_hop *hop)
{
	struct valuer *v = ctx;

	(void)hop;
	return later && later->kind == DEC_HOP_OFFSET && !later->from.is_mem &&
			       later->from.reg == CAP_RBP &&
			       is_on_stack(v, later->value) ?
		       DEC_FOLLOW_STOP :
		       DEC_FOLLOW_ON;
}

static bool is_same_function(const struct dec_place *a, const struct dec_place *b)
{
	return a->function && b->function && !strcmp(a->function, b->function) &&
	       a->outer && b->outer && !strcmp(a->outer, b->outer);
}

/* What another function computed is a number, which is scaled where it is an index. */
static bool is_number(struct valuer *v, const struct dec_hop *hop)
{
	struct dec_place index, made;

	if (hop->kind != DEC_HOP_INDEX)
		return false;
	if (!v->index_rip)
		v->index_rip = hop->rip;
	return fl_end_users_place(v->e->a, v->index_rip, &index) &&
	       fl_end_users_place(v->e->a, hop->rip, &made) &&
	       !is_same_function(&index, &made);
}

/* When what the way ended at was read: of what realloc() gave a new place, by that. */
static uint64_t limited(const struct valuer *v, uint64_t read_at)
{
	return v->moved_at && read_at >= v->moved_at ? v->moved_at - 1 : read_at;
}

static uint64_t read_time(const struct valuer *v)
{
	const struct dec_follow *f = &v->follow;

	return limited(v, f->hops.size ? f->hops.data[f->hops.size - 1].position :
					 v->e->bad_at);
}

/* The node that realloc() was called with to make node @p id; NULL: none. */
static const struct hg_node *resized(const struct hg_graph *g, struct hg_node_id id)
{
	const struct hg_node *n = hg_graph_node(g, id), *last = NULL;

	for (uint32_t k = hg_graph_nodes(g); k; k--) {
		const struct hg_node *o = hg_graph_node(g, (struct hg_node_id){ k });

		if (o->free_rip == n->alloc_rip && o->died <= n->born &&
		    o->born < n->born && (!last || o->died > last->died))
			last = o;
	}
	return last;
}

/* What was at @p addr when it was freed is what is at @p now when it was allocated: then it is the same
 * call. (Else the statement may have called realloc(NULL, ..) this time.) */
static struct err *is_carried(struct valuer *v, const struct hg_node *old, uint64_t addr,
			      const struct hg_node *n, uint64_t now, uint32_t size,
			      bool *ret)
{
	uint64_t was = 0, is = 0;
	struct dec_machine *m;
	struct err *err = dec_past_seek(v->e->past, n->born, &m), *unread;

	if (!err)
		err = dec_machine_read(m, now, &is, size);
	if (!err)
		err = dec_past_seek(v->e->past, old->died, &m);
	if (err)
		return err;
	// Unmapped meanwhile: the pages were moved, and the call is told of behind that.
	unread = dec_machine_read(m, addr, &was, size);
	*ret = unread || (was == is && (is || n->born - old->died < 4096 + old->size));
	err_destroy(unread);
	return NULL;
}

struct err *fl_end_before_realloc(struct valuer *v, enum dec_follow_what what)
{
	const struct hg_graph *g = v->e->a->sides[FL_SIDE_APP].graph;
	struct dec_follow *f = &v->follow;
	struct err *err = NULL;

	for (int i = 0; i < REALLOCS_MAX && !err && !v->err; i++) {
		struct dec_location at = f->last;
		const struct hg_node *n, *old;
		bool is = false;

		if (f->is_unwritten && at.is_mem)
			v->made = judge(v, at.addr, read_time(v), 0);
		if (v->made != FL_MADE_HEAP || !at.is_mem || at.size > 8)
			return NULL;
		n = hg_graph_node(g, v->node);
		old = resized(g, v->node);
		if (!old || at.addr - n->start + at.size > old->size)
			return NULL;
		at.addr += old->start - n->start;
		err = is_carried(v, old, at.addr, n, f->last.addr, at.size, &is);
		if (err || !is)
			return err;
		v->moved_at = old->died;
		v->made = FL_MADE_UNKNOWN;
		f->is_unwritten = f->is_far = false;
		err = dec_follow(v->e->past, &at, old->died, what, fl_end_is_unmade, v,
				 f);
	}
	return err;
}

/* dec_follow_stop_fn */
enum dec_follow_next fl_end_is_unmade(void *ctx, const struct dec_hop *later,
				      const struct dec_hop *hop)
{
	struct valuer *v = ctx;
	uint64_t read_at = limited(v, later ? later->position : v->e->bad_at);

	if (v->err || is_taken(ctx, later, hop) != DEC_FOLLOW_ON)
		return DEC_FOLLOW_STOP;
	if (is_number(v, hop))
		return DEC_FOLLOW_LAST;
	if (!hop->to.is_mem)
		return DEC_FOLLOW_ON;
	v->made = judge(v, hop->to.addr, read_at, hop->position);
	v->unmade = *hop;
	return v->made != FL_MADE_UNKNOWN ? DEC_FOLLOW_STOP : DEC_FOLLOW_ON;
}

struct err *fl_end_stack(struct valuer *v)
{
	struct dec_machine *m;
	struct dec_range r;
	struct err *err = dec_past_seek(v->e->past, v->e->at, &m), *none = NULL;

	for (size_t i = 0; !err && !(none = dec_machine_range(m, i, &r)); i++)
		if (v->e->regs.gpr[CAP_RSP] >= r.start &&
		    v->e->regs.gpr[CAP_RSP] < r.end) {
			v->stack_start = r.start;
			v->stack_end = r.end;
		}
	err_destroy(none);
	return err;
}

/* ---- how it came about ------------------------------------------------------------------------ */

static bool is_of_user(const struct valuer *v, const struct dec_hop *hop)
{
	struct dec_place place;

	return fl_end_users_place(v->e->a, hop->rip, &place);
}

/* Did hop @p i have a part in a copy of a whole node, or within one? Such moves pointers as they are. */
static bool is_whole_copy(const struct valuer *v, size_t i)
{
	const struct hg_graph *g = v->e->a->sides[FL_SIDE_APP].graph;
	const struct dec_hop *to = &v->follow.hops.data[i], *load = to;
	struct hg_node_id from_id, to_id;
	const struct hg_node *n, *of;

	if (!load->from.is_mem && i + 1 < v->follow.hops.size)
		load++;
	if (load->kind != DEC_HOP_COPY || !load->from.is_mem || !to->position)
		return false;
	to_id = hg_graph_find(g, to->to.addr, to->position - 1);
	from_id = hg_graph_find(g, load->from.addr, to->position - 1);
	if (!to_id.v || !from_id.v)
		return false;
	n = hg_graph_node(g, to_id);
	of = hg_graph_node(g, from_id);
	return to_id.v == from_id.v ||
	       to->to.addr - n->start == load->from.addr - of->start;
}

/* Of characters the last that put them where a pointer was: a copy that went too far. */
static size_t overwriting(const struct valuer *v)
{
	const struct dec_follow *f = &v->follow;

	for (size_t i = 0; i < f->hops.size && v->v->bad == FL_BAD_TEXT; i++)
		if (f->hops.data[i].to.is_mem &&
		    (!is_of_user(v, &f->hops.data[i]) || f->hops.data[i].written > 8) &&
		    !is_whole_copy(v, i))
			return i;
	return f->hops.size - 1;
}

/* Without optimisation functions begin by storing the registers that they got. */
static bool is_parameter(const struct dec_hop *hop)
{
	static const uint32_t passed = 1u << CAP_RDI | 1u << CAP_RSI | 1u << CAP_RDX |
				       1u << CAP_RCX | 1u << CAP_R8 | 1u << CAP_R9;

	return hop->kind == DEC_HOP_COPY && !hop->from.is_mem &&
	       hop->from.reg < DEC_GPRS && (passed & 1u << hop->from.reg);
}

static struct err *add_copies(struct valuer *v, size_t end)
{
	for (size_t i = 0; i < end && v->v->copies.size < COPIES_MAX; i++) {
		const struct dec_hop *hop = &v->follow.hops.data[i];
		struct err *err;

		if (!hop->to.is_mem || !is_of_user(v, hop) || is_parameter(hop))
			continue;
		err = vec_add(&v->v->copies, statement(v, hop->position, hop->rip));
		if (err)
			return err;
	}
	return NULL;
}

/* A statement that is not in the replay: of an allocation, a release. */
static void set_statement(struct valuer *v, uint64_t time, uint64_t rip)
{
	v->v->statement = statement(v, time, rip);
	v->v->has_statement = rip;
}

/* Compilers load a constant, or begin a sum, where it suits them: of hop @p i of @p f, if it is
 * displaced, or a constant amid others' instructions, the statement is the one that stores what came of it,
 * in a loop perhaps before it. @return its hop. */
static size_t storing(const struct valuer *v, const struct dec_follow *f, size_t i)
{
	const struct dec_hop *hops = f->hops.data;
	struct dec_place made, used;
	bool is_constant, is_sum;
	size_t k = i;

	if (!i || hops[i].to.is_mem || !fl_end_users_place(v->e->a, hops[i].rip, &made))
		return i;
	is_constant = hops[i].kind == DEC_HOP_CONSTANT &&
		      (made.is_within || made.is_displaced);
	is_sum = hops[i].kind == DEC_HOP_OFFSET || hops[i].is_narrow ||
		 hops[i - 1].kind == DEC_HOP_OFFSET;
	if (!made.is_displaced && !is_sum && !is_constant)
		return i;
	while (k && !hops[k].to.is_mem) {
		const struct dec_hop *hop = &hops[--k];

		if ((hop->kind == DEC_HOP_COPY ? hop->from.is_mem : hop->to.is_mem) ||
		    (hop->rip <= hops[i].rip && !is_sum && !is_constant) ||
		    !fl_end_users_place(v->e->a, hop->rip, &used) ||
		    !is_same_function(&made, &used))
			return i;
		if (hop->kind != DEC_HOP_COPY)
			break;
	}
	if (hops[k].kind == DEC_HOP_COPY && !hops[k].to.is_mem)
		return i;
	return used.is_filled ? i : k;
}

/* The way back ended with an instruction that made the value. */
static struct err *set_maker(struct valuer *v)
{
	size_t i = storing(v, &v->follow, overwriting(v));
	const struct dec_hop *hop = &v->follow.hops.data[i];

	// The call behind a system call is under way when that has returned.
	set_statement(v, hop->position + (hop->kind == DEC_HOP_KERNEL), hop->rip);
	if (hop->kind == DEC_HOP_KERNEL)
		v->v->made = FL_MADE_INPUT;
	else if (!is_of_user(v, hop) && !hop->to.is_mem)
		v->v->made = FL_MADE_RETURNED;
	else
		v->v->made = FL_MADE_STORED;
	return add_copies(v, i);
}

/* Who took the address by which the stack was read where no variables are any more? */
static struct err *set_taker(struct valuer *v)
{
	struct dec_follow to = {};
	const struct dec_past_step *s;
	const struct dec_insn *insn;
	struct err *err = dec_past_step_at(v->e->past, v->read_at, &s);
	struct dec_location l = { .tid = v->e->tid, .size = 8 };

	insn = dec_past_insn(v->e->past, s);
	if (!insn || !insn->n_mem || insn->mem[0].base >= DEC_GPRS)
		return err;
	l.reg = insn->mem[0].base;
	err = dec_follow(v->e->past, &l, v->read_at, DEC_FOLLOW_POINTER, is_taken, v,
			 &to);
	if (!err && to.hops.size) {
		const struct dec_hop *hop =
			&to.hops.data[storing(v, &to, to.hops.size - 1)];

		set_statement(v, hop->position, hop->rip);
	}
	dec_follow_deinit(&to);
	return err;
}

static struct err *set_unmade(struct valuer *v)
{
	const struct hg_graph *g = v->e->a->sides[FL_SIDE_APP].graph;
	const struct hg_node *n = v->node.v ? hg_graph_node(g, v->node) : NULL;
	const struct frame *f;

	v->v->made = v->made;
	if (v->made == FL_MADE_HEAP || v->made == FL_MADE_FREED)
		v->v->node = v->node;
	if (v->made == FL_MADE_HEAP)
		set_statement(v, n->born, n->alloc_rip);
	else if (v->made == FL_MADE_FREED)
		set_statement(v, n->died, n->free_rip);
	else if (v->made == FL_MADE_LOCAL && (f = owner_of(v, v->follow.last.addr)))
		set_statement(v, f->time, f->return_rip - 1);
	else if (v->made == FL_MADE_DEAD)
		return set_taker(v);
	return add_copies(v, v->follow.hops.size);
}

static struct err *set_origin(struct valuer *v)
{
	const struct dec_follow *f = &v->follow;

	if (f->is_unwritten && f->last.is_mem)
		v->made = judge(v, f->last.addr, read_time(v), 0);
	if (v->made != FL_MADE_UNKNOWN)
		return set_unmade(v);
	if (f->is_far)
		return add_copies(v, f->hops.size);
	if (f->is_unwritten && f->last.is_mem && overwriting(v) + 1 >= f->hops.size) {
		// Constant data: a statement that copied it elsewhere is what counts.
		bool is_copied = false;

		for (size_t i = 0; i < f->hops.size; i++)
			is_copied |= f->hops.data[i].to.is_mem;
		if (!is_copied &&
		    (!f->hops.size || is_of_user(v, &f->hops.data[f->hops.size - 1]))) {
			v->v->made = FL_MADE_STATIC;
			return NULL;
		}
	}
	return f->hops.size ? set_maker(v) : NULL;
}

struct err *fl_end_origin(struct valuer *v)
{
	struct err *err = set_origin(v);

	return err ? err : find_caller(v);
}
