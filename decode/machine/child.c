// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * The process that runs the guest. It is this same program, started again under the name
 * faultline-machine so that its memory is only its own, with the kernel's fresh choice of
 * addresses. A constructor takes over before main(): any program that links decode/ (the
 * tests too) can be its own machine.
 */

#define LOG_ROOM "decode"

#include "decode/machine/child.h"
#include "confine/confine.h"
#include "decode/machine/alias.h"
#include "decode/machine/closed.h"
#include "decode/machine/heed.h"
#include "decode/machine/layout.h"
#include "decode/machine/loose.h"
#include "decode/machine/muted.h"
#include "decode/machine/shared.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "decode/machine/agent.h"
#include "decode/machine/rollback.h"
#include "decode/machine/threads.h"
#include "decode/translator/look.h"
#include "decode/translator/mute.h"

char dec_child_name[] = CONFINE_NAME;

static struct child_shared *shared;
static struct child_slot *slot; ///< of this process
static struct dec_replay replay;
static int log_buffer;	   ///< which of the two is being filled
static bool is_log_read;   ///< by the parent
static uint64_t log_bytes; ///< so far

static void futex_wait(_Atomic uint32_t *word, uint32_t while_it_is)
{
	syscall(SYS_futex, word, FUTEX_WAIT, while_it_is, NULL, NULL, 0);
}

