// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * `record -e pt`: a recorded process and its Intel PT. Whatever goes wrong here, recording
 * goes on; the user is told once, and the manifest says so. Private to pt-collect/.
 */
#ifndef PT_COLLECT_PT_RECORD_H
#define PT_COLLECT_PT_RECORD_H

#include "pt-collect/ptc.h"

/** Process @p p, which has its bundle and stands still, is traced from here on; what was
 * before (of a program that it executed another one in place of) is gone. */
void ptc_pt_begin(struct ptc_process *p);

/** Its new thread @p tid stands still; or thread @p tid has ended. */
void ptc_pt_thread_born(struct ptc_process *p, pid_t tid);
void ptc_pt_thread_gone(struct ptc_process *p, pid_t tid);

/** Take what has gathered. */
void ptc_pt_take(struct ptc_process *p);

/** Nothing more comes: finish the file, and say in @p info what came of it. */
void ptc_pt_end(struct ptc_process *p, struct cap_info *info);

/** The flight recorder: write the rings into the bundle, and say so in @p info. */
void ptc_pt_write_snapshot(struct ptc_process *p, struct cap_info *info);

#endif
