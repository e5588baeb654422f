// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#define LOG_ROOM "decode"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "decode/machine/child.h"
#include "decode/machine/interrupts.h"

// A collision of addresses is a matter of luck: a few fresh processes settle it.
#define MACHINE_TRIES 8

struct machine_checkpoint {
	uint64_t position;
	uint32_t slot;
};

struct dec_machine {
	const struct capture *capture;
	struct dec_machine_options options;
	struct child_shared *shared;
	int shared_fd;
	uint32_t active;			    ///< slot of the child that runs
	pid_t pid[CHILD_SLOTS];			    ///< 0: free
	VEC(struct machine_checkpoint) checkpoints; ///< ascending
	enum dec_log_mode mode;
	dec_log_fn log_fn;
	void *log_ctx;
	int log_next; ///< which buffer the child fills next
	VEC(uint64_t) breaks;
	VEC(pid_t) dying; ///< branches' processes that have answered
	VEC(uint64_t) watches;
	struct dec_where where;
};

static void machine_wake(_Atomic uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* ---- talking to the child ---------------------------------------------------------------- */

static struct err *machine_consume(struct dec_machine *m, struct err *err)
{
	_Atomic uint32_t *bytes = &m->shared->log_bytes[m->log_next];
	uint32_t n = atomic_load(bytes);

	if (!n)
		return err;
	if (!err && m->log_fn && n <= CHILD_LOG_BYTES)
		err = m->log_fn(m->log_ctx, m->shared->log[m->log_next], n);
	m->log_next ^= 1;
	atomic_store(bytes, 0);
	machine_wake(bytes);
	return err;
}

static struct err *machine_death(struct dec_machine *m, int status)
{
	m->pid[m->active] = 0;
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS)
		return err_new(ERR_DIVERGED,
			       "the machine's process tried a system call that "
			       "its sandbox forbids");
	if (WIFSIGNALED(status))
		return err_new(ERR_OS,
			       "the machine's process was killed by signal %d (%s)",
			       WTERMSIG(status), strsignal(WTERMSIG(status)));
	return err_new(ERR_OS, "the machine's process ended with status %d",
		       WEXITSTATUS(status));
}

static void machine_progress(struct dec_machine *m)
{
	struct dec_where w = m->where;

	if (!m->options.progress)
		return;
	w.position = atomic_load(&m->shared->position);
	m->options.progress(m->options.progress_ctx, &w);
}

/* Wait until the child of slot @p s has answered; consume its log meanwhile. */
static struct err *machine_await(struct dec_machine *m, uint32_t s)
{
	static const struct timespec tick = { .tv_nsec = 100 * 1000 * 1000 };
	struct child_slot *slot = &m->shared->slot[s];
	struct err *err = NULL;

	for (;;) {
		uint32_t bell = atomic_load(&m->shared->bell);
		bool is_done = atomic_load(&slot->request) == CHILD_NONE;
		int status;

		err = machine_consume(m, err);
		if (is_done) {
			// Both buffers may have been full when the answer came.
			err = machine_consume(m, err);
			return err;
		}
		if (!syscall(SYS_futex, &m->shared->bell, FUTEX_WAIT, bell, &tick, NULL,
			     0) ||
		    errno != ETIMEDOUT)
			continue;
		machine_progress(m);
		if (waitpid(m->pid[s], &status, WNOHANG) == m->pid[s]) {
			err_destroy(err);
			return machine_death(m, status);
		}
	}
}

static struct child_slot *machine_post(struct dec_machine *m, uint32_t command,
				       uint64_t a, uint64_t b)
{
	struct child_slot *slot = &m->shared->slot[m->active];

	slot->arg[0] = a;
	slot->arg[1] = b;
	atomic_store(&slot->request, command);
	machine_wake(&slot->request);
	return slot;
}

