// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What a command and its owner say to each other (command.c, owner.c): a request with the
 * descriptors that come along, and its reply. A message is one piece.
 */
#ifndef CONFINE_ASK_H
#define CONFINE_ASK_H

#include <limits.h>
#include <sys/types.h>

#include "confine/confine.h"

#define CONFINE_BUILD_ID_BYTES 64
#define CONFINE_TEXT_BYTES 1024

enum confine_ask {
	ASK_OPEN,
	ASK_COMMIT,
	ASK_DROP,
	ASK_MAKE_DIR,
	ASK_ACT,
	ASK_START,
	ASK_DEBUGINFO
};

struct confine_request {
	uint64_t number; ///< no other request has it
	enum confine_ask ask;
	uint32_t handle;	 ///< COMMIT, DROP
	mode_t mode;		 ///< OPEN
	enum file_act act;	 ///< ACT, in the directory that comes along
	uint32_t n_fds;		 ///< START
	uint32_t has_fd;	 ///< bit by bit; those come along
	char name[NAME_MAX + 1]; ///< ACT
	/** OPEN, MAKE_DIR. ACT: the other name. START: the arguments, each with its NUL; at last
	 * an empty one. */
	char path[PATH_MAX];
};

struct confine_reply {
	uint64_t number;    ///< the request's
	uint32_t handle;    ///< OPEN
	bool has_flag;	    ///< OPEN: it is written as it is; MAKE_DIR: it is new
	int saved_errno;    ///< ACT: why it failed; 0: it did not
	enum err_code code; ///< 0: it went well
	char text[CONFINE_TEXT_BYTES];
};

/** Send @p bytes at @p data, and @p n descriptors. @return whether that went well. */
bool confine_send(int sock, const void *data, size_t bytes, const int *fds, size_t n);

/** Receive just @p bytes, and the descriptors that come along: @p ret_n of them, the caller's,
 * also when it returns false: nobody is there, or it was another number. */
bool confine_receive(int sock, void *data, size_t bytes, int fds[CONFINE_FDS],
		     size_t *ret_n);

/** Close @p n descriptors. */
void confine_close(const int *fds, size_t n);

/** Could the files be written that the command line names? Told before any work, not after it.
 * @return NULL, or as new_file_check(). */
struct err *confine_check(char **argv, const struct confine_outputs *outputs);

/** Be the owner of process @p command, the one at the other end of @p sock, until it ends.
 * @return as confine_command(), whose command line and outputs these are. */
int confine_own(pid_t command, char **argv, const struct confine_outputs *outputs,
		int sock);

#endif
