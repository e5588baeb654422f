// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What the program `watched` and who goes back to its write agree on.
 */
#ifndef BENCH_PROGRAMS_WATCHED_H
#define BENCH_PROGRAMS_WATCHED_H

#define WATCHED_ADDRESS 0x600000000000 ///< of a word that is written once
#define WATCHED_BUSY 0x600000001000 ///< of another one; the next word is written all the time
#define WATCHED_BYTES (10 << 20)       ///< of memory that it has

#endif
