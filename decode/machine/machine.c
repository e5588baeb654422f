// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#define LOG_ROOM "decode"

#include <string.h>

#include "decode/machine/joint.h"
#include "decode/machine/shared.h"
#include "decode/machine/wire.h"

// A collision of addresses is a matter of luck: a few fresh processes settle it.
#define MACHINE_TRIES 8

// Checkpoints that are kept whatever memory they hold: with fewer, going back is a replay.
#define MACHINE_KEPT 4

// Instructions between two questions whether to stop: a tenth of a second, logging.
#define MACHINE_PIECE (UINT64_C(1) << 25)

// Spans of memory whose writes are heeded.
#define MACHINE_HEEDED 64

struct machine_checkpoint {
	uint64_t position;
	uint32_t slot;
	uint64_t resident; ///< bytes that it has, at most
	uint64_t
		bytes; ///< of these, what it alone may hold: what went on from it has changed as many
};

struct machine_break {
	uint64_t rip;
	struct dec_agent_conditions only_if; ///< ours; none: always
};

/** dec_machine_log_looks_at() */
struct machine_look {
	uint64_t rip;
	uint8_t stops;
};

struct dec_machine {
	struct dec_machine_options options;
	struct dec_wire *wire;
	VEC(struct machine_checkpoint) checkpoints; ///< ascending
	uint64_t
		guest_bytes; ///< the program's resident size at the last checkpoint; 0: none yet
	uint64_t afforded; ///< bytes that checkpoints may hold in any case
	uint32_t origin; ///< the active process went on from the checkpoint in this slot
	enum dec_log_mode mode;
	VEC(struct machine_break) breaks;
	VEC(uint64_t) watches, releases;
	VEC(struct machine_look) looks;
	VEC(struct dec_span) jumps;	      ///< dec_machine_log_jumps()
	VEC(struct dec_moved) layout;	      ///< dec_machine_lay_out()
	struct dec_span heed[MACHINE_HEEDED]; ///< where writes are heeded
	size_t n_heed;
	bool is_written; ///< some of that, perhaps
	struct dec_where where;
};

/* ---- starting ------------------------------------------------------------------------------ */

struct err *dec_machine_no_room(void)
{
	return err_new(ERR_UNSUPPORTED,
		       "the program's addresses leave the machine no room");
}

static struct err *machine_start(struct dec_machine *m)
{
	const struct dec_answer *answer;
	struct err *err;

	m->checkpoints.size = 0;
	m->origin = UINT32_MAX;
	for (int tries = 0; tries < MACHINE_TRIES; tries++) {
		err = dec_wire_start(m->wire, &answer);
		if (err)
			return err;
		if (answer->result == CHILD_OK) {
			m->where = answer->where;
			return NULL;
		}
		if (answer->result == CHILD_FAILED)
			return dec_wire_failure(answer);
		log_info(
			"addresses collide with the program's: starting the machine again");
	}
	return dec_machine_no_room();
}

/* @p b: NULL, it is to be cleared. */
static struct err *machine_tell_break(struct dec_machine *m, uint64_t rip,
				      const struct machine_break *b)
{
	const struct dec_answer *answer;
	size_t n = b ? b->only_if.n : 0;
	struct err *err;

	if (n)
		dec_wire_give(m->wire, b->only_if.bytes, n);
	err = dec_wire_ask(m->wire, CHILD_BREAK, rip, b ? 1 + n : 0, &answer);
	return err || answer->result == CHILD_OK ? err : &err_nomem;
}

static struct err *machine_tell_jumps(struct dec_machine *m, const struct dec_span *code)
{
	const struct dec_answer *answer;
	struct err *err =
		dec_wire_ask(m->wire, CHILD_JUMPS, code->start, code->end, &answer);

	return err || answer->result == CHILD_OK ? err : &err_nomem;
}

static struct err *machine_tell_look(struct dec_machine *m, const struct machine_look *l)
{
	const struct dec_answer *answer;

	return dec_wire_ask(m->wire, CHILD_LOOK, l->rip, l->stops, &answer);
}

/* Tell the child what is watched; what it knows already changes nothing. */
static struct err *machine_tell_watches(struct dec_machine *m)
{
	const struct dec_answer *answer;
	struct err *err = NULL;

