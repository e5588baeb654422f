// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Inside dec_recover: every value that a register or a memory operand takes in the window
 * is a *node*, written once. A step (an executed instruction) is a constraint between the
 * nodes that it reads and those that it writes; registers tie steps together by sharing
 * nodes, memory does through sweeps (recover_mem.c). Knowledge only grows, bit by bit,
 * until nothing changes. That is done twice: first for what is known, then, beginning
 * with it, for what is inferred.
 */
#ifndef DECODE_PAST_RECOVER_INT_H
#define DECODE_PAST_RECOVER_INT_H

#include "decode/past/recover.h"
#include "decode/past/recover_set.h"

#define PAST_NONE 0xff
#define PAST_TOLD 0xfe	///< of an access: no step's, but told from elsewhere (an anchor)
#define PAST_BELOW 0xfd ///< of an access: no step's, but memory below rsp is lost
#define PAST_NO_NODE UINT32_MAX
#define PAST_VEC 0x80000000u ///< in a node's number: it is one of 64 bytes

#define PAST_TOP (1ull << 47) ///< nothing of a program lies above

enum { PAST_LOST = 64 }; ///< of more stores without a place, any may have hit a word

enum { PAST_KEPT = 7 }; ///< registers that a function gives back as they were

enum {
	PAST_OPERANDS = 6,
	PAST_REGS = DEC_REG_FLAGS + 1,
	PAST_RSP = 4,
	PAST_RBP = 5,
	PAST_STATUS = 0x8d5
};

/** Some bits and which of them are known. */
struct past_bits {
	uint64_t v, m; ///< v is 0 outside m
};

/** 64 bytes and which of them are known. */
struct past_bytes {
	uint8_t v[64];
	uint64_t m;
};

enum past_kind {
	PAST_OPAQUE, ///< what it writes is not known
	PAST_NATIVE, ///< only run on the CPU, when all that it reads is known
	PAST_MOV,
	PAST_MOVSX,
	PAST_LEA,
	PAST_ADD, ///< with PAST_SUB, _AND, _OR, _XOR: op[0] op= op[1]
	PAST_SUB,
	PAST_CMP,
	PAST_AND,
	PAST_TEST,
	PAST_OR,
	PAST_XOR,
	PAST_INC,
	PAST_DEC,
	PAST_NEG,
	PAST_NOT,
	PAST_SHIFT, ///< shl, shr, sar, rol, ror: mnemonic tells
	PAST_IMUL,
	PAST_XCHG,
	PAST_XADD,
	PAST_BSWAP,
	PAST_SIGN, ///< cwd, cdq, cqo
	PAST_SET,
	PAST_CMOV,
	PAST_PUSH,
	PAST_POP,
	PAST_LEAVE,
	PAST_BRANCH, ///< all that change rip
	PAST_STRING, ///< movs, stos, lods, scas, cmps, with or without rep
	PAST_PERM,   ///< moves bytes from here to there
	PAST_LANES,  ///< vector lanes that do not touch each other
	PAST_MASK,   ///< each lane becomes one bit
	PAST_SCAN,   ///< tzcnt, bsf
	PAST_ZEROUPPER,
	PAST_MASKED_STORE, ///< vmovdqu8 [m] {k}, v and its kin
	PAST_SYSCALL,
	PAST_GAP,
};

enum past_operand_type {
	PAST_OP_NONE,
	PAST_OP_GPR,
	PAST_OP_VEC,
	PAST_OP_K,
	PAST_OP_MEM,
	PAST_OP_IMM
};

struct past_operand {
	uint8_t type;
	uint8_t in, out; ///< slots, or PAST_NONE
	uint8_t reg;
	uint8_t shift;	 ///< 8 for ah, bh, ch, dh
	uint8_t element; ///< bytes of a lane
	uint16_t bits;
};

/** Where the bytes of the one output come from. */
struct past_perm {
	uint8_t slot[64]; ///< input slot, or PAST_NONE: `at` is the byte itself
	uint8_t at[64];
	uint64_t m; ///< bytes that this tells
};

/** An instruction of the program: what all its executions share. Its slots are what it
 * reads (general registers, other registers, memory) and then what it writes. */
