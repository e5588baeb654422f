// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "decode/explain/backward.h"

#include <string.h>

#include "decode/explain/written.h"

// The window, and how far beyond it is looked for one writer.
#define WINDOW (64u << 10)
#define WINDOW_KNOWN (8u << 10) // where it is known where to look beyond it
#define FAR (UINT64_C(1) << 27)
#define CHECKPOINTS 24
#define REGS_KEPT 64 // of so many positions

/** Registers at a position. */
struct past_regs {
	bool is_known;
	uint64_t position;
	struct cap_regs regs;
};

struct dec_past {
	struct dec_machine *machine;
	bool is_borrowed;
	uint64_t end;
	uint64_t begin, until; ///< the window; until 0: there is none
	VEC(struct dec_past_step) steps;
	VEC(struct dec_past_ref) refs;
	VEC(uint8_t) values;
	VEC(struct dec_insn) insns;
	struct map insn_of; ///< rip -> index into insns
	uint64_t far;	    ///< instructions, see dec_past_reach()
	dec_past_known_fn known;
	void *known_ctx;
	const struct dec_written *written;
	struct past_regs regs[REGS_KEPT]; ///< by position, modulo
};

#define NO_INSN UINT32_MAX

/* ---- a window ------------------------------------------------------------------------- */

static uint32_t intern(struct dec_past *p, const struct dec_insn *insn)
{
	const uint64_t *at = map_get(&p->insn_of, insn->rip);
	struct dec_insn *made;

	// Code may have changed since.
	if (at && !memcmp(p->insns.data[*at].bytes, insn->bytes, sizeof(insn->bytes)) &&
	    p->insns.data[*at].flow == insn->flow)
		return *at;
	made = vec_push(&p->insns);
	if (!made || map_put(&p->insn_of, insn->rip, p->insns.size - 1))
		return NO_INSN;
	*made = *insn;
	return p->insns.size - 1;
}

static struct err *keep_ref(struct dec_past *p, const struct dec_ref *from)
{
	struct dec_past_ref *r = vec_push(&p->refs);
	size_t bytes = from->size < 64 ? from->size : 64;

	if (!r)
		return &err_nomem;
	*r = (struct dec_past_ref){ .addr = from->addr,
				    .size = from->size,
				    .value_at = p->values.size,
				    .reg = from->reg,
				    .is_def = from->is_def,
				    .is_mem = from->is_mem,
				    .has_value = from->has_value && from->value };
	if (!r->has_value)
		return NULL;
	if (vec_reserve(&p->values, p->values.size + bytes))
		return &err_nomem;
	memcpy(p->values.data + p->values.size, from->value, bytes);
	p->values.size += bytes;
	return NULL;
}

static struct err *keep(void *ctx, const struct dec_step *step)
{
	struct dec_past *p = ctx;
	struct dec_past_step *to = vec_push(&p->steps);
	struct err *err = NULL;

	if (!to)
		return &err_nomem;
	*to = (struct dec_past_step){ .position = step->position,
				      .tid = step->tid,
				      .first = p->refs.size,
				      .n = step->n_refs,
				      .insn_at = NO_INSN };
	if (step->insn && (to->insn_at = intern(p, step->insn)) == NO_INSN)
		return &err_nomem;
	for (size_t i = 0; i < step->n_refs && !err; i++)
		err = keep_ref(p, &step->refs[i]);
	return err;
}

/* Hold the window that ends at @p until. */
static struct err *load(struct dec_past *p, uint64_t until)
{
	uint64_t size = p->written ? WINDOW_KNOWN : WINDOW;
	uint64_t begin = until > size ? until - size : 0;
	struct dec_where w;
	struct err *err = dec_machine_seek(p->machine, begin, &w);

	p->steps.size = p->refs.size = p->values.size = 0;
	p->until = 0;
	if (!err)
		err = dec_machine_trace(p->machine, until, keep, p, &w);
	if (err)
		return err;
	p->begin = begin;
	p->until = until;
	return NULL;
}

/* ---- who wrote it --------------------------------------------------------------------- */

static bool is_written(const struct dec_location *l, uint32_t tid, bool is_mem,
		       uint8_t reg, uint64_t addr, uint64_t size)
{
	if (l->is_mem != is_mem)
		return false;
	if (is_mem)
		return addr < l->addr + l->size && l->addr < addr + size;
	return reg == l->reg && (tid == l->tid || !tid || !l->tid);
}

