// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * One recording from start to end: the loop that waits for the ring and for ptrace stops,
 * and hands each to whom it concerns.
 */
#define LOG_ROOM "record"
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <fcntl.h>
#include <time.h>

#include "pt-collect/ptc.h"

#define POLL_MS 50 ///< the ring is looked at this often when nothing wakes us
#define FLUSH_NS 1000000000ull

uint64_t ptc_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

/* ---- what every part uses ------------------------------------------------------------ */

struct ptc_thread *ptc_thread_find(struct ptc_session *s, pid_t tid)
{
	struct ptc_thread **slot;

	for (size_t i = 0; i < s->threads.size; i++)
		if (s->threads.data[i]->tid == tid)
			return s->threads.data[i];
	slot = vec_push(&s->threads);
	if (!slot)
		return NULL;
	*slot = calloc(1, sizeof(**slot));
	if (!*slot) {
		s->threads.size--;
		return NULL;
	}
	(*slot)->tid = tid;
	return *slot;
}

void ptc_stop_recording(struct ptc_session *s, struct err *err)
{
	s->is_recording = false;
	ptc_bpf_set_target(s->bpf, 0);
	if (s->failure)
		err_destroy(err);
	else
		s->failure = err;
}

void ptc_log(struct ptc_session *s, const struct cap_event *ev)
{
	struct err *err;

	if (!s->is_recording)
		return;
	err = cap_writer_event(s->writer, ev);
	if (err)
		ptc_stop_recording(s, err);
}

void ptc_log_gap(struct ptc_session *s, pid_t tid, const char *fmt, ...)
{
	struct cap_event ev = { .kind = CAP_EV_GAP, .tid = tid, .at_ns = ptc_now_ns() };
	char text[5000];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	ev.text = text;
	ptc_log(s, &ev);
}

/* ---- stops ---------------------------------------------------------------------------- */

/** The SIGSTOP by which the kernel side asks for time. */
static bool is_our_stop(const siginfo_t *si)
{
	return si->si_signo == SIGSTOP && si->si_code == SI_KERNEL;
}

static void on_signal(struct ptc_session *s, pid_t tid, int signo)
{
	siginfo_t si;

	if (ptrace(PTRACE_GETSIGINFO, tid, NULL, &si)) {
		ptrace(PTRACE_CONT, tid, NULL, (long)signo);
		return;
	}
	if (is_our_stop(&si) || ptc_trap(s, tid, &si))
		ptrace(PTRACE_CONT, tid, NULL, NULL);
	else
		ptc_signal(s, tid, &si);
}

/** The thread is about to end; its registers are still there. */
static void on_thread_end(struct ptc_session *s, pid_t tid)
{
	struct ptc_thread *t = ptc_thread_find(s, tid);
	struct cap_event ev = {
		.kind = CAP_EV_EXIT, .tid = tid, .at_ns = ptc_now_ns(), .exit_code = -1
	};
	struct user_regs_struct u = {};
	unsigned long status = 0;

	ptrace(PTRACE_GETREGS, tid, NULL, &u);
	ptrace(PTRACE_GETEVENTMSG, tid, NULL, &status);
	ev.regs = ptc_to_cap(&u);
	if (t) {
		ptc_assemble_settle(s, t, true);
		t->is_attached = false; // its number may come again
	}
	if (WIFEXITED(status)) {
		ev.exit_code = WEXITSTATUS(status);
		ev.regs.gpr[CAP_RAX] = u.orig_rax;
	} else if (WTERMSIG(status) == SIGKILL) {
		// Never delivered, so not logged yet.
		struct cap_event kill = { .kind = CAP_EV_SIGNAL,
					  .tid = tid,
					  .at_ns = ev.at_ns,
					  .signo = SIGKILL,
					  .is_fatal = true,
					  .regs = ev.regs };

		ptc_log(s, &kill);
	}
	ptc_log(s, &ev);
	ptrace(PTRACE_CONT, tid, NULL, NULL);
}

