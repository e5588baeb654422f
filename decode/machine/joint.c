// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#define LOG_ROOM "decode"

#include "decode/machine/joint.h"

#include <inttypes.h>
#include <string.h>
#include <sys/file.h>

#include "decode/machine/machine.h"
#include "decode/machine/shared.h"

#define PAGE 4096ull
#define READ_BYTES (16 * PAGE)
#define MISSED_MANY 1024 ///< spans, then neighbours are put together
#define JOINT_TRIES 8	 ///< machines that collide with the program's addresses

/** Some memory that changed. */
struct joint_span {
	uint32_t object;
	uint64_t start, end; ///< in it
};

/** Memory that processes share: what it holds now. */
struct joint_object {
	uint64_t key;
	struct map pages; ///< number to index in joint.pages; absent: not known
};

struct joint_member {
	struct capture *capture;
	char *name;
	struct dec_machine *machine;
	struct cap_events *in;
	struct cap_joined *out;
	bool waits; ///< for its turn, which begins with
	struct cap_event ev;
	VEC(uint32_t) knows;	       ///< objects that it has
	VEC(struct joint_span) missed; ///< what others wrote since its last turn
	size_t merged;		       ///< so many of them are in order
	bool is_over; ///< it has executed its last instruction; the kernel has not
	bool has_told_lost;
};

struct joint {
	VEC(struct joint_member) members;
	VEC(struct joint_object) objects;
	VEC(uint8_t *) pages;	      ///< [0]: zeros, which is nobody's own
	VEC(struct cap_write) writes; ///< for the event at hand
	char *lost; ///< who could not be replayed to the end, and from where on
};

/** Who changes what is shared. */
struct joint_change {
	struct joint *joint;
	struct joint_member *by;
};

/* ---- what the memory holds ------------------------------------------------------------------- */

static struct err *object_find(struct joint *j, uint64_t key, uint32_t *ret)
{
	struct joint_object made = { .key = key };

	for (*ret = 0; *ret < j->objects.size; ++*ret)
		if (j->objects.data[*ret].key == key)
			return NULL;
	return vec_add(&j->objects, made);
}

/** @return the bytes of page @p page of @p o; NULL: they are not known. */
static const uint8_t *page_of(const struct joint *j, uint32_t o, uint64_t page)
{
	const uint64_t *at = map_get(&j->objects.data[o].pages, page);

	return at ? j->pages.data[*at] : NULL;
}

/** The same, to be written; what was not known is zeros. */
static struct err *page_change(struct joint *j, uint32_t o, uint64_t page, uint8_t **ret)
{
	const uint64_t *at = map_get(&j->objects.data[o].pages, page);
	uint8_t *made;

	if (at && *at) {
		*ret = j->pages.data[*at];
		return NULL;
	}
	made = calloc(1, PAGE);
	if (!made || vec_add(&j->pages, made)) {
		free(made);
		return &err_nomem;
	}
	*ret = made;
	return map_put(&j->objects.data[o].pages, page, j->pages.size - 1) ? &err_nomem :
									     NULL;
}

static struct err *page_learn(struct joint *j, uint32_t o, uint64_t page,
			      const uint8_t *bytes)
{
	uint8_t *to;
	struct err *err;

	if (!memcmp(bytes, j->pages.data[0], PAGE))
		return map_put(&j->objects.data[o].pages, page, 0) ? &err_nomem : NULL;
	err = page_change(j, o, page, &to);
	if (!err)
		memcpy(to, bytes, PAGE);
	return err;
}

/** Nothing of object @p o is known any more. */
static void object_forget(struct joint *j, uint32_t o)
{
	struct map *pages = &j->objects.data[o].pages;

	for (size_t i = 0; i < pages->capacity; i++) {
		const struct map_slot *s = &pages->slots[i];

		if (s->key != MAP_EMPTY_KEY && s->value)
			free(take_ptr(&j->pages.data[s->value]));
	}
	map_deinit(pages);
	for (size_t i = 0; i < j->members.size; i++) {
		struct joint_member *m = &j->members.data[i];
		size_t n = 0;

		for (size_t k = 0; k < m->missed.size; k++)
			if (m->missed.data[k].object != o)
				m->missed.data[n++] = m->missed.data[k];
		m->missed.size = n;
		m->merged = 0;
	}
}

/* ---- what who has missed ---------------------------------------------------------------------- */

static int span_order(const void *a, const void *b)
{
	const struct joint_span *x = a, *y = b;

	return x->object != y->object ? (x->object < y->object ? -1 : 1) :
	       x->start != y->start   ? (x->start < y->start ? -1 : 1) :
					0;
}

