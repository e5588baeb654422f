// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "heapgraph/hg_access_int.h"

#include <stdlib.h>
#include <string.h>

// The narrowest vector: what reads so much at once may read ahead.
#define VECTOR_BYTES 16

#define PAGE_BYTES 4096

/* The first of the user's steps from the allocation, or from where its start was found again (as
 * container_of does), to derivation @p d; NULL: none. */
static const struct hg_derivation *first_own_step(struct hg_finder *f,
						  const struct hg_derivation *d)
{
	const struct hg_derivation *first = NULL;

	for (; d->parent; d = hg_derive_get(&f->derive, d->parent)) {
		if (!dec_frames_is_own(f->frames, d->rip))
			continue;
		if (!d->offset)
			break;
		first = d;
	}
	return first;
}

/* Is a function of a library's under way that fills what the user gave it, or reads it? */
static bool is_in_string(const struct hg_finder *f)
{
	return f->thread->string.rsp || f->thread->string.outer_rsp;
}

/* Which part of its node the access is meant for: the one that the first step of arithmetic
 * led to, that an index goes from, or whose address a string function was given. What
 * functions of libraries else make of a pointer to the node is not known. -1: none that we
 * know. */
static int64_t anchor_of(struct hg_finder *f, const struct hg_suspect *x)
{
	const struct hg_derivation *d = hg_derive_get(&f->derive, x->derivation);
	const struct hg_derivation *first = first_own_step(f, d);
	uint64_t start = hg_graph_node(f->graph, d->node)->start;

	if (first)
		return first->offset;
	if (!dec_frames_is_own(f->frames, x->pc))
		return is_in_string(f) ? 0 : -1;
	return x->insn && x->m->index != DEC_REG_NONE ?
		       (int64_t)(f->derive.regs->value[x->m->base] + x->m->disp - start) :
		       -1;
}

/* @return how much the call, or the instruction, of which @p x is a part was given; 0: @p x is neither's. */
static uint64_t call_bytes(const struct hg_finder *f, const struct hg_suspect *x)
{
	if (x->insn && dec_frames_is_own(f->frames, x->pc))
		return x->insn->is_rep ? x->size : 0;
	return x->intent;
}

/* @p x, a call's perhaps, is meant for what lies at @p anchor in @p t. From there to the end it means
 * all fields, as memset does; from the first one on, memcpy(p, q, sizeof(*p)) does, and one that
 * reads up to where a field begins means a struct that begins as this one does; up to where one
 * ends, these fields (a key made of several). */
static bool means_whole(struct hg_finder *f, const struct dec_struct *t,
			const struct hg_suspect *x, uint64_t anchor)
{
	uint64_t size = call_bytes(f, x);

	if (size && anchor + size == t->size)
		return true;
	if (anchor)
		return false;
	if (size >= t->size)
		return true;
	for (uint32_t i = 0; size && i < t->n_fields; i++)
		if (t->fields[i].offset == size ||
		    t->fields[i].offset + t->fields[i].size == size)
			return true;
	return false;
}

/* The last of the user's steps to derivation @p d, or the allocation. */
static const struct hg_derivation *last_own_step(struct hg_finder *f,
						 const struct hg_derivation *d)
{
	while (d->parent && !dec_frames_is_own(f->frames, d->rip))
		d = hg_derive_get(&f->derive, d->parent);
	return d;
}

static bool is_struct_at(struct hg_finder *f, const struct dec_struct *t, uint64_t offset)
{
	const struct hg_part *p = hg_fields_part(f, t, offset);

	return p->name && p->name[p->length] == '.';
}

/* From part @p p to the struct around it: what goes out of a struct, which has no elements, does so on
 * purpose, and before an array by a constant; or a step of the pointer itself led out of a
 * struct. */
