// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Names for addresses: functions, source lines, inlined calls and struct layouts, from
 * the ELF symbols and DWARF of the modules a capture kept (libdw). Not shared between
 * threads.
 */
#ifndef DECODE_SYMBOLS_SYMBOLS_H
#define DECODE_SYMBOLS_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>

#include "capture/capture.h"

struct dec_symbols;

/** A call that the compiler replaced by the body of what is called. */
struct dec_inlined {
	const char *file; ///< of the call; NULL when unknown
	int line;
	const char *function; ///< that calls; NULL when unknown
};

/** Where an instruction comes from. Strings live as long as the dec_symbols. */
struct dec_place {
	const char *file;     ///< as DWARF has it; NULL without line information
	int line;	      ///< 0 without line information
	const char *function; ///< innermost (inlined) function; NULL when unknown
	const char
		*outer; ///< the function's symbol that holds the code; may equal function
	uint64_t offset;    ///< from the start of outer's symbol; else ELF's address
	const char *module; ///< path of the module; NULL outside any
	bool is_inlined;
	bool is_filled; ///< no statement's: it has the line of the one before
	bool is_displaced; ///< so, or its statement does not begin there, as the line table says
	bool is_within; ///< nothing begins at the instruction: its row began before it
	const struct dec_inlined
		*inlined; ///< the calls, innermost first; as strings live
	uint32_t n_inlined;
	const char *directory; ///< that a relative file is relative to; NULL when unknown
};

/** Write `quad.c:40 in split`, or `prog: main+0x12` without lines. */
void dec_place_print(const struct dec_place *p, FILE *out);

/** Of code that a library's headers brought @p p becomes the user's statement that it is in: where it was inlined.
 * @return false: there is none, it is a function of its own, and @p p is as it was. */
bool dec_place_to_users(struct dec_place *p);

/** A field of a struct, nested structs and arrays flattened (paper 001, section 2.4.1). */
struct dec_field {
	const char *name;      ///< "next", "child[2]", "pos.x"
	uint32_t offset, size; ///< bytes
	bool is_pointer, is_signed, is_float;
	const char *points_to; ///< struct tag the pointer leads to, NULL otherwise
	uint8_t bit_size;      ///< 0 unless a bit-field
	uint8_t bit_offset;    ///< from the low bit of the little-endian value at offset
};

struct dec_struct {
	const char *name; ///< tag (or typedef) name
	uint32_t size;	  ///< bytes
	const struct dec_field *fields;
	uint32_t n_fields;

	/** Of a flexible array at the end (`next[]`): its name, NULL for none, where it
	 * begins, and its first element's fields, which stand behind the n_fields. */
	const char *tail;
	uint32_t tail_offset, tail_bytes; ///< tail_bytes: of an element
	uint32_t n_tail;
};

/** Load the executable and libraries of @p c. Modules mapped later are added with
 * dec_symbols_add(). */
struct err *dec_symbols_create(const struct capture *c, struct dec_symbols **ret);
void dec_symbols_destroy(struct dec_symbols *s);

/** An empty set of modules, to be filled with dec_symbols_add_path(): no capture. */
struct err *dec_symbols_create_empty(struct dec_symbols **ret);

/** Add ELF file @p stored, displayed as @p path, with link-time address + @p bias as
 * address, over its whole loaded range. The first one counts as the executable. */
struct err *dec_symbols_add_path(struct dec_symbols *s, const char *stored,
				 const char *path, uint64_t bias);

/** Add the ELF file open as @p fd (borrowed; -1: it is known by name only), displayed as @p path,
 * mapped so that its byte at @p file_offset is at @p addr. The first one counts as the
 * executable. @return err_nomem, ERR_OS. */
struct err *dec_symbols_add_file(struct dec_symbols *s, int fd, const char *path,
				 uint64_t addr, uint64_t size, uint64_t file_offset);

/** Nothing is mapped any more, all is to be added again. Files stay open. */
void dec_symbols_unmap(struct dec_symbols *s);

/** Only what was mapped at the start is mapped: a replay begins anew. */
void dec_symbols_rewind(struct dec_symbols *s);

/** Add what @p core says is mapped as code. */
struct err *dec_symbols_add_core(struct dec_symbols *s, const struct cap_core *core);

