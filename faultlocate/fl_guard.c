// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The quick way of a check, and of a look at the accesses: most runs have no errors, and that can be seen
 * while they are replayed, without a log (decode/translator/guard.h). What is in doubt there is looked at as
 * ever, from the start. That nothing without a value is used is seen in the same way (decode/translator/blank.h), in the
 * same replay; which of the two is in doubt ends it, and the other is looked at alone then. Where nothing is asked along
 * the run, this is a plain replay.
 */
#define LOG_ROOM "faultlocate"

#include <string.h>

#include "base/log.h"
#include "decode/history/allocator.h"
#include "faultlocate/bytes/live.h"
#include "faultlocate/fl_stages.h"
#include "heapgraph/hg_fields.h"

#define SLOTS 256      ///< a module has one or two
#define VALUES_TRIES 3 // where the machine lies is chance
#define BLOCKS 4096    ///< of those that are left at the end, listed at once

struct guard {
	const struct fl_options *o;
	struct fl_analysis *a;
	struct dec_machine *m;
	hg_hooks hooks;
	bool has_allocator, has_debug;
	bool has_strangers; ///< functions of an allocator that nobody knows: what they did the steps have to tell
	bool is_plain;	 ///< nothing is asked of this replay: there is no guard in it,
	bool has_values; ///< .. but one that follows what has no value
	bool has_no_room; ///< where the machine lay, which is chance, there was none for the last one
	bool is_sound;			 ///< the last one came to the end without a doubt
	size_t n_told;			 ///< modules whose structs the guard knows of
	size_t n_lined;			 ///< .. whose code,
	bool has_asked;			 ///< .. as soon as it has asked
	uint8_t n_layouts;		 ///< of what it asks for at present: so many,
	const struct dec_struct *layout; ///< .. the last one
	double start_s;
};

/* ---- what it is to know -------------------------------------------------------------------------- */

static uint8_t which_of(const struct dec_allocator_function *f)
{
	if (!strcmp(f->name, "malloc_usable_size"))
		return DEC_HOOK_USABLE;
	return f->fn == DEC_ALLOCATOR_OTHER ? DEC_HOOK_OTHER : f->fn;
}

static struct err *add_allocator(struct guard *g)
{
	struct err *err = NULL;
	uint64_t entry[16];

	for (const struct dec_allocator_function *f = dec_allocator; f->name; f++) {
		size_t n = dec_symbols_entries(g->a->symbols, f->name, entry, 16);

		for (size_t i = 0; i < n && i < 16 && !err; i++)
			err = vec_add(&g->hooks,
				      (struct dec_hook){ .rip = entry[i],
							 .kind = DEC_HOOK_ALLOCATOR,
							 .which = which_of(f),
							 .times = f->times });
		g->has_allocator |= n && f->fn != DEC_ALLOCATOR_OTHER;
	}
	return err;
}

static struct err *add_stranger(void *ctx, uint64_t entry)
{
	struct guard *g = ctx;

	g->has_strangers = true;
	return vec_add(&g->hooks, (struct dec_hook){ .rip = entry,
						     .kind = DEC_HOOK_ALLOCATOR,
						     .which = DEC_HOOK_STRANGER });
}

/* Calls of function @p name, of hg_points_copies, are known by the slots they go through, if it has a resolver. */
static struct err *add_slots(struct guard *g, const char *name)
{
	struct err *err = NULL;
	uint64_t slot[SLOTS];
	size_t n = dec_symbols_slots(g->a->symbols, name, slot, SLOTS);

	if (n > SLOTS)
		return err_new(ERR_UNSUPPORTED,
			       "more modules call %s than the guard knows", name);
	for (size_t i = 0; i < n && !err; i++)
		err = vec_add(&g->hooks,
			      (struct dec_hook){ .rip = slot[i], .kind = DEC_HOOK_COPY });
	return err;
}

static struct err *add_copies(struct guard *g)
{
	struct err *err = NULL;

	for (size_t i = 0; hg_points_copies[i] && !err; i++)
		err = add_slots(g, hg_points_copies[i]);
	return err;
}