static struct err *machine_ask(struct dec_machine *m, uint32_t command, uint64_t a,
			       uint64_t b, struct child_slot **ret)
{
	if (!m->pid[m->active])
		return err_new(ERR_OS, "the machine's process is gone");
	*ret = machine_post(m, command, a, b);
	return machine_await(m, m->active);
}

/* ---- starting ------------------------------------------------------------------------------ */

static struct err *machine_spawn(struct dec_machine *m, struct child_slot **ret)
{
	char fd_text[16], out_text[16], places_text[16];
	char *argv[] = { dec_child_name,
			 fd_text,
			 (char *)capture_dir(m->capture),
			 out_text,
			 m->options.stops_at_maps ? "1" : "0",
			 places_text,
			 NULL };
	struct child_slot *slot = &m->shared->slot[0];
	pid_t pid;

	snprintf(fd_text, sizeof(fd_text), "%d", m->shared_fd);
	snprintf(out_text, sizeof(out_text), "%d", m->options.output_fd);
	snprintf(places_text, sizeof(places_text), "%d",
		 dec_interrupts_fd(m->options.interrupts));
	m->active = 0;
	m->log_next = 0;
	atomic_store(&m->shared->log_bytes[0], 0);
	atomic_store(&m->shared->log_bytes[1], 0);
	atomic_store(&slot->request, CHILD_RUN); // until it has answered
	pid = vfork();
	if (pid < 0)
		return err_errno("cannot start the machine's process");
	if (!pid) {
		// Capabilities of the file (setcap) are for recording, not for the guest.
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		execv("/proc/self/exe", argv);
		_exit(125);
	}
	m->pid[0] = pid;
	*ret = slot;
	return machine_await(m, 0);
}

static void machine_reap(struct dec_machine *m, uint32_t s)
{
	if (!m->pid[s])
		return;
	kill(m->pid[s], SIGKILL);
	waitpid(m->pid[s], NULL, 0);
	m->pid[s] = 0;
}

static void machine_stop_all(struct dec_machine *m)
{
	for (uint32_t s = 0; s < CHILD_SLOTS; s++)
		machine_reap(m, s);
	m->checkpoints.size = 0;
}

static struct err *machine_no_room(void)
{
	return err_new(ERR_UNSUPPORTED,
		       "the program's addresses leave the machine no room");
}

static struct err *machine_start(struct dec_machine *m)
{
	struct child_slot *slot = NULL;
	struct err *err;

	for (int tries = 0; tries < MACHINE_TRIES; tries++) {
		machine_stop_all(m);
		err = machine_spawn(m, &slot);
		if (err)
			return err;
		if (slot->result == CHILD_OK) {
			m->where = slot->where;
			return NULL;
		}
		machine_reap(m, 0);
		if (slot->result == CHILD_FAILED)
			return err_new(slot->err_code, "%s", slot->text);
		log_info(
			"addresses collide with the program's: starting the machine again");
	}
	return machine_no_room();
}

/* A fresh child stands at 0: bring breakpoints, watches and the log mode back. */
static struct err *machine_restart(struct dec_machine *m)
{
	struct child_slot *slot;
	struct err *err = machine_start(m);

	for (size_t i = 0; !err && i < m->watches.size; i++)
		err = machine_ask(m, CHILD_WATCH, m->watches.data[i], 0, &slot);
	for (size_t i = 0; !err && i < m->breaks.size; i++)
		err = machine_ask(m, CHILD_BREAK, m->breaks.data[i], 1, &slot);
	return err;
}

struct err *dec_machine_create(const struct capture *c,
			       const struct dec_machine_options *o,
			       struct dec_machine **ret)
{
	_cleanup_(dec_machine_destroyp) struct dec_machine *m = calloc(1, sizeof(*m));
	struct err *err;

