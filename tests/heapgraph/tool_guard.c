// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * `tool_guard CAPTURE`: looks at the accesses of a run twice, by the guard (decode/translator/guard.h), which
 * goes on where it is in doubt, and step by step from the log (hg_access_step()). What the steps find the guard
 * must be in doubt of; of what else it is, that is only slow.
 *
 * Prints `name count` lines; the addresses of what the guard let pass to stderr, with exit status 1.
 */
#include <stdio.h>
#include <string.h>

#include "decode/history/allocator.h"
#include "decode/machine/machine.h"
#include "heapgraph/hg_access_int.h"
#include "heapgraph/hg_strings.h"

struct look {
	const struct capture *capture;
	struct dec_symbols *symbols;
	struct dec_machine *machine;
	struct hg_finder *finder;
	uint64_t rip;
	struct map found;   ///< by the steps
	struct map doubted; ///< by the guard
};

static void check(struct err *err)
{
	if (!err)
		return;
	fprintf(stderr, "tool_guard: %s\n", err->message);
	exit(2);
}

static void put(struct map *m, uint64_t rip)
{
	if (map_put(m, rip, 1))
		check(&err_nomem);
}

/* ---- the guard ------------------------------------------------------------------------------------ */

/* As fl_guard.c has it. */
static void tell(struct look *l)
{
	hg_hooks hooks = {};
	uint64_t entry[16];

	for (const struct dec_allocator_function *f = dec_allocator; f->name; f++) {
		size_t n = dec_symbols_entries(l->symbols, f->name, entry, 16);

		for (size_t i = 0; i < n && i < 16; i++)
			if (vec_add(&hooks,
				    (struct dec_hook){
					    .rip = entry[i],
					    .kind = DEC_HOOK_ALLOCATOR,
					    .which = f->fn == DEC_ALLOCATOR_OTHER ?
							     DEC_HOOK_OTHER :
							     f->fn }))
				check(&err_nomem);
	}
	check(hg_strings_hooks(l->symbols, &hooks));
	check(dec_machine_guard_hooks(l->machine, hooks.data, hooks.size));
	vec_deinit(&hooks);
}

static struct err *on_mapped(void *ctx, const struct dec_where *w)
{
	struct look *l = ctx;
	const struct dec_hook code = { .kind = DEC_HOOK_FOREIGN,
				       .rip = w->map.addr,
				       .end = w->map.addr + w->map.size };

	check(dec_symbols_add(l->symbols, w->map.file, w->map.addr, w->map.size,
			      w->map.file_offset));
	check(dec_machine_guard_hooks(l->machine, &code, 1));
	tell(l);
	return NULL;
}

static void watch(struct look *l)
{
	struct dec_machine_options o = { .output_fd = -1, .mapped = on_mapped, .ctx = l };
	struct dec_where w = {};
	uint64_t rip[256];
	size_t n = 1;

	check(dec_symbols_create(l->capture, &l->symbols));
	check(dec_machine_create(l->capture, &o, &l->machine));
	check(dec_machine_guard(l->machine, true));
	tell(l);
	check(dec_machine_run(l->machine, UINT64_MAX >> 1, &w));
	if (!w.is_guarded || w.doubt || w.at != DEC_AT_END) {
		fprintf(stderr, "tool_guard: it stopped at %#lx, doubt %d\n", w.rip,
			w.doubt);
		exit(2);
	}
	for (size_t at = 0; n; at += n) {
		check(dec_machine_guard_accesses(l->machine, at, rip, 256, &n));
		for (size_t i = 0; i < n; i++)
			put(&l->doubted, rip[i]);
	}
	dec_machine_destroy(l->machine);
	dec_symbols_destroy(l->symbols);
}

/* ---- the log --------------------------------------------------------------------------------------- */

static struct err *on_step(void *ctx, struct frames *frames, const struct dec_step *s)
{
	struct look *l = ctx;

	if (s->insn)
		l->rip = s->insn->rip;
	return hg_access_step(l->finder, frames, s);
}

static int judge_access(void *ctx, const struct hg_judged *x)
{
	struct look *l = ctx;

	(void)x;
	put(&l->found, l->rip);
	return -1;
}

static const struct dec_struct *no_layout(void *ctx, const struct hg_node *n)
{
	(void)ctx, (void)n;
	return NULL;
}

static void read_log(struct look *l)
{
	const struct hg_judge judge = { .ctx = l, .access = judge_access };
	struct dec_heap_options o = { .step = on_step,
				      .step_ctx = l,
				      .skips_inert = true };
	struct hg_recorder *recorder;
	struct dec_heap_events ev;
	struct dec_run run = {};
	hg_accesses found = {};

	check(dec_symbols_create(l->capture, &l->symbols));
	check(hg_recorder_create(false, &recorder));
	hg_recorder_events(recorder, &ev);
	check(hg_access_create(recorder, no_layout, NULL, &judge, &found, &l->finder));
	check(dec_heap_trace(l->capture, l->symbols, &o, &ev, &run));
	printf("derivations %zu\n", l->finder->derive.steps.size);
	hg_access_destroy(l->finder);
	hg_recorder_destroy(recorder);
	dec_symbols_destroy(l->symbols);
	dec_run_deinit(&run);
	vec_deinit(&found);
}

int main(int argc, char **argv)
{
	struct capture *c = NULL;
	struct look l = {};
	size_t n_missed = 0;

	if (argc != 2) {
		fputs("usage: tool_guard CAPTURE\n", stderr);
		return 2;
	}
	check(capture_open(argv[1], &c));
	l.capture = c;
	watch(&l);
	read_log(&l);
	for (size_t i = 0; i < l.found.capacity; i++) {
		uint64_t rip = l.found.slots[i].key;

		if (rip == MAP_EMPTY_KEY || map_get(&l.doubted, rip))
			continue;
		n_missed++;
		fprintf(stderr, "%#lx\n", rip);
	}
	printf("found %zu\ndoubted %zu\nmissed %zu\n", l.found.size, l.doubted.size,
	       n_missed);
	map_deinit(&l.found);
	map_deinit(&l.doubted);
	capture_close(c);
	return n_missed != 0;
}
