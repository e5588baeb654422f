// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What the files of `faultline suite' share: the list of tests, and recording them.
 */
#ifndef CMD_SUITE_INT_H
#define CMD_SUITE_INT_H

#include <stdio.h>

#include "capture/cap_isa.h"
#include "capture/cap_share.h"
#include "capture/cap_suite.h"
#include "cmd/work.h"

/** Exit statuses. */
enum { SUITE_PASSED, SUITE_SOME_FAILED, SUITE_COULD_NOT };

#define SUITES_MOST 64 ///< are reported on together

/** What the command line says. */
struct suite_options {
	const char *verb; ///< one of those in suite.c
	bool as_json;
	const char *dir, *tests;
	const char *dirs[SUITES_MOST]; ///< report: n_dirs
	size_t n_dirs;
	const char
		*store; ///< record: captures share their files there; NULL: they do not
	bool collects;	///< store: what no capture has is removed
	const char *output; ///< report: the page; NULL: text
	const char *part;   ///< "K/N": this is a piece of a job array; NULL: it is not
	char **command; ///< NULL-terminated: record's PROGRAM, or options of an analysis
	char *const *again; ///< NULL-terminated: the command line
	struct work_place place;
	double timeout_s;
};

/** Do `suite record'. @p status: the exit status, when there is no error. */
struct err *cmd_suite_record(const struct suite_options *o, int *status);

/** Do `suite check' or `suite analyze': that command over each capture. @p status: as above. */
struct err *cmd_suite_analyze(const struct suite_options *o, int *status);

/** Do `suite report'. */
struct err *cmd_suite_report(const struct suite_options *o, int *status);

/** Do `suite store': what is in a store. */
struct err *cmd_suite_store(const struct suite_options *o, int *status);

/** Do `suite status'. */
struct err *cmd_suite_status(const struct suite_options *o, int *status);

/** Note in directory @p dir what this command line is, for `suite resume': @p verb, and the words
 * from @p argv[1] on. */
struct err *cmd_suite_note_command(const char *dir, const char *verb, char *const *argv);

/** Do `suite run', a piece of work that cmd_work_run() has others do. */
struct err *cmd_suite_work(const struct suite_options *o);

/** @p file in @p dir says what to run: has anybody else written it? @return ERR_PERMISSION,
 * ERR_NOT_FOUND. */
struct err *cmd_suite_check_owner(const char *dir, const char *file);

/** Do `suite resume': be the command that was noted last. @return why that cannot be. */
struct err *cmd_suite_resume(const struct suite_options *o);

/**
 * Read the list of tests in @p file, a JSON object a line, into @p s. Paths in it are taken
 * from its directory and come out absolute; what they name is there.
 *
 * @return NULL; an error that names the line and what is wrong in it.
 */
struct err *cmd_suite_tests(const char *file, struct cap_suite *s);

/** A command that is run over each capture. */
struct suite_analysis {
	const char *verb;   ///< "check", "analyze" or "report"
	const char *result; ///< what its output is called, behind VERB and a dot
	char **options;	    ///< n_options, of the command's own
	size_t n_options;
	bool is_own; ///< tests are commands of ours, their args the words (cmd/work.h)
};

struct suite_run {
	const char *dir;
	const char *work; ///< where tests are recorded: dir, or a piece's own directory
	struct cap_suite *suite;	       ///< its tests get their outcomes
	unsigned n_jobs;		       ///< at a time
	double timeout_s;		       ///< of each test; 0 = none
	const struct suite_analysis *analysis; ///< NULL: tests are recorded
	const bool *is_wanted;		       ///< of each test; NULL: all are
	bool judges_only;		       ///< what is not recorded stays so
	const char *store; ///< captures share their files there; NULL: each has its own
	struct cap_shared shared; ///< out: what that came to
	bool is_told_unshared;
	size_t n_found;	     ///< out: done before, by a run that broke off
	bool is_interrupted; ///< out: some have no outcome
	/** Own commands: what is behind the first that left this in its directory is not wanted; NULL: all
	 * are. */
	const char *until;
	cap_isa needs; ///< own commands: the instruction sets that they are about
	bool is_tried; ///< by Slurm: none is done here first
};

/** Record and judge the tests that are not recorded yet; judge those that are. With an analysis: run
 * it over each capture that has no result of it yet. */
struct err *cmd_suite_run(struct suite_run *r);

/** Is test @p i behind one that came to what the others are run for? */
bool cmd_suite_is_needless(const struct suite_run *r, size_t i);

/** Remove @p path and what is below. @return 0, or -1 with errno. */
int cmd_suite_remove(const char *path);

/** Remove what tests/NAME holds in @p dir; nothing is fine. */
struct err *cmd_suite_remove_test(const char *dir, const char *name);

/** What the analysis of @p t's capture came to: the command's exit status; -1: it has not been made.
 * @p why, if not NULL: the caller's to free(), why it could not be made. */
int cmd_suite_result(const struct suite_run *r, const struct cap_suite_test *t,
		     char **why);

/** Keep that: its result, VERB.json, is looked at from now on. */
struct err *cmd_suite_keep_result(const struct suite_run *r,
				  const struct cap_suite_test *t, int status,
				  const char *why);

/**
 * Have what @p r is to do done by Slurm, as job arrays of pieces, and wait for it.
 *
 * @param options  for sbatch, words; NULL: none.
 * @param argv	   NULL-terminated: the command line. A piece runs it with --part=K/N behind its
 *		   first word, which comes before what it says of Slurm.
 */
struct err *cmd_suite_slurm(struct suite_run *r, const char *options, char *const *argv);

/** How many tests are done at a time: as told, as Slurm gave to a piece, or as there are cores. */
unsigned cmd_suite_jobs(const struct suite_options *o);

/** The tests of piece @p part, "K/N", of the array that was submitted last: @p ret, one for each
 * test of @p r->suite, the caller's to free(). @return ERR_USAGE, ERR_NOT_FOUND. */
struct err *cmd_suite_part(const struct suite_run *r, const char *part, bool **ret);

/** Record, as one piece, @p r's wanted tests in a directory of its own, and hand each over. */
struct err *cmd_suite_record_part(struct suite_run *r);

/** What Slurm's jobs for suite @p dir are at, a line on stdout; nothing when there are none. */
void cmd_suite_slurm_status(const char *dir);

/** What became of test @p t, recorded in @p dir, as far as it can be told without its oracle.
 * @return whether that has to be asked. */
bool cmd_suite_judge(const char *dir, struct cap_suite_test *t);

/** The first line of file @p what of test @p t in @p dir, or (@p prefix) the last that begins so,
 * without that. @return for free(), or NULL: there is none. */
char *cmd_suite_line(const char *dir, const struct cap_suite_test *t, const char *what,
		     const char *prefix);

/** What the oracle of @p t said: @p status is waitpid()'s, @p said what it printed. */
void cmd_suite_heed(struct cap_suite_test *t, int status, const char *said);

/** In tests/NAME: there when the test was ended after its time, with how long that was. */
#define SUITE_HUNG "hung"

#endif
