// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The replays: one that learns, one that looks; that again, as long as it finds races that are none because what
 * is accessed is an atomic object, by DWARF or by the text of the line; and one for the calls under
 * way at the two accesses, and for memory that was given out again between them.
 */
#include "faultlocate/race/race.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "decode/history/heap.h"
#include "decode/machine/machine.h"
#include "decode/symbols/variable.h"
#include "faultlocate/race/race_int.h"

#define ENTRIES 16
#define SLOTS 256    // of one function: a module has one or two
#define ROUNDS_MAX 4 // of looking again
#define LINES 5	     // a directive's atomic statement may stand in braces
#define LINE_BYTES 1024
#define WORD "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

/* ---- modules -------------------------------------------------------------------------------------- */

static struct err *watch(struct race_walk *w, uint64_t rip)
{
	if (map_get(&w->watched, rip))
		return NULL;
	if (map_put(&w->watched, rip, 1))
		return &err_nomem;
	return dec_machine_log_regs_at(w->machine, rip, true);
}

static struct err *find_calls(struct race_walk *w)
{
	uint64_t entry[ENTRIES];
	struct err *err = NULL;

	for (size_t i = 0; fl_race_calls[i].name && !err; i++) {
		size_t n = dec_symbols_entries(w->symbols, fl_race_calls[i].name, entry,
					       ENTRIES);

		for (size_t k = 0; k < n && k < ENTRIES && !err; k++) {
			if (map_put(&w->entries, entry[k], i + 1))
				return &err_nomem;
			err = watch(w, entry[k]);
			if (!err && !w->is_learning &&
			    !strcmp(fl_race_calls[i].name, "GOMP_task"))
				err = dec_machine_break(w->machine, entry[k], true);
		}
	}
	return err;
}

static struct err *find_strings(struct race_walk *w)
{
	uint64_t at[SLOTS];

	map_deinit(
		&w->slots); // a module may have gone, and another lie where its slots were
	for (size_t i = 0; fl_race_strings[i].name; i++) {
		const char *name = fl_race_strings[i].name;
		uint64_t value = fl_race_strings[i].is_exact ? RACE_EXACT : RACE_WRITES;
		size_t n = dec_symbols_resolvers(w->symbols, name, at, ENTRIES);

		// The linker has some of its own; those of the C library are chosen by the CPU.
		if (n && !w->library)
			w->library = dec_symbols_module(w->symbols, at[0]);
		n = dec_symbols_entries(w->symbols, name, at, ENTRIES);
		for (size_t k = 0; k < n && k < ENTRIES; k++)
			if (!dec_frames_is_own(&w->frames, at[k]) &&
			    map_put(&w->strings, at[k], value))
				return &err_nomem;
		n = dec_symbols_slots(w->symbols, name, at, SLOTS);
		for (size_t k = 0; k < n && k < SLOTS; k++)
			if (map_put(&w->slots, at[k], value))
				return &err_nomem;
	}
	return NULL;
}

static void find_linker(struct race_walk *w)
{
	uint64_t at;

	if (!w->linker && dec_symbols_entries(w->symbols, "__tls_get_addr", &at, 1))
		w->linker = dec_symbols_module(w->symbols, at);
}

static struct err *find_functions(struct race_walk *w)
{
	struct err *err;

	dec_frames_refresh(&w->frames);
	// Without lines atomic accesses look like others: such code is nobody's.
	w->frames.exe_has_lines = true;
	find_linker(w);
	err = find_calls(w);
	return err ? err : find_strings(w);
}

static struct err *mapped(void *ctx, const struct dec_where *where)
{
	struct race_walk *w = ctx;
	struct err *err = dec_symbols_add(w->symbols, where->map.file, where->map.addr,
					  where->map.size, where->map.file_offset);

	return err ? err : find_functions(w);
}

static void progress(void *ctx, const struct dec_where *where)
{
	struct race_walk *w = ctx;

	if (w->o->with_progress && clock_now_s() - w->start > 2)
		fprintf(stderr,
			TEXT_AGAIN
			"faultline: looked for races in %lu million instructions",
			where->position / 1000000);
}

/* ---- one replay ------------------------------------------------------------------------------------ */

