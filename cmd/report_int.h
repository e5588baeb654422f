// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What the files of `faultline report' share: what is found out, and the page of it.
 */
#ifndef CMD_REPORT_INT_H
#define CMD_REPORT_INT_H

#include "cmd/command.h"
#include "decode/explain/written.h"
#include "report/request.h"
#include "report/story.h"

/** What the command line says. */
struct report_options {
	const char *capture, *process, *out, *sources;
	fl_texts specs, results;
	bool serves;
	uint16_t port; ///< serves: 0: any
	int listener;  ///< serves
};

/** A page being made. */
struct reporting {
	const struct report_options *args;
	struct fl_check *rules;
	struct fl_analysis analysis; ///< by rules, and by specifications
	report_findings findings;
	struct fl_analysis heap; ///< of all types that there are
	struct capture *capture;
	struct dec_machine *machine; ///< of a run that is served
	struct dec_written *written; ///< .. of that
	struct fl_trace *trace;	     ///< of one whose stories are told
	uint64_t end;		     ///< the last position
	struct dec_symbols *symbols;
	cmd_maps maps;
	fl_prunes prunes;
	report_tolds told;
	struct fl_sources sources;
	report_results results;
	fl_strings strings;
	bool is_cut; ///< there were more events
	VEC(struct dec_trapped) events;
	line_list notes;
	bool with_progress; ///< somebody watches stderr
	char *doing; ///< memory shared with who says so to browsers, DOING bytes; or NULL
};

/** The page, and what it borrows. */
struct composed {
	struct report_inputs inputs;
	struct fl_page heap;
	struct report_story story;
};

/** All below fail as what they ask does. */

/** Find what is wrong, by all rules too: r->analysis, r->findings. */
struct err *cmd_report_analyze(struct reporting *r);

/** Make the run ready for walks back: r->trace, r->end. */
struct err *cmd_report_trace(struct reporting *r);

/** One more story, at @p at, that is told at last; of which nothing is known. */
struct err *cmd_report_ask(struct reporting *r, const char *at);

/** Tell of @p t, one of r->told. */
struct err *cmd_report_tell(struct reporting *r, struct report_told *t);

/** Find which inputs had a part in r->told: in the first, and where that is quick in the others. */
struct err *cmd_report_inputs(struct reporting *r);

/** Tell somebody who watches stderr what is being done; "": nothing any more. */
void cmd_report_show(const struct reporting *r, const char *what);

/** Put the page together. @p c borrows from @p r. */
struct err *cmd_report_compose(struct reporting *r, struct composed *c);

/** Listen at *@p port of 127.0.0.1; 0: at one that is free, which it gets. */
struct err *cmd_report_listen(uint16_t *port, int *ret);

enum { DOING = 100 };

/** Let browsers in: with the address, they are told what is being done. @p door gets its token. @p ret: for
 * report_serve_end_waiting(). */
struct err *cmd_report_let_in(struct reporting *r, struct report_door *door, pid_t *ret);

/** Serve the page to browsers, until that fails. */
struct err *cmd_report_serve(struct reporting *r, const struct report_door *door,
			     const struct composed *c);

#endif
