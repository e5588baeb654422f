// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "decode/machine/trace.h"

#include <string.h>

#include "decode/machine/call_access.h"
#include "decode/x86/zydis.h"

// Uses and definitions of one instruction: 16 lanes of a gather, a few registers.
#define TRACE_REFS 128
#define X87_BYTES 160

struct dec_tracer {
	struct log_reader reader;
	struct dec_trace to;
	uint32_t tid;
	uint64_t fs_base;
	uint64_t gpr[16];
	uint64_t gpr_before[16];
	bool is_watched; ///< gpr_before are those before the next instruction
	uint32_t resume; ///< so many of the next block were gone through in a stretch
	uint8_t vec[32][64];
	uint64_t k[8];
	uint8_t x87[X87_BYTES], x87_before[X87_BYTES];
	bool has_x87; ///< since the thread's last instruction of it
	struct dec_ref ref[TRACE_REFS];
	size_t n_refs;
	VEC(struct dec_access) accesses; ///< of the system call that comes next
	uint8_t value[TRACE_REFS]
		     [64]; ///< what ref[i].value points to when that may change
};

/* ---- references ------------------------------------------------------------------- */

static struct dec_ref *trace_add(struct dec_tracer *t, bool is_def, uint32_t size)
{
	struct dec_ref *r;

	if (t->n_refs == TRACE_REFS)
		return NULL;
	r = &t->ref[t->n_refs++];
	*r = (struct dec_ref){ .is_def = is_def, .size = size };
	return r;
}

/* Reference to register @p reg with the value the shadow holds: of a definition the one that
 * is shown, of a use one that the instruction is about to change. */
static void trace_reg(struct dec_tracer *t, bool is_def, int reg)
{
	struct dec_ref *r =
		trace_add(t, is_def, reg >= DEC_REG_VEC && reg < DEC_REG_K ? 64 : 8);

	if (!r)
		return;
	r->reg = reg;
	if (reg < DEC_GPRS)
		r->value = (const uint8_t *)&t->gpr[reg];
	else if (reg < DEC_REG_K)
		r->value = t->vec[reg - DEC_REG_VEC];
	else if (reg < DEC_REG_FLAGS)
		r->value = (const uint8_t *)&t->k[reg - DEC_REG_K];
	else if (reg == DEC_REG_X87 && !is_def && t->has_x87)
		r->value = memcpy(t->x87_before, t->x87, r->size = X87_BYTES);
	r->has_value = r->value != NULL;
	if (is_def || !r->value || reg == DEC_REG_X87)
		return;
	if (r->size == 8)
		memcpy(t->value[r - t->ref], r->value, 8);
	else
		memcpy(t->value[r - t->ref], r->value, 64);
	r->value = t->value[r - t->ref];
}

static void trace_regs(struct dec_tracer *t, bool is_def, const struct dec_insn *insn)
{
	uint32_t gpr = is_def ? insn->gpr_written : insn->gpr_read;
	uint64_t other = is_def ? insn->other_written : insn->other_read;

	for (; gpr; gpr &= gpr - 1)
		trace_reg(t, is_def, __builtin_ctz(gpr));
	for (; other; other &= other - 1)
		trace_reg(t, is_def, DEC_GPRS + __builtin_ctzll(other));
}

static void trace_mem(struct dec_tracer *t, bool is_def, uint64_t addr, uint32_t size,
		      const uint8_t *value)
{
	struct dec_ref *r = trace_add(t, is_def, size);

	if (!r)
		return;
	r->is_mem = true;
	r->addr = addr;
	r->has_value = value != NULL;
	r->value = value;
	if (!value || size > 64)
		return;
	if (size == 8)
		memcpy(t->value[r - t->ref], value, 8);
	else
		memcpy(t->value[r - t->ref], value, size);
	r->value = t->value[r - t->ref];
}

static struct err *trace_show(struct dec_tracer *t, const struct dec_insn *insn,
			      uint64_t position)
{
	struct dec_step step = { .position = position,
				 .tid = t->tid,
				 .insn = insn,
				 .refs = t->ref,
				 .n_refs = t->n_refs,
				 .gpr = t->gpr };

	if (insn && insn->flow == DEC_FLOW_SYSCALL) {
		step.accesses = t->accesses.data;
		step.n_accesses = t->accesses.size;
	}
	if (t->is_watched)
		step.gpr_before = t->gpr_before;
	t->is_watched = false;
	return t->to.step(t->to.ctx, &step);
}