static struct err *add_size(void *ctx, uint64_t bytes, const char *name)
{
	struct guard *g = ctx;

	(void)name;
	return vec_add(&g->hooks,
		       (struct dec_hook){ .kind = DEC_HOOK_PARTS, .end = bytes });
}

static struct err *add_own(void *ctx, uint64_t start, uint64_t end)
{
	struct guard *g = ctx;

	return vec_add(&g->hooks, (struct dec_hook){ .kind = DEC_HOOK_OWN,
						     .rip = start,
						     .end = end });
}

/* Of a block that is a struct with arrays and structs in it, what is inside may be wrong, too: of those of such a size
 * the guard asks what they are. Without debug information of the user's own no block is known to be
 * a struct. */
static struct err *add_parts(struct guard *g)
{
	struct err *err = g->has_debug ? dec_symbols_composites(g->a->symbols, &g->n_told,
								0, add_size, g) :
					 NULL;

	return err || !g->has_asked ?
		       err :
		       dec_symbols_lined(g->a->symbols, &g->n_lined, add_own, g);
}

/* Something that it is asked for may be struct @p name, of @p bytes. */
static struct err *add_layout(void *ctx, uint64_t bytes, const char *name)
{
	struct guard *g = ctx;
	const struct dec_struct *t = NULL;
	struct err *err;

	if (!name)
		return NULL; // no allocation is known to be one
	if (g->n_layouts == UINT8_MAX)
		return err_new(ERR_UNSUPPORTED, "too many structs have one size");
	err = dec_symbols_struct(g->a->symbols, name, &t);
	if (err && err->code == ERR_NOT_FOUND) {
		err_destroy(err);
		return NULL;
	}
	if (err || t->size != bytes)
		return err;
	g->layout = t;
	return hg_fields_hooks(t, g->n_layouts++, &g->hooks);
}

/* Does the call that returns to @p site say what it gets @p bytes for, or has it called a function that does, and may have
 * gone on as the allocator? @p name: which struct; NULL: none that is sure to be. */
static bool is_said(struct dec_symbols *s, uint64_t site, uint64_t bytes,
		    const char **name)
{
	struct dec_place place = {};
	bool is_sure = false;

	*name = NULL;
	if (dec_symbols_has_debug(s, site - 1))
		dec_symbols_place(s, site - 1, &place);
	if (!place.line)
		return false;
	*name = dec_symbols_returned_type(s, site, bytes);
	if (*name)
		return true;
	*name = dec_symbols_alloc_type(s, site, bytes, &is_sure);
	if (!*name || is_sure)
		return is_sure;
	*name = NULL;
	return true;
}

/* What is in blocks of @p bytes that calls returning to @p site get: as fl_types_layout() tells it of the call that
 * heap_calls.c names. That is this one if it says so; else its caller is asked. Where that is not to be found they may be
 * any struct. */
static struct err *add_class(struct guard *g, uint64_t site, uint64_t bytes)
{
	struct dec_hook h = { .kind = DEC_HOOK_CALLER, .rip = site, .end = bytes };
	struct dec_caller caller = { .is_none = true };
	struct err *err = NULL;
	const char *name;
	size_t from = 0;

	g->n_layouts = 0;
	if (is_said(g->a->symbols, site, bytes, &name))
		err = name ? add_layout(g, bytes, name) : NULL;
	else if (!dec_symbols_caller(g->a->symbols, site, &caller))
		err = dec_symbols_composites(g->a->symbols, &from, bytes, add_layout, g);
	if (caller.is_none) {
		h.kind = DEC_HOOK_CLASS;
		h.which = g->n_layouts;
		h.start = (uintptr_t)g->layout;
	} else {
		h.start = caller.bytes;
		h.limit = caller.reg;
		h.width = caller.rbp_words;
	}
	return err ?: vec_add(&g->hooks, h);
}

/* The guard stopped to ask. @return ERR_UNSUPPORTED, ERR_AMBIGUOUS: that is not known. */
static struct err *answer(struct guard *g, const struct dec_where *w)
{
	struct err *err;

