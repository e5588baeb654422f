// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * One recording from start to end: the loop that waits for the ring and for ptrace stops,
 * and hands each to whom it concerns.
 */
#define LOG_ROOM "record"
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>

#include "pt-collect/session.h"
#include "pt-collect/inputs/assemble.h"
#include "pt-collect/start/attach.h"
#include "pt-collect/kernel/bpf.h"
#include "pt-collect/probes/chance.h"
#include "pt-collect/inputs/chaos.h"
#include "pt-collect/inputs/cut.h"
#include "pt-collect/inputs/files.h"
#include "pt-collect/flight/flight.h"
#include "pt-collect/start/follow.h"
#include "pt-collect/start/keeper.h"
#include "pt-collect/tracee/wards.h"
#include "pt-collect/inputs/others.h"
#include "pt-collect/inputs/points.h"
#include "pt-collect/inputs/table.h"
#include "pt-collect/pt/record.h"
#include "pt-collect/record.h"
#include "pt-collect/start/start.h"
#include "pt-collect/inputs/threads.h"
#include "pt-collect/tracee/proc.h"

#define ATTEMPTS 10 ///< to attach to who executes another program just then

#define POLL_MS 50 ///< the ring is looked at this often when nothing wakes us
#define FLUSH_NS 1000000000ull
#define REAP_MAX 100 ///< stops and ends that are looked at in a row

/** Of the kernel side's ring: for whom it concerns. */
static void take_record(void *session, void *rec, size_t size)
{
	const struct rec_head *head = rec;
	struct ptc_session *s = session;
	struct ptc_process *p =
		size < sizeof(*head) ? NULL : ptc_process_of(&s->all, head->tgid);

	if (p && s->flight)
		ptc_flight_take(p, rec);
	else if (head->kind == REC_OTHERS && !s->flight)
		ptc_others_tell(&s->all, rec);
	else if (p)
		ptc_assemble(p, rec);
}

/* A ptrace stop of any thread: drain the ring, hand it to whom it concerns. */
static void take_stop(struct ptc_session *s, pid_t tid, int status)
{
	// Others are children, or threads, that just appeared.
	struct ptc_process *p = ptc_process_of(&s->all, tid);
	siginfo_t si = {};

	// The first request waits until it is off its CPU: then that is in the ring.
	ptrace(PTRACE_GETSIGINFO, tid, NULL, &si);
	ptc_bpf_drain(s->all.bpf);
	// Killed meanwhile: it stands at its end, which will be reported for itself.
	if (si.si_code == PTC_END_STOP && status >> 8 != PTC_END_STOP)
		return;
	if (s->flight)
		ptc_flight_stop(s->flight, tid, status);
	else if (p)
		ptc_process_stop(s, p, tid, status);
	else if (status >> 16 == PTRACE_EVENT_STOP)
		ptc_child_stopped(&s->family, tid);
	else
		ptrace(PTRACE_CONT, tid, NULL,
		       (long)(status >> 16 ? 0 : WSTOPSIG(status)));
}

static bool has_ended(const struct ptc_session *s)
{
	if (s->family.children.size)
		return false; // traced, and not yet let go or followed
	return !vec_find(&s->all.list, p, !(*p)->has_ended);
}

void ptc_session_take(struct ptc_session *s, pid_t tid, int status)
{
	struct ptc_process *p = ptc_process_of(&s->all, tid);
	uint32_t index;

	if (WIFSTOPPED(status)) {
		take_stop(s, tid, status);
		return;
	}
	ptc_chaos_forget(s->family.chaos, tid);
	ptc_bpf_drain(s->all.bpf);
	ptc_threads_reaped(&s->all, tid, status);
	if (!p || tid != p->tracee.pid) {
		ptc_child_ended(&s->family, tid);
		return;
	}
	index = p->index;
	p->has_ended = true;
	p->wait_status = status;
	ptc_wards_forget(tid);
	if (index && !s->flight)
		ptc_follow_ended(&s->family, p);
	ptc_child_orphans(&s->family, index);
}

