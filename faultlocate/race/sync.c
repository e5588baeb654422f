// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What calls, system calls and the life of threads say about order.
 *
 * A call is known by its entry, with its arguments, and ends by a return; where its result matters, that is
 * known one block later. What is done inside of it is the library's, but for functions that
 * it calls for the user.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "faultlocate/race/race_int.h"

static const int arguments[] = { CAP_RDI, CAP_RSI, CAP_RDX, CAP_RCX, CAP_R8, CAP_R9 };

/* ---- locks --------------------------------------------------------------------------------------- */

static struct err *number_locks(struct race_walk *w, struct race_thread *t)
{
	struct race_lock_set set = { .n = t->locks.size };
	uint64_t key = 1;
	const uint64_t *known;

	for (size_t i = 0; i < t->locks.size; i++) {
		key = (key ^ t->locks.data[i]) * 0x9e3779b97f4a7c15u;
		key ^= key >> 29;
		if (i < FL_RACE_LOCKS)
			set.lock[i] = t->locks.data[i];
	}
	known = map_get(&w->lock_set_of, key);
	if (!known && (vec_add(&w->lock_sets, set) ||
		       map_put(&w->lock_set_of, key, w->lock_sets.size)))
		return &err_nomem;
	t->lock_set = known ? *known : w->lock_sets.size;
	return NULL;
}

static struct err *hold(struct race_walk *w, uint64_t lock)
{
	struct race_thread *t = race_now(w);
	struct err *err = vec_add(&t->locks, lock);

	return err ? err : number_locks(w, t);
}

/* @return whether it was held. */
static bool let_go(struct race_walk *w, uint64_t lock)
{
	struct race_thread *t = race_now(w);

	for (size_t i = t->locks.size; i; i--) {
		if (t->locks.data[i - 1] != lock)
			continue;
		memmove(&t->locks.data[i - 1], &t->locks.data[i],
			(t->locks.size - i) * sizeof(*t->locks.data));
		t->locks.size--;
		err_destroy(number_locks(w, t)); // then the report tells of one too many
		return true;
	}
	return false;
}

// A reader's is told apart from a writer's by its lowest bit: none is at an odd address.
static struct err *unlock(struct race_walk *w, uint64_t lock)
{
	bool is_reader = let_go(w, lock | 1) && !(lock & 1);

	if (!is_reader)
		let_go(w, lock);
	return race_release(w, race_key(is_reader ? SPACE_READERS : SPACE_OBJECT, lock));
}

static struct err *lock(struct race_walk *w, uint64_t lock, bool is_reader)
{
	struct err *err = race_acquire(w, race_key(SPACE_OBJECT, lock));

	if (!err && !is_reader)
		err = race_acquire(w, race_key(SPACE_READERS, lock));
	return err ? err : hold(w, lock | is_reader);
}

/* ---- barriers ------------------------------------------------------------------------------------ */

/* All come before one goes on: what they released until then is the round's. */
static struct err *pass_barrier(struct race_walk *w, const struct race_open *o)
{
	const uint64_t *known = map_get(&w->rounds, o->key);
	uint64_t round = known ? *known : 0;
	uint64_t at = race_key(SPACE_ROUND, o->key * 31 + o->more);
	struct err *err = NULL;

	if (o->more == round) {
		err = fl_clocks_move(&w->clocks, o->key, at);
		if (!err && map_put(&w->rounds, o->key, round + 1))
			err = &err_nomem;
	}
	if (!err)
		err = race_acquire(w, at);
	return err ? err : race_acquire(w, race_key(SPACE_TASKS_ENDED, 0));
}

static struct err *come_to_barrier(struct race_walk *w, struct race_open *o)
{
	const uint64_t *round = map_get(&w->rounds, o->key);

	o->more = round ? *round : 0;
	return race_release(w, o->key);
}

/* ---- calls ---------------------------------------------------------------------------------------- */