	g->has_asked = true;
	g->hooks.size = 0;
	err = add_parts(g);
	if (!err)
		err = add_class(g, w->asked_site, w->asked_size);
	return err ?: dec_machine_guard_hooks(g->m, g->hooks.data, g->hooks.size);
}

#define ENTRIES 16

/* Is there a function @p name that is not memmove, too, and none that a resolver gives? That is known by where it
 * begins. */
static bool is_own_copy(struct guard *g, const char *name)
{
	struct dec_symbols *s = g->a->symbols;
	uint64_t copy[ENTRIES], move[ENTRIES];
	size_t n_copy = dec_symbols_entries(s, name, copy, ENTRIES);
	size_t n_move = dec_symbols_entries(s, "memmove", move, ENTRIES);

	if (dec_symbols_resolvers(s, name, copy, 0))
		return false;
	for (size_t i = 0; i < n_copy && i < ENTRIES; i++) {
		size_t k = 0;

		while (k < n_move && k < ENTRIES && move[k] != copy[i])
			k++;
		if (k == n_move || k == ENTRIES)
			return true;
	}
	return n_copy > ENTRIES;
}

static bool has_own_copy(struct guard *g)
{
	bool is_own = false;

	for (size_t i = 0; hg_points_copies[i] && !is_own; i++)
		is_own = is_own_copy(g, hg_points_copies[i]);
	return is_own;
}

/* Does the program have what the guard does not follow: functions that rules name? */
static bool is_beyond(struct guard *g)
{
	uint64_t entry;

	return dec_symbols_entries(g->a->symbols, "ts", &entry, 1) || has_own_copy(g);
}

/* .. of values alone. */
static struct err *tell_calls(struct guard *g)
{
	struct err *err = add_allocator(g);

	if (!err)
		err = hg_strings_hooks(g->a->symbols, &g->hooks);
	return err ?: dec_machine_guard_hooks(g->m, g->hooks.data, g->hooks.size);
}

static struct err *tell(struct guard *g)
{
	const char *exe = capture_info(g->a->capture)->exe;
	struct err *err;

	g->hooks.size = 0;
	if (g->is_plain)
		return tell_calls(g);
	if (is_beyond(g))
		return err_new(ERR_UNSUPPORTED, "this program is beyond the guard");
	err = add_allocator(g);
	// What else such have, as operator new, is no other library's.
	if (!err)
		err = dec_allocator_strangers(g->a->symbols, exe, add_stranger, g);
	if (!err)
		err = hg_points_hooks(g->a->symbols, exe, &g->hooks);
	if (!err)
		err = add_copies(g);
	if (!err)
		err = hg_strings_hooks(g->a->symbols, &g->hooks);
	if (!err)
		err = add_parts(g);
	return err ?: dec_machine_guard_hooks(g->m, g->hooks.data, g->hooks.size);
}

static struct err *on_mapped(void *ctx, const struct dec_where *w)
{
	struct guard *g = ctx;

	const struct dec_hook code = { .kind = DEC_HOOK_FOREIGN,
				       .rip = w->map.addr,
				       .end = w->map.addr + w->map.size };
	struct err *err = dec_symbols_add(g->a->symbols, w->map.file, w->map.addr,
					  w->map.size, w->map.file_offset);

	if (g->is_plain && !g->has_values)
		return err;
	// Libraries with lines may be the user's.
	if (!err && dec_symbols_has_debug(g->a->symbols, w->map.addr))
		g->has_debug = true;
	else if (!err)
		err = dec_machine_guard_hooks(g->m, &code, 1);
	return err ?: tell(g);
}

/* ---- the end --------------------------------------------------------------------------------------- */

static const struct dec_struct *no_layout(void *ctx, const struct hg_node *n)
{
	(void)ctx, (void)n;
	return NULL;
}

/* The blocks that are left make a graph. */
static struct err *add_blocks(struct guard *g, struct hg_recorder *r)
{
	struct dec_guarded_block block[BLOCKS];
	struct dec_heap_events events;
	struct err *err = NULL;
	size_t n = BLOCKS;