	if (!m)
		return &err_nomem;
	m->capture = c;
	m->options.output_fd = -1;
	if (o)
		m->options = *o;
	m->shared_fd = memfd_create(dec_child_name, 0); // inherited by the child's exec
	if (m->shared_fd < 0 || ftruncate(m->shared_fd, sizeof(*m->shared)))
		return err_errno("cannot make shared memory for the machine");
	m->shared = mmap(NULL, sizeof(*m->shared), PROT_READ | PROT_WRITE, MAP_SHARED,
			 m->shared_fd, 0);
	if (m->shared == MAP_FAILED) {
		m->shared = NULL;
		return err_errno("cannot map shared memory for the machine");
	}
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
	machine_stop_all(m);
	if (m->shared)
		munmap(m->shared, sizeof(*m->shared));
	if (m->shared_fd > 0)
		close(m->shared_fd);
	vec_deinit(&m->checkpoints);
	vec_deinit(&m->breaks);
	vec_deinit(&m->dying);
	vec_deinit(&m->watches);
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
	struct child_slot *slot;

	m->mode = mode;
	m->log_fn = fn;
	m->log_ctx = ctx;
	return machine_ask(m, CHILD_MODE, mode, 0, &slot);
}

struct err *dec_machine_break(struct dec_machine *m, uint64_t rip, bool is_on)
{
	struct child_slot *slot;
	size_t i = 0;

	while (i < m->breaks.size && m->breaks.data[i] != rip)
		i++;
	if (is_on && i == m->breaks.size) {
		uint64_t *b = vec_push(&m->breaks);

		if (!b)
			return &err_nomem;
		*b = rip;
	} else if (!is_on && i < m->breaks.size) {
		m->breaks.data[i] = m->breaks.data[--m->breaks.size];
	}
	return machine_ask(m, CHILD_BREAK, rip, is_on, &slot);
}

struct err *dec_machine_log_regs_at(struct dec_machine *m, uint64_t rip)
{
	struct child_slot *slot;
	uint64_t *w = vec_push(&m->watches);

	if (!w)
		return &err_nomem;
	*w = rip;
	return machine_ask(m, CHILD_WATCH, rip, 0, &slot);
}

/* The program mapped memory where the child has its own. A fresh child, whose addresses
 * differ, runs silently to where this one stopped: before the system call, none of which
 * was logged. */
static struct err *machine_evade(struct dec_machine *m)
{
	uint64_t position = m->shared->slot[m->active].where.position;
	struct child_slot *slot = NULL;
	struct err *err;

	for (int tries = 0; tries < MACHINE_TRIES; tries++) {
		log_info(
			"addresses collide with the program's: starting the machine again");
		err = machine_restart(m);
		do {
			if (!err)
				err = machine_ask(m, CHILD_RUN, position, 0, &slot);
			if (err)
				return err;
		} while (slot->result == CHILD_STOPPED && slot->where.at == DEC_AT_MAP);
		if (slot->result == CHILD_STOPPED)
			return machine_ask(m, CHILD_MODE, m->mode, 0, &slot);
	}
	return machine_no_room();
}

struct err *dec_machine_run(struct dec_machine *m, uint64_t position,
			    struct dec_where *ret)
{
	uint64_t evaded = UINT64_MAX;
	struct child_slot *slot;
	int tries = 0;
	struct err *err;

	for (;;) {
		err = machine_ask(m, CHILD_RUN, position, 0, &slot);
		if (err)
			return err;
		if (slot->result != CHILD_COLLIDED)
			break;
		// The same call again: what it maps may never be free (ours may lie where
		// they must, as a sanitizer's do).
		tries = slot->where.position == evaded ? tries + 1 : 0;
		if (tries == MACHINE_TRIES)
			return machine_no_room();
		evaded = slot->where.position;
		err = machine_evade(m);
		if (err)
			return err;
	}
	m->where = *ret = slot->where;
	return NULL;
}

/* ---- back and forth ------------------------------------------------------------------------------ */

static uint32_t machine_free_slot(const struct dec_machine *m)
{
	for (uint32_t s = 0; s < CHILD_SLOTS; s++) {
		if (!m->pid[s])
			return s;
	}
	return UINT32_MAX;
}

