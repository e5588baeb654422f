// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * `tool_live CAPTURE`: looks twice at what has no value, while the program is replayed
 * (decode/translator/blank.h), going on where it is in doubt, alone and along with pointers, and in the log of a
 * replay (fl_bytes_find()). Of each instruction that is told of there both must be in doubt; of what else they are, that
 * is only slow.
 *
 * Prints `name count` lines; what was let pass to stderr, with exit status 1; 3: there is no room for the shadow.
 */
#include <stdio.h>
#include <string.h>

#include "decode/history/allocator.h"
#include "faultlocate/bytes/bytes.h"
#include "faultlocate/bytes/live.h"
#include "heapgraph/hg_strings.h"

struct look {
	const struct capture *capture;
	struct dec_symbols *symbols;
	struct dec_machine *machine;
	struct map told;       ///< instructions
	struct map doubted[2]; ///< .. alone, and along with pointers
	struct map
		entries; ///< functions of strings: in which instruction the doubt is depends on the processor
};

static void check(struct err *err)
{
	if (!err)
		return;
	fprintf(stderr, "tool_live: %s\n", err->message);
	// Where no distance fits the shadow, the next recording lies elsewhere.
	exit(err->code == ERR_UNSUPPORTED ? 3 : 2);
}

static void put(struct map *m, uint64_t rip)
{
	if (map_put(m, rip, 1))
		check(&err_nomem);
}

/* As fl_guard.c has it. */
static void tell(struct look *l)
{
	hg_hooks hooks = {};
	uint64_t entry[16];

	for (const struct dec_allocator_function *f = dec_allocator; f->name; f++) {
		size_t n = dec_symbols_entries(l->symbols, f->name, entry, 16);
		uint8_t which = f->fn == DEC_ALLOCATOR_OTHER ? DEC_HOOK_OTHER : f->fn;

		for (size_t i = 0; i < n && i < 16; i++)
			check(vec_add(&hooks,
				      (struct dec_hook){ .rip = entry[i],
							 .kind = DEC_HOOK_ALLOCATOR,
							 .which = which,
							 .times = f->times }));
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
	if (!dec_symbols_has_debug(l->symbols, w->map.addr))
		check(dec_machine_guard_hooks(l->machine, &code, 1));
	tell(l);
	return NULL;
}

static void run(struct look *l, uint32_t how, struct dec_where *ret)
{
	struct dec_machine_options o = { .output_fd = -1, .mapped = on_mapped, .ctx = l };

	check(dec_symbols_create(l->capture, &l->symbols));
	check(dec_machine_create(l->capture, &o, &l->machine));
	check(dec_machine_guard(l->machine, DEC_GUARD_PATIENT | DEC_GUARD_VALUES | how));
	tell(l);
	check(dec_machine_run(l->machine, UINT64_MAX >> 1, ret));
}

static void watch(struct look *l, uint32_t how, struct map *doubted)
{
	struct dec_where w = {};
	uint64_t rip[256];
	bool is_beyond;
	size_t n = 1;

	run(l, how, &w);
	for (int i = 0; i < 4 && (w.doubt == DEC_DOUBT_ROOM || !w.is_guarded); i++) {
		dec_machine_destroy(l->machine);
		dec_symbols_destroy(l->symbols);
		run(l, how, &w);
	}
	// Pointers are not followed through a signal: that comes last.
	is_beyond = !(how & DEC_GUARD_NO_POINTERS) && w.doubt == DEC_DOUBT_BEYOND;
	if (!w.is_guarded || (!is_beyond && (w.doubt || w.at != DEC_AT_END))) {
		fprintf(stderr, "tool_live: it stopped at %#lx, doubt %d\n", w.rip,
			w.doubt);
		exit(w.doubt == DEC_DOUBT_ROOM ? 3 : 2);
	}
	for (size_t at = 0; n; at += n) {
		check(dec_machine_guard_accesses(l->machine, at, rip, 256, &n));
		for (size_t i = 0; i < n; i++)
			put(doubted, rip[i]);
	}
	dec_machine_destroy(l->machine);
	dec_symbols_destroy(l->symbols);
}

static struct err *on_use(void *ctx, const struct fl_bytes_place *p,
			  enum fl_bytes_use use, uint64_t addr)
{
	struct look *l = ctx;

	(void)addr;
	put(use == FL_USE_TEXT ? &l->entries : &l->told, p->pc);
	return NULL;
}

static void on_again(void *ctx, uint64_t pc)
{
	struct look *l = ctx;

	(void)pc;
	map_deinit(&l->told);
	map_deinit(&l->entries);
}

static void read_log(struct look *l)
{
	const struct fl_bytes_events events = { .ctx = l,
						.use = on_use,
						.again = on_again };

	check(dec_symbols_create(l->capture, &l->symbols));
	check(fl_bytes_find(l->capture, l->symbols, &events, false));
	dec_symbols_destroy(l->symbols);
}

/* What was told of and @p doubted was not. */
static size_t missed(const struct look *l, const struct map *doubted)
{
	size_t n = 0;

	for (size_t i = 0; i < l->told.capacity; i++) {
		uint64_t rip = l->told.slots[i].key;

		if (rip == MAP_EMPTY_KEY || map_get(doubted, rip))
			continue;
		fprintf(stderr, "let pass: %#lx\n", rip);
		n++;
	}
	// Of each call of a function of strings one instruction is, at least.
	if (l->entries.size > doubted->size) {
		fprintf(stderr, "let pass: some of %zu functions\n", l->entries.size);
		n++;
	}
	return n;
}

int main(int argc, char **argv)
{
	struct capture *c = NULL;
	struct look l = {};
	size_t n_missed = 0;

	if (argc != 2 || !fl_live_is_there()) {
		fputs("usage: tool_live CAPTURE\n", stderr);
		return 2;
	}
	check(capture_open(argv[1], &c));
	l.capture = c;
	watch(&l, DEC_GUARD_NO_POINTERS, &l.doubted[0]);
	watch(&l, 0, &l.doubted[1]);
	read_log(&l);
	for (int k = 0; k < 2; k++)
		n_missed += missed(&l, &l.doubted[k]);
	printf("told %zu\nfunctions %zu\ndoubts %zu\nalong with pointers %zu\n",
	       l.told.size, l.entries.size, l.doubted[0].size, l.doubted[1].size);
	map_deinit(&l.told);
	map_deinit(&l.entries);
	for (int k = 0; k < 2; k++)
		map_deinit(&l.doubted[k]);
	capture_close(c);
	return n_missed != 0;
}
