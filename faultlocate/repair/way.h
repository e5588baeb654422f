// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The way from a call to an instant of the recorded run: the lines at which statements of the program
 * began, so that the interpreter can go there, too. Private to this room.
 */
#ifndef FAULTLOCATE_REPAIR_WAY_H
#define FAULTLOCATE_REPAIR_WAY_H

#include "decode/machine/machine.h"
#include "decode/symbols/symbols.h"
#include "faultlocate/repair/recorded.h"

/**
 * What thread @p tid does from where @p m stands, which is in source file @p file, up to instant
 * @p at, where the machine stands then.
 *
 * @param ret  to add to: lines of statements of @p p in their order, one that follows itself once; the last is
 *	       that of the statement which is under way, or begins, at @p at.
 */
struct err *fl_rp_way(struct dec_machine *m, struct dec_symbols *s,
		      const struct rp_program *p, const char *file, uint32_t tid,
		      uint64_t at, rp_lines *ret);

#endif