/* Fork the child of slot @p from into a free slot and make the fork the running one. */
static struct err *machine_fork(struct dec_machine *m, uint32_t from)
{
	uint32_t to = machine_free_slot(m);
	struct child_slot *slot;
	struct err *err;

	assert(to != UINT32_MAX && "a slot is kept free for the successor");
	atomic_store(&m->shared->slot[to].request, CHILD_RUN);
	m->active = from;
	err = machine_ask(m, CHILD_FORK, to, 0, &slot);
	if (err)
		return err;
	if (slot->result != CHILD_OK)
		return err_new(ERR_OS, "cannot fork the machine's process");
	m->pid[to] = slot->forked;
	m->active = to; // whose death it is, if it dies
	err = machine_await(m, to);
	if (err)
		return err;
	if (m->shared->slot[to].result != CHILD_OK)
		return err_new(m->shared->slot[to].err_code, "%s",
			       m->shared->slot[to].text);
	// A checkpoint goes on with the buffer that was next when it was made.
	m->log_next = m->shared->slot[to].log_buffer & 1;
	return NULL;
}

/* Give up the checkpoint whose loss costs least: the one whose neighbours are closest. */
static void machine_thin(struct dec_machine *m)
{
	size_t best = 0;
	uint64_t best_gap = UINT64_MAX;

	for (size_t i = 0; i + 1 < m->checkpoints.size; i++) {
		uint64_t before = i ? m->checkpoints.data[i - 1].position : 0;
		uint64_t gap = m->checkpoints.data[i + 1].position - before;

		if (gap < best_gap) {
			best_gap = gap;
			best = i;
		}
	}
	machine_reap(m, m->checkpoints.data[best].slot);
	memmove(&m->checkpoints.data[best], &m->checkpoints.data[best + 1],
		(m->checkpoints.size - best - 1) * sizeof(m->checkpoints.data[0]));
	m->checkpoints.size--;
}

struct err *dec_machine_checkpoint(struct dec_machine *m)
{
	struct machine_checkpoint made = { m->where.position, m->active };
	struct err *err;
	size_t i = 0;

	while (i < m->checkpoints.size && m->checkpoints.data[i].position < made.position)
		i++;
	if (i < m->checkpoints.size && m->checkpoints.data[i].position == made.position)
		return NULL;
	if (m->checkpoints.size == CHILD_SLOTS - 2) {
		machine_thin(m);
		return dec_machine_checkpoint(m);
	}
	err = machine_fork(m, m->active);
	if (err)
		return err;
	if (!vec_push(&m->checkpoints))
		return &err_nomem;
	memmove(&m->checkpoints.data[i + 1], &m->checkpoints.data[i],
		(m->checkpoints.size - i - 1) * sizeof(made));
	m->checkpoints.data[i] = made;
	return NULL;
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
	struct child_slot *slot;
	struct err *err = NULL;
	uint32_t old = m->active;

