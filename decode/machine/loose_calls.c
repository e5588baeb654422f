// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * System calls, time and signals of a run that has parted from the recording. What the capture
 * does not know ends the run: better no answer than a made up one.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>

#include "decode/machine/loose_int.h"
#include "decode/machine/signal.h"
#include "decode/machine/threads.h"

#define PAGE 4096ull
#define CALL_NS 1000 ///< what a call takes: time goes on, and the same each run
#define ANY_SIGNAL 64

/** The call at hand. */
struct call {
	struct dec_replay *r;
	struct dec_loose *l;
	uint64_t nr, a[6];
};

/* ---- ends ---------------------------------------------------------------------------------- */

static enum dec_verdict left(const struct call *c, const char *why)
{
	return dec_loose_end(c->l, DEC_FATE_LEFT, 0, "system call %lu at %#lx: %s", c->nr,
			     c->r->engine.ctx->rip, why);
}

static enum dec_verdict give(const struct call *c, int64_t ret)
{
	struct dec_ctx *x = c->r->engine.ctx;

	x->gpr[CAP_RCX] = x->rip + 2;
	x->gpr[CAP_R11] = x->rflags;
	x->gpr[CAP_RAX] = ret;
	x->rip += 2;
	c->r->engine.now++;
	c->r->syscalls++;
	return DEC_GO;
}

static bool is_deadly(uint64_t signo)
{
	return signo != SIGCHLD && signo != SIGURG && signo != SIGWINCH &&
	       signo != SIGCONT;
}

enum dec_verdict dec_loose_signal(struct dec_replay *r, uint64_t signo, uint64_t addr)
{
	struct dec_loose *l = r->loose;
	uint64_t bit = 1ull << ((signo - 1) & 63);

	if (r->handled & bit)
		return dec_loose_end(l, DEC_FATE_LEFT, signo,
				     "its handler of signal %lu would run", signo);
	l->out->fault_addr = addr;
	return dec_loose_end(l, DEC_FATE_SIGNAL, signo, NULL);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static bool put(const struct call *c, uint64_t addr, const void *data, uint64_t n)
{
	struct err *err = n ? dec_guest_write(&c->r->guest, addr, data, n) : NULL;

	err_destroy(err);
	return !err;
}

static bool get(const struct call *c, uint64_t addr, void *data, uint64_t n)
{
	if (dec_guest_avail(&c->r->guest, addr, PROT_READ) < n)
		return false;
	memcpy(data, (const void *)addr, n);
	return true;
}

/* A memory call with result @p ret, done as a recorded one would be. */
static enum dec_verdict do_memory(const struct call *c, int64_t ret)
{
	struct cap_event ev = { .kind = CAP_EV_SYSCALL, .ret = ret };
	struct err *err;

	memcpy(ev.regs.gpr, c->r->engine.ctx->gpr, sizeof(ev.regs.gpr));
	err = dec_guest_syscall(&c->r->guest, &ev);
	if (!err)
		return give(c, ret);
	dec_loose_end(c->l, DEC_FATE_MACHINE, 0, "%s", err->message);
	err_destroy(err);
	return DEC_END;
}

/* Room of @p size bytes, as the kernel looks for it: downwards from the lowest of what lies
 * beside the libraries. The same each time. */
static uint64_t find_room(const struct dec_guest *g, uint64_t size)
{
	size_t i = g->ranges.size;
	uint64_t end = 0;

	for (size_t k = 0; k < g->ranges.size; k++)
		if (g->ranges.data[k].start >> 40 >= 0x70 && !end)
			end = g->ranges.data[k].start, i = k;
	if (!end)
		end = 0x700000000000;
	while (i && g->ranges.data[i - 1].end + size > end) {
		i--;
		end = g->ranges.data[i].start;
	}
	return end > size ? (end - size) & ~(PAGE - 1) : 0;
}

static enum dec_verdict call_mmap(const struct call *c)
{
	uint64_t size = (c->a[1] + PAGE - 1) & ~(PAGE - 1), at = c->a[0];

