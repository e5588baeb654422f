// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Text that goes on behind its array, as far as to where a field ends. `memcpy(p->name, text, n)` and
 * `memcpy(p, q, n)` are the same call when the struct begins with name, and so are
 * `memcpy(p->name, text, sizeof(*p))` and the copy of a whole struct. What tells is what was copied: a
 * name without its end, all of it text, and text again in a number or pointer behind it, from what is no
 * such struct itself. Structs that somebody meant to copy have a pointer there, or nothing; and where they lie in files behind names
 * that fill their arrays, what follows is an array as well (the header of ar), or a tag of four letters
 * behind one.
 */
#include "heapgraph/hg_access_int.h"

// No tag: those have four letters.
#define NAME_BYTES 8

// More than that is no struct with a name in it.
#define SPILL_MOST 4096

/* Letters, and what stands between them. Those of other alphabets are no different from noise. */
static bool is_text(uint8_t c)
{
	return (c >= ' ' && c <= '~') || (c >= '\t' && c <= '\r');
}

/* Is there text, up to @p end, in a field behind @p p that holds none? The end of a text may be a pointer's
 * last byte, which makes it none all the same: no address has seven letters. */
static bool is_in_other(const struct dec_struct *t, const struct hg_part *p, uint64_t end)
{
	for (uint32_t i = 0; i < t->n_fields; i++) {
		const struct dec_field *f = &t->fields[i];
		uint64_t needed = f->is_pointer ? f->size - 1 : f->size;

		if (f->offset < p->end || f->size < 4 || f->bit_size)
			continue;
		if (!f->is_pointer && p->end - p->start < NAME_BYTES)
			continue;
		if (f->offset + needed <= end)
			return true;
	}
	return false;
}

/* The text from where @p p begins ends at the returned offset of the struct at @p start. */
static uint64_t text_end(struct hg_finder *f, uint64_t start, const struct hg_part *p,
			 uint64_t end)
{
	uint8_t bytes[SPILL_MOST];
	uint64_t at = p->start;

	if (end - at > SPILL_MOST)
		end = at + SPILL_MOST;
	hg_recorder_memory(f->recorder, start + at, bytes, end - at);
	while (at < end && is_text(bytes[at - p->start]))
		at++;
	return at;
}

struct err *hg_spill_check(struct hg_finder *f, struct hg_suspect *x,
			   const struct dec_struct *t)
{
	const struct hg_derivation *d = hg_derive_get(&f->derive, x->derivation);
	uint64_t offset = x->addr - d->start, end = offset + x->size, text;
	const struct hg_part *p = hg_fields_part(f, t, offset);

	if (!p->name || p->name[p->length] != '[' || p->start != offset ||
	    end <= p->end || hg_fields_element(hg_access_fields(f, t), offset) != 1)
		return NULL;
	text = text_end(f, d->start, p, end);
	if (text <= p->end || !is_in_other(t, p, text))
		return NULL;
	x->kind = HG_ACCESS_FIELD;
	x->is_write = true;
	x->field = p->name;
	x->field_length = p->length;
	x->to = d->node;
	x->part_start = d->start + p->start;
	x->part_end = d->start + p->end;
	x->addr = x->part_end;
	x->size = end - p->end;
	return hg_reports_add(f, x);
}
