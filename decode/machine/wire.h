// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The owner's end of what crosses between a machine and the process that runs its guest. That
 * process executes a stranger's code and may do anything to the memory it shares with us, at
 * any time: what is read from there is copied once, and looked at only in the copy. So it can
 * *deliver wrong data, nothing more* (doc/confinement.md). Nothing else of ours sees that memory.
 */
#ifndef DECODE_MACHINE_WIRE_H
#define DECODE_MACHINE_WIRE_H

#include "decode/machine/branch.h"
#include "decode/machine/child.h"

struct dec_wire;

/** What a process of the machine has answered; checked: enumerators, booleans and indices are
 * ones, texts end. */
struct dec_answer {
	enum child_result result;
	uint32_t err_code;
	struct dec_where where;
	struct dec_divergence parted;
	uint64_t isa[4];
	uint64_t touched_bytes, peak_bytes, guest_bytes; ///< as in struct child_slot
	uint32_t is_written;				 ///< as in struct child_slot
	struct cap_regs regs;
	uint32_t reg_bytes; ///< of REG: how many bytes of the data, up to 160
	char text[CHILD_TEXT_BYTES];
	char notes[CHILD_TEXT_BYTES];
};

/** @p c and @p o are borrowed. @return ERR_OS. */
struct err *dec_wire_create(const struct capture *c, const struct dec_machine_options *o,
			    struct dec_wire **ret);
void dec_wire_destroy(struct dec_wire *w);

/** Where the log goes; it must not use the wire. */
void dec_wire_log(struct dec_wire *w, dec_log_fn fn, void *ctx);

/** Start a process whose guest stands at 0, and end all others. It is the active one. *@p ret is
 * its first answer, valid until the next. */
struct err *dec_wire_start(struct dec_wire *w, const struct dec_answer **ret);

/** Have the active process do @p command. @return ERR_OS (it
 * died), ERR_FORMAT (its answer cannot be), or of the log's consumer. */
struct err *dec_wire_ask(struct dec_wire *w, uint32_t command, uint64_t a, uint64_t b,
			 const struct dec_answer **ret);

/** Have the active process log in @p mode from here on: for the consumer, or without one into
 * a buffer of its own. */
struct err *dec_wire_mode(struct dec_wire *w, enum dec_log_mode mode);

/** Copy @p size bytes of the last answer's data. @p size: up to CHILD_DATA_BYTES. */
void dec_wire_data(const struct dec_wire *w, void *buf, size_t size);

/** Give the active process @p size bytes, up to CHILD_DATA_BYTES, with the command that follows. */
void dec_wire_give(struct dec_wire *w, const void *buf, size_t size);

/** Take the last answer's data for what OUTCOME tells. @return ERR_FORMAT: that cannot be. */
struct err *dec_wire_outcome(const struct dec_wire *w, struct dec_outcome *ret);

/** Take the last answer's data for what RANGE and THREAD tell. @return ERR_FORMAT: that range
 * cannot be. */
struct err *dec_wire_range(const struct dec_wire *w, struct dec_range *ret);
void dec_wire_thread(const struct dec_wire *w, struct dec_thread *ret);

/** @return the error that an answer with CHILD_FAILED tells. */
struct err *dec_wire_failure(const struct dec_answer *answer);

/** The last answer. */
const struct dec_answer *dec_wire_answer(const struct dec_wire *w);

/** @return the slot of the active process. */
uint32_t dec_wire_active(const struct dec_wire *w);

/** Fork the active process, which goes on; the fork, in slot *@p ret, stays as it is: a checkpoint. A
 * slot must be free. @return as dec_wire_ask(); ERR_OS also: it cannot fork. */
struct err *dec_wire_keep(struct dec_wire *w, uint32_t *ret);

/** Fork checkpoint @p from; the fork, in a slot of its own, is the active one. Else as
 * dec_wire_keep(). */
struct err *dec_wire_fork(struct dec_wire *w, uint32_t from);

/** End the process in @p slot. */
void dec_wire_end(struct dec_wire *w, uint32_t slot);

/** Run up to CHILD_SLOTS of @p n branches from where the active process stands, as
 * dec_machine_branches(). @return *@p ret_n: how many are over, the first ones; 0: the next wants
 * or meets what is the machine's, which has to begin elsewhere. */
struct err *dec_wire_branches(struct dec_wire *w, struct dec_branch *branches, size_t n,
			      unsigned at_once, size_t *ret_n);

#endif
