// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What a handle is, and how errors become statuses. Private to api/.
 */
#ifndef API_API_H
#define API_API_H

#include "api/faultline.h"
#include "base/base.h"
#include "capture/capture.h"

struct flt_capture {
	struct capture *capture;
	const char **missing; ///< as its manifest has it, NULL-terminated
};

/** Consume @p err, or NULL, and keep its text for flt_error(). @return what it is. */
enum flt_status api_status(struct err *err);

/** Fill @p ret, which has @p ret_bytes, from @p from, which has @p bytes: what only one of them
 * knows is left out, or zero. */
void api_tell(void *ret, size_t ret_bytes, const void *from, size_t bytes);

void api_regs(struct flt_regs *ret, const struct cap_regs *regs);

/** Find the program of machines, into confine/start.h's place for it. */
struct err *api_program(void);

#endif
