// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "heapgraph/hg_access.h"

#include <string.h>

#include "decode/dec_frames.h"
#include "heapgraph/hg_derive.h"

enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI };

// An address that is farther from its node was not meant to be in it: compilers walk two
// buffers by one pointer and the distance between them.
#define REACH (INT64_C(1) << 20)

// The narrowest vector: what reads so much at once may read ahead.
#define VECTOR_BYTES 16

/* What is one thread's own. */
struct thread {
	uint32_t tid;
	uint64_t allocator_rsp; ///< in the allocator, entered with this rsp; 0: outside
	bool is_back;		///< it returned just before
	uint64_t call_size;	///< rdx at the last call out of the user's code
};

struct finder {
	const struct hg_graph *graph;
	const struct hg_access_options *o;
	struct dec_symbols *symbols;
	struct hg_view *view;
	uint64_t next_time; ///< of the next operation of the view
	struct hg_derive derive;
	struct frames frames;
	VEC(struct thread) threads;
	struct thread *thread;
	struct map entries; ///< of the allocator -> 1
	struct map seen;    ///< hash of what was found -> index + 1
	hg_accesses *found;
};

/* ---- time ------------------------------------------------------------------------------- */

static void look_ahead(struct finder *f)
{
	uint64_t n = hg_view_ops(f->view);

	f->next_time = n < hg_graph_ops(f->graph) ? hg_graph_op(f->graph, n).time :
						    UINT64_MAX;
}

/* Bring the view to just before the instruction at @p time. */
static void advance(struct finder *f, uint64_t time)
{
	while (f->next_time < time) {
		hg_view_forward(f->view, NULL);
		look_ahead(f);
	}
}

static struct thread *find_thread(struct finder *f, uint32_t tid)
{
	struct thread *t;

	for (size_t i = 0; i < f->threads.size; i++)
		if (f->threads.data[i].tid == tid)
			return &f->threads.data[i];
	t = vec_push(&f->threads);
	if (t)
		t->tid = tid;
	return t;
}

static struct err *switch_thread(struct finder *f, uint32_t tid)
{
	if (f->thread && f->thread->tid == tid)
		return NULL;
	f->thread = find_thread(f, tid);
	if (!f->thread)
		return &err_nomem;
	hg_derive_thread(&f->derive, tid);
	return frames_switch(&f->frames, tid);
}

/* ---- one access ------------------------------------------------------------------------- */

/* A wrong access, before it is known whether it is new. */
struct suspect {
	enum hg_access_kind kind;
	const struct dec_step *s;
	const struct dec_ref *r;
	uint32_t derivation;
	struct hg_node_id to;
	const char *field;
	size_t field_length;
};

static uint64_t site_of(const struct finder *f, struct hg_node_id id)
{
	return id.v ? hg_graph_node(f->graph, id)->alloc_rip : 0;
}

/* The derivations from the allocation on. */
static void list_steps(const struct finder *f, uint32_t number, struct hg_access *a)
{
	uint32_t chain[HG_ACCESS_STEPS * 8];
	size_t n = 0;

	for (; number && n < sizeof(chain) / sizeof(*chain);
	     number = hg_derive_get(&f->derive, number)->parent)
		chain[n++] = number;
	for (; n && a->n_steps < HG_ACCESS_STEPS; n--) {
		const struct hg_derivation *d = hg_derive_get(&f->derive, chain[n - 1]);

		a->step[a->n_steps++] =
			(struct hg_access_step){ d->time, d->rip, d->offset };
	}
}

static struct err *report(struct finder *f, const struct suspect *x)
{
	struct hg_node_id from = hg_derive_get(&f->derive, x->derivation)->node;
	uint64_t key = hg_derive_key(
		hg_derive_key(hg_derive_key(x->s->insn->rip, x->kind), site_of(f, from)),
		site_of(f, x->to));
	const uint64_t *known = map_get(&f->seen, key);
	struct hg_access *a;

