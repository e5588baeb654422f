// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Watches, while the guest runs, over what its pointers into the heap are used for, so that a run without
 * errors need not be logged. Each general register, vector lane and aligned word of memory has a tag: the
 * node that the pointer in it was derived from; emitted code (guard_emit.c) carries the tags on and
 * compares each address with the bounds of its tag's node. What it cannot decide by itself is an event:
 * it leaves, guard.c does the instruction, and emitted code goes on behind it.
 *
 * It decides one way only: what it lets pass is right by the rules of heapgraph/hg_access.h; what it does
 * not is a suspicion, of which it stops (dec_guard.doubt), and the log has to tell.
 *
 * While the allocator is at work the guard rests, unless what has no value is followed: other blocks, unguarded (engine.h), are
 * the code then. Where a function of the allocator begins, or returns to, both kinds begin with an event, and C goes on in the
 * other kind.
 *
 * A tag is the offset of its node's row in a table: {start, size}. Row 0 has all memory. A row that is
 * freed has none. Where rows and what finds shadow words lie is below 2 GiB, as the context.
 *
 * Of nodes that may be structs with arrays or structs in them (guard_parts.c) tags are from GUARD_PARTS on, one for
 * each part that pointers were led to: struct guard_parts_row.
 */
#ifndef DECODE_TRANSLATOR_GUARD_H
#define DECODE_TRANSLATOR_GUARD_H

#include <string.h>

#include "base/base.h"
#include "decode/translator/blank.h"
#include "decode/x86/insn.h"

struct dec_access;
struct dec_engine;
struct dec_emit;
struct translation;

/** Why it stopped. */
enum dec_doubt {
	DEC_DOUBT_NONE,
	DEC_DOUBT_ACCESS,  ///< an access that may be astray
	DEC_DOUBT_RELEASE, ///< a release that may be wrong
	DEC_DOUBT_CALL,	 ///< a function or system call that may be given what it must not
	DEC_DOUBT_VALUE, ///< something that has no value decides
	DEC_DOUBT_ROOM, ///< there is none for the shadow (blank.h) of what was mapped; elsewhere there may be
	DEC_DOUBT_BEYOND, ///< what is not followed: signals, faults, a heap below 4 GiB
	DEC_DOUBT_ASKS, ///< none yet: it goes on when it was told (DEC_HOOK_CLASS) of the block that is about to be had
};

enum dec_hook_kind {
	DEC_HOOK_NONE,
	DEC_HOOK_ALLOCATOR, ///< which: enum cap_heap_fn, or another of the allocator's
	DEC_HOOK_FAMILY, ///< a function that calls the allocator for family `which`: operator new, delete
	DEC_HOOK_STRING,  ///< extents, limit, width: what a call reads
	DEC_HOOK_COPY,	  ///< the slot that calls of memcpy go through
	DEC_HOOK_FOREIGN, ///< code of a library, up to end: vectors may read ahead there
	DEC_HOOK_PARTS, ///< blocks of end bytes may have parts that pointers are meant for: it asks (DEC_DOUBT_ASKS)
	DEC_HOOK_OWN,	///< the user's code, up to end
	DEC_HOOK_PART, ///< of a block that is asked about: at offset rip begins what is in it from offset start to end
	DEC_HOOK_CLASS, ///< blocks of end bytes that calls returning to rip get have the parts told of since the last one
	DEC_HOOK_CALLER, ///< .. have what the caller of that function says: limit, start, width as in struct dec_caller
};

/** Where the reading from one of the first two arguments ends. */
enum dec_hook_extent {
	DEC_EXTENT_NONE,
	DEC_EXTENT_ALL,	       ///< at the limit
	DEC_EXTENT_TEXT,       ///< at the terminator, or the limit
	DEC_EXTENT_VALUE,      ///< at the byte that is the second argument, or the limit
	DEC_EXTENT_ORDER,      ///< at the first difference or the terminator
	DEC_EXTENT_DIFFERENCE, ///< at the first difference
	DEC_EXTENT_UNKNOWN,
};