	hg_recorder_events(r, &events);
	for (size_t at = 0; n == BLOCKS && !err; at += n) {
		err = dec_machine_guard_blocks(g->m, at, block, BLOCKS, &n);
		for (size_t i = 0; i < n && !err; i++)
			err = DEC_HEAP_TELL(&events, alloc, 1, block[i].start,
					    block[i].size, false, 1, 1);
	}
	return err;
}

/* Is something lost? What is told of it is found otherwise: here all of the stack counts as left. */
static struct err *ask_at_end(struct guard *g, const struct dec_where *w,
			      struct hg_recorder *r, bool *ret)
{
	struct fl_check *check = g->a->check;
	const struct hg_judge *judge = fl_check_begin(check, hg_recorder_graph(r), true);
	struct hg_finder *finder = NULL;
	struct frames frames = {};
	struct err *err =
		hg_access_create(r, no_layout, NULL, judge, &g->a->accesses, &finder);
	uint64_t rsp;

	fl_check_finder(check, finder);
	fl_check_main_returned(check);
	dec_frames_init(&frames, g->a->symbols, capture_info(g->a->capture)->exe);
	fl_replay_is_from_start(g->a->capture, &rsp);
	if (!err)
		err = dec_frames_call(&frames, 0, rsp, 0);
	if (!err)
		err = fl_check_end(check, g->m, &frames, w);
	*ret = !err && !fl_check_errors(check) && !g->a->accesses.size;
	hg_access_destroy(finder);
	dec_frames_deinit(&frames);
	fl_check_forget(check);
	return err;
}

static void keep_run(struct guard *g, const struct dec_where *w)
{
	const char *notes = dec_machine_notes(g->m);

	g->a->run = (struct dec_run){ .instructions = w->position,
				      .syscalls = w->syscalls,
				      .has_matched = true,
				      .end = w->end,
				      .end_value = w->end_value,
				      .end_rip = w->rip,
				      .seconds = clock_now_s() - g->start_s,
				      .has_allocator = g->has_allocator };
	if (notes && *notes && asprintf(&g->a->run.notes, "%s\n", notes) < 0)
		g->a->run.notes = NULL;
}

static struct err *conclude(struct guard *g, const struct dec_where *w, bool *ret)
{
	struct fl_analysis *a = g->a;
	_cleanup_(hg_recorder_destroyp) struct hg_recorder *r = NULL;
	struct err *err = hg_recorder_create(false, &r);

	*ret = g->is_plain;
	if (!err)
		err = g->is_plain ? add_allocator(g) : add_blocks(g, r);
	if (!err && !g->is_plain)
		err = ask_at_end(g, w, r, ret);
	// What is lost is told by another replay, which knows by whom it was allocated.
	a->is_at_end = !err && !*ret && !g->has_strangers;
	if (err || !*ret)
		return err;
	keep_run(g, w);
	hg_recorder_finish(r, &a->sides[FL_SIDE_APP].graph,
			   &a->sides[FL_SIDE_CHUNKS].graph);
	a->has_accesses = a->is_without_history = true;
	return NULL;
}

/* ---- the run --------------------------------------------------------------------------------------- */

static struct err *start(struct guard *g)
{
	struct dec_machine_options options = { .output_fd = -1,
					       .mapped = on_mapped,
					       .ctx = g };
	struct err *err = dec_machine_create(g->a->capture, &options, &g->m);

	g->has_debug = dec_symbols_has_debug(g->a->symbols, 0);
	g->n_told = g->n_lined = 0;
	g->has_asked = false;
	if (err || (g->is_plain && !g->has_values))
		return err;
	err = dec_machine_guard(g->m, (g->has_values ? DEC_GUARD_VALUES : 0) |
					      (g->is_plain ? DEC_GUARD_NO_POINTERS : 0));
	g->has_no_room = err && err->code == ERR_UNSUPPORTED;
	if (g->has_no_room)
		log_info("no guard: %s", err->message);
	return err ?: tell(g);
}

