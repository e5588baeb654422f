// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What hg_access.c, which follows the run, and hg_astray.c, which judges single accesses,
 * share.
 */
#ifndef HEAPGRAPH_HG_ACCESS_INT_H
#define HEAPGRAPH_HG_ACCESS_INT_H

#include "decode/history/frames.h"
#include "heapgraph/hg_access.h"
#include "heapgraph/hg_derive.h"
#include "heapgraph/hg_strings.h"

/** A thread's last system call. */
struct hg_kernel_call {
	bool is_childs;	   ///< what it wrote is what a vfork child did
	uint64_t position; ///< when it returned
};

/** A call under way of a function that the judge named. */
struct hg_open_call {
	uint32_t which;
	uint64_t rsp, position;
};

/* What is one thread's own. */
struct thread {
	uint8_t family; ///< of the operator new or delete under way, entered with
	uint64_t family_rsp;
	bool is_told; ///< .. how much operator new was asked for, and with which alignment (0: none)
	uint64_t told, align;
	uint8_t allocating;	   ///< .. when the allocator was entered
	bool is_releasing;	   ///< .. for what has no result
	uint64_t made_at;	   ///< .. where that is put; 0: in rax
	uint32_t asked;		   ///< node of which malloc_usable_size() tells; 0: none
	struct hg_node_id resized; ///< that the allocator is to resize; {0}: none
	VEC(struct hg_open_call) open;
	uint64_t allocator_rsp; ///< in the allocator, entered with this rsp; 0: outside
	uint64_t stranger;	///< .. by this function of it that nobody knows; 0: not
	bool is_back;		///< it returned just before
	bool has_jumped;    ///< the last instruction was not followed by its neighbour
	uint64_t call_size; ///< rdx at the last call out of the user's code
	struct hg_string_call string;
	struct hg_kernel_call kernel;
};

/** What is known for reports (hg_reports.c). Zeroed: nothing. */
struct hg_reports {
	struct map lines; ///< statement -> hash of its function and source line
	struct map seen;  ///< hash of what was found -> index + 1
	VEC(struct hg_chain) chains; ///< of calls, each once
	struct map numbers;	     ///< hash of a chain -> index + 1
	VEC(uint32_t) allocated;     ///< by node: its chain's index + 1; 0: not known
};

/** What a vfork child wrote, which works with the program's own allocator. */
struct hg_childs {
	uint64_t start, end, time;
};

/** A handler under way: what it interrupted. */
struct hg_handler {
	uint64_t frame; ///< the stack pointer that it returns to the kernel with
	struct hg_derived_regs regs;
};

#define HG_PARTS 1024

/** What begins at @p offset in a struct. */
struct hg_part {
	const struct dec_struct *in; ///< NULL: nobody asked yet
	const char *name;	     ///< NULL: no array, no struct
	uint32_t field;		     ///< whose name that is
	size_t length;		     ///< of it
	uint64_t offset;
	uint64_t start, end; ///< of the array in it that it is an element of
};

/** Where what has byte @p at is, of those like the part at offset @p part: of another element. */
struct hg_such {
	const struct dec_struct *in; ///< NULL: nobody asked yet
	uint64_t part, at;
	uint64_t start, end;
};

#define HG_SUCH 8192

#define HG_INDEXED 4096

/** An instruction, or a line, was inside of what begins at @p anchor in its node, by an index. */
struct hg_indexed {
	uint64_t key;
	int64_t anchor;
};

struct hg_finder {
	struct hg_recorder *recorder;
	const struct hg_graph *graph; ///< that it makes
	hg_layout_fn layout;
	void *layout_ctx;
	struct hg_derive derive;
	struct frames *frames; ///< lent for each step
	uint32_t n_mapped;     ///< of what these had mapped, entries and strings know
	struct hg_strings strings;
	VEC(struct thread) threads; ///< as derive's
	struct thread *thread;
	struct map
		entries; ///< of the allocator -> index in dec_allocator + 1, or HG_STRANGER
	uint64_t strange_at; ///< when a stranger was called last; 0: never
	struct map
		lent; ///< nodes that such were given: whether they live they may know -> 1
	bool has_librarys_new; ///< operator new and delete are one library's
	struct map points;     ///< of functions that somebody is told of (hg_points.c)
	struct map slots;      ///< .. that are known by the slots they are called through
	struct hg_judge judge;
	struct map stayed;     ///< node that realloc made in another one's place -> that
	struct map usable;     ///< node -> bytes that malloc_usable_size() told of it
	VEC(uint8_t) families; ///< by node; 0: not known
	VEC(const struct dec_struct *) layouts; ///< by node; NULL: nobody asked yet
	struct map fields;			///< of each layout -> struct hg_fields *
	struct hg_reports reports;
	struct hg_part parts[HG_PARTS];	       ///< by struct and offset
	struct hg_such such[HG_SUCH];	       ///< by struct and offsets
	struct hg_indexed indexed[HG_INDEXED]; ///< by address
	hg_accesses *found;
	uint64_t n_wrong;	 ///< accesses that were, or may be, wrong
	bool is_without_history; ///< stores are told of inside of string functions alone
	bool is_level; ///< derive.regs->value is what the glance has, but for signals
	VEC(struct hg_handler) handlers;
	VEC(struct hg_childs) childs;
};

