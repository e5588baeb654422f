// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What root makes for somebody who called sudo: it becomes his when it is finished.
 */
#ifndef BASE_GIVE_H
#define BASE_GIVE_H

#include "base/err.h"

/**
 * When root runs us by sudo (SUDO_UID and SUDO_GID), give directory @p dir_fd to who called it, with
 * all that is in it. For anybody else, and where root itself called, nothing happens.
 *
 * @param dir_fd  made by this process with mode 0700, and finished: until it is given, last of all,
 *		  nobody else can have entered it. Another user's, or one that others may enter, is
 *		  left as it is.
 * @return NULL or ERR_OS; what was given then stays given.
 */
struct err *give_to_caller(int dir_fd);

#endif
