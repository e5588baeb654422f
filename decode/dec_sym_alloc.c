// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Which struct does an allocation hold? C does not say: malloc returns void *. But the
 * statement around the call does, and so does its machine code: the result in rax goes to
 * a variable, a field, a parameter or the caller, and DWARF has their types.
 *
 * So the code behind the call is walked for a few dozen instructions, both ways at
 * branches, keeping for each register and stack slot what is known of it:
 *
 *	call malloc			rax: the result
 *	mov  rdx, rax			rdx: the result
 *	mov  rax, [rbp-0x18]		rax: `struct list *l`, by the location of l
 *	mov  [rax+8], rdx		l->head receives it: `struct node *`
 *
 * At -O0 the evidence is the stack slot of a variable; at -O2 it is the location list of
 * a variable that names the register the result is in. Nothing here is guessed except the
 * last resort, the size, which is reported as unsure.
 */
#include <Zydis/Zydis.h>
#include <dwarf.h>
#include <string.h>

#define LOG_ROOM "decode"
#include "decode/dec_symbols_int.h"

#define PATHS_MAX 16
#define STEPS_MAX 64  ///< instructions on one path
#define SLOTS_MAX 8

/** What is known of a register. */
struct value {
	bool is_result;	 ///< the allocation's address
	bool has_type;	 ///< points off bytes into an object of type `to`
	bool has_index;	 ///< ... plus an unknown multiple of 8
	bool has_addr;	 ///< is the link-time address addr (plus index)
	Dwarf_Die to;
	int64_t off;
	uint64_t addr;
};

/** One path of the walk. */
struct path {
	uint64_t pc;
	int steps;
	struct value reg[CAP_GPRS];
	struct dec_sym_spot slot[SLOTS_MAX]; ///< stack slots that hold the result
	int n_slots;
};

/** What the walk found out. */
struct evidence {
	const char *exact;  ///< a struct of exactly the requested size receives it
	const char *first;  ///< the first struct that could
	bool is_other;	    ///< a typed pointer to something else receives it
	bool is_returned;   ///< the enclosing function returns it as void *
};

struct walk {
	struct dec_sym_unit *u;
	uint64_t size;
	ZydisDecoder decoder;
	struct evidence ev;
	struct path todo[PATHS_MAX];
	int n_todo;
	uint64_t forked[PATHS_MAX];
	int n_forked;
};

/* ---- evidence ---------------------------------------------------------------------- */

/** An object of type @p type (peeled) receives the result. */
static void note_type(struct walk *w, Dwarf_Die *type)
{
	uint64_t bytes = 0;
	const char *name;
	Dwarf_Die to;

	// void * says nothing, and neither does an integer.
	if (dwarf_tag(type) != DW_TAG_pointer_type || !dec_sym_type_of(type, &to, NULL))
		return;
	name = dec_sym_pointee(type, &bytes);
	if (!name) {
		w->ev.is_other = true;
		return;
	}
	// Up to 7 bytes may be missing: `offsetof(struct s, text) + n` cuts the padding.
	if (bytes > w->size + 7)
		return;
	if (bytes == w->size && !w->ev.exact)
		w->ev.exact = name;
	if (!w->ev.first)
		w->ev.first = name;
}

/** Note the variables that lie where the result is, before the instruction at p->pc. */
static void note_variables(struct walk *w, const struct path *p)
{
	Dwarf_Die type, part;
	uint64_t distance;
	bool in_array;

	for (int r = 0; r < CAP_GPRS; r++) {
		struct dec_sym_spot spot = { .kind = DEC_SPOT_REG, .reg = r };

		if (p->reg[r].is_result &&
		    dec_sym_var_at(w->u, p->pc, &spot, &type, &distance))
			note_type(w, &type);
	}
	for (int i = 0; i < p->n_slots; i++) {
		if (dec_sym_var_at(w->u, p->pc, &p->slot[i], &type, &distance) &&
		    dec_sym_part_at(&type, distance, &part, &in_array))
			note_type(w, &part);
	}
}

/** The result is in rax where the function at @p pc returns. */
static void note_return(struct walk *w, uint64_t pc)
{
	struct dec_sym_scopes sc;
	Dwarf_Die type, to;

	dec_sym_unit_scopes(w->u, pc, &sc);
	if (!sc.n || !dec_sym_type_of(&sc.die[0], &type, NULL))
		return;
	if (dwarf_tag(&type) == DW_TAG_pointer_type && !dec_sym_type_of(&type, &to, NULL))
		w->ev.is_returned = true;
	else
		note_type(w, &type);
}