/** Where text that is read from the second argument is put. */
enum dec_hook_copies {
	DEC_COPIES_NONE,
	DEC_COPIES_ALL,	   ///< of mempcpy: to the first argument, up to the limit
	DEC_COPIES_TEXT,   ///< to the first argument
	DEC_COPIES_BEHIND, ///< behind the text there
};

/** A place that the guard is to know. */
struct dec_hook {
	uint64_t rip; ///< of COPY: the address of the slot
	uint8_t kind;
	uint8_t which; ///< of PART: of which struct, of CLASS: of how many that it may be
	uint8_t extent[2];
	uint8_t limit;	  ///< register; 0: none
	uint8_t times;	  ///< register that it is multiplied with; 0: none
	uint8_t copies;	  ///< enum dec_hook_copies
	uint8_t width;	  ///< bytes of an element; of PART: of its first field, up to 255
	bool is_resolver; ///< what it returns is the function
	bool is_array;	  ///< of PART; else it is a struct
	bool is_of_structs; ///< .. or an array of such
	bool is_once; ///< FAMILY: as a library's, it does so once, if at all, and then returns; it may be told a size (limit: in
		///< which register; times: in which the alignment is), new what it is to have
	uint32_t
		such; ///< of PART: a number for what is the same in all elements of an array; 0: there is one
	uint64_t end, start; ///< start: of PART; of CLASS of one struct a number for it
};

/** dec_hook.which of parts that pointers are meant for where they are meant for the same of another element. */
enum { DEC_HOOK_AS_SUCH = 0xff };

/** dec_hook.which of functions of the allocator that allocate nothing; of malloc_usable_size(); of those that nobody knows. */
enum { DEC_HOOK_OTHER = 0xff, DEC_HOOK_USABLE = 0xfe, DEC_HOOK_STRANGER = 0xfd };

#define GUARD_REGION (1ull << GUARD_REGION_SHIFT) ///< bytes, whose shadow is in one piece
#define GUARD_REGION_SHIFT 28
#define GUARD_REGIONS (1u << (47 - GUARD_REGION_SHIFT))
#define GUARD_ROOTS 16384 ///< of one
#define GUARD_ROOTS_AT (GUARD_REGIONS * 8)
#define GUARD_LANES_AT (GUARD_ROOTS_AT + GUARD_ROOTS * 16)
#define GUARD_STARTS (1u << 23) ///< bits: of addresses of 16 bytes
#define GUARD_STARTS_AT (GUARD_LANES_AT + 32 * 8 * 4)
#define GUARD_MOVES 65536
#define GUARD_MOVES_AT (GUARD_STARTS_AT + GUARD_STARTS / 8)
#define GUARD_ROWS_AT (GUARD_MOVES_AT + GUARD_MOVES * 16)
#define GUARD_PARTS_AT (192u << 20)
#define GUARD_PARTS (GUARD_PARTS_AT - GUARD_ROWS_AT) ///< the first such tag
#define GUARD_BYTES (320u << 20)		     ///< at least

/** What a word with @p value is that nobody was seen to write: the tag of the node that begins there, or 0.
 * At the value's bits 3 and on. */
struct guard_root {
	uint64_t value; ///< 0: not known
	uint64_t tag;
};

struct guard_row {
	uint64_t start, size;
};

/** What pointers to a node that may have parts are, by what is known of the first of the user's steps from its start. */
enum guard_way {
	GUARD_WAY_FREE,	 ///< none was made; but libraries did
	GUARD_WAY_START, ///< none, and it is the start
	GUARD_WAY_INDEX, ///< by an index to what is no part: a constant may follow that is part of the step
	GUARD_WAY_PART,
	GUARD_WAY_UNKNOWN, ///< no access by it is known to be right
};

/** What the user's code may access, and what other code may. A line of the cache: there may be millions. */
struct guard_parts_row {
	uint64_t start, size, other_start, other_size;
	uint64_t node_start;
	uint32_t node;
	uint32_t class; ///< index
	int32_t anchor; ///< to where the first step led, from the node's start
	uint32_t next;	///< of the node's; 0: none
	uint32_t first; ///< tag of the first step
	uint16_t
		steps; ///< by an index that were seen to lead there; GUARD_VARIED: one led elsewhere; of START: 1: one led nowhere
	uint8_t way;   ///< enum guard_way
	uint8_t behind; ///< .. from anchor, where a constant led that is part of that step; GUARD_VAGUE: not known
};