#define HG_STRANGER UINT32_MAX ///< of dec_allocator_strangers()

/** An access by a pointer, before it is known whether it is wrong, and new. */
struct hg_suspect {
	uint64_t part_start, part_end; ///< FIELD: of the part left, from the node's start
	enum hg_access_kind kind;
	bool is_write;
	uint64_t position, pc;
	uint64_t statement; ///< 0: that of pc, at present
	uint64_t addr, size;
	uint64_t intent; ///< bytes that the call is to deal with; 0: not known
	uint32_t derivation;
	const struct dec_insn *insn; ///< NULL: not an instruction's, but a call's
	const struct dec_mem *m;     ///< its operand
	struct hg_node_id to;
	const char *field;
	size_t field_length;
	bool is_quiet; ///< it is no mistake by itself, but may be one of those:
	uint64_t
		whole_end; ///< it is no mistake if it is one of many up to there; 0: it is one
};

/** An access of operand @p m of @p insn, by a pointer of @p derivation (not 0). */
struct hg_operand {
	const struct dec_insn *insn;
	const struct dec_mem *m;
	uint64_t position, addr;
	uint32_t size, derivation;
	bool is_write;
};

/** Report it if it is to other memory than its pointer; its base is in derive.regs->value. @return
 * ERR_NOMEM. */
struct err *hg_access_check(struct hg_finder *f, const struct hg_operand *o);

/** @return whose pointer the address of @p m, @p size bytes at @p addr, is made of: of two, that to
 * where the access is; 0: nobody's. Its base is a general register. */
uint32_t hg_access_derivation(const struct hg_finder *f, const struct dec_mem *m,
			      uint64_t addr, uint64_t size);

/** @return the largest array or struct inside @p t that begins at @p offset, with no name when there is
 * none; until the next call. */
const struct hg_part *hg_fields_part(struct hg_finder *f, const struct dec_struct *t,
				     uint64_t offset);

/** The fields of a struct, to be found by offset and by name. */
struct hg_fields;

/** Those of @p t (borrowed). @return ERR_NOMEM. */
struct err *hg_fields_create(const struct dec_struct *t, struct hg_fields **ret);
void hg_fields_destroy(struct hg_fields *o);

/** @return those of @p t, a layout that @p f was given. */
struct hg_fields *hg_access_fields(const struct hg_finder *f, const struct dec_struct *t);

/** @return where the outermost array, or the field, begins that has byte @p offset; UINT64_MAX: there is
 * none. @p end: behind it. */
uint64_t hg_fields_outermost(struct hg_fields *o, uint64_t offset, uint64_t *end);

/** @return the bytes of the first field at @p offset; 0: none begins there. */
uint32_t hg_fields_element(const struct hg_fields *o, uint64_t offset);

/** Part @p p may be an element of an array of structs: that is from @p start to @p end, with what fills up the last one.
 * @return how far it is from one to the next; 0: it is none, or that is not known. */
uint64_t hg_fields_elements(struct hg_fields *o, const struct hg_part *p, uint64_t *start,
			    uint64_t *end);

/** @return whether @p size bytes at @p at are within part @p p of this or of another element of the arrays that it
 * is in: of a[2].name in some a[i].name. */
bool hg_fields_is_in_such(struct hg_finder *f, const struct hg_part *p, uint64_t at,
			  uint64_t size);

/** @return whether fields are known among @p size bytes at @p at. */
bool hg_fields_is_any(const struct hg_fields *o, uint64_t at, uint64_t size);

