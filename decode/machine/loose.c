// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * A branch: as long as the strict world agrees it answers; at the first call, instruction or
 * fault in which it does not, the run parts from the recording, and loose_calls.c answers.
 *
 * Registers alone do not say that a call is the recorded one: the file's name that it points to
 * may be another. So a hash is kept of what each recorded call read through its arguments: of what
 * nobody can write to until then it is known before; for the rest the strict run from the branch's
 * place on is made once, in a fork: to the last such call, or, as it tells which code there is, to
 * the end, for several branches.
 */
#define LOG_ROOM "decode"

#include "decode/machine/loose_int.h"

#include <assert.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "decode/machine/alias.h"
#include "decode/machine/layout.h"
#include "decode/machine/threads.h"

#define HASHES_MAX (4u << 20) ///< calls behind a branch whose arguments are known
#define WARM_MAX (1u << 16)   ///< blocks behind a branch that are translated before

static struct dec_loose loose;

/* ---- what calls read ------------------------------------------------------------------- */

/** Arguments that point to what a call reads; the rest is in the registers, or output. */
static const struct {
	uint16_t nr;
	uint8_t arg;
	uint16_t size; ///< bytes; 0: a text
} read_args[] = {
	{ SYS_open, 0, 0 },
	{ SYS_openat, 1, 0 },
	{ SYS_creat, 0, 0 },
	{ SYS_stat, 0, 0 },
	{ SYS_lstat, 0, 0 },
	{ SYS_newfstatat, 1, 0 },
	{ SYS_statx, 1, 0 },
	{ SYS_access, 0, 0 },
	{ SYS_faccessat, 1, 0 },
	{ SYS_faccessat2, 1, 0 },
	{ SYS_readlink, 0, 0 },
	{ SYS_readlinkat, 1, 0 },
	{ SYS_unlink, 0, 0 },
	{ SYS_unlinkat, 1, 0 },
	{ SYS_rename, 0, 0 },
	{ SYS_rename, 1, 0 },
	{ SYS_mkdir, 0, 0 },
	{ SYS_rmdir, 0, 0 },
	{ SYS_chdir, 0, 0 },
	{ SYS_truncate, 0, 0 },
	{ SYS_statfs, 0, 0 },
	{ SYS_openat2, 1, 0 },
	{ SYS_openat2, 2, 24 },
	{ SYS_nanosleep, 0, 16 },
	{ SYS_clock_nanosleep, 2, 16 },
	{ SYS_rt_sigaction, 1, 32 },
	{ SYS_rt_sigprocmask, 1, 8 },
	{ SYS_execve, 0, 0 },
	{ SYS_connect, 1, 16 },
	{ SYS_memfd_create, 0, 0 },
};

static uint64_t hash_bytes(uint64_t h, const uint8_t *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		h = (h ^ bytes[i]) * CAP_SIGNATURE_PRIME;
	return h;
}

/* The next argument, from row *@p i on, that the call with registers @p gpr reads something by, at *@p at.
 * @return how many bytes of it there are, -1: it reads no more. */
static int64_t next_read(struct dec_replay *r, const uint64_t *gpr, size_t *i,
			 uint64_t *at)
{
	static const uint8_t regs[] = { CAP_RDI, CAP_RSI, CAP_RDX };
	const size_t rows = sizeof(read_args) / sizeof(*read_args);
	uint64_t n, size;

	while (*i < rows && read_args[*i].nr != gpr[CAP_RAX])
		(*i)++;
	if (*i == rows)
		return -1;
	*at = gpr[regs[read_args[*i].arg]];
	size = read_args[(*i)++].size;
	n = dec_guest_avail(&r->guest, *at, PROT_READ);
	if (!size)
		size = strnlen((const char *)*at, n < 4096 ? n : 4096);
	return size < n ? size : n;
}

/* Of what the call at hand, whose registers are @p gpr, reads. Never 0. */
static uint64_t hash_call(struct dec_replay *r, const uint64_t *gpr)
{
	uint64_t h = CAP_SIGNATURE_SEED, at;
	int64_t size;

	for (size_t i = 0; (size = next_read(r, gpr, &i, &at)) >= 0;)
		h = hash_bytes(h, (const uint8_t *)at, size);
	return h ?: 1;
}

