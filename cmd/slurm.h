// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Slurm's commands (sbatch, squeue, scancel, sinfo), as far as job arrays need them.
 */
#ifndef CMD_SLURM_H
#define CMD_SLURM_H

#include "base/base.h"

/** The processors that the cluster has; 1 where it does not say. */
size_t cmd_slurm_processors(void);

/** @return the features that nodes have, as sinfo prints them, for free(); NULL: no memory. */
char *cmd_slurm_features(void);

/** What has become of an array. */
enum cmd_slurm_state {
	CMD_SLURM_OVER,
	CMD_SLURM_UNDER_WAY,
	CMD_SLURM_SILENT ///< the controller does not answer
};

/**
 * Of the array @p job: how many pieces wait, and how many run.
 *
 * @param why  for free(): Slurm's reason for which one will never run; NULL: there is none such.
 */
enum cmd_slurm_state cmd_slurm_ask(unsigned long job, size_t *n_waiting,
				   size_t *n_running, char **why);

/** Cancel all of the array @p job, and wait half a minute until it is over. */
void cmd_slurm_cancel(unsigned long job);

/**
 * Submit an array.
 *
 * @param script   a piece's.
 * @param more	   NULL-terminated: words for sbatch.
 * @param options  the user's, words in one text, which come last; NULL: none.
 * @param job	   its number.
 * @return ERR_NOT_FOUND: there is no Slurm here; ERR_OS: what sbatch says.
 */
struct err *cmd_slurm_submit(const char *script, char *const *more, const char *options,
			     unsigned long *job);

#endif
