// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * The way back: what differs is asked of slices. First of what had a part in it as a value alone, then
 * with the addresses that values were found at, then with the branches on whose way they lie: a
 * node that can be reached in the first way is near, whatever else leads there. Back a little at
 * first, and far only if nothing that near is a suspect.
 *
 * Which branch led elsewhere than in the recording is not to be seen from where the replay got to, as
 * what ought to have run would tell: so all are asked about that were passed on the way, the latest
 * first.
 */

#include "decode/explain/explain_int.h"

#include "decode/machine/trace.h"

// Instructions gone back over: at first, and at most; those whose branches are asked about.
static const uint64_t reach[] = { UINT64_C(1) << 18, UINT64_C(1) << 24 };
enum { PATH = 1 << 18, BRANCHES = 512 };

// Of a fault the address is asked about, or else why the instruction ran at all.
enum { COST_FAULT = 100 };

/* ---- the branches on the way ------------------------------------------------------------------ */

struct passed {
	uint64_t position;
	int depth; ///< of calls, from where the path begins
};

struct path {
	VEC(struct passed) branches;
	uint32_t tid;
	int depth;
	uint64_t straight; ///< as struct explain's
};

static struct err *pass(void *ctx, const struct dec_step *step)
{
	struct path *p = ctx;
	struct err *err = NULL;

	if (!step->insn || step->tid != p->tid)
		return NULL;
	switch (step->insn->flow) {
	case DEC_FLOW_JCC:
	case DEC_FLOW_JRCX:
	case DEC_FLOW_JMP_IND:
	case DEC_FLOW_CALL_IND:
		err = vec_add(&p->branches, (struct passed){ step->position, p->depth });
		break;
	case DEC_FLOW_CALL:
	case DEC_FLOW_JMP:
	case DEC_FLOW_RET:
		break;
	default:
		return NULL;
	}
	p->straight = step->position + 1;
	if (step->insn->flow == DEC_FLOW_CALL || step->insn->flow == DEC_FLOW_CALL_IND)
		p->depth++;
	else if (step->insn->flow == DEC_FLOW_RET)
		p->depth--;
	return err;
}

/* Ask about the branches of calls that are under way, the first for @p cost. */
static struct err *ask_branches(struct explain *ex, const struct path *p, uint32_t cost)
{
	int depth = p->depth;
	struct err *err = NULL;

	for (size_t i = p->branches.size, n = 0; i-- && n < BRANCHES && !err;) {
		const struct passed *b = &p->branches.data[i];

		if (b->depth > depth)
			continue;
		depth = b->depth;
		err = vec_add(&ex->seeds, (struct fl_seed){ .kind = FL_SEED_INSN,
							    .position = b->position });
		if (!err)
			err = vec_add(&ex->costs, cost + EXPLAIN_NEXT_BRANCH * n++);
	}
	return err;
}

static struct err *ask_path(struct explain *ex, uint64_t at, uint32_t cost)
{
	struct path p = { .tid = ex->x->at.tid };
	struct dec_where w;
	struct err *err = dec_machine_seek(ex->machine, at > PATH ? at - PATH : 0, &w);

	if (!err)
		err = dec_machine_trace(ex->machine, at, pass, &p, &w);
	if (!err)
		err = ask_branches(ex, &p, cost);
	ex->straight = p.straight;
	vec_deinit(&p.branches);
	return err;
}

/* ---- what is asked ------------------------------------------------------------------------------- */

static struct err *ask_register(struct explain *ex, uint64_t at, uint8_t reg)
{
	struct err *err = vec_add(&ex->seeds, (struct fl_seed){ .kind = FL_SEED_REG,
								.position = at,
								.reg = reg,
								.bytes = 0xff });

	return err ?: vec_add(&ex->costs, 0);
}

/* The address that @p m stands before an access to. */
static struct err *ask_address(struct explain *ex, struct dec_machine *m)
{
	const struct dec_divergence *d = &ex->x->at;
	struct dec_insn insn = {};
	uint8_t bytes[15];
	struct err *err = dec_machine_read(m, d->rip, bytes, sizeof(bytes));

	if (!err)
		dec_insn_decode(bytes, sizeof(bytes), d->rip, &insn);
	err_destroy(err);
	err = NULL;
	for (int i = 0; i < insn.n_mem && !err; i++) {
		if (insn.mem[i].base < DEC_GPRS)
			err = ask_register(ex, d->position, insn.mem[i].base);
		if (!err && insn.mem[i].index < DEC_GPRS)
			err = ask_register(ex, d->position, insn.mem[i].index);
	}
	return err;
}

/* What differs, or else why the flow came here. @p at: where. */
static struct err *ask(struct explain *ex, struct dec_machine *m, uint64_t at)
{
	const struct dec_divergence *d = &ex->x->at;
	bool is_near = ex->x->near.n_passed && ex->x->near.n_differing;
	struct err *err = NULL;

	if (d->parting == DEC_PARTED_REGISTER)
		err = ask_register(ex, at, d->reg);
	else if (is_near)
		err = ask_register(ex, at, ex->x->near.reg);
	else if (d->parting == DEC_PARTED_FAULT)
		err = ask_address(ex, m);
	ex->n_values = ex->seeds.size;
	return err   ?:
		       ask_path(ex, at,
				d->parting == DEC_PARTED_REGISTER || is_near ?
					EXPLAIN_BRANCH :
				d->parting == DEC_PARTED_FAULT ? COST_FAULT :
								 0);
}

/* ---- the walks ----------------------------------------------------------------------------------- */

/* Back to @p begin. A value that differs is asked about alone before the way to it is. */
static struct err *walk(struct explain *ex, int i, uint64_t begin)
{
	const struct fl_slice_options o = { .begin = begin,
					    .without_addresses = i < EXPLAIN_ADDRESSES,
					    .without_control = i < EXPLAIN_BRANCHES };
	struct explain_walk *w = &ex->walks[i];
	size_t n = i < EXPLAIN_BRANCHES && ex->n_values ? ex->n_values : ex->seeds.size;
	struct err *err;

	if (!n)
		return NULL;
	err = fl_slice_walk(ex->trace, ex->seeds.data, n, &o, &w->slice);
	return err ?: dec_explain_collect(ex, i);
}

static struct err *walk_all(struct explain *ex, uint64_t begin)
{
	struct err *err = NULL;

	dec_explain_forget(ex);
	for (int i = 0; i < EXPLAIN_WALKS && !err; i++)
		err = walk(ex, i, begin);
	return err;
}

struct err *dec_explain_search(struct explain *ex, struct dec_machine *m)
{
	uint64_t at = ex->x->at.position;
	struct err *err = dec_explain_near(ex);
	bool is_found = false;

	if (!err && ex->x->near.n_passed && ex->x->near.n_differing)
		at = ex->x->near.position;
	if (!err)
		err = ask(ex, m, at);
	for (size_t i = 0; i < sizeof(reach) / sizeof(*reach) && !err && !is_found; i++) {
		uint64_t begin = at > reach[i] ? at - reach[i] : 0;

		err = walk_all(ex, begin);
		is_found = !begin || dec_explain_has_suspect(ex);
	}
	ex->x->is_partial |= !is_found;
	return err;
}