struct search {
	const struct dec_location *l;
	uint64_t found; ///< position + 1 of the last writer; 0: none
};

static struct err *look(void *ctx, const struct dec_step *step)
{
	struct search *s = ctx;

	for (size_t i = 0; i < step->n_refs; i++) {
		const struct dec_ref *r = &step->refs[i];

		if (r->is_def &&
		    is_written(s->l, step->tid, r->is_mem, r->reg, r->addr, r->size))
			s->found = step->position + 1;
	}
	return NULL;
}

static bool writes(const struct dec_past *p, const struct dec_past_step *s,
		   const struct dec_location *l)
{
	for (uint32_t k = 0; k < s->n; k++) {
		const struct dec_past_ref *r = &p->refs.data[s->first + k];

		if (r->is_def &&
		    is_written(l, s->tid, r->is_mem, r->reg, r->addr, r->size))
			return true;
	}
	return false;
}

/* What a repeated instruction wrote is logged behind it, as what a system call did is. */
static const struct dec_past_step *behind_whom(const struct dec_past *p, size_t i,
					       const struct dec_location *l)
{
	size_t k = i;

	while (k && p->steps.data[k].insn_at == NO_INSN)
		k--;
	return p->steps.data[k].insn_at != NO_INSN && writes(p, &p->steps.data[k], l) ?
		       &p->steps.data[k] :
		       &p->steps.data[i];
}

static const struct dec_past_step *
look_in_window(const struct dec_past *p, const struct dec_location *l, uint64_t before)
{
	for (size_t i = p->steps.size; i--;) {
		const struct dec_past_step *s = &p->steps.data[i];

		if (s->position < before && writes(p, s, l))
			return s->insn_at == NO_INSN ? behind_whom(p, i, l) : s;
	}
	return NULL;
}

/* Find the last writer in ever longer pieces before the window, or where one is known to be. */
static struct err *look_before(struct dec_past *p, const struct dec_location *l,
			       uint64_t *found, bool *is_far)
{
	const struct dec_trace o = { .step = look,
				     .ctx = &(struct search){ .l = l },
				     .skips_inert = true };
	struct search *s = o.ctx;
	uint64_t end = p->begin, size = 4 * WINDOW, left = p->far;
	struct err *err = NULL;

	while (end && !err && !s->found && !*is_far) {
		struct dec_span piece = { end > size ? end - size : 0, end };
		struct dec_where w;

		if (p->written && !dec_written_before(p->written, l, end, &piece))
			break;
		if (piece.end - piece.start > left)
			piece.start = piece.end - left;
		err = dec_machine_seek(p->machine, piece.start, &w);
		if (!err)
			err = dec_machine_trace_for(p->machine, piece.end, &o, &w);
		end = piece.start;
		left -= piece.end - piece.start;
		size *= 2;
		*is_far = end && !left;
	}
	*found = s->found;
	return err;
}

void dec_past_ask(struct dec_past *p, dec_past_known_fn fn, void *ctx)
{
	p->known = fn;
	p->known_ctx = ctx;
}

void dec_past_know(struct dec_past *p, const struct dec_written *w)
{
	p->written = w;
}

void dec_past_reach(struct dec_past *p, uint64_t instructions)
{
	p->far = instructions;
}

struct err *dec_past_writer(struct dec_past *p, const struct dec_location *l,
			    uint64_t before, const struct dec_past_step **ret,
			    bool *is_far)
{
	enum dec_past_known known = DEC_PAST_UNKNOWN;
	uint64_t found = 0;
	struct err *err = NULL;

	*ret = NULL;
	*is_far = false;
	if (!before)
		return NULL;
	if (before <= p->begin || before > p->until)
		err = load(p, before);
	if (!err)
		*ret = look_in_window(p, l, before);
	if (err || *ret)
		return err;
	if (l->is_mem && p->known)
		known = p->known(p->known_ctx, l, p->begin, &found);
	if (known == DEC_PAST_AT)
		found++;
	else if (known == DEC_PAST_UNKNOWN)
		err = look_before(p, l, &found, is_far);
	if (err || !found)
		return err;
	*is_far = false;
	err = load(p, found);
	if (!err)
		*ret = look_in_window(p, l, found);
	return err;
}

