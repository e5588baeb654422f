// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// Copyright 2026 The Faultline authors

/*
 * The kernel's part of `record`: at the end of each system call of the target, its entry
 * registers, its result and the user memory it wrote go into the ring.
 *
 * sys_exit alone is enough: pt_regs still hold what the program entered with, except rax
 * (its number is in orig_ax) and what the syscall instruction itself clobbers.
 *
 * No event is ever dropped. Once the ring is half full the target gets SIGSTOP, which
 * takes effect before it executes another user instruction. Many threads may each be at
 * their last event before they stop: once it is full by three quarters, events are without
 * the memory. The same stop lets user space read that, and what a program of bounded length
 * cannot (iovecs, data beyond REC_EVENT_MAX, pages not present).
 *
 * Tracepoints are raw ones, whose kernel pointers come from helpers: the other kind makes
 * libbpf read all of the kernel's types (ptc_types.c lists those that are read here).
 *
 * Features used are all in Linux 6.1.
 */
#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/record.h"

#define NR_RT_SIGRETURN_GONE (-1)
#define NR_SHMAT 30
#define NR_RT_SIGRETURN 15
#define NR_SCHED_SETAFFINITY 203
#define NR_RESTART_SYSCALL 219
#define ERESTART_RESTARTBLOCK 516
#define SIGCONT 18
#define SIGSTOP 19
#define PF_EXITING 4
#define ENOSYS 38
#define MAP_ANONYMOUS 0x20
#define CLONE_VM 0x100u
#define CLONE_PIDFD 0x1000u
#define CLONE_PARENT_SETTID 0x100000u
#define CLONE_CHILD_SETTID 0x1000000u
#define IOC_READ 2u

char LICENSE[] SEC("license") = "GPL";

/* Written by user space. */
__u32 chance_below; /* --chaos: stop at this share of all calls, in 2^32 */
__u64 chance_state; /* random numbers, xorshift; user space sets the seed */

/* Read by user space. */
__u64 lost_events; /* the ring refused one: must stay 0 */
__u64 ring_total;  /* bytes put in so far, to wake user space now and then */

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, REC_RING_BYTES);
} ring SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, REC_SYSCALLS);
	__type(key, __u32);
	__type(value, struct rec_desc);
} descs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, REC_COMMANDS);
	__type(key, __u64);
	__type(value, struct rec_desc);
} commands SEC(".maps");

/* What restart_syscall goes on with: the thread's call that last ended in -516. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 8192);
	__type(key, __u32);
	__type(value, __u32);
} restarting SEC(".maps");

/*
 * Where an event is put together, one for each CPU (user space sets max_entries): the
 * tracepoint runs with preemption off. Not a per-CPU map: those end at 32 KiB. The second half of data is slack: offset and size are each below
 * REC_INLINE_MAX, which is all that the verifier can know.
 */
struct scratch {
	struct rec_syscall event;
	__u8 data[2 * REC_INLINE_MAX + 64];
	struct rec_chunk chunk;
	__u8 chunk_data[REC_CHUNK_MAX];
	struct rec_desc made_up; /* for ioctls that tell their size */
	__u64 args[8];		 /* of the system call; two stay 0 */
	/*
	 * Progress. It lives here and not on the stack because the verifier then takes
	 * every value as unknown, and is done after one look at each loop's body.
	 */
	__u64 used;	/* bytes of data */
	__u64 chunked;	/* memory bytes in chunks */
	__u64 at, left; /* what put_one_chunk() has before it */
	__u32 flags;	/* enum rec_flags */
	__u32 pad;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct scratch);
} scratches SEC(".maps");

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

/* @id: bpf_get_current_pid_tgid(). */
static __always_inline void fill_head(struct rec_head *h, __u32 kind, __u64 id)
{
	h->kind = kind;
	h->tgid = id >> 32;
	h->tid = (__u32)id;
	h->at_ns = bpf_ktime_get_ns();
}

static void ring_put(void *record, __u64 size)
{
	__u64 before = ring_total, after = before + size;
	__u64 flags = before / REC_WAKE_BYTES == after / REC_WAKE_BYTES ?
			      BPF_RB_NO_WAKEUP :
			      BPF_RB_FORCE_WAKEUP;

	ring_total = after;
	if (bpf_ringbuf_output(&ring, record, size, flags))
		__sync_fetch_and_add(&lost_events, 1);
}

