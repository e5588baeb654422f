// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "decode/symbols/object.h"

#include <dwarf.h>
#include <string.h>

#define LOG_ROOM "decode"
#include "base/log.h"
#include "decode/symbols/frame_int.h"
#include "decode/symbols/variable_int.h"

#define DEPTH_MAX 32 // of scopes, one in the other

/* ---- static ----------------------------------------------------------------------------------- */

static int compare_objects(const void *a, const void *b)
{
	const struct dec_sym_symbol *x = a, *y = b;

	return x->addr != y->addr ? (x->addr > y->addr) - (x->addr < y->addr) :
				    (x->size < y->size) - (x->size > y->size);
}

/* Those in memory that can be written: compilers put what has no name beside the others. */
static void need_objects(struct dec_sym_unit *u)
{
	int count;

	if (u->has_objects)
		return;
	u->has_objects = true;
	count = u->elf ? dwfl_module_getsymtab(u->mod) : 0;
	for (int i = 1; i < count; i++) {
		struct dec_sym_symbol *slot;
		GElf_Sym sym;
		GElf_Addr addr;
		const char *name = text_name(dwfl_module_getsym_info(
			u->mod, i, &sym, &addr, NULL, NULL, NULL));

		if (!name || !*name || sym.st_shndx == SHN_UNDEF || !sym.st_size ||
		    GELF_ST_TYPE(sym.st_info) != STT_OBJECT)
			continue;
		slot = vec_push(&u->objects);
		if (!slot) {
			log_warn("out of memory: objects of '%s' are missing", u->path);
			break;
		}
		*slot = (struct dec_sym_symbol){ .name = name,
						 .addr = addr,
						 .size = sym.st_size };
	}
	vec_sort(&u->objects, compare_objects);
}

static void find_static(struct dec_symbols *s, uint64_t addr, struct dec_around *ret)
{
	const struct dec_sym_mapping *m = dec_sym_module_of(s, addr);
	size_t n;

	// Unpacking the C library's would be a third of a check's cost.
	if (!m || dec_sym_unit_is_systems(m->unit) || !dec_sym_unit_need_debug(m->unit))
		return;
	need_objects(m->unit);
	n = vec_rank(m->unit->objects.size, i,
		     m->unit->objects.data[i].addr <= addr - m->bias);
	for (int back = 0; n && back < 4; back++, n--) {
		const struct dec_sym_symbol *x = &m->unit->objects.data[n - 1];
		struct dec_object o = { .name = x->name,
					.start = x->addr + m->bias,
					.size = x->size };

		if (addr - o.start < o.size && o.size >= ret->at.size)
			ret->at = o;
		else if (addr - o.start == o.size)
			ret->before = o;
	}
	ret->is_static = ret->at.name || ret->before.name;
}

bool dec_symbols_begins(struct dec_symbols *s, uint64_t addr, struct dec_object *ret)
{
	struct dec_around around = {};

	find_static(s, addr, &around);
	*ret = around.at;
	return ret->name && ret->start == addr;
}

bool dec_symbols_same_module(struct dec_symbols *s, uint64_t a, uint64_t b)
{
	const struct dec_sym_mapping *x = dec_sym_module_of(s, a);
	const struct dec_sym_mapping *y = dec_sym_module_of(s, b);

	return x && y && x->unit == y->unit;
}

/* ---- of a frame ------------------------------------------------------------------------------- */

struct search {
	const struct dec_sym_frame *at;
	uint64_t addr;
	struct dec_around *ret;
	int best,
		best_before; ///< how deep the scope is that holds the code; 0: none does
	Dwarf_Die block, block_before; ///< where those are declared
	uint64_t
		unsized; ///< where the last variable begins whose size DWARF does not tell; 0: none
	bool is_shared; ///< variables of several scopes have the place
};

static bool is_variable(Dwarf_Die *die)
{
	int tag = dwarf_tag(die);

	return tag == DW_TAG_variable || tag == DW_TAG_formal_parameter;
}

/* Which code is of @p die, a scope? */
static const struct dec_scope *scope_of(struct dec_symbols *s,
					const struct dec_sym_frame *at, Dwarf_Die *die)
{
	uint64_t by = at->unit->debug_bias + at->bias;
	Dwarf_Addr base, start, end;
	struct dec_scope *ret;
	ptrdiff_t next = 0;
	uint32_t n = 0;

	if (dwarf_tag(die) == DW_TAG_subprogram)
		return NULL;
	while ((next = dwarf_ranges(die, next, &base, &start, &end)) > 0)
		n++;
	ret = n ? arena_alloc(&s->arena, sizeof(*ret) + n * sizeof(*ret->piece)) : NULL;
	if (!ret)
		return NULL;
	ret->die = die->addr;
	for (ret->n = 0; (next = dwarf_ranges(die, next, &base, &start, &end)) > 0;
	     ret->n++) {
		ret->piece[ret->n].start = start + by;
		ret->piece[ret->n].end = end + by;
	}
	return ret;
}