/** Take what is there. Processes that fork all the time leave no moment without: signals
 * to us must not wait for one. @return whether there may be more. */
static bool reap(struct ptc_session *s)
{
	int status;
	pid_t tid;

	for (int n = 0; n < REAP_MAX && !has_ended(s); n++) {
		tid = waitpid(-1, &status, __WALL | WNOHANG);
		if (tid <= 0)
			return false;
		ptc_session_take(s, tid, status);
	}
	return true;
}

/** A signal sent to us with kill is meant for the program; one from the terminal has
 * reached it already. We end when it does. What we attached to was there before us: it is
 * left alone. So is the program when whom the user started has been killed. So are
 * processes that outlive the program that we followed them from. */
static void take_signals(struct ptc_session *s, int signals, struct ptc_result *ret)
{
	struct signalfd_siginfo si;

	while (read(signals, &si, sizeof(si)) > 0) {
		if (si.ssi_signo == SIGCHLD)
			continue;
		if (si.ssi_signo == SIGUSR2) {
			ptc_flight_request(s->flight);
			continue;
		}
		// Its parent would get it, who is not us.
		if (si.ssi_code == SI_USER && ptc_process_of(&s->all, si.ssi_pid)) {
			log_warn(
				"process %u sends its parent, which is faultline, SIG%s: "
				"nobody gets it",
				si.ssi_pid, sigabbrev_np(si.ssi_signo));
			continue;
		}
		ret->is_asked_to_end = true;
		if (s->all.is_attached || s->all.list.data[0]->has_ended ||
		    ptc_is_keeper_gone())
			s->wants_end = true;
		else if (si.ssi_code == SI_USER)
			kill(s->all.list.data[0]->tracee.pid, si.ssi_signo);
	}
}

static struct err *make_poll(struct ptc_session *s, int *signals, int *poll)
{
	struct epoll_event e = { .events = EPOLLIN };
	sigset_t set = ptc_watched_signals(s->flight);

	*signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	*poll = epoll_create1(EPOLL_CLOEXEC);
	if (*signals < 0 || *poll < 0 || epoll_ctl(*poll, EPOLL_CTL_ADD, *signals, &e) ||
	    epoll_ctl(*poll, EPOLL_CTL_ADD, ptc_bpf_fd(s->all.bpf), &e))
		return err_errno("cannot wait for events");
	return NULL;
}

/** Once a second what is known goes to the disk: we may be killed. */
static void flush_sometimes(struct ptc_session *s, uint64_t *last_ns)
{
	uint64_t now_ns = ptc_now_ns();

	if (now_ns - *last_ns < FLUSH_NS)
		return;
	*last_ns = now_ns;
	for (size_t i = 0; i < s->all.list.size; i++) {
		struct ptc_process *p = s->all.list.data[i];
		struct err *err = p->log.is_recording ? cap_writer_flush(p->log.writer) :
							NULL;

		if (err)
			ptc_log_fail(&p->log, err);
		ptc_shared_look(p);
	}
}

/** Sleep until something happens, at most until @p until_ns. */
static void wait_for_event(int poll, uint64_t until_ns)
{
	uint64_t now_ns = ptc_now_ns(), most_ns = POLL_MS * 1000000ull;
	uint64_t ns = until_ns <= now_ns ? 0 : until_ns - now_ns;
	struct timespec ts = { .tv_nsec = ns < most_ns ? ns : most_ns };
	struct epoll_event e;

	epoll_pwait2(poll, &e, 1, &ts, NULL);
}

/** A program that hangs is ended so that the capture holds where it stood. */
static void end_if_hung(struct ptc_session *s, struct ptc_hang *hang,
			struct ptc_result *ret)
{
	const struct ptc_process *p = s->all.list.data[0];

	if (!hang->limit_ns || ret->has_hung || !ptc_hang_look(hang, &p->tracee))
		return;
	ret->has_hung = true;
	ptc_hang_describe(&p->tracee);
	kill(p->tracee.pid, SIGABRT);
}