/* Thread @tid of the process runs, which was not the last one to do so. */
static void put_switch(struct rec_switch *s, __u32 tid)
{
	s->next_tid = tid;
	s->head.at_ns = bpf_ktime_get_ns();
	ring_put(s, sizeof(*s));
	s->head.tid = tid;
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
	if (last && last->head.tid != tid)
		put_switch(last, tid);
}

/* Of this CPU. */
static struct scratch *my_scratch(void)
{
	__u32 cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&scratches, &cpu);
}

static __u64 syscall_arg(const struct scratch *s, __u32 i)
{
	return s->args[i & 7];
}

static __u64 ring_used(void)
{
	return bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA);
}

static int is_ring_scarce(void)
{
	return ring_used() > REC_RING_BYTES / 4 * 3;
}

/* What bpf_loop callbacks get: a pointer survives only on the stack. */
struct walk {
	struct scratch *s;
	const struct rec_desc *desc;
};

static long put_one_chunk(__u32 i __attribute__((unused)), struct walk *walk)
{
	struct scratch *s = walk->s;
	__u64 size = s->left > REC_CHUNK_MAX ? REC_CHUNK_MAX : s->left;

	OPAQUE(size);
	if (!size || size > REC_CHUNK_MAX || is_ring_scarce())
		return 1;
	if (bpf_probe_read_user(s->chunk_data, size, (void *)s->at))
		return 1;
	s->chunk.head.kind = REC_CHUNK;
	s->chunk.head.tgid = s->event.head.tgid;
	s->chunk.head.tid = s->event.head.tid;
	s->chunk.head.at_ns = s->event.head.at_ns;
	s->chunk.addr = s->at;
	s->chunk.size = size;
	ring_put(&s->chunk, sizeof(s->chunk) + size);
	s->at += size;
	s->left -= size;
	return 0;
}

/* Memory that does not fit beside the registers. */
static int put_chunks(struct scratch *s, __u64 addr, __u64 size)
{
	struct walk walk = { .s = s };

	if (size > REC_EVENT_MAX || s->chunked + size > REC_EVENT_MAX)
		return -1;
	s->chunked += size;
	s->at = addr;
	s->left = size;
	bpf_loop(REC_EVENT_MAX / REC_CHUNK_MAX + 1, put_one_chunk, &walk, 0);
	return s->left ? -1 : 0;
}

static int put_inline(struct scratch *s, __u64 addr, __u64 size)
{
	struct rec_part *part;
	__u64 used = s->used;

	OPAQUE(used);
	OPAQUE(size);
	if (used > REC_INLINE_MAX || size > REC_INLINE_MAX)
		return -1;
	part = (struct rec_part *)&s->data[used];
	part->addr = addr;
	part->size = size;
	if (bpf_probe_read_user(part + 1, size, (void *)addr))
		return -1;
	s->used = used + sizeof(*part) + ((size + 7) & ~7ull);
	return 0;
}

/* Not static, so that the verifier looks at it once, and not at each call in each state:
 * that is 4 ms of each start. */
__attribute__((noinline)) int put_memory(__u64 addr, __u64 size)
{
	struct scratch *s = my_scratch();

	if (!addr || !size || !s)
		return 0;
	if (is_ring_scarce()) {
		s->flags |= REC_REREAD;
		return 0;
	}
	if (size <= REC_INLINE_MAX &&
	    s->used + size + sizeof(struct rec_part) + 8 <= REC_INLINE_MAX)
		return put_inline(s, addr, size);
	return put_chunks(s, addr, size);
}

/* Bytes that output @o wrote; -1 when user space has to find out. */
static __s64 out_size(const struct scratch *s, const struct rec_out *o)
{
	__u64 n;
	__u32 value;

	if (!syscall_arg(s, o->arg))
		return 0;
	switch (o->kind) {
	case OUT_FIXED:
		return o->size;
	case OUT_RET:
		n = s->event.ret;
		if (syscall_arg(s, o->count) < n)
			n = syscall_arg(s, o->count);
		return n * o->size;
	case OUT_ARG_TIMES:
		n = (__u32)syscall_arg(s, o->count);
		return n * o->size;
	case OUT_VALUE:
		value = 0;
		if (!syscall_arg(s, o->count))
			return 0;
		if (bpf_probe_read_user(&value, sizeof(value),
					(void *)syscall_arg(s, o->count)))
			return -1;
		return value > o->size ? o->size : value;
	case OUT_BITS:
		n = (__u32)syscall_arg(s, o->count);
		return (n + 63) / 64 * 8;
	case OUT_RET_PLUS:
		return s->event.ret + o->size;
	case OUT_PAGES:
		return (syscall_arg(s, o->count) + 4095) / 4096;
	}
	return s->event.ret > 0 || o->kind == OUT_CLONE3 ? -1 : 0;
}

