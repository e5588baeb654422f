// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Private to faultlocate/bytes: the walk (bytes.c) and its trackers (objects.c, values.c).
 */
#ifndef FAULTLOCATE_BYTES_BYTES_INT_H
#define FAULTLOCATE_BYTES_BYTES_INT_H

#include <string.h>

#include "base/arena.h"
#include "decode/history/heap.h"
#include "faultlocate/bytes/bytes.h"
#include "faultlocate/bytes/model.h"
#include "heapgraph/hg_derive.h"
#include "heapgraph/hg_strings.h"

/* ---- values ----------------------------------------------------------------------------------- */

#define BYTES_PAGE 4096
#define BYTES_RED_ZONE 128 // below the stack's end a function may use it

enum { BYTES_MASKS = 17, BYTES_X87 = 25 };

/** Which bits have no value, of a thread: ones. */
struct bytes_regs {
	uint64_t gpr[DEC_GPRS];
	uint8_t vec[32][64];
	uint64_t mask[8], mmx[8];
	uint8_t x87;	///< bit n: st(n) has none
	bool no_status; ///< .. nor what a comparison left in the x87's status
	uint32_t
		live; ///< bit n: general register n lacks any; BYTES_MASKS + n: that mask; BYTES_X87
	uint32_t vec_live; ///< .. vector registers
	bool no_zero, no_sign, no_carry, no_overflow,
		no_parity; ///< flags without a value
	uint64_t rsp;	   ///< 0: not known
};

/** @return the registers that @p insn has to do with, as bytes_regs.live has them. */
static inline uint32_t fl_values_regs(const struct dec_insn *insn)
{
	uint64_t other = insn->other_read | insn->other_written;

	return insn->gpr_read | insn->gpr_written |
	       (uint32_t)(other >> (DEC_REG_K - DEC_GPRS) & 0xff) << BYTES_MASKS |
	       (uint32_t)(other >> (DEC_REG_X87 - DEC_GPRS) & 1) << BYTES_X87;
}

/** @return whether all flags have values. */
static inline bool fl_has_flags(const struct bytes_regs *r)
{
	return !(r->no_zero | r->no_sign | r->no_carry | r->no_overflow | r->no_parity);
}

/** The vector registers as XSAVE or the like put them into memory, so that they are the same behind XRSTOR: as the
 * dynamic linker does around its work at a function's first call. */
struct bytes_state {
	uint64_t addr; ///< 0: there is none
	uint8_t vec[32][64];
	uint64_t mask[8];
	uint32_t live, vec_live;
};

/** A signal's handler under way: what it interrupted. */
struct bytes_handler {
	uint64_t frame; ///< the stack pointer that it returns to the kernel with
	uint32_t tid;
	uint64_t gpr[DEC_GPRS];
	struct bytes_regs regs;
	struct hg_derived_regs derived;
};

#define BYTES_AT_HAND 512

/** A page that was asked for lately. */
struct bytes_at_hand {
	uint64_t number;     ///< 0: nothing
	const uint8_t *bits; ///< NULL: all have values
	uint8_t *own;	     ///< the same, if they may be changed
};

struct bytes_values {
	struct map
		ranges; ///< of pages: number -> pointer (values.c); not there: all have values
	struct bytes_at_hand at_hand[BYTES_AT_HAND];
	int64_t shadow; ///< unless 0 so far from each byte of this process's are its bits (live.c)
};

/* ---- looks ------------------------------------------------------------------------------------ */

#define BYTES_LOOKS 8

/** A load that may be one of who looks through the stack. */
struct bytes_look {
	uint64_t pc, addr; ///< what it read last
	uint32_t n;	   ///< .. of so many, one behind the other
	bool has_crossed;  ///< .. among which a return address was
	bool is_known;	   ///< .. so it does
	uint64_t function; ///< .. in the function that begins here; 0: not known
};

struct bytes_looks {
	struct bytes_look look[BYTES_LOOKS];
	uint32_t n, next, n_known;
	uint64_t found; ///< pc of one that was not known when the replay began; 0: none
};