	if (known) {
		f->found->data[*known - 1].count++;
		return NULL;
	}
	a = vec_push(f->found);
	if (!a || map_put(&f->seen, key, f->found->size))
		return &err_nomem;
	*a = (struct hg_access){
		.kind = x->kind,
		.is_write = x->r->is_def,
		.time = x->s->position,
		.rip = frames_statement(&f->frames, x->s->insn->rip),
		.pc = x->s->insn->rip,
		.addr = x->r->addr,
		.size = x->r->size,
		.from = from,
		.to = x->to,
		.field = x->field,
		.field_length = x->field_length,
		.count = 1,
	};
	list_steps(f, x->derivation, a);
	return NULL;
}

/* Is @p name, of @p n characters, the name of @p f or of something that @p f is part of? */
static bool is_part(const struct dec_field *f, const char *name, size_t n)
{
	return !strncmp(f->name, name, n) && strchr(".[", f->name[n]);
}

/* Where @p name, of @p n characters, begins in @p t. @p end: behind it. */
static uint64_t extent(const struct dec_struct *t, const char *name, size_t n, uint64_t *end)
{
	uint64_t start = UINT64_MAX;

	*end = 0;
	for (uint32_t i = 0; i < t->n_fields; i++) {
		const struct dec_field *f = &t->fields[i];

		if (!is_part(f, name, n))
			continue;
		if (f->offset < start)
			start = f->offset;
		if (f->offset + f->size > *end)
			*end = f->offset + f->size;
	}
	return start;
}

/* The largest array or struct inside @p t that begins at @p offset. @p end: behind it.
 * @return its name, of *n characters, or NULL. */
static const char *part_at(const struct dec_struct *t, uint64_t offset, size_t *n,
			   uint64_t *end)
{
	for (uint32_t i = 0; i < t->n_fields; i++) {
		const char *name = t->fields[i].name;

		if (t->fields[i].offset != offset)
			continue;
		for (*n = strcspn(name, ".["); name[*n]; *n += 1 + strcspn(name + *n + 1, ".["))
			if (extent(t, name, *n, end) == offset)
				return name;
		return NULL;
	}
	return NULL;
}

/* Which part of its node the access is meant for: the one that the first step of arithmetic
 * led to, or that an index goes from. -1: none that we know. */
static int64_t anchor_of(struct finder *f, const struct suspect *x,
			 const struct dec_mem *m)
{
	const struct hg_derivation *d = hg_derive_get(&f->derive, x->derivation);
	uint64_t start = hg_graph_node(f->graph, d->node)->start;
	bool is_own = frames_is_own(&f->frames, x->s->insn->rip);

	if (d->parent) {
		while (hg_derive_get(&f->derive, d->parent)->parent)
			d = hg_derive_get(&f->derive, d->parent);
		return d->offset;
	}
	if (is_own && m->index != DEC_REG_NONE)
		return f->derive.regs->value[m->base] + m->disp - start;
	return is_own ? -1 : 0;
}

/* Inside the node: does the access leave its array? */
static struct err *check_field(struct finder *f, struct suspect *x, const struct hg_node *n,
			       const struct dec_mem *m)
{
	struct hg_node_id id = hg_derive_get(&f->derive, x->derivation)->node;
	const struct dec_struct *t =
		f->o->layout ? f->o->layout(f->o->layout_ctx, id) : NULL;
	uint64_t at = x->r->addr - n->start, end = 0;
	int64_t anchor;

	if (!t || t->size != n->size)
		return NULL;
	anchor = anchor_of(f, x, m);
	// memcpy(p, q, sizeof(*p)) begins at the first field, and means all of them.
	if (anchor < 0 || (!anchor && f->thread->call_size >= n->size))
		return NULL;
	x->field = part_at(t, anchor, &x->field_length, &end);
	if (!x->field || (at >= (uint64_t)anchor && at + x->r->size <= end))
		return NULL;
	x->kind = HG_ACCESS_FIELD;
	x->to = id;
	return report(f, x);
}

