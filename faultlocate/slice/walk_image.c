// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Images of the processor's state: a lazy call saves all vector registers and restores them around the
 * dynamic linker's work. What a register gets back is what it had, not what all had. Only what lies
 * where it does in each image is known: the lower 16 bytes of the first sixteen, mxcsr, the x87; what
 * else is wanted is left to who knows of no parts.
 *
 * That an extended image may leave out registers that are all zero changes nothing: zeros is what is
 * restored then.
 */

#include "decode/x86/zydis.h"
#include "faultlocate/slice/walk.h"

enum { VECTORS = 16, MXCSR = VECTORS, X87, X87_STACK, PARTS };

/** What lies where in an image. */
struct part {
	uint8_t reg, bytes;
	uint16_t at;
};

static struct part part_of(int i)
{
	switch (i) {
	case MXCSR:
		return (struct part){ DEC_REG_MXCSR, 4, 24 };
	case X87:
		return (struct part){ DEC_REG_X87, 24, 0 };
	case X87_STACK:
		return (struct part){ DEC_REG_X87, 128, 32 };
	default:
		return (struct part){ DEC_REG_VEC + i, 16, 160 + 16 * i };
	}
}

/** An image that is made, or used. */
struct image {
	uint64_t addr;
	bool is_used;
	bool has_x87, has_vectors;
	struct live_want w[PARTS]; ///< what of each part is wanted
};

/* The image that instruction @p i saved, or restored from. @return whether there is one. */
static bool find(const struct dec_insn *i, const struct dec_rec_slow *rec,
		 struct image *ret)
{
	enum dec_insn_image saved = dec_insn_saves(i->mnemonic);
	enum dec_insn_image restored = dec_insn_restores(i->mnemonic);
	enum dec_insn_image kind = saved ?: restored;
	struct log_refs refs = dec_log_refs(rec);
	const struct dec_rec_ref *ref;
	const uint8_t *data;
	bool is_all = kind == DEC_INSN_IMAGE_FX;

	if (!is_all && kind != DEC_INSN_IMAGE_EXTENDED)
		return false;
	*ret = (struct image){ .is_used = restored,
			       .has_x87 = is_all || (rec->gpr[CAP_RAX] & 1),
			       .has_vectors = is_all || (rec->gpr[CAP_RAX] & 2) };
	while ((ref = dec_log_next_ref(&refs, &data)))
		if (ref->is_mem) {
			ret->addr = ref->addr;
			return true;
		}
	return false;
}

/* Take what is wanted of part @p i: of the register, which is restored; or of the memory where it is
 * saved. */
static struct err *take(struct fl_slice *s, struct image *image, int i)
{
	const struct live_regs *regs = &s->at->regs;
	struct part p = part_of(i);
	uint64_t addr = image->addr + p.at;
	bool is_vector = i < VECTORS;
	uint64_t bytes = is_vector ? 0xffff : 1;

	if (!(i < X87 ? image->has_vectors : image->has_x87))
		return NULL;
	if (!image->is_used)
		return fl_walk_take_mem(s, addr, p.bytes, false, &image->w[i]);
	if (i == X87_STACK)
		image->w[i] = image->w[X87];
	else if ((regs->any >> p.reg & 1) && !(regs->reg[p.reg].bytes & ~bytes))
		image->w[i] = fl_live_reg_take(&s->at->regs, s->has_several, p.reg, bytes,
					       false);
	return NULL;
}

/* Add the instance of @p insn. What it used of general registers is where the image is, and which parts
 * it has. */
static struct err *add(struct fl_slice *s, uint32_t insn, const struct image *image,
		       int first, live_who who, uint32_t *ret)
{
	const struct effect *e = s->trace->insns.data[insn].effect;
	const struct live_want *w = &image->w[first];
	const struct fl_node node = { .position = s->position,
				      .insn = insn,
				      .is_mem = !image->is_used,
				      .reg = part_of(first).reg,
				      .addr = w->first,
				      .size = image->is_used ?
						      64u - __builtin_clzll(w->bytes) :
						      w->size };
	const struct operands none = {};
	uint64_t general = 0;
	struct err *err = fl_walk_add(s, &node, who, w->node, ret);

	for (int i = 0; i < e->n_uses; i++)
		if (!e->use[i].is_mem && e->use[i].reg < DEC_GPRS)
			general |= UINT64_C(1) << i;
	if (!err && !fl_walk_is_cut(s, insn))
		err = fl_walk_use(s, insn, general, &none, who, *ret);
	return err ?: fl_walk_pend(s, insn, who, *ret);
}

/* Want for node @p node what part @p i was made of. */
static struct err *want(struct fl_slice *s, const struct image *image, int i,
			uint32_t node)
{
	const struct live_want *w = &image->w[i];
	uint32_t link = link_to(node, FL_EDGE_DATA);
	struct part p = part_of(i);
	bool is_vector = i < VECTORS;

	if (!w->who)
		return NULL;
	return image->is_used ?
		       fl_walk_want_some(s, image->addr + p.at, p.bytes,
					 is_vector ? w->bytes : ~UINT64_C(0), w->who,
					 link) :
		       fl_walk_want_reg(s, p.reg, is_vector ? w->bytes : 1, w->who, link);
}

struct err *fl_walk_image(struct fl_slice *s, uint32_t insn,
			  const struct dec_rec_slow *rec)
{
	struct image image;
	int first = PARTS;
	live_who who = 0;
	struct err *err = NULL;
	uint32_t node;

	if (s->options.only_told || !find(&s->trace->insns.data[insn].insn, rec, &image))
		return NULL;
	for (int i = 0; i < PARTS && !err; i++) {
		err = take(s, &image, i);
		who |= image.w[i].who;
		first = first == PARTS && image.w[i].who ? i : first;
	}
	if (err || !who)
		return err;
	err = add(s, insn, &image, first, who, &node);
	for (int i = 0;
	     i < PARTS && !err && !fl_walk_is_cut(s, insn) && !s->options.without_data;
	     i++)
		err = want(s, &image, i, node);
	return err;
}
