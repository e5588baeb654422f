// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// Copyright 2026 The Faultline authors

/*
 * What all programs share: the ring, and what is known of each task.
 */
#ifndef BPF_RECORD_RING_H
#define BPF_RECORD_RING_H

#define SIGSTOP 19
#define ENOSYS 38
#define EBUSY 16

/* Read by user space. */
__u64 lost_events; /* the ring was full: must stay 0 */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct rec_ring);
} ring SEC(".maps");

/* Wakes user space: what comes through it says nothing. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, REC_BELL_BYTES);
} bell SEC(".maps");

static __always_inline struct rec_ring *the_ring(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&ring, &zero);
}

static __always_inline __u64 used_of(const struct rec_ring *r)
{
	return *(volatile __u64 *)&r->claimed - *(volatile __u64 *)&r->consumed;
}

static __always_inline __u64 ring_used(void)
{
	const struct rec_ring *r = the_ring();

	return r ? used_of(r) : 0;
}

static int is_ring_scarce(void)
{
	return ring_used() > REC_RING_BYTES / 4 * 3;
}

/* Not a global: of those libbpf makes user space write every byte. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct rec_tasks);
} tasks SEC(".maps");

/* By process: who of it ran last, and where that stands. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, REC_PROCESSES);
	__type(key, __u32);
	__type(value, struct rec_switch);
} last_threads SEC(".maps");

/*
 * Pointers in kernel structures are read with BPF_CORE_READ: a plain load of one makes the
 * verifier look in all of the kernel's types for whether it can be trusted, for 1 ms a load.
 *
 * Compilers fold bounds checks into forms that the verifier cannot follow.
 */
#define OPAQUE(v) asm volatile("" : "+r"(v))

static struct rec_tasks *all_tasks(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&tasks, &zero);
}

/* enum rec_process_bits */
static __always_inline __u8 process_bits(__u64 tgid)
{
	struct rec_tasks *t = all_tasks();

	OPAQUE(tgid);
	return t ? t->process[tgid & (REC_TASKS - 1)] : 0;
}

/* enum rec_call_state; see record_sys_enter */
static __always_inline __u8 call_state(__u64 tid)
{
	struct rec_tasks *t = all_tasks();

	OPAQUE(tid);
	return t ? t->call[tid & (REC_TASKS - 1)] : REC_CALL_NONE;
}

static __always_inline void set_call_state(__u64 tid, __u8 state)
{
	struct rec_tasks *t = all_tasks();

	OPAQUE(tid);
	if (t)
		t->call[tid & (REC_TASKS - 1)] = state;
}

#define CLOCK_TIMES 16

/* What the clock said last, for how many more records that is the time, and the kernel's tick then. */
struct {
	__u64 ns, left, tick;
} clock;

static __always_inline __u64 exact_ns(void)
{
	__u64 ns = bpf_ktime_get_ns();

	// In this order: whoever sees the tick sees the time.
	*(volatile __u64 *)&clock.ns = ns;
	*(volatile __u64 *)&clock.left = CLOCK_TIMES - 1;
	*(volatile __u64 *)&clock.tick = bpf_jiffies64();
	return ns;
}

/* No later than now; earlier by less than a tick, and by less than CLOCK_TIMES records. To ask the
 * clock is two fifths of what a usual call that writes nothing costs here. Each record is 1 ns
 * later than the one before: readers of a log allow for no more events than it can hold when all
 * times differ (CAP_RECORDS_RATIO). */
static __always_inline __u64 about_ns(void)
{
	__u64 left = *(volatile __u64 *)&clock.left - 1;

	// CPUs may count at the same time, and below 0.
	if (*(volatile __u64 *)&clock.tick != bpf_jiffies64() || left >= CLOCK_TIMES)
		return exact_ns();
	*(volatile __u64 *)&clock.left = left;
	return *(volatile __u64 *)&clock.ns + CLOCK_TIMES - 1 - left;
}

/* @id: as bpf_get_current_pid_tgid(). */
static __always_inline void fill_head(struct rec_head *h, __u32 kind, __u64 id, __u64 ns)
{
	h->kind = kind;
	h->tgid = id >> 32;
	h->tid = (__u32)id;
	h->at_ns = ns;
}

/* The place of a record of @size bytes, which is to be filled, then finished; NULL: the ring is
 * full. @at: its position. */