/* Forget the replay, not what was learnt. */
static void walk_reset(struct race_walk *w)
{
	struct map *maps[] = { &w->entries,   &w->slots,	&w->strings,
			       &w->watched,   &w->by_tid,	&w->by_base,
			       &w->callbacks, &w->once,		&w->rounds,
			       &w->blocks,    &w->statement_of, &w->lock_set_of,
			       &w->seen,      &w->unchanged };

	for (size_t i = 0; i < sizeof(maps) / sizeof(*maps); i++)
		map_deinit(maps[i]);
	for (size_t i = 0; i < w->threads.size; i++)
		fl_race_thread_deinit(&w->threads.data[i]);
	vec_deinit(&w->threads);
	vec_deinit(&w->stacks);
	for (size_t i = 0; i < w->owners.size; i++)
		vec_deinit(&w->owners.data[i]);
	vec_deinit(&w->owners);
	vec_deinit(&w->depends);
	vec_deinit(&w->parents);
	w->n_tasks = 0;
	w->n_switches = 0;
	w->has_made = false;
	w->has_few_parents = true;
	w->has_unknown = false;
	vec_deinit(&w->statements);
	vec_deinit(&w->lock_sets);
	vec_deinit(&w->found);
	fl_clocks_deinit(&w->clocks);
	w->clocks = (struct clocks){};
	fl_shadow_deinit(&w->shadow);
	w->shadow.generation = 1; // that no operand has
	w->library = w->linker = NULL;
}

static struct err *on_log(void *ctx, const uint8_t *log, size_t bytes)
{
	struct log_sink sink = fl_race_sink;
	struct race_walk *w = ctx;

	sink.ctx = w;
	return dec_log_reader_feed(&w->reader, &sink, log, bytes);
}

static struct err *start(struct race_walk *w)
{
	struct dec_thread first;
	struct err *err = dec_machine_thread(w->machine, 0, &first);

	if (!err)
		err = fl_race_switch(w, first.tid, false);
	if (!err)
		err = find_functions(w);
	for (size_t i = 0; i < w->places.capacity && !err; i++)
		if (w->places.slots[i].key != MAP_EMPTY_KEY)
			err = watch(w, w->places.slots[i].key);
	for (size_t i = 0; i < w->stores.capacity && !err; i++)
		if (w->stores.slots[i].key != MAP_EMPTY_KEY)
			err = dec_machine_break(w->machine, w->stores.slots[i].key, true);
	return err ? err : dec_machine_log(w->machine, DEC_LOG_ADDRESSES, on_log, w);
}

static struct err *replay(struct race_walk *w, const struct capture *c, bool is_learning)
{
	const struct dec_machine_options mo = {
		.output_fd = -1, .mapped = mapped, .progress = progress, .ctx = w
	};
	struct dec_where where = {};
	struct err *err;

	walk_reset(w);
	w->is_learning = is_learning;
	w->start = clock_now_s();
	dec_symbols_rewind(w->symbols);
	dec_frames_init(&w->frames, w->symbols, capture_info(c)->exe);
	dec_log_reader_init(&w->reader, DEC_LOG_ADDRESSES, 0);
	err = dec_machine_create(c, &mo, &w->machine);
	if (!err)
		err = start(w);
	do {
		if (!err)
			err = dec_machine_run(w->machine, UINT64_MAX >> 1, &where);
		if (!err && where.at == DEC_AT_BREAK)
			err = map_get(&w->stores, where.rip) ?
				      fl_race_note_store(w, &where) :
				      fl_race_note_task(w);
	} while (!err && where.at == DEC_AT_BREAK);
	dec_machine_destroy(w->machine);
	w->machine = NULL;
	dec_log_reader_deinit(&w->reader);
	dec_frames_deinit(&w->frames);
	return err;
}

/* ---- what is no race ------------------------------------------------------------------------------- */

/* Does @p line, its comments left out, call a function that is an atomic operation? */
static bool calls_atomic(const char *line)
{
	static const char *const names[] = { "atomic",	"__atomic", "__c11_atomic",
					     "__sync_", "g_atomic", "uatomic",
					     "qatomic" };

	for (const char *at = line; *at && strncmp(at, "//", 2) && strncmp(at, "/*", 2);
	     at++) {
		size_t n = strspn(at, WORD);

		if (!n)
			continue;
		for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
			if (!strncasecmp(at, names[i], strlen(names[i])) &&
			    at[n + strspn(at + n, " \t")] == '(')
				return true;
		at += n - 1;
	}
	return false;
}

