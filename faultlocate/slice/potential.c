// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "faultlocate/slice/potential.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "decode/machine/branch.h"
#include "decode/machine/log.h"
#include "faultlocate/slice/trace.h"

#define TRIED_MOST 200
#define MET_MOST 5000	///< instances of the criterion between a branch and it
#define FURTHER 1000000 ///< steps that an altered run may take beyond the recorded ones

struct search {
	struct fl_trace *trace;
	const struct fl_slice *slice;
	const struct fl_seed *seeds;
	size_t n_seeds;
	struct dec_symbols *symbols;
	const char *executable;
	uint64_t position, rip; ///< of the criterion
	uint64_t value;		///< a hash of the criterion's
	struct log_reader reader;
	struct map is_own; ///< branch -> 1 or 0
	struct map last;   ///< branch -> its last instance that is not in the slice
	VEC(uint64_t) met; ///< positions of the criterion's instruction
	VEC(struct fl_potential) branches;
};

/* ---- where they are ------------------------------------------------------------------------ */

static bool is_own(struct search *s, uint64_t rip)
{
	const uint64_t *known = map_get(&s->is_own, rip);
	const char *module;
	bool is;

	if (known)
		return *known;
	module = dec_symbols_module(s->symbols, rip);
	is = module && s->executable && !strcmp(module, s->executable);
	map_put(&s->is_own, rip, is);
	return is;
}

static struct err *on_insn(struct search *s, const struct dec_insn *insn, uint64_t time)
{
	if (insn->rip == s->rip) {
		struct err *err = vec_add(&s->met, time);

		if (err)
			return err;
	}
	if (insn->flow != DEC_FLOW_JCC || time >= s->position ||
	    fl_slice_has(s->slice, time, 0) || !is_own(s, insn->rip))
		return NULL;
	return map_put(&s->last, insn->rip, time) ? &err_nomem : NULL;
}

static struct err *on_block(void *ctx, struct log_block *b, const uint8_t *rec,
			    uint32_t n_ran, uint64_t time)
{
	struct search *s = ctx;
	struct err *err = NULL;
	bool has_it = s->rip >= b->rip &&
		      s->rip <= b->insn[b->n_insns ? b->n_insns - 1 : 0].rip;

	(void)rec;
	for (uint32_t i = has_it || !n_ran ? 0 : n_ran - 1; i < n_ran && !err; i++)
		err = on_insn(s, &b->insn[i], time + i);
	return err;
}

static struct err *on_slow(void *ctx, const struct dec_rec_slow *rec,
			   const struct dec_insn *insn, uint64_t time)
{
	(void)rec;
	return on_insn(ctx, insn, time);
}

static struct err *on_log(void *ctx, const uint8_t *log, size_t bytes)
{
	const struct log_sink sink = { ctx, on_block, on_slow, NULL };

	return dec_log_reader_feed(&((struct search *)ctx)->reader, &sink, log, bytes);
}

static int latest_first(const void *a, const void *b)
{
	const struct fl_potential *x = a, *y = b;

	return x->position > y->position ? -1 : x->position < y->position;
}

static struct err *find_branches(struct search *s)
{
	struct dec_machine *m = NULL;
	struct dec_where w;
	struct err *err = dec_machine_create(s->trace->capture, NULL, &m);

	dec_log_reader_init(&s->reader, DEC_LOG_FLOW, 0);
	if (!err)
		err = dec_machine_log(m, DEC_LOG_FLOW, on_log, s);
	if (!err)
		err = dec_machine_run(m, s->position, &w);
	dec_machine_destroy(m);
	dec_log_reader_deinit(&s->reader);
	for (size_t i = 0; i < s->last.capacity && !err; i++)
		if (s->last.slots[i].key != MAP_EMPTY_KEY)
			err = vec_add(&s->branches,
				      (struct fl_potential){
					      .rip = s->last.slots[i].key,
					      .position = s->last.slots[i].value });
	vec_sort(&s->branches, latest_first);
	return err;
}

/* ---- the value ------------------------------------------------------------------------------- */

static struct err *hash_reg(struct dec_machine *m, int reg, uint64_t *h)
{
	uint8_t value[160];
	size_t n;
	struct err *err = dec_machine_reg(m, reg, value, &n);

	if (!err)
		*h = hash_bytes(*h, value, n);
	return err;
}

static void hash_memory(struct dec_machine *m, uint64_t addr, uint64_t size, uint64_t *h)
{
	uint8_t piece[4096];

	for (uint64_t at = 0, n; at < size; at += n) {
		n = size - at < sizeof(piece) ? size - at : sizeof(piece);
		memset(piece, 0, n);
		err_destroy(dec_machine_read(m, addr + at, piece, n)); // gone: zeros
		*h = hash_bytes(*h, piece, n);
	}
}

/* What the instruction at the criterion is going to use, but for the stack pointer. */
static struct err *hash_uses(struct search *s, struct dec_machine *m, uint64_t *h)
{
	struct dec_insn insn;
	struct cap_regs regs;
	struct err *err = dec_machine_regs(m, &regs);

