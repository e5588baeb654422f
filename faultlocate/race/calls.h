// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Which functions synchronise threads, and how: POSIX threads and semaphores, C++'s guards of static
 * variables, OpenMP as gcc's and LLVM's libraries have it; and the allocator's. Private to race/.
 */
#ifndef FAULTLOCATE_RACE_CALLS_H
#define FAULTLOCATE_RACE_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum race_does {
	RACE_ACQUIRE,	///< behind it: what was released to its argument
	RACE_RELEASE,	///< before it
	RACE_LOCK,	///< behind it, the lock is held
	RACE_UNLOCK,	///< before it
	RACE_READ_LOCK, ///< shared with other readers
	RACE_WAIT,	///< condition variable: first argument; the lock: second
	RACE_BARRIER,	///< what all did before it happens before what all do behind it
	RACE_ONCE, ///< what its second argument, a function, did, happened before it ends
	RACE_JOIN, ///< .. all that the thread did
	RACE_UNWINDS, ///< a thread that ends: behind who cancelled it
	RACE_GUARD,   ///< __cxa_guard_acquire: the guard is read by plain loads, too
	RACE_FORK, ///< OpenMP: the function that `which` is runs in threads between its start and end
	RACE_TASK,  ///< OpenMP: .. some time from here on
	RACE_SPAWN, ///< OpenMP: .. what has been done so far is done before it
	RACE_SECTION, ///< OpenMP: another section begins, if it returns a number; the last one has ended
	RACE_NUMBER, ///< OpenMP: what it returns is the thread's own
	RACE_TASKS, ///< OpenMP: tasks ended: those that the caller made, or (RACE_TEAM) all
	RACE_LOADS, ///< a module is loaded by then, whoever did it, and what that ran has been done
	RACE_GIVES,   ///< the allocator: `which` has the bytes
	RACE_TAKES,   ///< free
	RACE_RESIZES, ///< realloc
};

struct race_call {
	const char *name;
	uint8_t does;
	/** The argument (0..5) that is its object; RACE_OWN: the same for all calls; RACE_TEAM: for all
	 * of the calling thread's OpenMP team. */
	uint8_t which;
	bool has_result; ///< it failed if it returns anything but 0
};

enum { RACE_OWN = 16, RACE_TEAM };

/** The last has no name. */
extern const struct race_call fl_race_calls[];

/** Functions of the C library that write what they are given, and nothing else; the last has no name. */
extern const struct race_string {
	const char *name;
	bool is_exact; ///< they read no more than they are to, either: not up to the end of a vector
} fl_race_strings[];

#endif