/* Read the line of @p rip, and those before it: @p ret[0] is the line. @return false: it is not at hand. */
static bool read_lines(struct race_walk *w, uint64_t rip, char ret[LINES][LINE_BYTES])
{
	struct dec_place place = {};
	int i = 0;
	FILE *f;

	memset(ret, 0, LINES * sizeof(*ret));
	dec_symbols_place(w->symbols, rip, &place);
	f = place.line ? dec_symbols_source(w->symbols, &place) : NULL;
	while (f && i < place.line) {
		memmove(ret[1], ret[0], (LINES - 1) * sizeof(*ret));
		if (!fgets(ret[0], sizeof(*ret), f))
			break;
		i++;
	}
	if (f)
		fclose(f);
	return i && i == place.line;
}

static bool is_atomic_directive(const char *line)
{
	return strstr(line, "#pragma") && strstr(line, "atomic");
}

/* Does the line of @p rip, or a directive just before it, say that what it does is atomic? */
static bool says_atomic(struct race_walk *w, uint64_t rip)
{
	char line[LINES][LINE_BYTES];

	return read_lines(w, rip, line) &&
	       (calls_atomic(line[0]) || is_atomic_directive(line[1]));
}

enum race_says fl_race_says(struct race_walk *w, uint64_t rip)
{
	char line[LINES][LINE_BYTES];
	const uint64_t *known = map_get(&w->says, rip);
	enum race_says ret = RACE_SAYS_PLAIN;

	if (known)
		return *known;
	if (!read_lines(w, rip, line))
		ret = RACE_SAYS_NOTHING;
	else if (calls_atomic(line[0]))
		ret = RACE_SAYS_ATOMIC;
	else if (strstr(line[0], "#pragma"))
		ret = RACE_SAYS_DIRECTIVE;
	for (int i = 1; i < LINES && ret == RACE_SAYS_PLAIN; i++)
		if (is_atomic_directive(line[i]))
			ret = RACE_SAYS_DIRECTIVE;
	map_put(&w->says, rip, ret); // what cannot be kept is asked again
	return ret;
}

/* Is the object of @p x one that is accessed atomically? Then whoever is at that instruction does so. */
static bool is_atomic(struct race_walk *w, const struct fl_race_access *x)
{
	struct dec_global g;

	return (dec_symbols_global(w->symbols, x->addr, &g) && g.is_atomic) ||
	       says_atomic(w, x->rip);
}

static struct err *learn_from(struct race_walk *w, bool *has_learnt)
{
	*has_learnt = false;
	for (size_t i = 0; i < w->found.size; i++) {
		const struct fl_race *r = &w->found.data[i];
		const struct fl_race_access *side[] = { &r->earlier, &r->later };

		for (int k = 0; k < 2; k++) {
			if (fl_race_may_be_vptr(w, side[k])) {
				if (map_put(&w->stores, side[k]->rip, 0))
					return &err_nomem;
				*has_learnt = true;
			}
			if (map_get(&w->instructions, side[k]->rip) ||
			    !is_atomic(w, side[k]))
				continue;
			if (map_put(&w->instructions, side[k]->rip, 1))
				return &err_nomem;
			*has_learnt = true;
		}
	}
	return NULL;
}

/* ---- what is one race -------------------------------------------------------------------------- */

/* The same for all instructions of a line of a function. */
static uint64_t line_of(struct dec_symbols *symbols, uint64_t rip)
{
	struct dec_place place = {};

	dec_symbols_place(symbols, rip, &place);
	return place.line ? (uintptr_t)place.file * 31 + (uintptr_t)place.outer * 7 +
				    place.line :
			    rip;
}

/* Of two lines that race the first pair of instructions is told. */
static void join_lines(struct dec_symbols *symbols, fl_races *races)
{
	size_t n = 0;

	for (size_t i = 0; i < races->size; i++) {
		const struct fl_race *r = &races->data[i];
		uint64_t a = line_of(symbols, r->later.rip);
		uint64_t b = line_of(symbols, r->earlier.rip);
		struct fl_race *known = NULL;

		for (size_t k = 0; k < n && !known; k++) {
			uint64_t c = line_of(symbols, races->data[k].later.rip);
			uint64_t d = line_of(symbols, races->data[k].earlier.rip);

			if ((a == c && b == d) || (a == d && b == c))
				known = &races->data[k];
		}
		if (!known) {
			races->data[n++] = *r;
			continue;
		}
		known->count += r->count;
		if (r->last_time > known->last_time)
			known->last_time = r->last_time;
	}
	races->size = n;
}