static void futex_wake(_Atomic uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static void child_ring(void)
{
	atomic_fetch_add(&shared->bell, 1);
	futex_wake(&shared->bell);
}

static uint8_t *child_log_full(void *ctx, size_t bytes)
{
	(void)ctx;
	atomic_store(&shared->position, replay.engine.now);
	log_bytes += bytes;
	if (bytes && is_log_read) {
		atomic_store(&shared->log_bytes[log_buffer], bytes);
		log_buffer ^= 1;
		child_ring();
		for (uint32_t n; (n = atomic_load(&shared->log_bytes[log_buffer]));)
			futex_wait(&shared->log_bytes[log_buffer], n);
	}
	return shared->log[log_buffer];
}

/* ---- answers ------------------------------------------------------------------------- */

static void child_text(char *to, const char *text)
{
	snprintf(to, CHILD_TEXT_BYTES, "%s", text ? text : "");
}

static long faults_before; ///< when the last checkpoint of this process was made

static long child_faults(void)
{
	struct rusage used = {};

	getrusage(RUSAGE_SELF, &used);
	return used.ru_minflt;
}

static void child_where(enum dec_at at)
{
	struct rusage used = {};

	getrusage(RUSAGE_SELF, &used);
	slot->touched_bytes = (used.ru_minflt - faults_before) * 4096ull;
	slot->peak_bytes = used.ru_maxrss * 1024ull;
	slot->where = (struct dec_where){
		.at = at,
		.position = replay.engine.now,
		.instructions = replay.engine.now - replay.n_halves - replay.n_omitted,
		.recorded = replay.engine.now + replay.omitted,
		.syscalls = replay.syscalls,
		.switches = replay.n_switches,
		.handlers = replay.n_handlers,
		.tid = replay.threads.size ? dec_threads_current(&replay)->tid : 0,
		.rip = replay.engine.ctx ? replay.engine.ctx->rip : 0,
		.seq = replay.last_seq,
		.at_ns = replay.last_ns,
		.end = replay.end,
		.end_value = replay.end_value,
		.fault_addr = replay.fault_addr,
		.log_bytes = log_bytes,
		.is_guarded = replay.engine.guard != NULL,
		.doubt = replay.engine.guard ? replay.engine.guard->doubt :
					       DEC_DOUBT_NONE,
		.asked_site = replay.engine.guard ? replay.engine.guard->asked_site : 0,
		.asked_size = replay.engine.guard ? replay.engine.guard->asked_size : 0,
		.is_cut = replay.is_cut,
		.map = { replay.mapped_file, replay.mapped_addr, replay.mapped_size,
			 replay.mapped_offset },
	};
	slot->parted = replay.parted;
	memcpy(slot->isa, replay.engine.isa, sizeof(slot->isa));
	child_text(slot->notes, replay.notes);
	child_text(slot->text, replay.is_cut ? replay.cut : replay.divergence);
}

static void child_answer(enum child_result result)
{
	slot->result = result;
	atomic_store(&slot->request, CHILD_NONE);
	child_ring();
}

static void child_fail(struct err *err)
{
	child_text(slot->text, err->message);
	slot->err_code = err->code;
	err_destroy(err);
}

/* @return whether the program wanted what is the machine's. The next machine lies elsewhere:
 * most of it by chance, the context by counting. */
static bool child_has_collided(void)
{
	if (replay.guest.has_collided && replay.guest.has_met_ctx)
		shared->ctx_places++;
	return replay.guest.has_collided;
}

/* ---- conditions ---------------------------------------------------------------------------- */

/** A breakpoint that stops only if one of its conditions holds. */
struct condition {
	uint64_t rip;
	struct dec_agent_conditions code; ///< ours
};

static VEC(struct condition) conditions;

static bool condition_read(void *ctx, uint64_t addr, void *buf, size_t n)
{
	(void)ctx;
	if (dec_guest_avail(&replay.guest, addr, PROT_READ) < n)
		return false;
	memcpy(buf, (const void *)addr, n);
	return true;
}

static bool condition_reg(void *ctx, unsigned number, uint64_t *ret)
{
	const struct dec_ctx *c = replay.engine.ctx;

	(void)ctx;
	*ret = number < DEC_AGENT_RIP  ? c->gpr[dec_agent_gpr(number)] :
	       number == DEC_AGENT_RIP ? c->rip :
					 c->rflags;
	return number <= DEC_AGENT_FLAGS;
}

static void condition_say(void *ctx, const char *text, size_t n)
{
	(void)ctx, (void)text, (void)n; // the owner asks once more, and prints
}

/* @return whether the breakpoint that was reached is to be passed by. */
static bool is_passed_by(void)
{
	const struct dec_agent_world w = { condition_read, condition_reg, condition_say,
					   NULL };
	uint64_t rip = replay.engine.ctx->rip;
	const struct condition *c = vec_find(&conditions, e, e->rip == rip);

	return c && !dec_agent_holds(&c->code, &w);
}

/* The breakpoint at @p rip has conditions of @p n bytes from now on; 0: none. */
static enum child_result child_condition(uint64_t rip, uint64_t n)
{
	struct condition *c = vec_find(&conditions, e, e->rip == rip),
			 made = { .rip = rip };
	uint8_t *code;

	if (c) {
		free((uint8_t *)c->code.bytes);
		*c = conditions.data[--conditions.size];
	}
	if (!n)
		return CHILD_OK;
	code = n <= CHILD_DATA_BYTES ? malloc(n) : NULL;
	if (!code)
		return CHILD_NOT_THERE;
	memcpy(code, slot->data, n);
	made.code = (struct dec_agent_conditions){ code, n };
	if (!vec_add(&conditions, made))
		return CHILD_OK;
	free(code);
	return CHILD_NOT_THERE;
}

/* ---- commands ------------------------------------------------------------------------------ */

static bool is_new_turn; ///< it has begun, and nobody was told

/* dec_replay_run(), from behind a turn's begin too. */
static enum dec_stop child_go(uint64_t until)
{
	enum dec_verdict v;

	if (is_new_turn) {
		is_new_turn = false;
		return DEC_STOP_PAUSE;
	}
	v = replay.has_turned ? dec_replay_go_on(&replay) : DEC_GO;
	return v == DEC_GO ? dec_replay_run(&replay, until) : dec_stop_of(v);
}

/* Until @p until, heeding @p n_heeded of what is in the data. */
static enum child_result child_run(uint64_t until, uint64_t n_heeded)
{
	static const enum dec_at at[] = { [DEC_STOP_POSITION] = DEC_AT_POSITION,
					  [DEC_STOP_BREAK] = DEC_AT_BREAK,
					  [DEC_STOP_PAUSE] = DEC_AT_MAP,
					  [DEC_STOP_END] = DEC_AT_END,
					  [DEC_STOP_DIVERGED] = DEC_AT_DIVERGENCE };
	enum dec_stop stop = DEC_STOP_DIVERGED;

	if (n_heeded)
		dec_heed_begin(&replay.guest, (const struct dec_span *)slot->data,
			       n_heeded);
	if (replay.loose)
		stop = dec_loose_go(&replay, until);
	else if (replay.end != CAP_END_UNKNOWN || replay.is_cut)
		stop = DEC_STOP_END;
	else if (!replay.divergence)
		do
			stop = child_go(until);
		while (stop == DEC_STOP_BREAK &&
		       (replay.engine.guard ? dec_guard_at_stop(&replay.engine) :
					      is_passed_by()));
	if (replay.engine.guard && replay.engine.guard->doubt)
		stop = DEC_STOP_BREAK;
	// What lies between two instructions belongs to the later one's position.
	if (stop == DEC_STOP_POSITION && !replay.loose &&
	    dec_replay_settle(&replay) == DEC_DIVERGED)
		stop = DEC_STOP_DIVERGED;
	dec_closed_drop(&replay.guest); // others who close memory may come now
	slot->is_written = n_heeded ? dec_heed_end() : 0;
	dec_engine_log_flush(&replay.engine);
	child_where(replay.has_turned ? DEC_AT_TURN : at[stop]);
	return !replay.loose && child_has_collided() ? CHILD_COLLIDED : CHILD_STOPPED;
}

static enum child_result child_mute(uint64_t n)
{
	const struct dec_mute *mutes = (const struct dec_mute *)slot->data;

	if (n)
		dec_muted_add(&replay, mutes, n <= DEC_MUTES ? n : 0);
	else
		dec_muted_end(&replay);
	dec_engine_log_flush(&replay.engine);
	return CHILD_OK;
}

static enum child_result child_mode(enum dec_log_mode mode, bool is_read)
{
	dec_muted_end(&replay);
	dec_engine_log_flush(&replay.engine);
	is_log_read = is_read;
	dec_engine_set_mode(&replay.engine, mode,
			    mode == DEC_LOG_NONE ? NULL : shared->log[log_buffer],
			    mode == DEC_LOG_NONE ? 0 : CHILD_LOG_BYTES);
	dec_threads_record(&replay);
	return CHILD_OK;
}

static struct err *child_follow_values(void)
{
	const struct dec_guest *g = &replay.guest;
	VEC(struct blank_span) spans = {};
	struct err *err = NULL;

	for (size_t i = 0; i < g->ranges.size && !err; i++)
		err = vec_add(&spans, (struct blank_span){ g->ranges.data[i].start,
							   g->ranges.data[i].end });
	if (!err)
		err = dec_blank_start(&replay.engine, spans.data, spans.size);
	vec_deinit(&spans);
	return err;
}

static struct err *child_start_guard(uint32_t how)
{
	const struct dec_guest *g = &replay.guest;
	bool is_low = g->ranges.size && !(g->ranges.data[0].start >> 32);
	struct err *err;

	if (how & DEC_GUARD_VALUES && is_low)
		how |= DEC_GUARD_LEAVES_ROOM;
	err = dec_guard_start(&replay.engine, how);
	return err || !(how & DEC_GUARD_VALUES) ? err : child_follow_values();
}

static enum child_result child_guard(uint64_t n, uint64_t how)
{
	const struct dec_hook *hooks = (const struct dec_hook *)slot->data;
	struct err *err = n ? NULL : child_start_guard(how);

	for (uint64_t i = 0; i < n && !err && replay.engine.guard; i++)
		err = dec_guard_hook(&replay.engine, &hooks[i]);
	if (!err)
		return CHILD_OK;
	child_fail(err);
	return CHILD_FAILED;
}

/* How many there are goes back as the log's bytes: nothing is logged. */
static enum child_result child_guard_blocks(uint64_t from, uint64_t max)
{
	struct dec_guarded_block *ret = (struct dec_guarded_block *)slot->data;
	const struct dec_guard *g = replay.engine.guard;
	uint64_t n = 0;

	for (size_t i = 1; g && i < g->nodes.size && n < max; i++)
		if (g->nodes.data[i].is_live && !from--) {
			from = 0;
			ret[n++] = (struct dec_guarded_block){ g->nodes.data[i].start,
							       g->nodes.data[i].size,
							       g->nodes.data[i].is_wide };
		}
	slot->where.log_bytes = n;
	return CHILD_OK;
}

static void child_guard_accesses(uint64_t from, uint64_t max)
{
	const struct dec_guard *g = replay.engine.guard;
	uint64_t n = g && g->accesses.size > from ? g->accesses.size - from : 0;

	n = n < max ? n : max;
	if (n)
		memcpy(slot->data, g->accesses.data + from, n * sizeof(from));
	slot->where.log_bytes = n;
}

/* Of the words from @p start to @p end those without a value that hold an address of the guest's, behind the @p n that are
 * in @p ret. @return how many there are then. */
static uint64_t words_left(uint64_t start, uint64_t end, uint64_t *ret, uint64_t n,
			   uint64_t max)
{
	const struct dec_blank *k = replay.engine.guard->blank;

	for (uint64_t at = (start + 7) & ~7ull; at + 8 <= end && n < max; at += 8)
		if (dec_blank_lacks_word(k, at) &&
		    dec_guest_is_mapped(&replay.guest, *(const uint64_t *)at))
			ret[n++] = at;
	return n;
}

static void child_guard_left(uint64_t from, uint64_t max)
{
	const struct dec_guest *g = &replay.guest;
	uint64_t *ret = (uint64_t *)slot->data, n = 0;
	bool is_followed = replay.engine.guard && replay.engine.guard->blank;

	for (size_t i = 0; is_followed && i < g->ranges.size && n < max; i++) {
		const struct guest_range *r = &g->ranges.data[i];
		struct guest_range piece = { .end = r->start > from ? r->start : from };

		// What a program can only read, or not at all, is no memory that it was given for what it wants.
		while ((r->prot & (PROT_READ | PROT_WRITE)) == (PROT_READ | PROT_WRITE) &&
		       piece.end < r->end && n < max) {
			piece = dec_guest_touched(g, piece.end, r->end);
			n = words_left(piece.start, piece.end, ret, n, max);
		}
	}
	slot->where.log_bytes = n;
}

static enum child_result child_read(uint64_t addr, uint64_t size)
{
	if (size > CHILD_DATA_BYTES ||
	    dec_guest_avail(&replay.guest, addr, PROT_READ) < size)
		return CHILD_NOT_THERE;
	memcpy(slot->data, (const void *)addr, size);
	return CHILD_OK;
}

static enum child_result child_range(uint64_t i)
{
	const struct dec_guest *g = &replay.guest;
	struct dec_range r;

	if (i >= g->ranges.size)
		return CHILD_NOT_THERE;
	r = (struct dec_range){ g->ranges.data[i].start, g->ranges.data[i].end,
				g->ranges.data[i].prot, false };
	for (size_t k = 0; k < g->aliases.size; k++) {
		const struct guest_alias *a = &g->aliases.data[k];

		if (a->start < r.end && r.start < a->end)
			r.is_shared |= a->is_shared || a->is_real;
	}
	memcpy(slot->data, &r, sizeof(r));
	return CHILD_OK;
}

static enum child_result child_touched(uint64_t start, uint64_t end)
{
	const struct guest_range piece = dec_guest_touched(&replay.guest, start, end);

	memcpy(slot->data, &(struct dec_range){ .start = piece.start, .end = piece.end },
	       sizeof(struct dec_range));
	return CHILD_OK;
}

static enum child_result child_regs(void)
{
	const struct dec_ctx *c = replay.engine.ctx;

	memcpy(slot->regs.gpr, c->gpr, sizeof(c->gpr));
	slot->regs.rip = c->rip;
	slot->regs.rflags = c->rflags;
	slot->regs.fs_base = c->fs_base;
	slot->regs.gs_base = c->gs_base;
	return CHILD_OK;
}

/* Is it there? From its parent's clone on, though it may not have run yet. */
static bool is_thread(const struct replay_thread *t)
{
	return !t->has_ended &&
	       (t->is_born || t->has_parent || t == dec_threads_current(&replay));
}

/* Register @p reg of thread @p tid; 0: of the one that runs. */
static enum child_result child_reg(int reg, uint32_t tid)
{
	struct replay_thread *t = tid ? dec_threads_find(&replay, tid) : NULL,
			     *current = dec_threads_current(&replay);

	if (tid && (!t || !is_thread(t)))
		return CHILD_NOT_THERE;
	if (t && t != current) {
		dec_threads_save(&replay, current);
		dec_threads_load(&replay, t);
	}
	slot->reg_bytes = dec_engine_read_reg(&replay.engine, reg, slot->data);
	if (t && t != current)
		dec_threads_load(&replay, current);
	return CHILD_OK;
}

static enum child_result child_thread(uint64_t i)
{
	const struct replay_thread *current = dec_threads_current(&replay), *t = NULL;
	struct dec_thread ret;

	for (size_t k = 0; k < replay.threads.size; k++) {
		t = &replay.threads.data[k];
		if (is_thread(t) && !i--)
			break;
		t = NULL;
	}
	if (!t)
		return CHILD_NOT_THERE;
	ret = (struct dec_thread){ .tid = t->tid,
				   .is_running = t == current,
				   .is_in_call = t->is_in_call };
	memcpy(ret.name, t->name, sizeof(ret.name));
	child_regs();
	ret.regs = slot->regs;
	if (t != current) {
		memcpy(ret.regs.gpr, t->gpr, sizeof(t->gpr));
		ret.regs.rip = t->rip;
		ret.regs.rflags = t->rflags;
		ret.regs.fs_base = t->fs_base;
		ret.regs.gs_base = t->gs_base;
	}
	memcpy(slot->data, &ret, sizeof(ret));
	return CHILD_OK;
}

static bool rests; ///< dec_replay_rest(): a checkpoint, which only forks

/* Fork. @return 0 in the fork; else its process id, or -1. CLONE_PARENT makes it a child of the
 * machine's owner, which then learns of its death. @p ret: in the fork, whether it can go on. */
static long child_split(struct err **ret)
{
	long pid = syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, NULL, NULL, NULL);

	*ret = NULL;
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	*ret = dec_alias_fork(&replay.guest);
	if (!*ret && rests)
		*ret = dec_replay_wake(&replay);
	rests = false;
	faults_before = 0;
	return 0;
}

