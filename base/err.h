// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Errors as values. A function that can fail returns `struct err *`; NULL is success.
 *
 * Invariants:
 *  1. The caller that receives an err owns it and passes it up or to err_destroy().
 *  2. err_nomem is static: returning it never allocates, destroying it does nothing.
 *  3. Text says what failed, then the subject, then why, then what to do:
 *     `cannot open capture 'x': not a faultline capture (no manifest.json)`;
 *     lower case, no full stop, no newline.
 *
 * Not shared between threads.
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include <stdint.h>

/** Kinds of failure; main maps each to an exit status (doc/exit-status.md). */
enum err_code {
	ERR_NOMEM = 1,	 ///< out of memory
	ERR_OS,		 ///< a system call failed; saved_errno says why
	ERR_USAGE,	 ///< the command line is wrong
	ERR_NOT_FOUND,	 ///< the named program, file, function or symbol is missing
	ERR_PERMISSION,	 ///< a capability or right is missing; the text says which
	ERR_FORMAT,	 ///< bytes that are not what they should be (damaged, foreign)
	ERR_TRUNCATED,	 ///< the bytes end too early
	ERR_VERSION,	 ///< written by a newer faultline
	ERR_RANGE,	 ///< an address, time or position outside the recording
	ERR_DIVERGED,	 ///< replay left the recorded path
	ERR_UNSUPPORTED, ///< understood, and not handled
	ERR_AMBIGUOUS,	 ///< several things have the name; the text says which
	ERR_SPEC,	 ///< the user's specification has mistakes (already shown)
	ERR_INTERRUPTED, ///< whoever asked for it wants it no longer
};

struct err {
	enum err_code code;
	int saved_errno; ///< errno of the failed call; 0 when none applies
	char *message;	 ///< complete text, errno's included
};

extern struct err err_nomem;

/** Make an error. @return never NULL; &err_nomem when memory is out. */
struct err *err_new(enum err_code code, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/** Make an ERR_OS error (ERR_PERMISSION for EPERM/EACCES, ERR_NOT_FOUND for ENOENT)
 * from errno; `: strerror` is appended to the text. */
struct err *err_errno(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/** Prefix the message of @p e (consumed) with `text: `. @return @p e or &err_nomem. */
struct err *err_prefix(struct err *e, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/** Free @p e; NULL and &err_nomem are fine. */
void err_destroy(struct err *e);
void err_destroyp(struct err **e);

#define _cleanup_err_ _cleanup_(err_destroyp)

#endif
