// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Comparing arrays of char, with each other and with what stands in quotes: as strcmp() does,
 * up to the first 0, or to the array's end.
 */
#include <string.h>

#include "base/hash.h"
#include "specdsl/spec_eval.h"

#define CHUNK 8	      ///< bytes read, and depended on, at a time
#define CHUNKS_MAX 16 ///< of a longer text all of its node is depended on

static void add_dep(struct scope *sc, struct hg_node_id node, uint64_t offset, uint8_t n)
{
	struct spec_dep dep = { .kind = SPEC_DEP_NODE, .node = node };

	if (offset <= UINT32_MAX)
		dep.bytes = (struct spec_bytes){ offset, n, false, 1, 0 };
	spec_eval_add_any_dep(sc, dep);
}

/** Append the bytes of @p node from @p from on, up to a 0 or byte @p end. */
static bool read_chars(struct scope *sc, struct hg_node_id node, uint64_t from,
		       uint64_t end, struct text *ret)
{
	for (uint64_t at = from, value; at < end; at += CHUNK) {
		uint8_t n = end - at < CHUNK ? end - at : CHUNK, used;

		if (!hg_view_read(sc->e->v, node, at, n, &value))
			return false;
		used = strnlen((const char *)&value, n);
		if (at == from + CHUNK * CHUNKS_MAX)
			spec_eval_add_dep(sc, SPEC_DEP_NODE, node);
		else if (at < from + CHUNK * CHUNKS_MAX)
			add_dep(sc, node, at, n);
		spec_eval_add_read(sc, node, at, used < n ? used + 1 : n);
		if (vec_reserve(&ret->chars, ret->chars.size + n)) {
			sc->e->is_out_of_memory = true;
			return false;
		}
		memcpy(ret->chars.data + ret->chars.size, &value, used);
		ret->chars.size += used;
		if (used < n)
			break;
	}
	return true;
}

static bool read_field(struct scope *sc, const struct ast *n, struct text *ret)
{
	const struct hg_node *h;
	struct hg_node_id node;
	struct dec_field f;
	uint32_t n_chars;

	if (!spec_eval_place(sc, n, &node, &f))
		return false;
	h = hg_graph_node(sc->e->g, node);
	n_chars = n->by_type[h->type - 1].n_chars;
	if (!n_chars)
		return false; // another type's field of this name
	return read_chars(sc, node, f.offset,
			  n_chars > h->size - f.offset ? h->size : f.offset + n_chars,
			  ret);
}

/** What arguments are compared by. */
static uint64_t hash(const struct text *t)
{
	return hash_bytes(HASH_START, t->chars.data, t->chars.size);
}

static void read_text(struct scope *sc, const struct ast *n, struct text *ret)
{
	size_t length = n->kind == AST_STRING ? strlen(n->name) : 0;

	ret->chars.size = 0;
	if (n->kind != AST_STRING) {
		ret->is_there = read_field(sc, n, ret);
		spec_eval_add_arg(sc, !ret->is_there, hash(ret), false);
		return;
	}
	ret->is_there = !vec_reserve(&ret->chars, length + 1);
	sc->e->is_out_of_memory |= !ret->is_there;
	if (ret->is_there)
		memcpy(ret->chars.data, n->name, length);
	ret->chars.size = ret->is_there ? length : 0;
}

bool spec_eval_texts(struct scope *sc, const struct ast *n, int *order)
{
	struct text *a = &sc->e->texts[0], *b = &sc->e->texts[1];
	size_t common;

	read_text(sc, n->a, a);
	read_text(sc, n->b, b);
	if (!a->is_there || !b->is_there) {
		sc->is_unreadable = true;
		return false;
	}
	common = a->chars.size < b->chars.size ? a->chars.size : b->chars.size;
	*order = common ? memcmp(a->chars.data, b->chars.data, common) : 0;
	if (!*order)
		*order = (a->chars.size > common) - (b->chars.size > common);
	return true;
}