/* What malloc_usable_size() gave is the program's, too, and may lead to blocks. */
static struct err *tell_wide_blocks(struct guard *g)
{
	struct dec_guarded_block block[BLOCKS];
	struct err *err = NULL;
	size_t n = BLOCKS;

	if (!g->is_sound || !fl_check_asks_what_is_lost(g->a->check))
		return NULL;
	for (size_t at = 0; n == BLOCKS && !err; at += n) {
		err = dec_machine_guard_blocks(g->m, at, block, BLOCKS, &n);
		for (size_t i = 0; i < n && !err; i++)
			if (block[i].is_wide)
				err = fl_check_wide_block(g->a->check, block[i].start,
							  block[i].size);
	}
	return err;
}

/* @return its end in @p w, and in @p ret whether it came there without a doubt. */
static struct err *go(struct guard *g, struct dec_where *w, bool *ret)
{
	bool is_guarded = !g->is_plain || g->has_values;
	struct err *err = start(g);

	*ret = g->is_sound = false;
	do {
		if (!err && w->doubt == DEC_DOUBT_ASKS)
			err = answer(g, w);
		if (!err)
			err = dec_machine_run(g->m, UINT64_MAX >> 1, w);
	} while (!err && w->doubt == DEC_DOUBT_ASKS);
	if (err)
		return err;
	log_info("the guard%s ran up to %#llx (%d), doubt %d",
		 !g->has_values ? "" :
		 g->is_plain	? " of values" :
				  " of both",
		 (unsigned long long)w->rip, w->at, w->doubt);
	g->has_no_room = w->doubt == DEC_DOUBT_ROOM || w->is_guarded != is_guarded;
	if (w->doubt == DEC_DOUBT_VALUE && fl_check_is_built_in(g->a->check) &&
	    fl_check_is_of_uses(g->a->check))
		fl_check_values_are_doubted(g->a->check, w->position);
	g->is_sound = !g->has_no_room && !w->doubt && w->at == DEC_AT_END && !w->is_cut;
	// What a signal is about is looked at as ever.
	if (!g->is_plain)
		g->a->is_at_end = g->is_sound && w->end == CAP_END_SIGNAL &&
				  !g->has_strangers;
	*ret = g->is_sound && w->end == CAP_END_EXIT;
	return g->is_plain ? NULL : tell_wide_blocks(g);
}

#define WORDS 4096 ///< listed at once

/* .. and nothing without a value had a part in that: so what words hold that were never written is nobody's. */
static struct err *tell_left_words(struct guard *g)
{
	uint64_t word[WORDS], from = 0;
	struct err *err = NULL;

	if (!g->is_sound || !fl_check_asks_what_is_lost(g->a->check))
		return NULL;
	for (size_t n = WORDS; n == WORDS && !err;) {
		err = dec_machine_guard_left(g->m, from, word, WORDS, &n);
		for (size_t i = 0; i < n && !err; i++) {
			err = fl_check_left_word(g->a->check, word[i]);
			from = word[i] + 8;
		}
	}
	return err;
}

static void start_over(struct guard *g, struct dec_where *w)
{
	dec_machine_destroy(g->m);
	g->m = NULL;
	*w = (struct dec_where){};
	dec_symbols_rewind(g->a->symbols);
}

/* Go, and follow what has no value: nothing else either, if @p is_plain. @return false: it was not to be. */
static bool go_with_values(struct guard *g, struct dec_where *w, bool is_plain, bool *ret)
{
	bool is_done = false, was_plain = g->is_plain;

	g->has_values = g->has_no_room = true;
	g->is_plain = is_plain;
	for (int i = 0; i < VALUES_TRIES && g->has_no_room; i++) {
		struct err *err;

		if (g->m)
			start_over(g, w);
		err = go(g, w, ret);
		if (!err)
			err = tell_left_words(g);
		is_done = !err && !g->has_no_room;
		*ret &= !err;
		err_destroy(err);
	}
	g->has_values = false;
	g->is_plain = was_plain;
	return is_done;
}