	if (!(c->a[3] & MAP_ANONYMOUS))
		return left(c, "it maps a file");
	if (!c->a[1])
		return give(c, -EINVAL);
	if (!(c->a[3] & (MAP_FIXED | MAP_FIXED_NOREPLACE)))
		at = find_room(&c->r->guest, size);
	return at ? do_memory(c, at) : give(c, -ENOMEM);
}

static enum dec_verdict call_brk(const struct call *c)
{
	uint64_t brk = c->r->guest.brk, to = c->a[0];

	// Where the heap began is not known: it only grows, or shrinks a little.
	if (!brk)
		return left(c, "the program break is not known");
	return do_memory(c, to && to + (64 << 20) > brk && to < brk + (1ull << 34) ? to :
										     brk);
}

static enum dec_verdict call_mremap(const struct call *c)
{
	uint64_t old = (c->a[1] + PAGE - 1) & ~(PAGE - 1);
	uint64_t size = (c->a[2] + PAGE - 1) & ~(PAGE - 1), at;

	if (size <= old)
		return do_memory(c, c->a[0]);
	if (!(c->a[3] & MREMAP_MAYMOVE) || c->a[3] & MREMAP_FIXED)
		return left(c, "it moves memory to a place of its own");
	at = find_room(&c->r->guest, size);
	return at ? do_memory(c, at) : give(c, -ENOMEM);
}

/* ---- contents ---------------------------------------------------------------------------------- */

/* Read up to @p n bytes at @p offset of @p f to @p addr. @return how many; -1: not known. */
static int64_t read_at(const struct call *c, const struct inputs_file *f, uint64_t offset,
		       uint64_t addr, uint64_t n)
{
	uint64_t done = 0, got;
	const uint8_t *bytes;

	while (done < n && (got = dec_inputs_find(&c->l->inputs, f, offset + done,
						  n - done, &bytes))) {
		if (!put(c, addr + done, bytes, got))
			return done ? (int64_t)done : -EFAULT;
		done += got;
		if (f->is_stream)
			break; // as much as came at once, perhaps
	}
	if (done == n || (done && f->is_stream) ||
	    (f->is_end_known && offset + done >= f->end))
		return done;
	return INT64_MIN;
}

static enum dec_verdict call_read(const struct call *c, bool is_placed)
{
	struct inputs_open *o = dec_inputs_open(&c->l->inputs, c->a[0]);
	int64_t n;

	if (!o)
		return give(c, -EBADF);
	n = read_at(c, &c->l->inputs.files.data[o->file], is_placed ? c->a[3] : o->offset,
		    c->a[1], c->a[2]);
	if (n == INT64_MIN)
		return left(c, "it reads what was not read in the recording");
	if (n > 0 && !is_placed)
		o->offset += n;
	return give(c, n);
}

static enum dec_verdict call_readv(const struct call *c)
{
	struct inputs_open *o = dec_inputs_open(&c->l->inputs, c->a[0]);
	int64_t sum = 0, n;
	struct iovec v;

	if (!o)
		return give(c, -EBADF);
	for (uint64_t i = 0; i < c->a[2] && i < 1024; i++) {
		if (!get(c, c->a[1] + i * sizeof(v), &v, sizeof(v)))
			return give(c, sum ?: -EFAULT);
		n = read_at(c, &c->l->inputs.files.data[o->file], o->offset,
			    (uint64_t)v.iov_base, v.iov_len);
		if (n == INT64_MIN && !sum)
			return left(c, "it reads what was not read in the recording");
		if (n <= 0)
			break;
		o->offset += n;
		sum += n;
		if ((uint64_t)n < v.iov_len)
			break;
	}
	return give(c, sum);
}

static enum dec_verdict call_random(const struct call *c)
{
	struct inputs_open *o = &c->l->inputs.opens.data[c->l->inputs.random];
	int64_t n = read_at(c, &c->l->inputs.files.data[o->file], o->offset, c->a[0],
			    c->a[1]);