/** Take its PT; a process that cannot be recorded any more is left to run. */
static void look_after(const struct ptc_session *s, struct ptc_process *p)
{
	ptc_pt_take(&p->pt);
	if (p->log.failure && !p->has_ended && !s->flight)
		ptc_process_stop_recording(p);
}

static void run(struct ptc_session *s, int signals, int poll, struct ptc_hang *hang,
		struct ptc_result *ret)
{
	uint64_t last_flush_ns = ptc_now_ns(), last_look_ns = last_flush_ns;
	uint64_t due_ns = UINT64_MAX, chaos_ns = UINT64_MAX;
	bool is_busy = false;

	while (!has_ended(s) && !s->wants_end) {
		wait_for_event(poll, is_busy ? 0 : due_ns);
		take_signals(s, signals, ret);
		is_busy = reap(s);
		ptc_bpf_drain(s->all.bpf);
		for (size_t i = 0; i < s->all.list.size; i++)
			look_after(s, s->all.list.data[i]);
		if (s->flight)
			ptc_flight_step(s->flight);
		if (s->family.chaos)
			chaos_ns = ptc_chaos_step(s->family.chaos);
		due_ns = ptc_cut_step(&s->all);
		due_ns = due_ns < chaos_ns ? due_ns : chaos_ns;
		if (ptc_now_ns() - last_look_ns > POLL_MS * 1000000ull) {
			last_look_ns = ptc_now_ns();
			end_if_hung(s, hang, ret);
		}
		flush_sometimes(s, &last_flush_ns);
		if (s->end_ns && ptc_now_ns() >= s->end_ns)
			s->wants_end = true;
	}
}

/* ---- one recording --------------------------------------------------------------------- */

static void session_deinit(struct ptc_session *s)
{
	ptc_chaos_destroy(s->family.chaos);
	ptc_flight_destroy(s->flight);
	for (size_t i = 0; i < s->all.list.size; i++) {
		ptc_bpf_set_recorded(s->all.bpf, s->all.list.data[i]->tracee.pid, false);
		ptc_past_destroy(s->all.list.data[i]->past);
		ptc_process_destroy(s->all.list.data[i]);
	}
	vec_deinit(&s->all.list);
	ptc_store_plans_destroy(s->all.probing.plans);
	ptc_chance_found_deinit(&s->all.probing);
	ptc_family_deinit(&s->family);
	ptc_bpf_end_session(s->all.bpf);
}

/** All that was recorded, in one line. */
static struct err *sum_up(struct ptc_session *s, struct ptc_result *ret)
{
	struct ptc_process *p = s->all.list.data[0];
	struct err *err;

	p->info.processes = s->family.followed.data;
	p->info.n_processes = s->family.followed.size;
	err = ptc_finish(p, &ret->bytes, &ret->n_files);
	ret->n_processes = 1 + cap_process_followed(s->family.followed.data,
						    s->family.followed.size);
	ret->n_syscalls = p->info.n_syscalls + s->family.n_syscalls;
	ret->bytes += s->family.bytes;
	ret->n_gaps = p->info.n_missing + s->family.n_gaps;
	ret->gaps.data = take_ptr(&s->family.gaps.data);
	ret->gaps.size = s->family.gaps.size;
	s->family.gaps.size = 0;
	if (!err)
		err = cap_writer_give(p->log.writer);
	p->info.processes = NULL;
	p->info.n_processes = 0;
	ret->info = p->info;
	p->info = (struct cap_info){};
	return err ?: take_ptr(&s->family.failure);
}

/** What `record` exits with: as the program did, 0 when that runs on. */
static int exit_status(const struct ptc_process *p)
{
	if (!p->has_ended)
		return 0;
	return WIFEXITED(p->wait_status) ? WEXITSTATUS(p->wait_status) :
					   128 + WTERMSIG(p->wait_status);
}

/** It passed: is it a failure all the same? Else nothing of it stays. */
static struct err *judge(struct ptc_session *s, const struct ptc_options *o,
			 struct ptc_result *ret)
{
	struct ptc_process *p = s->all.list.data[0];
	struct err *err = NULL;