static uint64_t key_of(const struct race_walk *w, const struct race_call *c,
		       const uint64_t *gpr)
{
	if (c->does == RACE_TASKS)
		return c->which == RACE_TEAM;
	if (c->which == RACE_TEAM)
		return race_key(SPACE_TEAM, w->threads.data[w->thread].team);
	if (c->which ==
	    RACE_OWN) // OpenMP's names of one thing differ at its start and end
		return race_key(SPACE_OWN, strstr(c->name, "reduce") ? 2 :
					   strstr(c->name, "atomic") ? 1 :
								       0);
	return gpr[arguments[c->which]];
}

/* Where does the call return to? Of tail calls the outermost is a call. */
static uint64_t return_of(const struct race_walk *w, uint64_t rsp)
{
	const struct frames *f = &w->frames;
	size_t i = f->stack.size;

	if (!i || f->stack.data[i - 1].rsp != rsp)
		return 0;
	while (i > 1 && f->stack.data[i - 2].rsp == rsp)
		i--;
	return f->stack.data[i - 1].return_rip;
}

static struct err *later(struct race_walk *w, uint64_t function, uint8_t does,
			 uint64_t key)
{
	if (map_put(&w->callbacks, function, does) || map_put(&w->once, function, key))
		return &err_nomem;
	return NULL;
}

static struct err *take_block(struct race_walk *w, uint64_t addr, uint64_t rip,
			      uint64_t time)
{
	const uint64_t *bytes = addr ? map_get(&w->blocks, addr) : NULL;
	const struct race_thread *t = race_now(w);
	bool is_users = !t->open.size || t->open.data[t->open.size - 1].is_callback;
	uint64_t n = bytes ? *bytes : 0;
	struct err *err = NULL;

	if (!n)
		return NULL;
	map_remove(&w->blocks, addr);
	is_users &= dec_frames_is_own(&w->frames, rip);
	// Freeing is as good as writing: whoever reads it before, or after, has no right to. Libraries know
	// what they do.
	if (is_users)
		err = fl_race_access(w, time, rip, addr, n, true, false);
	fl_shadow_clear(&w->shadow, addr, n);
	if (is_users && !err)
		err = fl_race_access(w, time, rip, addr, n, true, false);
	return err;
}

/* What is done before the call. */
static struct err *begin(struct race_walk *w, struct race_open *o, uint64_t rip,
			 const uint64_t *gpr, uint64_t time)
{
	uint64_t statement = dec_frames_statement(&w->frames, rip);

	switch (o->does) {
	case RACE_RELEASE:
		return race_release(w, race_key(SPACE_OBJECT, o->key));
	case RACE_UNLOCK:
		return unlock(w, o->key);
	case RACE_WAIT:
		o->more = gpr[CAP_RSI];
		return unlock(w, o->more);
	case RACE_BARRIER:
		o->key = race_key(SPACE_OBJECT, o->key);
		return come_to_barrier(w, o);
	case RACE_ONCE:
		return later(w, gpr[CAP_RSI], RACE_ONCE, o->key);
	case RACE_GUARD:
		return map_put(&w->atomics, o->key, 1) ? &err_nomem : NULL;
	case RACE_FORK:
		return race_release(w, race_key(SPACE_FORK, o->key)) ?:
			       later(w, o->key, RACE_FORK, 0);
	case RACE_TASK:
		return fl_race_make_task(w, o->key) ?: later(w, o->key, RACE_TASK, 0);
	case RACE_NUMBER:
		race_now(w)->has_number = true;
		return NULL;
	case RACE_SPAWN:
		w->has_unknown |= o->more;
		return race_release(w, race_key(SPACE_TASKS, 0));
	case RACE_TAKES:
	case RACE_RESIZES:
		return take_block(w, gpr[CAP_RDI], statement, time);
	default:
		return NULL;
	}
}

/* Does the C library, or the dynamic linker, call it, which is to return to @p rip? What these lock is their own,
 * not the user's; that threads come by there in some order is chance. */