static bool means_container(struct hg_finder *f, const struct hg_suspect *x,
			    const struct dec_struct *t, const struct hg_part *p)
{
	const struct hg_derivation *last =
		last_own_step(f, hg_derive_get(&f->derive, x->derivation));
	uint64_t node = hg_graph_node(f->graph, last->node)->start;
	bool is_struct = p->name[p->length] == '.';

	if (x->insn && dec_frames_is_own(f->frames, x->pc)) {
		uint64_t from = f->derive.regs->value[x->m->base] - node;

		if (is_struct ||
		    (x->m->index == DEC_REG_NONE &&
		     (!from || is_struct_at(f, t, from) || x->addr - node < p->start)))
			return true;
	}
	return last->parent && is_struct &&
	       ((uint64_t)last->offset < p->start || (uint64_t)last->offset >= p->end);
}

struct hg_fields *hg_access_fields(const struct hg_finder *f, const struct dec_struct *t)
{
	return (struct hg_fields *)*map_get(&f->fields, (uintptr_t)t);
}

static struct err *need_fields(struct hg_finder *f, const struct dec_struct *t)
{
	struct hg_fields *fields;
	struct err *err;

	if (map_get(&f->fields, (uintptr_t)t))
		return NULL;
	err = hg_fields_create(t, &fields);
	if (!err && map_put(&f->fields, (uintptr_t)t, (uintptr_t)fields)) {
		hg_fields_destroy(fields);
		err = &err_nomem;
	}
	return err;
}

static struct err *layout_of(struct hg_finder *f, struct hg_node_id id,
			     const struct dec_struct **ret)
{
	static const struct dec_struct not_known;
	struct err *err;

	while (f->layouts.size < id.v)
		if (!vec_push(&f->layouts))
			return &err_nomem;
	*ret = f->layouts.data[id.v - 1];
	if (*ret)
		return NULL;
	*ret = f->layout(f->layout_ctx, hg_graph_node(f->graph, id)) ?: &not_known;
	err = need_fields(f, *ret);
	if (!err)
		f->layouts.data[id.v - 1] = *ret;
	return err;
}

static bool is_within(const struct hg_suspect *x, uint64_t at, uint64_t start,
		      uint64_t end)
{
	return at >= start && at + x->size <= end;
}

/* Is @p x exactly a field, or a vector of some? */
static bool is_field(const struct dec_struct *t, const struct hg_suspect *x, uint64_t at)
{
	for (uint32_t i = 0; i < t->n_fields; i++)
		if (t->fields[i].offset == at)
			return t->fields[i].size == x->size || x->size >= VECTOR_BYTES;
	return false;
}

/* Is @p x within the outermost array, or the field, at @p offset? */
static bool is_in_what_is_at(struct hg_fields *o, const struct hg_suspect *x, uint64_t at,
			     uint64_t offset)
{
	uint64_t end, start = hg_fields_outermost(o, offset, &end);

	return is_within(x, at, start, end);
}

/* Compilers reach one array from another of the same index, or a field behind an index, by a
 * constant: does that lead from inside of @p p out of it, or from its start to another? */
static bool is_by_constant(struct hg_finder *f, const struct dec_struct *t,
			   const struct hg_suspect *x, const struct hg_part *p)
{
	const struct hg_derivation *d = hg_derive_get(&f->derive, x->derivation);
	const struct hg_derivation *first = first_own_step(f, d);
	uint64_t node = hg_graph_node(f->graph, d->node)->start, base;

	if (!x->insn || !x->m->disp || !dec_frames_is_own(f->frames, x->pc) ||
	    !is_field(t, x, x->addr - node))
		return false;
	base = f->derive.regs->value[x->m->base] - node;
	if (first && first->is_indexed)
		return true;
	// A part of the constant may be in the loop's step, which was done before.
	if (d->parent && !d->is_indexed) {
		int64_t step = d->offset - hg_derive_get(&f->derive, d->parent)->offset;

		if (base - step >= p->start && base - step < p->end &&
		    (uint64_t)llabs(step + x->m->disp) >= p->end - p->start)
			return true;
	}
	if (base >= p->start && base < p->end &&
	    (base + x->m->disp < p->start || base + x->m->disp >= p->end))
		return true;
	return is_in_what_is_at(hg_access_fields(f, t), x, x->addr - node,
				p->offset + x->m->disp);
}