/** Open what we know the program by. */
static struct err *open_program(struct ptc_session *s)
{
	char path[64], exe[4096];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/mem", s->pid);
	s->mem_fd = open(path, O_RDWR | O_CLOEXEC);
	if (s->mem_fd < 0)
		return err_errno("cannot open %s", path);
	snprintf(path, sizeof(path), "/proc/%d/exe", s->pid);
	n = readlink(path, exe, sizeof(exe) - 1);
	exe[n > 0 ? n : 0] = 0;
	s->exe = strdup(exe);
	return s->exe ? NULL : &err_nomem;
}

/** The program became another one: the capture begins anew with that, because whoever
 * records a wrapper (env, a launcher script) means the program that it starts. */
static struct err *begin_anew(struct ptc_session *s)
{
	struct err *err;

	close(s->mem_fd);
	free(s->exe);
	s->mem_fd = -1;
	s->exe = NULL;
	err = open_program(s);
	if (!err)
		err = cap_writer_restart(s->writer);
	if (!err)
		err = ptc_start(s);
	if (err)
		return err;
	s->n_execs++;
	log_info("recording begins anew with %s", s->exe);
	ptc_bpf_set_target(s->bpf, s->pid);
	return NULL;
}

/** An exec in the target; threads other than the first would need more care. */
static void on_exec(struct ptc_session *s, pid_t tid)
{
	_cleanup_err_ struct err *err = NULL;
	int status;

	ptc_bpf_set_target(s->bpf, 0);
	for (size_t i = 0; i < s->threads.size; i++)
		s->threads.data[i]->has_held = false;
	// Step out of the exec: its own end is the old image's affair.
	if (ptrace(PTRACE_SINGLESTEP, tid, NULL, NULL) ||
	    waitpid(tid, &status, __WALL) != tid || !WIFSTOPPED(status))
		return;
	if (s->is_recording) {
		s->is_recording = false;
		ptc_bpf_drain(s->bpf);
		s->is_recording = true;
		err = begin_anew(s);
		if (!err) {
			ptrace(PTRACE_CONT, tid, NULL, NULL);
			return;
		}
		ptc_stop_recording(s, take_ptr(&err));
	}
	err = ptc_free_program(s);
	if (err)
		log_info("%s", err->message);
	ptrace(PTRACE_DETACH, tid, NULL, NULL);
}

static void on_event(struct ptc_session *s, pid_t tid, unsigned event, int signo)
{
	unsigned long message = 0;

	switch (event) {
	case PTRACE_EVENT_FORK:
	case PTRACE_EVENT_VFORK:
	case PTRACE_EVENT_CLONE:
		ptrace(PTRACE_GETEVENTMSG, tid, NULL, &message);
		ptc_child_created(s, tid, event, message);
		break;
	case PTRACE_EVENT_VFORK_DONE:
		ptc_child_vfork_done(s, tid);
		break;
	case PTRACE_EVENT_EXEC:
		on_exec(s, tid);
		return;
	case PTRACE_EVENT_EXIT:
		on_thread_end(s, tid);
		return;
	case PTRACE_EVENT_STOP:
		// Stopped like any untraced process would be, until SIGCONT.
		if (signo != SIGTRAP) {
			ptrace(PTRACE_LISTEN, tid, NULL, NULL);
			return;
		}
		break;
	}
	ptrace(PTRACE_CONT, tid, NULL, NULL);
}

/** Did @p tid stop before? Others are children, or threads, that just appeared; their
 * first records may have come through the ring already. */
static bool is_attached(const struct ptc_session *s, pid_t tid)
{
	for (size_t i = 0; i < s->threads.size; i++)
		if (s->threads.data[i]->tid == tid && s->threads.data[i]->is_attached)
			return true;
	return tid == s->pid;
}