	if (n != (int64_t)c->a[1])
		return left(c, "it asks for more random bytes than were recorded");
	o->offset += n;
	return give(c, n);
}

void dec_loose_output_at(struct dec_replay *r, int fd, uint64_t addr, uint64_t size)
{
	uint64_t n = dec_guest_avail(&r->guest, addr, PROT_READ);

	dec_loose_output(r->loose, fd, (const uint8_t *)addr, n < size ? n : size);
}

void dec_loose_output_vector(struct dec_replay *r, int fd, uint64_t at, uint64_t n,
			     uint64_t left)
{
	const struct call c = { .r = r };
	struct iovec v;

	for (uint64_t i = 0; i < n && left; i++) {
		if (!get(&c, at + i * sizeof(v), &v, sizeof(v)))
			return;
		if (v.iov_len > left)
			v.iov_len = left;
		dec_loose_output_at(r, fd, (uint64_t)v.iov_base, v.iov_len);
		left -= v.iov_len;
	}
}

/* What the program writes to a file is not there when it reads it: that is told then. */
static void overwrite(const struct call *c, struct inputs_open *o, uint64_t n)
{
	struct inputs_file *f = &c->l->inputs.files.data[o->file];

	if (f->is_stream)
		return;
	f->extents.size = 0;
	f->is_end_known = false;
	o->offset += n;
}

static enum dec_verdict call_write(const struct call *c, uint64_t size)
{
	struct inputs_open *o = dec_inputs_open(&c->l->inputs, c->a[0]);

	if (!o)
		return give(c, -EBADF);
	if (dec_guest_avail(&c->r->guest, c->a[1], PROT_READ) < size)
		return give(c, -EFAULT);
	dec_loose_output_at(c->r, c->a[0], c->a[1], size);
	overwrite(c, o, size);
	return give(c, size);
}

static enum dec_verdict call_writev(const struct call *c)
{
	struct inputs_open *o = dec_inputs_open(&c->l->inputs, c->a[0]);
	uint64_t sum = 0;
	struct iovec v;

	if (!o)
		return give(c, -EBADF);
	for (uint64_t i = 0; i < c->a[2] && i < 1024; i++) {
		if (!get(c, c->a[1] + i * sizeof(v), &v, sizeof(v)) ||
		    dec_guest_avail(&c->r->guest, (uint64_t)v.iov_base, PROT_READ) <
			    v.iov_len)
			return give(c, -EFAULT);
		sum += v.iov_len;
	}
	dec_loose_output_vector(c->r, c->a[0], c->a[1], c->a[2], sum);
	overwrite(c, o, sum);
	return give(c, sum);
}

/* ---- descriptors ---------------------------------------------------------------------------- */

static enum dec_verdict call_lseek(const struct call *c)
{
	struct inputs_open *o = dec_inputs_open(&c->l->inputs, c->a[0]);
	const struct inputs_file *f;
	int64_t to = c->a[1];

	if (!o)
		return give(c, -EBADF);
	f = &c->l->inputs.files.data[o->file];
	if (f->is_stream)
		return give(c, -ESPIPE);
	if (c->a[2] == SEEK_CUR)
		to += o->offset;
	else if (c->a[2] == SEEK_END && f->is_end_known)
		to += f->end;
	else if (c->a[2] != SEEK_SET)
		return left(c, "the file's size is not known");
	if (to < 0)
		return give(c, -EINVAL);
	o->offset = to;
	return give(c, to);
}

static enum dec_verdict call_stat(const struct call *c, uint64_t to)
{
	struct inputs_open *o = dec_inputs_open(&c->l->inputs, c->a[0]);
	const struct inputs_file *f;

