// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Stores of C++'s vtable pointers. A destructor stores its class's before it does anything; where that is there
 * already, an object of no class derived from it, nobody who calls a virtual function meanwhile sees a difference,
 * though he reads what is written. So the store is as good as a read.
 *
 * The log has no values: where an instruction that raced may be such a store, the next replay stops at it.
 */
#include <string.h>

#include "decode/symbols/object.h"
#include "decode/x86/zydis.h"
#include "faultlocate/race/race_int.h"

#define STOPS_MAX 20000 // at one instruction: a second

bool fl_race_may_be_vptr(struct race_walk *w, const struct fl_race_access *x)
{
	uint64_t at;

	return x->is_write && x->size == 8 && !map_get(&w->stores, x->rip) &&
	       dec_symbols_entries(w->symbols, "__dynamic_cast", &at,
				   1); // of C++'s library
}

/* What @p insn stores: a register, or a number. */
static uint64_t stored_by(const struct dec_insn *insn, const struct cap_regs *regs)
{
	int32_t number;

	if (insn->store_reg < DEC_GPRS)
		return regs->gpr[insn->store_reg];
	memcpy(&number, insn->bytes + insn->len - sizeof(number), sizeof(number));
	return number;
}

static bool is_vptr(struct race_walk *w, uint64_t value)
{
	struct dec_object o;

	dec_symbols_begins(w->symbols, value, &o);
	return o.name && !strncmp(o.name, "_ZTV", 4);
}

static bool is_store(const struct dec_insn *insn)
{
	return insn->mnemonic == ZYDIS_MNEMONIC_MOV && insn->n_mem == 1 &&
	       insn->mem[0].is_write && insn->mem[0].size == 8;
}

/* @return an error of the machine's when the code, or what is written, cannot be read. */
static struct err *look(struct race_walk *w, uint64_t rip, bool *is_unchanged)
{
	uint8_t bytes[sizeof(((struct dec_insn *)0)->bytes)];
	uint64_t before, value;
	struct dec_insn insn;
	struct cap_regs regs;
	struct err *err = dec_machine_regs(w->machine, &regs);

	if (!err)
		err = dec_machine_read(w->machine, rip, bytes, sizeof(bytes));
	if (err || !dec_insn_decode(bytes, sizeof(bytes), rip, &insn) || !is_store(&insn))
		return err;
	err = dec_machine_read(w->machine,
			       dec_insn_address(&insn.mem[0], regs.gpr, regs.fs_base, 0),
			       &before, sizeof(before));
	value = stored_by(&insn, &regs);
	*is_unchanged = !err && value == before && is_vptr(w, value);
	return err;
}

struct err *fl_race_note_store(struct race_walk *w, const struct dec_where *where)
{
	uint64_t *n = map_get(&w->stores, where->rip);
	bool is_unchanged = false;

	err_destroy(look(w, where->rip, &is_unchanged)); // then it is one like any other
	if (is_unchanged && map_put(&w->unchanged, where->position, 1))
		return &err_nomem;
	return ++*n < STOPS_MAX ? NULL : dec_machine_break(w->machine, where->rip, false);
}
