// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// Copyright 2026 The Faultline authors

/*
 * Threads: who runs when. Attached only while a recorded process has several.
 */
#ifndef BPF_RECORD_THREADS_H
#define BPF_RECORD_THREADS_H

#include "bpf/record_ring.h"

#define PF_EXITING 4

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
#define SIGNATURE_INT3 16
#define SIGNATURE_FOLD(h) (((h) ^ (h) >> 32) & 0xffffffff)
#define INT3 0xcc /* the breakpoint that is a probe */

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

/* Code with probes in it does not read as in its file. Whether it is code the replay knows. */
static int has_int3(const __u64 *words, __u32 n)
{
	const __u64 ones = 0x0101010101010101;
	__u64 found = 0;

	for (__u32 i = 0; i < n; i++) {
		__u64 x = words[i] ^ INT3 * ones;

		found |= (x - ones) & ~x & 0x80 * ones;
	}
	return found != 0;
}

struct pointers {
	struct rec_switch *s;
	__u64 int3_hash; /* of what may have probes in it */
};

static long hash_pointer(__u32 i, struct pointers *p)
{
	struct rec_switch *s = p->s;
	__u64 words[SIGNATURE_TARGET / 8];
	__u64 n = i;

	OPAQUE(n);
	n &= 15;
	if (n == 4 ||
	    bpf_probe_read_user(words, sizeof(words),
				(void *)(s->regs.gpr[n] & ~(SIGNATURE_TARGET - 1ull))))
		return 0;
	if (has_int3(words, SIGNATURE_TARGET / 8)) {
		p->int3_hash = hash(p->int3_hash, words, SIGNATURE_TARGET / 8);
		s->signature.pointers |= 1u << SIGNATURE_INT3 << n;
		return 0;
	}
	s->signature.pointer_hash =
		hash(s->signature.pointer_hash, words, SIGNATURE_TARGET / 8);
	s->signature.pointers |= 1u << n;
	return 0;
}