/* Fork into slot @p to: of a checkpoint the fork is what goes on, of what goes on it is a checkpoint. So
 * a run's checkpoints have one parent; were each the next one's, a fork would cost the more the more of
 * them there are, for the kernel notes all forebears of each mapping. */
static void child_fork(uint64_t to)
{
	bool is_checkpoint = rests;
	struct err *err;
	long pid = child_split(&err);

	if (!pid) {
		slot = &shared->slot[to];
		slot->log_buffer = log_buffer;
		child_where(DEC_AT_POSITION);
		slot->guest_bytes = dec_guest_resident(&replay.guest);
		if (err)
			child_fail(err);
		if (!err && !is_checkpoint) {
			dec_replay_rest(&replay);
			rests = true;
		}
		child_answer(err ? CHILD_FAILED : CHILD_OK);
		if (err)
			_exit(0);
		return;
	}
	slot->forked = pid;
	if (pid > 0 && !is_checkpoint)
		faults_before = child_faults();
	child_answer(pid < 0 ? CHILD_FAILED : CHILD_OK); // the owner waits for both
}

/* ---- branches: lanes ------------------------------------------------------------------ */

/*
 * A fork of the machine's process is a lane: it takes queued branches, one after the other, as
 * long as each can be taken back (rollback.h). When one cannot, another fork goes on.
 */