/* Did a pointer to the struct, whose first step led to @p anchor, begin to write bytes into what begins
 * there, up to @p end? Or vectors, before it: what lies behind is larger. */
static bool is_from_first(const struct dec_struct *t, const struct hg_suspect *x,
			  uint64_t anchor, uint64_t end)
{
	if (anchor != end)
		return anchor < end;
	for (uint32_t i = 0; i < t->n_fields; i++)
		if (t->fields[i].offset == end && t->fields[i].size > x->size)
			return x->size == 1;
	return false;
}

/* Does a constant that is no less than @p p has bytes lead on to @p x, from where the first step led?
 * It leads to another array, or the same field of another element. */
static bool is_led_on(struct hg_finder *f, const struct hg_suspect *x,
		      const struct hg_part *p)
{
	const struct hg_derivation *d = hg_derive_get(&f->derive, x->derivation);
	const struct hg_derivation *first = first_own_step(f, d), *parent;

	for (; d->parent && d != first; d = parent) {
		parent = hg_derive_get(&f->derive, d->parent);
		if (!d->is_indexed && dec_frames_is_own(f->frames, d->rip) &&
		    (uint64_t)d->offset != p->offset && // behind_index()
		    (uint64_t)llabs(d->offset - parent->offset) >= p->end - p->start)
			return true;
	}
	return false;
}

/* gcc -O0 splits the offset of an element: up to 16 bytes of it are added behind the index. @return where the
 * user's second step led to if it was such; else -1. */
static int64_t behind_index(struct hg_finder *f, const struct hg_suspect *x)
{
	const struct hg_derivation *d = hg_derive_get(&f->derive, x->derivation);
	const struct hg_derivation *first = first_own_step(f, d), *parent;

	for (; first && d != first; d = parent) {
		parent = hg_derive_get(&f->derive, d->parent);
		if (parent == first)
			return first->is_indexed && !d->is_indexed &&
					       d->offset > first->offset &&
					       d->offset - first->offset <= 16 &&
					       dec_frames_is_own(f->frames, d->rip) ?
				       d->offset :
				       -1;
	}
	return -1;
}

/* The part of @p t that begins at @p anchor, or the first, if it is there that a pointer to the struct
 * began to write. NULL: none. */
static const struct hg_part *part_of(struct hg_finder *f, const struct dec_struct *t,
				     const struct hg_suspect *x, int64_t anchor)
{
	const struct hg_part *p = hg_fields_part(f, t, anchor);
	int64_t behind = p->name ? -1 : behind_index(f, x);

	if (behind >= 0) {
		p = hg_fields_part(f, t, behind);
		anchor = behind;
	}
	if (p->name && !p->start && p->name[p->length] == '.')
		return NULL; // the struct itself, as much of it as may be
	if (p->name || !x->is_write)
		return p->name ? p : NULL;
	p = hg_fields_part(f, t, 0);
	return p->name && p->name[p->length] == '[' &&
			       is_from_first(t, x, anchor, p->end) ?
		       p :
		       NULL;
}

/* Is @p x as the program's own code uses elements of @p p: by their size, or several at once; and if
 * it reads by an index? What reads otherwise may compare, sum up, or encode several fields. Nor
 * is what lies before it: loops count up to zero, from an array's end. */
static bool is_as_elements(const struct hg_fields *o, const struct hg_suspect *x,
			   const struct hg_part *p, uint64_t at)
{
	bool is_of_structs = strchr(p->name + p->length, '.');
	bool is_indexed = x->m->index != DEC_REG_NONE;
	uint32_t element;

	if (at < p->start || (!x->is_write && !is_indexed))
		return false;
	element = hg_fields_element(o, p->start);
	return is_of_structs || x->size == element ||
	       (x->is_write &&
		(x->size >= VECTOR_BYTES || (is_indexed && x->m->scale == element)));
}