	if (o->judge) {
		err = sum_up(s, ret);
		if (!err)
			err = o->judge(o->judge_ctx, ret->dir, &ret->is_judged);
		if (err || ret->is_judged)
			return err;
	}
	cap_writer_remove(take_ptr(&p->log.writer));
	ret->is_removed = true;
	return NULL;
}

/** What is left to do when the program has ended, or was left. */
static struct err *conclude(struct ptc_session *s, const struct ptc_options *o,
			    struct ptc_result *ret)
{
	struct ptc_process *p = s->all.list.data[0];
	struct err *err;

	ret->status = exit_status(p);
	if (s->flight) {
		err = ptc_flight_end(s->flight, p, &ret->n_snapshots);
		ret->is_removed = !ret->n_snapshots;
		return err;
	}
	if (o->until_fail && !p->log.failure && !ptc_result_is_failure(ret))
		return judge(s, o, ret);
	return sum_up(s, ret);
}

/** What is to be known of it before it runs. */
static struct err *start(struct ptc_session *s, const struct ptc_options *o,
			 struct ptc_points *points, struct ptc_result *ret)
{
	struct ptc_process *p = s->all.list.data[0];
	struct err *err = s->all.is_attached ? NULL : ptc_make_dumpable(&p->tracee);

	if (!err)
		err = s->flight		 ? ptc_flight_start(s->flight, p, &ret->stopped) :
		      s->all.is_attached ? ptc_attach_start(p, &ret->stopped) :
					   ptc_start(p);
	if (err && s->all.is_attached)
		ret->has_executed = ptc_attach_is_late(p);
	// Attaching begins it while all threads stand still.
	if (!err && !s->all.is_attached)
		ptc_pt_begin(&p->pt);
	if (!err && points)
		err = ptc_points_find(&p->tracee, points) ?:
			      ptc_chaos_create(s->all.bpf, &p->tracee, points, o->seed,
					       &s->family.chaos);
	return err;
}

/** It goes on without us. */
static void leave(struct ptc_session *s)
{
	struct ptc_process *p = s->all.list.data[0];

	if (p->has_ended || s->flight)
		return; // the flight recorder leaves by itself
	if (s->all.is_attached)
		ptc_attach_end(&s->family, p);
	else
		ptc_leave(&s->family, p);
}

/** Save its start state, let it run, finish. */
static struct err *record_program(struct ptc_session *s, const struct ptc_options *o,
				  struct ptc_points *points, struct ptc_result *ret)
{
	struct ptc_hang hang = { .limit_ns = o->until_fail ?
						     o->hang_seconds * 1000000000ull :
						     0 };
	_cleanup_close_ int signals = -1, poll = -1;
	struct ptc_process *p = s->all.list.data[0];
	_cleanup_free_ char *named = take_ptr(&p->tracee.exe);
	struct err *err = ptc_tracee_open(&p->tracee);

	ret->has_executed = !err && named && strcmp(named, p->tracee.exe);
	if (ret->has_executed)
		err = err_new(ERR_OS, "it executes one program after the other");
	if (err)
		err = s->all.is_attached ?
			      err_prefix(err, "cannot attach to process %d", o->pid) :
			      err_prefix(err, "cannot record '%s'", o->argv[0]);
	if (!err)
		err = ptc_describe(p, o->argv);
	if (!err)
		err = make_poll(s, &signals, &poll);
	p->log.is_recording = p->has_executed = true;
	s->all.pt.poll_fd = poll;
	if (!err)
		err = start(s, o, points, ret);
	if (err)
		return err;
	// What was attached to has been changed by now: it is left in the usual way, for the
	// signal that told us waits.
	if (!s->all.is_attached && ptc_is_keeper_gone())
		return err_new(ERR_OS, "cannot record: faultline was killed (the program "
				       "has not started)");
	if (!s->flight)
		ptc_bpf_set_recorded(s->all.bpf, p->tracee.pid, p->log.is_recording);
	ret->has_run = true;
	if (s->all.is_attached && o->on_attached)
		o->on_attached(o, ret);
	if (o->duration_s > 0)
		s->end_ns = ptc_now_ns() + o->duration_s * 1e9;
	if (!s->all.is_attached &&
	    (ptrace(PTRACE_SETOPTIONS, p->tracee.pid, NULL,
		    s->flight ? ptc_flight_options(s->flight) : PTC_TRACE_OPTIONS) ||
	     ptrace(PTRACE_CONT, p->tracee.pid, NULL, NULL)))
		return err_errno("cannot start the program");
	run(s, signals, poll, &hang, ret);
	if (!s->flight)
		ptc_follow_leave(&s->family);
	leave(s);
	s->all.pt.poll_fd = -1;
	err = conclude(s, o, ret);
	if (err)
		ret->status = PTC_EXIT_FAILED;
	return err;
}