/** @return where byte @p offset of file @p file of the capture is mapped; 0: nowhere. */
uint64_t dec_symbols_address(const struct dec_symbols *s, uint32_t file, uint64_t offset);

/** The file number @p file (1-based) of the capture is mapped so that its byte at
 * @p file_offset is at @p addr. Call for every executable mapping; repeats are ignored. */
struct err *dec_symbols_add(struct dec_symbols *s, uint32_t file, uint64_t addr,
			    uint64_t size, uint64_t file_offset);

/** Explain @p rip. Fields that are not known are NULL or 0; never fails. */
void dec_symbols_place(struct dec_symbols *s, uint64_t rip, struct dec_place *ret);

/** The same without debug information, which is not unpacked for it: module, outer, function (the same)
 * and offset. */
void dec_symbols_place_bare(struct dec_symbols *s, uint64_t rip, struct dec_place *ret);

/** @return what code at @p rip is called that is no function's (a label of assembler, `malloc@plt`),
 * @p offset: how far behind its beginning that is; NULL: nothing. For who shows code: a place
 * (dec_symbols_place()) knows functions alone. */
const char *dec_symbols_label(struct dec_symbols *s, uint64_t rip, uint64_t *offset);

/** @return whether at @p rip a function begins, or a stub that leads to it, from which by its name no call
 * comes back (base/noreturn.h). */
bool dec_symbols_never_returns(struct dec_symbols *s, uint64_t rip);

/** Open the source file of @p p, if there is one that may be read (doc/files.md): below the
 * directory of dec_symbols_sources(), or named by a program that lies here. @return NULL when
 * not, or without memory; else for fclose(). */
FILE *dec_symbols_source(struct dec_symbols *s, const struct dec_place *p);

/** The user keeps the sources below @p dir, which is borrowed; NULL: he named none. */
void dec_symbols_sources(struct dec_symbols *s, const char *dir);

/** @return the path of the module that holds @p rip, as the program saw it; NULL: none does. For this
 * alone no debug information is read. */
const char *dec_symbols_module(struct dec_symbols *s, uint64_t rip);

/** @return whether a module's segments lie about @p addr, in or between them: from @p start to @p end. */
bool dec_symbols_extent(struct dec_symbols *s, uint64_t addr, uint64_t *start,
			uint64_t *end);

/** @return whether the module that holds @p rip (0: the executable) has DWARF. The
 * system's libraries count as without, also where their debug packages are installed:
 * a store in memcpy() is its caller's statement, here as on any other machine. */
bool dec_symbols_has_debug(struct dec_symbols *s, uint64_t rip);

/** Go through the code of modules that have DWARF, as dec_symbols_has_debug() says: @p *i is 0 at first.
 * @return whether there is more: from @p start to @p end. */
bool dec_symbols_next_debug(struct dec_symbols *s, size_t *i, uint64_t *start,
			    uint64_t *end);

/** Entry addresses of function @p name in any module (also out-of-line copies such as
 * name.isra.0, name.part.0), up to @p max. The linker calls it so: a pool's method malloc(), or a program's
 * own static close(), is not C's.
 * @return how many there are. */
size_t dec_symbols_entries(struct dec_symbols *s, const char *name, uint64_t *ret,
			   size_t max);

/** Call @p fn with each function of the module that holds @p rip that others may call by its name (@p name: until that is
 * unmapped). @return what it does. */
struct err *dec_symbols_linked(struct dec_symbols *s, uint64_t rip,
			       struct err *(*fn)(void *ctx, const char *name,
						 uint64_t entry),
			       void *ctx);

/** As dec_symbols_entries(), and static functions, and those of C++ that have this name in their class or namespace. */
size_t dec_symbols_methods(struct dec_symbols *s, const char *name, uint64_t *ret,
			   size_t max);

/** Addresses of the resolvers of function @p name (STT_GNU_IFUNC), which are called for its
 * entry, as above. dec_symbols_entries() has them, too. */
size_t dec_symbols_resolvers(struct dec_symbols *s, const char *name, uint64_t *ret,
			     size_t max);

/** Addresses of the slots through which modules that are there call function @p name of others, as
 * above. */
size_t dec_symbols_slots(struct dec_symbols *s, const char *name, uint64_t *ret,
			 size_t max);