/* ---- objects ---------------------------------------------------------------------------------- */

/** A variable of one call, or a static one; its number is its index + 1. */
struct bytes_object {
	struct dec_around around;
	struct dec_object is; ///< that of the two which was meant; no name: not known yet
	struct frame frame;   ///< of the function whose it is
	uint32_t tid;
	uint64_t site;	 ///< where the pointer was made; 0: not known
	bool is_literal; ///< .. the code there
	/** It is an array in a variable, which the statement there names: bytes of an element; 0: it is none. */
	uint32_t element;
	uint64_t outer; ///< .. the variable starts here
	uint32_t whole; ///< .. and has this number; 0: it is a block
	struct dec_object
		block; ///< what a pointer leads to: it is in this, or this itself; no name: it is no block
	bool is_given_out;	///< the call under way was given an address outside of it
	bool is_pending;	///< it is none until the stack's end is lowered to it
	struct map_slot met[4]; ///< instructions that accessed it as they should, lately
	uint8_t n_met;
};

/** What an instruction means that makes a pointer. */
struct bytes_site {
	struct dec_around around;
	uint64_t addr;		  ///< that it was asked for by
	struct dec_object member; ///< an array in around.at that is meant
	uint32_t element;	  ///< .. bytes of an element; 0: there is none
	bool is_back; ///< around.at may be an array, with where it begins its index was lowered
};

#define BYTES_BLOCKS \
	4096 // that pointers are to in code without optimization: the first of them

/** What general registers hold, of the thread that runs: what code without optimization made of variables'
 * addresses within a statement, as long as the register's derivation is not 0. */
struct bytes_made {
	uint32_t
		fresh; ///< bits: an address that is a constant in the frame or in static data
	uint32_t astray; ///< bits: a pointer with its distance to another variable added
	uint32_t given;	 ///< bits: what another function left there
	uint32_t untold; ///< bits: an address that no variable holds, but the compiler
	uint32_t inside; ///< bits: one that was loaded in the block of what it is to
	bool has_distance; ///< the next had any since the last call
	uint32_t distance_from
		[DEC_GPRS]; ///< of a pointer less another: the other one; 0: it is none
};

struct bytes_objects {
	struct hg_derive derive;
	struct bytes_made made;
	uint32_t n_blocks; ///< of all, that are of blocks
	bool has_literal;  ///< some of all were made in code without optimization
	VEC(struct bytes_object) all;
	struct map known; ///< hash of the place, address and call -> number
	struct map sites; ///< rip -> index + 1 of site, or 0
	VEC(struct bytes_site) site;
	struct map literal; ///< function's statement -> 1 no, 2 yes
	/** Return address of a call with an address in the frame -> number of what a block's end destroys by it,
	 * BYTES_NOBODY: of what has no name; 0: nothing. */
	struct map cleanups;
	struct {
		uint64_t rip;
		bool is_literal;
	} at_hand[1024]; ///< .. of those met lately
	struct {
		uint64_t value;
		uint32_t number;
		bool is_known;
	} words[4096]; ///< static objects by their addresses
};

/** Where the stack's end is being lowered by what is known at run time alone (dynamic.c). */
struct bytes_dynamic {
	uint64_t before, end; ///< where it was; it is
	uint64_t frame_time;  ///< of the function's call
	bool is_taken;	      ///< a register said by how much
	bool is_made;	      ///< a pointer to it was made
	bool is_copied;	      ///< the end was copied to a register, to be lowered there
};

/** What registers got of tables, in code that was optimized: how far it is from a table's start to what is meant. */
struct bytes_relative {
	uint32_t table[DEC_GPRS]; ///< number of a pointer to it; 0: none
	uint64_t value[DEC_GPRS]; ///< it counts while the register has it
};

/** A source file. */
struct bytes_source {
	const char *file, *directory; ///< as DWARF has them; borrowed
	char *text;
	VEC(size_t) lines; ///< where in text each begins, which a 0 ends
};