	if (err || !fl_trace_decode(s->trace, s->rip, &insn))
		return err;
	for (int reg = 0; reg < CAP_GPRS; reg++)
		if (reg != CAP_RSP && insn.gpr_read >> reg & 1)
			*h = hash_bytes(*h, &regs.gpr[reg], 8);
	for (int reg = DEC_GPRS; reg < DEC_REG_FLAGS && !err; reg++)
		if (insn.other_read >> (reg - DEC_GPRS) & 1)
			err = hash_reg(m, reg, h);
	for (int i = 0; i < insn.n_mem; i++)
		if (insn.mem[i].is_read)
			hash_memory(m,
				    dec_insn_address(&insn.mem[i], regs.gpr, regs.fs_base,
						     regs.gs_base),
				    insn.mem[i].size, h);
	return err;
}

static struct err *value_here(struct search *s, struct dec_machine *m, uint64_t *ret)
{
	struct err *err = NULL;

	*ret = HASH_START;
	for (size_t i = 0; i < s->n_seeds && !err; i++) {
		const struct fl_seed *seed = &s->seeds[i];

		if (seed->position != s->position)
			continue;
		if (seed->kind == FL_SEED_REG)
			err = hash_reg(m, seed->reg, ret);
		else if (seed->kind == FL_SEED_MEM)
			hash_memory(m, seed->addr, seed->size, ret);
		else if (seed->kind == FL_SEED_INSN)
			err = hash_uses(s, m, ret);
	}
	return err;
}

/* ---- trying ------------------------------------------------------------------------------------ */

/* Astray, to the criterion's instruction, so often. */
static struct err *walk(struct search *s, struct dec_machine *m, uint64_t from,
			size_t times, bool *is_reached)
{
	uint64_t until = s->position + (s->position - from) + FURTHER;
	struct dec_where w = { .at = DEC_AT_BREAK };
	struct err *err = NULL;

	for (; times && !err && w.at == DEC_AT_BREAK; times--)
		err = dec_machine_run(m, until, &w);
	*is_reached = !err && w.at == DEC_AT_BREAK && w.rip == s->rip;
	return err;
}

/* Let branch @p b go the other way. */
static struct err *try_branch(struct search *s, struct fl_potential *b, size_t times,
			      bool *is_reached, bool *is_other)
{
	struct dec_machine *m = fl_trace_machine(s->trace);
	struct dec_insn insn;
	uint8_t to[64] = {};
	uint64_t next, value;
	struct dec_where w;
	struct err *err = dec_machine_seek(m, b->position + 1, &w);

	*is_reached = *is_other = false;
	if (err || !fl_trace_decode(s->trace, b->rip, &insn))
		return err;
	b->was_taken = w.rip != b->rip + insn.len;
	next = b->was_taken ? b->rip + insn.len : insn.target;
	memcpy(to, &next, 8);
	times -= times && next == s->rip; // it stands there at once
	err = dec_machine_seek(m, b->position, &w);
	if (!err)
		err = dec_machine_stray(m);
	if (err)
		return err;
	err = dec_machine_break(m, s->rip, true);
	if (!err)
		err = dec_machine_set_reg(m, w.tid, DEC_REG_RIP, to);
	if (!err)
		err = walk(s, m, b->position, times, is_reached);
	*is_reached |= !err && !times;
	if (!err && *is_reached)
		err = value_here(s, m, &value);
	*is_other = !err && *is_reached && value != s->value;
	err_destroy(dec_machine_break(m, s->rip, false));
	err_destroy(dec_machine_return(m, b->position, &w));
	return err;
}

static struct err *try_all(struct search *s, struct fl_potentials *ret)
{
	struct err *err = NULL;

	for (size_t i = 0; i < s->branches.size && !err; i++) {
		struct fl_potential *b = &s->branches.data[i];
		// It is met once more: where it was asked about.
		size_t times = s->met.size + 1 -
			       vec_rank(s->met.size, k, s->met.data[k] <= b->position);
		bool is_reached, is_other;

		if (ret->n_tried == TRIED_MOST || times > MET_MOST) {
			ret->n_others++;
			continue;
		}
		err = try_branch(s, b, times, &is_reached, &is_other);
		ret->n_tried++;
		ret->n_lost += !err && !is_reached;
		if (err || !is_other)
			continue;
		dec_symbols_place(s->symbols, b->rip, &b->place);
		err = vec_add(&ret->list, *b);
	}
	return err;
}

struct err *fl_potentials_find(struct fl_trace *t, const struct fl_slice *slice,
			       const struct fl_seed *seeds, size_t n_seeds,
			       struct dec_symbols *symbols, const char *executable,
			       struct fl_potentials *ret)
{
	struct search s = { .trace = t,
			    .slice = slice,
			    .seeds = seeds,
			    .n_seeds = n_seeds,
			    .symbols = symbols,
			    .executable = executable };
	struct dec_machine *m = fl_trace_machine(t);
	struct dec_where w = {};
	struct err *err;

	for (size_t i = 0; i < n_seeds; i++)
		if (seeds[i].position > s.position)
			s.position = seeds[i].position;
	err = dec_machine_seek(m, s.position, &w);
	s.rip = w.rip;
	if (!err)
		err = value_here(&s, m, &s.value);
	if (!err)
		err = find_branches(&s);
	if (!err)
		err = try_all(&s, ret);
	map_deinit(&s.is_own);
	map_deinit(&s.last);
	vec_deinit(&s.met);
	vec_deinit(&s.branches);
	return err;
}

void fl_potentials_deinit(struct fl_potentials *p)
{
	vec_deinit(&p->list);
}