/* ---- inline instructions ------------------------------------------------------------- */

/* A definition logged after the instruction: bring the shadow up to date. */
static void trace_define(uint64_t *gpr, uint8_t (*vec)[64], uint64_t *k,
			 const struct dec_insn *insn, const struct dec_slot *s,
			 const uint8_t *value)
{
	switch (s->kind) {
	case DEC_SLOT_GPR:
		memcpy(&gpr[s->which], value, 8);
		break;
	case DEC_SLOT_VEC:
		if (insn->is_vex)
			memset(vec[s->which], 0, 64);
		memcpy(vec[s->which], value, s->bytes);
		break;
	case DEC_SLOT_K:
		memcpy(&k[s->which], value, 8);
		break;
	}
}

void dec_glance_define(const struct dec_glance *g, uint32_t i)
{
	const struct dec_slot *slot = &g->plan->slots[g->plan->insn[i].slots];
	const uint8_t *at = g->rec + g->block->slot_at[i];

	for (uint32_t s = 0; s < g->plan->insn[i].n; at += dec_slot_size(&slot[s++]))
		trace_define(g->gpr, g->vec, g->k, &g->block->insn[i], &slot[s], at);
	g->gpr[CAP_RSP] += g->plan->insn[i].rsp_step;
}

/* What a branch defines follows from its kind. */
static void trace_branch(uint64_t *gpr, const struct dec_insn *insn)
{
	uint16_t pops = 0;

	if (insn->flow == DEC_FLOW_CALL || insn->flow == DEC_FLOW_CALL_IND) {
		gpr[CAP_RSP] -= 8;
	} else if (insn->flow == DEC_FLOW_RET) {
		if (insn->len >= 3 && insn->bytes[insn->len - 3] == 0xc2)
			memcpy(&pops, insn->bytes + insn->len - 2, 2);
		gpr[CAP_RSP] += 8 + pops;
	}
}

void dec_glance_branch(const struct dec_glance *g, uint32_t i)
{
	trace_branch(g->gpr, &g->block->insn[i]);
}

static void trace_clear(struct dec_tracer *t, int from)
{
	for (int v = 0; v < 16; v++)
		memset(t->vec[v] + from, 0, 64 - from);
}

/* What @p insn read, or stored, through operand @p m. */
static void trace_operand(struct dec_tracer *t, bool is_def, const struct dec_insn *insn,
			  int m, uint64_t addr, const uint8_t *value)
{
	struct log_run run[LOG_RUNS];
	int n;

	if (!insn->lane_bytes) {
		trace_mem(t, is_def, addr, insn->mem[m].size, value);
		return;
	}
	n = dec_log_runs(insn->lane_bytes, insn->mem[m].size, t->k[insn->lane_mask], run);
	for (int i = 0; i < n; i++)
		trace_mem(t, is_def, addr + run[i].offset, run[i].size,
			  value ? value + run[i].offset : NULL);
}

static struct dec_trace_block *trace_block_plan(const struct dec_tracer *t,
						struct log_block *b)
{
	struct dec_known known = dec_known_start(DEC_LOG_VALUES, false);
	struct dec_slot slots[DEC_SLOTS];
	struct dec_trace_block *plan;
	uint32_t n = 0;
	size_t kept;

	if (b->user)
		return b->user;
	for (uint32_t i = 0; i < b->n_insns; i++)
		n += dec_insn_slots(&b->insn[i], DEC_LOG_VALUES, &known, slots);
	kept = (sizeof(*plan) + n * sizeof(*slots) + 15) & ~15ul;
	plan = calloc(1, kept + (b->n_insns + 1) * t->to.glance_bytes);
	if (plan)
		plan->user = (char *)plan + kept;
	n = 0;
	for (uint32_t i = 0; plan && i < b->n_insns; i++) {
		uint32_t k = dec_insn_slots(&b->insn[i], DEC_LOG_VALUES, &known, slots);

		plan->insn[i].slots = n;
		plan->insn[i].n = k;
		plan->insn[i].rsp_step = dec_insn_rsp_step(&b->insn[i]);
		plan->insn[i].cleared_from = dec_insn_cleared_from(&b->insn[i]);
		plan->insn[i].is_inert = dec_insn_is_inert(&b->insn[i]);
		plan->insn[i].flow = b->insn[i].flow;
		plan->insn[i].rip_at = b->insn[i].rip - b->rip;
		memcpy(&plan->slots[n], slots, k * sizeof(*slots));
		n += k;
	}
	return b->user = plan;
}

