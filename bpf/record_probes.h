// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// Copyright 2026 The Faultline authors

/*
 * Probes: instructions of chance, allocator functions, the trigger, stores. Each program is
 * there twice, for kernels that attach one to many places at once (6.6) and for older ones.
 */
#ifndef BPF_RECORD_PROBES_H
#define BPF_RECORD_PROBES_H

#include "bpf/record_ring.h"

/*
 * Since Linux 6.13 a program of this kind that needs more than 64 bytes of stack has one for
 * each CPU, not for each task. Probes run with preemption on: another thread that hits the
 * same probe overwrites what a preempted one has there, and records bore each other's numbers.
 * A program with a tail call keeps the task's stack. This one leads nowhere: there is nothing
 * in the array. (One array for each kind of attachment: the kernel wants them alike.)
 */
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} nowhere SEC(".maps"), nowhere_multi SEC(".maps");

/* An instruction whose result is chance: user space takes it when the thread has stopped.
 * The kernel single-steps it first, and lets no signal in between. Behind an rdtsc it is there already. */
static __always_inline int put_chance(struct pt_regs *regs)
{
	struct rec_chance e = {};
	__u64 id = bpf_get_current_pid_tgid();

	if (!process_bits(id >> 32))
		return 0;
	note_runs(id >> 32, id);
	fill_head(&e.head, REC_CHANCE, id, exact_ns());
	e.rip = regs->ip;
	e.sp = regs->sp;
	e.insn = bpf_get_attach_cookie(regs);
	e.gpr[0] = regs->ax;
	e.gpr[1] = regs->cx;
	e.gpr[2] = regs->dx;
	e.gpr[3] = regs->bx;
	ring_put(&e, sizeof(e));
	if (e.insn < REC_CHANCE_BEHIND_TSC || ring_used() > REC_RING_BYTES / 2)
		bpf_send_signal_thread(SIGSTOP);
	return 0;
}

SEC("uprobe")
int record_chance(struct pt_regs *regs)
{
	bpf_tail_call(regs, &nowhere, 0);
	return put_chance(regs);
}

SEC("uprobe")
int record_chance_multi(struct pt_regs *regs)
{
	bpf_tail_call(regs, &nowhere_multi, 0);
	return put_chance(regs);
}

/* -e heap: an allocator function was entered, or returned; the cookie says which. (Inline: the
 * verifier refuses code that chooses between fields of the context by their address.) */
static __always_inline int put_heap(struct pt_regs *regs, __u32 kind)
{
	struct rec_heap e = {};
	__u64 id = bpf_get_current_pid_tgid();
	__u8 bits = process_bits(id >> 32);

	if (!bits)
		return 0;
	note_runs(id >> 32, id);
	fill_head(&e.head, kind, id, exact_ns());
	e.fn = bpf_get_attach_cookie(regs);
	e.args[0] = kind == REC_HEAP ? regs->di : regs->ax;
	e.args[1] = kind == REC_HEAP ? regs->si : 0;
	e.args[2] = kind == REC_HEAP ? regs->dx : 0;
	e.rip = regs->ip;
	e.sp = regs->sp;
	if (bits & REC_IN_FLIGHT && kind == REC_HEAP)
		bpf_probe_read_user(&e.return_to, sizeof(e.return_to), (void *)e.sp);
	ring_put(&e, sizeof(e));
	if (ring_used() > REC_RING_BYTES / 2)
		bpf_send_signal_thread(SIGSTOP);
	return 0;
}

SEC("uprobe")
int record_heap(struct pt_regs *regs)
{
	bpf_tail_call(regs, &nowhere, 0);
	return put_heap(regs, REC_HEAP);
}

/* For kernels that attach to many places at once (6.6); loads on older ones too. */
SEC("uprobe")
int record_heap_multi(struct pt_regs *regs)
{
	bpf_tail_call(regs, &nowhere_multi, 0);
	return put_heap(regs, REC_HEAP);
}

SEC("uretprobe")
int record_heap_done(struct pt_regs *regs)
{
	bpf_tail_call(regs, &nowhere, 0);
	return put_heap(regs, REC_HEAP_DONE);
}

SEC("uretprobe")
int record_heap_done_multi(struct pt_regs *regs)
{
	bpf_tail_call(regs, &nowhere_multi, 0);
	return put_heap(regs, REC_HEAP_DONE);
}

/* --trigger: user space takes a snapshot when the thread has stopped. */
static int put_trigger(struct pt_regs *regs)
{
	struct rec_trigger e = {};
	__u64 id = bpf_get_current_pid_tgid();

	if (!process_bits(id >> 32))
		return 0;
	fill_head(&e.head, REC_TRIGGER, id, exact_ns());
	e.rip = regs->ip;
	ring_put(&e, sizeof(e));
	bpf_send_signal_thread(SIGSTOP);
	return 0;
}

SEC("uprobe")
int record_trigger(struct pt_regs *regs)
{
	bpf_tail_call(regs, &nowhere, 0);
	return put_trigger(regs);
}

SEC("uprobe")
int record_trigger_multi(struct pt_regs *regs)
{
	bpf_tail_call(regs, &nowhere_multi, 0);
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

static int put_store(struct pt_regs *regs)
{
	const struct rec_store_site *site = NULL;
	__u64 id = bpf_get_current_pid_tgid(), cookie;
	struct rec_store e = {};

	if (!process_bits(id >> 32))
		return 0;
	note_runs(id >> 32, id);
	fill_head(&e.head, REC_STORE, id, exact_ns());
	cookie = bpf_get_attach_cookie(regs);
	e.site = (__u32)cookie;
	take_gprs(e.gpr, regs);
	e.rip = regs->ip;
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
	bpf_tail_call(regs, &nowhere, 0);
	return put_store(regs);
}

SEC("uprobe")
int record_store_multi(struct pt_regs *regs)
{
	bpf_tail_call(regs, &nowhere_multi, 0);
	return put_store(regs);
}

#endif
