// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "faultlocate/fl_chain.h"

#include "decode/explain/follow.h"
#include "faultlocate/fl_analysis.h"

#define LINKS_MAX 64

void fl_chain_deinit(struct fl_chain *c)
{
	vec_deinit(&c->links);
}

size_t fl_chain_length(const struct fl_chain *c)
{
	for (size_t i = 0; i < c->links.size; i++)
		if (c->links.data[i].is_arithmetic)
			return i + 1;
	return c->links.size;
}

/** What the way back knows. */
struct way {
	const struct fl_analysis *a;
	uint64_t born; ///< of the allocation; 0: none
	struct err *err;
};

/* Memory of an allocation: its history is at hand. */
static enum dec_past_known known(void *ctx, const struct dec_location *l, uint64_t before,
				 uint64_t *time)
{
	struct way *w = ctx;
	const struct hg_graph *g = w->a->sides[FL_SIDE_APP].graph;
	struct hg_node_id id = before ? hg_graph_find(g, l->addr, before - 1) :
					(struct hg_node_id){ 0 };
	_cleanup_(hg_view_destroyp) struct hg_view *view = NULL;
	struct hg_op op;

	if (!id.v || w->err ||
	    l->addr - hg_graph_node(g, id)->start >= hg_graph_node(g, id)->size)
		return DEC_PAST_UNKNOWN;
	w->err = hg_view_create(g, hg_graph_op_after(g, before - 1), &view);
	if (w->err)
		return DEC_PAST_NEVER;
	op = hg_graph_op(g, hg_view_last_write(view, id,
					       l->addr - hg_graph_node(g, id)->start));
	*time = op.time;
	return op.kind == HG_OP_STORE ? DEC_PAST_AT : DEC_PAST_UNKNOWN;
}

/* What was before is the allocator's. */
static enum dec_follow_next is_allocators(void *ctx, const struct dec_hop *later,
					  const struct dec_hop *hop)
{
	const struct way *w = ctx;

	(void)later;
	return w->born && hop->position <= w->born ? DEC_FOLLOW_STOP : DEC_FOLLOW_ON;
}

static bool is_own(const struct fl_analysis *a, uint64_t rip)
{
	struct dec_place p = {};

	if (!dec_symbols_has_debug(a->symbols, rip))
		return false;
	a->places.place(a->places.ctx, rip, &p);
	return p.line;
}

static bool is_same_line(const struct fl_analysis *a, uint64_t x, uint64_t y)
{
	struct dec_place p = {}, q = {};

	a->places.place(a->places.ctx, x, &p);
	a->places.place(a->places.ctx, y, &q);
	return p.line == q.line && p.file == q.file && p.function == q.function;
}

static struct err *add_hop(const struct fl_analysis *a, const struct dec_hop *hop,
			   struct fl_chain *ret)
{
	struct fl_chain_link *last =
		ret->links.size ? &ret->links.data[ret->links.size - 1] : NULL;
	bool is_arithmetic = hop->kind == DEC_HOP_OFFSET || hop->kind == DEC_HOP_INDEX ||
			     hop->kind == DEC_HOP_COMPUTED;

	bool is_librarys = !is_own(a, hop->rip);

	// What a library only carries in registers, its caller gave and gets.
	if ((is_librarys && !hop->to.is_mem) || ret->links.size == LINKS_MAX)
		return NULL;
	if (last && !is_librarys && !last->is_librarys &&
	    is_same_line(a, last->rip, hop->rip)) {
		last->is_arithmetic |= is_arithmetic;
		last->time = hop->position;
		return NULL;
	}
	return vec_add(
		&ret->links,
		// The call behind a system call is under way when that has returned.
		(struct fl_chain_link){ .time = hop->position +
						(hop->kind == DEC_HOP_KERNEL),
					.rip = hop->rip,
					.value = hop->value,
					.has_value = hop->has_value,
					.is_arithmetic = is_arithmetic,
					.is_librarys = is_librarys });
}

/* ---- what libraries did ------------------------------------------------------------------------- */