/*
 * A new thread's own return may come when its parent has long reused the memory of the
 * arguments. Its task knows two of the words that may have been written. What the memory
 * says besides does no harm when it is of the next call: those words are as they are now.
 */
static void put_born(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 clear = (__u64)BPF_CORE_READ(task, clear_child_tid);
	__u64 set = (__u64)BPF_CORE_READ(task, set_child_tid);

	put_memory(clear, 4);
	if (set != clear)
		put_memory(set, 4);
}

static int put_clone3(const struct scratch *s, __u64 addr)
{
	__u64 args[4]; /* the first members: flags, pidfd, child_tid, parent_tid */
	int ret = 0;

	if (!s->event.ret)
		put_born();
	if (bpf_probe_read_user(args, sizeof(args), (void *)addr))
		return -1;
	if (args[0] & CLONE_PARENT_SETTID)
		ret |= put_memory(args[3], 4);
	if (args[0] & CLONE_CHILD_SETTID && args[0] & CLONE_VM)
		ret |= put_memory(args[2], 4);
	if (args[0] & CLONE_PIDFD)
		ret |= put_memory(args[1], 4);
	return ret;
}

/* A bpf_loop callback because the verifier would walk an unrolled loop in all ways. */
static long put_out(__u32 i, struct walk *walk)
{
	const struct rec_desc *desc = walk->desc;
	struct scratch *s = walk->s;
	const struct rec_out *o;
	__u64 n = i;
	__s64 size;

	OPAQUE(n);
	if (!desc || n >= REC_OUTS)
		return 1;
	o = &desc->out[n];
	if (o->kind == OUT_END)
		return 1;
	if (s->event.ret < 0 && !(o->flags & OUT_ALWAYS))
		return 0;
	if (o->kind == OUT_CLONE3 && !put_clone3(s, syscall_arg(s, o->arg)))
		return 0;
	size = out_size(s, o);
	if (size >= 0 && !put_memory(syscall_arg(s, o->arg), size))
		return 0;
	if (!(o->flags & OUT_MAYBE) && s->event.ret >= 0)
		s->flags |= REC_REREAD;
	return 0;
}

/* An ioctl command of the modern form carries direction and size. */
static const struct rec_desc *describe_ioctl(struct scratch *s, __u32 command)
{
	__u32 size = command >> 16 & 0x3fff, dir = command >> 30;
	struct rec_desc *d = &s->made_up;

	if (!dir)
		return NULL;
	d->state = DESC_LISTED;
	d->flags = 0;
	d->out[0].kind = dir & IOC_READ ? OUT_FIXED : OUT_END;
	d->out[0].arg = 2;
	d->out[0].flags = 0;
	d->out[0].size = size;
	d->out[1].kind = OUT_END;
	return d;
}

static const struct rec_desc *find_desc(struct scratch *s)
{
	__u32 nr = s->event.nr;
	const struct rec_desc *d;
	__u64 key, command;

	if (s->event.nr == NR_RT_SIGRETURN_GONE)
		nr = NR_RT_SIGRETURN;
	if (nr == NR_RESTART_SYSCALL) {
		__u32 *before = bpf_map_lookup_elem(&restarting, &s->event.head.tid);

		if (before)
			nr = *before;
	}
	if (s->event.ret == -ERESTART_RESTARTBLOCK)
		bpf_map_update_elem(&restarting, &s->event.head.tid, &nr, BPF_ANY);
	if (nr >= REC_SYSCALLS)
		return NULL;
	d = bpf_map_lookup_elem(&descs, &nr);
	if (!d || d->state != DESC_BY_COMMAND)
		return d && d->state == DESC_LISTED ? d : NULL;
	command = syscall_arg(s, d->command);
	key = REC_COMMAND_KEY(nr, command);
	if (d->flags & DESC_IOCTL) {
		d = bpf_map_lookup_elem(&commands, &key);
		return d ? (d->state == DESC_LISTED ? d : NULL) :
			   describe_ioctl(s, command);
	}
	return bpf_map_lookup_elem(&commands, &key);
}