struct past_form {
	struct dec_insn insn;
	uint8_t kind; ///< enum past_kind
	uint8_t cc;   ///< condition code
	uint8_t n_in, n_out, n_mem_in, n_mem_out;
	uint8_t n_ops;
	uint8_t flags_in, flags_out, rsp_in, rsp_out; ///< slots
	uint8_t base_in[DEC_MEMS], index_in[DEC_MEMS];
	uint8_t agen_base, agen_index, agen_scale; ///< lea, fxsave
	uint8_t agen_bits;
	bool is_same;	///< both sources are the same register
	bool is_const;	///< and the result does not depend on what it holds
	bool is_native; ///< the CPU may run it
	bool is_bulk;	///< its memory operands repeat
	bool is_wild;	///< it writes memory that its operands do not tell
	bool saves_more;
	uint16_t saves; ///< bytes that fxsave writes; xsave at least (saves_more)
	/** For the CPU, by slot: what must be known of an input, what is right in an output.
	 * Bits, or bytes of a vector register and of a memory operand above 8 bytes. */
	uint64_t need[8], give[8];
	uint16_t flags_valid, flags_kept; ///< written with meaning; left as they were
	struct past_operand op[PAST_OPERANDS];
	int64_t imm;
	int64_t agen_disp;
	uint8_t *slot; ///< n_in + n_out: register, or 0x80 | memory operand
	struct past_perm *perm;
	void (*run)(void *ctx);	  ///< the emitted stub, made when first wanted
	uint32_t mirror;	  ///< 1 + index; 0: none was looked for
	uint32_t n_placed;	  ///< of its stores, in this round: that went farther
	uint64_t lowest, highest; ///< where they went
};

struct past_step {
	uint32_t form;
	uint32_t ref;	 ///< its slots' nodes begin here
	uint32_t access; ///< its memory accesses begin here
	bool is_resumed; ///< something else happened before it
	bool has_ties;
};

enum past_placed { PAST_UNPLACED, PAST_HINTED, PAST_INFERRED, PAST_KNOWN };

/** One memory operand read or written. In order, reads before writes. */
struct past_access {
	uint64_t addr; ///< PAST_BELOW: from rsp on
	uint32_t step;
	uint32_t line;	 ///< of addr, once it is known; cached
	uint32_t node;	 ///< of what is read, written, told; of a range: PAST_BELOW's rsp
	uint8_t placed;	 ///< enum past_placed
	uint8_t mem;	 ///< operand; PAST_NONE, PAST_TOLD, PAST_BELOW
	uint8_t slot;	 ///< PAST_NONE with mem PAST_NONE: not by the step but before it
	uint8_t size;	 ///< but of a range; of PAST_BELOW
	uint8_t n_known; ///< bits (of a vector bytes), when those were told who may learn
	bool is_write;
	bool is_range;	///< of any number of bytes: rep movs, a system call, a gap
	bool is_masked; ///< a store that leaves some bytes alone
};

struct past_anchor {
	uint32_t node;
	uint64_t value;
};

/** Two nodes that hold the same when functions keep to the ABI: a guess. */
struct past_tie {
	uint32_t step; ///< where it is looked at: the first one behind a return
	uint32_t a, b;
};

/** An instruction that sets rsp from rbp: the nodes that the two held before it. */
struct past_frame {
	uint32_t step;
	uint32_t rsp, rbp;
};

/** A call that has not returned. */
struct past_call {
	uint64_t return_rip;
	uint32_t node[PAST_KEPT]; ///< before it, by index into past_kept
};

struct past_native;
struct past_show;
struct past_mirror;
struct past_home;
struct past_block;
struct past_grain;
struct past_end_home;
struct past_assumed;
struct past_line;
struct past_page;