/** What a recording changes about us, and a next program must not inherit. */
struct surroundings {
	sigset_t blocked, watched, nobodys;
	struct sigaction pipe, size;
	struct rlimit files;
};

/** What the program sends its parent that means nothing to us. From the terminal we are stopped. */
static sigset_t nobodys_signals(const sigset_t *watched)
{
	static const int terminals[] = { SIGTSTP, SIGTTIN, SIGTTOU };
	sigset_t set;

	sigfillset(&set);
	for (size_t i = 0; i < sizeof(terminals) / sizeof(terminals[0]); i++)
		sigdelset(&set, terminals[i]);
	for (int i = 1; i < SIGRTMIN; i++)
		if (sigismember(watched, i))
			sigdelset(&set, i);
	return set;
}

/** After the launch. We see the program through to its end, whatever is sent to us; and
 * each followed process takes some descriptors. */
static void change_surroundings(struct surroundings *before, bool in_flight)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN };
	struct rlimit files;

	before->watched = ptc_watched_signals(in_flight);
	before->nobodys = nobodys_signals(&before->watched);
	sigprocmask(SIG_BLOCK, &before->watched, &before->blocked);
	sigprocmask(SIG_BLOCK, &before->nobodys, NULL);
	sigaction(SIGPIPE, &ignore, &before->pipe);
	sigaction(SIGXFSZ, &ignore, &before->size);
	getrlimit(RLIMIT_NOFILE, &before->files);
	files = before->files;
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
}

#define ASKED_NS 100000000 ///< the keeper hands on what has ended the program by itself

/** @p end: as of waitpid(). @return whether we were asked to end, and nobody has looked. */
static bool restore_surroundings(const struct surroundings *before, int end)
{
	struct timespec most = {};
	bool is_asked = false;
	int signo;

	if (WIFSIGNALED(end) && sigismember(&before->watched, WTERMSIG(end)))
		most.tv_nsec = ASKED_NS;
	while (!is_asked && (signo = sigtimedwait(&before->watched, NULL, &most)) > 0)
		is_asked = signo != SIGCHLD && signo != SIGUSR2;
	while (sigtimedwait(&before->nobodys, NULL, &(struct timespec){}) > 0)
		;
	setrlimit(RLIMIT_NOFILE, &before->files);
	sigaction(SIGPIPE, &before->pipe, NULL);
	sigaction(SIGXFSZ, &before->size, NULL);
	sigprocmask(SIG_SETMASK, &before->blocked, NULL);
	return is_asked;
}

/** Where the capture goes. When nobody said, what runs there now, @p exe, names it. */
static struct err *name_dir(const struct ptc_options *o, const char *exe,
			    struct ptc_result *ret)
{
	ret->dir = o->dir ? strdup(o->dir) : exe ? o->name_dir(exe) : NULL;
	return ret->dir ? NULL : &err_nomem;
}

