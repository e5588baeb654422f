// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * What the program calls the constants of chains: the variable that the instruction stored to.
 */

#include "faultlocate/inputs/inputs.h"

#include <string.h>

#include "decode/explain/express.h"
#include "decode/symbols/frame.h"

static bool read_memory(void *ctx, uint64_t addr, void *buf, size_t size)
{
	struct err *err = dec_machine_read(ctx, addr, buf, size);
	bool is_read = !err;

	err_destroy(err);
	return is_read;
}

/* The spot that @p insn, at which @p m stands, defines. */
static bool spot_of(const struct dec_insn *insn, const struct cap_regs *regs,
		    struct dec_spot *spot)
{
	for (int m = 0; m < insn->n_mem; m++)
		if (insn->mem[m].is_write) {
			*spot = (struct dec_spot){
				.is_mem = true,
				.addr = dec_insn_address(&insn->mem[m], regs->gpr,
							 regs->fs_base, regs->gs_base)
			};
			return true;
		}
	if (!insn->gpr_written)
		return false;
	*spot = (struct dec_spot){ .reg = __builtin_ctz(insn->gpr_written) };
	return true;
}

/** One link being named. */
struct naming {
	struct dec_machine *m;
	struct dec_symbols *symbols;
	struct dec_past *past;
	struct fl_link *link;
};

/* What @p insn stores to has no name of its own: it may be a part of what a pointer leads to. */
static struct err *name_behind(struct naming *n, const struct dec_insn *insn,
			       uint32_t tid, char *name)
{
	struct dec_expression e;
	struct dec_type type;
	struct err *err = NULL;

	for (int m = 0; m < insn->n_mem && !err; m++) {
		const struct dec_mem *mem = &insn->mem[m];

		if (!mem->is_write || mem->base >= CAP_GPRS || mem->index != DEC_REG_NONE)
			continue;
		err = dec_express_reg(n->past, n->symbols, n->link->position, insn->rip,
				      tid, mem->base, &e);
		if (!err && *e.text && e.has_type &&
		    dec_symbols_behind(&e.type, e.text, mem->disp, mem->size, name,
				       &type))
			break;
	}
	return err;
}

static struct err *name_one(struct naming *n)
{
	struct fl_link *l = n->link;
	struct dec_frame frame = { .rip = l->rip, .read = read_memory, .ctx = n->m };
	char name[DEC_NAME_BYTES] = "";
	struct dec_type type;
	struct dec_spot spot;
	struct cap_regs regs;
	struct dec_insn insn;
	struct dec_where w;
	uint8_t bytes[15];
	struct err *err = dec_machine_seek(n->m, l->position, &w);

	if (!err)
		err = dec_machine_regs(n->m, &regs);
	dec_symbols_place(n->symbols, l->rip, &l->place);
	if (err || !read_memory(n->m, l->rip, bytes, sizeof(bytes)) ||
	    !dec_insn_decode(bytes, sizeof(bytes), l->rip, &insn) ||
	    !spot_of(&insn, &regs, &spot))
		return err;
	memcpy(frame.gpr, regs.gpr, sizeof(frame.gpr));
	if (!dec_symbols_variable(n->symbols, &frame, &spot, name, &type)) {
		*name = 0;
		err = spot.is_mem ? name_behind(n, &insn, w.tid, name) : NULL;
	}
	if (*name)
		snprintf(l->name, sizeof(l->name), "%.63s", name);
	else if (spot.is_mem)
		snprintf(l->name, sizeof(l->name), "[0x%lx]", spot.addr);
	else
		snprintf(l->name, sizeof(l->name), "%s", dec_reg_gpr_name(spot.reg));
	return err;
}

struct err *fl_inputs_name(struct fl_inputs *in, struct fl_trace *t,
			   struct dec_symbols *symbols, size_t most)
{
	struct naming n = { .m = fl_trace_machine(t), .symbols = symbols };
	struct err *err = in->links.size > 1 ? dec_past_over(n.m, &n.past) : NULL;

	for (size_t i = 0; i < in->all.size && !err; i++)
		for (uint32_t k = in->all.data[i].link; k && most && !err;
		     k = in->links.data[k].next) {
			n.link = &in->links.data[k];
			if (*n.link->name)
				continue;
			most--;
			err = name_one(&n);
		}
	dec_past_destroy(n.past);
	return err;
}
