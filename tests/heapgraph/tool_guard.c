// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * `tool_guard CAPTURE`: looks at the accesses of a run twice, by the guard (decode/translator/guard.h), which
 * goes on where it is in doubt, and step by step from the log (hg_access_step()). What the steps find the guard
 * must be in doubt of, also where it follows what has no value (decode/translator/blank.h) along with pointers; of
 * what else it is, that is only slow.
 *
 * Where the program has lines, blocks of some sizes are structs (layout[]).
 *
 * Prints `name count` lines; the addresses of what the guard let pass to stderr, with exit status 1; 3: there is no room
 * for the guard.
 */
#include <stdio.h>
#include <string.h>

#include "decode/history/allocator.h"
#include "decode/machine/machine.h"
#include "faultlocate/bytes/live.h"
#include "heapgraph/hg_access_int.h"
#include "heapgraph/hg_fields.h"

struct look {
	const struct capture *capture;
	struct dec_symbols *symbols;
	struct dec_machine *machine;
	struct hg_finder *finder;
	bool has_layouts;
	size_t n_fields; ///< of what is found: to other parts of the block
	size_t n_lined;
	struct map found;	///< by the steps
	struct map doubted;	///< by the guard
	struct map with_values; ///< .. or by that of values, where both watch
};

static void check(struct err *err)
{
	if (!err)
		return;
	fprintf(stderr, "tool_guard: %s\n", err->message);
	// Where no distance fits the shadow, the next recording lies elsewhere.
	exit(err->code == ERR_UNSUPPORTED ? 3 : 2);
}

static void put(struct map *m, uint64_t rip)
{
	if (map_put(m, rip, 1))
		check(&err_nomem);
}

/* ---- structs ------------------------------------------------------------------------------------- */

enum { LAYOUTS = 2, FIELDS = 160 };

static struct dec_struct layout[LAYOUTS];

/* Behind the fields of @p t add one, @p name (of element @p k, @p j) of @p size bytes, with @p pad bytes behind it. */
static void add(struct dec_struct *t, const char *name, int k, int j, uint32_t size,
		uint32_t pad)
{
	static struct dec_field fields[LAYOUTS][FIELDS];
	static char names[LAYOUTS][FIELDS][24];
	char *text = names[t - layout][t->n_fields];

	snprintf(text, sizeof(names[0][0]), name, k, j);
	t->fields = fields[t - layout];
	fields[t - layout][t->n_fields++] =
		(struct dec_field){ .name = text, .offset = t->size, .size = size };
	t->size += size + pad;
}

/* One that begins with text, and one that does not. */
static void make_layouts(void)
{
	struct dec_struct *t = &layout[0];

	for (int k = 0; k < 32; k++)
		add(t, "name[%d]", k, 0, 1, 0);
	add(t, "n", 0, 0, 8, 0);
	for (int k = 0; k < 4; k++)
		add(t, "longs[%d]", k, 0, 8, 0);
	add(t, "pos.x", 0, 0, 4, 0);
	add(t, "pos.y", 0, 0, 4, 0);
	for (int k = 0; k < 3; k++) {
		add(t, "item[%d].id", k, 0, 4, 0);
		for (int j = 0; j < 2; j++)
			add(t, "item[%d].v[%d]", k, j, 4, j && k == 2 ? 4 : 0);
	}
	add(t, "next", 0, 0, 8, 0);
	for (int k = 0; k < 16; k++)
		add(t, "rest[%d]", k, 0, 2, 0);
	t = &layout[1];
	add(t, "n", 0, 0, 8, 0);
	for (int k = 0; k < 12; k++)
		add(t, "m[%d][%d]", k / 4, k % 4, 8, 0);
	for (int k = 0; k < 6; k++) {
		for (int j = 0; j < 8; j++)
			add(t, "s[%d].name[%d]", k, j, 1, 0);
		add(t, "s[%d].k", k, 0, 8, 0);
	}
	for (int k = 0; k < 8; k++)
		add(t, "last[%d]", k, 0, 8, 0);
}

static const struct dec_struct *layout_of(void *ctx, const struct hg_node *n)
{
	const struct look *l = ctx;

	for (int i = 0; i < LAYOUTS && l->has_layouts; i++)
		if (layout[i].size == n->size)
			return &layout[i];
	return NULL;
}

static struct err *add_own(void *ctx, uint64_t start, uint64_t end)
{
	return vec_add(
		(hg_hooks *)ctx,
		((struct dec_hook){ .kind = DEC_HOOK_OWN, .rip = start, .end = end }));
}

