// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * `record -e pt`: a recorded process and its Intel PT. Whatever goes wrong here, recording
 * goes on; the user is told once, and the manifest says so. Private to pt-collect/.
 */
#ifndef PT_COLLECT_PT_RECORD_H
#define PT_COLLECT_PT_RECORD_H

#include "base/base.h"
#include "capture/capture.h"
#include "pt-collect/kernel/bpf.h"
#include "pt-collect/log/log.h"
#include "pt-collect/tracee/tracee.h"

struct ptc_pt;
struct ptc_pt_setup;

/** What was asked for, and what there is for all processes. */
struct ptc_pt_session {
	bool is_wanted, has_told;
	const struct ptc_pt_setup *setup; ///< NULL = no PT
	const char *why_not;		  ///< then
	bool in_flight;			  ///< no file but in snapshots
	struct ptc_bpf *bpf;
	int poll_fd; ///< of the loop; -1 = there is none yet
	/** What lies at the beginning of the kernel's page for probes, once it was looked. */
	uint8_t back[CAP_BACK_MAX];
	size_t n_back;
	bool has_back;
};

/** A process. */
struct ptc_pt_process {
	struct ptc_pt_session *all;
	const struct ptc_tracee *tracee;
	const struct ptc_log *log; ///< whose bundle the file goes into
	struct ptc_pt *pt;	   ///< NULL = not traced
	char *why_not;		   ///< it is not, though others may be; NULL = as for all
	uint64_t probe_page; ///< address of the kernel's page for probes; 0 = none known
};

void ptc_pt_deinit(struct ptc_pt_process *p);

/** Process @p p, which has its bundle and stands still, is traced from here on; what was
 * before (of a program that it executed another one in place of) is gone. */
void ptc_pt_begin(struct ptc_pt_process *p);

/** Its new thread @p tid stands still; or thread @p tid has ended. */
void ptc_pt_thread_born(struct ptc_pt_process *p, pid_t tid);
void ptc_pt_thread_gone(struct ptc_pt_process *p, pid_t tid);

/** Take what has gathered. */
void ptc_pt_take(struct ptc_pt_process *p);

/** Nothing more comes: finish the file, and say in @p info what came of it. */
void ptc_pt_end(struct ptc_pt_process *p, struct cap_info *info);

/** The flight recorder: write the rings into the bundle, and say so in @p info. */
void ptc_pt_write_snapshot(struct ptc_pt_process *p, struct cap_info *info);

#endif