/** Those that touch become one. */
static void missed_merge(struct joint_member *m)
{
	size_t n = 0;

	vec_sort(&m->missed, span_order);
	for (size_t i = 0; i < m->missed.size; i++) {
		const struct joint_span *s = &m->missed.data[i];
		struct joint_span *last = n ? &m->missed.data[n - 1] : NULL;

		if (!last || last->object != s->object || s->start > last->end)
			m->missed.data[n++] = *s;
		else if (s->end > last->end)
			last->end = s->end;
	}
	m->missed.size = m->merged = n;
}

static struct err *missed_add(struct joint_member *m, struct joint_span s)
{
	if (!vec_find(&m->knows, k, *k == s.object))
		return NULL;
	if (vec_add(&m->missed, s))
		return &err_nomem;
	if (m->missed.size > 2 * m->merged + MISSED_MANY)
		missed_merge(m);
	return NULL;
}

/** @p by has written. */
static struct err *take_change(void *ctx, uint64_t key, uint64_t offset,
			       const uint8_t *bytes, uint64_t size)
{
	const struct joint_change *c = ctx;
	struct joint *j = c->joint;
	struct joint_span s = { .start = offset, .end = offset + size };
	struct err *err = object_find(j, key, &s.object);

	for (uint64_t at = 0, n; !err && at < size; at += n) {
		uint64_t in = (offset + at) % PAGE;
		uint8_t *to;

		n = PAGE - in < size - at ? PAGE - in : size - at;
		err = page_change(j, s.object, (offset + at) / PAGE, &to);
		if (!err)
			memcpy(to + in, bytes + at, n);
	}
	for (size_t i = 0; !err && i < j->members.size; i++)
		if (&j->members.data[i] != c->by && j->members.data[i].waits)
			err = missed_add(&j->members.data[i], s);
	return err;
}

/** @p m has written by a call into a file that others have mapped. */
static struct err *publish(struct joint *j, struct joint_member *m)
{
	struct joint_change change = { j, m };
	struct err *err = NULL;

	for (size_t i = 0; !err && i < m->ev.n_writes; i++) {
		const struct cap_write *w = &m->ev.writes[i];

		err = take_change(&change, m->ev.shared.key,
				  m->ev.shared.offset + (w->addr - m->ev.shared.start),
				  w->data, w->size);
	}
	m->ev.n_writes = 0;
	return err;
}

/* ---- a turn begins ----------------------------------------------------------------------------- */

/** @p size bytes at @p from, in one page of an object, are to be at @p addr. */
static struct err *add_write(struct joint *j, uint64_t addr, const uint8_t *from,
			     uint64_t size)
{
	struct cap_write w = { addr, size, from };

	return vec_add(&j->writes, w);
}

/** What @p m has missed, where @p share has it. */
static struct err *add_missed(struct joint *j, const struct joint_member *m,
			      const struct dec_share *share)
{
	uint64_t end = share->offset + (share->end - share->start);
	struct err *err = NULL;

	for (size_t i = 0; !err && i < m->missed.size; i++) {
		const struct joint_span *s = &m->missed.data[i];
		uint64_t at = s->start > share->offset ? s->start : share->offset, n;
		uint64_t to = s->end < end ? s->end : end;

		if (j->objects.data[s->object].key != share->key)
			continue;
		for (; !err && at < to; at += n) {
			n = PAGE - at % PAGE < to - at ? PAGE - at % PAGE : to - at;
			err = add_write(j, share->start + (at - share->offset),
					page_of(j, s->object, at / PAGE) + at % PAGE, n);
		}
	}
	return err;
}

static struct err *begin_turn(struct joint *j, struct joint_member *m)
{
	struct dec_share share;
	struct err *err = NULL;

	missed_merge(m);
	for (size_t i = 0; !err && m->missed.size; i++) {
		err = dec_machine_share(m->machine, i, &share);
		if (!err)
			err = add_missed(j, m, &share);
	}
	if (err && err->code == ERR_RANGE) {
		err_destroy(err);
		err = NULL;
	}
	m->missed.size = m->merged = 0;
	return err;
}

/** Is the memory at hand, which @p m has just got, mapped by anybody already? */
static struct err *is_held(const struct joint *j, const struct joint_member *m, bool *ret)
{
	struct err *err = NULL;

