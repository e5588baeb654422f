// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The identity of data structures (paper 001, section 4.2.1): which heap node is of which
 * type of the specification.
 */
#ifndef FAULTLOCATE_FL_TYPES_H
#define FAULTLOCATE_FL_TYPES_H

#include "decode/symbols/symbols.h"
#include "faultlocate/fl_roots.h"
#include "heapgraph/hg_record.h"
#include "specdsl/specdsl.h"

/** The type's name that stands for glibc's free chunks. */
#define FL_CHUNK_TYPE "malloc_chunk"

/** .. for the heads of its bins. */
#define FL_BIN_TYPE "malloc_bin"

/** @return the index of malloc_chunk among the types of @p s, or -1. */
int fl_types_chunk(const struct spec *s);

/** How types were found. */
struct fl_typing {
	uint64_t n_by_site;  ///< nodes by an allocation site of the spec
	uint64_t n_by_dwarf; ///< nodes by the pointer that receives them
	uint64_t n_by_size;  ///< nodes inferred from their size alone
	uint64_t n_untyped;
};

/** Bind the layouts that DWARF knows (malloc_chunk's is built in) and the roots, as
 * fl_roots_bind() does, and resolve @p s. Names of types without a layout are appended to
 * @p unknown, separated by commas. */
struct err *fl_types_bind(struct spec *s, struct dec_symbols *symbols,
			  fl_variables *variables, char *unknown, size_t unknown_bytes);

/** Declare in @p s, which has no types, the structs of all allocations of @p g that DWARF
 * knows; and those of glibc's allocator, when @p with_chunk. */
struct err *fl_types_declare(struct spec *s, struct dec_symbols *symbols,
			     const struct hg_graph *g, bool with_chunk);

/** @return whether a type of @p s has allocation sites. */
bool fl_types_have_sites(const struct spec *s);

/** @return whether the statement at @p rip is an allocation site of a type of @p s. */
bool fl_types_is_site(const struct spec *s, struct dec_symbols *symbols, uint64_t rip);

/** Tells which type a node gets, remembering what it found. Not shared between threads. */
struct fl_typer;

/** @p s, @p symbols: borrowed until fl_typer_destroy(). @return NULL: out of memory. */
struct fl_typer *fl_typer_create(const struct spec *s, struct dec_symbols *symbols);
void fl_typer_destroy(struct fl_typer *t);
void fl_typer_destroyp(struct fl_typer **t);

/** @return whether fl_types_assign() would give a type to a node of @p size bytes allocated at
 * @p rip, as far as is known by now. */
bool fl_typer_has(struct fl_typer *t, uint64_t rip, uint64_t size);

/**
 * Give every node of @p g its type: of a variable its own, which @p roots tells; by an
 * allocation site in the spec, else by the struct that DWARF says the allocation's result is,
 * else when DWARF is silent and the size is that of exactly one declared type. Types with sites are found by these alone.
 */
struct err *fl_types_assign(const struct spec *s, struct dec_symbols *symbols,
			    struct hg_graph *g, const hg_roots *roots,
			    struct fl_typing *ret);

/** @return what the struct looks like that the call at @p rip allocates with @p size bytes, where
 * the call says which it is: that a struct has the size is not enough. NULL: not known, or, when
 * @p s has types at all, none of them. */
const struct dec_struct *fl_types_layout(const struct spec *s,
					 struct dec_symbols *symbols, uint64_t rip,
					 uint64_t size);

/** Give the nodes of @p g, the allocator's view, the types that @p internals says. */
struct err *fl_types_assign_chunks(const struct spec *s, struct hg_graph *g,
				   const hg_internals *internals);

#endif
