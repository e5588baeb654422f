// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#define LOG_ROOM "decode"

#include "decode/machine/wire.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "confine/confine.h"
#include "decode/machine/interrupts.h"

struct dec_wire {
	struct child_spin spin; ///< while it waits for answers
	const struct capture *capture;
	const struct dec_machine_options *options;
	struct confine *group;
	struct child_shared *shared;
	int shared_fd;
	uint32_t active;	   ///< slot of the process that runs
	int32_t pid[CHILD_SLOTS];  ///< as the group knows them; 0: free
	bool is_dead[CHILD_SLOTS]; ///< what had that id has ended
	int status[CHILD_SLOTS];   ///< of the dead
	dec_log_fn log_fn;
	void *log_ctx;
	int log_next; ///< which buffer the child fills next
	struct dec_answer answer;
	uint8_t log[CHILD_LOG_BYTES];
	unsigned n_starts;
};

static void wire_wake(_Atomic uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* @return false: nobody rang for a tenth of a second. */
static bool wire_wait(struct dec_wire *w, uint32_t bell)
{
	static const struct timespec tick = { .tv_nsec = 100 * 1000 * 1000 };

	return !syscall(SYS_futex, &w->shared->bell, FUTEX_WAIT, bell, &tick, NULL, 0) ||
	       errno != ETIMEDOUT;
}

/* ---- what comes out of the shared memory ----------------------------------------------- */

/* Texts are short, and their buffers are not: a copy up to the end. Some control characters are
 * styles of ours to a terminal's guard (base/text.h): none is a stranger's. */
static void take_text(char *to, const char *from, size_t size)
{
	memccpy(to, from, 0, size);
	to[size - 1] = 0;
	for (; *to; to++)
		if ((*to < ' ' && *to > 0 && *to != '\n') || *to == 0x7f)
			*to = '?';
}

/* Some byte may be there: 0 or 1 is what a bool is. */
static void take_bool(bool *b)
{
	unsigned char byte;

	memcpy(&byte, b, 1);
	*b = byte != 0;
}

static bool is_where(const struct dec_wire *w, struct dec_where *at)
{
	take_bool(&at->is_cut);
	return at->at <= DEC_AT_DIVERGENCE && at->end <= CAP_END_EXEC &&
	       at->position <= INT64_MAX && at->instructions <= at->position &&
	       (at->at != DEC_AT_MAP ||
		at->map.file - 1u < capture_info(w->capture)->n_files);
}

static bool is_parting(struct dec_divergence *d)
{
	take_bool(&d->has_agreed);
	return d->parting <= DEC_PARTED_MACHINE && d->event < CAP_EV_KINDS &&
	       d->reg < CAP_GPRS;
}

static struct err *wire_distrust(void)
{
	return err_new(ERR_FORMAT,
		       "the machine's process gives an answer that cannot be: the "
		       "capture is damaged, or made to do harm");
}

static struct err *take_answer(struct dec_wire *w, uint32_t s)
{
	const struct child_slot *from = &w->shared->slot[s];
	struct dec_answer *to = &w->answer;

	to->result = from->result;
	to->err_code = from->err_code;
	to->reg_bytes = from->reg_bytes;
	to->touched_bytes = from->touched_bytes;
	to->peak_bytes = from->peak_bytes;
	to->guest_bytes = from->guest_bytes;
	to->is_written = from->is_written;
	memcpy(&to->where, &from->where, sizeof(to->where));
	memcpy(&to->parted, &from->parted, sizeof(to->parted));
	memcpy(to->isa, from->isa, sizeof(to->isa));
	memcpy(&to->regs, &from->regs, sizeof(to->regs));
	take_text(to->text, from->text, sizeof(to->text));
	take_text(to->notes, from->notes, sizeof(to->notes));
	if (to->result > CHILD_NOT_THERE || to->err_code > ERR_SPEC ||
	    to->reg_bytes > CHILD_REG_BYTES || !is_where(w, &to->where) ||
	    !is_parting(&to->parted))
		return wire_distrust();
	return NULL;
}

/* The buffer is the child's again before its copy is read. */
static struct err *take_log(struct dec_wire *w, struct err *err)
{
	_Atomic uint32_t *bytes = &w->shared->log_bytes[w->log_next];
	uint32_t n = atomic_load(bytes);

	if (!n)
		return err;
	if (!err && n > CHILD_LOG_BYTES)
		err = wire_distrust();
	if (!err && w->log_fn)
		memcpy(w->log, w->shared->log[w->log_next], n);
	w->log_next ^= 1;
	atomic_store(bytes, 0);
	wire_wake(bytes);
	return !err && w->log_fn ? w->log_fn(w->log_ctx, w->log, n) : err;
}

/* ---- asking -------------------------------------------------------------------------------- */

static struct err *wire_death(int status)
{
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS)
		return err_new(ERR_DIVERGED,
			       "the machine's process tried a system call that "
			       "its sandbox forbids");
	// We are told of no end that we asked for.
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
		return err_new(ERR_OS, "the machine's process was killed, perhaps for "
				       "want of memory");
	if (WIFSIGNALED(status))
		return err_new(ERR_OS, "the machine's process was killed by %s",
			       text_signal(WTERMSIG(status)));
	return err_new(ERR_OS, "the machine's process ended with status %d",
		       WEXITSTATUS(status));
}