static struct err *trace_insn(struct dec_tracer *t, const struct log_block *b,
			      const struct dec_trace_block *plan, uint32_t i,
			      const uint8_t *slot_at, uint64_t position)
{
	const struct dec_insn *insn = &b->insn[i];
	const struct dec_slot *slots = &plan->slots[plan->insn[i].slots];
	bool is_call = insn->flow == DEC_FLOW_CALL || insn->flow == DEC_FLOW_CALL_IND;
	const uint8_t *load[DEC_MEMS] = {}, *store[DEC_MEMS] = {};
	uint64_t addr[DEC_MEMS], next = insn->rip + insn->len;

	t->n_refs = 0;
	if (t->to.skips_inert && plan->insn[i].is_inert)
		return trace_show(t, insn, position);
	for (int m = 0; m < insn->n_mem; m++)
		addr[m] = dec_insn_address(&insn->mem[m], t->gpr, t->fs_base, 0);
	trace_regs(t, false, insn);
	for (uint32_t k = 0; k < plan->insn[i].n; slot_at += dec_slot_size(&slots[k++])) {
		switch (slots[k].kind) {
		case DEC_SLOT_LOAD:
		case DEC_SLOT_LANES:
			load[slots[k].which] = slot_at;
			break;
		case DEC_SLOT_STORE:
			store[slots[k].which] = slot_at;
			break;
		default:
			trace_define(t->gpr, t->vec, t->k, insn, &slots[k], slot_at);
		}
	}
	for (int m = 0; m < insn->n_mem; m++) {
		const struct dec_mem *mem = &insn->mem[m];
		const uint8_t *v = load[m];

		if (!mem->is_read)
			continue;
		// A plain load's value is what its register holds now.
		if (!v && insn->is_plain_load) {
			uint32_t rsp = 1u << CAP_RSP;
			uint32_t gpr = insn->gpr_written &
				       ~(insn->gpr_written == rsp ? 0 : rsp);
			uint64_t other = insn->other_written;

			if (gpr)
				v = (const uint8_t *)&t->gpr[__builtin_ctz(gpr)];
			else if (other & 0xffffffffu)
				v = t->vec[__builtin_ctzll(other)];
		}
		trace_operand(t, false, insn, m, addr[m], v);
	}
	t->gpr[CAP_RSP] += plan->insn[i].rsp_step;
	if (insn->flow != DEC_FLOW_NEXT)
		trace_branch(t->gpr, insn);
	if (plan->insn[i].cleared_from >= 0)
		trace_clear(t, plan->insn[i].cleared_from);
	trace_regs(t, true, insn);
	for (int m = 0; m < insn->n_mem; m++) {
		if (insn->mem[m].is_write)
			trace_operand(t, true, insn, m, addr[m],
				      is_call ? (const uint8_t *)&next : store[m]);
	}
	return trace_show(t, insn, position);
}

static void trace_watch(struct dec_tracer *t, const void *gpr)
{
	memcpy(t->gpr_before, gpr, sizeof(t->gpr_before));
	t->is_watched = true;
}

static struct err *trace_on_block(void *ctx, struct log_block *b, const uint8_t *rec,
				  uint32_t n_ran, uint64_t time)
{
	struct dec_tracer *t = ctx;
	struct dec_glance g = { .block = b,
				.plan = trace_block_plan(t, b),
				.rec = rec,
				.at = t->resume,
				.n_ran = n_ran,
				.position = time,
				.tid = t->tid,
				.fs_base = t->fs_base,
				.gpr = t->gpr,
				.vec = t->vec,
				.k = t->k };
	struct err *err = g.plan ? NULL : &err_nomem;

	t->resume = 0;
	if (b->is_watched)
		trace_watch(t, rec + 8);
	while (g.at < n_ran && !err) {
		if (t->to.glance)
			err = t->to.glance(t->to.ctx, &g);
		if (!err && g.at < n_ran) {
			err = trace_insn(t, b, g.plan, g.at, rec + b->slot_at[g.at],
					 time + g.at);
			g.at++;
		}
	}
	return err;
}

