// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * The way from what differs to an input, step by step, with the values that the replay had.
 */

#include "decode/explain/explain_int.h"

#include <string.h>

/** A step, and what it defined. */
struct chain_step {
	struct dec_explain_step shown;
	struct dec_location at;
};

typedef VEC(struct chain_step) chain_steps;

static void location_name(const struct dec_location *l, bool is_way, char *text,
			  size_t size)
{
	char name[DEC_REG_NAME];

	if (is_way)
		snprintf(text, size, "the way taken");
	else if (l->is_mem)
		snprintf(text, size, "%u byte%s at %#lx", l->size,
			 l->size == 1 ? "" : "s", l->addr);
	else
		snprintf(text, size, "%s",
			 l->reg <= DEC_REG_FLAGS ? dec_reg_name(l->reg, name) :
						   "the FPU's state");
}

static struct chain_step made_by(struct explain *ex, const struct dec_insn *insn,
				 uint64_t position, enum fl_edge edge,
				 const struct dec_location *at)
{
	static const char *const needed_as[] = { [FL_EDGE_DATA] = "value",
						 [FL_EDGE_ADDRESS] = "address",
						 [FL_EDGE_CONTROL] = "branch",
						 [FL_EDGE_BEGIN] = "value" };
	struct chain_step step = { .shown = { .position = position,
					      .tid = at->tid,
					      .needed_as = needed_as[edge] },
				   .at = *at };

	if (!insn)
		return step;
	step.shown.rip = insn->rip;
	dec_insn_text(insn, step.shown.insn, sizeof(step.shown.insn));
	dec_symbols_place(ex->symbols, insn->rip, &step.shown.place);
	return step;
}

static struct chain_step node_step(struct explain *ex, const struct explain_walk *w,
				   uint32_t node)
{
	const struct fl_node *n = &w->nodes[node];
	const struct dec_location at = { .is_mem = n->is_mem,
					 .reg = n->reg,
					 .tid = n->tid,
					 .addr = n->addr,
					 .size = n->size };
	struct chain_step step =
		made_by(ex, dec_explain_insn(w, node), n->position, n->edge, &at);

	location_name(&at, dec_explain_is_way(w, node), step.shown.what,
		      sizeof(step.shown.what));
	return step;
}

static bool is_same_line(const struct dec_explain_step *a,
			 const struct dec_explain_step *b)
{
	return *a->insn && *b->insn && a->tid == b->tid && a->place.line &&
	       a->place.line == b->place.line && a->place.file && b->place.file &&
	       !strcmp(a->place.file, b->place.file) && strcmp(b->needed_as, "branch");
}

/* Steps of one source line are one. */
static struct err *add(chain_steps *chain, const struct chain_step *step, bool is_last)
{
	struct chain_step *before = chain->size ? &chain->data[chain->size - 1] : NULL;

	if (!before || is_last || !is_same_line(&before->shown, &step->shown))
		return vec_add(chain, *step);
	before->shown.n_merged++;
	return NULL;
}

/* From what differs to @p root. */
static struct err *collect(struct explain *ex, const struct explain_suspect *root,
			   chain_steps *chain)
{
	const struct explain_walk *w = &ex->walks[root->walk];
	bool is_node = root->origin == EXPLAIN_CONSTANT;
	VEC(uint32_t) path = {};
	struct chain_step step;
	struct err *err = NULL;

	for (uint32_t n = root->node; n != FL_NONE && !err; n = w->nodes[n].parent) {
		err = vec_add(&path, n);
		// Which of its instances needed it is not known.
		if (w->nodes[n].is_folded)
			break;
	}
	for (size_t i = path.size; i-- && !err;) {
		step = node_step(ex, w, path.data[i]);
		err = add(chain, &step, is_node && !i);
	}
	vec_deinit(&path);
	if (err || is_node)
		return err;
	step = made_by(ex, root->insn, root->position, root->edge, &root->at);
	step.shown.tid = root->tid;
	dec_explain_origin(ex, root, step.shown.what, sizeof(step.shown.what));
	return add(chain, &step, true);
}

/* What was there behind the step. The earliest is looked at first: the machine goes forward then. */
static struct err *look(struct explain *ex, struct chain_step *step)
{
	uint8_t value[160];
	size_t bytes;
	struct dec_where w;
	struct err *err;

	if (!*step->shown.insn || !step->at.size ||
	    (!step->at.is_mem && step->at.reg >= DEC_GPRS))
		return NULL;
	err = dec_machine_seek(ex->machine, step->shown.position + 1, &w);
	if (err)
		return err;
	bytes = step->at.size < 8 && step->at.is_mem ? step->at.size : 8;
	err = step->at.is_mem ?
		      dec_machine_read(ex->machine, step->at.addr, value, bytes) :
		      dec_machine_thread_reg(ex->machine, step->at.tid, step->at.reg,
					     value, &bytes);
	step->shown.has_value = !err;
	if (!err)
		memcpy(&step->shown.value, value, bytes < 8 ? bytes : 8);
	// The thread ended there, or the memory is gone.
	err_destroy(err);
	return NULL;
}

/* Of a long chain the middle is left out. */
static uint32_t shorten(chain_steps *chain)
{
	uint32_t n = chain->size > DEC_EXPLAIN_STEPS ? chain->size - DEC_EXPLAIN_STEPS :
						       0;

	memmove(chain->data + DEC_EXPLAIN_HEAD, chain->data + DEC_EXPLAIN_HEAD + n,
		n ? (DEC_EXPLAIN_STEPS - DEC_EXPLAIN_HEAD) * sizeof(*chain->data) : 0);
	chain->size -= n;
	return n;
}

struct err *dec_explain_chain(struct explain *ex, const struct explain_suspect *root)
{
	chain_steps chain = {};
	struct err *err = collect(ex, root, &chain);

	if (!err)
		ex->x->n_left_out = shorten(&chain);
	for (size_t i = chain.size; i-- && !err;)
		err = look(ex, &chain.data[i]);
	for (size_t i = 0; i < chain.size && !err; i++)
		err = vec_add(&ex->x->chain, chain.data[i].shown);
	vec_deinit(&chain);
	return err;
}