	for (size_t i = 0; !err && i < m->watches.size; i++)
		err = dec_wire_ask(m->wire, CHILD_WATCH, m->watches.data[i], 1, &answer);
	for (size_t i = 0; !err && i < m->releases.size; i++)
		err = dec_wire_ask(m->wire, CHILD_RELEASE, m->releases.data[i], 0,
				   &answer);
	for (size_t i = 0; !err && i < m->looks.size; i++)
		err = machine_tell_look(m, &m->looks.data[i]);
	for (size_t i = 0; !err && i < m->jumps.size; i++)
		err = machine_tell_jumps(m, &m->jumps.data[i]);
	return err;
}

static struct err *machine_tell_layout(struct dec_machine *m)
{
	const size_t most = CHILD_DATA_BYTES / sizeof(*m->layout.data);
	size_t n = m->layout.size;
	const struct dec_answer *answer;
	struct err *err = NULL;

	for (size_t at = 0, some; (!at || at < n) && !err; at += some ?: 1) {
		some = n - at < most ? n - at : most;
		dec_wire_give(m->wire, m->layout.data + at,
			      some * sizeof(*m->layout.data));
		err = dec_wire_ask(m->wire, CHILD_LAYOUT, at, some, &answer);
		if (!err && answer->result != CHILD_OK)
			err = dec_wire_failure(answer);
	}
	return err;
}

/* A fresh child stands at 0: bring breakpoints, watches, the layout and the log mode back. */
static struct err *machine_restart(struct dec_machine *m)
{
	struct err *err = machine_start(m);

	if (!err)
		err = machine_tell_watches(m);
	for (size_t i = 0; !err && i < m->breaks.size; i++)
		err = machine_tell_break(m, m->breaks.data[i].rip, &m->breaks.data[i]);
	if (!err && m->layout.size)
		err = machine_tell_layout(m);
	return err;
}

/* What other processes wrote into its memory is needed. Without, it goes as far as it goes. */
static void machine_join(const struct capture *c)
{
	_cleanup_err_ struct err *err = dec_joint(c);

	if (err)
		log_note("%s: what other processes wrote into shared memory is missing",
			 err->message);
}

struct err *dec_machine_create(const struct capture *c,
			       const struct dec_machine_options *o,
			       struct dec_machine **ret)
{
	_cleanup_(dec_machine_destroyp) struct dec_machine *m = calloc(1, sizeof(*m));
	struct err *err;

	if (!m)
		return &err_nomem;
	m->options.output_fd = -1;
	if (o)
		m->options = *o;
	if (capture_info(c)->slice_of && !m->options.takes_slices)
		return err_new(
			ERR_UNSUPPORTED,
			"it is a slice capture, which lacks most of the run: replay and "
			"debug take it");
	if (!m->options.takes_turns)
		machine_join(c);
	err = dec_wire_create(c, &m->options, &m->wire);
	if (!err)
		err = machine_start(m);
	if (err)
		return err;
	*ret = take_ptr(&m);
	return NULL;
}

void dec_machine_destroy(struct dec_machine *m)
{
	if (!m)
		return;
	dec_wire_destroy(m->wire);
	vec_deinit(&m->checkpoints);
	for (size_t i = 0; i < m->breaks.size; i++)
		free((uint8_t *)m->breaks.data[i].only_if.bytes);
	vec_deinit(&m->breaks);
	vec_deinit(&m->layout);
	vec_deinit(&m->watches);
	vec_deinit(&m->releases);
	vec_deinit(&m->looks);
	vec_deinit(&m->jumps);
	free(m);
}

void dec_machine_destroyp(struct dec_machine **m)
{
	dec_machine_destroy(*m);
}

/* ---- running --------------------------------------------------------------------------------- */

struct err *dec_machine_log(struct dec_machine *m, enum dec_log_mode mode, dec_log_fn fn,
			    void *ctx)
{
	m->mode = mode;
	dec_wire_log(m->wire, fn, ctx);
	return dec_wire_mode(m->wire, mode);
}

struct err *dec_machine_run_logged(struct dec_machine *m, enum dec_log_mode mode,
				   dec_log_fn fn, void *ctx, uint64_t position,
				   struct dec_where *ret)
{
	struct err *err = dec_machine_log(m, mode, fn, ctx), *off;

	if (!err)
		err = dec_machine_run(m, position, ret);
	off = dec_machine_log(m, DEC_LOG_NONE, NULL, NULL);
	if (!err)
		return off;
	err_destroy(off);
	return err;
}