/** What ran: the window's steps, and the nodes that they tie together. */
struct past_ran {
	uint64_t position;
	VEC(struct past_form) forms;
	struct map form_at; ///< rip -> form that ran there last
	VEC(struct past_step) steps;
	VEC(uint32_t) refs;
	VEC(struct past_access) accesses;
	VEC(struct past_anchor) anchors;
	VEC(struct past_tie) ties; ///< by step
	VEC(struct past_frame) frames;
	VEC(uint32_t) calls;		   ///< steps that are system calls
	VEC(uint32_t) bits_def, bytes_def; ///< by node: the step that writes it
	uint32_t *use_at; ///< by node (bits, then bytes): its readers begin here in `use`
	uint32_t *use;
	uint32_t const_from; ///< mappings that nobody writes: the same from this step on
	bool changes_mxcsr;  ///< the window loads mxcsr
	bool changes_df;     ///< the window may set the direction flag
	bool has_company;    ///< others write memory, too

	// While steps are added.
	VEC(struct past_call) nested; ///< calls that have not returned
	uint32_t current[PAST_REGS];  ///< each register's node
	uint32_t frame_node;	      ///< rbp where it was used as a frame's
	bool is_resumed;	      ///< something else happened before the next
};

/** Who touched which word, and what it held: as far as the sweep under way has come. */
struct past_mem {
	const struct dec_recover_end *end;
	VEC(struct past_line) lines;
	struct map line_at;
	VEC(struct past_page) pages;
	struct map page_at;
	struct past_marks lost;	    ///< stores that went nobody knows where
	struct past_marks dirty[2]; ///< by is_backward: what a sweep is to look at
	struct past_marks stuck[2]; ///< what did not come to an end there
	bool is_backward;
	uint32_t sweep_at; ///< the step that the sweep has come to
	uint32_t moment;   ///< the access that it has come to
	bool is_blocked;   ///< lost stores stood before something there
	bool is_open;	   ///< or something was asked there without an answer
	bool is_plain;	   ///< tests: a sweep looks at all accesses
};

/** What is supposed where nothing is known (README: its words). */
struct past_guess {
	bool is_guessing;
	uint8_t stage;	///< of a round: the later, the more is supposed
	uint32_t reach; ///< so many lost stores missed a word, no more
	bool is_bold; ///< a word is taken for a store's even if others may have written it
	uint8_t least_may; ///< enum past_may: what a store must be for it to have hit a word
	bool is_element; ///< what is looked at now is an element: its address has an index
	uint8_t least_may_element;	  ///< as least_may, for such a word
	VEC(struct past_assumed) assumed; ///< places found by what memory held
	struct map assumed_at;		  ///< node -> index
	struct map bases;		  ///< pointers that something goes through
	struct map fresh;		  ///< pointers that allocator calls gave
	struct map home_at;		  ///< such a pointer -> index into homes
	VEC(struct past_home) homes;
	struct map looked_at; ///< lines of the end that were looked at for such pointers
	struct map end_bases; ///< pointers that lie there
	VEC(struct past_end_home) end_homes;
	VEC(struct dec_recover_heap_call) heap_calls;
	VEC(struct past_block) blocks;
	VEC(struct past_grain) grains;
	struct map grain_at; ///< address / 16 -> index
	struct map walked;   ///< blocks that the end's headers lead to
	VEC(struct past_mirror) mirrors;
	bool is_mining; ///< this sweep looks for them
};

struct dec_recover {
	struct past_ran ran;
	struct past_mem mem;
	struct past_guess guess;

	// What each node holds.
	VEC(struct past_bits) bits;
	VEC(struct past_bytes) bytes;
	uint64_t *known_bits; ///< masks after the first half
	uint64_t *known_bytes;
	uint8_t *is_doubtful; ///< by node: guesses disagreed this round

	// Steps to look at: a node of theirs has learnt something.
	uint32_t *queue;
	uint8_t *is_queued;
	uint32_t queue_head, queue_size;
	uint32_t at; ///< the step whose rule runs
	bool again;
	uint64_t n_changes, n_conflicts;

	bool is_out; ///< memory is out
	struct past_native *native;
	struct past_show *show;
	struct dec_recover_stats stats;
};

/* ---- nodes (recover.c) ------------------------------------------------------------- */

static inline struct past_bits past_const(uint64_t v)
{
	return (struct past_bits){ v, UINT64_MAX };
}

/** All steps are there: index them. The first part of dec_recover_run(). */
struct err *dec_recover_prepare(struct dec_recover *r);

/** Learn bits of a node. */
void dec_recover_learn(struct dec_recover *r, uint32_t node, struct past_bits b);