/** Up to where accesses of an instruction, by the same pointer, are right. */
struct hg_meant {
	uint32_t derivation, node; ///< 0: none is known
	uint64_t start, end;
	int64_t anchor; ///< where the part begins that they are meant for, from the node's start; -1: none
	uint64_t base; ///< .. with this base and displacement added; 0: with any
	uint64_t key;  ///< hg_astray_indexed() is to be told; 0: not
};

/** What is like access @p o of the user's code, which was right and is to a struct, perhaps with parts? Its base is in
 * derive.regs->value. @return false: that is not known. */
bool hg_astray_meant(struct hg_finder *f, const struct hg_operand *o,
		     struct hg_meant *ret);

/** What @p key stands for (its own, or its line's, see hg_indexed) was inside of what begins at @p anchor. */
static inline void hg_astray_indexed(struct hg_finder *f, uint64_t key, int64_t anchor)
{
	f->indexed[key % HG_INDEXED] = (struct hg_indexed){ key, anchor };
}

/** @return whether @p addr up to @p size bytes on are the node's of @p derivation. */
bool hg_astray_is_inside(const struct hg_finder *f, uint32_t derivation, uint64_t addr,
			 uint64_t size);

/** @return whether realloc gave the memory of node @p old, in its place, to node @p new (perhaps {0}), by one or more
 * others: that is the same for all that points there. */
bool hg_astray_is_successor(const struct hg_finder *f, struct hg_node_id old,
			    struct hg_node_id new);

/** Add @p x, which is wrong, to what was found. @return ERR_NOMEM. */
struct err *hg_reports_add(struct hg_finder *f, const struct hg_suspect *x);

/** @return a number, the same for all instructions of the source line, in its function, that @p rip is
 * of. */
uint64_t hg_reports_line(struct hg_finder *f, uint64_t rip);

/** Node @p id was just allocated: keep by which calls. @return ERR_NOMEM. */
struct err *hg_reports_allocated(struct hg_finder *f, struct hg_node_id id);
void hg_reports_deinit(struct hg_reports *r);

/* ---- points of the run (hg_points.c); each returns what the judge does, or ERR_NOMEM ---------- */

/** Modules were mapped: look for the functions to be told of. */
struct err *hg_points_find(struct hg_finder *f, struct dec_symbols *symbols);

/** Function number @p fn (of dec_allocator) of the allocator is entered, by nothing of its own. */
struct err *hg_points_allocator(struct hg_finder *f, const struct dec_step *s, int fn);

/** A function of the allocator that nobody knows is entered by others. */
struct err *hg_points_stranger(struct hg_finder *f, const struct dec_step *s);

/** It told that node thread->asked (0: none was asked about) has @p bytes, perhaps more than requested. */
struct err *hg_points_usable(struct hg_finder *f, uint64_t bytes);

/** It gave out node @p id. */
struct err *hg_points_allocated(struct hg_finder *f, struct hg_node_id id);

/** Behind a jump: a function may begin. */
struct err *hg_points_enter(struct hg_finder *f, const struct dec_step *s);

/** The call of a string function is over: did it copy text? */
struct err *hg_points_text(struct hg_finder *f);

/** An instruction that may call one through a slot. */
struct err *hg_points_call(struct hg_finder *f, const struct dec_step *s);

/** A function returned, its return address at @p rsp. */
struct err *hg_points_return(struct hg_finder *f, uint64_t position, uint64_t pc,
			     uint64_t rsp);

/** A system call is made; and was answered. */
void hg_points_syscall(struct hg_finder *f, const struct dec_step *s, struct hg_point *p);
struct err *hg_points_answered(struct hg_finder *f, struct hg_point *p);

/** An access, whatever it is, by a pointer of @p derivation (0: none). */
struct err *hg_points_access(struct hg_finder *f, const struct dec_step *s,
			     const struct dec_ref *r, uint32_t derivation);

/** A call was told to copy what @p x is, from @p from by a pointer of derivation @p source (0: not known),
 * to where an array begins, and did: report it if it is text that went on into what lies behind
 * (hg_spill.c). @return ERR_NOMEM. */
struct err *hg_astray_copied(struct hg_finder *f, struct hg_suspect *x, uint64_t from,
			     uint32_t source);

/** The same, if it is known that all of it is within a node of layout @p t, and that by its length it may
 * be meant for several fields. */
struct err *hg_spill_check(struct hg_finder *f, struct hg_suspect *x,
			   const struct dec_struct *t);

/** Report @p x if it is to other memory than its pointer. @return ERR_NOMEM. */
struct err *hg_astray_check(struct hg_finder *f, struct hg_suspect *x);

#endif