static bool is_inside(const struct finder *f, uint32_t derivation, const struct dec_ref *r)
{
	const struct hg_node *n = hg_graph_node(
		f->graph, hg_derive_get(&f->derive, derivation)->node);

	return r->addr >= n->start && r->addr + r->size <= n->start + n->size;
}

/* realloc in place gave the node's memory to a new one: the same for all that points there. */
static bool is_successor(const struct hg_graph *g, struct hg_node_id old, struct hg_node_id new)
{
	const struct hg_node *a = hg_graph_node(g, old);
	const struct hg_node *b = new.v ? hg_graph_node(g, new) : NULL;

	return b && a->start == b->start && a->died <= b->born &&
	       a->free_rip == b->alloc_rip;
}

/* A library's string functions begin at a vector's or page's boundary, and what they load
 * into vectors ends at one: of 8 or 4 bytes, too, where the other string is near the end of
 * its page. (Of a masked load only what the mask selects counts as read.) */
static bool may_read_ahead(struct finder *f, const struct suspect *x,
			   const struct dec_mem *m)
{
	return !x->r->is_def &&
	       (m->size >= VECTOR_BYTES || (uint32_t)x->s->insn->other_written ||
		hg_derive_get(&f->derive, x->derivation)->is_rough) &&
	       !frames_is_own(&f->frames, x->s->insn->rip);
}

static struct err *check(struct finder *f, struct suspect *x, const struct dec_mem *m)
{
	struct hg_node_id from = hg_derive_get(&f->derive, x->derivation)->node;
	const struct hg_node *n = hg_graph_node(f->graph, from);
	int64_t offset = x->r->addr - n->start;

	if (offset < -REACH || offset > (int64_t)n->size + REACH)
		return NULL;
	if (hg_view_is_live(f->view, from)) {
		if (is_inside(f, x->derivation, x->r))
			return check_field(f, x, n, m);
		x->kind = HG_ACCESS_BEYOND;
	} else {
		if (is_successor(f->graph, from, hg_view_find(f->view, n->start)))
			return NULL;
		x->kind = HG_ACCESS_FREED;
	}
	if (may_read_ahead(f, x, m))
		return NULL;
	x->to = hg_view_find(f->view, x->r->addr);
	if (!x->to.v || x->to.v == from.v)
		x->to = hg_view_find(f->view, x->r->addr + x->r->size - 1);
	if (x->to.v == from.v)
		x->to.v = 0;
	return report(f, x);
}

/* The memory operand that @p r is an access of. */
static const struct dec_mem *operand_of(const struct dec_insn *insn, const struct dec_ref *r)
{
	for (int i = 0; i < insn->n_mem; i++)
		if (insn->mem[i].base < DEC_GPRS &&
		    (r->is_def ? insn->mem[i].is_write : insn->mem[i].is_read))
			return &insn->mem[i];
	return NULL;
}

/* Whose pointer the address is made of: of two, that to where the access is. */
static uint32_t derivation_of(const struct finder *f, const struct dec_mem *m,
			      const struct dec_ref *r)
{
	const uint32_t *gpr = f->derive.regs->gpr;
	uint32_t base = gpr[m->base];
	uint32_t index = m->index < DEC_GPRS && m->scale == 1 ? gpr[m->index] : 0;

	if (index && (!base || is_inside(f, index, r)))
		return index;
	return base;
}

static struct err *check_all(struct finder *f, const struct dec_step *s)
{
	struct err *err = NULL;

	for (size_t i = 0; i < s->n_refs && !err; i++) {
		struct suspect x = { .s = s, .r = &s->refs[i] };
		const struct dec_mem *m;

		if (!x.r->is_mem || !x.r->size)
			continue;
		m = operand_of(s->insn, x.r);
		if (!m)
			continue;
		x.derivation = derivation_of(f, m, x.r);
		if (x.derivation)
			err = check(f, &x, m);
	}
	return err;
}

/* ---- the walk --------------------------------------------------------------------------- */