enum { GUARD_VARIED = UINT16_MAX, GUARD_VAGUE = UINT8_MAX };

_Static_assert(sizeof(struct guard_parts_row) == 64, "a line of the cache");

/** Where an instruction leads from a pointer; or, of pointers to the start of blocks of a class (index, in place of the tag), what
 * it may access: bytes from offset `to` on. */
struct guard_move {
	uint32_t tag, site, to, bytes;
};

struct guard_part {
	uint64_t offset, start, end;
	uint32_t such;
	uint8_t layout, element;
	bool is_array, is_of_structs;
};

/** Blocks of one size: they may be one of several structs, or a certain one. */
struct guard_class {
	uint32_t n_layouts;
	uint64_t layout; ///< of one: which
	VEC(struct guard_part) parts;
};

/** What was found last: of the class that a call of @p size bytes from @p site gets; of the number of the user's instruction at
 * @p rip; of the bytes from a block's start on, that pointers led to offset @p anchor by the first step are meant for. */
struct guard_known_class {
	uint64_t site, size; ///< site 0: none
	uint32_t class;	     ///< index + 1; 0: none
	uint32_t
		caller; ///< the caller says it: index of the hook that tells where that is + 1
};

struct guard_known_site {
	uint64_t rip;
	uint32_t site;
};

struct guard_known_bounds {
	uint32_t class; ///< index + 1
	uint64_t anchor, own[2], other[2];
};

enum { GUARD_KNOWN = 64, GUARD_STOP_BITS = 8 };

/** There may be millions. */
struct guard_node {
	uint64_t start, size;
	uint64_t site : 48;  ///< where the allocator returned to
	uint64_t family : 8; ///< by whom it was allocated; 0: by the allocator itself
	uint64_t is_live : 1;
	uint64_t is_wide : 1; ///< malloc_usable_size() told of more than was asked for
	uint32_t tag;	      ///< of a pointer to its start
	uint32_t next; ///< number of what realloc made of it where it was; 0: nothing
};

enum guard_event_kind {
	GUARD_EVENT_STEP,     ///< do the instruction
	GUARD_EVENT_RUN,      ///< do this one, and those behind it in its block
	GUARD_EVENT_BACKWARD, ///< rep stos went down: that is not followed
	GUARD_EVENT_MOVE, ///< as STEP, where a pointer to a block with parts is led on: tag, where to: the first scratch registers
	GUARD_EVENT_MOVS, ///< as STEP, of rep movs with elements of 1 << reg bytes
	GUARD_EVENT_BLANK, ///< as STEP, where it reads what has no value: a function of strings may, behind their end
	GUARD_EVENT_LOOK,  ///< at the operand of a branch
	GUARD_EVENT_WORD, ///< of a register that was loaded: whose pointer is it? Its address: first scratch
	GUARD_EVENT_STRING, ///< a function begins
	GUARD_EVENT_COPY,   ///< memcpy between memory that overlaps
	GUARD_EVENT_CALL,   ///< a function of the allocator begins, or has returned
};

/** What most stops by far are. */
enum guard_stop_way {
	GUARD_STOP_OTHER,
	GUARD_STOP_MALLOC, ///< it begins there, and nothing else does
	GUARD_STOP_FREE,
	GUARD_STOP_FAMILY, ///< a function begins that calls the allocator for its family
	GUARD_STOP_BACK,   ///< where a function may have returned to; none begins
};

struct guard_event {
	uint32_t block;
	uint32_t hook; ///< CALL, STRING: which is there: index + 1; 0: none
	uint64_t rip;
	uint8_t *resume;
	uint8_t *
		passed; ///< where it goes on before the instruction; BLANK: as if that had a value; MOVE: with the tag; MOVS: words
			///< have their tags; CALL: behind the other event
	uint8_t kind, reg, index;
	bool is_counted;     ///< the block is, where it leaves
	bool has_kept_flags; ///< when it leaves
	// CALL:
	uint8_t way;	   ///< enum guard_stop_way
	bool is_unguarded; ///< its block is
	int8_t pending;	   ///< of that
	uint32_t
		other; ///< event of one at the same place that is, if it is not: index + 1; 0: not known
};