/* ---- the walk --------------------------------------------------------------------------------- */

struct bytes_thread {
	uint32_t tid;
	struct bytes_regs regs;
	struct bytes_state state;
	uint64_t gpr[DEC_GPRS]; ///< behind the last instruction
	struct hg_string_call string;
	uint64_t string_lacks
		[HG_STRING_READS]; ///< the first byte of each text without a value,
				   ///< when it was entered
	uint64_t allocator_rsp; ///< in the allocator, entered with this rsp; 0: outside
	uint64_t allocator_result; ///< where it is to write what it returns; 0: in rax
	uint64_t asked;		   ///< block of which malloc_usable_size() tells; 0: none
	bool has_jumped;
	struct bytes_dynamic dynamic;
	struct bytes_relative relative;
};

struct bytes_walk {
	const struct fl_bytes_events *events;
	struct dec_symbols *symbols;
	struct frames *frames;
	struct hg_strings strings;
	struct map entries; ///< of the allocator -> index of dec_allocator
	uint32_t n_mapped;
	VEC(struct bytes_thread *) threads;
	struct bytes_thread *thread;
	VEC(struct bytes_handler) handlers;
	struct bytes_values values;
	struct bytes_objects objects;
	struct bytes_looks looks;
	VEC(struct bytes_source) sources;
	struct map models;   ///< rip -> struct insn_model *
	struct arena arena;  ///< of those
	struct map replaced; ///< rip -> whether memcheck would run another function
	struct map blocks;   ///< start -> size; what malloc_usable_size() told, too
	uint64_t first_block, last_block; ///< of those there were
	uint64_t released_size;		  ///< of the block released just before
	bool has_released;
	bool has_stacks; ///< a handler had one of its own (frames: code has)
	bool is_live;	 ///< live.c
};

/** Find the statement of @p p, unless it is known. @return false: it is nobody's that is looked at. */
bool fl_bytes_is_own(struct bytes_walk *w, struct fl_bytes_place *p);

/** @return what @p insn is; NULL: no memory. */
const struct insn_model *fl_bytes_model(struct bytes_walk *w,
					const struct dec_insn *insn);

/** @return the general register that @p insn writes all of; -1: it does not. */
static inline int fl_bytes_defined(struct bytes_walk *w, const struct dec_insn *insn)
{
	const struct insn_model *m = fl_bytes_model(w, insn);

	return m && m->op[0].kind == MODEL_GPR && m->op[0].bytes == 8 ? m->op[0].reg : -1;
}

/* ---- glance.c */

/** A dec_heap_options.glance; step_ctx: the walk. */
struct err *fl_bytes_glance(void *ctx, struct frames *frames, struct dec_glance *g,
			    const struct dec_heap_storer *storer);
extern const size_t fl_bytes_glance_bytes;

/* ---- handlers.c */

/** A handler begins, or returned (dec_heap_options.state): it has registers of its own. @return NULL or ERR_NOMEM. */
struct err *fl_handlers_state(struct bytes_walk *w, const struct dec_rec *rec,
			      const uint64_t before[DEC_GPRS]);

/* ---- course.c */

/** A dec_heap_options.stretch, where values alone are followed; step_ctx: the walk. */
struct err *fl_bytes_stretch(void *ctx, struct frames *frames, struct dec_stretch *s,
			     const struct dec_heap_storer *storer);

/* ---- values.c */

/** Memory from @p addr on has values, or has none. @return ERR_NOMEM. */
struct err *fl_values_set(struct bytes_values *v, uint64_t addr, uint64_t size,
			  bool has_value);

/** @return the first byte from @p addr on of which a bit has no value; UINT64_MAX: all have. */
uint64_t fl_values_first(struct bytes_values *v, uint64_t addr, uint64_t size);

/** @return the page at hand that all @p size bytes from @p addr on are in; NULL: there is none. */
static inline const struct bytes_at_hand *fl_values_at_hand(const struct bytes_values *v,
							    uint64_t addr, uint64_t size)
{
	uint64_t number = addr / BYTES_PAGE;
	const struct bytes_at_hand *at = &v->at_hand[number % BYTES_AT_HAND];

	return at->number == number && number && addr % BYTES_PAGE + size <= BYTES_PAGE ?
		       at :
		       NULL;
}

