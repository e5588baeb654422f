// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What the dec_sym*.c files share. Two layers:
 *
 *   unit     one ELF file and its debug information, at its link-time addresses
 *   mapping  where (part of) a unit lies in the program; several may share a unit
 *
 * Everything below a unit speaks link-time addresses; only symbols.c adds a bias.
 * Within a unit the main file and a separate debug file may differ by `debug_bias`
 * (prelink): DWARF address = link-time address - debug_bias.
 *
 * Invariants:
 *  1. cus[] and ranges are sorted by address once a unit is open.
 *  2. Units, and every string they hand out, live until dec_symbols_destroy().
 */
#ifndef DECODE_SYMBOLS_SYMBOLS_INT_H
#define DECODE_SYMBOLS_SYMBOLS_INT_H

#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>

#include "base/base.h"
#include "decode/symbols/symbols.h"

/** Addresses lo <= a < hi that belong to number @p index of something. */
struct dec_sym_range {
	uint64_t lo, hi;
	uint32_t index;
};

typedef VEC(struct dec_sym_range) dec_sym_ranges;

/** DIEs with code, by its addresses. */
struct dec_sym_dies {
	VEC(Dwarf_Die) die;
	dec_sym_ranges ranges; ///< index: into die
};

/** A compile unit with code or data. The function index is made when first needed. */
struct dec_sym_cu {
	Dwarf_Die die;
	bool has_functions; ///< they are filled in
	struct dec_sym_dies functions;
};

/** An entry of a function: its own, or of a copy inlined elsewhere. */
struct dec_sym_entry {
	const char *name;
	uint64_t addr;
	bool is_inlined;
};

/** A function symbol of the ELF file. */
struct dec_sym_symbol {
	const char *name;
	uint64_t addr, size; ///< size 0: written in assembly, up to the next symbol
	uint8_t rank;	     ///< lower is the better name for the same address
	bool is_resolver;
	bool is_static; ///< no other file's code can call it by its name
};

/** A variable outside of functions. */
struct dec_sym_static {
	uint64_t addr, size; ///< addr: of the unit's file
	Dwarf_Die type;	     ///< without qualifiers
};

/** What receives what a call allocated (alloc.c). */
struct dec_sym_evidence {
	VEC(struct dec_sym_receiver {
		const char *name;
		uint64_t bytes;
	})
	structs;	  ///< pointers to these do, in this order
	bool is_other;	  ///< a typed pointer to something else does
	bool is_returned; ///< the enclosing function returns it as void *
};

struct dec_sym_unit {
	char *path;    ///< as the program saw it
	uint32_t file; ///< index in the capture plus 1; 0 when added by path
	Dwfl *dwfl;    ///< NULL when the contents were not kept
	Dwfl_Module *mod;
	Elf *elf;	///< main file
	bool has_debug; ///< dec_sym_unit_need_debug() was here: what follows is known
	Dwarf *dwarf;	///< NULL without debug information
	Dwarf_Addr debug_bias;
	const void *framed;	  ///< the function that was asked for last (var.c), ..
	int64_t frame_size;	  ///< .. and what it has on the stack; 0: unknown
	bool has_local, is_local; ///< dec_sym_unit_is_local() knows; says
	int found;		  ///< what was asked for last of its debug files; -1: not
	char *real;		  ///< local: its path without links
	uid_t owner;		  ///< local: whose file it is
	VEC(struct dec_sym_cu) cus;
	dec_sym_ranges cu_ranges;	///< index: into cus
	struct map inner_of;		///< where a DIE is in memory -> index into inner
	VEC(struct dec_sym_dies) inner; ///< the blocks and inlined calls below it
	bool has_entries, has_symbols;
	VEC(struct dec_sym_entry) entries;
	VEC(struct dec_sym_symbol) symbols; ///< ascending by address, then rank
	VEC(uint32_t) named; ///< chains of symbols by their names' hash (entries.c)
	bool has_labels;
	VEC(struct dec_sym_symbol) labels; ///< likewise (label.c)
	bool has_objects;
	VEC(struct dec_sym_symbol) objects; ///< ascending by address (object.c)
	struct arena label_names;
	struct dec_sym_names *names; ///< of structs; NULL: not made
	struct map evidence_of;	     ///< return address -> index
	VEC(struct dec_sym_evidence) evidence;
	bool has_statics;
	VEC(struct dec_sym_static) statics; ///< as they are in the file (var.c)
};