static bool is_of_system(const struct race_walk *w, uint64_t rip)
{
	const char *module = rip ? dec_symbols_module(w->symbols, rip) : NULL;

	if (!module ||
	    (w->frames.exe && !strcmp(module, w->frames.exe))) // linked statically
		return false;
	return (w->library && !strcmp(module, w->library)) ||
	       (w->linker && !strcmp(module, w->linker));
}

struct err *fl_race_enter(struct race_walk *w, uint64_t rip, const uint64_t gpr[16],
			  uint64_t time)
{
	const uint64_t *known = map_get(&w->entries, rip);
	struct race_thread *t = race_now(w);
	const struct race_open *top;
	const struct race_call *c;
	struct race_open o;
	uint64_t back;
	struct err *err;

	// What one of them calls itself is its own affair; but what it allocates is new.
	if (!known)
		return NULL;
	c = &fl_race_calls[*known - 1];
	if (c->does == RACE_UNWINDS) // it does not return
		return race_acquire(w, race_key(SPACE_OBJECT, w->fs_base));
	top = t->open.size ? &t->open.data[t->open.size - 1] : NULL;
	if (top && !top->is_callback && (top->does >= RACE_GIVES || c->does < RACE_GIVES))
		return NULL;
	back = return_of(w, gpr[CAP_RSP]);
	if (c->does <= RACE_WAIT && is_of_system(w, back))
		return NULL;
	o = (struct race_open){ .does = c->does,
				.rsp = gpr[CAP_RSP],
				.key = key_of(w, c, gpr),
				.has_result = c->has_result };
	if (c->does == RACE_GIVES || c->does == RACE_RESIZES)
		o.more = c->which ? gpr[CAP_RSI] : gpr[CAP_RDI];
	if (!strcmp(c->name, "calloc"))
		o.more *= gpr[CAP_RDI];
	if (!strcmp(c->name, "__kmpc_omp_task_alloc"))
		o.more = gpr[CAP_RCX] + gpr[CAP_R8];
	if (c->does == RACE_SPAWN)
		o.more = strstr(c->name, "with_deps") != NULL;
	if (c->does == RACE_JOIN) {
		const uint64_t *thread = map_get(&w->by_base, o.key);

		o.more = thread ? *thread + 1 : 0;
	}
	if (w->is_learning && back &&
	    (o.has_result || c->does == RACE_GIVES || c->does == RACE_RESIZES ||
	     c->does == RACE_SECTION || (c->does == RACE_TASK && o.more)) &&
	    map_put(&w->places, back, 1))
		return &err_nomem;
	err = begin(w, &o, rip, gpr, time);
	return err ? err : vec_add(&race_now(w)->open, o);
}

/* A team of its own has none of the outer one's; who is back in that is taken to know its number. */
static void begin_team(struct race_thread *t)
{
	t->scratch.size = 0;
	t->has_number = t->sections.size;
}

struct err *fl_race_enter_callback(struct race_walk *w, uint64_t rip, uint64_t rsp)
{
	const uint64_t *known = map_get(&w->callbacks, rip);
	struct race_thread *t = race_now(w);
	struct race_open o;
	struct err *err = NULL;

	if (!known)
		return NULL;
	o = (struct race_open){ .does = *known,
				.is_callback = true,
				.rsp = rsp,
				.key = *known == RACE_ONCE ? *map_get(&w->once, rip) :
							     rip,
				.outer = t->team };
	if (o.does == RACE_FORK) {
		err = race_acquire(w, race_key(SPACE_FORK, rip));
		t->team = rip;
		begin_team(t);
	} else if (o.does == RACE_TASK) {
		err = fl_race_begin_task(w, &o);
	}
	return err ? err : vec_add(&t->open, o);
}

/* A function that was called for the user ends. */
static struct err *end_callback(struct race_walk *w, const struct race_open *o)
{
	uint64_t key =
		race_key(o->does == RACE_ONCE ? SPACE_OBJECT : SPACE_ENDED, o->key);