	if (!o)
		return give(c, -EBADF);
	f = &c->l->inputs.files.data[o->file];
	if (!f->has_stat)
		return left(c, "the file's attributes were not asked for");
	return give(c, put(c, to, f->stat, sizeof(f->stat)) ? 0 : -EFAULT);
}

static enum dec_verdict call_dup(const struct call *c, int from)
{
	struct dec_inputs *in = &c->l->inputs;
	struct inputs_open *o = dec_inputs_open(in, c->a[0]);

	if (!o)
		return give(c, -EBADF);
	return give(c, dec_inputs_new_fd(in, o - in->opens.data, from));
}

static enum dec_verdict call_dup2(const struct call *c)
{
	struct dec_inputs *in = &c->l->inputs;
	struct inputs_open *o = dec_inputs_open(in, c->a[0]);

	if (!o || !dec_inputs_set_fd(in, c->a[1], o - in->opens.data))
		return give(c, -EBADF);
	return give(c, c->a[1]);
}

static enum dec_verdict call_fcntl(const struct call *c)
{
	switch (c->a[1]) {
	case F_DUPFD:
	case F_DUPFD_CLOEXEC:
		return call_dup(c, c->a[2]);
	case F_GETFD:
	case F_SETFD:
	case F_SETFL:
		return give(c, dec_inputs_open(&c->l->inputs, c->a[0]) ? 0 : -EBADF);
	}
	return left(c, "the answer is not known");
}

/* No terminal, where it is a file or was said to be none. */
static enum dec_verdict call_ioctl(const struct call *c)
{
	struct inputs_open *o = dec_inputs_open(&c->l->inputs, c->a[0]);

	if (!o)
		return give(c, -EBADF);
	if (!c->l->inputs.files.data[o->file].is_stream ||
	    (c->a[1] == TCGETS && c->l->inputs.files.data[o->file].is_no_tty))
		return give(c, -ENOTTY);
	return left(c, "the answer is not known");
}

static enum dec_verdict call_poll(const struct call *c)
{
	struct dec_inputs *in = &c->l->inputs;
	uint64_t n_ready = 0;

	for (uint64_t i = 0; i < c->a[1] && i < 4096; i++) {
		uint64_t at = c->a[0] + i * sizeof(struct pollfd);
		struct inputs_open *o;
		const uint8_t *bytes;
		struct pollfd p;

		if (!get(c, at, &p, sizeof(p)))
			return give(c, -EFAULT);
		o = p.fd < 0 ? NULL : dec_inputs_open(in, p.fd);
		p.revents = p.fd < 0 ? 0 : !o ? POLLNVAL : p.events & POLLOUT;
		if (o && p.events & POLLIN) {
			const struct inputs_file *f = &in->files.data[o->file];

			if (dec_inputs_find(in, f, o->offset, 1, &bytes) ||
			    (f->is_end_known && o->offset >= f->end))
				p.revents |= POLLIN;
		}
		n_ready += p.revents != 0;
		put(c, at, &p, sizeof(p));
	}
	if (!n_ready && (int)c->a[2] < 0)
		return left(c, "it waits for what did not come in the recording");
	if (!n_ready)
		c->l->now_ns += c->a[2] * 1000000;
	return give(c, n_ready);
}

/* ---- time ----------------------------------------------------------------------------------------- */

static int64_t clock_of(const struct call *c, uint64_t clock, bool *is_known)
{
	bool is_real = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE;

	*is_known = !is_real || c->l->inputs.realtime_ns;
	return c->l->now_ns + (is_real ? c->l->inputs.realtime_ns : 0);
}

static enum dec_verdict call_time(const struct call *c)
{
	uint64_t clock = c->nr == SYS_clock_gettime ? c->a[0] : CLOCK_REALTIME;
	bool is_known;
	int64_t ns = clock_of(c, clock, &is_known);
	struct timespec ts = { ns / 1000000000, ns % 1000000000 };
	struct timeval tv = { ts.tv_sec, ts.tv_nsec / 1000 };