/* ---- before: the recorded future, once ---------------------------------------------------- */

/** What the log tells of calls behind the branch's place. */
struct foresight {
	struct dec_replay *r;
	/** Where memory is mapped otherwise, or emptied: bytes there may be others when they are read. */
	VEC(struct guest_range) remapped;
	bool is_all_remapped; ///< or may be
};

static void foresee_range(struct foresight *f, uint64_t start, uint64_t size)
{
	f->is_all_remapped |=
		vec_add(&f->remapped, ((struct guest_range){ start, start + size, 0 })) !=
		0;
}

static void foresee_mapping(struct foresight *f, const struct cap_event *ev)
{
	const uint64_t *gpr = ev->regs.gpr;

	switch (gpr[CAP_RAX]) {
	case SYS_mmap:
		foresee_range(f, ev->ret, gpr[CAP_RSI]);
		break;
	case SYS_munmap:
	case SYS_mprotect:
	case SYS_pkey_mprotect:
	case SYS_madvise:
		foresee_range(f, gpr[CAP_RDI], gpr[CAP_RSI]);
		break;
	case SYS_mremap:
		foresee_range(f, gpr[CAP_RDI], gpr[CAP_RSI]);
		foresee_range(f, ev->ret, gpr[CAP_RDX]);
		break;
	case SYS_shmat:
	case SYS_shmdt:
	case SYS_remap_file_pages:
	case SYS_process_vm_writev:
		f->is_all_remapped = true;
	}
}

/* Will memory at [@p at, @p at + @p size) be what it is now, whatever a branch does? */
static bool is_lasting(const struct foresight *f, uint64_t at, uint64_t size)
{
	const struct dec_guest *g = &f->r->guest;
	const struct guest_range *in =
		vec_find(&g->ranges, r, at >= r->start && at < r->end);

	if (!at)
		return true; // nothing is read
	return in && !f->is_all_remapped && !(in->prot & PROT_WRITE) &&
	       size < in->end - at && !dec_alias_is_shared(g, at) &&
	       !vec_find(&f->remapped, m, at <= m->end && m->start <= at + size);
}

/* Keep the hash of what recorded call @p ev reads; where it is not known yet the strict run will. */
static void find_reading(void *ctx, const struct cap_event *ev)
{
	struct foresight *f = ctx;
	struct dec_replay *r = f->r;
	const uint64_t *gpr = ev->regs.gpr;
	uint64_t at;
	bool is_known = ev->seq - loose.first_seq < loose.n_hashes;
	size_t i = 0;
	int64_t size;

	if (ev->kind != CAP_EV_SYSCALL || ev->seq < loose.first_seq)
		return;
	foresee_mapping(f, ev);
	if ((size = next_read(r, gpr, &i, &at)) < 0)
		return;
	for (; size >= 0; size = next_read(r, gpr, &i, &at))
		is_known &= is_lasting(f, at, size);
	if (is_known)
		loose.hashes[ev->seq - loose.first_seq] = hash_call(r, gpr);
	else
		loose.n_reading = ev->seq + 1;
}

static void keep_hash(struct dec_replay *r)
{
	uint64_t i = r->next.seq - loose.first_seq;

	if (r->next.seq >= loose.first_seq && i < loose.n_hashes)
		loose.hashes[i] = hash_call(r, r->next.regs.gpr);
	if (!loose.is_warm && r->next.seq + 1 >= loose.n_reading)
		_exit(0);
}

/** What the strict run to the end leaves for the branches. */
struct future {
	uint64_t n_blocks,
		block[WARM_MAX]; ///< dec_engine_block_key() of those it translated
};

/* In a fork: strictly to the end. */
static void run_strictly(struct dec_replay *r, struct future *future)
{
	const struct dec_engine *e = &r->engine;
	size_t first = e->blocks.size;

	r->output.fd = -1;
	r->on_call = keep_hash;
	r->look_ahead = 0;
	if (!dec_alias_fork(&r->guest))
		dec_replay_run(r, INT64_MAX);
	if (e->blocks.size < first)
		first = 0; // they were thrown away meanwhile
	for (size_t i = e->blocks.size; i > first && future->n_blocks < WARM_MAX; i--)
		if (!e->blocks.data[i - 1].is_gone)
			future->block[future->n_blocks++] =
				dec_engine_block_key(&e->blocks.data[i - 1]);
	_exit(0);
}