/** Entry pcs of every inlined instance of @p name, as above. */
size_t dec_symbols_inlined_entries(struct dec_symbols *s, const char *name, uint64_t *ret,
				   size_t max);

/** Layout of the struct or union @p name: its tag, a typedef's name, or that of the member or
 * variable that an unnamed one is the type of. What it is in (namespaces, classes, functions, its
 * file) may stand before it, each with "::"; a template's arguments may be left out. What is in
 * nothing wins over what is, the executable over libraries. ret->name is the shortest such name
 * that means no other struct of its module, as in dec_field.points_to and
 * dec_symbols_alloc_type(). @return ERR_NOT_FOUND, ERR_AMBIGUOUS. */
struct err *dec_symbols_struct(struct dec_symbols *s, const char *name,
			       const struct dec_struct **ret);

/** Call @p fn with the size in bytes of each struct that has an array or a struct in it, of the user's modules from
 * the first on that were not told of before: @p n_told (0 at first) moves on. What the system's alone know
 * no code of the user's accesses. @p bytes: only of those of this size, with their names for dec_symbols_struct();
 * 0: of all, without. @return an error of @p fn's, or
 * ERR_NOMEM. */
struct err *dec_symbols_composites(struct dec_symbols *s, size_t *n_told, uint64_t bytes,
				   struct err *(*fn)(void *ctx, uint64_t bytes,
						     const char *name),
				   void *ctx);

/** Call @p fn with each piece of code that the line tables of modules with debug information tell of, of those mapped
 * since the last time: @p n_told (0 at first) moves on. @return an error of @p fn's. */
struct err *dec_symbols_lined(struct dec_symbols *s, size_t *n_told,
			      struct err *(*fn)(void *ctx, uint64_t start, uint64_t end),
			      void *ctx);

/** Call @p fn with the name, nothing before it, of each struct of the modules looked through so
 * far. */
void dec_symbols_struct_names(struct dec_symbols *s,
			      void (*fn)(void *ctx, const char *name), void *ctx);

/** Address of the first instruction (is_stmt) of each line in @p file:@p line; for
 * C-point comments. One for each scope (inlined copy) that has the line, and for a
 * function's last brace each place where it returns. Same return convention as
 * dec_symbols_entries(). */
size_t dec_symbols_line_addrs(struct dec_symbols *s, const char *file, int line,
			      uint64_t *ret, size_t max);

/** The lines with statements nearest to @p line of @p file, 0 where there is none: @p before it,
 * @p after it. @return whether there is a file of this name. */
bool dec_symbols_near_lines(struct dec_symbols *s, const char *file, int line,
			    int *before, int *after);

/**
 * Which struct does the memory allocated by the call that returns to @p return_rip hold?
 * Evidence is DWARF's: the pointer variable, field or return type that receives the
 * call's result there. @p size: bytes requested.
 *
 * @param is_sure  true when a typed pointer receives the result; false when only the
 *		   size agrees with exactly one struct of that compile unit.
 * @return the struct tag, or NULL when DWARF does not say. NULL with is_sure: it does
 *	   say, and it is no struct (a string, an array). NULL without: ask again with
 *	   the return address of the next outer frame, this one is a wrapper of malloc.
 */
const char *dec_symbols_alloc_type(struct dec_symbols *s, uint64_t return_rip,
				   uint64_t size, bool *is_sure);

/** @return the struct of @p size bytes that the function of the user's whose call returns to @p return_rip is declared to
 * return a pointer to; NULL: none, or that is not known. It may have gone on as one that allocates. */
const char *dec_symbols_returned_type(struct dec_symbols *s, uint64_t return_rip,
				      uint64_t size);

/** Where who called is found. Its rsp, behind the return address, is bytes from a register on. */
struct dec_caller {
	bool is_none; ///< nobody did: this is where a thread begins
	uint8_t reg;  ///< CAP_RSP or CAP_RBP
	int64_t bytes;
	uint8_t rbp_words; ///< so far below its rsp its rbp is kept; 0: that is as it was
};

/** @p ret: of the function whose call returns to @p return_rip. @return false: that is not known, or is no such thing. */
bool dec_symbols_caller(struct dec_symbols *s, uint64_t return_rip,
			struct dec_caller *ret);

#endif