	if (!is_known)
		return left(c, "the time of day was not recorded");
	if (c->nr == SYS_clock_gettime)
		return give(c, put(c, c->a[1], &ts, sizeof(ts)) ? 0 : -EFAULT);
	if (c->nr == SYS_gettimeofday)
		return give(c, put(c, c->a[0], &tv, sizeof(tv)) ? 0 : -EFAULT);
	return give(c, !c->a[0] || put(c, c->a[0], &tv.tv_sec, 8) ? tv.tv_sec : -EFAULT);
}

enum dec_verdict dec_loose_insn(struct dec_replay *r, const struct dec_insn *insn)
{
	const struct cap_cpu *cpu = &capture_info(r->capture)->cpu;
	struct dec_ctx *x = r->engine.ctx;
	uint32_t out[4];

	if (insn->flow == DEC_FLOW_TSC) {
		// As if it were one of 1 GHz: the recorded one's is not known.
		r->loose->now_ns += CALL_NS;
		x->gpr[CAP_RAX] = (uint32_t)r->loose->now_ns;
		x->gpr[CAP_RDX] = r->loose->now_ns >> 32;
		if (insn->len == 3)
			x->gpr[CAP_RCX] = 0;
		return DEC_GO;
	}
	if (insn->flow != DEC_FLOW_CPUID || !cpu->n)
		return dec_loose_end(r->loose, DEC_FATE_LEFT, 0,
				     "%s, whose result was not recorded",
				     dec_insn_name(insn));
	cap_cpu_find(cpu, x->gpr[CAP_RAX], x->gpr[CAP_RCX], cpu->bound_to, out);
	x->gpr[CAP_RAX] = out[0], x->gpr[CAP_RBX] = out[1];
	x->gpr[CAP_RCX] = out[2], x->gpr[CAP_RDX] = out[3];
	return DEC_GO;
}

/* ---- the rest -------------------------------------------------------------------------------------- */

/* Until when the call waits that has a time limit at @p at, CLOCK_MONOTONIC. @return false: its
 * clock is not known, or there is nothing to be read. */
static bool wait_limit(const struct call *c, uint64_t at, bool is_absolute, bool is_real,
		       uint64_t *until_ns)
{
	struct timespec ts;

	*until_ns = 0;
	if (!at)
		return true;
	if (!get(c, at, &ts, sizeof(ts)))
		return false;
	*until_ns = ts.tv_sec * 1000000000ull + ts.tv_nsec;
	if (!is_absolute)
		*until_ns += c->l->now_ns;
	else if (is_real)
		*until_ns -= c->l->inputs.realtime_ns;
	*until_ns = *until_ns ?: 1;
	return !is_absolute || !is_real || c->l->inputs.realtime_ns;
}

static enum dec_verdict call_sleep(const struct call *c)
{
	bool is_plain = c->nr == SYS_nanosleep;
	bool is_absolute = !is_plain && c->a[1] & TIMER_ABSTIME;
	uint64_t until_ns;

	if (!wait_limit(c, is_plain ? c->a[0] : c->a[2], is_absolute,
			!is_plain && c->a[0] == CLOCK_REALTIME, &until_ns))
		return left(c, "how long it sleeps is not known");
	give(c, 0);
	return c->r->loose->is_awake ? DEC_GO : dec_loose_wait(c->r, 0, 0, until_ns ?: 1);
}

static enum dec_verdict call_wait(const struct call *c, uint64_t op, uint32_t bits)
{
	bool is_absolute = op == FUTEX_WAIT_BITSET;
	uint64_t until_ns;
	uint32_t word;