/* ---- the calls under way ----------------------------------------------------------------------------- */

static int compare_times(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void take_calls(struct fl_race_access *x, uint64_t time, const uint64_t *calls,
		       size_t n)
{
	if (x->time != time)
		return;
	for (size_t i = n && *calls == x->rip; i < n && x->n_callers < FL_RACE_CALLERS;
	     i++)
		x->caller[x->n_callers++] = calls[i];
}

static struct err *on_calls(void *ctx, uint64_t time, const uint64_t *calls, size_t n)
{
	fl_races *races = ctx;

	for (size_t i = 0; i < races->size; i++) {
		take_calls(&races->data[i].earlier, time, calls, n);
		take_calls(&races->data[i].later, time, calls, n);
	}
	return NULL;
}

/* What has the bytes that were freed again did not race with who freed them: the allocator was between. */
static struct err *on_alloc(void *ctx, uint64_t time, uint64_t addr, uint64_t size,
			    bool is_zeroed, uint64_t rip, uint64_t pc)
{
	fl_races *races = ctx;
	size_t n = 0;

	(void)is_zeroed;
	(void)rip;
	(void)pc;
	for (size_t i = 0; i < races->size; i++) {
		const struct fl_race *r = &races->data[i];

		if (r->earlier.time < time && time < r->later.time &&
		    r->later.addr - addr < size)
			continue;
		if (n < i)
			races->data[n] = *r;
		n++;
	}
	races->size = n;
	return NULL;
}

static struct err *find_calls_under_way(const struct capture *c,
					struct dec_symbols *symbols, fl_races *races)
{
	const struct dec_heap_events allocs = { .ctx = races, .alloc = on_alloc };
	struct dec_heap_options o = { .calls = on_calls, .calls_ctx = races };
	VEC(uint64_t) times = {};
	struct dec_run run = {};
	struct err *err = NULL;

	for (size_t i = 0; i < races->size && !err; i++) {
		err = vec_add(&times, races->data[i].earlier.time);
		if (!err)
			err = vec_add(&times, races->data[i].later.time);
	}
	if (!err && times.size) {
		size_t n = 1;

		vec_sort(&times, compare_times);
		for (size_t i = 1; i < times.size; i++)
			if (times.data[i] != times.data[n - 1])
				times.data[n++] = times.data[i];
		o.calls_at = times.data;
		o.n_calls_at = n;
		err = dec_heap_trace(c, symbols, &o, &allocs, &run);
	}
	dec_run_deinit(&run);
	vec_deinit(&times);
	return err;
}

/* ---- all of it -------------------------------------------------------------------------------------- */

static struct err *note_thread(void *ctx, const struct cap_event *ev)
{
	bool *has_threads = ctx;

	*has_threads |= ev->kind == CAP_EV_SWITCH;
	return NULL;
}

static struct err *look(struct race_walk *w, const struct capture *c)
{
	struct err *err = replay(w, c, true);
	bool again = true;

	for (int i = 0; i < ROUNDS_MAX && again && !err; i++) {
		err = replay(w, c, false);
		again = false;
		if (!err)
			err = learn_from(w, &again);
	}
	return err;
}

struct err *fl_races_find(const struct capture *c, struct dec_symbols *symbols,
			  const struct fl_race_options *o, fl_races *ret,
			  bool *has_threads)
{
	struct race_walk *w;
	struct err *err = cap_events_readable(c, note_thread, has_threads);

	if (err || !*has_threads)
		return err;
	w = calloc(1, sizeof(*w));
	if (!w)
		return &err_nomem;
	w->o = o;
	w->symbols = symbols;
	err = look(w, c);
	join_lines(symbols, &w->found);
	if (!err)
		err = find_calls_under_way(c, symbols, &w->found);
	if (!err) {
		*ret = w->found;
		w->found = (fl_races){};
	}
	walk_reset(w);
	map_deinit(&w->places);
	map_deinit(&w->atomics);
	map_deinit(&w->instructions);
	map_deinit(&w->says);
	map_deinit(&w->stores);
	map_deinit(&w->given);
	free(w);
	return err;
}
