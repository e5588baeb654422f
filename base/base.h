// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What every room needs: errors as values, logging, growing arrays, arenas, maps,
 * scope guards and a stopwatch. Depends on libc only. Nothing here is shared between threads
 * unless its own comment says so.
 */
#ifndef BASE_BASE_H
#define BASE_BASE_H

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/lines.h"
#include "base/log.h"
#include "base/map.h"
#include "base/text.h"
#include "base/vec.h"

#endif