/* Memory that the fork shares. @return NULL: there is none. */
static void *shared_memory(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* Make the strict run, for code that is warm, too, or else for what calls read alone. */
static struct err *look_ahead(struct dec_replay *r)
{
	struct future *future = shared_memory(sizeof(*future));
	long pid;

	if (!future)
		return &err_nomem;
	pid = syscall(SYS_clone, SIGCHLD, 0, NULL, NULL, NULL);
	if (!pid)
		run_strictly(r, future);
	if (pid < 0)
		return err_errno("cannot fork the machine's process");
	syscall(SYS_wait4, pid, NULL, 0, NULL);
	if (loose.is_warm)
		dec_engine_warm(&r->engine, future->block, future->n_blocks);
	munmap(future, sizeof(*future));
	return NULL;
}

static struct err *read_capture(struct dec_replay *r)
{
	uint64_t events = capture_info(r->capture)->n_events;
	struct foresight f = { .r = r };
	struct err *err;

	dec_inputs_deinit(&loose.inputs);
	if (loose.hashes)
		munmap(loose.hashes, (loose.n_hashes + 1) * sizeof(*loose.hashes));
	loose = (struct dec_loose){ .position = r->engine.now, .first_seq = r->next.seq };
	loose.n_hashes = events > r->next.seq ? events - r->next.seq : 0;
	if (loose.n_hashes > HASHES_MAX)
		loose.n_hashes = HASHES_MAX;
	// At least one, to be mapped.
	loose.hashes = shared_memory((loose.n_hashes + 1) * sizeof(*loose.hashes));
	cap_events_rewind(r->again);
	if (!loose.hashes)
		return &err_nomem;
	err = dec_inputs_read(&loose.inputs, r->again, r->next.seq, find_reading, &f);
	vec_deinit(&f.remapped);
	return err;
}

struct err *dec_loose_prepare(struct dec_replay *r, bool has_many)
{
	bool is_known = loose.is_prepared && loose.position == r->engine.now;
	struct err *err = is_known ? NULL : read_capture(r);

	if (err || loose.is_warm)
		return err;
	loose.is_warm = has_many || is_known;
	if (loose.is_warm || loose.n_reading > loose.first_seq)
		err = look_ahead(r);
	loose.is_prepared = !err;
	return err;
}

/* ---- the run ends --------------------------------------------------------------------------- */

enum dec_verdict dec_loose_end(struct dec_loose *l, enum dec_fate fate, int value,
			       const char *fmt, ...)
{
	va_list ap;

	l->out->fate = fate;
	l->out->value = value;
	if (fmt) {
		va_start(ap, fmt);
		vsnprintf(l->out->text, sizeof(l->out->text), fmt, ap);
		va_end(ap);
	}
	l->has_ended = true;
	return DEC_END;
}

/* ---- together with the recording --------------------------------------------------------------- */

static void keep_printed(struct dec_nullified *to, int which, const uint8_t *bytes,
			 uint64_t n)
{
	uint64_t room = DEC_PRINTED_MAX - to->n_printed[which];

	n = n < room ? n : room;
	memcpy(to->printed[which] + to->n_printed[which], bytes, n);
	to->n_printed[which] += n;
}

void dec_loose_output(struct dec_loose *l, int fd, const uint8_t *bytes, uint64_t n)
{
	const struct inputs_open *o = dec_inputs_open(&l->inputs, fd);
	size_t to = o ? o - l->inputs.opens.data : 0;
	int which = to == l->std[0] ? 0 : to == l->std[1] ? 1 : 2;
	struct dec_written *w = &l->out->out[which];

	if (l->told && which < 2)
		keep_printed(l->told, which, bytes, n);
	w->hash = hash_bytes(w->hash ?: CAP_SIGNATURE_SEED, bytes, n);
	w->bytes += n;
}

/* What the recorded call at hand wrote, as far as its buffer is readable. */
static void output_of_call(struct dec_replay *r)
{
	const uint64_t *g = r->next.regs.gpr;

	if (r->next.ret <= 0)
		return;
	if (g[CAP_RAX] == SYS_write || g[CAP_RAX] == SYS_sendto ||
	    g[CAP_RAX] == SYS_pwrite64)
		dec_loose_output_at(r, g[CAP_RDI], g[CAP_RSI], r->next.ret);
	else if (g[CAP_RAX] == SYS_writev)
		dec_loose_output_vector(r, g[CAP_RDI], g[CAP_RSI], g[CAP_RDX],
					r->next.ret);
}

static void follow_call(struct dec_replay *r)
{
	output_of_call(r);
	err_destroy(dec_inputs_follow(&r->loose->inputs, &r->next));
}

/* Does the call that the guest is at read what the recorded one read? */
static bool reads_the_same(struct dec_replay *r)
{
	const struct dec_loose *l = r->loose;
	uint64_t i = r->next.seq - l->first_seq;

	if (r->is_log_at_end || r->next.kind != CAP_EV_SYSCALL || i >= l->n_hashes ||
	    !l->hashes[i])
		return true; // nothing to compare: the registers will tell
	return l->hashes[i] == hash_call(r, r->engine.ctx->gpr);
}

void dec_loose_part(struct dec_replay *r)
{
	struct dec_loose *l = r->loose;

	l->has_parted = true;
	l->out->parted = r->engine.now;
	dec_engine_set_async(&r->engine, 0, NULL, 0, 0);
	dec_loose_threads_part(r);
	l->has_to_pause = dec_loose_has_others(r);
	free(r->divergence);
	r->divergence = NULL;
	r->parted = (struct dec_divergence){};
	l->now_ns = l->inputs.clock_ns;
}

/* The log is over, and not because the recording was ended. */
static bool is_beyond(const struct dec_replay *r)
{
	const struct cap_info *info = capture_info(r->capture);

	return r->is_log_at_end && !r->cut && !info->is_unfinished &&
	       (info->end == CAP_END_EXIT || info->end == CAP_END_SIGNAL);
}

static bool is_exit(const struct dec_engine *e)
{
	return e->ctx->gpr[CAP_RAX] == SYS_exit_group || e->ctx->gpr[CAP_RAX] == SYS_exit;
}

/* A nullifying run sees each instruction: behind a switch from thread @p tid the next one's, too. */
static enum dec_verdict pause_if_switched(struct dec_replay *r, uint32_t tid,
					  enum dec_verdict v)
{
	return v == DEC_GO && r->loose->told && dec_threads_current(r)->tid != tid ?
		       DEC_PAUSE :
		       v;
}

static enum dec_verdict loose_syscall(void *ctx, struct dec_engine *e)
{
	struct dec_replay *r = ctx;
	struct dec_loose *l = r->loose;
	uint32_t tid = dec_threads_current(r)->tid;
	enum dec_verdict v = DEC_DIVERGED;

	if (!l->has_parted && !dec_layout_align(r) &&
	    dec_layout_is_memory(r, e->ctx->gpr[CAP_RAX]))
		return dec_loose_call(r);
	if (!l->has_parted && reads_the_same(r) && (!is_beyond(r) || is_exit(e)))
		v = l->strict.syscall(ctx, e);
	if (v != DEC_DIVERGED)
		return pause_if_switched(r, tid, v);
	if (r->guest.has_collided) // where the machine lies is not the program's doing
		return dec_loose_end(l, DEC_FATE_MACHINE, 0, "%s", r->divergence);
	if (!l->has_parted)
		dec_loose_part(r);
	v = dec_loose_call(r);
	if (v != DEC_GO || !l->has_to_pause)
		return v;
	l->has_to_pause = false; // so that run() counts the turns
	return DEC_PAUSE;
}

static enum dec_verdict loose_special(void *ctx, struct dec_engine *e,
				      const struct dec_insn *insn)
{
	struct dec_replay *r = ctx;
	struct dec_loose *l = r->loose;
	enum dec_verdict v = DEC_DIVERGED;

	if (!l->has_parted && !is_beyond(r))
		v = l->strict.special(ctx, e, insn);
	if (v != DEC_DIVERGED)
		return v;
	if (!l->has_parted)
		dec_loose_part(r);
	return dec_loose_insn(r, insn);
}

static enum dec_verdict loose_fault(void *ctx, struct dec_engine *e)
{
	struct dec_replay *r = ctx;
	struct dec_loose *l = r->loose;
	uint64_t signo = e->ctx->fault_signo;
	enum dec_verdict v = DEC_DIVERGED;

	// Code that changes itself is a fault for the machine alone.
	if (!l->has_parted ||
	    (signo == SIGSEGV && map_get(&r->guest.code, e->ctx->fault_addr >> 12)))
		v = l->strict.fault(ctx, e);
	if (v != DEC_DIVERGED)
		return v;
	if (!l->has_parted)
		dec_loose_part(r);
	return dec_loose_signal(r, signo, e->ctx->fault_addr);
}

static enum dec_verdict loose_stop(void *ctx, struct dec_engine *e)
{
	struct dec_replay *r = ctx;
	uint32_t tid = dec_threads_current(r)->tid;

	if (r->loose->has_parted)
		return DEC_GO;
	return pause_if_switched(r, tid, r->loose->strict.stop_at(ctx, e));
}

static void loose_complain(void *ctx, struct dec_engine *e, const char *text)
{
	struct dec_replay *r = ctx;

	(void)e;
	// The strict world complains by diverging.
	if (r->loose->has_parted)
		dec_loose_end(r->loose, DEC_FATE_MACHINE, 0, "%s", text);
	else
		r->loose->strict.complain(ctx, e, text);
}

/* ---- the branch ------------------------------------------------------------------------------------ */

static void enter_world(struct dec_replay *r)
{
	struct dec_world *w = &r->engine.world;
	struct dec_inputs *in = &loose.inputs;

	loose.strict = *w;
	w->syscall = loose_syscall;
	w->special = loose_special;
	w->fault = loose_fault;
	w->stop_at = loose_stop;
	w->complain = loose_complain;
	w->met = NULL;
	for (int i = 0; i < 2; i++) {
		const struct inputs_open *o = dec_inputs_open(in, 1 + i);

		loose.std[i] = o ? (size_t)(o - in->opens.data) : SIZE_MAX;
	}
	r->loose = &loose;
	dec_replay_forget_omitted(r);
	r->on_call = follow_call;
	r->output.fd = -1;
	r->look_ahead = 0;
	r->stops_at_maps = false;
}

/* How the strict world ended the run. */
static void strict_end(struct dec_replay *r)
{
	struct dec_loose *l = r->loose;

	if (r->end == CAP_END_EXIT)
		dec_loose_end(l, DEC_FATE_EXIT, r->end_value, NULL);
	else if (r->end == CAP_END_SIGNAL)
		dec_loose_end(l, DEC_FATE_SIGNAL, r->end_value, NULL);
	else
		dec_loose_end(l, DEC_FATE_END, 0, "the recording ends there");
	l->out->fault_addr = r->fault_addr;
}

/* Where the running thread's turn is over, at @p until at last. */
static uint64_t end_of_turn(const struct dec_replay *r, uint64_t until)
{
	uint64_t end = r->engine.now + LOOSE_TURN;

	return r->loose->has_parted && dec_loose_has_others(r) && end < until ? end :
										until;
}

/* The branch ended with @p v, or it was said how. */
static void end(struct dec_replay *r, enum dec_verdict v)
{
	struct dec_loose *l = r->loose;

	if (!l->has_ended && v == DEC_END)
		strict_end(r);
	else if (!l->has_ended)
		dec_loose_end(l, DEC_FATE_MACHINE, 0, "%s", r->divergence ?: "?");
	if (l->out->fate == DEC_FATE_EXIT)
		dec_layout_end(r);
}

static void run(struct dec_replay *r, uint64_t until)
{
	struct dec_loose *l = r->loose;
	enum dec_verdict v = dec_loose_alter_at_once(r);

	while (v == DEC_GO && !l->has_ended) {
		// There may be alterations there, too, where the engine would not stop.
		if (l->has_moved && r->engine.now < until) {
			v = dec_loose_alter_here(r);
			continue;
		}
		switch (dec_engine_run(&r->engine, end_of_turn(r, until))) {
		case DEC_STOP_POSITION:
			if (r->engine.now >= until)
				v = dec_loose_end(l, DEC_FATE_LIMIT, 0, NULL);
			else
				v = dec_loose_next(r);
			l->now_ns += LOOSE_TURN;
			break;
		case DEC_STOP_BREAK:
			v = dec_layout_is_at(r) ? dec_layout_here(r, 0) :
						  dec_loose_alter_here(r);
			break;
		case DEC_STOP_PAUSE:
			break;
		case DEC_STOP_END:
			v = DEC_END;
			break;
		case DEC_STOP_DIVERGED:
			v = DEC_DIVERGED;
			break;
		}
	}
	end(r, v);
}

struct err *dec_loose_stray(struct dec_replay *r, bool is_awake)
{
	static struct dec_outcome out;
	struct err *err;

	dec_inputs_deinit(&loose.inputs);
	loose = (struct dec_loose){ .position = r->engine.now,
				    .out = &out,
				    .is_awake = is_awake };
	out = (struct dec_outcome){ .parted = UINT64_MAX };
	cap_events_rewind(r->again);
	err = dec_inputs_read(&loose.inputs, r->again, r->next.seq, NULL, NULL);
	if (err)
		return err;
	enter_world(r);
	if (r->end == CAP_END_UNKNOWN && !r->is_cut && !r->divergence)
		return NULL;
	// Where the recorded run ended, this one goes on.
	dec_loose_part(r);
	r->end = CAP_END_UNKNOWN;
	r->is_cut = false;
	return NULL;
}

enum dec_stop dec_loose_go(struct dec_replay *r, uint64_t until)
{
	struct dec_loose *l = r->loose;
	enum dec_stop stop;

	while (!l->has_ended) {
		stop = dec_engine_run(&r->engine, end_of_turn(r, until));
		if (stop == DEC_STOP_BREAK)
			return stop;
		if (stop == DEC_STOP_POSITION) {
			if (r->engine.now >= until)
				return stop;
			l->now_ns += LOOSE_TURN;
			if (dec_loose_next(r) == DEC_GO)
				continue;
			stop = DEC_STOP_END;
		}
		if (stop == DEC_STOP_PAUSE || l->has_ended)
			continue;
		if (stop == DEC_STOP_END)
			strict_end(r);
		else
			dec_loose_end(l, DEC_FATE_MACHINE, 0, "%s", r->divergence ?: "?");
	}
	l->out->position = r->engine.now;
	l->out->rip = r->engine.ctx->rip;
	l->out->tid = dec_threads_current(r)->tid;
	return DEC_STOP_END;
}

const struct dec_outcome *dec_loose_outcome(const struct dec_replay *r)
{
	return r->loose->out;
}

/* Variables get their places. @return whether they could. */
static bool lay_out(struct dec_replay *r)
{
	struct err *err = dec_layout_apply(r);

	if (err)
		dec_loose_end(&loose, DEC_FATE_MACHINE, 0, "%s", err->message);
	err_destroy(err);
	return !loose.has_ended;
}

/* A branch begins. @return whether the run had not ended there. */
static bool begin(struct dec_replay *r, struct dec_outcome *ret)
{
	assert(loose.is_prepared && loose.position == r->engine.now &&
	       "what is known was read for this position");
	*ret = (struct dec_outcome){ .parted = UINT64_MAX };
	loose.out = ret;
	enter_world(r);
	if (r->end != CAP_END_UNKNOWN || r->is_cut) {
		strict_end(r);
		return false;
	}
	return !r->is_laid_out || lay_out(r);
}

static void tell_place(struct dec_replay *r, struct dec_outcome *ret)
{
	ret->position = r->engine.now;
	ret->rip = r->engine.ctx->rip;
	ret->tid = dec_threads_current(r)->tid;
}

void dec_loose_run(struct dec_replay *r, const struct dec_alter *alters, size_t n,
		   uint64_t limit, struct dec_outcome *ret)
{
	loose.alters = alters;
	loose.n_alters = n;
	loose.times = calloc(n + 1, sizeof(*loose.times));
	assert(loose.times && "out of memory");
	if (begin(r, ret))
		run(r, r->engine.now + limit);
	tell_place(r, ret);
}

void dec_loose_nullify(struct dec_replay *r, const struct dec_nullify *ask,
		       uint64_t limit, struct dec_outcome *ret,
		       struct dec_nullified *told)
{
	loose.told = told;
	if (begin(r, ret))
		end(r, dec_nullify_run(r, ask, r->engine.now + limit, told));
	tell_place(r, ret);
}