/* Is the index of @p x one of array @p p, as the pointer that it goes from is to that? A pointer to the start
 * of a struct may be to all of it. */
static bool is_index_of(const struct hg_finder *f, const struct hg_suspect *x,
			const struct hg_part *p, uint64_t node)
{
	return p->start && p->name[p->length] == '[' && !x->m->disp &&
	       f->derive.regs->value[x->m->base] == node + p->start;
}

/* By what it is known that @p x, of the user's code, was inside of an array by an index that may be split; 0: it is
 * none. */
static uint64_t index_key(struct hg_finder *f, const struct hg_suspect *x)
{
	if (x->m->index == DEC_REG_NONE || x->m->disp < 0 || x->m->disp >= 16)
		return 0;
	if (x->m->scale != 1)
		return x->pc;
	return x->size == 1 || !x->is_write ? 0 : hg_reports_line(f, x->pc);
}

/* Is it not known what @p x is meant for? gcc -O0 splits the offset of an array: less than 16 bytes
 * are a constant, the rest goes into the index; that the same instruction was in this array
 * before says that it is no such. clang has whole offsets as indices; where several bytes
 * are stored at once, that the same line did so in there says it. And who reads bytes from the struct's
 * start on may compare or sum up a part of it. */
static bool is_vague(struct hg_finder *f, const struct hg_suspect *x, int64_t anchor,
		     bool is_inside)
{
	const struct hg_indexed *known;
	uint64_t key;

	if (!x->insn || !dec_frames_is_own(f->frames, x->pc))
		return false;
	if (!anchor && !x->is_write && x->size == 1)
		return true;
	key = index_key(f, x);
	if (!key)
		return false;
	known = &f->indexed[key % HG_INDEXED];
	if (is_inside)
		hg_astray_indexed(f, key, anchor);
	return known->key != key || known->anchor != anchor;
}

/* The first step led to more than one place: perhaps not to this element of an array. Is @p x in another one's
 * part @p p? */
static bool is_of_other_element(struct hg_finder *f, const struct hg_suspect *x,
				const struct hg_part *p, uint64_t at)
{
	const struct hg_derivation *d = hg_derive_get(&f->derive, x->derivation);
	const struct hg_derivation *first = first_own_step(f, d);

	return first && first->is_varied && hg_fields_is_in_such(f, p, at, x->size);
}

bool hg_astray_meant(struct hg_finder *f, const struct hg_operand *o,
		     struct hg_meant *ret)
{
	const struct hg_derivation *d = hg_derive_get(&f->derive, o->derivation);
	const struct hg_suspect x = { .is_write = o->is_write,
				      .pc = o->insn->rip,
				      .addr = o->addr,
				      .size = o->size,
				      .derivation = o->derivation,
				      .insn = o->insn,
				      .m = o->m };
	const struct dec_struct *t =
		d->node.v <= f->layouts.size ? f->layouts.data[d->node.v - 1] : NULL;
	const struct hg_part *p = NULL;
	int64_t anchor;

	if (!t || t->size != d->size || x.insn->is_rep ||
	    !dec_frames_is_own(f->frames, x.pc) || !hg_graph_lives(f->graph, d->node))
		return false;
	anchor = anchor_of(f, &x);
	if (anchor >= 0)
		p = part_of(f, t, &x, anchor);
	*ret = (struct hg_meant){
		.derivation = o->derivation,
		.node = d->node.v,
		.start = d->start + (p ? p->start : 0),
		.end = d->start + (p ? p->end : t->size),
		.anchor = anchor,
		.base = anchor >= 0 && !first_own_step(f, d) ?
				f->derive.regs->value[x.m->base] + x.m->disp :
				0,
		.key = p && (anchor || x.is_write || x.size > 1) ? index_key(f, &x) : 0,
	};
	return x.addr >= ret->start && x.addr + x.size <= ret->end;
}

