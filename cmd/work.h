// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * One way to run pieces of work, for commands whose work falls apart into others of ours: several at
 * a time here, or as job arrays of Slurm. A list of commands is a suite (doc/suites.md) whose tests
 * are these; so what is done is known by files that appear by rename, what broke off is gone on
 * with, and `faultline suite status` tells how far it is.
 */
#ifndef CMD_WORK_H
#define CMD_WORK_H

#include <argp.h>

#include "capture/cap_isa.h"
#include "capture/cap_suite.h"

/** How it is to be done, as the command line says. */
struct work_place {
	unsigned n_jobs; ///< at a time, here; 0: as many as there are cores
	bool is_slurm;
	const char *slurm; ///< for sbatch, words; NULL: none
};

/** The option that says so, for a command's table; its key is the command's. */
#define WORK_SLURM_OPTION(key)                                                                  \
	{                                                                                       \
		"slurm", key, "OPTIONS", OPTION_ARG_OPTIONAL,                                   \
			"have it done by Slurm, as job arrays; OPTIONS are sbatch's, words in " \
			"one argument (doc/suites.md)",                                         \
			0                                                                       \
	}

/** That option was given, with @p options. @return 0, for its parser. */
static inline error_t cmd_work_on_slurm(struct work_place *place, const char *options)
{
	place->is_slurm = true;
	place->slurm = options;
	return 0;
}

struct work {
	struct work_place place;
	char *dir; ///< where the list is, what comes of it, and Slurm's logs
	/** A file in a command's directory: when one has left it, those behind it are not wanted. NULL:
	 * all are. */
	const char *until;
	struct cap_suite list;
	int lock;
	cap_isa needs; ///< instruction sets: whoever lacks one leaves it to others
	bool is_tried; ///< none is done here first to see how long it takes
};

/** Begin a list that is kept in @p dir, which is formatted. work_deinit() in any case. */
__attribute__((format(printf, 3, 4))) struct err *
cmd_work_init(struct work *w, const struct work_place *place, const char *dir, ...);

/** Add a command, faultline's words behind its name, NULL-terminated. In those that begin with "@/" the
 * "@" becomes the command's own directory. @p name can name a directory, and differs from others. */
struct err *cmd_work_add(struct work *w, const char *name, const char *const *words);

/** How many equal parts work of no natural size is to have: what an earlier list in the directory had, else two
 * for each processor of the cluster. */
unsigned cmd_work_parts(const struct work *w);

/**
 * Do what is not done, and wait. Commands get no terminal; their output is in out and log of their
 * directories.
 *
 * @param verb, argv  the command line that `suite resume' is to go on with: @p verb, and the words from
 *		      @p argv[1] on; NULL: it cannot.
 * @return NULL; ERR_USAGE: the directory is of other work; ERR_INTERRUPTED: the same again goes on
 *	   with it; what Slurm says.
 */
struct err *cmd_work_run(struct work *w, const char *verb, char *const *argv);

/** @return command @p i's exit status, -1: it was not done, or is not wanted. @p why: NULL, or what it said
 * last, for free(). */
int cmd_work_status(const struct work *w, size_t i, char **why);

/** @return where command @p i left @p what ("out", "log", or a file of its own), for free(). */
char *cmd_work_path(const struct work *w, size_t i, const char *what);

/** Say why command @p i could not do it. */
struct err *cmd_work_failed(const struct work *w, size_t i);

/** What came of it has been taken: remove it all. */
void cmd_work_remove(struct work *w);

/** Free what @p w holds; the directory stays. */
void cmd_work_deinit(struct work *w);

#endif