/** Learn bytes of a node; of a node of bits, the first 8. */
void dec_recover_learn_bytes(struct dec_recover *r, uint32_t node,
			     const struct past_bytes *b);

/** @return what is known of a node, as bytes. */
void dec_recover_read_bytes(const struct dec_recover *r, uint32_t node,
			    struct past_bytes *ret);

/** Let the step be looked at (again). */
void dec_recover_wake(struct dec_recover *r, uint32_t step);

/** Look at steps until none has anything new. */
void dec_recover_settle(struct dec_recover *r);

/** @return the mask of bytes that are known as a whole in bits @p m, and back. */
static inline uint64_t past_byte_mask(uint64_t m)
{
	uint64_t bytes = 0;

	for (int i = 0; i < 8; i++)
		bytes |= (uint64_t)((m >> 8 * i & 0xff) == 0xff) << i;
	return bytes;
}

static inline uint64_t past_bit_mask(uint64_t bytes)
{
	uint64_t m = 0;

	for (int i = 0; i < 8; i++)
		m |= (bytes >> i & 1) * (0xffull << 8 * i);
	return m;
}

static inline uint64_t past_ones(unsigned n)
{
	return n >= 64 ? UINT64_MAX : (1ull << n) - 1;
}

static inline bool past_is_vector(uint8_t reg)
{
	return reg >= DEC_REG_VEC && reg < DEC_REG_K;
}

/** @return the input (or output) slot of register @p reg, or of memory operand reg & 0x7f;
 * PAST_NONE when there is none. */
static inline uint8_t past_slot_of(const struct past_form *f, uint8_t reg, bool is_out)
{
	int from = is_out ? f->n_in : 0, to = from + (is_out ? f->n_out : f->n_in);

	for (int s = from; s < to; s++) {
		if (f->slot[s] == reg)
			return s;
	}
	return PAST_NONE;
}

/** The nodes of a step. */
struct past_at {
	struct dec_recover *r;
	const struct past_form *form;
	const uint32_t *ref;
	uint32_t step;
};

static inline struct past_at past_at(struct dec_recover *r, uint32_t step)
{
	const struct past_step *s = &r->ran.steps.data[step];

	return (struct past_at){ r, &r->ran.forms.data[s->form],
				 &r->ran.refs.data[s->ref], step };
}

/** @return the address where the flow went behind a step. */
uint64_t dec_recover_next_rip(const struct dec_recover *r, uint32_t step);

/* ---- forms (recover_form.c) -------------------------------------------------------- */

/** Fill @p f for @p insn. */
struct err *dec_recover_form_init(struct past_form *f, const struct dec_insn *insn);
void dec_recover_form_deinit(struct past_form *f);

/** @return the bytes of memory that masked store @p at certainly leaves alone; @p written
 * gets those that it certainly writes. */
uint64_t dec_recover_masked(const struct past_at *at, uint64_t *written);

/* ---- rules (recover_rules.c, recover_vec.c) ------------------------------------ */

/** Let each node of a step learn what follows from the others. */
void dec_recover_apply(struct past_at *at);
void dec_recover_apply_vector(struct past_at *at);

/* ---- the CPU (recover_native.c) ---------------------------------------------------- */

struct err *dec_recover_native_create(struct past_native **ret);
void dec_recover_native_destroy(struct past_native *n);

/** Run @p f on @p in: its n_in slots. @p out: its n_out slots. @return false when this
 * CPU cannot, or it faults. */
bool dec_recover_native_run(struct past_native *n, struct past_form *f,
			    const struct past_bytes *in, struct past_bytes *out);

/* ---- showing (recover_show.c) ------------------------------------------------------ */

struct err *dec_recover_show_create(struct past_show **ret);
void dec_recover_show_destroy(struct past_show *s);

/** @return general register @p reg as the step reads it, or writes it. */
static inline struct past_bits past_reg(const struct past_at *at, uint8_t reg,
					bool is_out)
{
	uint8_t s = past_slot_of(at->form, reg, is_out);

	return s == PAST_NONE ? (struct past_bits){} : at->r->bits.data[at->ref[s]];
}

#endif