	if (!get(c, c->a[0], &word, sizeof(word)))
		return give(c, -EFAULT);
	if (word != (uint32_t)c->a[2])
		return give(c, -EAGAIN);
	if (!wait_limit(c, c->a[3], is_absolute, c->a[1] & FUTEX_CLOCK_REALTIME,
			&until_ns))
		return left(c, "how long it waits is not known");
	give(c, 0);
	return dec_loose_wait(c->r, c->a[0], bits, until_ns);
}

static enum dec_verdict call_futex(const struct call *c)
{
	uint32_t word, op = c->a[1] & FUTEX_CMD_MASK;
	uint64_t woken;

	switch (op) {
	case FUTEX_WAKE:
		return give(c, dec_loose_wake(c->r, c->a[0], c->a[2], UINT32_MAX));
	case FUTEX_WAKE_BITSET:
		return give(c, dec_loose_wake(c->r, c->a[0], c->a[2], c->a[5]));
	case FUTEX_WAIT:
		return call_wait(c, op, UINT32_MAX);
	case FUTEX_WAIT_BITSET:
		return call_wait(c, op, c->a[5]);
	case FUTEX_CMP_REQUEUE:
		if (!get(c, c->a[0], &word, sizeof(word)))
			return give(c, -EFAULT);
		if (word != (uint32_t)c->a[5])
			return give(c, -EAGAIN);
		// fall through
	case FUTEX_REQUEUE:
		woken = dec_loose_wake(c->r, c->a[0], c->a[2], UINT32_MAX);
		return give(c,
			    woken + dec_loose_requeue(c->r, c->a[0], c->a[4], c->a[3]));
	}
	return left(c, "the answer is not known");
}

static enum dec_verdict call_clone(const struct call *c)
{
	int64_t tid = dec_loose_clone(c->r);

	return tid < 0 ? left(c, "it makes a process") : give(c, tid);
}

static enum dec_verdict call_kill(const struct call *c)
{
	uint64_t signo = c->nr == SYS_tgkill ? c->a[2] : c->a[1];
	uint64_t bit = 1ull << ((signo - 1) & 63);
	bool is_self =
		(c->nr == SYS_kill && c->a[0] == capture_info(c->r->capture)->pid) ||
		(c->nr != SYS_kill &&
		 c->a[c->nr == SYS_tgkill] == dec_threads_current(c->r)->number);

	if (!is_self)
		return left(c, "it sends a signal to another");
	if (!signo || signo > ANY_SIGNAL || c->r->ignored & bit ||
	    (!is_deadly(signo) && !(c->r->handled & bit)))
		return give(c, signo > ANY_SIGNAL ? -EINVAL : 0);
	return dec_loose_signal(c->r, signo, 0);
}

static enum dec_verdict call_exit(const struct call *c)
{
	c->r->engine.now++;
	if (c->nr == SYS_exit && dec_loose_has_others(c->r))
		return dec_loose_thread_exit(c->r, c->a[0] & 0xff);
	return dec_loose_end(c->l, DEC_FATE_EXIT, c->a[0] & 0xff, NULL);
}

static enum dec_verdict call_mask(const struct call *c)
{
	uint64_t set = c->l->sigmask;

	if (c->a[2] && !put(c, c->a[2], &set, 8))
		return give(c, -EFAULT);
	if (c->a[1] && get(c, c->a[1], &set, 8))
		c->l->sigmask = c->a[0] == SIG_BLOCK   ? c->l->sigmask | set :
				c->a[0] == SIG_UNBLOCK ? c->l->sigmask & ~set :
							 set;
	return give(c, 0);
}

static enum dec_verdict call_action(const struct call *c)
{
	if (c->a[2])
		return left(c, "what the signal did before is not known");
	dec_replay_signal_action(c->r, c->a[0], c->a[1]);
	return give(c, 0);
}

static enum dec_verdict call_constant(const struct call *c)
{
	const struct inputs_constant *k = dec_inputs_constant(&c->l->inputs, c->nr, c->a);
	// Where it wrote: the argument that pointed there.
	uint64_t to = 0;