static void take_regs(struct rec_regs *to, const struct task_struct *task,
		      const struct pt_regs *regs)
{
	__u64 *g = to->gpr;

	g[0] = (__s64)regs->orig_ax >= 0 ? regs->orig_ax : regs->ax;
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
	to->rip = regs->ip;
	to->rflags = regs->flags;
	to->fs_base = task->thread.fsbase;
	to->gs_base = task->thread.gsbase;
}

static void fill_event(struct scratch *s, long ret, __u64 id)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	struct rec_syscall *e = &s->event;

	fill_head(&e->head, REC_SYSCALL, id);
	e->nr = (__s64)regs->orig_ax;
	e->ret = ret;
	take_regs(&e->regs, task, regs);
	e->regs.gpr[0] = regs->orig_ax;
	s->args[0] = regs->di;
	s->args[1] = regs->si;
	s->args[2] = regs->dx;
	s->args[3] = regs->r10;
	s->args[4] = regs->r8;
	s->args[5] = regs->r9;
}

/* A file was mapped: user space must see its descriptor before the program goes on. */
static int is_file_mapped(const struct scratch *s)
{
	__u64 ret = s->event.ret;

	if (s->event.nr == NR_SHMAT)
		return ret < -4095ull;
	return ret < -4095ull && !(syscall_arg(s, 3) & MAP_ANONYMOUS) &&
	       (__s32)syscall_arg(s, 4) >= 0;
}

static int is_chosen(void)
{
	__u64 x = chance_state;

	if (!chance_below)
		return 0;
	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	chance_state = x;
	return (__u32)(x >> 32) < chance_below;
}

static __u32 dropped_cont(void)
{
	struct task_struct *t = bpf_get_current_task_btf();
	__u64 cont = 1ull << (SIGCONT - 1);

	return (t->pending.signal.sig[0] & cont ? REC_DROPS_CONT : 0) |
	       (BPF_CORE_READ(t, signal, shared_pending.signal.sig[0]) & cont ?
			REC_DROPS_SHARED_CONT :
			0);
}

static void put_event(struct scratch *s)
{
	__u64 used = s->flags & REC_REREAD ? 0 : s->used;

	if (s->flags & (REC_REREAD | REC_MAPPED_FILE | REC_CHOSE_CPUS) ||
	    ring_used() > REC_RING_BYTES / 2 ||
	    is_chosen())
		s->flags |= REC_STOPPING | dropped_cont();
	s->event.flags = s->flags;
	s->event.inline_bytes = used;
	OPAQUE(used);
	if (used <= REC_INLINE_MAX)
		ring_put(&s->event, sizeof(s->event) + used);
	if (s->flags & REC_STOPPING)
		bpf_send_signal_thread(SIGSTOP);
}

SEC("raw_tp/sys_exit")
int record_sys_exit(__u64 *args)
{
	__u64 id = bpf_get_current_pid_tgid();
	struct walk walk;
	struct scratch *s;

	if (!(process_bits(id >> 32) & REC_RECORDED))
		return 0;
	s = my_scratch();
	if (!s)
		return 0;
	note_runs(id >> 32, id);
	set_call_state((__u32)id,
		       args[1] == -(__u64)ENOSYS ? REC_CALL_ENOSYS : REC_CALL_NONE);
	s->used = s->chunked = s->flags = 0;
	fill_event(s, args[1], id);
	walk.s = s;
	walk.desc = find_desc(s);
	if (!walk.desc)
		s->flags = REC_UNLISTED;
	else if (walk.desc->flags & DESC_MMAP && is_file_mapped(s))
		s->flags = REC_MAPPED_FILE;
	else if (s->event.nr == NR_SCHED_SETAFFINITY && !s->event.ret)
		s->flags = REC_CHOSE_CPUS;
	bpf_loop(REC_OUTS, put_out, &walk, 0);
	put_event(s);
	return 0;
}

/* An instruction whose result is chance: user space takes it when the thread has stopped.
 * The kernel single-steps it first, and lets no signal in between. */
static int put_chance(struct pt_regs *regs)
{
	struct rec_chance e = {};
	__u64 id = bpf_get_current_pid_tgid();

	if (!process_bits(id >> 32))
		return 0;
	note_runs(id >> 32, id);
	fill_head(&e.head, REC_CHANCE, id);
	e.rip = regs->ip;
	ring_put(&e, sizeof(e));
	bpf_send_signal_thread(SIGSTOP);
	return 0;
}