/* Is nothing used that has no value? What is wrong with the replay is told by others. */
static void look_at_values(struct guard *g, struct dec_where *w, bool *ret)
{
	go_with_values(g, w, true, ret);
	if (g->is_sound && fl_check_is_of_uses(g->a->check))
		fl_check_values_are_right(g->a->check);
	if (*ret && g->is_plain) // that is all
		return;
	start_over(g, w);
}

/* Both at once. What ended it is not known of the other, which is looked at alone then. @return whether that
 * of pointers is known. */
static bool look_at_both(struct guard *g, struct dec_where *w, bool *ret)
{
	bool is_done = go_with_values(g, w, false, ret);

	if (g->is_sound && fl_check_is_of_uses(g->a->check))
		fl_check_values_are_right(g->a->check);
	if (*ret || (is_done && !w->doubt))
		return true;
	// Values alone would need as much room.
	if (g->has_no_room || (is_done && w->doubt == DEC_DOUBT_VALUE)) {
		start_over(g, w);
		return false;
	}
	is_done &= w->doubt < DEC_DOUBT_VALUE;
	start_over(g, w);
	look_at_values(g, w, ret);
	*ret = false;
	return is_done;
}

static bool can_guard(struct fl_analysis *a)
{
	uint64_t rsp;

	return capture_info(a->capture)->mode != CAP_MODE_FLIGHT &&
	       !capture_info(a->capture)->has_heap &&
	       fl_replay_is_from_start(a->capture, &rsp);
}

static bool is_for_it(const struct fl_options *o, struct fl_analysis *a)
{
	return o->with_accesses && fl_check_is_built_in(a->check) &&
	       (fl_check_is_along(a->check) || fl_check_is_of_bytes(a->check)) &&
	       !o->n_specs && !o->text && !o->n_cpoints && !o->is_heap_only &&
	       !o->with_allocator && !o->without_allocator && can_guard(a);
}

/* What was never written leads to nothing whatever rules ask. */
static void look_at_left_words(struct guard *g)
{
	struct dec_where w = {};
	bool is_right = false;

	if (!g->o->with_accesses || !fl_check_asks_what_is_lost(g->a->check) ||
	    !fl_live_is_there() || !can_guard(g->a))
		return;
	dec_symbols_rewind(g->a->symbols);
	go_with_values(g, &w, true, &is_right);
	start_over(g, &w);
	g->a->is_at_end = false;
	vec_deinit(&g->hooks);
	g->a->phases.access_s += clock_now_s() - g->start_s;
}

/* Is what has no value asked about, or is that which would lead to a block? */
static bool wants_values(const struct fl_check *c)
{
	return fl_live_is_there() &&
	       (fl_check_is_of_uses(c) || fl_check_asks_what_is_lost(c));
}

struct err *fl_guard_ask(const struct fl_options *o, struct fl_analysis *a, bool *ret)
{
	struct guard g = { .o = o, .a = a, .start_s = clock_now_s() };
	struct dec_where w = {};
	struct err *err = NULL;
	bool is_known = false;

	*ret = false;
	if (!is_for_it(o, a)) {
		look_at_left_words(&g);
		return NULL;
	}
	dec_symbols_rewind(a->symbols);
	g.is_plain = !fl_check_is_along(a->check);
	if (wants_values(a->check)) {
		if (g.is_plain)
			look_at_values(&g, &w, ret);
		else
			is_known = look_at_both(&g, &w, ret);
	}
	if (!g.m && !is_known)
		err = go(&g, &w, ret);
	if (!err && *ret)
		err = conclude(&g, &w, ret);
	dec_machine_destroy(g.m);
	vec_deinit(&g.hooks);
	a->phases.access_s += clock_now_s() - g.start_s;
	if (!*ret && err &&
	    (err->code == ERR_UNSUPPORTED || err->code == ERR_AMBIGUOUS)) {
		err_destroy(err); // the slow way tells what is wrong
		return NULL;
	}
	return err;
}