struct err *dec_machine_break_if(struct dec_machine *m, uint64_t rip,
				 const struct dec_agent_conditions *only_if)
{
	struct machine_break *b = vec_find(&m->breaks, e, e->rip == rip);

	if (only_if->n > CHILD_DATA_BYTES)
		return err_new(ERR_RANGE, "conditions of more than %d bytes",
			       CHILD_DATA_BYTES);
	if (!b) {
		b = vec_push(&m->breaks);
		if (!b)
			return &err_nomem;
		*b = (struct machine_break){ .rip = rip };
	}
	free((uint8_t *)b->only_if.bytes);
	b->only_if = (struct dec_agent_conditions){};
	if (only_if->n) {
		uint8_t *bytes = malloc(only_if->n);

		if (!bytes)
			return &err_nomem;
		memcpy(bytes, only_if->bytes, only_if->n);
		b->only_if = (struct dec_agent_conditions){ bytes, only_if->n };
	}
	return machine_tell_break(m, rip, b);
}

struct err *dec_machine_break(struct dec_machine *m, uint64_t rip, bool is_on)
{
	static const struct dec_agent_conditions always;
	struct machine_break *b;

	if (is_on)
		return dec_machine_break_if(m, rip, &always);
	b = vec_find(&m->breaks, e, e->rip == rip);
	if (b) {
		free((uint8_t *)b->only_if.bytes);
		*b = m->breaks.data[--m->breaks.size];
	}
	return machine_tell_break(m, rip, NULL);
}

struct err *dec_machine_log_regs_at(struct dec_machine *m, uint64_t rip, bool is_on)
{
	const struct dec_answer *answer;
	uint64_t *w = vec_find(&m->watches, e, *e == rip);
	struct err *err = NULL;

	if (is_on && !w)
		err = vec_add(&m->watches, rip);
	else if (!is_on && w)
		*w = m->watches.data[--m->watches.size];
	return err ?: dec_wire_ask(m->wire, CHILD_WATCH, rip, is_on, &answer);
}

struct err *dec_machine_log_release_at(struct dec_machine *m, uint64_t rip)
{
	const struct dec_answer *answer;

	if (vec_add(&m->releases, rip))
		return &err_nomem;
	return dec_wire_ask(m->wire, CHILD_RELEASE, rip, 0, &answer);
}

struct err *dec_machine_log_looks_at(struct dec_machine *m, uint64_t rip, uint8_t stops)
{
	const struct machine_look made = { rip, stops };

	if (!vec_find(&m->looks, l, l->rip == rip) && vec_add(&m->looks, made))
		return &err_nomem;
	return machine_tell_look(m, &made);
}

struct err *dec_machine_log_jumps(struct dec_machine *m, struct dec_span code)
{
	if (vec_find(&m->jumps, s, s->start == code.start && s->end == code.end))
		return NULL;
	if (vec_add(&m->jumps, code))
		return &err_nomem;
	return machine_tell_jumps(m, &code);
}

struct err *dec_machine_mute(struct dec_machine *m, const struct dec_mute *mutes,
			     size_t n)
{
	const struct dec_answer *answer;

	if (n > DEC_MUTES)
		return err_new(ERR_RANGE, "more than %d pages to mute", DEC_MUTES);
	dec_wire_give(m->wire, mutes, n * sizeof(*mutes));
	return dec_wire_ask(m->wire, CHILD_MUTE, n, 0, &answer);
}

struct err *dec_machine_guard(struct dec_machine *m, uint32_t how)
{
	const struct dec_answer *answer;
	struct err *err = dec_wire_ask(m->wire, CHILD_GUARD, 0, how, &answer);

	return err || answer->result == CHILD_OK ? err : dec_wire_failure(answer);
}

struct err *dec_machine_guard_hooks(struct dec_machine *m, const struct dec_hook *hooks,
				    size_t n)
{
	const size_t most = CHILD_DATA_BYTES / sizeof(*hooks);
	const struct dec_answer *answer;
	struct err *err = NULL;

	for (size_t at = 0, k; at < n && !err; at += k) {
		k = n - at < most ? n - at : most;
		dec_wire_give(m->wire, hooks + at, k * sizeof(*hooks));
		err = dec_wire_ask(m->wire, CHILD_GUARD, k, 0, &answer);
		if (!err && answer->result != CHILD_OK)
			err = dec_wire_failure(answer);
	}
	return err;
}

/* Have the child list what @p command asks for, from @p from on: things of @p bytes each, up to @p max of them. */
static struct err *ask_list(struct dec_machine *m, enum child_command command,
			    uint64_t from, void *ret, size_t bytes, size_t max, size_t *n)
{
	const struct dec_answer *answer;
	struct err *err;

	if (max > CHILD_DATA_BYTES / bytes)
		max = CHILD_DATA_BYTES / bytes;
	err = dec_wire_ask(m->wire, command, from, max, &answer);
	if (err)
		return err;
	*n = answer->result == CHILD_OK ? answer->where.log_bytes : 0;
	if (*n > max)
		return err_new(ERR_FORMAT, "the guard lists more than it was asked for");
	dec_wire_data(m->wire, ret, *n * bytes);
	return NULL;
}