static void on_stop(struct ptc_session *s, pid_t tid, int status)
{
	unsigned event = status >> 16;

	ptc_bpf_drain(s->bpf);
	if (!is_attached(s, tid) && event == PTRACE_EVENT_STOP)
		ptc_child_stopped(s, tid);
	else if (event)
		on_event(s, tid, event, WSTOPSIG(status));
	else
		on_signal(s, tid, WSTOPSIG(status));
}

static void reap(struct ptc_session *s)
{
	int status;
	pid_t tid;

	while (!s->has_ended && (tid = waitpid(-1, &status, __WALL | WNOHANG)) > 0) {
		if (WIFSTOPPED(status)) {
			on_stop(s, tid, status);
		} else if (tid == s->pid) {
			s->has_ended = true;
			s->wait_status = status;
		}
	}
}

/** What the loop takes from a descriptor: children's stops, and requests to end. */
static sigset_t watched_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGQUIT);
	return set;
}

/** A signal sent to us with kill is meant for the program; one from the terminal has
 * reached it already. We end when it does. */
static void take_signals(struct ptc_session *s, int signals)
{
	struct signalfd_siginfo si;

	while (read(signals, &si, sizeof(si)) > 0)
		if (si.ssi_signo != SIGCHLD && si.ssi_code == SI_USER && !s->has_ended)
			kill(s->pid, si.ssi_signo);
}

static struct err *make_poll(struct ptc_session *s, int *signals, int *poll)
{
	struct epoll_event e = { .events = EPOLLIN };
	sigset_t set = watched_signals();

	*signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	*poll = epoll_create1(EPOLL_CLOEXEC);
	if (*signals < 0 || *poll < 0 || epoll_ctl(*poll, EPOLL_CTL_ADD, *signals, &e) ||
	    epoll_ctl(*poll, EPOLL_CTL_ADD, ptc_bpf_fd(s->bpf), &e))
		return err_errno("cannot wait for events");
	return NULL;
}

/** Once a second what is known goes to the disk: we may be killed. */
static void flush_sometimes(struct ptc_session *s, uint64_t *last_ns)
{
	uint64_t now_ns = ptc_now_ns();
	struct err *err;

	if (!s->is_recording || now_ns - *last_ns < FLUSH_NS)
		return;
	*last_ns = now_ns;
	err = cap_writer_flush(s->writer);
	if (err)
		ptc_stop_recording(s, err);
}

static void run(struct ptc_session *s, int signals, int poll)
{
	uint64_t last_flush_ns = ptc_now_ns();

	while (!s->has_ended) {
		struct epoll_event e;

		epoll_wait(poll, &e, 1, POLL_MS);
		take_signals(s, signals);
		reap(s);
		ptc_bpf_drain(s->bpf);
		flush_sometimes(s, &last_flush_ns);
	}
}

/* ---- one recording --------------------------------------------------------------------- */

static void session_deinit(struct ptc_session *s)
{
	for (size_t i = 0; i < s->threads.size; i++) {
		struct ptc_thread *t = s->threads.data[i];

		ptc_writes_deinit(&t->now);
		ptc_writes_deinit(&t->held_writes);
		ptc_writes_deinit(&t->from_child);
		free(t);
	}
	vec_deinit(&s->threads);
	vec_deinit(&s->children);
	ptc_snapshot_destroy(s->vfork_memory);
	ptc_heap_destroy(s->heap);
	ptc_bpf_destroy(s->bpf);
	cap_writer_destroy(s->writer);
	err_destroy(s->failure);
	if (s->mem_fd >= 0)
		close(s->mem_fd);
	free(s->exe);
}

static struct err *copy_argv(char **argv, struct cap_info *info)
{
	size_t n = 0;

	while (argv[n])
		n++;
	info->argv = calloc(n + 1, sizeof(*info->argv));
	for (size_t i = 0; info->argv && i < n; i++) {
		info->argv[i] = strdup(argv[i]);
		if (!info->argv[i])
			return &err_nomem;
	}
	return info->argv ? NULL : &err_nomem;
}

static struct err *describe(const struct ptc_session *s, const struct ptc_options *o,
			    struct cap_info *info)
{
	struct rlimit stack;
	struct err *err = copy_argv(o->argv, info);