/** @return whether @p size bytes from @p addr on all have values. */
static inline bool fl_values_are_there(struct bytes_values *v, uint64_t addr,
				       uint64_t size)
{
	const struct bytes_at_hand *at = fl_values_at_hand(v, addr, size);
	const uint8_t *bits;
	uint64_t word = 0;

	if (at && !at->bits)
		return true;
	if (!at || size > sizeof(word))
		return fl_values_first(v, addr, size) == UINT64_MAX;
	bits = at->bits + addr % BYTES_PAGE;
	if (size == sizeof(word))
		memcpy(&word, bits, sizeof(word));
	else if (size == 4)
		memcpy(&word, bits, 4);
	else
		for (uint64_t i = 0; i < size; i++)
			word |= bits[i];
	return !word;
}

/** fl_values_set(): they have values. */
static inline struct err *fl_values_give(struct bytes_values *v, uint64_t addr,
					 uint64_t size)
{
	const struct bytes_at_hand *at = fl_values_at_hand(v, addr, size);

	if (at && !at->bits)
		return NULL;
	if (!at || !at->own)
		return fl_values_set(v, addr, size, true);
	if (size == 8)
		memset(at->own + addr % BYTES_PAGE, 0, 8);
	else
		memset(at->own + addr % BYTES_PAGE, 0, size);
	return NULL;
}

/** fl_values_set(): they have none. */
static inline struct err *fl_values_take(struct bytes_values *v, uint64_t addr,
					 uint64_t size)
{
	const struct bytes_at_hand *at = fl_values_at_hand(v, addr, size);

	if (!at || !at->own)
		return fl_values_set(v, addr, size, false);
	if (size == 8)
		memset(at->own + addr % BYTES_PAGE, 0xff, 8);
	else
		memset(at->own + addr % BYTES_PAGE, 0xff, size);
	return NULL;
}

/** Behind @p insn the stack ends at @p rsp: what is new on it has no value. @return ERR_NOMEM. */
struct err *fl_values_follow_stack(struct bytes_walk *w, const struct dec_insn *insn,
				   uint64_t rsp);

/** The instruction of @p s runs: what it uses, and what becomes of its definitions. @p is_quiet: it is
 * the allocator's, or reads ahead; its uses are none. @return ERR_NOMEM, what events do. */
struct err *fl_values_step(struct bytes_walk *w, const struct dec_step *s, bool is_quiet);

/** That of @p s was about to, and faulted: what it uses of registers. @return ERR_NOMEM, what events do. */
struct err *fl_values_fault(struct bytes_walk *w, const struct dec_step *s);
void fl_values_deinit(struct bytes_values *v);

/* ---- looks.c */

/** @return whether the load at @p pc is to be seen each time. */
bool fl_looks_is_watched(const struct bytes_looks *l, uint64_t pc);

/** @return whether the load at @p pc, or another one of its function, looks through the stack. */
bool fl_looks_is_known(const struct bytes_walk *w, uint64_t pc);

/** The instruction of @p s reads memory: does it look through the stack? What such read has values from here on.
 * @return ERR_NOMEM; ERR_RANGE, and looks.found is set: it does, and the run is to be looked at again. */
struct err *fl_looks_step(struct bytes_walk *w, const struct dec_step *s);

/* ---- objects.c */
enum {
	BYTES_NOBODY = 1, ///< a pointer whose object is not known yet
	BYTES_DISTANCE,	  ///< what is not known, less a pointer
};

struct err *fl_objects_init(struct bytes_walk *w);
void fl_objects_deinit(struct bytes_objects *o);
struct err *fl_objects_step(struct bytes_walk *w, const struct dec_step *s);

/** @return the object that the pointer of a system call's access @p a is to; 0: none that is known. */
uint32_t fl_bytes_object(struct bytes_walk *w, const struct dec_access *a);