	if (c->nr == SYS_gettid)
		return give(c, dec_threads_current(c->r)->number);
	if (c->nr == SYS_getpid)
		return give(c, capture_info(c->r->capture)->pid);
	if (!k)
		return left(c, "the answer is not known");
	for (int i = 0; k->size && i < 3 && !to; i++)
		if (k->args[i] == k->addr)
			to = c->a[i];
	if (k->size && (!to || !put(c, to, c->l->inputs.bytes.data + k->at, k->size)))
		return left(c, "the answer is not known");
	return give(c, k->ret);
}

static enum dec_verdict call_other(const struct call *c)
{
	switch (c->nr) {
	case SYS_exit:
	case SYS_exit_group:
		return call_exit(c);
	case SYS_futex:
		return call_futex(c);
	case SYS_kill:
	case SYS_tkill:
	case SYS_tgkill:
		return call_kill(c);
	case SYS_rt_sigprocmask:
		return call_mask(c);
	case SYS_rt_sigaction:
		return call_action(c);
	case SYS_clone:
	case SYS_clone3:
		return call_clone(c);
	case SYS_sched_yield:
		give(c, 0);
		return dec_loose_next(c->r);
	case SYS_set_robust_list:
		dec_threads_current(c->r)->robust_list = c->a[0];
		return give(c, 0);
	case SYS_set_tid_address:
		dec_threads_current(c->r)->clear_child_tid = c->a[0];
		return give(c, dec_threads_current(c->r)->number);
	case SYS_madvise:
		return do_memory(c, 0);
	case SYS_rseq:
	case SYS_io_uring_setup:
	case SYS_io_setup:
		return give(c, -ENOSYS);
	case SYS_clock_gettime:
	case SYS_gettimeofday:
	case SYS_time:
		return call_time(c);
	case SYS_nanosleep:
	case SYS_clock_nanosleep:
		return call_sleep(c);
	case SYS_getrandom:
		return call_random(c);
	}
	return call_constant(c);
}

static enum dec_verdict call_descriptor(const struct call *c)
{
	switch (c->nr) {
	case SYS_lseek:
		return call_lseek(c);
	case SYS_fstat:
		return call_stat(c, c->a[1]);
	case SYS_newfstatat:
		return c->a[3] & 0x1000 ? call_stat(c, c->a[2]) :
					  left(c, "it asks for a file by name");
	case SYS_close:
		return give(c, dec_inputs_close(&c->l->inputs, c->a[0]) ? 0 : -EBADF);
	case SYS_dup:
		return call_dup(c, 0);
	case SYS_dup2:
	case SYS_dup3:
		return call_dup2(c);
	case SYS_fcntl:
		return call_fcntl(c);
	case SYS_ioctl:
		return call_ioctl(c);
	case SYS_poll:
		return call_poll(c);
	}
	return call_other(c);
}

enum dec_verdict dec_loose_call(struct dec_replay *r)
{
	const uint64_t *g = r->engine.ctx->gpr;
	const struct call c = { r,
				r->loose,
				g[CAP_RAX],
				{ g[CAP_RDI], g[CAP_RSI], g[CAP_RDX], g[CAP_R10],
				  g[CAP_R8], g[CAP_R9] } };

	r->loose->now_ns += CALL_NS;
	switch (c.nr) {
	case SYS_read:
	case SYS_pread64:
		return call_read(&c, c.nr == SYS_pread64);
	case SYS_readv:
		return call_readv(&c);
	case SYS_write:
		return call_write(&c, c.a[2]);
	case SYS_sendto:
		return call_write(&c, c.a[2]);
	case SYS_writev:
		return call_writev(&c);
	case SYS_mmap:
		return call_mmap(&c);
	case SYS_brk:
		return call_brk(&c);
	case SYS_mremap:
		return call_mremap(&c);
	case SYS_munmap:
	case SYS_mprotect:
		return do_memory(&c, 0);
	}
	return call_descriptor(&c);
}
