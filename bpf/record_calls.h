// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// Copyright 2026 The Faultline authors

/*
 * System calls: what each was, and the user memory that it wrote.
 */
#ifndef BPF_RECORD_CALLS_H
#define BPF_RECORD_CALLS_H

#include "bpf/record_files.h"
#include "bpf/record_pages.h"
#include "bpf/record_ring.h"

#define NR_RT_SIGRETURN_GONE (-1)
#define NR_OPEN 2
#define NR_SHMAT 30
#define NR_RT_SIGRETURN 15
#define NR_RT_SIGTIMEDWAIT 128
#define NR_SCHED_SETAFFINITY 203
#define NR_OPENAT 257
#define NR_PROCESS_VM_WRITEV 311
#define NR_RESTART_SYSCALL 219
#define ERESTARTSYS 512
#define ERESTART_RESTARTBLOCK 516
#define SIGCONT 18
#define EFAULT 14
#define MAP_ANONYMOUS 0x20
#define CLONE_VM 0x100u
#define CLONE_PIDFD 0x1000u
#define CLONE_PARENT_SETTID 0x100000u
#define CLONE_CHILD_SETTID 0x1000000u
#define IOC_READ 2u

/* Written by user space. */
__u32 chance_below; /* --chaos: stop at this share of all calls, in 2^32 */
__u64 chance_state; /* random numbers, xorshift; user space sets the seed */

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

#define LEADERS 1024u

/* First threads of recorded processes that were forked or have forked, for the kernel: each in a place by its number, and
 * at most one there. A map of its own is 1 ms of each start. */
__u64 leaders[LEADERS];

/*
 * Where an event is put together, one for each CPU (user space sets max_entries): the
 * tracepoint runs with preemption off. Not a per-CPU map: those end at 32 KiB. The second
 * half of data is slack: offset and size are each below REC_INLINE_MAX, which is all that the
 * verifier can know.
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

/* setsockopt(IPT_SO_SET_REPLACE), or the same of IPv6 */
static int is_netfilter_table(const struct scratch *s)
{
	__u32 level = syscall_arg(s, 1);

	return (level == 0 || level == 41) && (__u32)syscall_arg(s, 2) == 64;
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
	case OUT_COUNTERS:
		return is_netfilter_table(s) ? -1 : 0;
	case OUT_PAGES:
		return (syscall_arg(s, o->count) + 4095) / 4096;
	}
	// A message without bytes has a sender, too.
	return s->event.ret > 0 || o->kind == OUT_CLONE3 || o->kind == OUT_MSGHDR ||
			       o->kind >= OUT_SOME ?
		       -1 :
		       0;
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

/* Not static: see put_memory(). */
__attribute__((noinline)) int has_changed_memory(__u32 use, __u32 bits)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct scratch *s = my_scratch();

	if (s && use == USE_MASK && task->blocked.sig[0] & 1ull << (SIGSEGV - 1))
		s->flags |= REC_SEGV_BLOCKED;
	return s && changes_memory(s->args, use, s->event.ret, bits);
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
	if (s->event.ret < 0 && !(o->flags & OUT_ALWAYS)) {
		// It wrote until it met an address that it could not write.
		if (s->event.ret == -EFAULT)
			s->flags |= REC_REREAD;
		return 0;
	}
	if (o->kind == OUT_UNKNOWN) {
		if (((__u32)syscall_arg(s, o->arg) << 16 |
		     (__u32)syscall_arg(s, o->count)) == o->size)
			s->flags |= REC_UNLISTED;
		return 0;
	}
	if (o->kind == OUT_CLONE3 && !put_clone3(s, syscall_arg(s, o->arg)))
		return 0;
	size = out_size(s, o);
	if (size >= 0 && (!put_memory(syscall_arg(s, o->arg), size) ||
			  o->flags & OUT_MAYBE || s->event.ret < 0))
		return 0;
	s->flags |= REC_REREAD;
	return 0;
}

/* An ioctl command of the modern form carries direction and size. */
static const struct rec_desc *describe_ioctl(struct scratch *s, __u32 command)
{
	__u32 size = command >> 16 & 0x3fff, dir = command >> 30;
	struct rec_desc *d = &s->made_up;
	__u64 key = REC_TYPE_KEY(command >> 8 & 0xff);

	if (!dir)
		return NULL;
	if (s->event.ret >= 0 && !bpf_map_lookup_elem(&commands, &key))
		s->flags |= REC_UNLISTED; // it may point elsewhere
	d->state = DESC_LISTED;
	d->flags = d->use = 0;
	d->out[0].kind = dir & IOC_READ ? OUT_FIXED : OUT_END;
	d->out[0].arg = 2;
	d->out[0].flags = OUT_ALWAYS; // some drivers write it when they fail, too
	d->out[0].size = size;
	d->out[1].kind = OUT_END;
	return d;
}

