// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Drawings that no patch does all of: which one, with which others? The first that has no repair
 * together with those before it; and of these, each without which there is one.
 */
#include <string.h>

#include "faultlocate/repair/repair.h"

#define MOST_S 2.0 ///< for each question

/* Is there a patch for the last witness with @p n marks of @p all but number @p without? */
static struct err *ask(const struct rp_question *q, struct rp_witness *w,
		       const struct rp_mark *all, size_t n, size_t without,
		       enum rp_verdict *ret)
{
	struct rp_witness was = *w;
	struct rp_question part = *q;
	struct rp_answer a = {};
	struct err *err = NULL;

	memset(&w->marks, 0, sizeof(w->marks));
	for (size_t i = 0; i < n && !err; i++)
		if (i != without && vec_add(&w->marks, all[i]))
			err = &err_nomem;
	w->events.size = w->stop_events = all[n - 1].events;
	w->stop_statement = all[n - 1].statement;
	if (!q->most_seconds || q->most_seconds > MOST_S)
		part.most_seconds = MOST_S;
	if (!err)
		err = fl_rp_repair(&part, &a);
	*ret = a.verdict == RP_RIGHT_ALREADY ? RP_REPAIRED : a.verdict;
	fl_rp_answer_deinit(&a);
	vec_deinit(&w->marks);
	*w = was;
	return err;
}

struct err *fl_rp_conflict(const struct rp_question *q, struct rp_witness *w,
			   enum rp_verdict all_together, FILE *out)
{
	const struct rp_mark *all = w->marks.data;
	size_t n = w->marks.size;
	enum rp_verdict is = RP_NO_REPAIR, with_next = all_together;
	bool any = false;
	struct err *err = NULL;

	while (n > 1 && !err) {
		err = ask(q, w, all, --n, SIZE_MAX, &is);
		if (is == RP_REPAIRED)
			break;
		with_next = is;
	}
	if (err || is != RP_REPAIRED || all[n].is_change)
		return err;
	fprintf(out,
		"with what is asserted up to spec %d there is a patch, with spec %d %s",
		all[n - 1].number, all[n].number,
		with_next == RP_GAVE_UP ? "none was found in time" : "none");
	for (size_t i = 0; i < n && !err; i++) {
		if (all[i].is_change)
			continue;
		err = ask(q, w, all, n + 1, i, &is);
		if (err || is != RP_REPAIRED)
			continue;
		fprintf(out, any ? ", %d" : "; it contradicts spec %d", all[i].number);
		any = true;
	}
	fputc('\n', out);
	return err;
}