/** Of which hook a call is: its number, and what of it is asked for often. */
struct guard_called {
	uint32_t number;
	uint8_t kind, which, times;
};

/** A call under way of the allocator, or of a resolver. */
struct guard_call {
	bool is_open;
	bool is_unguarded; ///< it is open, of the allocator, and what has no value is not followed
	struct guard_called hook;
	uint64_t rsp, returns, arg[3];
	uint64_t gpr[16];
	uint32_t tag[16], vec_tags;
	uint32_t
		tagged; ///< bits of registers: it, or the next one, has a tag, and gpr has both
	uint8_t family;
	bool has_class;
	uint32_t class; ///< of what it has got: index + 1; 0: none
};

/** The last call of memcpy, memset and the like. */
struct guard_fill {
	uint64_t rsp, returns, bytes;
	bool is_filler; ///< it is of a function that may call others for it
};

/** The outermost function under way that calls the allocator for its own family. */
struct guard_family {
	uint64_t rsp, returns;
	uint8_t family; ///< 0: there is none
	bool is_once;	///< it counts as over when it has called it
	bool is_told; ///< .. how much operator new is, or was, asked for, and with which alignment (0: none)
	uint64_t told, align;
};

/** What a thread that does not run has for itself. */
struct guard_thread {
	uint32_t tid;
	uint32_t tag[16], vec_tags, lanes[32][8];
	uint64_t string_call[2], passed;
	struct guard_fill fill;
	struct guard_call call;
	struct guard_family family;
	struct blank_thread blank;
};

/** A signal's handler under way: what it interrupted. */
struct guard_handler {
	uint64_t frame; ///< the stack pointer that it returns to the kernel with
	uint64_t gpr[16];
	struct guard_thread was; ///< but for what has no value
};

/** @return how many bytes the C++ library asks the allocator for where operator new is asked for @p n, to be aligned to
 * @p align (0: not): one at least, and a multiple of that (libstdc++). */
static inline uint64_t dec_guard_new_size(uint64_t n, uint64_t align)
{
	n += !n;
	return align & (align - 1) ? n :
				     (n + (align ? align - 1 : 0)) & -(align + !align);
}

/** Function @p fn of the allocator (enum cap_heap_fn) is called with arguments @p arg for operator new of @p n: the block has
 * that, not what that asked for, which is put there. (Not all libraries ask for a multiple of the alignment.) */
static inline void dec_guard_new_asks(int fn, uint64_t arg[3], uint64_t n, uint64_t align)
{
	uint64_t *bytes = fn == CAP_HEAP_MALLOC		? &arg[0] :
			  fn == CAP_HEAP_ALIGNED_ALLOC	? &arg[1] :
			  fn == CAP_HEAP_POSIX_MEMALIGN ? &arg[2] :
							  NULL;

	if (bytes && *bytes >= n &&
	    dec_guard_new_size(*bytes, align) == dec_guard_new_size(n, align))
		*bytes = n;
}