static const struct rec_desc *find_desc(struct scratch *s)
{
	__u32 nr = s->event.nr;
	const struct rec_desc *d;
	__u64 key, command;
	int is_ioctl;

	if (s->event.nr == NR_RT_SIGRETURN_GONE)
		nr = NR_RT_SIGRETURN;
	if (nr == NR_RESTART_SYSCALL) {
		__u32 *before = bpf_map_lookup_elem(&restarting, &s->event.head.tid);

		if (before)
			nr = *before;
	}
	if (s->event.ret == -ERESTART_RESTARTBLOCK)
		bpf_map_update_elem(&restarting, &s->event.head.tid, &nr, BPF_ANY);
	s->event.head.listed_as = nr;
	if (nr >= REC_SYSCALLS)
		return NULL;
	d = bpf_map_lookup_elem(&descs, &nr);
	if (!d || d->state != DESC_BY_COMMAND)
		return d && d->state == DESC_LISTED ? d : NULL;
	command = syscall_arg(s, d->command);
	key = REC_COMMAND_KEY(nr, command);
	is_ioctl = d->flags & DESC_IOCTL;
	d = bpf_map_lookup_elem(&commands, &key);
	if (!d && is_ioctl)
		return describe_ioctl(s, command);
	return d && d->state == DESC_LISTED ? d : NULL;
}

static __always_inline void fill_call(struct rec_syscall *e,
				      const struct task_struct *task,
				      const struct pt_regs *regs, long ret, __u64 id,
				      __u64 ns)
{
	fill_head(&e->head, REC_SYSCALL, id, ns);
	e->nr = (__s64)regs->orig_ax;
	e->ret = ret;
	take_regs(&e->regs, task, regs);
	e->regs.gpr[0] = regs->orig_ax;
}