	*ret = false;
	for (size_t i = 0; !err && !*ret && i < j->members.size; i++) {
		const struct joint_member *o = &j->members.data[i];
		struct dec_share s;

		for (size_t k = 0; o->machine && !err && !*ret; k++) {
			err = dec_machine_share(o->machine, k, &s);
			*ret = !err && s.key == m->ev.shared.key &&
			       (o != m || s.start != m->ev.shared.start);
		}
		if (err && err->code == ERR_RANGE) {
			err_destroy(err);
			err = NULL;
		}
	}
	return err;
}

/** What is at @p addr, a page of @p object, should be what that holds. */
static struct err *compare_page(struct joint *j, uint32_t object, uint64_t page,
				uint64_t addr, const uint8_t *now)
{
	const uint8_t *should = page_of(j, object, page);
	uint64_t from = 0, to = PAGE;

	if (!should)
		return page_learn(j, object, page, now);
	if (!memcmp(now, should, PAGE))
		return NULL;
	while (now[from] == should[from])
		from++;
	while (now[to - 1] == should[to - 1])
		to--;
	return add_write(j, addr + from, should + from, to - from);
}

static struct err *compare_all(struct joint *j, struct joint_member *m, uint32_t object)
{
	const uint64_t start = m->ev.shared.start, size = m->ev.shared.size;
	uint8_t now[READ_BYTES];
	struct err *err = NULL;

	for (uint64_t at = 0, n; !err && at < size; at += n) {
		n = size - at < READ_BYTES ? size - at : READ_BYTES;
		err = dec_machine_read(m->machine, start + at, now, n);
		if (err && err->code == ERR_RANGE) {
			err_destroy(err);
			n = PAGE;
			err = dec_machine_read(m->machine, start + at, now, n);
		}
		// Not there, or not to be read.
		if (err && err->code == ERR_RANGE) {
			err_destroy(err);
			err = NULL;
			continue;
		}
		for (uint64_t p = 0; !err && p < n; p += PAGE)
			err = compare_page(j, object,
					   (m->ev.shared.offset + at + p) / PAGE,
					   start + at + p, now + p);
	}
	return err;
}

/** @p m has mapped shared memory, or was born with it. What it found there may be from a later
 * time: it was looked at while others ran. */
static struct err *compare(struct joint *j, struct joint_member *m)
{
	uint32_t object;
	bool held = true;
	struct err *err = object_find(j, m->ev.shared.key, &object);

	if (!err && !vec_find(&m->knows, k, *k == object))
		err = vec_add(&m->knows, object);
	if (!err)
		err = compare_all(j, m, object);
	if (!err && j->writes.size)
		err = is_held(j, m, &held);
	if (err || held)
		return err;
	// Nobody else could write there. It is another file, which got the number of one that is deleted, or
	// somebody wrote into it by calls as nobody had it.
	j->writes.size = 0;
	object_forget(j, object);
	return compare_all(j, m, object);
}

static struct err *tell_lost(struct joint *j, struct joint_member *m)
{
	struct cap_event gap = { .kind = CAP_EV_GAP,
				 .tid = m->ev.tid,
				 .at_ns = m->ev.at_ns,
				 .text = j->lost };

	if (!j->lost || m->has_told_lost)
		return NULL;
	m->has_told_lost = true;
	return cap_joined_put(m->out, &gap);
}

/** The event at hand of @p m, with what others have written. */
static struct err *put_event(struct joint *j, struct joint_member *m)
{
	struct cap_event ev = m->ev;
	VEC(struct cap_write) writes = {};
	struct err *err = tell_lost(j, m);

	for (size_t i = 0; !err && i < ev.n_writes; i++)
		err = vec_add(&writes, ev.writes[i]);
	for (size_t i = 0; !err && i < j->writes.size; i++) {
		err = vec_add(&writes, j->writes.data[i]);
		if (!err)
			err = dec_machine_put(m->machine, &j->writes.data[i]);
	}
	ev.writes = writes.data;
	ev.n_writes = writes.size;
	if (!err)
		err = cap_joined_put(m->out, &ev);
	vec_deinit(&writes);
	j->writes.size = 0;
	return err;
}

/* ---- a turn ------------------------------------------------------------------------------------ */

/** Copy the events of @p m up to @p seq, or if that is UINT64_MAX up to the next turn: that is the event
 * at hand then, and not copied. All of them where there is none: @p m->waits says so. */
static struct err *copy_to(struct joint_member *m, uint64_t seq)
{
	struct err *err;
	bool is_end;

	for (;;) {
		err = cap_events_next(m->in, &m->ev, &is_end);
		m->waits = !err && !is_end;
		if (err || is_end || m->ev.seq == seq ||
		    (seq == UINT64_MAX && cap_event_begins_turn(&m->ev)))
			return err;
		err = cap_joined_put(m->out, &m->ev);
		if (err)
			return err;
	}
}