struct dec_guard {
	struct dec_blank *blank;  ///< NULL: what has no value is not followed
	bool is_without_pointers; ///< nothing else is
	enum dec_doubt doubt;
	bool is_patient;	///< accesses in doubt are listed, and it goes on
	VEC(uint64_t) accesses; ///< .. where they are
	/** By address / GUARD_REGION, where the shadow of a region begins; 0: nowhere. It has a word for each: tag << 32 |
	 * low half of the value. Without a tag that is no pointer; 0: not known. GUARD_LIVE_AT bytes on there is, for each 16 bytes, the
	 * number of the node that begins there and lives; 0: none. */
	uint64_t *regions;
	VEC(uint32_t) with_shadow; ///< numbers of those that have one
	struct guard_root *roots;
	/** Where no bit is set (at that of the address / 16) no node begins, nor ever did. An interpreter's memory is full of
	 * pointers that are to none. */
	uint32_t *starts;
	struct guard_row *rows;
	VEC(struct guard_node) nodes; ///< as rows
	uint32_t n_live;
	/** Numbers of those that live and begin in the same 16 bytes as another that does, by their starts. */
	struct map close;
	VEC(uint32_t) free_rows;  ///< of nodes that are gone, and no pointer is to
	VEC(uint32_t) free_parts; ///< rows of parts of such: tags
	uint32_t sweep_at;	 ///< so many nodes, and no such rows: they are looked for
	uint32_t sweep_parts_at; ///< .. or so many rows of parts
	uint64_t *marks;	 ///< while they are: bits of nodes that stay
	struct map none; ///< values between nodes that some word has as no pointer -> 1
	struct map none_pages; ///< .. pages that have such words -> 1
	unsigned n_reborn;     ///< nodes that began at one of them
	VEC(struct guard_event) events;
	struct map hooks; ///< rip -> index + 1
	VEC(struct dec_hook) hook;
	VEC(struct dec_hook) foreign;
	struct map parts;		 ///< sizes of blocks that may have any -> 1
	uint64_t asked_site, asked_size; ///< DEC_DOUBT_ASKS
	VEC(struct guard_part) told;	 ///< for the next class
	VEC(struct guard_class) classes;
	struct map class_of; ///< site, size -> index + 1; 0: no parts; or ask the caller
	struct guard_known_class known_classes[GUARD_KNOWN]; ///< .. found last
	struct guard_known_site known_sites[GUARD_KNOWN];
	struct guard_known_bounds known_bounds[GUARD_KNOWN];
	VEC(struct dec_hook) callers;
	struct map caller_of; ///< site -> index
	bool has_parts;	      ///< a node with parts was born
	uint32_t n_parts_rows, parts_rows_max;
	uint32_t n_parts_gone;	  ///< of nodes that are, and not free yet
	struct map sites;	  ///< rip -> number
	struct map led;		  ///< tag << 32 | site -> tag
	struct guard_move *moves; ///< those at hand
	VEC(struct dec_hook) own; ///< pieces of code, ascending
	struct guard_fill fill;
	struct map stops; ///< where functions of the allocator begin, or return to -> 1
	uint64_t known_stops[1 << GUARD_STOP_BITS]; ///< some of them
	uint64_t passed; ///< what there is to do at this one was done; 0: none
	struct guard_call call;
	struct guard_family family;
	VEC(struct guard_thread) threads; ///< that ran before
	VEC(struct guard_handler) handlers;
	uint64_t low, span, high_low, high_span; ///< where nodes lie: two pieces
	bool has_high;				 ///< there is a second piece,
	bool has_low;				 ///< .. or one below 4 GiB
	uint32_t at;				 ///< of rows and tables: below 2 GiB
	uint32_t (*lanes)[8]; ///< tags of the 32 vector registers' words
};

/** How it watches. */
enum {
	DEC_GUARD_PATIENT =
		1, ///< accesses and values in doubt are listed, and do not end it
	DEC_GUARD_VALUES = 2,	   ///< over what has no value, too (blank.h),
	DEC_GUARD_NO_POINTERS = 4, ///< .. alone
	DEC_GUARD_LEAVES_ROOM = 8, ///< below 2 GiB, where it can
	DEC_GUARD_FEW_ROWS = 16,   ///< what is gone is looked for all the time: a test's
};

/** While the allocator is at work nothing is looked at, so that code needs no more than it does without a guard (NULL), unless
 * what has no value is followed. @return whether it is so now. */
static inline bool dec_guard_rests(const struct dec_guard *g)
{
	return g && g->call.is_unguarded;
}

/** @return the piece of a library's code that @p rip is in (DEC_HOOK_FOREIGN); NULL: it is of none. */
static inline const struct dec_hook *dec_guard_foreign(const struct dec_guard *g,
						       uint64_t rip)
{
	return vec_find(&g->foreign, f, rip >= f->rip && rip < f->end);
}

