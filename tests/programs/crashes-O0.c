// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
// FLAGS: -O0

/**
 * @file
 * crashes.c as it comes from the compiler in a debugging session.
 */
#include "crashes.c"