struct dec_sym_mapping {
	uint64_t start, end;
	uint64_t bias; ///< address in the program - link-time address
	uint64_t file_offset;
	struct dec_sym_unit *unit;
	uint64_t lo, hi; ///< of its whole module
	bool is_gone;	 ///< another module lies there now (dlclose, then dlopen)
};

/** An answer of dec_symbols_alloc_type(), kept; chained per return address. */
struct dec_sym_alloc {
	uint64_t size;
	const char *name;
	bool is_sure;
	uint32_t next; ///< index plus 1 of the next for the same return address
};

/** A variable that has one place: link-time. */
struct dec_sym_global {
	const struct dec_sym_unit *unit;
	uint64_t addr, size;
	Dwarf_Die die;
};

struct dec_symbols {
	const struct capture *capture; ///< borrowed; NULL when modules come by path
	struct dec_sym_unit **units;
	size_t n_units;
	VEC(struct dec_sym_mapping) mappings; ///< later ones shadow earlier ones
	size_t n_start;			      ///< of them, that were mapped at the start
	struct dec_sym_unit *exe;	      ///< unit of the executable, or NULL
	const char *sources;		      ///< dec_symbols_sources(); borrowed
	struct map place_by_rip;	      ///< to index in places
	VEC(struct dec_place) places;
	struct map alloc_by_rip; ///< to index plus 1 in allocs
	VEC(struct dec_sym_alloc) allocs;
	VEC(const struct dec_struct *) structs; ///< in arena
	VEC(struct dec_sym_global) globals;	///< by unit and address
	size_t n_global_units;			///< of units, that they are of
	struct arena arena;
};

/** @return what is mapped at @p addr, NULL: no module. */
struct dec_sym_mapping *dec_sym_mapping_of(struct dec_symbols *s, uint64_t addr);

/** @return the module whose data @p addr is in, NULL: none. Only what is mapped as code is known; data lie
 * beside it. */
const struct dec_sym_mapping *dec_sym_module_of(struct dec_symbols *s, uint64_t addr);

/* ---- units (unit.c, table.c) ------------------------------------------------------ */

/** Open the ELF file in @p fd (consumed; -1: a unit that only has a name). A damaged file makes
 * a unit without symbols and a warning, not an error. */
struct err *dec_sym_unit_open(int fd, const char *path, struct dec_sym_unit **ret);
void dec_sym_unit_close(struct dec_sym_unit *u);

/** Open the debug information of @p u and list its compile units, once: a library of the system has
 * it packed, and unpacking it takes longer than most replays. @return whether there is any. */
bool dec_sym_unit_need_debug(struct dec_sym_unit *u);

/** Link-time address of file offset @p offset. @return false when no segment has it. */
bool dec_sym_unit_vaddr(struct dec_sym_unit *u, uint64_t offset, uint64_t *ret);

/** @return whether @p u has variables of each thread, in segment @p ret. */
bool dec_sym_unit_threads(const struct dec_sym_unit *u, GElf_Phdr *ret);

/** Lowest and behind the highest loaded link-time address. */
bool dec_sym_unit_extent(struct dec_sym_unit *u, uint64_t *lo, uint64_t *hi);

/** Copy up to @p size bytes of file contents at link-time @p addr. @return how many. */
size_t dec_sym_unit_read(struct dec_sym_unit *u, uint64_t addr, void *buf, size_t size);

/** @return the compile unit with code at @p addr, or NULL. */
struct dec_sym_cu *dec_sym_unit_cu(struct dec_sym_unit *u, uint64_t addr);

/** @return what code at @p addr is called that is in no function with a size: a label of assembler
 * without a type, or a stub of the PLT (`malloc@plt`); NULL: nothing. */