/** Begin, with the program's first instruction. @p how: DEC_GUARD_*.
 * @return ERR_UNSUPPORTED: there is no room, or the CPU
 * cannot. */
struct err *dec_guard_start(struct dec_engine *e, uint32_t how);

/** Know @p h. @return ERR_NOMEM. */
struct err *dec_guard_hook(struct dec_engine *e, const struct dec_hook *h);

/** @return whether @p insn calls memcpy, by a slot that is known (DEC_HOOK_COPY). */
bool dec_guard_is_copy(const struct dec_guard *g, const struct dec_insn *insn);

/** @return the character of @p width bytes, 1 or 4, at @p addr. */
static inline uint64_t dec_guard_element(uint64_t addr, uint32_t width)
{
	uint32_t wide;

	if (width == 1)
		return *(const uint8_t *)addr;
	memcpy(&wide, (const void *)addr, sizeof(wide));
	return wide;
}

/** @return character @p v, the same of letters of either case. */
uint64_t dec_guard_fold(uint64_t v);

/** Stop: it is not known that all is right. */
void dec_guard_doubt(struct dec_engine *e, enum dec_doubt doubt, uint64_t rip);

/** A handler is about to begin, with general registers @p gpr; @p is_fault: as an instruction faulted, which is not
 * followed. */
void dec_guard_signal(struct dec_engine *e, const uint64_t gpr[16], bool is_fault);

/** It returned to the kernel with the stack pointer @p frame: the guest's registers are those that it goes on with. */
void dec_guard_signal_over(struct dec_engine *e, uint64_t frame);

/** The instruction at rip faults, which ends the program: it is in doubt if it was by a pointer to a block, or by what has
 * no value. */
void dec_guard_fatal(struct dec_engine *e);

/** Thread @p to runs, after @p from; @p is_new: for the first time. Its registers are no pointers then, as the log
 * has it. */
void dec_guard_switch(struct dec_engine *e, uint32_t from, uint32_t to, bool is_new);

/** The guest stands where it was to stop: a hook, perhaps. @return whether it was one. */
bool dec_guard_at_stop(struct dec_engine *e);

/** Emitted code left with an event. @return where it goes on; NULL: in doubt, or nowhere: all code was dropped, and
 * the guest stands at rip. */
uint8_t *dec_guard_event(struct dec_engine *e);

/** The block that begins with event @p event is dropped. */
void dec_guard_forget_stop(struct dec_guard *g, uint32_t event);

/** @return whether it is to stop at @p rip: blocks begin there. */
bool dec_guard_stops_at(const struct dec_guard *g, uint64_t rip);

/** Do the instruction at rip, as dec_engine_step(), where no block is entered: what is to be done in front of it, too. */
int dec_guard_step(struct dec_engine *e);

/** A system call is about to be answered, which accesses @p a; it wrote @p n bytes at @p addr; it, @p number, was
 * answered. */
void dec_guard_accessed(struct dec_engine *e, const struct dec_access *a, size_t n);
void dec_guard_written(struct dec_engine *e, uint64_t addr, uint64_t n);
void dec_guard_answered(struct dec_engine *e, uint64_t number);

/* ---- guard_parts.c: nodes with parts ---------------------------------------------------------- */

static inline bool dec_guard_has_parts(uint32_t tag)
{
	return tag >= GUARD_PARTS;
}

static inline struct guard_parts_row *dec_guard_parts_row(const struct dec_guard *g,
							  uint32_t tag)
{
	return (struct guard_parts_row *)((char *)g->rows + tag);
}

/** @return whether @p rip is of the user's code. */
bool dec_guard_is_own(const struct dec_guard *g, uint64_t rip);

/** Calls may get blocks of other classes from now on. */
void dec_guard_parts_anew(struct dec_guard *g);

/** Of what is told: OWN, PART, CLASS. @return ERR_NOMEM. */
struct err *dec_guard_parts_told(struct dec_guard *g, const struct dec_hook *h);

/** The allocator's call that is under way returns with @p size bytes: is it known what is in them (call.class)? @return false: it
 * is in doubt (DEC_DOUBT_ASKS). */
bool dec_guard_parts_known(struct dec_engine *e, uint64_t size);