static __always_inline struct rec_frame *claim(struct rec_ring *r, __u64 size, __u64 *at)
{
	struct rec_frame *f;
	__u64 place;

	if (used_of(r) > REC_RING_BYTES - REC_RING_SPARE * 8) {
		__sync_fetch_and_add(&lost_events, 1);
		return NULL;
	}
	*at = __sync_fetch_and_add(&r->claimed, REC_FRAMED(size));
	place = *at;
	OPAQUE(place);
	place &= REC_RING_BYTES - 1;
	f = (struct rec_frame *)&r->data[place];
	f->size = size;
	return f;
}

/* It is whole: stores are seen in their order. */
static __always_inline void finish(const struct rec_ring *r, struct rec_frame *f,
				   __u64 size, __u64 at)
{
	__u64 nothing = 0;

	asm volatile("" ::: "memory");
	*(volatile __u64 *)&f->mark = REC_MARK(r->secret, at);
	// When it is full, it has rung already.
	if (at / REC_WAKE_BYTES != (at + REC_FRAMED(size)) / REC_WAKE_BYTES)
		bpf_ringbuf_output(&bell, &nothing, sizeof(nothing), BPF_RB_FORCE_WAKEUP);
}

static void ring_put(const void *record, __u64 size)
{
	struct rec_ring *r = the_ring();
	struct rec_frame *f;
	__u64 at;

	OPAQUE(size);
	if (!r || size > sizeof(struct rec_syscall) + REC_INLINE_MAX)
		return;
	f = claim(r, size, &at);
	if (!f)
		return;
	bpf_probe_read_kernel(f + 1, size, record);
	finish(r, f, size, at);
}

/* The process that ran last of those that are joined: they all have one CPU. */
__u32 joined_runs;

static void put_switch(struct rec_switch *s, __u32 tid)
{
	s->next_tid = tid;
	s->head.at_ns = exact_ns();
	ring_put(s, sizeof(*s));
	s->head.tid = tid;
}

/*
 * Thread @tid of process @tgid runs: was it the last one of the process to do so, and that of
 * those that it shares memory with? Who ran already when its process was joined is not told of:
 * where it stands is not known.
 */
static void let_in(struct rec_switch *s, __u32 tgid, __u32 tid)
{
	int is_turn = process_bits(tgid) & REC_JOINED && joined_runs != tgid;

	if (is_turn)
		joined_runs = tgid;
	if (is_turn && s->next_tid != tid) {
		s->flags |= REC_SWITCH_TURN;
		put_switch(s, tid);
		s->flags &= ~(__u32)REC_SWITCH_TURN;
	} else if (s->head.tid != tid) {
		put_switch(s, tid);
	}
}

/*
 * The current task, of process @tgid, runs. Usually the scheduler's tracepoint has said so.
 * It does not everywhere: a kernel was seen whose CPUs but the first leave their idle task
 * without it. So the first record of a thread makes sure of it.
 */
static void note_runs(__u32 tgid, __u32 tid)
{
	struct rec_switch *last;

	if (!(process_bits(tgid) & REC_THREADED))
		return;
	last = bpf_map_lookup_elem(&last_threads, &tgid);
	if (last)
		let_in(last, tgid, tid);
}

static __always_inline void take_gprs(__u64 g[16], const struct pt_regs *regs)
{
	g[0] = regs->ax;
	g[1] = regs->cx;
	g[2] = regs->dx;
	g[3] = regs->bx;
	g[4] = regs->sp;
	g[5] = regs->bp;
	g[6] = regs->si;
	g[7] = regs->di;
	g[8] = regs->r8;
	g[9] = regs->r9;
	g[10] = regs->r10;
	g[11] = regs->r11;
	g[12] = regs->r12;
	g[13] = regs->r13;
	g[14] = regs->r14;
	g[15] = regs->r15;
}

static __always_inline void take_regs(struct rec_regs *to, const struct task_struct *task,
				      const struct pt_regs *regs)
{
	take_gprs(to->gpr, regs);
	if ((__s64)regs->orig_ax >= 0)
		to->gpr[0] = regs->orig_ax;
	to->rip = regs->ip;
	to->rflags = regs->flags;
	to->fs_base = task->thread.fsbase;
	to->gs_base = task->thread.gsbase;
}

#endif