SEC("uprobe")
int record_chance(struct pt_regs *regs)
{
	return put_chance(regs);
}

SEC("uprobe")
int record_chance_multi(struct pt_regs *regs)
{
	return put_chance(regs);
}

/* -e heap: an allocator function was entered, or returned; the cookie says which. */
static int put_heap(struct pt_regs *regs, __u32 kind)
{
	struct rec_heap e = {};
	__u64 id = bpf_get_current_pid_tgid();
	__u8 bits = process_bits(id >> 32);

	if (!bits)
		return 0;
	note_runs(id >> 32, id);
	fill_head(&e.head, kind, id);
	e.fn = bpf_get_attach_cookie(regs);
	e.args[0] = kind == REC_HEAP ? regs->di : regs->ax;
	e.args[1] = kind == REC_HEAP ? regs->si : 0;
	e.args[2] = kind == REC_HEAP ? regs->dx : 0;
	if (bits & REC_IN_FLIGHT && kind == REC_HEAP) {
		e.sp = regs->sp;
		bpf_probe_read_user(&e.return_to, sizeof(e.return_to), (void *)e.sp);
	}
	ring_put(&e, sizeof(e));
	if (ring_used() > REC_RING_BYTES / 2)
		bpf_send_signal_thread(SIGSTOP);
	return 0;
}

SEC("uprobe")
int record_heap(struct pt_regs *regs)
{
	return put_heap(regs, REC_HEAP);
}

/* For kernels that attach to many places at once (6.6); loads on older ones too. */
SEC("uprobe")
int record_heap_multi(struct pt_regs *regs)
{
	return put_heap(regs, REC_HEAP);
}

SEC("uretprobe")
int record_heap_done(struct pt_regs *regs)
{
	return put_heap(regs, REC_HEAP_DONE);
}

SEC("uretprobe")
int record_heap_done_multi(struct pt_regs *regs)
{
	return put_heap(regs, REC_HEAP_DONE);
}

/* --trigger: user space takes a snapshot when the thread has stopped. */
static int put_trigger(struct pt_regs *regs)
{
	struct rec_trigger e = {};
	__u64 id = bpf_get_current_pid_tgid();

	if (!process_bits(id >> 32))
		return 0;
	fill_head(&e.head, REC_TRIGGER, id);
	e.rip = regs->ip;
	ring_put(&e, sizeof(e));
	bpf_send_signal_thread(SIGSTOP);
	return 0;
}

SEC("uprobe")
int record_trigger(struct pt_regs *regs)
{
	return put_trigger(regs);
}

SEC("uprobe")
int record_trigger_multi(struct pt_regs *regs)
{
	return put_trigger(regs);
}

/* -e stores: what each probe reads besides registers, by site; only of those that do. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, REC_STORE_SITES);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u64);
	__type(value, struct rec_store_site);
} store_sites SEC(".maps");

static __u64 store_gpr(const struct rec_store *e, __u8 r)
{
	__u64 n = r;

	OPAQUE(n);
	return r == REC_NO_GPR ? 0 : e->gpr[n & 15];
}

/* One read as a chunk; what cannot be read is left out. */
static void put_store_read(const struct rec_store *e, const struct rec_store_read *r)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct {
		struct rec_chunk head;
		__u8 data[REC_STORE_READ_MAX];
	} c = {};
	__u64 size = r->size;

	OPAQUE(size);
	if (!size || size > REC_STORE_READ_MAX)
		return;
	c.head.head = e->head;
	c.head.head.kind = REC_CHUNK;
	c.head.addr = r->disp + store_gpr(e, r->base) + store_gpr(e, r->index) * r->scale;
	if (r->flags & REC_READ_RIP)
		c.head.addr += e->rip;
	if (r->flags & REC_READ_FS)
		c.head.addr += task->thread.fsbase;
	c.head.size = size;
	if (!bpf_probe_read_user(c.data, size, (void *)c.head.addr))
		ring_put(&c, sizeof(c));
}

static void fill_store(struct rec_store *e, const struct pt_regs *regs)
{
	__u64 *g = e->gpr;

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
	e->rip = regs->ip;
}