static int compare_times(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* The statement that called the library. */
static struct err *on_calls(void *ctx, uint64_t time, const uint64_t *calls, size_t n)
{
	struct fl_analysis *a = ctx;
	size_t k = 0;

	while (k < n && !is_own(a, calls[k]))
		k++;
	for (size_t i = 0; k < n && i < a->chains.size; i++) {
		struct fl_chain *c = &a->chains.data[i].chain;

		for (size_t j = 0; j < c->links.size; j++)
			if (c->links.data[j].is_librarys &&
			    c->links.data[j].time == time) {
				c->links.data[j].rip = calls[k];
				c->links.data[j].is_librarys = false;
			}
	}
	return NULL;
}

/* Those that nobody called go, and of one statement's the earliest stays. */
static void tidy(const struct fl_analysis *a, struct fl_chain *c)
{
	size_t n = 0;

	for (size_t i = 0; i < c->links.size; i++) {
		struct fl_chain_link *l = &c->links.data[i];
		struct fl_chain_link *last = n ? &c->links.data[n - 1] : NULL;

		if (l->is_librarys || (l->is_last && n))
			continue;
		if (last && is_same_line(a, last->rip, l->rip)) {
			last->is_arithmetic |= l->is_arithmetic;
			last->time = l->time;
		} else {
			c->links.data[n++] = *l;
		}
	}
	c->links.size = n;
}

/* One more replay, if there is anything of a library's. */
static struct err *find_callers(struct fl_analysis *a)
{
	VEC(uint64_t) times = {};
	struct dec_heap_options o = { .calls = on_calls, .calls_ctx = a };
	const struct dec_heap_events nothing_else = {};
	struct dec_run run = {};
	struct err *err = NULL;

	for (size_t i = 0; i < a->chains.size; i++) {
		const struct fl_chain *c = &a->chains.data[i].chain;

		for (size_t j = 0; j < c->links.size && !err; j++)
			if (c->links.data[j].is_librarys)
				err = vec_add(&times, c->links.data[j].time);
	}
	if (times.size)
		qsort(times.data, times.size, sizeof(*times.data), compare_times);
	o.calls_at = times.data;
	for (size_t i = 0; i < times.size; i++)
		if (!i || times.data[i] != times.data[i - 1])
			times.data[o.n_calls_at++] = times.data[i];
	if (!err && o.n_calls_at)
		err = dec_heap_trace(a->capture, a->symbols, &o, &nothing_else, &run);
	dec_run_deinit(&run);
	vec_deinit(&times);
	for (size_t i = 0; i < a->chains.size; i++)
		tidy(a, &a->chains.data[i].chain);
	return err;
}

static enum fl_chain_end end_of(const struct way *w, const struct dec_follow *f)
{
	const struct dec_hop *last = f->hops.size ? &f->hops.data[f->hops.size - 1] :
						    NULL;

	if (w->born)
		return f->is_far ? FL_CHAIN_FAR : FL_CHAIN_ALLOCATED;
	if (f->is_far)
		return FL_CHAIN_FAR;
	if (f->is_unwritten)
		return FL_CHAIN_INITIAL;
	return last && last->kind == DEC_HOP_KERNEL ? FL_CHAIN_INPUT : FL_CHAIN_MADE;
}

/* Follow the value back that @p l had just before @p time, into @p ret. @p node: the allocation that it points to, or
 * {0}. */
static struct err *follow(const struct fl_analysis *a, struct dec_past *past,
			  uint64_t time, struct dec_location l, struct hg_node_id node,
			  struct fl_chain *ret)
{
	const struct hg_graph *g = a->sides[FL_SIDE_APP].graph;
	struct way w = { a, node.v ? hg_graph_node(g, node)->born : 0, NULL };
	const struct dec_past_step *step;
	struct dec_follow f = {};
	struct err *err = dec_past_step_at(past, time, &step);

	if (!err && step)
		l.tid = step->tid;
	dec_past_ask(past, known, &w);
	if (!err)
		err = dec_follow(past, &l, time, DEC_FOLLOW_POINTER, is_allocators, &w,
				 &f);
	if (!err)
		err = w.err;
	for (size_t i = 0; i < f.hops.size && !err; i++)
		err = add_hop(a, &f.hops.data[i], ret);
	ret->end = end_of(&w, &f);
	dec_follow_deinit(&f);
	return err;
}

/* The register that holds the address of the access at @p time to @p addr: that of its operand, or of an argument;
 * or where a jump leads. -1: it cannot be told. */
static int address_register(struct dec_past *past, uint64_t time, uint64_t addr)
{
	static const int arguments[] = { CAP_RDI, CAP_RSI, CAP_RDX };
	const struct dec_past_step *step = NULL;
	const struct dec_insn *insn;
	struct dec_machine *m;
	struct cap_regs regs;
	_cleanup_err_ struct err *err = dec_past_step_at(past, time, &step);

	insn = dec_past_insn(past, step);
	if (insn && (insn->flow == DEC_FLOW_CALL_IND || insn->flow == DEC_FLOW_JMP_IND) &&
	    dec_insn_target_reg(insn) < DEC_GPRS)
		return dec_insn_target_reg(insn);
	for (int i = 0; insn && i < insn->n_mem; i++)
		if (insn->mem[i].base < DEC_GPRS && insn->mem[i].base != CAP_RSP)
			return insn->mem[i].base;
	if (err || (err = dec_past_seek(past, time, &m)) ||
	    (err = dec_machine_regs(m, &regs)))
		return -1;
	for (size_t i = 0; i < sizeof(arguments) / sizeof(*arguments); i++)
		if (regs.gpr[arguments[i]] == addr)
			return arguments[i];
	return -1;
}

/* ---- of what was found -------------------------------------------------------------------------- */

// Each takes a look at the run behind what it is about: the first ones are told.
#define CHAINS_MAX 16

/** One value to be followed: of finding number `index`, at statement `rip`. */
struct wanted {
	bool is_access;
	size_t index;
	const char *name;
	bool is_freed; ///< what the first release got
	uint64_t time, addr, rip;
	struct hg_node_id node;
	int reg;     ///< -1: the operand's
	uint64_t at; ///< memory that has it; 0: the register
};

typedef VEC(struct wanted) wants;

static struct err *want(const struct fl_analysis *a, size_t rule, struct wanted x,
			wants *ret)
{
	const struct spec *rules = fl_check_rules(a->check);
	const struct spec_bug *b = spec_bug(rules, rule);
	struct err *err = NULL;

	for (int k = 0; k < b->n_chains && !err && ret->size < CHAINS_MAX; k++) {
		struct wanted w = x;
		const struct hg_node *n;

		w.name = spec_bug_slot(rules, rule, b->chain[k]);
		if (b->chain[k]) {
			if (!x.node.v)
				continue;
			n = hg_graph_node(a->sides[FL_SIDE_APP].graph, x.node);
			w.is_freed = true;
			w.time = n->died;
			w.reg = CAP_RDI;
			if (n->died >= x.time)
				continue;
		}
		err = vec_add(ret, w);
	}
	return err;
}

static struct err *list_wanted(const struct fl_analysis *a, wants *ret)
{
	const struct spec *rules = fl_check_rules(a->check);
	struct err *err = NULL;

	for (size_t i = 0; i < a->accesses.size && !err; i++) {
		const struct hg_access *x = &a->accesses.data[i];

		err = want(a, x->rule,
			   (struct wanted){ .is_access = true,
					    .index = i,
					    .time = x->time,
					    .addr = x->addr,
					    .rip = x->rip,
					    .node = x->from,
					    .reg = -1 },
			   ret);
	}
	for (size_t i = 0; i < fl_check_errors(a->check) && !err; i++) {
		const struct fl_error *e = fl_check_error(a->check, i);
		bool is_free = spec_bug(rules, e->rule)->point == SPEC_POINT_FREE;

		err = want(a, e->rule,
			   (struct wanted){ .index = i,
					    .time = e->time,
					    .addr = e->value[0].n,
					    .rip = e->rip,
					    .node = { e->value[0].bid },
					    .reg = is_free ? CAP_RDI : e->reg,
					    .at = e->target_at },
			   ret);
	}
	return err;
}

/* Does the instruction at @p time compute what it accesses from a pointer and an index? */
static bool is_indexed(struct dec_past *past, uint64_t time)
{
	const struct dec_past_step *step = NULL;
	const struct dec_insn *insn;
	_cleanup_err_ struct err *err = dec_past_step_at(past, time, &step);

	insn = dec_past_insn(past, step);
	for (int i = 0; insn && i < insn->n_mem; i++)
		if (insn->mem[i].base < DEC_GPRS && insn->mem[i].base != CAP_RSP)
			return insn->mem[i].index < DEC_GPRS;
	return false;
}

static struct err *add_harm(const struct wanted *w, bool is_made, struct fl_chain *c)
{
	return vec_add(&c->links, (struct fl_chain_link){ .time = w->time,
							  .rip = w->rip,
							  .value = w->addr,
							  .has_value = true,
							  .is_arithmetic = is_made,
							  .is_last = !is_made });
}

static struct err *follow_wanted(struct fl_analysis *a, struct dec_past *past,
				 const struct wanted *w)
{
	struct fl_found_chain *c = vec_push(&a->chains);
	struct dec_location l = { .is_mem = w->at, .addr = w->at, .size = 8 };
	int reg = w->at ? 0 : w->reg;
	struct err *err = NULL;

	if (!c)
		return &err_nomem;
	c->is_access = w->is_access;
	c->index = w->index;
	c->name = w->name;
	if (reg < 0)
		reg = address_register(past, w->time, w->addr);
	if (reg < 0) {
		a->chains.size--;
		return NULL;
	}
	l.reg = reg;
	if (w->reg < 0 && !w->at && is_indexed(past, w->time))
		err = add_harm(w, true, &c->chain);
	if (!err)
		err = follow(a, past, w->time, l, w->node, &c->chain);
	if (!err && !w->is_freed)
		err = add_harm(w, false, &c->chain); // libraries alone had it
	return err;
}

struct err *fl_chains_find(struct fl_analysis *a)
{
	struct dec_past *past = NULL;
	uint64_t end = 0;
	wants list = {};
	struct err *err = list_wanted(a, &list);

	for (size_t i = 0; i < list.size; i++)
		end = list.data[i].time + 1 > end ? list.data[i].time + 1 : end;
	if (!err && list.size)
		err = dec_past_create(a->capture, end, &past);
	for (size_t i = 0; i < list.size && !err; i++)
		err = follow_wanted(a, past, &list.data[i]);
	if (!err)
		err = find_callers(a);
	dec_past_destroy(past);
	vec_deinit(&list);
	return err;
}

void fl_chains_deinit(fl_chains *c)
{
	for (size_t i = 0; i < c->size; i++)
		fl_chain_deinit(&c->data[i].chain);
	vec_deinit(c);
}
