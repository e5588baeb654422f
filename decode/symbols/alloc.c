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
 * What was computed before the call (`l->head->next = malloc(...)`) is had by walking the
 * basic block of the call first.
 *
 * At -O0 the evidence is the stack slot of a variable; at -O2 it is the location list of
 * a variable that names the register the result is in. Nothing here is guessed except the
 * last resort, the size, which is reported as unsure.
 */
#include <dwarf.h>
#include <string.h>

#define LOG_ROOM "decode"
#include "base/noreturn.h"
#include "decode/symbols/flow.h"

#define PATHS_MAX 16
#define STEPS_MAX 64 ///< instructions on one path

struct walk {
	struct dec_sym_unit *u;
	struct dec_sym_evidence ev;
	bool is_out_of_memory;
	struct flow_path todo[PATHS_MAX];
	int n_todo;
	uint64_t forked[PATHS_MAX];
	int n_forked;
	bool is_tail_call; ///< what is walked from: a jump, whose caller gets the result
	struct flow_kept kept; ///< what the call's function does to registers
	bool is_before; ///< walking up to the call: nothing is noted, no path forks
};

/* ---- evidence ---------------------------------------------------------------------- */

/** An object of type @p type (peeled) receives the result. */
static void note_type(void *ctx, Dwarf_Die *type)
{
	struct walk *w = ctx;
	uint64_t bytes = 0;
	const char *name;
	Dwarf_Die to;

	// void * says nothing, and neither does an integer.
	if (dwarf_tag(type) != DW_TAG_pointer_type || !dec_sym_type_of(type, &to, NULL))
		return;
	name = dec_sym_pointee(w->u, type, &bytes);
	if (!name) {
		w->ev.is_other = true;
		return;
	}
	if (!vec_find(&w->ev.structs, s, s->bytes == bytes && s->name == name) &&
	    vec_add(&w->ev.structs, ((struct dec_sym_receiver){ name, bytes })))
		w->is_out_of_memory = true;
}

/** Note the variables that lie where the result is, before the instruction at p->pc. */
static void note_variables(struct walk *w, const struct flow_path *p)
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

static bool is_void_pointer(Dwarf_Die *die)
{
	Dwarf_Die type, to;

	return dec_sym_type_of(die, &type, NULL) &&
	       dwarf_tag(&type) == DW_TAG_pointer_type &&
	       !dec_sym_type_of(&type, &to, NULL);
}

/** The result is in rax where the function at @p pc returns. */
static void note_return(struct walk *w, uint64_t pc)
{
	struct dec_sym_scopes sc;
	Dwarf_Die type;

	dec_sym_unit_scopes(w->u, pc, &sc);
	if (!sc.n || !dec_sym_type_of(&sc.die[0], &type, NULL))
		return;
	if (is_void_pointer(&sc.die[0]))
		w->ev.is_returned = true;
	else
		note_type(w, &type);
}