const struct dec_sym_symbol *dec_sym_unit_label(struct dec_sym_unit *u, uint64_t addr);

/** Make u->symbols from the file's symbol table (or .dynsym, when stripped), once. */
void dec_sym_unit_need_symbols(struct dec_sym_unit *u);

/** @return the function symbol that covers @p addr, or NULL. */
const struct dec_sym_symbol *dec_sym_unit_symbol(struct dec_sym_unit *u, uint64_t addr);

/** @return whether the debug information came apart, from the distribution's tree, and
 * not with the file: the module is a library of the system, not of the user. */
bool dec_sym_unit_is_systems(struct dec_sym_unit *u);

#define DEC_SYM_DEPTH 64

/** The DIEs around an address: die[0] the concrete function, then lexical blocks and
 * inlined calls, each inside the one before. n == 0: none known. */
struct dec_sym_scopes {
	struct dec_sym_cu *cu; ///< NULL when no compile unit covers the address
	uint64_t lo, hi;       ///< the stretch of the function's code that holds it
	Dwarf_Die die[DEC_SYM_DEPTH];
	int n;
};

/** The function that holds @p addr (of the unit's file) and the scopes in it that do, inlined
 * ones too, from the outermost in. @p ret: n 0 where no function is known. */
void dec_sym_unit_scopes(struct dec_sym_unit *u, uint64_t addr,
			 struct dec_sym_scopes *ret);

/** Where code of function DIE @p die begins (link-time). @return false: declaration. */
bool dec_sym_entry_pc(struct dec_sym_unit *u, Dwarf_Die *die, uint64_t *ret);

/** @return whether the file lies on this machine where the program had it, byte for byte, and
 * in no capture: then what it names may be looked at, as far as its owner could do so. */
bool dec_sym_unit_is_local(struct dec_sym_unit *u);

/** In a walk from above to below each DIE lies behind the one before, unless the file names a
 * child as its own parent's sibling: then the walk would never end.
 * @param last  of the walk, which begins with NULL. @return whether @p die is the next. */
static inline bool dec_sym_is_next(const Dwarf_Die *die, const void **last)
{
	bool is_next = (uintptr_t)die->addr > (uintptr_t)*last;

	*last = is_next ? die->addr : *last;
	return is_next;
}

/* ---- types (type.c) ---------------------------------------------------- */

/** The type DIE of @p die with typedefs and qualifiers peeled off. @p typedef_name (may
 * be NULL) gets the last typedef's name when there was one. @return false: void. */
bool dec_sym_type_of(Dwarf_Die *die, Dwarf_Die *ret, const char **typedef_name);

/** Where @p type is declared alone, go to the type unit that it names, if any.
 * @return whether it is all there now. */
bool dec_sym_is_complete(Dwarf_Die *type);

/** @return whether a DIE with @p tag is a struct, union or class. */
bool dec_sym_is_struct(int tag);

/** Size of @p type in bytes, 0 when it is incomplete. */
uint64_t dec_sym_type_bytes(Dwarf_Die *type);

/** @return the name of the struct that pointer type @p pointer of unit @p u leads to (@p u NULL: its
 * tag), else NULL; @p bytes (may be NULL) its size, 0 when incomplete. */
const char *dec_sym_pointee(struct dec_sym_unit *u, Dwarf_Die *pointer, uint64_t *bytes);

/** @return whether @p die, below a struct, is a part of it: a member or a base class. */
bool dec_sym_is_member(Dwarf_Die *die);

/** Offset of member @p die in its struct in bytes. */
uint64_t dec_sym_member_offset(Dwarf_Die *die);

/** The scalar or pointer that starts @p offset bytes into an object of type @p type;
 * @p in_array: it is an array's element. @return false: none starts there. */
bool dec_sym_part_at(Dwarf_Die *type, uint64_t offset, Dwarf_Die *ret, bool *in_array);

/** The element type of the only array of pointers in struct @p type. */
bool dec_sym_only_pointer_array(Dwarf_Die *type, Dwarf_Die *ret);