/* @p block: the scope that @p die is declared in. */
static void look_at(struct search *s, Dwarf_Die *block, Dwarf_Die *die, int scope)
{
	const char *name = text_name(dwarf_diename(die));
	struct dec_sym_location l;
	struct dec_object o = {};
	Dwarf_Die type;

	if (!name || !dec_sym_type_of(die, &type, NULL))
		return;
	dec_sym_locate(s->at, die, &l);
	o = (struct dec_object){ .name = name,
				 .start = l.value,
				 .size = dec_sym_type_bytes(&type),
				 .die = die->addr,
				 .is_array = dwarf_tag(&type) == DW_TAG_array_type };
	if (l.kind == DEC_SYM_AT && !o.size && scope && o.start <= s->addr &&
	    o.start > s->unsized)
		s->unsized = o.start;
	if (l.kind != DEC_SYM_AT || !o.size)
		return;
	if (o.start > s->addr && o.start < s->ret->other_start)
		s->ret->other_start = o.start;
	if (o.start + o.size <= s->addr && o.start + o.size > s->ret->other_end)
		s->ret->other_end = o.start + o.size;
	s->is_shared |= s->addr - o.start < o.size && s->ret->at.name &&
			(s->ret->at.start != o.start || s->ret->at.size != o.size);
	if (s->addr - o.start < o.size && (scope > s->best || !s->ret->at.name)) {
		s->ret->at = o;
		s->block = *block;
		s->best = scope;
	} else if (s->addr - o.start == o.size &&
		   (scope > s->best_before || !s->ret->before.name)) {
		s->ret->before = o;
		s->block_before = *block;
		s->best_before = scope;
	}
}

static bool is_of_c(const struct dec_sym_frame *at)
{
	switch (at->scopes.cu ? dwarf_srclang(&at->scopes.cu->die) : -1) {
	case DW_LANG_C89:
	case DW_LANG_C:
	case DW_LANG_C99:
	case DW_LANG_C11:
		return true;
	default:
		return false;
	}
}

/* The frame is between what it may use below the stack's end, and its return address; behind that are parameters
 * that its caller put there. @return whether @p addr is of either. */
static bool set_limits(const struct dec_sym_frame *at, uint64_t addr,
		       struct dec_around *ret)
{
	int64_t disp = 0;
	int reg = dec_sym_cfa_at(at->unit, at->pc, &disp);
	uint64_t cfa = reg < 0 ? 0 : at->frame->gpr[reg] + disp;
	bool is_behind = cfa && addr >= cfa;

	ret->other_end = is_behind ? cfa : at->frame->gpr[CAP_RSP] - 128;
	ret->other_start = cfa && !is_behind ? cfa - 8 : UINT64_MAX;
	return addr >= ret->other_end && addr < ret->other_start;
}

/* @p scope: how deep @p die is, if it holds the code; else 0. */
static void look_into(struct search *s, Dwarf_Die *die, int scope, int depth)
{
	Dwarf_Addr pc = s->at->pc - s->at->unit->debug_bias;
	const void *last = NULL;
	Dwarf_Die child;

	if (depth == DEPTH_MAX || dwarf_child(die, &child) != 0)
		return;
	do {
		int tag = dwarf_tag(&child);

		if (!dec_sym_is_next(&child, &last))
			return;
		if (is_variable(&child))
			look_at(s, die, &child, scope);
		else if (tag == DW_TAG_lexical_block || tag == DW_TAG_inlined_subroutine)
			look_into(s, &child,
				  scope && dwarf_haspc(&child, pc) == 1 ? scope + 1 : 0,
				  depth + 1);
	} while (dwarf_siblingof(&child, &child) == 0);
}

static bool enter(struct dec_symbols *s, uint64_t rip, struct dec_sym_frame *at)
{
	const struct dec_sym_mapping *m = dec_sym_mapping_of(s, rip);

	if (!m || !dec_sym_unit_need_debug(m->unit))
		return false;
	at->unit = m->unit;
	at->pc = rip - m->bias;
	at->bias = m->bias;
	dec_sym_unit_scopes(m->unit, at->pc, &at->scopes);
	at->function = at->scopes.n ? &at->scopes.die[0] : NULL;
	return at->function;
}

/* Who compiled it, and, if that is gcc, by which options. */
static const char *producer(const struct dec_sym_frame *at)
{
	Dwarf_Attribute attr;
	const char *by =
		at->scopes.cu && dwarf_attr(&at->scopes.cu->die, DW_AT_producer, &attr) ?
			dwarf_formstring(&attr) :
			NULL;

	return by ? by : "";
}

/* gcc puts what has no name, of C++, where variables are whose block it is in, but which begin later: such of 32 bytes and
 * more without optimization, and any where it guards the stack; but arrays lie apart then. */