/* Is @p x, at @p at in @p t, within the array of structs of which an element begins at @p offset, and does it
 * read, or write whole elements? */
static bool are_elements(struct hg_finder *f, const struct dec_struct *t,
			 const struct hg_suspect *x, uint64_t at, int64_t offset)
{
	uint64_t size = call_bytes(f, x), start, end;
	uint64_t stride = hg_fields_elements(hg_access_fields(f, t),
					     hg_fields_part(f, t, offset), &start, &end);

	if (!stride || (x->is_write && (!size || size % stride)))
		return false;
	return is_within(x, at, start, end);
}

/* As memmove() does where an element is put between others, or qsort() where two are compared. */
static bool means_elements(struct hg_finder *f, const struct dec_struct *t,
			   const struct hg_suspect *x, uint64_t at, int64_t anchor)
{
	int64_t behind = behind_index(f, x);

	return are_elements(f, t, x, at, anchor) ||
	       (behind >= 0 && are_elements(f, t, x, at, behind));
}

/* Inside the node: does the access leave its array? */
static struct err *check_field(struct hg_finder *f, struct hg_suspect *x,
			       const struct hg_node *n)
{
	struct hg_node_id id = hg_derive_get(&f->derive, x->derivation)->node;
	uint64_t at = x->addr - n->start;
	const struct hg_part *p;
	struct hg_part part;
	const struct dec_struct *t;
	struct hg_fields *o;
	int64_t anchor;
	bool is_own;
	struct err *err = layout_of(f, id, &t);

	if (err || t->size != n->size)
		return err;
	anchor = anchor_of(f, x);
	if (anchor < 0 || means_whole(f, t, x, anchor) ||
	    means_elements(f, t, x, at, anchor))
		return NULL;
	p = part_of(f, t, x, anchor);
	if (!p ||
	    (is_vague(f, x, anchor, is_within(x, at, p->start, p->end)) &&
	     !is_index_of(f, x, p, n->start)) ||
	    is_within(x, at, p->start, p->end) || is_of_other_element(f, x, p, at))
		return NULL;
	part = *p;
	p = &part;
	o = hg_access_fields(f, t);
	x->kind = HG_ACCESS_FIELD;
	x->part_start = n->start + p->start;
	x->part_end = n->start + p->end;
	x->field = p->name;
	x->field_length = p->length;
	x->to = id;
	is_own = x->insn && dec_frames_is_own(f->frames, x->pc);
	x->whole_end = !p->start && is_own ? n->start + n->size : 0;
	x->is_quiet = (is_own && !is_as_elements(o, x, p, at)) || is_led_on(f, x, p) ||
		      means_container(f, x, t, p) || is_by_constant(f, t, x, p) ||
		      !hg_fields_is_any(o, at, x->size);
	return x->is_quiet && !x->whole_end ? NULL : hg_reports_add(f, x);
}

bool hg_astray_is_inside(const struct hg_finder *f, uint32_t derivation, uint64_t addr,
			 uint64_t size)
{
	const struct hg_derivation *n = hg_derive_get(&f->derive, derivation);

	return addr >= n->start && addr <= n->start + n->size &&
	       size <= n->start + n->size - addr;
}

/* Is @p from, by a pointer of derivation @p source, at offset @p at of a struct @p t? */
static struct err *is_in_such(struct hg_finder *f, const struct dec_struct *t,
			      uint64_t at, uint64_t from, uint32_t source, bool *ret)
{
	const struct hg_derivation *d = hg_derive_get(&f->derive, source);
	const struct dec_struct *other = NULL;
	struct err *err =
		source && from - d->start == at ? layout_of(f, d->node, &other) : NULL;

	*ret = other == t;
	return err;
}