/** The function at @p target is called: the types of parameters that get the result. */
static void note_arguments(struct walk *w, const struct path *p, uint64_t target)
{
	static const int arg_reg[6] = { CAP_RDI, CAP_RSI, CAP_RDX, CAP_RCX, CAP_R8, CAP_R9 };
	struct dec_sym_scopes sc;
	Dwarf_Die die, type;
	int n = 0;

	dec_sym_unit_scopes(w->u, target, &sc);
	if (!sc.n || dwarf_child(&sc.die[0], &die) != 0)
		return;
	do {
		Dwarf_Attribute attr;
		Dwarf_Word encoding = 0;
		int tag;

		if (dwarf_tag(&die) != DW_TAG_formal_parameter)
			continue;
		if (!dec_sym_type_of(&die, &type, NULL))
			return;
		tag = dwarf_tag(&type);
		if (dwarf_attr(&type, DW_AT_encoding, &attr))
			dwarf_formudata(&attr, &encoding);
		// Behind a struct or a double the register numbering is another.
		if ((tag != DW_TAG_base_type && tag != DW_TAG_pointer_type &&
		     tag != DW_TAG_enumeration_type) ||
		    encoding == DW_ATE_float || encoding == DW_ATE_complex_float)
			return;
		if (p->reg[arg_reg[n]].is_result)
			note_type(w, &type);
	} while (++n < 6 && dwarf_siblingof(&die, &die) == 0);
}

/* ---- operands ---------------------------------------------------------------------- */

/** Our number of general register @p r of any width, or -1. */
static int gpr_of(ZydisRegister r)
{
	ZydisRegister full = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, r);

	return full >= ZYDIS_REGISTER_RAX && full <= ZYDIS_REGISTER_R15 ?
		       (int)(full - ZYDIS_REGISTER_RAX) :
		       -1;
}

static bool is_stack_slot(const ZydisDecodedOperandMem *m, struct dec_sym_spot *ret)
{
	if ((m->base != ZYDIS_REGISTER_RBP && m->base != ZYDIS_REGISTER_RSP) ||
	    m->index != ZYDIS_REGISTER_NONE)
		return false;
	*ret = (struct dec_sym_spot){ .kind = DEC_SPOT_STACK, .reg = gpr_of(m->base),
				      .disp = m->disp.has_displacement ? m->disp.value : 0 };
	return true;
}

/** The address operand @p m as a value, as far as it is known. */
static struct value address_of(const struct path *p, uint64_t next,
			       const ZydisDecodedOperandMem *m)
{
	int64_t disp = m->disp.has_displacement ? m->disp.value : 0;
	struct value v = { 0 };

	if (m->base == ZYDIS_REGISTER_RIP)
		return (struct value){ .has_addr = true, .addr = next + (uint64_t)disp };
	if (m->segment == ZYDIS_REGISTER_FS || m->segment == ZYDIS_REGISTER_GS)
		return v;
	if (m->base == ZYDIS_REGISTER_NONE) {
		// Non-PIE: [0x404060], or table[i] as [0x404060 + i*8]; not [i*8 + 0].
		v.has_addr = disp >= 0x10000;
	} else if (gpr_of(m->base) >= 0) {
		v = p->reg[gpr_of(m->base)];
		// [i*8 + table] and [table + i*8] are the same at scale 1.
		if (!v.has_type && !v.has_addr && m->scale == 1 && gpr_of(m->index) >= 0)
			v = p->reg[gpr_of(m->index)];
		v.is_result = false;
	}
	v.addr += (uint64_t)disp;
	v.off += disp;
	v.has_index |= m->index != ZYDIS_REGISTER_NONE;
	return v;
}