/* So many forks are worth being made quick: fewer pages have to be told to each. */
#define GATHER_FOR 16

/* After so many that could not take even their first branch back no lane of those queued tries to:
 * what they kept was for nothing. The next ones may be luckier. */
#define VAIN_MAX 2

static struct child_slot *queued(uint64_t i)
{
	return &shared->slot[shared->queue[i] % CHILD_SLOTS];
}

/* Take one of the @p n queued branches for process @p pid. @return NULL: all are taken. */
static struct child_slot *lane_take(uint64_t n, int32_t pid)
{
	for (uint64_t i = 0; i < n; i++) {
		int32_t nobody = 0;

		if (atomic_compare_exchange_strong(&queued(i)->forked, &nobody, pid))
			return queued(i);
	}
	return NULL;
}

static uint64_t lanes_left(uint64_t n)
{
	uint64_t left = 0;

	for (uint64_t i = 0; i < n; i++)
		left += !atomic_load(&queued(i)->forked);
	return left;
}

static void lane_answer(struct child_slot *of, enum child_result result)
{
	of->result = result;
	atomic_store(&of->request, CHILD_NONE);
	child_ring();
}

/* This lane takes no more. What it has done is @p last, which may be NULL. */
static void lane_end(struct child_slot *last, enum child_result result)
{
	atomic_fetch_add(&shared->lanes_ended, 1);
	if (last)
		lane_answer(last, result);
	else
		child_ring();
	_exit(0);
}