struct err *dec_machine_guard_blocks(struct dec_machine *m, size_t from,
				     struct dec_guarded_block *ret, size_t max, size_t *n)
{
	return ask_list(m, CHILD_GUARD_BLOCKS, from, ret, sizeof(*ret), max, n);
}

struct err *dec_machine_guard_accesses(struct dec_machine *m, size_t from, uint64_t *ret,
				       size_t max, size_t *n)
{
	return ask_list(m, CHILD_GUARD_ACCESSES, from, ret, sizeof(*ret), max, n);
}

struct err *dec_machine_guard_left(struct dec_machine *m, uint64_t from, uint64_t *ret,
				   size_t max, size_t *n)
{
	return ask_list(m, CHILD_GUARD_LEFT, from, ret, sizeof(*ret), max, n);
}

/* The program maps memory where the child has its own, or is to touch that. A fresh child, whose
 * addresses differ, runs silently to @p position. */
static struct err *machine_evade(struct dec_machine *m, uint64_t position)
{
	const struct dec_answer *answer = NULL;
	struct err *err = dec_machine_mute(m, NULL, 0);

	for (int tries = 0; !err && tries < MACHINE_TRIES; tries++) {
		log_info(
			"addresses collide with the program's: starting the machine again");
		err = machine_restart(m);
		do {
			if (!err)
				err = dec_wire_ask(m->wire, CHILD_RUN, position, 0,
						   &answer);
			if (err)
				return err;
		} while (answer->result == CHILD_STOPPED &&
			 (answer->where.at == DEC_AT_MAP ||
			  (answer->where.at == DEC_AT_BREAK &&
			   answer->where.position < position)));
		if (answer->result == CHILD_STOPPED) {
			m->where = answer->where;
			return dec_wire_mode(m->wire, m->mode);
		}
	}
	return err ? err : dec_machine_no_room();
}

/* Ask the child to run to @p position; in pieces, if somebody may want to stop it. */
static struct err *machine_ask_run(struct dec_machine *m, uint64_t position,
				   const struct dec_answer **ret)
{
	const struct dec_machine_options *o = &m->options;
	uint64_t at = m->where.position, to;
	struct err *err;

	for (;;) {
		to = o->interrupted && at < position && position - at > MACHINE_PIECE ?
			     at + MACHINE_PIECE :
			     position;
		if (m->n_heed)
			dec_wire_give(m->wire, m->heed, m->n_heed * sizeof(*m->heed));
		err = dec_wire_ask(m->wire, CHILD_RUN, to, m->n_heed, ret);
		m->is_written |= !err && (*ret)->is_written;
		if (err || to == position || (*ret)->result != CHILD_STOPPED ||
		    (*ret)->where.at != DEC_AT_POSITION)
			return err;
		m->where = (*ret)->where;
		at = m->where.position > to ? m->where.position : to;
		if (o->interrupted(o->ctx, &m->where))
			return err_new(ERR_INTERRUPTED, "interrupted");
	}
}

struct err *dec_machine_heed(struct dec_machine *m, const struct dec_span *spans,
			     size_t n)
{
	if (n > MACHINE_HEEDED)
		return err_new(ERR_RANGE, "more than %d spans of memory to heed",
			       MACHINE_HEEDED);
	for (size_t i = 0; i < n; i++)
		m->heed[i] = spans[i];
	m->n_heed = n;
	m->is_written = false;
	return NULL;
}

bool dec_machine_heeded(struct dec_machine *m)
{
	bool is_written = m->is_written;

	m->is_written = false;
	return is_written;
}

struct err *dec_machine_run(struct dec_machine *m, uint64_t position,
			    struct dec_where *ret)
{
	uint64_t evaded = UINT64_MAX;
	const struct dec_answer *answer;
	int tries = 0;
	struct err *err;

	for (;;) {
		err = machine_ask_run(m, position, &answer);
		if (err)
			return err;
		m->where = *ret = answer->where;
		if (answer->result != CHILD_COLLIDED) {
			if (ret->at != DEC_AT_MAP)
				return NULL;
			err = m->options.mapped ? m->options.mapped(m->options.ctx, ret) :
						  NULL;
			if (err)
				return err;
			continue;
		}
		// The same call again: what it maps may never be free (ours may lie where
		// they must, as a sanitizer's do).
		tries = answer->where.position == evaded ? tries + 1 : 0;
		if (tries == MACHINE_TRIES)
			return dec_machine_no_room();
		// Before the system call, none of which was logged.
		evaded = answer->where.position;
		err = machine_evade(m, evaded);
		if (err)
			return err;
	}
}