/* As ptc_signature_read() does. */
static void hash_pointers(struct rec_switch *s)
{
	struct pointers p = { s, SIGNATURE_SEED };

	bpf_loop(16, hash_pointer, &p, 0);
	if (s->signature.pointers >> SIGNATURE_INT3)
		s->signature.pointer_hash = SIGNATURE_FOLD(s->signature.pointer_hash) |
					    SIGNATURE_FOLD(p.int3_hash) << 32;
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

/* Where a task keeps its robust mutexes, and how far it is with its end: by itself, or (Linux
 * 7.3) in a structure of their own. */
struct task_struct___flat {
	struct robust_list_head *robust_list;
	unsigned int futex_state;
} __attribute__((preserve_access_index));

struct futex_sched_data___own {
	struct robust_list_head *robust_list;
	unsigned int state;
} __attribute__((preserve_access_index));

struct task_struct___own {
	struct futex_sched_data___own futex;
} __attribute__((preserve_access_index));

static __u64 robust_list(const struct task_struct *t)
{
	const struct task_struct___flat *flat = (const void *)t;
	const struct task_struct___own *own = (const void *)t;

	return bpf_core_field_exists(own->futex) ?
		       (__u64)BPF_CORE_READ(own, futex.robust_list) :
		       (__u64)BPF_CORE_READ(flat, robust_list);
}

static __u32 futex_state(const struct task_struct *t)
{
	const struct task_struct___flat *flat = (const void *)t;
	const struct task_struct___own *own = (const void *)t;

	return bpf_core_field_exists(own->futex) ? BPF_CORE_READ(own, futex.state) :
						   BPF_CORE_READ(flat, futex_state);
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
	__u64 list = robust_list(t), first;
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
	__u32 word = 1, state = futex_state(t);

	if (!state || (state == FUTEX_EXITING && holds_first_robust(t)))
		return 0;
	if (!t->clear_child_tid ||
	    (BPF_CORE_READ(t, mm) &&
	     !bpf_probe_read_user(&word, sizeof(word), t->clear_child_tid) && !word))
		return REC_SWITCH_ROBUST_LEFT | REC_SWITCH_TID_CLEARED;
	return REC_SWITCH_ROBUST_LEFT;
}

/* Which bit it is, types do not tell: x86 had one of its own, all architectures share one now. */
#define TIF_UPROBE (1ul << 12 | 1ul << 8)
#define XOL_SLOT 128u
#define EFLAGS_TF 0x100u

/*
 * It may lose the CPU in the middle of a probe: behind the breakpoint, or in the kernel's copy
 * of the probed instruction. In the program that is at the instruction, or (the copy has run)
 * behind it.
 */
static void leave_probe(struct rec_switch *s, struct task_struct *task)
{
	struct uprobe_task *u = BPF_CORE_READ(task, utask);
	__u8 byte = 0;
	__u64 into;

	// A thread at its first probe has no utask yet.
	if (u && BPF_CORE_READ(u, active_uprobe)) {
		into = s->regs.rip - BPF_CORE_READ(u, xol_vaddr);
		if (into < XOL_SLOT)
			s->regs.rip = BPF_CORE_READ(u, vaddr) + into;
		s->regs.rflags &= ~(__u64)EFLAGS_TF;
	} else if (!bpf_probe_read_user(&byte, 1, (void *)(s->regs.rip - 1)) &&
		   byte == INT3) {
		// The mark is gone while the kernel looks for the probe, and sleeps there
		// when another thread changes mappings.
		if (task->thread_info.flags & TIF_UPROBE)
			s->regs.rip--;
		else
			s->flags |= REC_SWITCH_BEHIND_INT3;
	}
}

/*
 * Is it at a probe? The kernel may emulate the instruction there just now, and have written
 * what `push' pushes already (a preemptible kernel loses the CPU in between): what lies below
 * rsp is not as the program has it.
 */
static int is_at_probe(const struct rec_switch *s)
{
	__u8 byte = 0;

	return !bpf_probe_read_user(&byte, 1, (void *)s->regs.rip) && byte == INT3;
}

#define NR_FUTEX 202
#define FUTEX_COMMANDS 127
#define FUTEX_LOCK_PI 6
#define FUTEX_LOCK_PI2 13

/* Who waits for a mutex with priority inheritance has noted that in it: its owner sees it. */
static void note_word(struct rec_switch *s)
{
	__u64 command = s->regs.gpr[6] & FUTEX_COMMANDS;

	if (s->flags & REC_SWITCH_IN_CALL && s->regs.gpr[0] == NR_FUTEX &&
	    (command == FUTEX_LOCK_PI || command == FUTEX_LOCK_PI2) &&
	    !bpf_probe_read_user(&s->word, sizeof(s->word), (void *)s->regs.gpr[7]))
		s->word_at = s->regs.gpr[7];
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
	let_in(s, prev->tgid, tid);
	s->flags = s->word_at = s->next_tid = 0;
	s->signature.stack_bytes = s->signature.pointers = 0;
	s->signature.stack_hash = s->signature.pointer_hash = SIGNATURE_SEED;
	s->out_ns = bpf_ktime_get_ns();
	if (prev->flags & PF_EXITING)
		s->flags = end_flags(prev);
	take_regs(&s->regs, prev, regs);
	leave_probe(s, prev);
	if (is_in_call(regs, state))
		s->flags |= REC_SWITCH_IN_CALL;
	else
		s->regs.gpr[0] = regs->ax;
	s->status = prev->exit_code;
	note_word(s);
	if (s->flags & REC_SWITCH_TID_CLEARED)
		set_call_state(tid, REC_CALL_GONE);
	if (s->flags & (REC_SWITCH_IN_CALL | REC_SWITCH_TID_CLEARED))
		return;
	if (!BPF_CORE_READ(prev, mm))
		return;
	if (!is_at_probe(s))
		bpf_loop(SIGNATURE_STACK / SIGNATURE_PIECE, hash_stack, &s, 0);
	hash_pointers(s);
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
		if (last && call_state(next_tid) != REC_CALL_GONE)
			let_in(last, next_tgid, next_tid);
	}
	return 0;
}

#endif