/** Nobody knows what @p m does from here on. */
static struct err *lose(struct joint *j, struct joint_member *m)
{
	const char *why = dec_machine_divergence(m->machine);
	struct err *err = NULL;

	if (!j->lost &&
	    asprintf(&j->lost,
		     "what process %u (%s) wrote into shared memory from here on is "
		     "missing: %s",
		     capture_info(m->capture)->pid, m->name, why ?: "it diverges") < 0) {
		j->lost = NULL;
		return &err_nomem;
	}
	do
		err = copy_to(m, UINT64_MAX);
	while (!err && m->waits && !(err = cap_joined_put(m->out, &m->ev)));
	m->waits = false;
	dec_machine_destroy(take_ptr(&m->machine));
	return err;
}

/** @p m executes nothing any more, but has more turns, in which the kernel ends it. */
static struct err *wind_up(struct joint *j, struct joint_member *m)
{
	const uint32_t left = CAP_SWITCH_ROBUST_LEFT | CAP_SWITCH_TID_CLEARED;
	struct joint_change change = { j, m };
	struct err *err = copy_to(m, UINT64_MAX);

	// The event tells how far it was when it lost the CPU before.
	if (!err && (!m->waits || m->ev.switch_flags & left))
		err = dec_machine_leave(m->machine);
	if (!err)
		err = dec_machine_changes(m->machine, take_change, &change);
	if (!m->waits)
		dec_machine_destroy(take_ptr(&m->machine));
	return err;
}

/** Bring the machine of @p m, which stands at 0, to where its last turn began, as @p before tells. */
static struct err *catch_up(struct joint_member *m, struct cap_events *before,
			    bool *has_collided)
{
	struct err *err = NULL;
	struct cap_event ev;
	struct dec_where w;
	bool is_end = false;

	*has_collided = false;
	while (!err && !*has_collided) {
		do
			err = cap_events_next(before, &ev, &is_end);
		while (!err && !is_end && !cap_event_begins_turn(&ev));
		if (err || is_end)
			return err;
		err = dec_machine_turn(m->machine, &w, has_collided);
		if (!err && !*has_collided && w.at != DEC_AT_TURN)
			err = err_new(ERR_DIVERGED, "the same turn ends elsewhere");
		for (size_t i = 0; !err && !*has_collided && i < ev.n_writes; i++)
			err = dec_machine_put(m->machine, &ev.writes[i]);
		if (!err && !*has_collided)
			err = dec_machine_begin_turn(m->machine);
	}
	return err;
}

/** The program of @p m maps memory where its machine has its own. */
static struct err *evade(struct joint_member *m)
{
	bool has_collided = true;
	struct err *err = NULL;

	for (int i = 0; !err && has_collided; i++) {
		struct cap_events *before = NULL;

		if (i == JOINT_TRIES)
			return dec_machine_no_room();
		err = cap_joined_read(m->out, &before);
		if (!err)
			err = dec_machine_start_over(m->machine);
		if (!err)
			err = catch_up(m, before, &has_collided);
		cap_events_close(before);
	}
	return err;
}

/** Run @p m to where its next turn begins. */
static struct err *run(struct joint *j, struct joint_member *m)
{
	struct joint_change change = { j, m };
	bool has_collided = true;
	struct err *err = NULL;
	struct dec_where w;

	if (m->is_over)
		return wind_up(j, m);
	for (int i = 0; !err && has_collided && i < JOINT_TRIES; i++) {
		if (i)
			err = evade(m);
		if (!err)
			err = dec_machine_turn(m->machine, &w, &has_collided);
	}
	if (!err && has_collided)
		err = dec_machine_no_room();
	if (!err)
		err = dec_machine_changes(m->machine, take_change, &change);
	if (err)
		return err;
	if (w.at == DEC_AT_DIVERGENCE)
		return lose(j, m);
	m->is_over = w.at != DEC_AT_TURN;
	if (m->is_over)
		return wind_up(j, m);
	err = copy_to(m, w.seq);
	log_debug("process %u: at event %" PRIu64 " of %" PRIu64 " ns, position %" PRIu64,
		  capture_info(m->capture)->pid, w.seq, m->ev.at_ns, w.position);
	return err;
}

/** Who runs next. @return NULL: nobody. */
static struct joint_member *choose(struct joint *j)
{
	struct joint_member *first = NULL;

	for (size_t i = 0; i < j->members.size; i++) {
		struct joint_member *m = &j->members.data[i];

		if (m->waits && (!first || m->ev.at_ns < first->ev.at_ns))
			first = m;
	}
	return first;
}