/* ---- turns ---------------------------------------------------------------------------------------- */

struct err *dec_machine_turn(struct dec_machine *m, struct dec_where *ret,
			     bool *has_collided)
{
	const struct dec_answer *answer;
	struct err *err = dec_wire_ask(m->wire, CHILD_RUN, UINT64_MAX, 0, &answer);

	if (err)
		return err;
	*has_collided = answer->result == CHILD_COLLIDED;
	m->where = *ret = answer->where;
	return NULL;
}

struct err *dec_machine_start_over(struct dec_machine *m)
{
	log_info("addresses collide with the program's: starting the machine again");
	return machine_restart(m);
}

struct err *dec_machine_changes(struct dec_machine *m,
				struct err *(*fn)(void *ctx, uint64_t key,
						  uint64_t offset, const uint8_t *bytes,
						  uint64_t size),
				void *ctx)
{
	_cleanup_free_ uint8_t *buf = malloc(CHILD_DATA_BYTES);
	const struct dec_answer *answer;
	struct err *err = buf ? NULL : &err_nomem;

	for (bool is_first = true; !err; is_first = false) {
		size_t n;

		err = dec_wire_ask(m->wire, CHILD_CHANGES, is_first, 0, &answer);
		if (err)
			return err;
		if (answer->result != CHILD_OK)
			return err_new(ERR_UNSUPPORTED,
				       "it wrote too much shared memory in one turn");
		n = answer->where.log_bytes;
		if (n > CHILD_DATA_BYTES)
			return err_new(ERR_FORMAT, "more changes than there is room for");
		if (!n)
			break;
		dec_wire_data(m->wire, buf, n);
		for (size_t at = 0; !err && at < n;) {
			struct dec_change c;

			if (n - at < sizeof(c))
				return err_new(ERR_FORMAT, "a change breaks off");
			memcpy(&c, buf + at, sizeof(c));
			at += sizeof(c);
			if (c.size > n - at || c.offset + c.size < c.offset)
				return err_new(ERR_FORMAT, "a change breaks off");
			err = fn(ctx, c.key, c.offset, buf + at, c.size);
			at += c.size;
		}
	}
	return err;
}

struct err *dec_machine_share(struct dec_machine *m, size_t i, struct dec_share *ret)
{
	const struct dec_answer *answer;
	struct err *err = dec_wire_ask(m->wire, CHILD_SHARE, i, 0, &answer);

	if (err)
		return err;
	if (answer->result != CHILD_OK)
		return err_new(ERR_RANGE, "no more is shared");
	dec_wire_data(m->wire, ret, sizeof(*ret));
	return ret->start <= ret->end ? NULL :
					err_new(ERR_FORMAT, "shared memory of no size");
}

struct err *dec_machine_put(struct dec_machine *m, const struct cap_write *w)
{
	const struct dec_answer *answer;
	struct err *err = NULL;

	for (uint64_t at = 0, n; !err && at < w->size; at += n) {
		n = w->size - at < CHILD_DATA_BYTES ? w->size - at : CHILD_DATA_BYTES;
		dec_wire_give(m->wire, w->data + at, n);
		err = dec_wire_ask(m->wire, CHILD_PUT, w->addr + at, n, &answer);
	}
	return err;
}

struct err *dec_machine_leave(struct dec_machine *m)
{
	const struct dec_answer *answer;

	return dec_wire_ask(m->wire, CHILD_LEAVE, 0, 0, &answer);
}

struct err *dec_machine_begin_turn(struct dec_machine *m)
{
	const struct dec_answer *answer;

	return dec_wire_ask(m->wire, CHILD_TURN, 0, 0, &answer);
}

/* ---- back and forth ------------------------------------------------------------------------------ */

/* Give up the checkpoint whose loss costs least: the one whose neighbours are closest. The one
 * before it then holds what both did, and most of that is the same pages. */
