// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * `tool_glance CAPTURE`: looks at the accesses of a run twice, step by step (hg_access_step())
 * and as fast as it goes (hg_access_glance()), and compares all that the two know at the end:
 * what was found, every derivation in its order, those of each thread's registers, of each
 * word of memory; and the graphs' operations.
 *
 * Prints `name count` lines of what was the same; what differs to stderr, with exit status 1.
 */
#include <stdio.h>
#include <string.h>

#include "faultlocate/fl_types.h"
#include "heapgraph/hg_access_int.h"

struct look {
	struct spec *spec;
	struct dec_symbols *symbols;
	struct hg_recorder *recorder;
	struct hg_finder *finder;
	hg_accesses found;
	struct dec_run run;
	uint64_t n_steps;
};

static int n_wrong;

static void check(struct err *err)
{
	if (!err)
		return;
	fprintf(stderr, "tool_glance: %s\n", err->message);
	exit(2);
}

static void wrong(const char *what, uint64_t at)
{
	if (n_wrong++ < 10)
		fprintf(stderr, "%s %lu differs\n", what, at);
}

static const struct dec_struct *layout_of(void *ctx, const struct hg_node *n)
{
	struct look *l = ctx;

	return fl_types_layout(l->spec, l->symbols, n->alloc_rip, n->size);
}

static struct err *on_step(void *ctx, struct frames *frames, const struct dec_step *s)
{
	struct look *l = ctx;

	l->n_steps++;
	return hg_access_step(l->finder, frames, s);
}

static struct err *on_stretch(void *ctx, struct frames *frames, struct dec_stretch *s,
			      const struct dec_heap_storer *storer)
{
	struct look *l = ctx;

	return hg_access_stretch(l->finder, frames, s, storer);
}

static struct err *on_glance(void *ctx, struct frames *frames, struct dec_glance *g,
			     const struct dec_heap_storer *storer)
{
	struct look *l = ctx;

	return hg_access_glance(l->finder, frames, g, storer);
}

/* Whatever is not plainly right is wrong here. */
static int judge_access(void *ctx, const struct hg_judged *x)
{
	(void)ctx;
	(void)x;
	return 0;
}

static const struct hg_judge judge = { .access = judge_access };

static void look(const struct capture *c, bool is_fast, struct look *l)
{
	struct dec_heap_options o = { .step = on_step,
				      .glance = is_fast ? on_glance : NULL,
				      .stretch = is_fast ? on_stretch : NULL,
				      .glance_bytes = hg_glance_bytes,
				      .step_ctx = l,
				      .skips_inert = true };
	struct dec_heap_events ev;

	check(spec_create(&l->spec));
	check(dec_symbols_create(c, &l->symbols));
	check(hg_recorder_create(false, &l->recorder));
	hg_recorder_events(l->recorder, &ev);
	check(hg_access_create(l->recorder, layout_of, l, &judge, &l->found, &l->finder));
	check(dec_heap_trace(c, l->symbols, &o, &ev, &l->run));
}

static void look_end(struct look *l)
{
	hg_access_destroy(l->finder);
	hg_recorder_destroy(l->recorder);
	dec_symbols_destroy(l->symbols);
	spec_destroy(l->spec);
	dec_run_deinit(&l->run);
	vec_deinit(&l->found);
}

static uint64_t compare_found(const hg_accesses *a, const hg_accesses *b)
{
	if (a->size != b->size)
		wrong("number of accesses found", b->size);
	for (size_t i = 0; i < a->size && i < b->size; i++) {
		const struct hg_access *x = &a->data[i], *y = &b->data[i];

		if (x->kind != y->kind || x->is_write != y->is_write ||
		    x->time != y->time || x->rip != y->rip || x->pc != y->pc ||
		    x->addr != y->addr || x->size != y->size || x->from.v != y->from.v ||
		    x->to.v != y->to.v || x->count != y->count ||
		    x->n_steps != y->n_steps || x->field_length != y->field_length)
			wrong("access", i);
	}
	return a->size;
}

static uint64_t compare_derivations(const struct hg_derive *a, const struct hg_derive *b)
{
	if (a->steps.size != b->steps.size)
		wrong("number of derivations", b->steps.size);
	for (size_t i = 0; i < a->steps.size && i < b->steps.size; i++) {
		const struct hg_derivation *x = &a->steps.data[i], *y = &b->steps.data[i];

		if (x->parent != y->parent || x->node.v != y->node.v ||
		    x->time != y->time || x->rip != y->rip || x->offset != y->offset ||
		    x->is_rough != y->is_rough)
			wrong("derivation", i);
	}
	return a->steps.size;
}

static uint32_t lane(const struct hg_derived_regs *r, int v, int k)
{
	return r->vec_live >> v & 1 ? r->vec[v][k] : 0;
}

static uint64_t compare_registers(const struct hg_derive *a, const struct hg_derive *b)
{
	if (a->threads.size != b->threads.size)
		wrong("number of threads", b->threads.size);
	for (size_t i = 0; i < a->threads.size && i < b->threads.size; i++) {
		const struct hg_derived_regs *x = &a->threads.data[i];
		const struct hg_derived_regs *y = &b->threads.data[i];

		for (int reg = 0; reg < DEC_GPRS; reg++)
			if (x->gpr[reg] != y->gpr[reg])
				wrong("general register", reg);
		for (int v = 0; v < 32; v++)
			for (int k = 0; k < 8; k++)
				if (lane(x, v, k) != lane(y, v, k))
					wrong("vector register", v);
	}
	return a->threads.size;
}

static uint64_t compare_memory(const struct hg_image *a, const struct hg_image *b)
{
	uint64_t n = 0;

	if (a->pages.size != b->pages.size)
		wrong("number of pages", b->pages.size);
	for (size_t i = 0; i < a->slots.capacity; i++) {
		const struct map_slot *s = &a->slots.slots[i];
		const uint8_t *page, *other;

		if (s->key == MAP_EMPTY_KEY)
			continue;
		page = hg_image_page(&a->slots, a->pages.data, s->key);
		other = hg_image_page(&b->slots, b->pages.data, s->key);
		if (!other || memcmp(page, other, HG_PAGE_BYTES))
			wrong("page", s->key);
		n++;
	}
	return n;
}

int main(int argc, char **argv)
{
	struct look slow = {}, fast = {};
	struct capture *c = NULL;

	if (argc != 2) {
		fputs("usage: tool_glance CAPTURE\n", stderr);
		return 2;
	}
	check(capture_open(argv[1], &c));
	look(c, false, &slow);
	look(c, true, &fast);
	if (slow.run.instructions != fast.run.instructions)
		wrong("number of instructions", fast.run.instructions);
	if (hg_graph_ops(slow.finder->graph) != hg_graph_ops(fast.finder->graph))
		wrong("number of operations", hg_graph_ops(fast.finder->graph));
	printf("found %lu\n", compare_found(&slow.found, &fast.found));
	printf("derivations %lu\n",
	       compare_derivations(&slow.finder->derive, &fast.finder->derive));
	printf("threads %lu\n",
	       compare_registers(&slow.finder->derive, &fast.finder->derive));
	printf("pages %lu\n",
	       compare_memory(&slow.finder->derive.memory, &fast.finder->derive.memory));
	printf("operations %lu\n", hg_graph_ops(slow.finder->graph));
	printf("steps %lu\nsteps_left %lu\n", slow.n_steps, fast.n_steps);
	look_end(&slow);
	look_end(&fast);
	capture_close(c);
	return n_wrong != 0;
}
