// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Rights: no more than needed, and in effect only where needed (privilege.c).
 */
#ifndef PT_COLLECT_TRACEE_PRIVILEGE_H
#define PT_COLLECT_TRACEE_PRIVILEGE_H

#include <stdbool.h>

#include "base/base.h"

/** Have what recording needs and no more. @return ERR_PERMISSION with what is missing. */
struct err *ptc_privilege_init(void);

/** Put in effect what we have, or no more. Root has it in effect always. */
void ptc_privilege_use(bool is_used);

/** Have nothing any more (root: as before). */
void ptc_privilege_end(void);

#endif