/** The function at @p target is called: the types of parameters that get the result. */
static void note_arguments(struct walk *w, const struct flow_path *p, uint64_t target)
{
	static const int arg_reg[6] = {
		CAP_RDI, CAP_RSI, CAP_RDX, CAP_RCX, CAP_R8, CAP_R9
	};
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

/** Does the function at @p target hand the result on, as `check(malloc(n))` does? It takes
 * it as its first void * and returns void *: what else would it return? */
static bool hands_on(struct walk *w, const struct flow_path *p, uint64_t target)
{
	struct dec_sym_scopes sc;
	Dwarf_Die die;

	dec_sym_unit_scopes(w->u, target, &sc);
	if (!p->reg[CAP_RDI].is_result || !sc.n || !is_void_pointer(&sc.die[0]) ||
	    dwarf_child(&sc.die[0], &die) != 0)
		return false;
	while (dwarf_tag(&die) != DW_TAG_formal_parameter)
		if (dwarf_siblingof(&die, &die) != 0)
			return false;
	return is_void_pointer(&die);
}

/** Does no call of the function, or stub, at @p target come back? The code behind one is another's. */
static bool never_returns(const struct walk *w, uint64_t target)
{
	const struct dec_sym_symbol *f = dec_sym_unit_label(w->u, target);
	struct dec_sym_scopes sc;

	if (!f)
		f = dec_sym_unit_symbol(w->u, target);
	if (f && f->addr == target && noreturn_is(f->name, strcspn(f->name, "@")))
		return true;
	dec_sym_unit_scopes(w->u, target, &sc);
	return sc.n && dwarf_hasattr_integrate(&sc.die[0], DW_AT_noreturn);
}

/* ---- the walk -------------------------------------------------------------------------- */

/** Start another path at the target of a conditional branch, once for each target. */
static void fork_path(struct walk *w, const struct flow_path *p, uint64_t target)
{
	for (int i = 0; i < w->n_forked; i++) {
		if (w->forked[i] == target)
			return;
	}
	if (w->is_before || w->n_forked == PATHS_MAX || w->n_todo == PATHS_MAX)
		return;
	w->forked[w->n_forked++] = target;
	w->todo[w->n_todo] = *p;
	w->todo[w->n_todo++].pc = target;
}

/** Decode the instruction at @p pc. @p target gets that of a direct branch, or 0. */
static bool decode(struct walk *w, uint64_t pc, ZydisDecodedInstruction *in,
		   ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT], uint64_t *target)
{
	uint8_t code[ZYDIS_MAX_INSTRUCTION_LENGTH];
	size_t n = dec_sym_unit_read(w->u, pc, code, sizeof(code));

	*target = 0;
	if (!dec_insn_zydis(code, n, in, ops))
		return false;
	if (in->operand_count && ops[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE &&
	    ops[0].imm.is_relative)
		ZydisCalcAbsoluteAddress(in, &ops[0], pc, target);
	return true;
}

/** Execute the instruction at p->pc. @return false at the end of the path. */
static bool step(struct walk *w, struct flow_path *p)
{
	ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction in;
	struct dec_sym_scopes sc;
	bool is_handed_on;
	uint64_t target;

	if (!decode(w, p->pc, &in, ops, &target))
		return false;
	switch (in.meta.category) {
	case ZYDIS_CATEGORY_RET:
		if (p->reg[CAP_RAX].is_result)
			note_return(w, p->pc);
		return false;
	case ZYDIS_CATEGORY_CALL:
		if (target)
			note_arguments(w, p, target);
		if (target && never_returns(w, target))
			return false;
		is_handed_on = target && hands_on(w, p, target);
		dec_flow_call(p);
		p->reg[CAP_RAX].is_result |= is_handed_on;
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
			if (dec_sym_entry_pc(w->u, &sc.die[0], &entry) &&
			    entry == target) {
				note_arguments(w, p, target);
				return false;
			}
		}
		p->pc = target;
		return true;
	default:
		dec_flow_step(w->u, p, &in, ops, note_type, w);
		break;
	}
	p->pc += in.length;
	return true;
}

/** Where the basic block of the call that returns to @p return_addr begins. */
static uint64_t block_start(struct walk *w, uint64_t return_addr)
{
	struct dec_sym_scopes sc;
	uint64_t start;

	dec_sym_unit_scopes(w->u, return_addr - 1, &sc);
	if (!sc.n)
		return return_addr;
	start = sc.lo;
	for (uint64_t pc = sc.lo; pc < sc.hi;) {
		ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];
		ZydisDecodedInstruction in;
		uint64_t target;

		// Data amid code: what lies behind is not known to be instructions.
		if (!decode(w, pc, &in, ops, &target)) {
			w->kept.events.size = 0;
			return pc < return_addr ? return_addr : start;
		}
		if (dec_flow_keep(&w->kept, pc, &in, ops, target))
			w->kept.events.size = 0; // less is known, that is all
		pc += in.length;
		if (in.meta.category == ZYDIS_CATEGORY_CALL)
			continue;
		if (target > start && target < return_addr)
			start = target;
		if ((in.meta.category == ZYDIS_CATEGORY_UNCOND_BR ||
		     in.meta.category == ZYDIS_CATEGORY_RET) &&
		    pc > start && pc < return_addr)
			start = pc;
		if (in.meta.category == ZYDIS_CATEGORY_UNCOND_BR && pc == return_addr)
			w->is_tail_call = true;
	}
	return start;
}

/** Bring @p p from the start of the call's block to behind the call. */
static void walk_block(struct walk *w, struct flow_path *p, uint64_t return_addr)
{
	w->is_before = true;
	for (p->pc = block_start(w, return_addr); p->pc < return_addr;) {
		if (!step(w, p) || p->pc > return_addr) {
			*p = (struct flow_path){ 0 };
			break;
		}
	}
	w->is_before = false;
	dec_flow_recall(p, &w->kept, return_addr);
	p->pc = return_addr;
	p->reg[CAP_RAX] = (struct flow_value){ .is_result = true };
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
		name = dec_sym_pointee(u, &type, &bytes);
		if (name && bytes == size && !found)
			found = name;
	}
	return found;
}

