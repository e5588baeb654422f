// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * One `faultline record`: what it was asked for, what came of it; and the same again and
 * again until the program fails (session.c, explore.c).
 */
#ifndef PT_COLLECT_RECORD_H
#define PT_COLLECT_RECORD_H

#include <sys/types.h>

#include "base/base.h"
#include "capture/capture.h"
#include "pt-collect/log/private.h"
#include "pt-collect/pt/pt.h"
#include "pt-collect/probes/stores.h"
#include "pt-collect/start/attach.h"
#include "pt-collect/start/start.h"

struct ptc_bpf;
struct ptc_points;
struct ptc_result;

/** What `record` was asked for. */
struct ptc_options {
	const char *dir; ///< of the capture; NULL, with pid: name_dir() says
	/** @return the directory for a capture of program @p exe, for free(); NULL: no memory. */
	char *(*name_dir)(const char *exe);
	char **argv; ///< program and arguments, NULL-terminated
	bool wants_heap;
	bool wants_end_core;	 ///< end.core at a crash
	bool wants_snapshot;	 ///< the flight recorder
	uint64_t snapshot_bytes; ///< of each ring
	const char *trigger;	 ///< FUNC or FUNC@FILE; NULL = none
	bool has_events;	 ///< -e heap or -e pt was given
	struct ptc_pt_options pt;
	const struct ptc_pt_setup *pt_setup; ///< NULL = no PT
	const char *pt_why_not;		     ///< when it was wanted then
	bool follows;			     ///< record the children, too
	bool is_portable; ///< no instructions that another host may lack
	struct ptc_private private;
	struct ptc_store_options stores;
	bool wants_chaos;
	uint64_t seed;	       ///< of the first run's schedule
	unsigned until_fail;   ///< runs at most; 0 = one, whatever comes of it
	unsigned hang_seconds; ///< with until_fail: nothing ran for so long is a failure
	/** With until_fail: is a run a failure that itself passed? Asked with its capture, whole.
	 * @return NULL, or why that cannot be told, which ends it. NULL: passing is all. */
	struct err *(*judge)(void *ctx, const char *dir, bool *ret_is_failure);
	void *judge_ctx;
	pid_t pid;	   ///< attach to this one instead; 0 = start argv
	double duration_s; ///< when attached, end after so long; 0 = never
	/** A snapshot is in @p dir: what of, how many events, how large. May be NULL. */
	void (*on_snapshot)(const char *dir, const struct cap_info *info, uint64_t bytes);
	/** Attached: how many threads stopped how long for how much, in @p r; the recording
	 * begins. May be NULL. */
	void (*on_attached)(const struct ptc_options *o, const struct ptc_result *r);
};

/** What came of it. */
struct ptc_result {
	struct cap_info info; ///< as in the manifest; files is not kept
	size_t n_files, n_processes;
	uint64_t n_syscalls, bytes; ///< of all processes
	size_t n_gaps;		    ///< of all processes
	VEC(char *) gaps;	    ///< texts of the first ones in followed processes
	int status;		    ///< what `record` exits with
	bool has_run;		    ///< the program was started
	bool has_hung;		    ///< and was ended by us
	bool is_judged;		    ///< it passed, and is a failure all the same
	bool is_asked_to_end; ///< a signal to us, or from the terminal, ended the program
	bool is_removed;      ///< it passed; its capture was not kept
	unsigned n_snapshots;
	char *dir;		    ///< the capture's
	struct ptc_stopped stopped; ///< attaching
	bool has_executed; ///< another program, while we attached: there is no capture
};

/** Record @p o->argv. @return NULL with @p ret filled; an error otherwise (then
 * ret->has_run tells whether the program ran all the same). */
struct err *ptc_record(const struct ptc_options *o, struct ptc_result *ret);

/** What of the kernel side (enum ptc_bpf_parts) is sure to be needed. */
unsigned ptc_parts_wanted(const struct ptc_options *o);

/** One of several recordings with what they share: @p b, and @p points unless NULL. With
 * o->until_fail a run that passes leaves no capture. */
struct err *ptc_record_once(const struct ptc_options *o, struct ptc_bpf *b,
			    struct ptc_points *points, struct ptc_result *ret);
void ptc_result_deinit(struct ptc_result *r);

/** Record again and again with another schedule until the program fails, at most
 * o->until_fail times. The failing run is the capture.
 * @param n_runs set to the number of runs, the failing one included. */
struct err *ptc_explore(const struct ptc_options *o, struct ptc_result *ret,
			unsigned *n_runs);

/** Did this run fail? */
bool ptc_result_is_failure(const struct ptc_result *r);

#endif
