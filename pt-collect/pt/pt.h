// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Intel PT of a process, into a perf.data (doc/pt-collection.md): what the machine can
 * (why.c, pmu.c), address filters (filter.c), one thread's or CPU's
 * events and rings (stream.c), all of a process' (pt.c). Private to pt-collect/.
 *
 * Invariants:
 *  1. User space only; nothing of the kernel is traced.
 *  2. What was lost is in the file, as the kernel told it (AUX flags, LOST), and counted.
 *  3. A failure here never ends a recording: it goes on without PT, and says so.
 */
#ifndef PT_COLLECT_PT_PT_H
#define PT_COLLECT_PT_PT_H

#include <sys/types.h>

#include "base/base.h"
#include "capture/capture.h"
#include "pt-collect/log/private.h"
#include "pt-collect/pt/pmu.h"
#include "pt-collect/pt/ring.h"

/* ---- what is wanted, what there is (why.c) ---------------------------------------- */

/** What the user asked for. */
struct ptc_pt_options {
	bool is_wanted;
	const char *terms; ///< of -e pt/TERMS/; NULL = none
	bool is_per_cpu;
	bool is_snapshot;
	struct ptc_names filters;
	uint64_t aux_bytes; ///< of each ring; 0 = the default
};

/** Where it is looked for. */
struct ptc_pt_machine {
	const char *sysfs;		   ///< the PMU's directory
	const char *paranoid;		   ///< the file of kernel.perf_event_paranoid
	bool is_intel, has_pt, is_virtual; ///< as CPUID says
};

/** This one. The environment variable FAULTLINE_PT_SYSFS names another directory. */
struct ptc_pt_machine ptc_pt_machine_here(void);

/** What every process' tracing begins with. */
struct ptc_pt_setup {
	const struct ptc_pt_options *o;
	struct ptc_pt_machine machine;
	struct ptc_pt_pmu pmu;
	uint64_t config[PTC_PT_WORDS];
};

/**
 * Can PT be recorded on @p machine as @p o says?
 *
 * @param why_not  set to a text for people when there is no PT here (free()); else NULL,
 *		   and @p ret to be given to ptc_pt_setup_deinit().
 * @return ERR_USAGE, ERR_NOT_FOUND: a mistake in what was asked for.
 */
struct err *ptc_pt_setup_init(const struct ptc_pt_options *o,
			      const struct ptc_pt_machine *machine,
			      struct ptc_pt_setup *ret, char **why_not);
void ptc_pt_setup_deinit(struct ptc_pt_setup *s);

/** Why opening or mapping an event failed with @p saved_errno, and what to do: with
 * @p what before it, an error's text. */
struct err *ptc_pt_explain(const struct ptc_pt_machine *machine, const char *what,
			   int saved_errno);

/* ---- address filters (filter.c) ----------------------------------------------------- */

/**
 * The kernel's form of what the user gave: "filter main @ ./prog", "filter a / b",
 * "tracestop 0x1000 / 0x20 @ lib.so", several separated by commas.
 *
 * @param exe  of which a filter is that names no file.
 * @param most  as many ranges the CPU has.
 * @param ret  "filter 0x1139/0x2a@/path", ...; NULL when there are none; free().
 * @return ERR_USAGE, ERR_NOT_FOUND (file or function).
 */
struct err *ptc_pt_filter(const struct ptc_names *filters, const char *exe, unsigned most,
			  char **ret);

/* ---- events and rings (stream.c) ----------------------------------------------------- */

/** Now. */
struct cap_instant ptc_pt_instant_now(void);

/** What was lost, and how much there is. */
struct ptc_pt_stats {
	struct cap_instant begin;
	uint64_t n_records, aux_bytes;
	uint64_t n_lost; ///< records, that LOST records tell of
	uint64_t n_truncated, n_partial, n_collisions; ///< AUX records with these flags
	uint64_t n_damaged, n_overrun;		       ///< as in struct ptc_ring
};

/** Bytes of records that a ring has room for; in front of them is one page. */
#define PTC_PT_DATA_BYTES (64u << 10)

/** The events of one thread, or of one CPU, into one ring. */
struct ptc_pt_stream {
	uint32_t number;
	pid_t tid;    ///< 0 = of a CPU
	int cpu;      ///< -1 = of a thread
	VEC(int) fds; ///< [0] has the ring; sideband and PT alternate
	VEC(uint64_t) ids;
	struct ptc_ring ring;
	bool is_cut;	      ///< PT stopped because its area was full
	uint64_t n_lost_told; ///< by LOST records so far
};

/** Open and map the events of thread @p tid on @p cpu (-1: on all, for this thread only;
 * else what it starts is in it, too), and begin. @p filter: ptc_pt_filter()'s, or NULL. */
struct err *ptc_pt_stream_open(const struct ptc_pt_setup *s, pid_t tid, int cpu,
			       const char *filter, struct ptc_pt_stream **ret);

/** The same thread's CPU stream gets another thread's events. */
struct err *ptc_pt_stream_join(const struct ptc_pt_setup *s, struct ptc_pt_stream *to,
			       pid_t tid, const char *filter);
void ptc_pt_stream_close(struct ptc_pt_stream *st);

/** PT goes on, or stops (what it has gathered is then in the ring). */
void ptc_pt_stream_enable(struct ptc_pt_stream *st, bool is_enabled);

/** How many records the kernel had no room for, also those that no LOST record tells of:
 * those of the end. 0 before Linux 6.0, which does not say. */
uint64_t ptc_pt_stream_lost(const struct ptc_pt_stream *st);

/** How PT's clock relates to the records', from the ring. */
struct perf_clock ptc_pt_stream_clock(const struct ptc_pt_stream *st);

/* ---- a process (pt.c) -------------------------------------------------------------------- */

struct ptc_pt;

/**
 * Trace process @p pid, whose threads stand still, into @p path (unless in snapshot mode).
 * @p s is borrowed.
 */
struct err *ptc_pt_create(const struct ptc_pt_setup *s, pid_t pid, const char *exe,
			  const char *path, struct ptc_pt **ret);
void ptc_pt_destroy(struct ptc_pt *pt);

/** Thread @p tid, new and standing still, is to be traced (per CPU it is already). */
struct err *ptc_pt_add_thread(struct ptc_pt *pt, pid_t tid);

/** Stream @p st, opened or made by the caller, becomes one of @p pt, which owns it. */
struct err *ptc_pt_adopt(struct ptc_pt *pt, struct ptc_pt_stream *st);

/** It has ended. */
void ptc_pt_forget_thread(struct ptc_pt *pt, pid_t tid);

/** Take what the kernel has. @return why it cannot be written; then all is over. */
struct err *ptc_pt_drain(struct ptc_pt *pt);

/** Readable when a ring is filling. */
int ptc_pt_fd(const struct ptc_pt *pt);

/** Snapshot mode, all threads stand still: write what the rings hold into @p path. */
struct err *ptc_pt_snapshot(struct ptc_pt *pt, const char *path);

/** It is over: the file is finished. */
struct err *ptc_pt_finish(struct ptc_pt *pt);

/** Tell that mapped file @p path has @p build_id (hex), before the end. */
struct err *ptc_pt_build_id(struct ptc_pt *pt, const char *path, const char *build_id);

/** @return what was recorded so far; changes as it goes on. */
const struct ptc_pt_stats *ptc_pt_stats(const struct ptc_pt *pt);

#endif