	if (o->does == RACE_TASK)
		return fl_race_end_task(w, o);
	if (o->does == RACE_FORK) {
		struct err *err = fl_race_leave_team(w, o->rsp);

		if (err)
			return err;
		race_now(w)->team = o->outer;
	}
	return race_release(w, key);
}

struct err *fl_race_return(struct race_walk *w, uint64_t rsp)
{
	struct race_thread *t = race_now(w);
	struct err *err = NULL;

	if (t->string_rsp && rsp >= t->string_rsp)
		t->string_rsp = 0;
	while (t->open.size && t->open.data[t->open.size - 1].rsp <= rsp && !err) {
		struct race_open o = t->open.data[--t->open.size];

		if (o.is_callback) {
			err = end_callback(w, &o);
		} else if (o.rsp == rsp) { // else it was left by longjmp, or an exception
			t->pending = o;
			t->has_pending = true;
		}
	}
	return err;
}

static struct err *give_block(struct race_walk *w, uint64_t addr, uint64_t bytes)
{
	if (!addr)
		return NULL;
	fl_shadow_clear(&w->shadow, addr, bytes);
	if (map_put(&w->blocks, addr, bytes))
		return &err_nomem;
	return fl_race_note_scratch(race_now(w), addr);
}

static struct err *order_behind(struct race_walk *w, size_t thread)
{
	const struct race_thread *t = &w->threads.data[thread];

	return t->has_ended ? race_acquire(w, race_key(SPACE_GONE, thread)) :
			      fl_clocks_order(&w->clocks, t->clock, race_now(w)->clock);
}

/* pthread_t is what the thread's fs was. When it was called it may not have run yet; when it ends, another
 * may have its place, if just so. */
static struct err *join_thread(struct race_walk *w, const struct race_open *o)
{
	const uint64_t *now = map_get(&w->by_base, o->key);
	struct err *err = NULL;

	if (now)
		err = order_behind(w, *now);
	if (!err && o->more && (!now || o->more != *now + 1))
		err = order_behind(w, o->more - 1);
	return err;
}

struct err *fl_race_finish(struct race_walk *w, uint64_t result)
{
	struct race_thread *t = race_now(w);
	struct race_open o = t->pending;

	t->has_pending = false;
	if (o.has_result && (uint32_t)result)
		return NULL;
	switch (o.does) {
	case RACE_ACQUIRE:
	case RACE_ONCE:
	case RACE_GUARD:
		return race_acquire(w, race_key(SPACE_OBJECT, o.key));
	case RACE_LOCK:
		return lock(w, o.key, false);
	case RACE_READ_LOCK:
		return lock(w, o.key, true);
	case RACE_WAIT:
		return race_acquire(w, race_key(SPACE_OBJECT, o.key)) ?:
			       lock(w, o.more, false);
	case RACE_BARRIER:
		return pass_barrier(w, &o);
	case RACE_JOIN:
		return join_thread(w, &o);
	case RACE_FORK:
		return race_acquire(w, race_key(SPACE_ENDED, o.key)) ?:
			       race_acquire(w, race_key(SPACE_TASKS_ENDED, 0));
	case RACE_LOADS:
		return race_acquire(w, race_key(SPACE_LOADED, 0)) ?:
			       race_release(w, race_key(SPACE_LOADED, 0));
	case RACE_SECTION:
		return fl_race_next_section(w, (uint32_t)result);
	case RACE_TASKS:
		return o.key ? race_acquire(w, race_key(SPACE_TASKS_ENDED, 0)) :
			       fl_race_wait_tasks(w);
	case RACE_TASK:
		fl_shadow_clear(&w->shadow, result, o.more);
		return NULL;
	case RACE_GIVES:
	case RACE_RESIZES:
		return give_block(w, result, o.more);
	default:
		return NULL;
	}
}