struct err *ptc_record_once(const struct ptc_options *o, struct ptc_bpf *b,
			    struct ptc_points *points, struct ptc_result *ret)
{
	_cleanup_(session_deinit) struct ptc_session s = {
		.all = { .bpf = b,
			 .probing = { .bpf = b,
				      .wants_heap = o->wants_heap,
				      .is_portable = o->is_portable,
				      .in_flight = o->wants_snapshot,
				      .stores = &o->stores },
			 .pt = { .is_wanted = o->pt.is_wanted,
				 .setup = o->pt_setup,
				 .why_not = o->pt_why_not,
				 .in_flight = o->wants_snapshot,
				 .bpf = b,
				 .poll_fd = -1 },
			 .private = &o->private,
			 .follows = o->follows,
			 .joint_cpu = -1,
			 .cut_due_ns = UINT64_MAX,
			 .is_attached = o->pid,
			 .take = ptc_session_take,
			 .session = &s },
		.family.all = &s.all,
		.wants_end_core = o->wants_end_core,
	};
	struct ptc_process *p = NULL;
	pid_t pid = o->pid;
	struct err *err = pid ? ptc_target_check(&pid) : NULL;
	_cleanup_free_ char *exe = pid ? ptc_proc_link(pid, "exe") : NULL;

	ret->status = PTC_EXIT_FAILED;
	if (!err)
		err = name_dir(o, exe, ret);
	if (err)
		return err;
	if (o->wants_snapshot)
		err = ptc_flight_create(
			&(struct ptc_flight_wants){ ret->dir, o->snapshot_bytes,
						    o->trigger, o->on_snapshot },
			&s.all, &s.flight);
	if (err)
		return err;
	ptc_bpf_set_consumer(s.all.bpf, take_record, &s);
	if (!s.all.is_attached)
		err = ptc_launch(o->argv, !s.flight, &pid, &ret->status);
	if (err)
		return err;
	err = ptc_process_create(&s.all, pid, &p);
	if (!err)
		p->tracee.exe = take_ptr(&exe);
	if (!err)
		err = cap_writer_create(ret->dir, &p->log.writer);
	if (!err) {
		struct surroundings before;

		cap_writer_set_mask(p->log.writer, o->private.mask);
		change_surroundings(&before, s.flight);
		err = record_program(&s, o, points, ret);
		ret->is_asked_to_end |= restore_surroundings(&before, p->wait_status);
	}
	if (err && !ret->has_run) {
		if (!s.all.is_attached)
			ptc_launch_undo(pid);
		cap_writer_remove(p ? take_ptr(&p->log.writer) : NULL);
	}
	return err;
}

unsigned ptc_parts_wanted(const struct ptc_options *o)
{
	unsigned parts = 0;

	if (o->wants_snapshot)
		parts |= o->wants_heap ? PTC_BPF_RESULTS : 0;
	else
		// Who attaches has them stand still meanwhile.
		parts |= PTC_BPF_CALLS | (o->pid ? PTC_BPF_THREADS : 0);
	return parts | (o->wants_heap ? PTC_BPF_HEAP : 0) |
	       (o->private.mappings.size ? PTC_BPF_READS : 0) |
	       (o->stores.is_wanted ? PTC_BPF_STORES : 0);
}

struct err *ptc_record(const struct ptc_options *o, struct ptc_result *ret)
{
	_cleanup_(ptc_points_deinit) struct ptc_points points = {};
	struct ptc_bpf *b = NULL;
	struct err *err = ptc_bpf_create(ptc_parts_wanted(o), &ptc_table, &b);

	ret->status = PTC_EXIT_FAILED;
	if (!err)
		err = ptc_record_once(o, b, o->wants_chaos ? &points : NULL, ret);
	for (int i = 1; err && ret->has_executed && i < ATTEMPTS; i++) {
		err_destroy(err);
		ptc_result_deinit(ret);
		memset(ret, 0, sizeof(*ret));
		err = ptc_record_once(o, b, NULL, ret);
	}
	ptc_bpf_destroy(b);
	return err;
}

void ptc_result_deinit(struct ptc_result *r)
{
	ptc_info_deinit(&r->info);
	for (size_t i = 0; i < r->gaps.size; i++)
		free(r->gaps.data[i]);
	vec_deinit(&r->gaps);
	free(r->dir);
}