struct err *hg_astray_copied(struct hg_finder *f, struct hg_suspect *x, uint64_t from,
			     uint32_t source)
{
	const struct hg_derivation *d = hg_derive_get(&f->derive, x->derivation);
	uint64_t at = x->addr - d->start;
	const struct dec_struct *t;
	bool is_same = false;
	struct err *err;

	if (!hg_graph_lives(f->graph, d->node) ||
	    !hg_astray_is_inside(f, x->derivation, x->addr, x->size))
		return NULL;
	err = layout_of(f, d->node, &t);
	// What does not mean the whole was judged store by store.
	if (err || t->size != hg_graph_node(f->graph, d->node)->size ||
	    !means_whole(f, t, x, at))
		return err;
	err = is_in_such(f, t, at, from, source, &is_same);
	return err || is_same ? err : hg_spill_check(f, x, t);
}

bool hg_astray_is_successor(const struct hg_finder *f, struct hg_node_id old,
			    struct hg_node_id new)
{
	const uint64_t *before = new.v ? map_get(&f->stayed, new.v) : NULL;

	while (before && *before != old.v)
		before = map_get(&f->stayed, *before);
	return before;
}

/* Does @p insn have to do with vectors? */
static bool is_vector(const struct dec_insn *insn, const struct dec_mem *m)
{
	return m->size >= VECTOR_BYTES ||
	       (uint32_t)(insn->other_read | insn->other_written);
}

/* String functions that hg_strings.h does not know (of libraries that have their own) read
 * ahead by vectors, or begin at an address that is rounded down: never into a page in which
 * they mean to read nothing. */
static bool may_read_ahead(struct hg_finder *f, const struct hg_suspect *x,
			   const struct hg_node *n)
{
	uint64_t first = n->start / PAGE_BYTES, last = (n->start + n->size) / PAGE_BYTES;

	return x->insn && !x->is_write && x->addr / PAGE_BYTES >= first &&
	       (x->addr + x->size - 1) / PAGE_BYTES <= last &&
	       (is_vector(x->insn, x->m) ||
		hg_derive_get(&f->derive, x->derivation)->is_rough) &&
	       !dec_frames_is_own(f->frames, x->pc);
}

/* Which other node is the access in, with its first or its last byte? */
static struct hg_node_id other_node(const struct hg_finder *f, const struct hg_suspect *x,
				    struct hg_node_id from)
{
	struct hg_node_id to = hg_graph_covers(f->graph, x->addr);

	if (!to.v || to.v == from.v)
		to = hg_graph_covers(f->graph, x->addr + x->size - 1);
	if (to.v == from.v)
		to.v = 0;
	return to;
}

/* Did malloc_usable_size() tell the program that so many bytes are its own? */
static bool is_usable(const struct hg_finder *f, const struct hg_suspect *x,
		      struct hg_node_id id, const struct hg_node *n)
{
	return x->addr >= n->start &&
	       x->addr + x->size <= n->start + hg_access_usable(f, id);
}

struct err *hg_astray_check(struct hg_finder *f, struct hg_suspect *x)
{
	struct hg_node_id from = hg_derive_get(&f->derive, x->derivation)->node;
	const struct hg_node *n = hg_graph_node(f->graph, from);
	int64_t offset = x->addr - n->start;

	if (offset < -HG_DERIVE_REACH || offset > (int64_t)n->size + HG_DERIVE_REACH ||
	    hg_access_is_lent(f, from))
		return NULL;
	if (hg_graph_lives(f->graph, from)) {
		if (hg_astray_is_inside(f, x->derivation, x->addr, x->size))
			return check_field(f, x, n);
		if (is_usable(f, x, from, n))
			return NULL;
		x->kind = HG_ACCESS_BEYOND;
	} else {
		if (hg_astray_is_successor(f, from,
					   hg_graph_covers(f->graph, n->start)) ||
		    hg_access_is_childs(f, n->start, n->died))
			return NULL;
		x->kind = HG_ACCESS_FREED;
	}
	if (may_read_ahead(f, x, n))
		return NULL;
	x->to = other_node(f, x, from);
	if (x->kind == HG_ACCESS_FREED && x->to.v &&
	    hg_derive_is_measured(&f->derive, x->derivation, x->to))
		return NULL;
	return hg_reports_add(f, x);
}