/* ---- the life of threads -------------------------------------------------------------------------- */

size_t fl_race_clock(struct race_walk *w, uint32_t tid, uint64_t key)
{
	size_t ret = fl_clocks_begin(&w->clocks, key);
	struct race_owner owner = { .tid = tid };

	if (ret == SIZE_MAX || (ret == w->owners.size && !vec_push(&w->owners)))
		return SIZE_MAX;
	owner.from = clocks_now(&w->clocks, ret);
	return vec_add(&w->owners.data[ret], owner) ? SIZE_MAX : ret;
}

uint32_t fl_race_tid(const struct race_walk *w, size_t clock, uint32_t time)
{
	const race_owners *owners = &w->owners.data[clock];
	size_t i = vec_rank(owners->size, i, owners->data[i].from <= time);

	return owners->data[i - 1].tid;
}

void fl_race_thread_deinit(struct race_thread *t)
{
	vec_deinit(&t->open);
	vec_deinit(&t->locks);
	vec_deinit(&t->sections);
	vec_deinit(&t->scratch);
}

/* Thread @p tid is another from here on. */
static void forget_ended(struct race_walk *w, uint32_t tid)
{
	const uint64_t *known = map_get(&w->by_tid, tid);

	if (known && w->threads.data[*known].has_ended)
		map_remove(&w->by_tid, tid);
}

/* Another may get its clock: unless it is in a task's, or a section's. */
static struct err *end_thread(struct race_walk *w)
{
	struct race_thread *t = race_now(w);

	if (t->sections.size || vec_find(&t->open, o, o->is_callback))
		return NULL;
	t->has_ended = true;
	fl_race_thread_deinit(t);
	return w->is_learning ? NULL :
				fl_clocks_end(&w->clocks, t->clock,
					      race_key(SPACE_GONE, w->thread));
}

/* ---- system calls ---------------------------------------------------------------------------------- */

/* Does the user's code make the call, by a function of the C library's that does nothing else? */
static uint64_t own_statement(struct race_walk *w, uint64_t rip)
{
	const struct frames *f = &w->frames;
	uint64_t caller =
		f->stack.size ? f->stack.data[f->stack.size - 1].return_rip - 1 : 0;

	if (dec_frames_is_own(&w->frames, rip))
		return rip;
	return caller && dec_frames_is_own(&w->frames, caller) ? caller : 0;
}

/* Signal @p signo, as thread @p tid gets it; 0: as whichever does. */
static uint64_t signal_key(uint32_t tid, uint64_t signo)
{
	return race_key(SPACE_SIGNAL, (uint64_t)tid << 8 | (signo & 0xff));
}

/* @return to whom the call gives what its thread did before it; 0: to nobody. */
static uint64_t given_by(const struct dec_rec *rec)
{
	int64_t result = rec->value[1];
	bool is_begun = rec->value[0] == SYS_connect && result == -EINPROGRESS;

	if (result < 0 && result > -4096 && !is_begun)
		return 0;
	switch (rec->value[0]) {
	case SYS_clone:
	case SYS_clone3:
		return result ? race_key(SPACE_THREAD, result) : 0;
	case SYS_write:
	case SYS_pwrite64:
	case SYS_sendto:
	case SYS_writev:
	case SYS_pwritev:
	case SYS_pwritev2:
	case SYS_sendmsg:
	case SYS_sendmmsg:
	case SYS_connect:
	case SYS_close:
	case SYS_shutdown:
		return rec->value[3] > 2 ? race_key(SPACE_FILES, 0) : 0;
	case SYS_mq_timedsend:
	case SYS_msgsnd:
	case SYS_semop: // a post or a wait: that stands in memory
	case SYS_semtimedop:
		return race_key(SPACE_FILES, 0);
	case SYS_kill:
	case SYS_rt_sigqueueinfo:
		return signal_key(0, rec->value[4]);
	case SYS_tkill:
		return signal_key(rec->value[3], rec->value[4]);
	case SYS_tgkill:
	case SYS_rt_tgsigqueueinfo:
		return signal_key(rec->value[4], rec->value[5]);
	case SYS_rt_sigaction:
		return rec->value[4] ? signal_key(0, rec->value[3]) : 0;
	case SYS_alarm:
	case SYS_setitimer:
	case SYS_timer_settime:
		return signal_key(0, 0);
	default:
		return 0;
	}
}