/** The type of the pointer or scalar that lies at address @p at. */
static bool type_at(struct walk *w, uint64_t pc, const struct value *at, Dwarf_Die *ret)
{
	Dwarf_Die object = at->to;
	uint64_t distance = (uint64_t)at->off;
	bool in_array;

	if (at->has_addr) {
		struct dec_sym_spot spot = { .kind = DEC_SPOT_GLOBAL, .addr = at->addr };

		if (!dec_sym_var_at(w->u, pc, &spot, &object, &distance))
			return false;
	} else if (!at->has_type || (at->off < 0 && !at->has_index)) {
		return false;
	}
	if (dec_sym_part_at(&object, distance, ret, &in_array) &&
	    (in_array || !at->has_index))
		return true;
	// x->child[i] with the array's offset folded into i.
	return at->has_index && dec_sym_only_pointer_array(&object, ret);
}

/** The type of the 8 bytes that operand @p m names. */
static bool type_of_operand(struct walk *w, const struct path *p, uint64_t next,
			    const ZydisDecodedOperandMem *m, Dwarf_Die *ret)
{
	struct dec_sym_spot spot;
	struct value at;

	if (is_stack_slot(m, &spot)) {
		Dwarf_Die type;
		uint64_t distance;
		bool in_array;

		if (dec_sym_var_at(w->u, p->pc, &spot, &type, &distance))
			return dec_sym_part_at(&type, distance, ret, &in_array);
	}
	at = address_of(p, next, m);
	return type_at(w, p->pc, &at, ret);
}

/* ---- one instruction ------------------------------------------------------------------ */

static int find_slot(const struct path *p, const struct dec_sym_spot *spot)
{
	for (int i = 0; i < p->n_slots; i++) {
		if (p->slot[i].reg == spot->reg && p->slot[i].disp == spot->disp)
			return i;
	}
	return -1;
}

static void drop_slot(struct path *p, int i)
{
	p->slot[i] = p->slot[--p->n_slots];
}

/** mov [m], reg: the result is kept somewhere, or a slot that kept it is overwritten. */
static void step_store(struct walk *w, struct path *p, uint64_t next,
		       const ZydisDecodedOperandMem *m, bool is_result)
{
	struct dec_sym_spot spot;
	Dwarf_Die type;

	if (is_stack_slot(m, &spot)) {
		int i = find_slot(p, &spot);

		if (i >= 0 && !is_result)
			drop_slot(p, i);
		else if (i < 0 && is_result && p->n_slots < SLOTS_MAX)
			p->slot[p->n_slots++] = spot;
	}
	if (is_result && type_of_operand(w, p, next, m, &type))
		note_type(w, &type);
}

/** mov reg, [m]: what the register holds now. */
static struct value step_load(struct walk *w, struct path *p, uint64_t next,
			      const ZydisDecodedOperandMem *m)
{
	struct value v = { 0 };
	struct dec_sym_spot spot;
	Dwarf_Die type;

	if (is_stack_slot(m, &spot) && find_slot(p, &spot) >= 0)
		v.is_result = true;
	if (type_of_operand(w, p, next, m, &type) &&
	    dwarf_tag(&type) == DW_TAG_pointer_type)
		v.has_type = dec_sym_type_of(&type, &v.to, NULL);
	return v;
}

/** What a register knows when its variable, in place since before the call, is asked. */
static void learn_base(struct walk *w, struct path *p, const ZydisDecodedOperandMem *m)
{
	int r = m->base == ZYDIS_REGISTER_NONE ? -1 : gpr_of(m->base);
	struct dec_sym_spot spot = { .kind = DEC_SPOT_REG, .reg = r };
	uint64_t distance;
	Dwarf_Die type;

	if (r < 0 || p->reg[r].has_type || p->reg[r].has_addr || p->reg[r].is_result ||
	    !dec_sym_var_at(w->u, p->pc, &spot, &type, &distance) ||
	    dwarf_tag(&type) != DW_TAG_pointer_type)
		return;
	p->reg[r].off = 0;
	p->reg[r].has_type = dec_sym_type_of(&type, &p->reg[r].to, NULL);
}

