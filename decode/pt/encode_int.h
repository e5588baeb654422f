// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Private to dec_pt_encode*.c: one thread's stream in two layers, packets and the control
 * flow that they tell, and the clock that all streams share.
 */
#ifndef DECODE_PT_ENCODE_INT_H
#define DECODE_PT_ENCODE_INT_H

#include <intel-pt.h>

#include "decode/x86/insn.h"
#include "decode/pt/encode.h"

enum {
	PT_CALLS = 64,	  ///< calls a decoder remembers
	PT_TNT_SHORT = 6, ///< bits
	PT_TNT_LONG = 47,
	PT_BUFFER_BYTES = 16384,
};

/* ---- time (encode_clock.c) ------------------------------------------------------ */

struct pt_clock {
	struct cap_events *events;
	struct cap_event next; ///< the first that was not met yet
	bool is_at_end;	       ///< there is none
	uint64_t cycles;       ///< of the core: 3 to a tick of the TSC
	uint64_t until;	       ///< they do not come so far before the next event
};

/** Start at the first event of @p c. */
struct err *dec_pt_clock_init(struct pt_clock *k, const struct capture *c);
void dec_pt_clock_deinit(struct pt_clock *k);

/** Event @p seq happens now. @return why the log cannot be read, or ERR_FORMAT: there is
 * no such event. */
struct err *dec_pt_clock_meet(struct pt_clock *k, uint64_t seq);

/** @p n instructions run. */
void dec_pt_clock_run(struct pt_clock *k, uint64_t n);

/** @return the time stamp counter as it is now. */
uint64_t dec_pt_clock_tsc(const struct pt_clock *k);

/** @return the cycles at which the crystal ticks number @p ticks. */
uint64_t dec_pt_clock_of_crystal(uint64_t ticks);

/** @return the ticks of the crystal. */
uint64_t dec_pt_clock_crystal(const struct pt_clock *k);

/* ---- a stream -------------------------------------------------------------------------- */

/** The last instruction that ran. */
struct pt_last {
	uint64_t rip, target;
	uint8_t len, flow;
};

struct pt_stream {
	uint32_t tid;
	const struct dec_pt_options *o;
	const struct pt_clock *clock;
	dec_pt_write_fn write;
	void *ctx;
	bool is_enabled;   ///< between TIP.PGE and TIP.PGD
	bool is_scheduled; ///< a PSB+ group told since when the thread has the CPU
	bool is_in_call;   ///< another thread ran before its system call was answered
	bool is_losing;
	bool is_in_tsx;
	uint64_t lose_until; ///< position
	struct pt_last last;
	uint64_t tnt; ///< pending bits, the youngest lowest
	unsigned int n_tnt;
	uint64_t last_ip;	 ///< for IP compression
	uint64_t call[PT_CALLS]; ///< ring of return addresses
	unsigned int top, n_calls;
	uint64_t psb_at;       ///< bytes of the stream before the last PSB
	uint64_t mtc_at;       ///< the last MTC told, in units of its period
	uint64_t cyc_at;       ///< cycles that the last CYC came up to
	unsigned int extras;   ///< bit n: enum dec_pt_extra n is due
	bool is_copied;	       ///< the last instruction was the kernel's copy of a branch
	VEC(uint64_t) returns; ///< where probed calls will return to
	struct pt_encoder *libipt;
	struct dec_pt_stats stats;
	uint8_t buffer[PT_BUFFER_BYTES];
};

/* ---- its packets (encode_packets.c) --------------------------------------------- */

/** All but libipt is set. @return err_nomem. */
struct err *dec_pt_packets_init(struct pt_stream *s);
void dec_pt_packets_deinit(struct pt_stream *s);

/** Write what is in the buffer. */
struct err *dec_pt_packets_flush(struct pt_stream *s);

/** All TNT bits that are pending. */
struct err *dec_pt_put_tnt(struct pt_stream *s);

/** One more of them. */
struct err *dec_pt_put_bit(struct pt_stream *s, bool is_taken);

/** A packet of @p type (FUP, TIP, TIP.PGE) with @p ip, behind the pending bits. */
struct err *dec_pt_put_ip(struct pt_stream *s, enum pt_packet_type type, uint64_t ip);

/** TIP.PGD without an address: what user-only tracing says of an entry to the kernel. */
struct err *dec_pt_put_pgd(struct pt_stream *s);

/** 64 bit mode. */
struct err *dec_pt_put_mode(struct pt_stream *s);

/** CYC, when the next packet is one that has it and enough time has passed. */
struct err *dec_pt_put_cyc(struct pt_stream *s);

/** The MTC packets that are due. */
struct err *dec_pt_put_mtc(struct pt_stream *s);

/** @return whether so much time has passed that MTC cannot tell it. */
bool dec_pt_has_slept(const struct pt_stream *s);

/** OVF: what was told before is not known any more. */
struct err *dec_pt_put_ovf(struct pt_stream *s);

/** PTW with the FUP of the instruction at @p rip. */
struct err *dec_pt_put_ptw(struct pt_stream *s, uint64_t rip, uint64_t value);

/** What dec_pt_encoder_add() asked for, at instruction @p rip. */
struct err *dec_pt_put_extras(struct pt_stream *s, uint64_t rip);

/** PSB+: all that a decoder needs that begins here, at instruction @p rip when tracing is
 * on. */
struct err *dec_pt_put_psb(struct pt_stream *s, uint64_t rip);

/* ---- its flow (encode_flow.c) ---------------------------------------------------- */

/** The instruction at @p rip, number @p time of the run, is the thread's next. @return
 * ERR_FORMAT: no way leads there from the one before. */
struct err *dec_pt_flow_arrive(struct pt_stream *s, uint64_t rip, uint64_t time);

/** @p n instructions ran, @p last the last of them. */
void dec_pt_flow_ran(struct pt_stream *s, const struct dec_insn *last, uint64_t n);

/** The repeated string instruction that ran last goes on, as if it had not begun. */
void dec_pt_flow_again(struct pt_stream *s);

/** The kernel is entered, by the last instruction. */
struct err *dec_pt_flow_enter(struct pt_stream *s);

/** The kernel is entered before the instruction at @p rip, number @p time, has run. */
struct err *dec_pt_flow_interrupt(struct pt_stream *s, uint64_t rip, uint64_t time);

/** The running instruction at @p rip is a PTWRITE of @p value. */
struct err *dec_pt_flow_ptwrite(struct pt_stream *s, uint64_t rip, uint64_t value);

/** The instruction @p insn at which there is a probe (enum dec_pt_probe bits) is the thread's
 * next, number @p time, and runs. */
struct err *dec_pt_flow_probe(struct pt_stream *s, const struct dec_insn *insn,
			      uint64_t probe, uint64_t time);

/** Lose the packets up to position @p until. */
struct err *dec_pt_flow_lose(struct pt_stream *s, uint64_t until);

#endif