/* .. of which a signal may come by a file, too, and a thread may have the number of one that has ended. */
static struct err *give(struct race_walk *w, uint64_t key)
{
	size_t clock = race_now(w)->clock;

	if (key % RACE_SPACES == SPACE_THREAD)
		forget_ended(w, key / RACE_SPACES);
	if (key % RACE_SPACES == SPACE_SIGNAL) {
		struct err *err =
			fl_clocks_tell(&w->clocks, clock, race_key(SPACE_FILES, 0));

		if (err)
			return err;
	}
	return fl_clocks_tell(&w->clocks, clock, key);
}

/* The call has ended; to whom it gave, where its thread was left in it, is to be known there in the next replay: others
 * may have had it before it ended. */
static struct err *end_giving(struct race_walk *w, const struct dec_rec *rec)
{
	struct race_thread *t = race_now(w);
	uint64_t key = given_by(rec), left_at = t->left_at;
	struct err *err;

	t->left_at = 0;
	if (!key)
		return NULL;
	if (w->is_learning && left_at && map_put(&w->given, left_at, key))
		return &err_nomem;
	err = left_at && !w->is_learning ? NULL : give(w, key); // it has been given
	fl_clocks_tick(&w->clocks, t->clock);
	return err;
}

struct err *fl_race_take_signal(struct race_walk *w, uint64_t signo)
{
	return race_acquire(w, signal_key(0, 0)) ?: // by a timer
		       race_acquire(w, signal_key(0, signo)) ?:
		       race_acquire(w, signal_key(race_now(w)->tid, signo));
}

/* Of files, pipes, sockets and queues who reads may have got what somebody wrote. */
static struct err *take(struct race_walk *w)
{
	return race_acquire(w, race_key(SPACE_FILES, 0));
}

/* The call reads, or writes, the user's bytes. */
static struct err *access_buffer(struct race_walk *w, const struct dec_rec *rec,
				 uint64_t time, bool is_write)
{
	uint64_t statement = own_statement(w, rec->value[2]);

	return statement ? fl_race_access(w, time, statement, rec->value[4],
					  rec->value[1], is_write, false) :
			   NULL;
}

#define FUTEX_OPERATION 0x7f

static struct err *futex(struct race_walk *w, const struct dec_rec *rec)
{
	uint64_t key = race_key(SPACE_OBJECT, rec->value[3]);
	bool is_wait = (rec->value[4] & FUTEX_OPERATION) == 0 ||
		       (rec->value[4] & FUTEX_OPERATION) == 9;

	if (!own_statement(w, rec->value[2]))
		return NULL;
	return is_wait ? race_acquire(w, key) : race_release(w, key);
}

static struct err *map_memory(struct race_walk *w, uint64_t addr, uint64_t size,
			      bool is_stack)
{
	size_t n = 0;

	fl_shadow_clear(&w->shadow, addr, size);
	for (size_t i = 0; i < w->stacks.size; i++) {
		struct dec_range s = w->stacks.data[i];

		if (s.end <= addr || s.start >= addr + size)
			w->stacks.data[n++] = s;
	}
	w->stacks.size = n;
	return is_stack ? vec_add(&w->stacks, (struct dec_range){ .start = addr,
								  .end = addr + size }) :
			  NULL;
}