static struct err *trace_on_stretch(void *ctx, struct log_reader *r, const uint8_t **log,
				    const uint8_t *end)
{
	struct dec_tracer *t = ctx;
	struct dec_stretch s = { .g = { .rec = *log,
					.at = t->resume,
					.position = r->time,
					.tid = t->tid,
					.fs_base = t->fs_base,
					.gpr = t->gpr,
					.vec = t->vec,
					.k = t->k },
				 .blocks = r->blocks.data,
				 .n_blocks = r->blocks.size,
				 .end = end,
				 .until = UINT64_MAX };
	struct err *err = t->resume ? NULL : t->to.stretch(t->to.ctx, &s);

	*log = s.g.rec;
	r->time = s.g.position;
	t->resume = s.g.at;
	return err;
}

/* ---- the rest --------------------------------------------------------------------------- */

/* A whole register as C read it. */
static void trace_assign(struct dec_tracer *t, int reg, const uint8_t *value)
{
	if (reg < DEC_GPRS)
		memcpy(&t->gpr[reg], value, 8);
	else if (reg < DEC_REG_K)
		memcpy(t->vec[reg - DEC_REG_VEC], value, 64);
	else if (reg < DEC_REG_FLAGS)
		memcpy(&t->k[reg - DEC_REG_K], value, 8);
	else if (reg == DEC_REG_X87)
		memcpy(t->x87, value, X87_BYTES);
	t->has_x87 |= reg == DEC_REG_X87;
}

static struct err *trace_on_slow(void *ctx, const struct dec_rec_slow *rec,
				 const struct dec_insn *insn, uint64_t time)
{
	struct dec_tracer *t = ctx;

	t->n_refs = 0;
	if (rec->is_watched)
		trace_watch(t, rec->gpr);
	memcpy(t->gpr, rec->gpr, sizeof(t->gpr));
	trace_regs(t, false, insn);
	for (int is_def = 0; is_def < 2; is_def++) {
		struct log_refs refs = dec_log_refs(rec);
		const struct dec_rec_ref *ref;
		const uint8_t *data;

		while ((ref = dec_log_next_ref(&refs, &data))) {
			struct dec_ref *r;

			if (ref->is_def != is_def)
				continue;
			if (ref->is_mem) {
				trace_mem(t, is_def, ref->addr, ref->bytes, data);
				continue;
			}
			trace_assign(t, ref->reg, data);
			r = trace_add(t, is_def, ref->bytes);
			if (r) {
				r->reg = ref->reg;
				r->has_value = true;
				r->value = data;
			}
		}
	}
	dec_log_follow_fs(rec, insn, &t->fs_base);
	return trace_show(t, insn, time);
}

static struct err *trace_keep_accesses(struct dec_tracer *t,
				       const struct dec_rec_access *rec)
{
	size_t n = (rec->size - sizeof(*rec)) / sizeof(rec->access[0]);
	struct err *err = NULL;

	if (t->accesses.size + n > DEC_CALL_ACCESSES) // the guest scribbled on the log
		t->accesses.size = n = 0;
	for (size_t i = 0; i < n && !err; i++)
		err = vec_add(&t->accesses, rec->access[i]);
	return err;
}

/* rdtsc and cpuid: the record holds the registers behind them. */
static struct err *trace_state(struct dec_tracer *t, const struct dec_rec *rec,
			       uint64_t time)
{
	struct dec_insn insn;
	uint64_t why = rec->value[20];
	struct err *err =
		t->to.state && (why == DEC_STATE_SIGNAL || why == DEC_STATE_CALL) ?
			t->to.state(t->to.ctx, t->tid, rec, t->gpr) :
			NULL;
	bool is_insn = rec->value[18] && rec->value[18] <= 8 &&
		       dec_insn_decode((const uint8_t *)&rec->value[19], rec->value[18],
				       rec->value[16] - rec->value[18], &insn);

	if (err)
		return err;
	if (is_insn)
		trace_regs(t, false, &insn);
	else
		t->has_x87 = false;
	memcpy(t->gpr, rec->value, sizeof(t->gpr));
	t->fs_base = rec->value[17];
	if (!is_insn)
		return NULL;
	trace_regs(t, true, &insn);
	return trace_show(t, &insn, time);
}

static struct err *trace_on_other(void *ctx, const struct dec_rec *rec, uint64_t time)
{
	static const int syscall_uses[] = { 0, 7, 6, 2, 10, 8, 9 };
	const struct dec_rec_write *w = (const struct dec_rec_write *)rec;
	struct dec_tracer *t = ctx;
	struct dec_insn insn = { .len = 2, .flow = DEC_FLOW_SYSCALL };
	struct err *err;

