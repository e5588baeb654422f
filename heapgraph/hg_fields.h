// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Which parts a struct has that pointers may be meant for, told to a guard (decode/translator/guard.h).
 */
#ifndef HEAPGRAPH_HG_FIELDS_H
#define HEAPGRAPH_HG_FIELDS_H

#include "decode/symbols/symbols.h"
#include "heapgraph/hg_strings.h"

/** Behind what is in @p ret list the parts of @p t, as those of number @p layout.
 * @return ERR_NOMEM. */
struct err *hg_fields_hooks(const struct dec_struct *t, uint8_t layout, hg_hooks *ret);

#endif