static struct err *wire_gone(void)
{
	return err_new(ERR_OS, "the machine's processes are gone");
}

/* @return why there is nobody to ask; NULL: there is, as far as we have heard. */
static struct err *wire_lost(const struct dec_wire *w)
{
	if (w->is_dead[w->active])
		return wire_death(w->status[w->active]);
	return w->pid[w->active] ? NULL : wire_gone();
}

static void wire_progress(struct dec_wire *w)
{
	struct dec_where at = w->answer.where;

	if (!w->options->progress)
		return;
	at.position = atomic_load(&w->shared->position);
	w->options->progress(w->options->ctx, &at);
}

/* A process has ended: a checkpoint is missed later, when it is asked. */
static void wire_note(struct dec_wire *w, const struct confine_end *end)
{
	for (uint32_t s = 0; s < CHILD_SLOTS; s++)
		if (w->pid[s] == end->pid && !w->is_dead[s]) {
			w->is_dead[s] = true;
			w->status[s] = end->status;
		}
}

/* @return whether the group is there. */
static bool wire_hear(struct dec_wire *w)
{
	struct confine_end end;
	bool is_gone;

	while (confine_next_end(w->group, &end, &is_gone))
		wire_note(w, &end);
	return !is_gone;
}

/* @return why the process in slot @p s is gone; NULL: it is there. */
static struct err *wire_check(struct dec_wire *w, uint32_t s)
{
	bool is_there = wire_hear(w);

	if (w->is_dead[s])
		return wire_death(w->status[s]);
	return is_there ? NULL : wire_gone();
}

/* Wait until the process in slot @p s has answered; take its log meanwhile. */
static struct err *wire_await(struct dec_wire *w, uint32_t s)
{
	struct child_slot *slot = &w->shared->slot[s];
	struct err *err = NULL, *death;

	child_spin(&w->spin, &slot->request, CHILD_NONE, true);
	for (;;) {
		uint32_t bell = atomic_load(&w->shared->bell);
		bool is_done = atomic_load(&slot->request) == CHILD_NONE;

		err = take_log(w, err);
		if (is_done) {
			// Both buffers may have been full when the answer came.
			err = take_log(w, err);
			return err ?: take_answer(w, s);
		}
		if (wire_wait(w, bell))
			continue;
		wire_progress(w);
		death = wire_check(w, s);
		if (death) {
			err_destroy(err);
			return death;
		}
	}
}

static void wire_post(struct dec_wire *w, uint32_t command, uint64_t a, uint64_t b)
{
	struct child_slot *slot = &w->shared->slot[w->active];

	slot->arg[0] = a;
	slot->arg[1] = b;
	atomic_store(&slot->request, command);
	wire_wake(&slot->request);
}

struct err *dec_wire_ask(struct dec_wire *w, uint32_t command, uint64_t a, uint64_t b,
			 const struct dec_answer **ret)
{
	struct err *err = wire_lost(w);

	*ret = &w->answer;
	if (err)
		return err;
	wire_post(w, command, a, b);
	return wire_await(w, w->active);
}

void dec_wire_data(const struct dec_wire *w, void *buf, size_t size)
{
	memcpy(buf, w->shared->slot[w->active].data, size);
}

void dec_wire_give(struct dec_wire *w, const void *buf, size_t size)
{
	// What is nothing may be nowhere.
	if (size)
		memcpy(w->shared->slot[w->active].data, buf, size);
}

struct err *dec_wire_outcome(const struct dec_wire *w, struct dec_outcome *ret)
{
	struct dec_outcome said;

	dec_wire_data(w, &said, sizeof(said));
	*ret = said;
	take_text(ret->text, said.text, sizeof(ret->text));
	return ret->fate <= DEC_FATE_MACHINE ? NULL : wire_distrust();
}

