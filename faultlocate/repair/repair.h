// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What has to change for a program to do what was asserted (paper 004, sections 4 and 5)? The one
 * header for other rooms, with program.h and run.h.
 */
#ifndef FAULTLOCATE_REPAIR_REPAIR_H
#define FAULTLOCATE_REPAIR_REPAIR_H

#include "faultlocate/repair/run.h"

enum rp_edit_kind { RP_EDIT_CHANGE, RP_EDIT_REMOVE, RP_EDIT_INSERT };

struct rp_edit {
	enum rp_edit_kind kind;
	int op;		  ///< that is changed or removed
	int block, index; ///< of an insertion: before which statement of which block
	struct rp_op now; ///< what it becomes
	struct rp_op was; ///< while it is applied
};

struct rp_patch {
	VEC(struct rp_edit) edits;
};

/** Change @p p as @p patch says. What was stays in fl_rp_rewrite()'s reach.
 * @return NULL or err_nomem. */
struct err *fl_rp_patch_apply(struct rp_program *p, struct rp_patch *patch);
/** Take back the last fl_rp_patch_apply() of @p patch. */
void fl_rp_patch_undo(struct rp_program *p, struct rp_patch *patch);
void fl_rp_patch_deinit(struct rp_patch *patch);
/** Print it, an edit a line: "line 7: `x = y->next' instead of `x = y'". */
void fl_rp_patch_print(const struct rp_program *p, const struct rp_patch *patch,
		       FILE *out);

/**
 * The source of @p p with all patches so far: lines without an edit are as they were.
 * @param ret  for free().
 */
struct err *fl_rp_rewrite(const struct rp_program *p, char **ret);
/** The difference from @p p's source to @p text, as `diff -u' has it; empty for none. */
struct err *fl_rp_diff(const struct rp_program *p, const char *text, FILE *out);

/** What Algorithm 2 found. */
struct rp_suspects {
	bool *is_suspect;  ///< one an operation of the program
	double *suspicion; ///< the same: how much, to look at the largest first
	bool *is_enough;   ///< the same: changed alone, it does all (fl_rp_rank())
	unsigned n, n_ops; ///< of the function
	bool *is_gap;	   ///< where a statement may be missing: fl_rp_gap()
	bool *is_variable; ///< which ones a patch may name: the function's, and globals that it
			   ///< has to do with
	bool *is_type; ///< what it may assign; [0]: numbers, [t + 1]: pointers to record t
};

/** @return the number of the gap before statement @p index of block @p block, of all of @p p. */
size_t fl_rp_gap(const struct rp_program *p, int block, int index);

/**
 * Which operations of @p function may be wrong (paper 004, Algorithm 2; states kept entity by
 * entity)? All that the witnesses have in which the difference between the execution forward, and
 * backward from the next asserted state, changes.
 *
 * @param is_wide  Also what another fault may hide: what assigned the right value by chance, or was
 *		   not executed. Else it is what makes a repair fast.
 * @param ret	   fl_rp_suspects_deinit().
 */
struct err *fl_rp_locate(const struct rp_program *p, const struct rp_witness *witnesses,
			 size_t n, int function, bool is_wide, struct rp_suspects *ret);
/**
 * Order the suspects of @p s by how much nearer to what the @p n witnesses assert the best change of
 * each alone leads, and say which of them are enough. Where none is, what has a part in changes that
 * are enough together comes first.
 *
 * @param most_trials  So often the witnesses are executed to find such: some 10,000 a second; 0: such
 *		       are not looked for.
 * @return NULL or err_nomem.
 */
struct err *fl_rp_rank(struct rp_program *p, const struct rp_witness *witnesses, size_t n,
		       int function, unsigned most_trials, struct rp_suspects *s);
enum { RP_TRIALS = 12000 }; ///< for somebody who waits
/** Print the suspects of @p s, the most suspicious first, a line each. @return NULL or err_nomem. */
struct err *fl_rp_suspects_print(const struct rp_program *p, const struct rp_suspects *s,
				 FILE *out);
/** Print what Algorithm 2 counts between the last two states that @p w, which has one, asserts:
 * M, and Gamma behind each assignment, with a star where it changes. */
struct err *fl_rp_gamma_print(const struct rp_program *p, const struct rp_witness *w,
			      FILE *out);
void fl_rp_suspects_deinit(struct rp_suspects *s);

/** Does @p p do what @p w witnessed, of its own will? Executed, not proven. @p why: if not. */
bool fl_rp_check(struct rp_program *p, const struct rp_witness *w, char *why,
		 size_t room);

enum rp_verdict { RP_REPAIRED, RP_RIGHT_ALREADY, RP_NO_REPAIR, RP_GAVE_UP };

struct rp_question {
	struct rp_program *p;
	const struct rp_witness *witnesses;
	size_t n_witnesses;
	int function;
	bool is_everywhere;  ///< no localisation: everything may be changed
	double most_seconds; ///< 0: no limit
};

struct rp_answer {
	enum rp_verdict verdict;
	struct rp_patch patch;
	struct rp_patch other; ///< as small and as near, which does all, too; or empty
	unsigned widenings;    ///< bounds that were raised
	unsigned guards, statements, insertions; ///< what the patch took
	unsigned suspects, n_ops;
	unsigned spurious; ///< patches that did not stand the execution
	bool was_unlocked; ///< nothing among the suspects did
	bool was_tried;	   ///< Z3 did not know: a smaller patch may do, too
	char why[240];
};

/**
 * Find the smallest patch with which @p q's program does what the witnesses assert (Algorithm 1):
 * guards change before statements, statements before there are new ones; the unsatisfiable core of
 * each bound that is too tight says which to raise. Each patch is executed before it is an answer.
 *
 * @param ret  fl_rp_answer_deinit().
 * @return NULL; ERR_NOT_FOUND without Z3.
 */
struct err *fl_rp_repair(const struct rp_question *q, struct rp_answer *ret);
void fl_rp_answer_deinit(struct rp_answer *a);

/** For @p q there is no repair: tell on @p out which mark of @p w, one of its witnesses, is the
 * first for which there is none, and which others it contradicts; nothing if that is not so.
 * @param all_together  what the answer was: RP_NO_REPAIR, or RP_GAVE_UP. */
struct err *fl_rp_conflict(const struct rp_question *q, struct rp_witness *w,
			   enum rp_verdict all_together, FILE *out);

#endif