/** Walk all paths from @p return_addr. @return false: out of memory. */
static bool collect(struct dec_sym_unit *u, uint64_t return_addr,
		    struct dec_sym_evidence *ret)
{
	struct walk *w = calloc(1, sizeof(*w));
	bool is_done;

	if (!w)
		return false;
	w->u = u;
	w->n_todo = 1;
	walk_block(w, &w->todo[0], return_addr);
	if (w->is_tail_call) {
		w->ev.is_returned = true;
		w->n_todo = 0;
	}
	while (w->n_todo > 0) {
		struct flow_path p = w->todo[--w->n_todo];

		for (; p.steps < STEPS_MAX && dec_flow_has_result(&p); p.steps++) {
			note_variables(w, &p);
			if (!step(w, &p))
				break;
		}
	}
	*ret = w->ev;
	is_done = !w->is_out_of_memory;
	vec_deinit(&w->kept.events);
	free(w);
	return is_done;
}

/** What is known of the result of the call that returns to @p return_addr: one place may allocate blocks of many sizes. @return
 * it, which is the unit's and lasts until the next call; NULL: out of memory. */
static const struct dec_sym_evidence *evidence_of(struct dec_sym_unit *u,
						  uint64_t return_addr)
{
	const uint64_t *known = map_get(&u->evidence_of, return_addr);
	struct dec_sym_evidence *ev;

	if (known)
		return &u->evidence.data[*known];
	ev = vec_push(&u->evidence);
	if (!ev)
		return NULL;
	*ev = (struct dec_sym_evidence){};
	if (collect(u, return_addr, ev) &&
	    !map_put(&u->evidence_of, return_addr, u->evidence.size - 1))
		return ev;
	vec_deinit(&ev->structs);
	u->evidence.size--;
	return NULL;
}

/** @return the struct that a block of @p size bytes is by what receives it: one of exactly that size, or the first that it could be;
 * NULL: none. */
static const char *received_as(const struct dec_sym_evidence *ev, uint64_t size)
{
	const struct dec_sym_receiver *s = vec_find(&ev->structs, x, x->bytes == size);

	// Up to 7 bytes may be missing: `offsetof(struct s, text) + n` cuts the padding.
	s = s ?: vec_find(&ev->structs, x, x->bytes <= size + 7);
	return s ? s->name : NULL;
}

const char *dec_sym_alloc_type(struct dec_sym_unit *u, uint64_t return_addr,
			       uint64_t size, bool *is_sure)
{
	struct dec_sym_cu *cu = dec_sym_unit_cu(u, return_addr - 1);
	const struct dec_sym_evidence *ev = cu ? evidence_of(u, return_addr) : NULL;
	const char *name;
	bool is_wrapper;

	*is_sure = false;
	if (!ev)
		return NULL;
	*is_sure = true;
	name = received_as(ev, size);
	if (name || ev->is_other)
		return name;
	name = inlined_return(u, return_addr - 1, size, &is_wrapper);
	if (name)
		return name;
	*is_sure = false;
	if (ev->is_returned || is_wrapper)
		return NULL;
	name = dec_sym_struct_of_size(u, cu, size);
	// Neither a wrapper nor typed: the outer frames know no better.
	*is_sure = !name;
	return name;
}

// call rel32
enum { CALL = 0xe8, CALL_BYTES = 5 };

const char *dec_sym_returned_type(struct dec_sym_unit *u, uint64_t return_addr,
				  uint64_t size)
{
	uint8_t code[CALL_BYTES];
	struct dec_sym_scopes sc;
	uint64_t bytes = 0;
	const char *name;
	Dwarf_Die type;
	int32_t by;

	if (dec_sym_unit_read(u, return_addr - CALL_BYTES, code, CALL_BYTES) !=
		    CALL_BYTES ||
	    code[0] != CALL)
		return NULL;
	memcpy(&by, code + 1, sizeof(by));
	dec_sym_unit_scopes(u, return_addr + by, &sc);
	if (!sc.n || !dec_sym_type_of(&sc.die[0], &type, NULL) ||
	    dwarf_tag(&type) != DW_TAG_pointer_type)
		return NULL;
	name = dec_sym_pointee(u, &type, &bytes);
	return bytes == size ? name : NULL;
}