struct err *dec_past_step_at(struct dec_past *p, uint64_t position,
			     const struct dec_past_step **ret)
{
	struct err *err = NULL;

	if (position < p->begin || position >= p->until)
		err = load(p, position + 1);
	*ret = NULL;
	for (size_t i = p->steps.size; i-- && !err;)
		if (p->steps.data[i].position == position && p->steps.data[i].n) {
			*ret = &p->steps.data[i];
			break;
		}
	return err;
}

/* ---- looking at it ---------------------------------------------------------------------- */

const struct dec_insn *dec_past_insn(const struct dec_past *p,
				     const struct dec_past_step *s)
{
	return !s || s->insn_at == NO_INSN ? NULL : &p->insns.data[s->insn_at];
}

const struct dec_past_ref *dec_past_ref(const struct dec_past *p,
					const struct dec_past_step *s, uint32_t i)
{
	return i < s->n ? &p->refs.data[s->first + i] : NULL;
}

const uint8_t *dec_past_value(const struct dec_past *p, const struct dec_past_ref *r)
{
	return r->has_value ? p->values.data + r->value_at : NULL;
}

uint64_t dec_past_rip(const struct dec_past *p, const struct dec_past_step *s)
{
	while (s > p->steps.data && s->insn_at == NO_INSN)
		s--;
	return s->insn_at == NO_INSN ? 0 : p->insns.data[s->insn_at].rip;
}

struct err *dec_past_seek(struct dec_past *p, uint64_t position, struct dec_machine **ret)
{
	struct dec_where w;

	*ret = p->machine;
	return dec_machine_seek(p->machine, position, &w);
}

struct err *dec_past_regs(struct dec_past *p, uint64_t position, struct cap_regs *ret)
{
	struct past_regs *kept = &p->regs[position % REGS_KEPT];
	struct dec_machine *m;
	struct err *err;

	if (kept->is_known && kept->position == position) {
		*ret = kept->regs;
		return NULL;
	}
	err = dec_past_seek(p, position, &m);
	if (!err)
		err = dec_machine_regs(m, ret);
	if (!err)
		*kept = (struct past_regs){ true, position, *ret };
	return err;
}

/* ---- beginning and end -------------------------------------------------------------------- */

/* Run to the end; checkpoints are closer together the nearer it is. With the first nobody has the machine
 * start anew, where all the others would go. */
static struct err *run(struct dec_past *p)
{
	struct err *err = dec_machine_checkpoint(p->machine);
	uint64_t last = 0;

	for (int i = CHECKPOINTS; i-- && !err;) {
		uint64_t back = (uint64_t)WINDOW << i;
		struct dec_where w;

		if (back >= p->end || p->end - back <= last)
			continue;
		last = p->end - back;
		err = dec_machine_run(p->machine, last, &w);
		if (!err)
			err = dec_machine_checkpoint(p->machine);
	}
	return err;
}

struct err *dec_past_create(const struct capture *c, uint64_t end, struct dec_past **ret)
{
	const struct dec_machine_options o = { .output_fd = -1 };
	struct dec_past *p = calloc(1, sizeof(*p));
	struct err *err;

	if (!p)
		return &err_nomem;
	p->end = end;
	p->far = FAR;
	err = dec_machine_create(c, &o, &p->machine);
	if (!err)
		err = run(p);
	if (err)
		dec_past_destroy(p);
	else
		*ret = p;
	return err;
}

struct err *dec_past_over(struct dec_machine *m, struct dec_past **ret)
{
	struct dec_past *p = calloc(1, sizeof(*p));

	if (!p)
		return &err_nomem;
	p->machine = m;
	p->far = FAR;
	p->is_borrowed = true;
	*ret = p;
	return NULL;
}

void dec_past_destroy(struct dec_past *p)
{
	if (!p)
		return;
	if (!p->is_borrowed)
		dec_machine_destroy(p->machine);
	vec_deinit(&p->steps);
	vec_deinit(&p->refs);
	vec_deinit(&p->values);
	vec_deinit(&p->insns);
	map_deinit(&p->insn_of);
	free(p);
}

void dec_past_destroyp(struct dec_past **p)
{
	dec_past_destroy(*p);
}
