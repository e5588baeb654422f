// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * A page and what it asks for, to browsers of this machine: HTTP by libmicrohttpd, which is loaded when
 * it is wanted. One request at a time.
 */
#ifndef REPORT_SERVE_H
#define REPORT_SERVE_H

#include <stddef.h>
#include <sys/types.h>

#include "report/here.h"
#include "report/later.h"
#include "report/page.h"
#include "report/request.h"

/** All borrowed. */
struct report_serving {
	int listener; ///< a listening socket of this machine alone
	struct report_door door;
	const char *page; ///< page_bytes, HTML
	size_t page_bytes;
	struct report_here *here;
	struct report_later *later;
	const struct fl_page *
		heap; ///< of the whole history, its namer with trails; NULL: there is none
	const char *doing; ///< there is no page yet: what is being done; else NULL
};

/** @return ERR_NOT_FOUND when there is no libmicrohttpd. For who asks before long work. */
struct err *report_serve_check(void);

/** Have a fork serve a page that tells @p doing, and shows the better one when that is there. @p doing: memory that
 * is shared with forks; not empty, but the caller may change it. @p ret: for report_serve_end_waiting(), with the
 * same memory, which ends the fork, and waits for that. @return ERR_OS. */
struct err *report_serve_waiting(int listener, const struct report_door *door,
				 const char *doing, pid_t *ret);
void report_serve_end_waiting(pid_t pid, char *doing);

/** Serve until this process is ended. @return as above, ERR_OS: it cannot even begin. */
struct err *report_serve(const struct report_serving *s);

#endif