/* The guard asks what blocks of a size are that were got at a place. */
static void answer(struct look *l, const struct dec_where *w)
{
	hg_hooks hooks = {};
	uint8_t n = 0;

	for (int i = 0; i < LAYOUTS; i++)
		if (layout[i].size == w->asked_size)
			check(hg_fields_hooks(&layout[i], n++, &hooks));
	if (vec_add(&hooks, ((struct dec_hook){ .kind = DEC_HOOK_CLASS,
						.rip = w->asked_site,
						.end = w->asked_size,
						.which = n })))
		check(&err_nomem);
	check(dec_machine_guard_hooks(l->machine, hooks.data, hooks.size));
	vec_deinit(&hooks);
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
							     f->fn,
					    .times = f->times }))
				check(&err_nomem);
	}
	check(hg_strings_hooks(l->symbols, &hooks));
	l->has_layouts = dec_symbols_has_debug(l->symbols, 0);
	for (int i = 0; i < LAYOUTS && l->has_layouts; i++)
		if (vec_add(&hooks, ((struct dec_hook){ .kind = DEC_HOOK_PARTS,
							.end = layout[i].size })))
			check(&err_nomem);
	check(dec_symbols_lined(l->symbols, &l->n_lined, add_own, &hooks));
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
	if (!dec_symbols_has_debug(l->symbols, w->map.addr))
		check(dec_machine_guard_hooks(l->machine, &code, 1));
	tell(l);
	return NULL;
}

static void run(struct look *l, uint32_t how, struct dec_where *w)
{
	struct dec_machine_options o = { .output_fd = -1, .mapped = on_mapped, .ctx = l };

	l->n_lined = 0;
	*w = (struct dec_where){};
	check(dec_symbols_create(l->capture, &l->symbols));
	check(dec_machine_create(l->capture, &o, &l->machine));
	check(dec_machine_guard(l->machine, DEC_GUARD_PATIENT | how));
	tell(l);
	do {
		if (w->doubt == DEC_DOUBT_ASKS)
			answer(l, w);
		check(dec_machine_run(l->machine, UINT64_MAX >> 1, w));
	} while (w->doubt == DEC_DOUBT_ASKS);
}

static void end_run(struct look *l)
{
	dec_machine_destroy(l->machine);
	dec_symbols_destroy(l->symbols);
}

static void watch(struct look *l, uint32_t how, struct map *doubted)
{
	struct dec_where w;
	uint64_t rip[256];
	size_t n = 1;

	run(l, how, &w);
	// Where the machine lies is chance: there may be no room for the shadow, or the program wants it.
	for (int i = 0; i < 4 && (w.doubt == DEC_DOUBT_ROOM || !w.is_guarded); i++) {
		end_run(l);
		run(l, how, &w);
	}
	if (!w.is_guarded || w.doubt || w.at != DEC_AT_END) {
		fprintf(stderr, "tool_guard: it stopped at %#lx, doubt %d\n", w.rip,
			w.doubt);
		exit(w.doubt == DEC_DOUBT_ROOM || !w.is_guarded ? 3 : 2);
	}
	for (size_t at = 0; n; at += n) {
		check(dec_machine_guard_accesses(l->machine, at, rip, 256, &n));
		for (size_t i = 0; i < n; i++)
			put(doubted, rip[i]);
	}
	end_run(l);
}

/* ---- the log --------------------------------------------------------------------------------------- */

static struct err *on_step(void *ctx, struct frames *frames, const struct dec_step *s)
{
	struct look *l = ctx;

	return hg_access_step(l->finder, frames, s);
}

/* Whatever it is. */
static int judge_access(void *ctx, const struct hg_judged *x)
{
	(void)ctx, (void)x;
	return 0;
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
	check(hg_access_create(recorder, layout_of, l, &judge, &found, &l->finder));
	check(dec_heap_trace(l->capture, l->symbols, &o, &ev, &run));
	for (size_t i = 0; i < found.size; i++) {
		put(&l->found, found.data[i].pc);
		l->n_fields += found.data[i].kind == HG_ACCESS_FIELD;
	}
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

	if (argc != 2 || !fl_live_is_there()) {
		fputs("usage: tool_guard CAPTURE\n", stderr);
		return 2;
	}
	make_layouts();
	check(capture_open(argv[1], &c));
	l.capture = c;
	watch(&l, DEC_GUARD_FEW_ROWS, &l.doubted);
	watch(&l, DEC_GUARD_VALUES, &l.with_values);
	read_log(&l);
	for (size_t i = 0; i < l.found.capacity; i++) {
		uint64_t rip = l.found.slots[i].key;

		if (rip == MAP_EMPTY_KEY ||
		    (map_get(&l.doubted, rip) && map_get(&l.with_values, rip)))
			continue;
		n_missed++;
		fprintf(stderr, "%#lx\n", rip);
	}
	printf("found %zu\nfields %zu\ndoubted %zu\nwith values %zu\nmissed %zu\n",
	       l.found.size, l.n_fields, l.doubted.size, l.with_values.size, n_missed);
	map_deinit(&l.found);
	map_deinit(&l.doubted);
	map_deinit(&l.with_values);
	capture_close(c);
	return n_missed != 0;
}