/** @p size bytes at @p addr are accessed by a pointer to object @p number. */
struct err *fl_objects_check(struct bytes_walk *w, struct fl_bytes_place p,
			     uint32_t number, uint64_t addr, uint64_t size, bool is_write,
			     bool is_call);

/** @return the number of the object that @p around tells of, in the call that is under way, to which code at
 * @p rip makes a pointer; 0: no memory. */
uint32_t fl_objects_number(struct bytes_walk *w, const struct dec_around *around,
			   uint64_t rip);

/** @return whether the code at @p rip was not optimized: dec_symbols_is_literal(), asked once. */
bool fl_objects_is_literal(struct bytes_walk *w, uint64_t rip);

/** @return whether code at @p pc is of the block that declares @p o; also if that is not known. */
static inline bool fl_objects_is_within(const struct dec_object *o, uint64_t pc)
{
	for (uint32_t i = 0; o->scope && i < o->scope->n; i++)
		if (pc >= o->scope->piece[i].start && pc < o->scope->piece[i].end)
			return true;
	return !o->scope;
}

/** @return whether @p a and @p b are code of one function, or may be. */
bool fl_objects_same_function(struct bytes_walk *w, uint64_t a, uint64_t b);

/** A dec_frame.read that knows nothing: where memory tells where a variable is, that may change. */
bool fl_objects_read_nothing(void *ctx, uint64_t addr, void *buf, size_t size);

/** @return the call that is under way. */
struct frame fl_objects_frame(const struct bytes_walk *w);

/** @return how many bytes of object @p number are from @p addr on; 0: none. */
uint64_t fl_objects_room(const struct bytes_walk *w, uint32_t number, uint64_t addr);

/* ---- made.c: of the user's code; what is not of code without optimization is none of it */

/** Registers that a function gets pointers in. */
#define BYTES_ARGUMENTS                                                                 \
	(1u << CAP_RDI | 1u << CAP_RSI | 1u << CAP_RDX | 1u << CAP_RCX | 1u << CAP_R8 | \
	 1u << CAP_R9)

/** @return whether @p insn calls a function. */
static inline bool fl_made_is_call(const struct dec_insn *insn)
{
	return insn->flow == DEC_FLOW_CALL || insn->flow == DEC_FLOW_CALL_IND;
}

/** @return whether register @p reg holds a distance from object @p x (NULL: none) to elsewhere. */
bool fl_made_is_distance(struct bytes_walk *w, int reg, const struct bytes_object *x);

/** Registers @p a and @p b are added. @return which of them is a pointer that the other, a distance from what it is to,
 * leads astray; -1: neither. */
int fl_made_led(struct bytes_walk *w, int a, int b);

/** @return whether @p insn may load a pointer from the frame or static data, as code without optimization does. */
bool fl_made_may_load(const struct dec_insn *insn);

/** @return where the instruction of @p s loads from. */
static inline uint64_t fl_made_slot(const struct dec_step *s)
{
	uint64_t slot = 0;

	for (size_t i = 0; i < s->n_refs; i++)
		if (s->refs[i].is_mem)
			slot = s->refs[i].addr;
	return slot;
}

/** @return whether @p value is the start of a block of the heap. */
bool fl_made_is_block(const struct bytes_walk *w, uint64_t value);

/** @return whether it matters to which block code at @p rip loads a pointer so, or may. */
bool fl_made_is_asked(struct bytes_walk *w, uint64_t rip);

/** @return the number of the block that begins at @p value, which the instruction of @p s loaded; 0: none. */
uint32_t fl_made_block(struct bytes_walk *w, const struct dec_step *s, uint64_t value);

/** @return the number of what is at @p addr in @p block, which the instruction of @p s computes: an array that its line
 * names, or @p block; 0: it is not to be known. */
uint32_t fl_made_in_block(struct bytes_walk *w, const struct dec_step *s,
			  const struct dec_object *block, uint64_t addr);