	t->n_refs = 0;
	switch (rec->id) {
	case DEC_REC_STATE:
		return trace_state(t, rec, time);
	case DEC_REC_SYSCALL:
		for (int i = 0; i < 7; i++)
			trace_reg(t, false, syscall_uses[i]);
		insn.rip = rec->value[2];
		t->gpr[CAP_RAX] = rec->value[1];
		t->gpr[CAP_RCX] = insn.rip + 2;
		t->gpr[11] = rec->value[12];
		t->fs_base = rec->value[13];
		trace_reg(t, true, CAP_RAX);
		trace_reg(t, true, CAP_RCX);
		trace_reg(t, true, 11);
		err = trace_show(t, &insn, time);
		t->accesses.size = 0;
		return err;
	case DEC_REC_ACCESS:
		return trace_keep_accesses(t, (const struct dec_rec_access *)rec);
	case DEC_REC_THREAD:
		memcpy(t->vec, &rec->value[DEC_REC_THREAD_WORDS], sizeof(t->vec));
		memcpy(t->k, &rec->value[DEC_REC_THREAD_WORDS + sizeof(t->vec) / 8],
		       sizeof(t->k));
		t->has_x87 = false;
		t->tid = rec->value[0];
		return NULL;
	case DEC_REC_WRITE:
		trace_mem(t, true, w->addr, w->n_bytes, w->bytes);
		return trace_show(t, NULL, time ? time - 1 : 0);
	default:
		return NULL;
	}
}

static struct err *trace_tell_other(void *ctx, const struct dec_rec *rec, uint64_t time)
{
	struct err *err = trace_on_other(ctx, rec, time);
	struct dec_tracer *t = ctx;

	return err || !t->to.other ? err : t->to.other(t->to.ctx, rec, time);
}

struct err *dec_tracer_feed(void *ctx, const uint8_t *log, size_t bytes)
{
	struct dec_tracer *t = ctx;
	const struct log_sink sink = { ctx, trace_on_block, trace_on_slow,
				       trace_tell_other };
	struct err *err;

	t->reader.stretch = t->to.stretch ? trace_on_stretch : NULL;
	err = dec_log_reader_feed(&t->reader, &sink, log, bytes);
	return err || !t->to.gone ? err : t->to.gone(t->to.ctx);
}

struct err *dec_tracer_create(uint64_t position, dec_step_fn fn, void *ctx,
			      struct dec_tracer **ret)
{
	struct dec_tracer *t = calloc(1, sizeof(*t));

	if (!t)
		return &err_nomem;
	dec_log_reader_init(&t->reader, DEC_LOG_VALUES, position);
	t->to = (struct dec_trace){ .step = fn, .ctx = ctx };
	*ret = t;
	return NULL;
}

void dec_tracer_destroy(struct dec_tracer *t)
{
	if (!t)
		return;
	dec_log_reader_deinit(&t->reader);
	vec_deinit(&t->accesses);
	free(t);
}

void dec_tracer_set(struct dec_tracer *t, int reg, const uint8_t *value, size_t bytes)
{
	if (bytes)
		trace_assign(t, reg, value);
}

void dec_tracer_set_fs(struct dec_tracer *t, uint64_t fs_base)
{
	t->fs_base = fs_base;
}

struct err *dec_machine_trace_for(struct dec_machine *m, uint64_t position,
				  const struct dec_trace *o, struct dec_where *ret)
{
	struct dec_tracer *t = NULL;
	struct cap_regs regs;
	struct err *err = dec_machine_regs(m, &regs);
	struct dec_where now;

	// Running to where it stands tells where that is.
	if (!err)
		err = dec_machine_run(m, 0, &now);
	if (!err)
		err = dec_tracer_create(now.position, NULL, NULL, &t);
	if (err)
		return err;
	t->to = *o;
	dec_tracer_set_fs(t, regs.fs_base);
	for (int r = 0; !err && r < DEC_REG_FLAGS; r++) {
		uint8_t value[160];
		size_t n;

		err = dec_machine_reg(m, r, value, &n);
		if (!err)
			dec_tracer_set(t, r, value, n);
	}
	if (!err)
		err = dec_machine_run_logged(m, DEC_LOG_VALUES, dec_tracer_feed, t,
					     position, ret);
	dec_tracer_destroy(t);
	return err;
}

struct err *dec_machine_trace(struct dec_machine *m, uint64_t position, dec_step_fn fn,
			      void *ctx, struct dec_where *ret)
{
	const struct dec_trace o = { .step = fn, .ctx = ctx };

	return dec_machine_trace_for(m, position, &o, ret);
}