static void fill_event(struct scratch *s, const struct task_struct *task,
		       const struct pt_regs *regs, long ret, __u64 id)
{
	s->used = s->chunked = s->flags = 0;
	fill_call(&s->event, task, regs, ret, id, exact_ns());
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

#define PROT_EXEC 4u
#define SHM_EXEC 0100000u

/* Call @d made memory code, which may have any instruction. */
static int has_made_code(const struct scratch *s, const struct rec_desc *d)
{
	if ((__u64)s->event.ret >= -4095ull ||
	    (!(d->flags & DESC_MMAP) && d->use != USE_PROTECT))
		return 0;
	return syscall_arg(s, 2) & (s->event.nr == NR_SHMAT ? SHM_EXEC : PROT_EXEC);
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

	if (s->flags & (REC_REREAD | REC_MAPPED_FILE | REC_CHOSE_CPUS | REC_THROUGH_FILE |
			REC_SEE_SHARED | REC_MADE_CODE) ||
	    ring_used() > REC_RING_BYTES / 2 || is_chosen())
		s->flags |= REC_STOPPING | dropped_cont();
	s->event.flags = s->flags;
	s->event.inline_bytes = used;
	OPAQUE(used);
	if (used <= REC_INLINE_MAX)
		ring_put(&s->event, sizeof(s->event) + used);
	if (s->flags & REC_STOPPING)
		bpf_send_signal_thread(SIGSTOP);
}

/* What can come after put_event(): the record is there. */
static void stop_for_memory(struct rec_syscall *e)
{
	e->inline_bytes = 0;
	e->flags = REC_REREAD | REC_STOPPING | dropped_cont();
	bpf_send_signal_thread(SIGSTOP);
}

/* Bytes that a call with DESC_PLAIN wrote. */
static __always_inline __u64 plain_size(const struct rec_out *o, const __u64 args[8],
					__s64 ret)
{
	__u64 n = ret, most;

	if (o->kind == OUT_END || ret < 0)
		return 0;
	if (o->kind == OUT_FIXED)
		return o->size;
	most = args[o->count & 7];
	return (n < most ? n : most) * o->size;
}

#define SMALL 64u /* bytes, for more of which the stack has no room */

/*
 * User memory of at most SMALL bytes, by way of the stack: a kernel with CONFIG_HARDENED_USERCOPY finds out before each
 * copy what it is copied to. Of its own stack it knows that first; that the ring is nothing else takes three
 * calls, 40 ns.
 */
static __always_inline int read_small(__u64 words[SMALL / 8], __u64 size, __u64 addr,
				      const struct task_struct *task,
				      const struct pt_regs *regs, int is_typed)
{
	if (is_typed && cast_type() && size <= FEW) {
		if (pages.proofs < REC_PROOFS && pages.tried < PLACES)
			prove_pages(regs->ip - 8); // code is nowhere 0
		else if (pages.proofs >= REC_PROOFS &&
			 read_pages(words, addr, task, pages.base))
			return 0;
	}
	__builtin_memset(words, 0, SMALL);
	return bpf_probe_read_user(words, size, (void *)addr);
}

/*
 * The way of nearly all calls: their record is put together in its place in the ring. What is
 * not as usual goes the long way. (What can be is known before there is a place: then the verifier has fewer ways
 * to follow.) @return whether it is recorded.
 */
static __always_inline int put_plain(const struct rec_desc *d,
				     const struct task_struct *task,
				     const struct pt_regs *regs, __s64 ret, __u64 id,
				     int is_typed)
{
	struct rec_ring *r = the_ring();
	// (The verifier wants fields of regs by their names.)
	__u64 args[8] = { regs->di, regs->si, regs->dx, regs->r10, regs->r8, regs->r9 };
	__u64 addr = args[d->out[0].arg & 7], at, size, bytes, ns;
	__u64 words[SMALL / 8], last, *to;
	struct rec_syscall *e;
	struct rec_part *part;
	struct rec_frame *f;

	size = addr ? plain_size(&d->out[0], args, ret) : 0;
	OPAQUE(size);
	if (!r || size > REC_INLINE_MAX - sizeof(*part) - 8 || chance_below ||
	    used_of(r) > REC_RING_BYTES / 2)
		return 0;
	ns = about_ns();
	if (size) {
		OPAQUE(size);
		if (size <= SMALL && read_small(words, size, addr, task, regs, is_typed))
			return 0;
	}
	bytes = size ? sizeof(*part) + ((size + 7) & ~7ull) : 0;
	f = claim(r, sizeof(*e) + bytes, &at);
	if (!f)
		return 1;
	e = (struct rec_syscall *)(f + 1);
	fill_call(e, task, regs, ret, id, ns);
	e->head.listed_as = e->nr;
	e->flags = 0;
	e->inline_bytes = bytes;
	if (size) {
		part = (struct rec_part *)(e + 1);
		part->addr = addr;
		part->size = size;
		to = (__u64 *)(part + 1);
		last = ~0ull >> (-size % 8 * 8);
		for (__u32 i = 0; size <= SMALL && i < SMALL / 8 && i * 8 < size; i++)
			to[i] = i * 8 + 8 < size ? words[i] : words[i] & last;
		if (size > SMALL && bpf_probe_read_user(to, size, (void *)addr))
			stop_for_memory(e);
	}
	finish(r, f, sizeof(*e) + bytes, at);
	return 1;
}

#define TS_COMPAT 2u

/* Is its call one by int 0x80? */
static __always_inline int is_32_bit(const struct task_struct *task)
{
	return task->thread_info.status & TS_COMPAT;
}

/* Does it end as usual? After these, it is made again, or has written part of its outputs. */
static __always_inline int has_plain_end(__s64 ret)
{
	return ret >= 0 || (ret > -ERESTARTSYS && ret != -EFAULT);
}

#define NR_CLONE 56
#define NR_FORK 57
#define NR_VFORK 58
#define NR_CLONE3 435

static int is_fork(__s64 nr)
{
	return nr == NR_CLONE || nr == NR_FORK || nr == NR_VFORK || nr == NR_CLONE3;
}

/* Of the current task, which has forked or was forked, and then of its parent, whose call may not have returned. */
static void note_leaders(int is_born)
{
	const struct task_struct *t = bpf_get_current_task_btf();

	t = BPF_CORE_READ(t, group_leader);
	for (int i = 0; i < 2; i++) {
		__u64 place = (__u32)BPF_CORE_READ(t, tgid);

		OPAQUE(place);
		leaders[place % LEADERS] = (__u64)t;
		if (!is_born)
			return;
		t = BPF_CORE_READ(t, real_parent, group_leader);
	}
}

/* Its state, by the name that it has had since Linux 5.14. */
struct task_struct___state {
	unsigned int __state;
} __attribute__((preserve_access_index));

/* Does the first thread of recorded process @tgid sleep? If nobody knows, it does not. Not static: see
 * put_memory(). */
__attribute__((noinline)) int is_asleep(__u32 tgid)
{
	__u64 place = tgid;
	const struct task_struct *t;

	OPAQUE(place);
	t = (const void *)leaders[place % LEADERS];

	// One that has ended reads as somebody else, or does not.
	return t && (__u32)BPF_CORE_READ(t, tgid) == tgid && !BPF_CORE_READ(t, on_cpu) &&
	       BPF_CORE_READ((const struct task_struct___state *)t, __state);
}

/* The process whose memory the call wrote that ended just now, as the first name space calls it. */
static __u32 written_process(const struct scratch *s, const struct rec_desc *d)
{
	if (s->event.nr == NR_PROCESS_VM_WRITEV)
		return syscall_arg(s, 0);
	return s->flags & REC_THROUGH_FILE && d->use == USE_WRITE0 ?
		       owner_of(file_of(syscall_arg(s, 0))) :
		       0;
}

/* Any call. */
static void put_call(struct scratch *s, __u8 bits)
{
	struct walk walk = { .s = s };
	__u32 written;

	if (is_32_bit(bpf_get_current_task_btf()))
		s->flags = REC_32_BIT;
	else
		walk.desc = find_desc(s);
	if (!walk.desc)
		s->flags |= REC_UNLISTED;
	else if (walk.desc->flags & DESC_MMAP && is_file_mapped(s))
		s->flags = REC_MAPPED_FILE |
			   (is_written(syscall_arg(s, 4)) ? REC_WRITTEN_FILE : 0);
	else if (s->event.nr == NR_SCHED_SETAFFINITY && !s->event.ret)
		s->flags = REC_CHOSE_CPUS;
	else if ((walk.desc->use > USE_WRITE2 ||
		  (walk.desc->use && bits & REC_WRITING)) &&
		 has_changed_memory(walk.desc->use, bits))
		s->flags = REC_THROUGH_FILE;
	if (walk.desc && bits & REC_WATCHES_CODE && has_made_code(s, walk.desc))
		s->flags |= REC_MADE_CODE;
	if (is_fork(s->event.nr))
		note_leaders(!s->event.ret);
	written = walk.desc ? written_process(s, walk.desc) : 0;
	if (written && is_asleep(written))
		s->flags |= REC_OTHER_WAITS;
	if (bits & REC_SHARING && syscall_arg(s, 5) != REC_OURS)
		s->flags |= REC_SEE_SHARED;
	bpf_loop(REC_OUTS, put_out, &walk, 0);
	put_event(s);
}

#define PROBE_PAGE 0x7fffffffe000ull /* the last one, where the kernel lays it */

/* Linux 6.11 ends return probes, of whoever recorded or traces beside us, by a call from the
 * kernel's page for probes, which the program does not make. */
static __always_inline int is_return_probe(const struct pt_regs *regs)
{
	return (__s64)regs->orig_ax == -1 && regs->ip >= PROBE_PAGE;
}

/* Calls of the page where the kernel answers what programs asked before there were vDSOs. They
 * are no system calls for anybody. */
SEC("raw_tp/emulate_vsyscall")
int record_vsyscall(__u64 *args __attribute__((unused)))
{
	__u64 id = bpf_get_current_pid_tgid();
	struct rec_head head = {};

	// One is enough: what makes many must not take other records' room.
	if (!(process_bits(id >> 32) & REC_RECORDED) || ring_used() > REC_RING_BYTES / 2)
		return 0;
	fill_head(&head, REC_VSYSCALL, id, exact_ns());
	ring_put(&head, sizeof(head));
	return 0;
}

/* A call of a process that is not recorded, that may have to do with memory of one that is. Where the
 * writer is in a name space of its own, user space knows whom it means. Not static: see put_memory(). */
__attribute__((noinline)) int note_others(__s64 ret, __u64 id)
{
	struct task_struct *task = bpf_get_current_task_btf();
	const struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	struct rec_others o = { .nr = regs->orig_ax };

	if (o.nr == NR_PROCESS_VM_WRITEV) {
		o.pid = ret > 0 ? regs->di : 0;
		o.level = BPF_CORE_READ(task, thread_pid, level);
	} else if (ret >= 0 && (o.nr == NR_OPEN ? regs->si : regs->dx) & O_ACCMODE) {
		o.pid = owner_of(file_of(ret));
	}
	if (!o.pid || is_32_bit(task) || is_ring_scarce())
		return 0;
	fill_head(&o.head, REC_OTHERS, id, exact_ns());
	ring_put(&o, sizeof(o));
	return 0;
}

#define SIGNAL_BIT(signo) (1ull << ((signo)-1))
/* SIGCHLD, SIGURG and SIGWINCH; SIGCONT and the four that stop */
#define SIGNALS_LIVED \
	(SIGNAL_BIT(17) | SIGNAL_BIT(23) | SIGNAL_BIT(28) | 0x1full << (SIGCONT - 1))
#define SIGNAL_UNKILLABLE 0x40u

/*
 * sigtimedwait() gave @signo. If the thread does not block that and nobody handles it, it has ended the process when
 * it was sent; but of who is traced the kernel asks the tracer first, and until then this call takes it
 * away. It comes once more, before the next instruction.
 */
__attribute__((noinline)) int end_by_waited(__s64 signo)
{
	const struct task_struct *t = bpf_get_current_task_btf();
	__u64 h = (__u64)BPF_CORE_READ(t, sighand);
	__u64 handler = 1, at = signo - 1;

	if (at >= 64 || SIGNAL_BIT(signo) & (SIGNALS_LIVED | t->blocked.sig[0]) ||
	    t->signal->flags & SIGNAL_UNKILLABLE)
		return 0;
	// Of each the handler is the first member.
	at = h + bpf_core_field_offset(struct sighand_struct, action) +
	     at * bpf_core_type_size(struct k_sigaction);
	bpf_probe_read_kernel(&handler, sizeof(handler), (void *)at);
	if (!handler)
		bpf_send_signal_thread(signo);
	return 0;
}

/* So that they keep the task's stack (see record_probes.h), which read_plain() needs. */
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} nowhere_typed SEC(".maps"), nowhere_raw SEC(".maps");