/* Run the branch in @p of, altered, to its end. */
static void lane_run(struct child_slot *of)
{
	struct child_branched *to = (struct child_branched *)of->data;
	struct child_branch branch;

	memcpy(&branch, of->data, sizeof(branch));
	replay.is_laid_out = branch.is_laid_out;
	if (branch.is_nullifying) {
		to->told = (struct dec_nullified){};
		if (branch.nullify.n_points > DEC_POINTS_MAX)
			branch.nullify.n_points = DEC_POINTS_MAX;
		dec_loose_nullify(&replay, &branch.nullify, branch.limit, &to->outcome,
				  &to->told);
	} else {
		dec_loose_run(&replay, branch.alters,
			      branch.n < DEC_ALTERS_MAX ? branch.n : DEC_ALTERS_MAX,
			      branch.limit, &to->outcome);
	}
}

/* The fork's life. What it must not forget when it goes back is on the stack. */
static void lane_main(uint64_t n)
{
	int32_t pid = getpid();
	struct child_slot *of = lane_take(n, pid), *next;
	bool can_go_back, has_gone_back = false;

	if (!of)
		lane_end(NULL, CHILD_OK);
	child_mode(DEC_LOG_NONE, false);
	can_go_back = lanes_left(n) && atomic_load(&shared->lanes_vain) < VAIN_MAX &&
		      dec_rollback_begin(&replay);
	for (;; of = next, has_gone_back = true) {
		lane_run(of);
		if (child_has_collided())
			lane_end(of, CHILD_COLLIDED);
		if (!can_go_back)
			lane_end(of, CHILD_OK);
		can_go_back = dec_rollback_can(&replay);
		if (can_go_back && !has_gone_back)
			atomic_store(&shared->lanes_vain, 0);
		else if (!has_gone_back)
			atomic_fetch_add(&shared->lanes_vain, 1);
		next = can_go_back ? lane_take(n, pid) : NULL;
		if (!next)
			lane_end(of, CHILD_OK);
		lane_answer(of, CHILD_OK);
		dec_rollback_take_back(&replay);
	}
}

