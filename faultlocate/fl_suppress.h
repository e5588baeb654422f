// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Suppressions in the format of Valgrind's memcheck: what is known and not to be told. An entry is
 *
 *   {
 *     a name
 *     Memcheck:Leak
 *     fun:malloc
 *     fun:make_*
 *     ...
 *     obj:* /lib.so
 *   }
 *
 * (without the space). The frames of a finding are its statement and the user's calls under way, inlined
 * ones included; those of the allocator and of other libraries, which entries begin with, are not among
 * them: lines that name the allocator's functions are passed over.
 */
#ifndef FAULTLOCATE_FL_SUPPRESS_H
#define FAULTLOCATE_FL_SUPPRESS_H

#include "base/base.h"
#include "decode/symbols/symbols.h"

struct fl_suppressions;

/** None yet. */
struct err *fl_suppressions_create(struct fl_suppressions **ret);
void fl_suppressions_destroy(struct fl_suppressions *s);

/** Add those of file @p path. @return ERR_NOT_FOUND and the like, ERR_FORMAT with the line. */
struct err *fl_suppressions_read(struct fl_suppressions *s, const char *path);

/** @return whether one is about a finding of rule @p rule, an access of @p size bytes (0: none), with frames
 * at @p places, @p n of them, the innermost first. */
bool fl_suppressions_match(const struct fl_suppressions *s, const char *rule,
			   uint64_t size, const struct dec_place *places, size_t n);

#endif