static struct err *run_all(struct joint *j)
{
	struct err *err = NULL;

	for (size_t i = 0; !err && i < j->members.size; i++)
		err = run(j, &j->members.data[i]);
	for (struct joint_member *m; !err && (m = choose(j));) {
		if (m->ev.kind == CAP_EV_SHARED)
			err = m->ev.shared.size ? compare(j, m) : publish(j, m);
		else
			err = begin_turn(j, m);
		if (!err)
			err = put_event(j, m);
		if (!err)
			err = dec_machine_begin_turn(m->machine);
		if (!err)
			err = run(j, m);
	}
	return err;
}

/* ---- who ------------------------------------------------------------------------------------------ */

static void member_deinit(struct joint_member *m)
{
	dec_machine_destroy(m->machine);
	cap_events_close(m->in);
	cap_joined_destroy(m->out);
	capture_close(m->capture);
	vec_deinit(&m->knows);
	vec_deinit(&m->missed);
	free(m->name);
}

static void joint_deinit(struct joint *j)
{
	for (size_t i = 0; i < j->members.size; i++)
		member_deinit(&j->members.data[i]);
	for (size_t i = 0; i < j->objects.size; i++)
		map_deinit(&j->objects.data[i].pages);
	for (size_t i = 0; i < j->pages.size; i++)
		free(j->pages.data[i]);
	vec_deinit(&j->members);
	vec_deinit(&j->objects);
	vec_deinit(&j->pages);
	vec_deinit(&j->writes);
	free(j->lost);
}

/** The bundle in @p dir, if it is of those. */
static struct err *add_member(struct joint *j, const char *dir)
{
	struct joint_member m = {};
	struct err *err = capture_open(dir, &m.capture);

	if (!err && capture_info(m.capture)->is_joint) {
		const char *exe = capture_info(m.capture)->exe ?: "?";

		m.name = strdup(basename(exe));
		err = m.name ? vec_add(&j->members, m) : &err_nomem;
		if (!err)
			return NULL;
	}
	member_deinit(&m);
	return err;
}

static struct err *find_members(struct joint *j, const char *root)
{
	_cleanup_(capture_closep) struct capture *c = NULL;
	struct err *err = capture_open(root, &c);

	if (!err)
		err = add_member(j, root);
	for (size_t i = 0; !err && i < capture_info(c)->n_processes; i++) {
		const struct cap_process *p = &capture_info(c)->processes[i];
		_cleanup_free_ char *dir = NULL;

		if (!p->dir)
			continue;
		err = capture_child_dir(c, p, &dir);
		if (!err)
			err = add_member(j, dir);
	}
	return err;
}

static struct err *start(struct joint *j)
{
	static const struct dec_machine_options options = { .output_fd = -1,
							    .takes_turns = true };
	uint8_t *zeros = calloc(1, PAGE);
	struct err *err = zeros ? vec_add(&j->pages, zeros) : &err_nomem;

	for (size_t i = 0; !err && i < j->members.size; i++) {
		struct joint_member *m = &j->members.data[i];

		err = cap_joined_create(m->capture, &m->out);
		if (!err)
			err = cap_events_open(m->capture, &m->in);
		if (!err)
			err = dec_machine_create(m->capture, &options, &m->machine);
	}
	return err;
}

static struct err *finish(struct joint *j)
{
	struct err *err = NULL;

	for (size_t i = 0; !err && i < j->members.size; i++)
		err = cap_joined_finish(j->members.data[i].out);
	for (size_t i = 0; !err && i < j->members.size; i++)
		err = cap_joined_keep(j->members.data[i].out);
	return err;
}

static struct err *join(const char *root)
{
	_cleanup_(joint_deinit) struct joint j = {};
	struct err *err = find_members(&j, root);

	if (err || j.members.size < 2)
		return err;
	log_note("%zu processes that share memory are replayed together, once",
		 j.members.size);
	err = start(&j);
	if (!err)
		err = run_all(&j);
	return err ? err : finish(&j);
}

struct err *dec_joint(const struct capture *c)
{
	const struct cap_info *info = capture_info(c);
	_cleanup_free_ char *root = NULL;
	struct err *err;

	if (!info->is_joint || capture_is_joined(c))
		return NULL;
	if (asprintf(&root, info->is_child ? "%s/../.." : "%s", capture_dir(c)) < 0) {
		root = NULL;
		return &err_nomem;
	}
	err = join(root);
	return err ? err_prefix(err, "cannot join what shares memory") : NULL;
}
