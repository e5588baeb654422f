// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Talk for stderr. `FAULTLINE_LOG=decode:2,faultlocate:1` selects, per room, warnings
 * (0, the default), information (1) and debugging (2); a bare number sets all rooms.
 * Each .c file defines LOG_ROOM before including this header.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

enum log_level { LOG_WARN, LOG_INFO, LOG_DEBUG };

/** Raise every room to at least @p level (what `-v` does). */
void log_set_level(enum log_level level);

/** @return whether @p room speaks at @p level. */
int log_is_on(enum log_level level, const char *room);

/** Say it, whatever the levels: one line on stderr. */
void log_write(enum log_level level, const char *room, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/** Tell the user something that he should know and that is no failure: `faultline: note: ...` on
 * stderr, once: what differs in addresses only is the same (text_has_line()). Not for threads. */
void log_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#define log_at(level, ...)                                       \
	do {                                                     \
		if (log_is_on(level, LOG_ROOM))                  \
			log_write(level, LOG_ROOM, __VA_ARGS__); \
	} while (0)
#define log_warn(...) log_at(LOG_WARN, __VA_ARGS__)
#define log_info(...) log_at(LOG_INFO, __VA_ARGS__)
#define log_debug(...) log_at(LOG_DEBUG, __VA_ARGS__)

#endif