/* The end of a call with @regs. @bits: of its process. @is_typed: the program's kind, known to the compiler. */
static __always_inline void end_call(const struct task_struct *task,
				     const struct pt_regs *regs, __s64 ret, __u64 id,
				     __u8 bits, int is_typed)
{
	__u32 nr = regs->orig_ax;
	struct rec_desc *d;
	struct scratch *s;

	if (!(bits & REC_RECORDED)) {
		if (nr == NR_OPENAT || nr == NR_OPEN || nr == NR_PROCESS_VM_WRITEV)
			note_others(ret, id);
		return;
	}
	if (is_return_probe(regs)) {
		set_call_state((__u32)id, REC_CALL_NONE);
		return;
	}
	if (bits & REC_THREADED)
		note_runs(id >> 32, id);
	set_call_state((__u32)id, ret == -ENOSYS ? REC_CALL_ENOSYS : REC_CALL_NONE);
	if (nr == NR_RT_SIGTIMEDWAIT && ret > 0 && !is_32_bit(task))
		end_by_waited(ret);
	d = bpf_map_lookup_elem(&descs, &nr);
	if (d && d->flags & DESC_PLAIN && has_plain_end(ret) && !(bits & REC_SHARING) &&
	    !is_32_bit(task) && !(d->use && bits & REC_WRITING) &&
	    put_plain(d, task, regs, ret, id, is_typed))
		return;
	s = my_scratch();
	if (!s)
		return;
	fill_event(s, task, regs, ret, id);
	put_call(s, bits);
}

static __always_inline __u64 id_of(const struct task_struct *task)
{
	return (__u64)(__u32)task->tgid << 32 | (__u32)task->pid;
}

/* Of the tracepoint's arguments the verifier knows the types: the registers need not be asked for. */
SEC("typed_raw_tp/sys_exit")
int record_sys_exit_typed(__u64 *args)
{
	const struct pt_regs *regs = (const struct pt_regs *)args[0];
	const struct task_struct *task = bpf_get_current_task_btf();
	__u64 id = id_of(task);

	bpf_tail_call(args, &nowhere_typed, 0);
	end_call(task, regs, args[1], id, process_bits(id >> 32), 1);
	return 0;
}

/* The same where the kernel refuses that. */
SEC("raw_tp/sys_exit")
int record_sys_exit(__u64 *args)
{
	struct task_struct *task = bpf_get_current_task_btf();
	const struct pt_regs *regs = (const struct pt_regs *)bpf_task_pt_regs(task);
	__u64 id = id_of(task);

	bpf_tail_call(args, &nowhere_raw, 0);
	end_call(task, regs, args[1], id, process_bits(id >> 32), 0);
	return 0;
}

#endif