/** Forget every register that the instruction writes. */
static void step_clobber(struct path *p, const ZydisDecodedInstruction *in,
			 const ZydisDecodedOperand *ops)
{
	for (int i = 0; i < in->operand_count; i++) {
		int r;

		if (ops[i].type != ZYDIS_OPERAND_TYPE_REGISTER ||
		    !(ops[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
			continue;
		r = gpr_of(ops[i].reg.value);
		if (r < 0)
			continue;
		p->reg[r] = (struct value){ 0 };
		// Slots named by a register that moves are lost.
		for (int k = p->n_slots; k > 0; k--) {
			if (p->slot[k - 1].reg == r)
				drop_slot(p, k - 1);
		}
	}
}

/** add reg, x on a known address: still in the same object. */
static struct value step_add(const struct path *p, const ZydisDecodedOperand *ops)
{
	struct value v = p->reg[gpr_of(ops[0].reg.value)];

	v.is_result = false;
	if (ops[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
		v.off += ops[1].imm.value.s;
		v.addr += (uint64_t)ops[1].imm.value.s;
		return v;
	}
	if (ops[1].type == ZYDIS_OPERAND_TYPE_REGISTER && !v.has_type && !v.has_addr) {
		int other = gpr_of(ops[1].reg.value);

		// -O0 computes `index*8`, then adds the pointer to it.
		if (other >= 0)
			v = p->reg[other];
		v.is_result = false;
	}
	v.has_index = true;
	return v;
}

/** Apply an instruction that does not transfer control. */
static void step_plain(struct walk *w, struct path *p, const ZydisDecodedInstruction *in,
		       const ZydisDecodedOperand *ops)
{
	uint64_t next = p->pc + in->length;
	int dst = ops[0].type == ZYDIS_OPERAND_TYPE_REGISTER && ops[0].size == 64 ?
			  gpr_of(ops[0].reg.value) :
			  -1;
	struct value v = { 0 };
	bool is_set = false;

	for (int i = 0; i < in->operand_count_visible; i++) {
		if (ops[i].type == ZYDIS_OPERAND_TYPE_MEMORY)
			learn_base(w, p, &ops[i].mem);
	}
	switch (in->mnemonic) {
	case ZYDIS_MNEMONIC_MOV:
		if (ops[0].type == ZYDIS_OPERAND_TYPE_MEMORY) {
			int src = ops[1].type == ZYDIS_OPERAND_TYPE_REGISTER ?
					  gpr_of(ops[1].reg.value) :
					  -1;

			step_store(w, p, next, &ops[0].mem,
				   src >= 0 && ops[0].size == 64 && p->reg[src].is_result);
			return;
		}
		is_set = dst >= 0;
		if (is_set && ops[1].type == ZYDIS_OPERAND_TYPE_MEMORY)
			v = step_load(w, p, next, &ops[1].mem);
		else if (is_set && ops[1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
			 gpr_of(ops[1].reg.value) >= 0)
			v = p->reg[gpr_of(ops[1].reg.value)];
		break;
	case ZYDIS_MNEMONIC_LEA:
		is_set = dst >= 0;
		if (is_set)
			v = address_of(p, next, &ops[1].mem);
		break;
	case ZYDIS_MNEMONIC_ADD:
		is_set = dst >= 0;
		if (is_set)
			v = step_add(p, ops);
		break;
	default:
		break;
	}
	step_clobber(p, in, ops);
	if (is_set && dst != CAP_RSP)
		p->reg[dst] = v;
}

/* ---- the walk -------------------------------------------------------------------------- */

/** Start another path at the target of a conditional branch, once for each target. */
static void fork_path(struct walk *w, const struct path *p, uint64_t target)
{
	for (int i = 0; i < w->n_forked; i++) {
		if (w->forked[i] == target)
			return;
	}
	if (w->n_forked == PATHS_MAX || w->n_todo == PATHS_MAX)
		return;
	w->forked[w->n_forked++] = target;
	w->todo[w->n_todo] = *p;
	w->todo[w->n_todo++].pc = target;
}

static bool has_result(const struct path *p)
{
	for (int r = 0; r < CAP_GPRS; r++) {
		if (p->reg[r].is_result)
			return true;
	}
	return p->n_slots > 0;
}

/** What a call leaves alone: rbx, rbp, rsp, r12 to r15. */
static void step_call(struct path *p)
{
	for (int r = 0; r < CAP_GPRS; r++) {
		if (r != CAP_RBX && r != CAP_RBP && r != CAP_RSP && r < CAP_R12)
			p->reg[r] = (struct value){ 0 };
	}
}

/** Execute the instruction at p->pc. @return false at the end of the path. */
static bool step(struct walk *w, struct path *p)
{
	ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction in;
	struct dec_sym_scopes sc;
	uint64_t target = 0;
	uint8_t code[ZYDIS_MAX_INSTRUCTION_LENGTH];
	size_t n = dec_sym_unit_read(w->u, p->pc, code, sizeof(code));

	if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&w->decoder, code, n, &in, ops)))
		return false;
	if (in.operand_count && ops[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE &&
	    ops[0].imm.is_relative)
		ZydisCalcAbsoluteAddress(&in, &ops[0], p->pc, &target);
	switch (in.meta.category) {
	case ZYDIS_CATEGORY_RET:
		if (p->reg[CAP_RAX].is_result)
			note_return(w, p->pc);
		return false;
	case ZYDIS_CATEGORY_CALL:
		if (target)
			note_arguments(w, p, target);
		step_call(p);
		break;
	case ZYDIS_CATEGORY_COND_BR:
		if (target)
			fork_path(w, p, target);
		break;
	case ZYDIS_CATEGORY_UNCOND_BR:
		if (!target)
			return false;
		dec_sym_unit_scopes(w->u, target, &sc);
		if (sc.n) {
			uint64_t entry;

			// To a function's entry: a tail call.
			if (dec_sym_entry_pc(w->u, &sc.die[0], &entry) && entry == target) {
				note_arguments(w, p, target);
				return false;
			}
		}
		p->pc = target;
		return true;
	default:
		step_plain(w, p, &in, ops);
		break;
	}
	p->pc += in.length;
	return true;
}

/** The types that the functions around the call were declared to return, where the call
 * was inlined into others: exact size only, for the result need not be what they return.
 * @p is_wrapper: the outermost returns void *. */
static const char *inlined_return(struct dec_sym_unit *u, uint64_t call, uint64_t size,
				  bool *is_wrapper)
{
	struct dec_sym_scopes sc;
	const char *found = NULL;

	*is_wrapper = false;
	dec_sym_unit_scopes(u, call, &sc);
	for (int i = sc.n; i > 0; i--) {
		Dwarf_Die type, to;
		uint64_t bytes = 0;
		const char *name;

		if (dwarf_tag(&sc.die[i - 1]) == DW_TAG_lexical_block ||
		    !dec_sym_type_of(&sc.die[i - 1], &type, NULL) ||
		    dwarf_tag(&type) != DW_TAG_pointer_type)
			continue;
		if (i == 1 && !dec_sym_type_of(&type, &to, NULL))
			*is_wrapper = true;
		name = dec_sym_pointee(&type, &bytes);
		if (name && bytes == size && !found)
			found = name;
	}
	return found;
}

/** Walk all paths from @p return_addr. @return false: out of memory. */
static bool collect(struct dec_sym_unit *u, uint64_t return_addr, uint64_t size,
		    struct evidence *ret)
{
	struct walk *w = calloc(1, sizeof(*w));

	if (!w)
		return false;
	w->u = u;
	w->size = size;
	ZydisDecoderInit(&w->decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	w->n_todo = 1;
	w->todo[0].pc = return_addr;
	w->todo[0].reg[CAP_RAX].is_result = true;
	while (w->n_todo > 0 && !w->ev.exact) {
		struct path p = w->todo[--w->n_todo];

		for (; p.steps < STEPS_MAX && has_result(&p); p.steps++) {
			note_variables(w, &p);
			if (!step(w, &p))
				break;
		}
	}
	*ret = w->ev;
	free(w);
	return true;
}

const char *dec_sym_alloc_type(struct dec_sym_unit *u, uint64_t return_addr, uint64_t size,
			       bool *is_sure)
{
	struct dec_sym_cu *cu = dec_sym_unit_cu(u, return_addr - 1);
	struct evidence ev;
	const char *name;
	bool is_wrapper;

	*is_sure = false;
	if (!cu || !collect(u, return_addr, size, &ev))
		return NULL;
	*is_sure = true;
	if (ev.exact || ev.first)
		return ev.exact ? ev.exact : ev.first;
	if (ev.is_other)
		return NULL;
	name = inlined_return(u, return_addr - 1, size, &is_wrapper);
	if (name)
		return name;
	*is_sure = false;
	if (ev.is_returned || is_wrapper)
		return NULL;
	name = dec_sym_struct_of_size(cu, size);
	// Neither a wrapper nor typed: the outer frames know no better.
	*is_sure = !name;
	return name;
}