struct err *dec_wire_range(const struct dec_wire *w, struct dec_range *ret)
{
	dec_wire_data(w, ret, sizeof(*ret));
	take_bool(&ret->is_shared);
	return ret->start < ret->end ? NULL : wire_distrust();
}

void dec_wire_thread(const struct dec_wire *w, struct dec_thread *ret)
{
	char name[sizeof(ret->name)];

	dec_wire_data(w, ret, sizeof(*ret));
	take_bool(&ret->is_running);
	take_bool(&ret->is_in_call);
	memcpy(name, ret->name, sizeof(name));
	take_text(ret->name, name, sizeof(name));
}

struct err *dec_wire_failure(const struct dec_answer *answer)
{
	int line = strcspn(answer->text, "\n");

	if (!answer->err_code || !line)
		return wire_distrust();
	return err_new(answer->err_code, "%.*s", line, answer->text);
}

const struct dec_answer *dec_wire_answer(const struct dec_wire *w)
{
	return &w->answer;
}

uint32_t dec_wire_active(const struct dec_wire *w)
{
	return w->active;
}

void dec_wire_log(struct dec_wire *w, dec_log_fn fn, void *ctx)
{
	w->log_fn = fn;
	w->log_ctx = ctx;
}

struct err *dec_wire_mode(struct dec_wire *w, enum dec_log_mode mode)
{
	const struct dec_answer *answer;

	return dec_wire_ask(w, CHILD_MODE, mode, w->log_fn != NULL, &answer);
}

/* ---- starting ------------------------------------------------------------------------------ */

static void wire_stop(struct dec_wire *w)
{
	confine_destroy(take_ptr(&w->group));
	memset(w->pid, 0, sizeof(w->pid));
	memset(w->is_dead, 0, sizeof(w->is_dead));
}

struct err *dec_wire_start(struct dec_wire *w, const struct dec_answer **ret)
{
	const struct dec_machine_options *o = w->options;
	int fds[] = { w->shared_fd, o->output_fd, dec_interrupts_fd(o->interrupts) };
	// Who has collided several times, with a mapping as large as all that chance varies,
	// tries elsewhere, too.
	bool is_elsewhere = w->n_starts > 2 && w->n_starts % 2;
	char *args[] = { (char *)capture_dir(w->capture),
			 o->takes_turns ? "2" :
			 o->mapped	? "1" :
					  "0",
			 is_elsewhere ? CONFINE_OLD_LAYOUT : NULL, NULL };
	struct err *err;

#ifdef __SANITIZE_THREAD__
	args[2] = NULL; // its shadow is for one layout
#endif
	wire_stop(w);
	w->n_starts++;
	*ret = &w->answer;
	w->active = 0;
	w->log_next = 0;
	atomic_store(&w->shared->log_bytes[0], 0);
	atomic_store(&w->shared->log_bytes[1], 0);
	atomic_store(&w->shared->slot[0].request, CHILD_RUN); // until it has answered
	err = confine_start(args, fds, CHILD_FDS, &w->group, &w->pid[0]);
	return err ?: wire_await(w, 0);
}