static uint32_t shares_from(const struct dec_sym_frame *at)
{
	const char *by = producer(at);

	if (is_of_c(at) || strncmp(by, "GNU ", 4))
		return 0;
	return strstr(by, " -fstack-protector") ? 1 : 32;
}

bool dec_symbols_around(struct dec_symbols *s, const struct dec_frame *f, uint64_t addr,
			struct dec_around *ret)
{
	struct dec_sym_frame at = { .frame = f };
	struct search search = { .at = &at, .addr = addr, .ret = ret };
	bool is_sure, is_literal;
	int64_t cfa;

	*ret = (struct dec_around){};
	find_static(s, addr, ret);
	if (ret->is_static || !enter(s, f->rip, &at))
		return ret->is_static;
	// Where the frame's register is one like others, and a variable lies where a pointer leads to.
	if (!set_limits(&at, addr, ret))
		return false;
	is_literal = dec_symbols_is_literal(s, f->rip);
	// clang has variables by rsp in frames that it realigned, which it finds by rbp.
	at.is_stack_vague = !is_literal &&
			    dec_sym_cfa_at(at.unit, at.pc, &cfa) != CAP_RSP;
	// gcc gets to where arguments are before it realigns the stack.
	at.is_before_frame = dec_sym_cfa_at(at.unit, at.pc, &cfa) == CAP_RSP && cfa == 8;
	look_into(&search, at.function, 1, 0);
	is_sure = search.best || !search.is_shared;
	if (is_literal && ret->at.name)
		ret->at.scope = scope_of(s, &at, &search.block);
	if (is_literal && ret->before.name)
		ret->before.scope = scope_of(s, &at, &search.block_before);
	// gcc only names classes that a library has in full (std::istringstream), and puts them where other blocks
	// have something else.
	if (search.unsized && (!search.best || ret->at.start <= search.unsized))
		return false;
	// What optimizers share, and move out of its scope, may be another's; of C++ it often is: then what leaves
	// the frame is known to be wrong, whichever it is.
	ret->shares_from = is_literal ? shares_from(&at) : 0;
	if (!is_literal) {
		is_sure = search.best && !search.is_shared;
		if (!is_of_c(&at)) {
			is_sure = true;
			set_limits(&at, addr, ret);
		}
	}
	return is_sure && (ret->at.name || ret->before.name);
}

/* Is @p die, a variable or parameter, always in one place in memory? */
static bool is_in_memory(Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	Dwarf_Op *ops;
	size_t n;

	if (dwarf_hasattr_integrate(die, DW_AT_const_value) ||
	    dwarf_hasattr_integrate(die, DW_AT_declaration))
		return true;
	return dwarf_attr_integrate(die, DW_AT_location, &attr) &&
	       dwarf_whatform(&attr) == DW_FORM_exprloc &&
	       dwarf_getlocation(&attr, &ops, &n) == 0 && n &&
	       dec_sym_op_reg(&ops[0]) < 0;
}

/* Says the compiler that it was to optimize? gcc tells its options; clang keeps the frame by the stack's
 * end then. */
static bool is_optimized(const struct dec_sym_frame *at)
{
	const char *by = strstr(producer(at), " -O");
	Dwarf_Attribute attr;
	Dwarf_Op *ops;
	size_t n;

	if (by && by[3] != '0')
		return true;
	return dwarf_attr(at->function, DW_AT_frame_base, &attr) &&
	       dwarf_getlocation(&attr, &ops, &n) == 0 && n == 1 &&
	       ops[0].atom == DW_OP_reg7;
}

/* .. and says, if it was not? */
static bool says_options(const struct dec_sym_frame *at)
{
	return strstr(producer(at), " -m");
}

/* Are all parameters of @p call, an inlined one, in memory, and any? Then it had to be inlined, without optimization. */
static bool has_parameters_in_memory(Dwarf_Die *call)
{
	Dwarf_Die child;
	bool ret = false;

	if (dwarf_child(call, &child) != 0)
		return false;
	do {
		if (dwarf_tag(&child) != DW_TAG_formal_parameter)
			continue;
		if (dwarf_hasattr(&child, DW_AT_const_value) || !is_in_memory(&child))
			return false;
		ret = true;
	} while (dwarf_siblingof(&child, &child) == 0);
	return ret;
}

bool dec_symbols_is_literal(struct dec_symbols *s, uint64_t rip)
{
	struct dec_sym_frame at = {};
	Dwarf_Die child;

	if (!enter(s, rip, &at) || is_optimized(&at))
		return false;
	// Without variables gcc's options are all that tells.
	if (dwarf_child(at.function, &child) != 0)
		return says_options(&at);
	do {
		if (dwarf_tag(&child) == DW_TAG_inlined_subroutine ?
			    !says_options(&at) && !has_parameters_in_memory(&child) :
			    is_variable(&child) && !is_in_memory(&child))
			return false;
	} while (dwarf_siblingof(&child, &child) == 0);
	return true;
}
