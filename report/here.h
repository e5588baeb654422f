// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Any moment of the run, whether a story has it or not: where it was, what its instruction used and
 * made, and who made what it used. For a page that asks while somebody looks at it, so from a machine
 * that stands near, and for the heap from its history; no replay from the beginning.
 */
#ifndef REPORT_HERE_H
#define REPORT_HERE_H

#include "decode/machine/machine.h"
#include "decode/symbols/symbols.h"
#include "report/names.h"

struct dec_written;
struct report_here;

/**
 * @param m	  is moved by whatever is asked; has checkpoints on its way, and gets more.
 * @param end	  the last position.
 * @param namer	  of the heap, with trails; NULL: there is none.
 * @param written	  of the run.
 * @param ret	  Set on success. All is borrowed.
 * @return ERR_NOMEM, as dec_machine_seek().
 */
struct err *report_here_create(struct dec_machine *m, struct dec_symbols *symbols,
			       uint64_t end, const struct fl_namer *namer,
			       const struct dec_written *written,
			       struct report_here **ret);
void report_here_destroy(struct report_here *h);

/** Nobody waits for an answer: what is looked for, it is looked for as far back as makes sense. */
void report_here_be_patient(struct report_here *h);

/**
 * Print what the instruction at @p position did, at the run's end what it was about to use, one JSON
 * object:
 *
 *   {position, thread, at: {file, line, function}, arguments, made: [text], used: [text],
 *    source: {line: text}}
 *
 * or {why: text} where there was none.
 *
 * @return ERR_NOT_FOUND: the run ends before.
 */
struct err *report_here_print(struct report_here *h, uint64_t position, FILE *out);

/**
 * Print where what it used as number @p n (from 0) came from: the last statement before, of another
 * line of the user's, through which that value went unchanged, {time, file, line, function}; else
 * {"why": "text"}, or, from who is not patient, {"is_far": true}: it is longer ago than he looks.
 *
 * @return ERR_NOT_FOUND: it used no such thing.
 */
struct err *report_here_print_origin(struct report_here *h, uint64_t position, uint32_t n,
				     FILE *out);

#endif