/** What an instruction began with. */
struct bytes_before {
	struct bytes_made made;
	uint32_t number[DEC_GPRS]; ///< of registers
	uint32_t was_live;	   ///< bits: has any
	uint32_t hidden;	   ///< bits: BYTES_DISTANCE, which is no pointer
	int led; ///< the one of those it adds that is led astray; -1: none
};

/** The instruction of @p s is to be carried on; a call notes which arguments are outside of what they are to. */
void fl_made_begin(struct bytes_walk *w, const struct dec_step *s,
		   struct bytes_before *b);

/** It was; @p is_fixed: it made an address that is a constant in what it is to. */
void fl_made_end(struct bytes_walk *w, const struct dec_step *s,
		 const struct bytes_before *b, bool is_fixed);

/* ---- optimized.c: of the user's code with optimization */

/** What an instruction began with, and what it adds up. */
struct bytes_sum {
	uint64_t value[DEC_GPRS];  ///< of registers
	uint32_t number[DEC_GPRS]; ///< .. to what they are pointers
	int led; ///< the register that it makes of a table's address, which leads elsewhere; -1: none
	int placed;	///< .. to which it adds a variable's place in the frame; -1: none
	uint64_t place; ///< without what was added before
};

/** The instruction of @p s is to be carried on. */
void fl_optimized_begin(struct bytes_walk *w, const struct dec_step *s,
			struct bytes_sum *b);

/** It was; what register b->placed is to then, the caller knows. */
void fl_optimized_end(struct bytes_walk *w, const struct dec_step *s,
		      const struct bytes_sum *b);

/* ---- ended.c: of code without optimization */

enum { SITE_SLOT = 512 }; // beside what made.c has, in keys of sites

/** The instruction of @p s calls a function. */
void fl_ended_call(struct bytes_walk *w, const struct dec_step *s);

/** The instruction of @p s, which may be a load, wrote general register @p reg. */
void fl_ended_load(struct bytes_walk *w, const struct dec_step *s, int reg);

/** @return whether the block that declares @p x has ended, where code at @p pc accesses it. */
bool fl_ended_has(struct bytes_walk *w, const struct bytes_object *x, uint64_t pc);

/* ---- named.c */

void fl_named_deinit(struct bytes_walk *w);

/** Code at @p rip computes @p addr, which is in @p o: does its line name an array that is a member of it, and has that
 * address? That is @p ret, as long as the walk lives. @p is_pointed_to: @p o is named as the pointer that leads there.
 * @return how many bytes an element has; 0: it does not, or that is not known. */
uint32_t fl_named_array(struct bytes_walk *w, uint64_t rip, const struct dec_object *o,
			bool is_pointed_to, uint64_t addr, struct dec_object *ret);

/** @return whether the line of @p rip has a difference, or names a member by pointer @p name: else it does not matter what that is
 * to. */
bool fl_named_may(struct bytes_walk *w, uint64_t rip, const char *name);

/** @return whether the line of @p rip sets something to where @p name begins. */
bool fl_named_start(struct bytes_walk *w, uint64_t rip, const char *name);

/** @return whether the line of @p rip takes either of two by a condition, and adds or subtracts something. */
bool fl_named_either(struct bytes_walk *w, uint64_t rip);

/** @return whether the line of @p rip lowers an index: `[--i]`. */
bool fl_named_back(struct bytes_walk *w, uint64_t rip);

/* ---- dynamic.c: alloca(), arrays of variable length */

/** @return whether @p insn may lower the stack's end by what is known at run time alone. */
bool fl_dynamic_may_take(const struct dec_insn *insn);

/** The instruction of @p s, of the user's code, makes pointer @p addr, perhaps of the stack's end.
 * @return the number of what was taken of the stack there; 0: nothing. */
uint32_t fl_dynamic_pointer(struct bytes_walk *w, const struct dec_step *s,
			    uint64_t addr);

/** The instruction of @p s, of the user's code, ran. */
void fl_dynamic_step(struct bytes_walk *w, const struct dec_step *s);

#endif