	if (err)
		return err;
	info->cwd = getcwd(NULL, 0);
	info->exe = strdup(s->exe);
	if (!info->cwd)
		info->cwd = strdup("");
	if (!info->cwd || !info->exe)
		return &err_nomem;
	info->pid = s->pid;
	info->has_heap = s->wants_heap;
	info->stack_limit = getrlimit(RLIMIT_STACK, &stack) ? 8 << 20 : stack.rlim_cur;
	return NULL;
}

static struct err *finish(struct ptc_session *s, struct ptc_result *ret)
{
	struct cap_info *info = &ret->info;
	struct err *err;

	if (s->failure) {
		err = s->failure;
		s->failure = NULL;
		return err;
	}
	if (ptc_bpf_lost(s->bpf))
		ptc_log_gap(s, s->pid, "%llu events were lost",
			    (unsigned long long)ptc_bpf_lost(s->bpf));
	info->n_execs = s->n_execs;
	free(info->exe);
	info->exe = strdup(s->exe);
	if (!info->exe)
		return &err_nomem;
	info->heap_sites = (struct cap_heap_site *)ptc_heap_sites(s, &info->n_heap_sites);
	err = cap_writer_finish(s->writer, info, &ret->bytes);
	ret->n_files = info->n_files;
	info->files = NULL;
	info->heap_sites = NULL;
	info->n_files = info->n_heap_sites = 0;
	return err;
}

/** The program is stopped at its first instruction: save it, let it run, finish. */
static struct err *record_program(struct ptc_session *s, const struct ptc_options *o,
				  struct ptc_result *ret)
{
	_cleanup_close_ int signals = -1, poll = -1;
	struct err *err = open_program(s);

	if (!err)
		err = describe(s, o, &ret->info);
	if (!err)
		err = make_poll(s, &signals, &poll);
	s->is_recording = true;
	if (!err)
		err = ptc_start(s);
	if (err)
		return err;
	ptc_bpf_set_target(s->bpf, s->is_recording ? s->pid : 0);
	ret->has_run = true;
	if (ptrace(PTRACE_CONT, s->pid, NULL, NULL))
		return err_errno("cannot start the program");
	run(s, signals, poll);
	ret->status = WIFEXITED(s->wait_status) ? WEXITSTATUS(s->wait_status) :
						  128 + WTERMSIG(s->wait_status);
	err = finish(s, ret);
	if (err)
		ret->status = PTC_EXIT_FAILED;
	return err;
}

/** From here on we see the program through to its end, whatever is sent to us. */
static void mask_signals(void)
{
	sigset_t set = watched_signals();

	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
}

struct err *ptc_record(const struct ptc_options *o, struct ptc_result *ret)
{
	_cleanup_(session_deinit) struct ptc_session s = { .mem_fd = -1,
							   .wants_heap = o->wants_heap };
	struct err *err = ptc_bpf_create(&s.bpf);

	ret->status = PTC_EXIT_FAILED;
	if (err)
		return err;
	ptc_bpf_set_consumer(s.bpf, ptc_assemble, &s);
	err = ptc_launch(o->argv, &s.pid, &ret->status);
	if (err)
		return err;
	err = cap_writer_create(o->dir, &s.writer);
	if (!err) {
		mask_signals();
		err = record_program(&s, o, ret);
	}
	if (err && !ret->has_run) {
		kill(s.pid, SIGKILL);
		waitpid(s.pid, NULL, __WALL);
		cap_writer_remove(take_ptr(&s.writer));
	}
	return err;
}

void ptc_result_deinit(struct ptc_result *r)
{
	struct cap_info *info = &r->info;

	for (size_t i = 0; i < info->n_missing; i++)
		free(info->missing[i]);
	for (size_t i = 0; info->argv && info->argv[i]; i++)
		free(info->argv[i]);
	free(info->missing);
	free(info->argv);
	free(info->cwd);
	free(info->exe);
}