/* Behind a call or return, whose registers are known now. */
static struct err *follow_flow(struct finder *f, const struct dec_insn *insn,
			       uint64_t rsp_before)
{
	uint64_t *value = f->derive.regs->value;

	if (insn->flow == DEC_FLOW_RET) {
		frames_return(&f->frames, rsp_before);
		if (f->thread->allocator_rsp && rsp_before >= f->thread->allocator_rsp) {
			f->thread->allocator_rsp = 0;
			f->thread->is_back = true;
			hg_derive_leave(&f->derive);
		}
	}
	if (insn->flow != DEC_FLOW_CALL && insn->flow != DEC_FLOW_CALL_IND)
		return NULL;
	if (frames_is_own(&f->frames, insn->rip))
		f->thread->call_size = value[RDX];
	return frames_call(&f->frames, insn->rip + insn->len, value[RSP]);
}

/* The allocator's result is the node that was made meanwhile. */
static void take_result(struct finder *f)
{
	uint64_t result = f->derive.regs->value[RAX];
	struct hg_node_id id = hg_view_find(f->view, result);

	f->thread->is_back = false;
	f->derive.regs->gpr[RAX] =
		id.v && hg_graph_node(f->graph, id)->start == result ?
			hg_derive_root(&f->derive, id) :
			0;
}

static struct err *on_step(void *ctx, const struct dec_step *s)
{
	struct finder *f = ctx;
	uint64_t rsp;
	struct err *err = switch_thread(f, s->tid);

	if (err || !s->insn)
		return err;
	if (f->o->progress && s->position % (1 << 20) == 0)
		f->o->progress(f->o->progress_ctx, s->position);
	advance(f, s->position);
	if (f->thread->is_back)
		take_result(f);
	rsp = f->derive.regs->value[RSP];
	if (!f->thread->allocator_rsp && map_get(&f->entries, s->insn->rip)) {
		f->thread->allocator_rsp = rsp;
		hg_derive_enter(&f->derive);
	}
	if (f->thread->allocator_rsp) {
		hg_derive_skip(&f->derive, s);
	} else {
		err = check_all(f, s);
		hg_derive_step(&f->derive, s);
	}
	if (!err)
		err = follow_flow(f, s->insn, rsp);
	return err ? err : f->derive.is_out_of_memory ? &err_nomem : NULL;
}

static struct err *find_entries(struct finder *f)
{
	static const char *const names[] = { "malloc",	"calloc",
					     "realloc", "free",
					     "posix_memalign", "aligned_alloc",
					     "reallocarray", "memalign" };
	uint64_t entry[16];

	for (size_t k = 0; k < sizeof(names) / sizeof(*names); k++) {
		size_t n = dec_symbols_entries(f->symbols, names[k], entry, 16);

		for (size_t i = 0; i < n && i < 16; i++)
			if (map_put(&f->entries, entry[i], 1))
				return &err_nomem;
	}
	return NULL;
}

static struct err *walk(struct finder *f, const struct capture *c)
{
	struct dec_machine *m = NULL;
	struct dec_where w;
	struct err *err = find_entries(f);

	if (!err)
		err = hg_view_create(f->graph, 0, &f->view);
	if (err)
		return err;
	look_ahead(f);
	hg_derive_init(&f->derive, f->graph, f->view);
	frames_init(&f->frames, f->symbols, capture_info(c)->exe);
	err = dec_machine_create(c, NULL, &m);
	if (!err)
		err = dec_machine_trace(m, UINT64_MAX >> 1, on_step, f, &w);
	dec_machine_destroy(m);
	frames_deinit(&f->frames);
	hg_derive_deinit(&f->derive);
	return err;
}

struct err *hg_access_find(const struct capture *c, struct dec_symbols *symbols,
			   const struct hg_graph *g, const struct hg_access_options *o,
			   hg_accesses *ret)
{
	struct finder f = { .graph = g, .symbols = symbols, .o = o, .found = ret };
	struct err *err = walk(&f, c);

	vec_deinit(&f.threads);
	hg_view_destroy(f.view);
	map_deinit(&f.entries);
	map_deinit(&f.seen);
	return err;
}
