// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What a page may ask the server that it came from. Pure: from the texts of a request to what is
 * meant, or to the status that refuses it.
 *
 * Whoever knows the token may read the capture; it is in the address that is printed, and nowhere
 * else. A page of another site that has a browser ask here neither knows it nor gets past Host: a
 * name that leads to 127.0.0.1 is not ours.
 */
#ifndef REPORT_REQUEST_H
#define REPORT_REQUEST_H

#include <stdint.h>

#define REPORT_TOKEN 32 ///< characters, hexadecimal

enum report_ask {
	REPORT_ASK_PAGE,   ///< /TOKEN/
	REPORT_ASK_HERE,   ///< /TOKEN/here/POSITION: what happened there
	REPORT_ASK_ORIGIN, ///< /TOKEN/origin/POSITION/N: who made the Nth thing used there
	REPORT_ASK_HEAP,   ///< /TOKEN/heap/POSITION: the heap at that instant
	REPORT_ASK_WRONG,  ///< /TOKEN/wrong: what is wrong, by all rules
	REPORT_ASK_STORY, ///< /TOKEN/story/POSITION: what had a part in what happened there
	REPORT_ASK_INPUTS, ///< /TOKEN/inputs/POSITION: which bytes of inputs had
	REPORT_ASK_FAR,	   ///< /TOKEN/far/POSITION/N: as ORIGIN, however long ago
	REPORT_ASK_KNOWN,  ///< /TOKEN/known: which of the last four were found out
};

#define REPORT_PATH 40 ///< bytes: of a request, behind its token, with a NUL

struct report_request {
	enum report_ask ask;
	uint64_t position;
	uint32_t n; ///< ORIGIN
};

/** Where the server is. */
struct report_door {
	uint16_t port;
	char token[REPORT_TOKEN + 1];
};

/**
 * Read a request.
 *
 * @param host  of its header; NULL: it has none.
 * @param path  without what is behind a question mark.
 * @param ret   Set on success.
 * @return 200; 403 (another host, another token), 404 (there is no such thing), 405 (not GET).
 */
unsigned report_request_read(const struct report_door *door, const char *method,
			     const char *host, const char *path,
			     struct report_request *ret);

/** Write what stands behind the token in such a request. */
void report_request_path(const struct report_request *r, char ret[REPORT_PATH]);

#endif
