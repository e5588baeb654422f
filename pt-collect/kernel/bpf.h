// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The kernel side: loaded, told whom to record, read (bpf.c).
 */
#ifndef PT_COLLECT_KERNEL_BPF_H
#define PT_COLLECT_KERNEL_BPF_H

#include <linux/types.h>
#include <sys/types.h>

#include "base/base.h"
#include "bpf/record.h"
#include "capture/capture.h"

struct ptc_bpf;

/** What is sure to be needed. Whatever else is loaded when it is, and whoever needs it waits. */
enum ptc_bpf_parts {
	PTC_BPF_CALLS = 1 << 0, ///< attached to the end of system calls, too
	PTC_BPF_THREADS = 1 << 1,
	PTC_BPF_HEAP = 1 << 2,
	PTC_BPF_RESULTS = 1 << 3, ///< of allocator functions
	PTC_BPF_STORES = 1 << 4,
	PTC_BPF_READS = 1 << 5, ///< user space sees the descriptor of each read()
};

/** What system calls write. */
struct ptc_calls {
	const struct rec_desc *calls; ///< by number
	const struct ptc_command {
		uint64_t key;
		struct rec_desc desc;
	} * commands; ///< of calls that do different things
	size_t n_commands;
};

/** Load @p parts (enum ptc_bpf_parts). */
struct err *ptc_bpf_create(unsigned parts, const struct ptc_calls *calls,
			   struct ptc_bpf **ret);
void ptc_bpf_destroy(struct ptc_bpf *b);

/** A session ends: nobody is recorded, nothing probed, the ring empty. */
void ptc_bpf_end_session(struct ptc_bpf *b);

/** Record process @p tgid from here on, or no more (nor its threads). */
void ptc_bpf_set_recorded(struct ptc_bpf *b, pid_t tgid, bool is_recorded);

/** Take allocator calls, their results and the trigger of process @p tgid, or no more. */
void ptc_bpf_set_in_flight(struct ptc_bpf *b, pid_t tgid, bool is_in_flight);

/** Stop a recorded thread at the end of a system call with a chance of @p below in 2^32;
 * @p seed makes the choices. */
void ptc_bpf_set_chance(struct ptc_bpf *b, uint32_t below, uint64_t seed);

/** Record from here on which thread of a process runs: @p last did until now. */
struct err *ptc_bpf_watch_threads(struct ptc_bpf *b, const struct rec_switch *last);
void ptc_bpf_unwatch_threads(struct ptc_bpf *b, pid_t tgid);

/** Process @p tgid has mapped a file whose contents may change, or opened its memory as a file.
 * @p is_written: for writing, so that what it writes into files is looked at. */
void ptc_bpf_set_mapping(struct ptc_bpf *b, pid_t tgid, bool is_written);

/** Process @p tgid stops at the end of calls that make memory code, or does not any more. */
void ptc_bpf_watch_code(struct ptc_bpf *b, pid_t tgid, bool is_watched);

/** Others write memory of process @p tgid: it stops at the end of each call, so that user space
 * sees what. */
void ptc_bpf_set_sharing(struct ptc_bpf *b, pid_t tgid);

/** Process @p tgid, whose threads are watched, takes turns on one CPU with all others of which this
 * was said: from its next turn on these are told. Until it is unwatched. */
/** @return when one of the threads of @p tgid, which are watched, lost the CPU last, of CLOCK_MONOTONIC. */
uint64_t ptc_bpf_last_ran_ns(struct ptc_bpf *b, pid_t tgid);

void ptc_bpf_join(struct ptc_bpf *b, pid_t tgid);

/** Thread @p tid is gone; its number may come again. */
void ptc_bpf_forget_thread(struct ptc_bpf *b, pid_t tid);

/** Thread @p tid is in call @p nr, which it goes on with by restart_syscall. */
void ptc_bpf_set_restarting(struct ptc_bpf *b, pid_t tid, uint32_t nr);

/** Hand all that is in the ring to @p fn. */
void ptc_bpf_set_consumer(struct ptc_bpf *b,
			  void (*fn)(void *ctx, void *rec, size_t size), void *ctx);
void ptc_bpf_drain(struct ptc_bpf *b);

/** Readable once much has gathered. */
int ptc_bpf_fd(const struct ptc_bpf *b);

/** Events that the ring refused: 0, or we are wrong. */
uint64_t ptc_bpf_lost(const struct ptc_bpf *b);

/** @return whether the kernel probes many places at once (6.6), as far as it was asked. */
bool ptc_bpf_probes_at_once(const struct ptc_bpf *b);

/** Probe @p n instructions at @p offsets of file @p path, whose results are chance; @p insns
 * says of each which (enum rec_chance_insn). */
struct err *ptc_bpf_probe_chance(struct ptc_bpf *b, pid_t pid, const char *path,
				 const uint64_t *offsets, const uint64_t *insns,
				 size_t n);

/** Probe file @p path in process @p pid at @p n sites. @return NULL when all are probed,
 * else none is. */
struct err *ptc_bpf_probe(struct ptc_bpf *b, pid_t pid, const char *path,
			  const struct cap_heap_site *sites, size_t n);

/** The same for the results of these functions; until its site the stack pointer of each
 * must be as at its entry. */
struct err *ptc_bpf_probe_done(struct ptc_bpf *b, pid_t pid, const char *path,
			       const struct cap_heap_site *sites, size_t n);

/** Probe the instruction at @p offset of file @p path: who comes there stops. */
struct err *ptc_bpf_probe_trigger(struct ptc_bpf *b, pid_t pid, const char *path,
				  uint64_t offset);

/** What the probe of store site @p site reads. */
struct err *ptc_bpf_store_reads(struct ptc_bpf *b, uint64_t site,
				const struct rec_store_site *reads);

/** Probe file @p path in process @p pid at @p n @p offsets, with numbers @p sites. What the
 * kernel refuses (logged) is set in @p is_refused; the others are probed. */
void ptc_bpf_probe_stores(struct ptc_bpf *b, pid_t pid, const char *path,
			  const uint64_t *offsets, const uint64_t *sites, size_t n,
			  bool *is_refused);

/** Call @p fn for each group of places of process @p pid that are probed. */
void ptc_bpf_placed(const struct ptc_bpf *b, pid_t pid,
		    void (*fn)(void *ctx, const char *path, const uint64_t *offsets,
			       size_t n),
		    void *ctx);

/** Process @p pid is gone, and so are its probes (soon). */
void ptc_bpf_unprobe(struct ptc_bpf *b, pid_t pid);

#endif