/* Fork a lane. @return false: it cannot be. */
static bool lane_start(uint64_t n)
{
	struct err *err;
	long pid = child_split(&err);

	if (!pid && err)
		lane_end(lane_take(n, getpid()), CHILD_FAILED);
	else if (!pid)
		lane_main(n);
	return pid > 0;
}

/* Does an alteration of a queued branch make a pointer to what is ours? Natively it would fault. */
static bool lane_meets_ours(uint64_t i)
{
	const struct child_branch *b = (const struct child_branch *)queued(i)->data;

	for (uint64_t k = 0; !b->is_nullifying && k < b->n && k < DEC_ALTERS_MAX; k++) {
		const struct dec_alter *a = &b->alters[k];

		if ((a->kind == DEC_ALTER_REG || a->kind == DEC_ALTER_MEMORY) &&
		    (dec_guest_meets_ours(&replay.guest, a->value) ||
		     dec_guest_meets_ours(&replay.guest, a->value + 4095)))
			return true;
	}
	return false;
}

/* Run the @p n queued branches, @p at_once at a time; the owner hears of each in its slot. Not one
 * at its word: that would cost it and us a sleep each. */
static void child_branches(uint64_t n, uint64_t at_once)
{
	uint64_t left, lanes = 0;
	struct err *err;

	n = n < CHILD_SLOTS ? n : CHILD_SLOTS;
	for (uint64_t i = 0; i < n; i++)
		if (lane_meets_ours(i) && child_has_collided()) {
			child_answer(CHILD_COLLIDED);
			return;
		}
	err = dec_loose_prepare(&replay, n > 1);
	if (err)
		child_fail(err);
	if (n >= GATHER_FOR) {
		dec_guest_gather(&replay.guest);
		dec_engine_travel_light();
	}
	n = err ? 0 : n;
	at_once = at_once < n ? at_once : n;
	atomic_store(&shared->lanes_ended, 0);
	atomic_store(&shared->lanes_vain, 0);
	for (;;) {
		uint32_t bell = atomic_load(&shared->bell);
		uint64_t ended = atomic_load(&shared->lanes_ended);
		uint64_t running = ended < lanes ? lanes - ended : 0;

		left = lanes_left(n);
		if (!left && !running)
			break;
		if (running >= at_once || !left)
			futex_wait(&shared->bell, bell);
		else if (lane_start(n))
			lanes++;
		else
			for (struct child_slot *of; (of = lane_take(n, -1));)
				lane_answer(of, CHILD_FAILED);
	}
	child_answer(err ? CHILD_FAILED : CHILD_OK);
}