/* What an answered call takes. */
static struct err *end_taking(struct race_walk *w, const struct dec_rec *rec,
			      uint64_t time)
{
	int64_t result = rec->value[1];

	if (result < 0 && result > -4096)
		return rec->value[0] == SYS_futex ? futex(w, rec) : NULL;
	switch (rec->value[0]) {
	case SYS_clone:
	case SYS_clone3:
		w->has_made = true;
		return NULL;
	case SYS_exit:
		return end_thread(w);
	case SYS_futex:
		return futex(w, rec);
	case SYS_mmap:
		return map_memory(w, result, rec->value[4], rec->value[6] & MAP_STACK);
	case SYS_munmap:
		return map_memory(w, rec->value[3], rec->value[4], false);
	case SYS_read:
	case SYS_pread64:
	case SYS_recvfrom:
		return take(w) ?: access_buffer(w, rec, time, true);
	case SYS_readv:
	case SYS_preadv:
	case SYS_preadv2:
	case SYS_recvmsg:
	case SYS_recvmmsg:
	case SYS_mq_timedreceive:
	case SYS_msgrcv:
	case SYS_semop:
	case SYS_semtimedop:
	case SYS_poll:
	case SYS_ppoll:
	case SYS_select:
	case SYS_pselect6:
	case SYS_epoll_wait:
	case SYS_epoll_pwait:
	case SYS_epoll_pwait2:
	case SYS_accept:
	case SYS_accept4:
		return take(w);
	case SYS_rt_sigtimedwait:
		return fl_race_take_signal(w, result);
	case SYS_write:
	case SYS_pwrite64:
	case SYS_sendto:
		return access_buffer(w, rec, time, false);
	default:
		return NULL;
	}
}

struct err *fl_race_syscall(struct race_walk *w, const struct dec_rec *rec, uint64_t time)
{
	struct err *err = end_taking(w, rec, time);

	return err ? err : end_giving(w, rec);
}

/* ---- threads -------------------------------------------------------------------------------------- */

/* A new one runs. Where its maker never returns from the call, whoever is in one may be it. */
static struct err *start_thread(struct race_walk *w, uint32_t tid)
{
	uint64_t key = race_key(SPACE_THREAD, tid);
	bool is_known = map_get(&w->clocks.known, key);
	struct err *err = NULL;

	// While it learns who makes whom is not known: all have the first one's.
	if (w->is_learning && w->thread)
		return NULL;
	for (size_t i = 0; i < w->thread && !is_known && !err; i++)
		if (w->threads.data[i].is_in_call)
			err = fl_clocks_release(&w->clocks, w->threads.data[i].clock,
						key);
	race_now(w)->clock = err ? SIZE_MAX : fl_race_clock(w, tid, key);
	fl_clocks_forget(&w->clocks, key);
	return race_now(w)->clock == SIZE_MAX ? &err_nomem : NULL;
}

/* The thread does not run for a while. */
static struct err *leave_thread(struct race_walk *w, bool is_in_call)
{
	struct race_thread *t = race_now(w);
	const uint64_t *given;

	t->is_in_call = is_in_call && !t->has_ended;
	if (!t->is_in_call || t->left_at)
		return NULL;
	t->left_at = w->n_switches;
	given = map_get(&w->given, t->left_at);
	return given ? give(w, *given) : NULL;
}

struct err *fl_race_switch(struct race_walk *w, uint32_t tid, bool is_left_in_call)
{
	struct err *err = dec_frames_switch(&w->frames, tid);
	const uint64_t *known;
	struct race_thread *t;

	w->n_switches++;
	if (!err && w->threads.size)
		err = leave_thread(w, is_left_in_call);
	if (err)
		return err;
	known = map_get(&w->by_tid, tid);
	if (known) {
		w->thread = *known;
		race_now(w)->is_in_call = false;
		return NULL;
	}
	t = vec_push(&w->threads);
	if (!t || map_put(&w->by_tid, tid, w->threads.size - 1))
		return &err_nomem;
	t->tid = tid;
	w->thread = w->threads.size - 1;
	return start_thread(w, tid);
}