/** .. and need nobody be asked, nor anything be made, for a block with them to begin, or one without any? */
bool dec_guard_parts_may_begin(struct dec_engine *e, uint64_t size);

/** Node @p n begins, which that call has got, with parts. @return its tag; 0: in doubt. */
uint32_t dec_guard_parts_born(struct dec_engine *e, uint32_t n);
void dec_guard_parts_died(struct dec_guard *g, const struct guard_node *n);

/** No pointer is to @p n, which is gone: its rows are free. Then that of others, too: nothing is known of them any more.
 * @return ERR_NOMEM. */
struct err *dec_guard_parts_free(struct dec_guard *g, struct guard_node *n);
struct err *dec_guard_parts_forget(struct dec_guard *g);

/** Arithmetic of the instruction at @p rip, @p is_indexed: of more than one register, led from a pointer of @p tag to @p value,
 * another one. @return its tag. */
uint32_t dec_guard_parts_step(struct dec_engine *e, uint32_t tag, uint64_t rip,
			      bool is_indexed, uint64_t value);

/** .. at the guard's door. @return 0: it is not the first step from a block, or there is no room to keep it: C's, elsewhere. */
uint32_t dec_guard_parts_begin(struct dec_engine *e, uint32_t tag, uint64_t rip,
			       bool is_indexed, uint64_t value);

/** May operand @p m of @p insn, in a live node and inside, be accessed by a pointer of @p tag? With general
 * registers @p gpr. */
bool dec_guard_parts_is_right(struct dec_engine *e, uint32_t tag,
			      const struct dec_insn *insn, const struct dec_mem *m,
			      const uint64_t *gpr, uint64_t addr, uint64_t size);

/** .. by code that is not the user's, which was asked for @p intent bytes (0: not known)? */
bool dec_guard_parts_may(const struct dec_guard *g, uint32_t tag, uint64_t addr,
			 uint64_t size, uint64_t intent);

/** @return how much from @p addr on, inside, other code may access that is not known what it was asked for. */
uint64_t dec_guard_parts_room(const struct dec_guard *g, uint32_t tag, uint64_t addr);

/** A call copies @p size bytes from @p from, of tag @p source, to @p addr: may text go on behind an array? */
bool dec_guard_parts_spill(const struct dec_guard *g, uint32_t tag, uint64_t addr,
			   uint64_t size, uint32_t source, uint64_t from);

/** @return the tag of a pointer to the node of @p tag of which nothing is known. */
uint32_t dec_guard_parts_unknown(struct dec_engine *e, uint32_t tag);

/** @return a number for the instruction at @p rip as one that moves a pointer; + 1: as one that accesses memory by an index. */
uint32_t dec_guard_parts_site(struct dec_guard *g, uint64_t rip);

/** @return where in moves that of @p site from @p tag is, in bytes. */
static inline uint32_t dec_guard_move_at(uint32_t tag, uint32_t site)
{
	return ((tag >> 2) + site * 0x9e3779b0u) & (GUARD_MOVES - 1) * 16;
}

/* ---- guard_emit.c: parts of a block --------------------------------------------------------- */

/** @return which registers the beginning of the block needs; which @p insn does beside its own. */
uint32_t dec_guard_used_first(const struct translation *t);
uint32_t dec_guard_used(const struct translation *t, const struct dec_insn *insn);

/** Where the block begins C looks, if that is a stop: before anything is borrowed or counted. */
void dec_guard_stop(struct translation *t);

/** Borrow the registers; who has them for another block already goes in behind that. */
void dec_guard_borrow(struct translation *t);
void dec_guard_open(struct translation *t);
void dec_guard_before(struct translation *t, int i);
void dec_guard_after(struct translation *t, int i);

/** The instructions are done. @p is_direct: where the block leads is known, and may take over the registers: they are given
 * back on the way (dec_guard_give_back()). */
void dec_guard_close(struct translation *t, bool is_direct);

/** Emit, at @p out: the registers that were borrowed are the guest's again. */
void dec_guard_give_back(const uint8_t scratch[3], struct dec_emit *out);

#endif