/** The one struct of compile unit @p cu of @p u whose size is @p size. @return NULL when there
 * is none, or more than one. */
const char *dec_sym_struct_of_size(struct dec_sym_unit *u, struct dec_sym_cu *cu,
				   uint64_t size);

/* ---- names (names.c) ---------------------------------------------------- */

/** The index of @p u, made when first asked for. @return NULL: no debug information, or memory. */
struct dec_sym_names *dec_sym_unit_names(struct dec_sym_unit *u);
void dec_sym_names_destroy(struct dec_sym_names *x);

/** @return the name of the struct that @p type of @p u describes, or declares, which means no
 * other struct of @p u; NULL: it has none. */
const char *dec_sym_names_of(struct dec_sym_unit *u, Dwarf_Die *type);

/** Find the struct called @p name in @p u: @p ret, and in @p own dec_sym_names_of() it, NULL when
 * there is none. @return NULL, ERR_AMBIGUOUS with those that it may be, ERR_NOMEM. */
struct err *dec_sym_names_find(struct dec_sym_unit *u, const char *name, Dwarf_Die *ret,
			       const char **own);

/* ---- variables (var.c) ---------------------------------------------------- */

/** Where a value lies while one instruction executes. */
struct dec_sym_spot {
	enum { DEC_SPOT_REG, DEC_SPOT_STACK, DEC_SPOT_GLOBAL } kind;
	int reg;       ///< REG: enum cap_gpr; STACK: base register
	int64_t disp;  ///< STACK: displacement from reg
	uint64_t addr; ///< GLOBAL: link-time address
};

/** The variable or parameter visible at link-time @p pc (innermost scope first) that
 * covers @p spot: its type, qualifiers peeled, and the distance of the spot from its
 * start. @return false when none does. */
bool dec_sym_var_at(struct dec_sym_unit *u, uint64_t pc, const struct dec_sym_spot *spot,
		    Dwarf_Die *type, uint64_t *distance);

/** Register of a DW_OP_reg* operation (enum cap_gpr), or -1. */
int dec_sym_op_reg(const Dwarf_Op *op);

/** Register and displacement of a DW_OP_breg* operation; -1 when it is another. */
int dec_sym_op_breg(const Dwarf_Op *op, int64_t *disp);

/** The static address (DWARF's) of a DW_OP_addr or, DWARF 5 by clang, DW_OP_addrx operation. */
bool dec_sym_op_addr(Dwarf_Attribute *location, const Dwarf_Op *op, uint64_t *ret);

/** What is known of the frame of the code at @p pc; @p bias: how far @p u is from where that has it. @return for free();
 * NULL: nothing. */
Dwarf_Frame *dec_sym_frame(struct dec_sym_unit *u, uint64_t pc, uint64_t *bias);

/** Canonical frame address at @p pc as register + displacement. @return -1: unknown. */
int dec_sym_cfa_at(struct dec_sym_unit *u, uint64_t pc, int64_t *disp);

/** Frame base of @p function at @p pc as register + displacement; -1: unknown. */
int dec_sym_frame_base(struct dec_sym_unit *u, Dwarf_Die *function, uint64_t pc,
		       int64_t *disp);

/* ---- layouts (struct.c) ---------------------------------------------------- */

/** The layout of a struct called @p name with the members of @p type or, where that is no
 * struct, with an object of that type, called @p name, as the only member. @return ERR_NOMEM. */
struct err *dec_sym_layout(struct dec_symbols *s, Dwarf_Die *type, const char *name,
			   const struct dec_struct **ret);

/* ---- allocations (alloc.c) ------------------------------------------------- */

/** dec_symbols_returned_type() within one unit @p u; @p return_addr is a link-time address. */
const char *dec_sym_returned_type(struct dec_sym_unit *u, uint64_t return_addr,
				  uint64_t size);

/** dec_symbols_alloc_type() within one unit @p u that has debug information, nothing
 * cached; @p return_addr is a link-time address. */
const char *dec_sym_alloc_type(struct dec_sym_unit *u, uint64_t return_addr,
			       uint64_t size, bool *is_sure);

#endif