static void machine_thin(struct dec_machine *m)
{
	struct machine_checkpoint *c = m->checkpoints.data;
	size_t best = !c[0].position;
	uint64_t best_gap = UINT64_MAX;

	// Not the one where all begins.
	for (size_t i = !c[0].position; i + 1 < m->checkpoints.size; i++) {
		uint64_t gap = c[i + 1].position - (i ? c[i - 1].position : 0);

		if (gap < best_gap) {
			best_gap = gap;
			best = i;
		}
	}
	dec_wire_end(m->wire, c[best].slot);
	if (best && c[best - 1].bytes < c[best].bytes)
		c[best - 1].bytes = c[best].bytes;
	if (m->origin == c[best].slot)
		m->origin = best ? c[best - 1].slot : UINT32_MAX;
	memmove(&c[best], &c[best + 1], (m->checkpoints.size - best - 1) * sizeof(*c));
	m->checkpoints.size--;
}

static uint64_t machine_held(const struct dec_machine *m)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < m->checkpoints.size; i++)
		sum += m->checkpoints.data[i].bytes;
	return sum;
}

/* Room for one more: checkpoints together hold no more than a process of the machine does, nor than
 * twice what the program has; by a quarter less, for what they hold is an estimate. What the active
 * one has changed is held by the checkpoint that it went on from. */
static void machine_make_room(struct dec_machine *m)
{
	const struct dec_answer *answer = dec_wire_answer(m->wire);
	uint64_t most = m->guest_bytes ? 2 * m->guest_bytes : UINT64_MAX;
	struct machine_checkpoint *from =
		vec_find(&m->checkpoints, c, c->slot == m->origin);

	if (from && from->bytes < answer->touched_bytes)
		from->bytes = answer->touched_bytes < from->resident ?
				      answer->touched_bytes :
				      from->resident;
	most = most < answer->peak_bytes ? most : answer->peak_bytes;
	most = most > m->afforded ? most : m->afforded;
	while (m->checkpoints.size == CHILD_SLOTS - 2 ||
	       (m->checkpoints.size > MACHINE_KEPT && machine_held(m) > most / 4 * 3))
		machine_thin(m);
}

struct err *dec_machine_checkpoint(struct dec_machine *m)
{
	struct machine_checkpoint made = { .position = m->where.position };
	struct err *err;
	size_t i;

	if (vec_find(&m->checkpoints, c, c->position == made.position))
		return NULL;
	machine_make_room(m);
	made.resident = dec_wire_answer(m->wire)->peak_bytes;
	err = dec_wire_keep(m->wire, &made.slot);
	if (err)
		return err;
	m->guest_bytes = dec_wire_answer(m->wire)->guest_bytes;
	if (!vec_push(&m->checkpoints))
		return &err_nomem;
	for (i = m->checkpoints.size - 1;
	     i && m->checkpoints.data[i - 1].position > made.position; i--)
		m->checkpoints.data[i] = m->checkpoints.data[i - 1];
	m->checkpoints.data[i] = made;
	m->origin = made.slot;
	return NULL;
}

void dec_machine_afford(struct dec_machine *m, uint64_t bytes)
{
	m->afforded = bytes;
}

size_t dec_machine_checkpoints(const struct dec_machine *m)
{
	return m->checkpoints.size;
}

uint64_t dec_machine_checkpoint_before(const struct dec_machine *m, uint64_t position)
{
	uint64_t before = 0;

	for (size_t i = 0; i < m->checkpoints.size; i++)
		if (m->checkpoints.data[i].position < position)
			before = m->checkpoints.data[i].position;
	return before;
}

struct err *dec_machine_seek(struct dec_machine *m, uint64_t position,
			     struct dec_where *ret)
{
	size_t i = m->checkpoints.size;
	struct err *err = NULL;
	uint32_t old = dec_wire_active(m->wire);

	while (i && m->checkpoints.data[i - 1].position > position)
		i--;
	if (position < m->where.position ||
	    (i && m->checkpoints.data[i - 1].position > m->where.position)) {
		if (i) {
			err = dec_wire_fork(m->wire, m->checkpoints.data[i - 1].slot);
			if (!err)
				dec_wire_end(m->wire, old);
			m->origin = m->checkpoints.data[i - 1].slot;
			m->where.position = m->checkpoints.data[i - 1].position;
			// They may be younger than the checkpoint.
			if (!err)
				err = machine_tell_watches(m);
		} else {
			err = machine_restart(m);
			// With a start anew go all processes: the others' checkpoints too.
			if (!err)
				err = dec_machine_checkpoint(m);
		}
		if (!err)
			err = dec_wire_mode(m->wire, m->mode);
		if (err)
			return err;
	}
	return dec_machine_run(m, position, ret);
}

/* ---- what if -------------------------------------------------------------------------------------- */

