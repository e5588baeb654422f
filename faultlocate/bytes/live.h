// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What has no value, followed without a log.
 */
#ifndef FAULTLOCATE_BYTES_LIVE_H
#define FAULTLOCATE_BYTES_LIVE_H

#include "decode/translator/blank.h"

/** @return whether machines can follow it (DEC_GUARD_VALUES). */
bool fl_live_is_there(void);

#endif