static enum child_result child_layout(uint64_t before, uint64_t n)
{
	const struct dec_moved *moved = (const struct dec_moved *)slot->data;
	struct err *err = n > CHILD_DATA_BYTES / sizeof(*moved) ?
				  err_new(ERR_USAGE, "too much of a layout at once") :
				  dec_layout_add(moved, n, before != 0);

	if (!err)
		return CHILD_OK;
	child_fail(err);
	return CHILD_FAILED;
}

/* ---- astray ---------------------------------------------------------------------------- */

static enum child_result child_stray(bool is_awake)
{
	struct err *err;

	child_mode(DEC_LOG_NONE, false);
	err = dec_loose_stray(&replay, is_awake);
	if (!err)
		return CHILD_OK;
	child_fail(err);
	return CHILD_FAILED;
}

static enum child_result child_set_reg(int reg, uint32_t tid)
{
	uint8_t value[160];

	memcpy(value, slot->data, sizeof(value));
	if (!replay.loose || reg == DEC_REG_X87 ||
	    (tid && tid != dec_threads_current(&replay)->tid &&
	     !dec_loose_place(&replay, tid)))
		return CHILD_NOT_THERE;
	return dec_engine_write_reg(&replay.engine, reg, value) ? CHILD_OK :
								  CHILD_NOT_THERE;
}

static enum child_result child_write(uint64_t addr, uint64_t size)
{
	struct err *err;

	if (!replay.loose || size > CHILD_DATA_BYTES)
		return CHILD_NOT_THERE;
	err = dec_guest_write(&replay.guest, addr, slot->data, size);
	err_destroy(err);
	return err ? CHILD_NOT_THERE : CHILD_OK;
}

static enum child_result child_outcome(void)
{
	if (!replay.loose)
		return CHILD_NOT_THERE;
	memcpy(slot->data, dec_loose_outcome(&replay), sizeof(struct dec_outcome));
	return CHILD_OK;
}

/* How many bytes there are goes back as the log's: nothing is logged. */
static enum child_result child_changes(bool is_first)
{
	slot->where.log_bytes =
		dec_shared_changes(is_first, slot->data, CHILD_DATA_BYTES);
	return dec_shared_has_lost() ? CHILD_NOT_THERE : CHILD_OK;
}

static enum child_result child_share(uint64_t i)
{
	struct dec_share s;

	if (!dec_shared_list(i, &s, 1))
		return CHILD_NOT_THERE;
	memcpy(slot->data, &s, sizeof(s));
	return CHILD_OK;
}

static enum child_result child_put(uint64_t addr, uint64_t size)
{
	for (uint64_t at = 0, n; at < size && size <= CHILD_DATA_BYTES; at += n) {
		n = 4096 - ((addr + at) & 4095);
		n = n < size - at ? n : size - at;
		err_destroy(
			dec_guest_write(&replay.guest, addr + at, slot->data + at, n));
	}
	return CHILD_OK;
}