static bool is_alteration(const struct dec_alter *a)
{
	bool is_insn = a->kind == DEC_ALTER_SKIP || a->kind == DEC_ALTER_INVERT ||
		       a->kind == DEC_ALTER_MOVE;

	return a->kind <= DEC_ALTER_MOVE && (a->rip ? a->nth > 0 : !is_insn) &&
	       (a->kind != DEC_ALTER_REG || a->reg < CAP_GPRS) &&
	       (a->kind != DEC_ALTER_MEMORY || (a->bytes >= 1 && a->bytes <= 8));
}

static struct err *machine_check_branch(const struct dec_branch *b)
{
	if (b->n > DEC_ALTERS_MAX)
		return err_new(ERR_USAGE, "more than %d alterations of one run",
			       DEC_ALTERS_MAX);
	for (size_t i = 0; i < b->n; i++)
		if (!is_alteration(&b->alters[i]))
			return err_new(ERR_USAGE, "alteration %zu cannot be made", i);
	return NULL;
}

struct err *dec_machine_lay_out(struct dec_machine *m, const struct dec_moved *moved,
				size_t n)
{
	m->layout.size = 0;
	for (size_t i = 0; i < n; i++)
		if (vec_add(&m->layout, moved[i]))
			return &err_nomem;
	return machine_tell_layout(m);
}

struct err *dec_machine_branches(struct dec_machine *m, struct dec_branch *branches,
				 size_t n, unsigned at_once)
{
	struct err *err = NULL;
	int tries = 0;

	for (size_t i = 0; i < n && !err; i++)
		err = machine_check_branch(&branches[i]);
	for (size_t done = 0, some = 0; done < n && !err; done += some) {
		err = dec_wire_branches(m->wire, &branches[done], n - done, at_once,
					&some);
		tries = some ? 0 : tries + 1;
		if (err || !tries)
			continue;
		if (tries < MACHINE_TRIES)
			err = machine_evade(m, m->where.position);
		else if (branches[done].has_collided)
			some = 1, tries = 0; // one run that wants all memory
		else
			err = dec_machine_no_room();
	}
	return err;
}

struct err *dec_machine_branch(struct dec_machine *m, const struct dec_alter *alters,
			       size_t n, uint64_t limit, struct dec_outcome *ret)
{
	struct dec_branch one = { .alters = alters, .n = n, .limit = limit };
	struct err *err = dec_machine_branches(m, &one, 1, 1);

	*ret = one.outcome;
	return err;
}

static struct err *machine_stray(struct dec_machine *m, bool is_awake)
{
	const struct dec_answer *answer;
	struct err *err = dec_machine_checkpoint(m);

	if (!err)
		err = dec_wire_ask(m->wire, CHILD_STRAY, is_awake, 0, &answer);
	if (!err && answer->result != CHILD_OK)
		err = dec_wire_failure(answer);
	return err;
}

struct err *dec_machine_stray(struct dec_machine *m)
{
	return machine_stray(m, false);
}

struct err *dec_machine_stray_awake(struct dec_machine *m)
{
	return machine_stray(m, true);
}

struct err *dec_machine_return(struct dec_machine *m, uint64_t position,
			       struct dec_where *ret)
{
	// Behind every position: the process that strays is of no use for any.
	m->where.position = UINT64_MAX;
	return dec_machine_seek(m, position, ret);
}

struct err *dec_machine_set_reg(struct dec_machine *m, uint32_t tid, int reg,
				const uint8_t value[64])
{
	const struct dec_answer *answer;
	struct err *err;

	dec_wire_give(m->wire, value, 64);
	err = dec_wire_ask(m->wire, CHILD_SET_REG, reg, tid, &answer);
	if (!err && answer->result != CHILD_OK)
		err = err_new(ERR_RANGE,
			      "thread %u has no such register to write, or "
			      "cannot go on",
			      tid);
	return err;
}

struct err *dec_machine_write(struct dec_machine *m, uint64_t addr, const void *bytes,
			      size_t size)
{
	const struct dec_answer *answer;
	struct err *err = NULL;

	for (size_t at = 0, n; at < size && !err; at += n) {
		n = size - at < CHILD_DATA_BYTES ? size - at : CHILD_DATA_BYTES;
		dec_wire_give(m->wire, (const uint8_t *)bytes + at, n);
		err = dec_wire_ask(m->wire, CHILD_WRITE, addr + at, n, &answer);
		if (!err && answer->result != CHILD_OK)
			err = err_new(ERR_RANGE, "no memory that may be written at %#lx",
				      addr + at);
	}
	return err;
}

struct err *dec_machine_outcome(struct dec_machine *m, struct dec_outcome *ret)
{
	const struct dec_answer *answer;
	struct err *err = dec_wire_ask(m->wire, CHILD_OUTCOME, 0, 0, &answer);