	while (i && m->checkpoints.data[i - 1].position > position)
		i--;
	if (position < m->where.position ||
	    (i && m->checkpoints.data[i - 1].position > m->where.position)) {
		if (i) {
			err = machine_fork(m, m->checkpoints.data[i - 1].slot);
			if (!err)
				machine_reap(m, old);
			m->where.position = m->checkpoints.data[i - 1].position;
		} else {
			err = machine_restart(m);
		}
		if (!err)
			err = machine_ask(m, CHILD_MODE, m->mode, 0, &slot);
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

/** A branch that is queued or runs. */
struct machine_run {
	struct dec_branch *branch;
	uint32_t slot;
};

/* The branch of @p run is over, or dead: what became of it. */
static void machine_end_branch(struct dec_machine *m, const struct machine_run *run)
{
	struct child_slot *slot = &m->shared->slot[run->slot];
	bool has_answered = atomic_load(&slot->request) == CHILD_NONE;
	struct dec_outcome *ret = &run->branch->outcome;
	int status = 0;

	// Giving back its memory takes it as long as its run: that is not waited for.
	if (slot->forked > 0 && (!has_answered || !vec_add(&m->dying, slot->forked)))
		waitpid(slot->forked, &status, 0);
	*ret = (struct dec_outcome){ .fate = DEC_FATE_MACHINE, .parted = UINT64_MAX };
	if (has_answered && slot->result == CHILD_OK) {
		memcpy(ret, slot->data, sizeof(*ret));
		ret->text[sizeof(ret->text) - 1] = 0;
	} else {
		snprintf(ret->text, sizeof(ret->text),
			 "the branch's process ended (wait status %#x)", status);
		atomic_store(&slot->request, CHILD_NONE); // the queue goes on
	}
}

/* Collect those that have answered and are gone; @p flags: WNOHANG, or 0 to wait for all. */
static void machine_bury(struct dec_machine *m, int flags)
{
	for (size_t i = 0; i < m->dying.size; i++)
		if (waitpid(m->dying.data[i], NULL, flags))
			m->dying.data[i--] = m->dying.data[--m->dying.size];
}

/* @return whether the branch in @p slot is over. A fork may be over before its maker has said
 * that it is there. */
static bool machine_is_over(const struct child_slot *slot)
{
	siginfo_t info = {};

	return slot->forked &&
	       (atomic_load(&slot->request) == CHILD_NONE ||
		(!waitid(P_PID, slot->forked, &info, WEXITED | WNOHANG | WNOWAIT) &&
		 info.si_pid));
}

/* Queue as many of the @p n branches as there are free slots, and have the child run them. */
static size_t machine_queue(struct dec_machine *m, struct dec_branch *branches, size_t n,
			    unsigned at_once, struct machine_run run[CHILD_SLOTS])
{
	size_t queued = 0;

	for (uint32_t s = 0; s < CHILD_SLOTS && queued < n; s++) {
		struct child_slot *slot = &m->shared->slot[s];
		const struct dec_branch *b = &branches[queued];
		struct child_branch *what = (struct child_branch *)slot->data;

		if (m->pid[s])
			continue;
		*what = (struct child_branch){ .limit = b->limit, .n = b->n };
		if (b->n)
			memcpy(what->alters, b->alters, b->n * sizeof(*b->alters));
		slot->forked = 0;
		atomic_store(&slot->request, CHILD_RUN);
		run[queued] = (struct machine_run){ &branches[queued], s };
		m->shared->queue[queued++] = s;
	}
	machine_post(m, CHILD_BRANCH, queued, at_once ?: 1);
	return queued;
}

/* Run those that were queued to their ends. */
static struct err *machine_run_queue(struct dec_machine *m, struct machine_run *run,
				     size_t n)
{
	static const struct timespec tick = { .tv_nsec = 100 * 1000 * 1000 };
	struct child_slot *slot = &m->shared->slot[m->active];
	int status;

	for (;;) {
		uint32_t bell = atomic_load(&m->shared->bell);
		bool is_done = atomic_load(&slot->request) == CHILD_NONE;

		machine_bury(m, WNOHANG);
		for (size_t i = 0; i < n; i++)
			if (machine_is_over(&m->shared->slot[run[i].slot])) {
				machine_end_branch(m, &run[i]);
				run[i--] = run[--n];
			}
		if (is_done && (!n || slot->result != CHILD_OK))
			return n ? err_new(slot->err_code ?: ERR_OS, "cannot branch: %s",
					   slot->text) :
				   NULL;
		if (syscall(SYS_futex, &m->shared->bell, FUTEX_WAIT, bell, &tick, NULL,
			    0) &&
		    errno == ETIMEDOUT &&
		    waitpid(m->pid[m->active], &status, WNOHANG) == m->pid[m->active])
			return machine_death(m, status);
	}
}

struct err *dec_machine_branches(struct dec_machine *m, struct dec_branch *branches,
				 size_t n, unsigned at_once)
{
	struct machine_run run[CHILD_SLOTS];
	struct err *err = NULL;

	for (size_t i = 0; i < n && !err; i++)
		err = machine_check_branch(&branches[i]);
	for (size_t i = 0, queued; i < n && !err; i += queued) {
		queued = machine_queue(m, &branches[i], n - i, at_once, run);
		err = machine_run_queue(m, run, queued);
	}
	machine_bury(m, 0);
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

/* ---- looking -------------------------------------------------------------------------------------- */

struct err *dec_machine_regs(struct dec_machine *m, struct cap_regs *ret)
{
	struct child_slot *slot;
	struct err *err = machine_ask(m, CHILD_REGS, 0, 0, &slot);

	if (!err)
		*ret = slot->regs;
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
	struct child_slot *slot;
	struct err *err = machine_ask(m, CHILD_REG, reg, tid, &slot);

	if (err)
		return err;
	if (slot->result != CHILD_OK)
		return err_new(ERR_RANGE, "there is no thread %u at this position", tid);
	memcpy(buf, slot->data, slot->data_bytes);
	*ret_bytes = slot->data_bytes;
	return NULL;
}

struct err *dec_machine_read(struct dec_machine *m, uint64_t addr, void *buf, size_t size)
{
	struct child_slot *slot;

	for (size_t at = 0; at < size; at += CHILD_DATA_BYTES) {
		size_t n = size - at < CHILD_DATA_BYTES ? size - at : CHILD_DATA_BYTES;
		struct err *err = machine_ask(m, CHILD_READ, addr + at, n, &slot);

		if (err)
			return err;
		if (slot->result != CHILD_OK)
			return err_new(ERR_RANGE, "no memory at %#lx at this position",
				       addr + at);
		memcpy((uint8_t *)buf + at, slot->data, n);
	}
	return NULL;
}

struct err *dec_machine_range(struct dec_machine *m, size_t i, struct dec_range *ret)
{
	struct child_slot *slot;
	struct err *err = machine_ask(m, CHILD_RANGE, i, 0, &slot);

	if (err)
		return err;
	if (slot->result != CHILD_OK)
		return err_new(ERR_RANGE, "the guest has fewer than %zu mappings", i + 1);
	memcpy(ret, slot->data, sizeof(*ret));
	return NULL;
}

struct err *dec_machine_thread(struct dec_machine *m, size_t i, struct dec_thread *ret)
{
	struct child_slot *slot;
	struct err *err = machine_ask(m, CHILD_THREAD, i, 0, &slot);

	if (err)
		return err;
	if (slot->result != CHILD_OK)
		return err_new(ERR_RANGE, "the guest has fewer than %zu threads", i + 1);
	memcpy(ret, slot->data, sizeof(*ret));
	return NULL;
}

const char *dec_machine_divergence(struct dec_machine *m)
{
	const char *text = m->shared->slot[m->active].text;

	return (m->where.at == DEC_AT_DIVERGENCE || m->where.is_cut) && *text ? text :
										NULL;
}

const char *dec_machine_notes(struct dec_machine *m)
{
	const char *text = m->shared->slot[m->active].notes;

	return *text ? text : NULL;
}

const struct dec_divergence *dec_machine_parted(struct dec_machine *m)
{
	return m->where.at == DEC_AT_DIVERGENCE ? &m->shared->slot[m->active].parted :
						  NULL;
}

const char *dec_machine_isa(const struct dec_machine *m, unsigned i)
{
	const uint64_t *isa = m->shared->slot[m->active].isa;

	for (unsigned n = 0; n < 256; n++) {
		if ((isa[n >> 6] >> (n & 63) & 1) && !i--)
			return dec_insn_isa_name(n);
	}
	return NULL;
}