static void child_serve(uint32_t command)
{
	enum child_result result = CHILD_OK;

	switch (command) {
	case CHILD_RUN:
		result = child_run(slot->arg[0], slot->arg[1]);
		break;
	case CHILD_MODE:
		result = child_mode(slot->arg[0], slot->arg[1]);
		break;
	case CHILD_BREAK:
		dec_engine_set_break(&replay.engine, slot->arg[0], slot->arg[1] != 0);
		result = child_condition(slot->arg[0],
					 slot->arg[1] ? slot->arg[1] - 1 : 0);
		break;
	case CHILD_WATCH:
		dec_engine_set_watch(&replay.engine, slot->arg[0], slot->arg[1]);
		break;
	case CHILD_RELEASE:
		dec_mute_set_release(&replay.engine, slot->arg[0]);
		break;
	case CHILD_LOOK:
		dec_look_set(&replay.engine, slot->arg[0], slot->arg[1]);
		break;
	case CHILD_JUMPS:
		if (dec_engine_tell_jumps(&replay.engine, slot->arg[0], slot->arg[1]))
			result = CHILD_FAILED;
		break;
	case CHILD_MUTE:
		result = child_mute(slot->arg[0]);
		break;
	case CHILD_GUARD:
		result = child_guard(slot->arg[0], slot->arg[1]);
		break;
	case CHILD_GUARD_BLOCKS:
		result = child_guard_blocks(slot->arg[0], slot->arg[1]);
		break;
	case CHILD_GUARD_ACCESSES:
		child_guard_accesses(slot->arg[0], slot->arg[1]);
		break;
	case CHILD_GUARD_LEFT:
		child_guard_left(slot->arg[0], slot->arg[1]);
		break;
	case CHILD_READ:
		result = child_read(slot->arg[0], slot->arg[1]);
		break;
	case CHILD_RANGE:
		result = child_range(slot->arg[0]);
		break;
	case CHILD_TOUCHED:
		result = child_touched(slot->arg[0], slot->arg[1]);
		break;
	case CHILD_REGS:
		result = child_regs();
		break;
	case CHILD_REG:
		result = child_reg(slot->arg[0], slot->arg[1]);
		break;
	case CHILD_THREAD:
		result = child_thread(slot->arg[0]);
		break;
	case CHILD_FORK:
		child_fork(slot->arg[0]);
		return;
	case CHILD_BRANCH:
		child_branches(slot->arg[0], slot->arg[1]);
		return;
	case CHILD_LAYOUT:
		result = child_layout(slot->arg[0], slot->arg[1]);
		break;
	case CHILD_STRAY:
		result = child_stray(slot->arg[0]);
		break;
	case CHILD_SET_REG:
		result = child_set_reg(slot->arg[0], slot->arg[1]);
		break;
	case CHILD_WRITE:
		result = child_write(slot->arg[0], slot->arg[1]);
		break;
	case CHILD_OUTCOME:
		result = child_outcome();
		break;
	case CHILD_CHANGES:
		result = child_changes(slot->arg[0]);
		break;
	case CHILD_SHARE:
		result = child_share(slot->arg[0]);
		break;
	case CHILD_PUT:
		result = child_put(slot->arg[0], slot->arg[1]);
		break;
	case CHILD_LEAVE:
		for (size_t i = 0; i < replay.threads.size; i++)
			dec_threads_leave(&replay, &replay.threads.data[i]);
		break;
	case CHILD_TURN:
		dec_shared_begin_turn();
		break;
	case CHILD_QUIT:
		_exit(0);
	}
	child_answer(result);
}

/* ---- life ------------------------------------------------------------------------------- */

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

static void child_main(char **argv)
{
	struct child_spin spin = {};
	struct err *err;
	uint32_t command;

	dec_rollback_prepare();
	confine_begin(CHILD_FDS);
	signal(SIGPIPE, SIG_IGN); // whoever reads the program's output may leave early
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED,
		      CHILD_SHARED, 0);
	if (shared == MAP_FAILED)
		_exit(125);
	slot = &shared->slot[0];
	dec_ctx_skip(shared->ctx_places);
	replay.stops_at_turns = *argv[CHILD_ARG_STOPS] == '2';
	err = dec_replay_init(&replay, argv[CHILD_ARG_CAPTURE], child_log_full, &replay);
	if (!err)
		err = dec_output_init(&replay.output,
				      is_open(CHILD_OUTPUT) ? CHILD_OUTPUT : -1);
	replay.stops_at_maps = *argv[CHILD_ARG_STOPS] == '1';
	is_new_turn = replay.has_turned;
	// Whoever replays it afterwards asks that.
	if (replay.stops_at_turns)
		replay.look_ahead = 0;
	if (!err && is_open(CHILD_INTERRUPTS))
		err = dec_interrupts_open(CHILD_INTERRUPTS, &replay.interrupts);
	if (!err)
		err = dec_child_confine();
	if (err) {
		child_fail(err);
		child_answer(child_has_collided() ? CHILD_COLLIDED : CHILD_FAILED);
		_exit(0);
	}
	child_where(DEC_AT_POSITION);
	child_answer(CHILD_OK);
	for (;;) {
		child_spin(&spin, &slot->request, CHILD_NONE, false);
		while (!(command = atomic_load(&slot->request)))
			futex_wait(&slot->request, CHILD_NONE);
		child_serve(command);
	}
}

__attribute__((constructor)) static void child_constructor(int argc, char **argv)
{
	if (!argc || strcmp(argv[0], dec_child_name))
		return;
	if (argc == CHILD_ARGS)
		child_main(argv);
	_exit(125); // that name never gets to main()
}