	return err ?: dec_wire_outcome(m->wire, ret);
}

/* ---- looking -------------------------------------------------------------------------------------- */

struct err *dec_machine_regs(struct dec_machine *m, struct cap_regs *ret)
{
	const struct dec_answer *answer;
	struct err *err = dec_wire_ask(m->wire, CHILD_REGS, 0, 0, &answer);

	if (!err)
		*ret = answer->regs;
	return err;
}

struct err *dec_machine_reg(struct dec_machine *m, int reg, uint8_t buf[160],
			    size_t *ret_bytes)
{
	return dec_machine_thread_reg(m, 0, reg, buf, ret_bytes);
}

struct err *dec_machine_thread_reg(struct dec_machine *m, uint32_t tid, int reg,
				   uint8_t buf[160], size_t *ret_bytes)
{
	const struct dec_answer *answer;
	struct err *err = dec_wire_ask(m->wire, CHILD_REG, reg, tid, &answer);

	if (err)
		return err;
	if (answer->result != CHILD_OK)
		return err_new(ERR_RANGE, "there is no thread %u at this position", tid);
	*ret_bytes = answer->reg_bytes;
	dec_wire_data(m->wire, buf, *ret_bytes);
	return NULL;
}

struct err *dec_machine_read(struct dec_machine *m, uint64_t addr, void *buf, size_t size)
{
	const struct dec_answer *answer;

	for (size_t at = 0; at < size; at += CHILD_DATA_BYTES) {
		size_t n = size - at < CHILD_DATA_BYTES ? size - at : CHILD_DATA_BYTES;
		struct err *err =
			dec_wire_ask(m->wire, CHILD_READ, addr + at, n, &answer);

		if (err)
			return err;
		if (answer->result != CHILD_OK)
			return err_new(ERR_RANGE, "no memory at %#lx at this position",
				       addr + at);
		dec_wire_data(m->wire, (uint8_t *)buf + at, n);
	}
	return NULL;
}

struct err *dec_machine_range(struct dec_machine *m, size_t i, struct dec_range *ret)
{
	const struct dec_answer *answer;
	struct err *err = dec_wire_ask(m->wire, CHILD_RANGE, i, 0, &answer);

	if (err)
		return err;
	if (answer->result != CHILD_OK)
		return err_new(ERR_RANGE, "the guest has fewer than %zu mappings", i + 1);
	return dec_wire_range(m->wire, ret);
}

struct err *dec_machine_touched(struct dec_machine *m, uint64_t start, uint64_t end,
				struct dec_range *ret)
{
	const struct dec_answer *answer;
	struct err *err = dec_wire_ask(m->wire, CHILD_TOUCHED, start, end, &answer);

	if (err)
		return err;
	dec_wire_data(m->wire, ret, sizeof(*ret));
	if (ret->start < start || ret->end < ret->start || ret->end > end)
		return err_new(ERR_FORMAT, "the machine tells of memory that it was not "
					   "asked for");
	return NULL;
}

struct err *dec_machine_thread(struct dec_machine *m, size_t i, struct dec_thread *ret)
{
	const struct dec_answer *answer;
	struct err *err = dec_wire_ask(m->wire, CHILD_THREAD, i, 0, &answer);

	if (err)
		return err;
	if (answer->result != CHILD_OK)
		return err_new(ERR_RANGE, "the guest has fewer than %zu threads", i + 1);
	dec_wire_thread(m->wire, ret);
	return NULL;
}

const char *dec_machine_divergence(struct dec_machine *m)
{
	const char *text = dec_wire_answer(m->wire)->text;

	if (m->where.at != DEC_AT_DIVERGENCE && !m->where.is_cut)
		return NULL;
	return *text ? text : "the machine's process does not say why";
}

const char *dec_machine_notes(struct dec_machine *m)
{
	const char *text = dec_wire_answer(m->wire)->notes;

	return *text ? text : NULL;
}

const struct dec_divergence *dec_machine_parted(struct dec_machine *m)
{
	return m->where.at == DEC_AT_DIVERGENCE ? &dec_wire_answer(m->wire)->parted :
						  NULL;
}

const char *dec_machine_isa(const struct dec_machine *m, unsigned i)
{
	const uint64_t *isa = dec_wire_answer(m->wire)->isa;

	for (unsigned n = 0; n < 256; n++) {
		if ((isa[n >> 6] >> (n & 63) & 1) && !i--)
			return dec_insn_isa_name(n);
	}
	return NULL;
}