static int put_store(struct pt_regs *regs)
{
	const struct rec_store_site *site = NULL;
	__u64 id = bpf_get_current_pid_tgid(), cookie;
	struct rec_store e = {};

	if (!process_bits(id >> 32))
		return 0;
	note_runs(id >> 32, id);
	fill_head(&e.head, REC_STORE, id);
	cookie = bpf_get_attach_cookie(regs);
	e.site = (__u32)cookie;
	fill_store(&e, regs);
	if (cookie & REC_STORE_READS_MEMORY)
		site = bpf_map_lookup_elem(&store_sites, &e.site);
	for (int i = 0; site && i < REC_STORE_READS; i++)
		put_store_read(&e, &site->reads[i]);
	ring_put(&e, sizeof(e));
	if (ring_used() > REC_RING_BYTES / 2)
		bpf_send_signal_thread(SIGSTOP);
	return 0;
}

SEC("uprobe")
int record_store(struct pt_regs *regs)
{
	return put_store(regs);
}

SEC("uprobe")
int record_store_multi(struct pt_regs *regs)
{
	return put_store(regs);
}

/* ---- threads: attached only while a recorded process has several ------------------- */

/* So that a thread which lost the CPU on its way out of a call is told from one inside. */
SEC("raw_tp/sys_enter")
int record_sys_enter(__u64 *args)
{
	__u64 id = bpf_get_current_pid_tgid();

	if (process_bits(id >> 32) & REC_THREADED)
		set_call_state((__u32)id, REC_CALL_INSIDE);
	return 0;
}

#define SIGNATURE_STACK 1024u
#define SIGNATURE_RED_ZONE 128u
#define SIGNATURE_TARGET 64u
#define SIGNATURE_PIECE 128u /* the stack is read so many bytes at a time */
#define SIGNATURE_SEED 0xcbf29ce484222325ull
#define SIGNATURE_PRIME 0x100000001b3ull

static __u64 hash(__u64 h, const __u64 *words, __u32 n)
{
	for (__u32 i = 0; i < n; i++)
		h = (h ^ words[i]) * SIGNATURE_PRIME;
	return h;
}

/* What lies around the stack pointer and behind the registers of the current task. */
static long hash_stack(__u32 i, struct rec_switch **ctx)
{
	struct rec_switch *s = *ctx;
	__u64 words[SIGNATURE_PIECE / 8];
	__u64 at = s->regs.gpr[4] - SIGNATURE_RED_ZONE + (__u64)i * SIGNATURE_PIECE;

	if (bpf_probe_read_user(words, sizeof(words), (void *)at))
		return 1;
	s->signature.stack_hash =
		hash(s->signature.stack_hash, words, SIGNATURE_PIECE / 8);
	s->signature.stack_bytes += SIGNATURE_PIECE;
	return 0;
}

static long hash_pointer(__u32 i, struct rec_switch **ctx)
{
	struct rec_switch *s = *ctx;
	__u64 words[SIGNATURE_TARGET / 8];
	__u64 n = i;

	OPAQUE(n);
	n &= 15;
	if (n == 4 || bpf_probe_read_user(words, sizeof(words),
					  (void *)(s->regs.gpr[n] & ~(SIGNATURE_TARGET - 1ull))))
		return 0;
	s->signature.pointer_hash =
		hash(s->signature.pointer_hash, words, SIGNATURE_TARGET / 8);
	s->signature.pointers |= 1u << n;
	return 0;
}

/*
 * Is it inside a system call whose record is still to come? Between the instruction and
 * sys_enter nothing says so but rax: the entry puts -ENOSYS there. So does a call that ends
 * in that, until the next one.
 */
static int is_in_call(struct pt_regs *regs, __u8 state)
{
	return state == REC_CALL_INSIDE ||
	       (state == REC_CALL_NONE && (__s64)regs->orig_ax >= 0 &&
		regs->ax == -(__u64)ENOSYS);
}

#define FUTEX_EXITING 1
#define FUTEX_TID_MASK 0x3fffffffu

/* @t has noted that it ends. Is the first of its robust mutexes still its own? (What is told
 * is all or nothing: of several, that is not exact. See doc/threads.md.) */
static int holds_first_robust(struct task_struct *t)
{
	struct {
		__u64 next, offset, pending;
	} head;
	__u64 list = (__u64)BPF_CORE_READ(t, robust_list), first;
	__u32 word;

	if (!list || bpf_probe_read_user(&head, sizeof(head), (void *)list))
		return 0;
	first = (head.next & ~1ull) == list ? head.pending & ~1ull : head.next & ~1ull;
	return first &&
	       !bpf_probe_read_user(&word, sizeof(word), (void *)(first + head.offset)) &&
	       (word & FUTEX_TID_MASK) == (__u32)t->pid;
}