static struct err *wire_share(struct dec_wire *w)
{
	// Inherited by the child's exec. It cannot shrink what we read.
	w->shared_fd = memfd_create(dec_child_name, MFD_ALLOW_SEALING);
	if (w->shared_fd < 0 || ftruncate(w->shared_fd, sizeof(*w->shared)) ||
	    fcntl(w->shared_fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		return err_errno("cannot make shared memory for the machine");
	w->shared = mmap(NULL, sizeof(*w->shared), PROT_READ | PROT_WRITE, MAP_SHARED,
			 w->shared_fd, 0);
	if (w->shared == MAP_FAILED) {
		w->shared = NULL;
		return err_errno("cannot map shared memory for the machine");
	}
	return NULL;
}

struct err *dec_wire_create(const struct capture *c, const struct dec_machine_options *o,
			    struct dec_wire **ret)
{
	struct dec_wire *w = calloc(1, sizeof(*w));
	struct err *err;

	if (!w)
		return &err_nomem;
	w->capture = c;
	w->options = o;
	err = wire_share(w);
	if (err)
		dec_wire_destroy(w);
	else
		*ret = w;
	return err;
}

void dec_wire_destroy(struct dec_wire *w)
{
	if (!w)
		return;
	wire_stop(w);
	if (w->shared)
		munmap(w->shared, sizeof(*w->shared));
	if (w->shared_fd > 0)
		close(w->shared_fd);
	free(w);
}

/* ---- forks --------------------------------------------------------------------------------- */

/* Have the process in slot @p from fork into slot @p to, and hear of both. */
static struct err *wire_split(struct dec_wire *w, uint32_t from, uint32_t to)
{
	const struct dec_answer *answer;
	struct err *err;

	wire_hear(w); // before an id can be another's
	atomic_store(&w->shared->slot[to].request, CHILD_RUN);
	w->active = from;
	err = dec_wire_ask(w, CHILD_FORK, to, 0, &answer);
	if (err)
		return err;
	if (answer->result != CHILD_OK)
		return err_new(ERR_OS, "cannot fork the machine's process");
	w->pid[to] = w->shared->slot[from].forked;
	w->active = to; // whose death it is, if it dies
	err = wire_await(w, to);
	if (!err && answer->result != CHILD_OK)
		err = dec_wire_failure(answer);
	w->active = from;
	if (err)
		dec_wire_end(w, to); // its slot is free again
	return err;
}

static uint32_t wire_free(const struct dec_wire *w)
{
	uint32_t to = 0;

	while (to < CHILD_SLOTS && w->pid[to])
		to++;
	assert(to < CHILD_SLOTS && "a slot is kept free for the successor");
	return to;
}

struct err *dec_wire_keep(struct dec_wire *w, uint32_t *ret)
{
	*ret = wire_free(w);
	return wire_split(w, w->active, *ret);
}

struct err *dec_wire_fork(struct dec_wire *w, uint32_t from)
{
	uint32_t to = wire_free(w);
	struct err *err = wire_split(w, from, to);

	if (err)
		return err;
	w->active = to;
	// A checkpoint goes on with the buffer that was next when it was made.
	w->log_next = w->shared->slot[to].log_buffer & 1;
	return NULL;
}

void dec_wire_end(struct dec_wire *w, uint32_t slot)
{
	if (w->pid[slot] && !w->is_dead[slot])
		confine_kill(w->group, w->pid[slot]);
	w->pid[slot] = 0;
	w->is_dead[slot] = false;
}

/* ---- branches ------------------------------------------------------------------------------ */

/* A branch that is queued or runs. */
struct wire_run {
	struct dec_branch *branch;
	uint32_t slot;
	bool is_dead;
	int status; ///< of the dead
};

/* What has ended while branches run. A fork may be over before its maker has said that it is
 * there. */
typedef VEC(struct confine_end) wire_ends;

/* Queue as many of the @p n branches as there are free slots, and have the child run them. */
static size_t wire_queue(struct dec_wire *w, struct dec_branch *branches, size_t n,
			 unsigned at_once, struct wire_run run[CHILD_SLOTS])
{
	size_t queued = 0;

	for (uint32_t s = 0; s < CHILD_SLOTS && queued < n; s++) {
		struct child_slot *slot = &w->shared->slot[s];
		const struct dec_branch *b = &branches[queued];
		struct child_branch *what = (struct child_branch *)slot->data;

		if (w->pid[s])
			continue;
		*what = (struct child_branch){ .limit = b->limit,
					       .n = b->n,
					       .is_laid_out = b->is_laid_out };
		if (b->nullify) {
			what->is_nullifying = true;
			what->nullify = *b->nullify;
		} else if (b->n)
			memcpy(what->alters, b->alters, b->n * sizeof(*b->alters));
		slot->forked = 0;
		atomic_store(&slot->request, CHILD_RUN);
		run[queued] = (struct wire_run){ .branch = &branches[queued], .slot = s };
		w->shared->queue[queued++] = s;
	}
	wire_post(w, CHILD_BRANCH, queued, at_once ?: 1);
	return queued;
}

/* @return whether the branch of @p run is over: it has answered, or is dead. */
static bool run_is_over(struct dec_wire *w, const wire_ends *ends, struct wire_run *run)
{
	struct child_slot *slot = &w->shared->slot[run->slot];
	int32_t pid = slot->forked;

	for (size_t i = 0; pid && i < ends->size && !run->is_dead; i++)
		if (ends->data[i].pid == pid) {
			run->is_dead = true;
			run->status = ends->data[i].status;
		}
	return pid && (run->is_dead || atomic_load(&slot->request) == CHILD_NONE);
}

/* What a nullifying branch told: the child may have written anything there. */
static void take_told(const struct dec_nullified *from, struct dec_nullified *to)
{
	*to = *from;
#define AT_MOST(n, max) ((n) = (n) < (max) ? (n) : (max))
	for (int p = 0; p < DEC_POINTS_MAX; p++)
		AT_MOST(to->fired[p].n_callers, DEC_CHAIN_MAX);
	AT_MOST(to->n_frames, DEC_CHAIN_MAX);
	for (uint32_t f = 0; f < to->n_frames; f++) {
		AT_MOST(to->frames[f].n_branch, DEC_ORIGINS_MAX);
		AT_MOST(to->frames[f].n_arg, 2);
	}
	AT_MOST(to->outermost.n_branch, DEC_ORIGINS_MAX);
	AT_MOST(to->outermost.n_arg, 2);
	AT_MOST(to->n_causes, 2 * DEC_ORIGINS_MAX);
	AT_MOST(to->n_rips, DEC_OMITTED_MAX);
	for (int i = 0; i < 2; i++)
		AT_MOST(to->n_printed[i], DEC_PRINTED_MAX);
#undef AT_MOST
}

/* A process that ran branches runs no more. */
static void wire_end_lane(struct dec_wire *w)
{
	atomic_fetch_add(&w->shared->lanes_ended, 1);
	atomic_fetch_add(&w->shared->bell, 1);
	wire_wake(&w->shared->bell);
}

/* What became of the branch of @p run. */
static void run_end(struct dec_wire *w, const struct wire_run *run)
{
	struct child_slot *slot = &w->shared->slot[run->slot];
	struct dec_outcome *ret = &run->branch->outcome, said;
	_cleanup_err_ struct err *why = NULL;

	run->branch->has_collided = false;
	if (atomic_load(&slot->request) == CHILD_NONE &&
	    (slot->result == CHILD_OK || slot->result == CHILD_COLLIDED)) {
		memcpy(&said, slot->data, sizeof(said));
		*ret = said;
		run->branch->has_collided = slot->result == CHILD_COLLIDED;
		if (run->branch->nullify)
			take_told(&((struct child_branched *)slot->data)->told,
				  run->branch->told);
		take_text(ret->text, said.text, sizeof(ret->text));
		if (ret->fate <= DEC_FATE_MACHINE)
			return;
	}
	*ret = (struct dec_outcome){ .fate = DEC_FATE_MACHINE, .parted = UINT64_MAX };
	why = run->is_dead ? wire_death(run->status) : wire_distrust();
	snprintf(ret->text, sizeof(ret->text), "%s", why->message);
	if (run->is_dead && !run->status)
		wire_end_lane(w);
}

/* Run those that were queued to their ends. */
static struct err *wire_run_queue(struct dec_wire *w, struct wire_run *run, size_t n,
				  wire_ends *ends)
{
	struct child_slot *slot = &w->shared->slot[w->active];
	struct confine_end end;
	struct err *err;
	bool is_gone;

	for (;;) {
		uint32_t bell = atomic_load(&w->shared->bell);
		bool is_done = atomic_load(&slot->request) == CHILD_NONE;

		while (confine_next_end(w->group, &end, &is_gone)) {
			wire_note(w, &end);
			if (w->is_dead[w->active])
				return wire_death(w->status[w->active]);
			err = vec_add(ends, end);
			if (err)
				return err;
			// Others do not say so themselves: the queue goes on.
			if (end.status)
				wire_end_lane(w);
		}
		for (size_t i = 0; i < n; i++)
			if (run_is_over(w, ends, &run[i])) {
				run_end(w, &run[i]);
				run[i--] = run[--n];
			}
		if (is_done) {
			err = take_answer(w, w->active);
			if (err || !n || w->answer.result == CHILD_COLLIDED)
				return err;
			if (w->answer.result != CHILD_OK)
				return err_prefix(dec_wire_failure(&w->answer),
						  "cannot branch");
		}
		if (is_gone)
			return wire_gone();
		wire_wait(w, bell);
	}
}

struct err *dec_wire_branches(struct dec_wire *w, struct dec_branch *branches, size_t n,
			      unsigned at_once, size_t *ret_n)
{
	struct wire_run run[CHILD_SLOTS];
	struct err *err = wire_lost(w);
	wire_ends ends = {};

	if (err)
		return err;
	*ret_n = wire_queue(w, branches, n, at_once, run);
	err = wire_run_queue(w, run, *ret_n, &ends);
	for (size_t i = 0; !err && i < *ret_n; i++)
		if (w->answer.result == CHILD_COLLIDED || branches[i].has_collided)
			*ret_n = i;
	vec_deinit(&ends);
	return err;
}