/* What the kernel has done in memory at the end of @t, which is on its way there. It can be
 * switched out between the zeroing of the word and that of the pointer. Before the first of
 * these it has noted what @t ends with. */
static __u32 end_flags(struct task_struct *t)
{
	__u32 word = 1;

	if (!t->futex_state || (t->futex_state == FUTEX_EXITING && holds_first_robust(t)))
		return 0;
	if (!t->clear_child_tid ||
	    (BPF_CORE_READ(t, mm) && !bpf_probe_read_user(&word, sizeof(word), t->clear_child_tid) &&
	     !word))
		return REC_SWITCH_ROBUST_LEFT | REC_SWITCH_TID_CLEARED;
	return REC_SWITCH_ROBUST_LEFT;
}

#define TIF_UPROBE (1ul << 12)
#define XOL_SLOT 128u
#define EFLAGS_TF 0x100u

/*
 * It may lose the CPU in the middle of a probe: behind the breakpoint, which has not been
 * looked at yet, or in the kernel's copy of the probed instruction. In the program that is
 * at the instruction, or (the copy has run) behind it.
 */
static void leave_probe(struct rec_regs *r, struct task_struct *task)
{
	struct uprobe_task *u = BPF_CORE_READ(task, utask);
	__u64 into;

	if (!u)
		return;
	if (!BPF_CORE_READ(u, active_uprobe)) {
		if (task->thread_info.flags & TIF_UPROBE)
			r->rip--;
		return;
	}
	into = r->rip - BPF_CORE_READ(u, xol_vaddr);
	if (into < XOL_SLOT)
		r->rip = BPF_CORE_READ(u, vaddr) + into;
	r->rflags &= ~(__u64)EFLAGS_TF;
}

/* @prev, the current task, stops running. */
static void keep_last(struct rec_switch *s, struct task_struct *prev)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(prev);
	__u32 tid = prev->pid;
	__u8 state = call_state(tid);

	if (state == REC_CALL_GONE)
		return;
	// See note_runs(); or it ran already when we were attached.
	if (s->head.tid != tid)
		put_switch(s, tid);
	s->flags = 0;
	s->signature.stack_bytes = s->signature.pointers = 0;
	s->signature.stack_hash = s->signature.pointer_hash = SIGNATURE_SEED;
	s->out_ns = bpf_ktime_get_ns();
	if (prev->flags & PF_EXITING)
		s->flags = end_flags(prev);
	take_regs(&s->regs, prev, regs);
	leave_probe(&s->regs, prev);
	if (is_in_call(regs, state))
		s->flags |= REC_SWITCH_IN_CALL;
	else
		s->regs.gpr[0] = regs->ax;
	s->status = prev->exit_code;
	if (s->flags & REC_SWITCH_TID_CLEARED)
		set_call_state(tid, REC_CALL_GONE);
	if (s->flags & (REC_SWITCH_IN_CALL | REC_SWITCH_TID_CLEARED))
		return;
	if (!BPF_CORE_READ(prev, mm))
		return;
	bpf_loop(SIGNATURE_STACK / SIGNATURE_PIECE, hash_stack, &s, 0);
	bpf_loop(16, hash_pointer, &s, 0);
}

SEC("raw_tp/sched_switch")
int record_sched_switch(__u64 *args)
{
	struct task_struct *prev = bpf_get_current_task_btf();
	struct task_struct *next = (struct task_struct *)args[2];
	__u32 prev_tgid = prev->tgid, next_tgid = BPF_CORE_READ(next, tgid);
	struct rec_switch *last;
	__u32 next_tid;

	if (process_bits(prev_tgid) & REC_THREADED) {
		last = bpf_map_lookup_elem(&last_threads, &prev_tgid);
		if (last)
			keep_last(last, prev);
	}
	if (process_bits(next_tgid) & REC_THREADED) {
		next_tid = BPF_CORE_READ(next, pid);
		last = bpf_map_lookup_elem(&last_threads, &next_tgid);
		if (last && last->head.tid != next_tid &&
		    call_state(next_tid) != REC_CALL_GONE)
			put_switch(last, next_tid);
	}
	return 0;
}
