// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "report/names.h"

#include <ctype.h>
#include <string.h>

#include "faultlocate/fl_types.h"

#define CHANGED_FIELDS_MAX 4 // one operation changes at most eight bytes

const struct spec_type *report_name_type(const struct fl_namer *n, struct hg_node_id id,
					 size_t *index)
{
	uint32_t type = hg_graph_node(n->graph, id)->type;

	if (!type || type > spec_types(n->spec))
		return NULL;
	if (index)
		*index = type - 1;
	return spec_type(n->spec, type - 1);
}

bool report_name_is_root(const struct fl_namer *n, struct hg_node_id id)
{
	const struct spec_type *t = report_name_type(n, id, NULL);

	return t && t->is_root;
}

bool report_name_field(const struct fl_namer *n, struct hg_node_id id, uint64_t i,
		       struct dec_field *f, char *name, size_t name_bytes)
{
	const struct dec_struct *l;
	size_t type;

	if (!report_name_type(n, id, &type) || !spec_type_field(n->spec, type, i, f) ||
	    f->offset + f->size > hg_graph_node(n->graph, id)->size)
		return false;
	l = spec_type(n->spec, type)->layout;
	if (l && l->n_tail && i > l->n_fields && !spec_type(n->spec, type)->is_array)
		snprintf(name, name_bytes, "%s[%llu]%s", l->tail,
			 (unsigned long long)((i - 1 - l->n_fields) / l->n_tail),
			 strchr(f->name + strlen(l->tail), ']') + 1);
	else if (f->name && f->name[0])
		snprintf(name, name_bytes, "%s", f->name);
	else
		snprintf(name, name_bytes, "[%llu]", (unsigned long long)i);
	return true;
}

bool report_name_is_char(const struct dec_field *f, const char *name, const char *first,
			 uint64_t k)
{
	const char *end = strrchr(first, '[');
	char index[24];

	snprintf(index, sizeof(index), "[%llu]", (unsigned long long)k);
	return f->size == 1 && f->is_signed && !f->bit_size && end &&
	       !strncmp(name, first, end - first) && !strcmp(name + (end - first), index);
}

// How many fields from i on are the elements of one array of char, name without index.
static uint64_t count_chars(const struct fl_namer *n, struct hg_node_id id, uint64_t i,
			    char *name, size_t name_bytes)
{
	struct dec_field f;
	char next[128];
	uint64_t count = 0;

	if (!report_name_field(n, id, i, &f, name, name_bytes))
		return 0;
	while (report_name_field(n, id, i + count, &f, next, sizeof(next)) &&
	       report_name_is_char(&f, next, name, count))
		count++;
	if (count < 2)
		return 0;
	*strrchr(name, '[') = 0;
	return count;
}

uint64_t report_name_text(const struct fl_namer *n, const struct hg_view *v,
			  struct hg_node_id id, uint64_t i, char *name, size_t name_bytes,
			  char *text, size_t text_bytes)
{
	uint64_t count = count_chars(n, id, i, name, name_bytes), raw;
	struct dec_field f;
	char ignored[8];
	size_t at = 0;

	if (!count || text_bytes < 8)
		return 0;
	report_name_field(n, id, i, &f, ignored, sizeof(ignored));
	text[at++] = '"';
	for (uint64_t k = 0; k < count; k++) {
		if (!hg_view_read(v, id, f.offset + k, 1, &raw))
			return 0;
		if (!raw)
			break;
		if (!isprint((int)raw))
			return 0;
		if (at < text_bytes - 5)
			text[at++] = raw;
		else if (at == text_bytes - 5)
			at += snprintf(text + at, 4, "...");
	}
	snprintf(text + at, text_bytes - at, "\"");
	return count;
}

/* ---- targets ---------------------------------------------------------------------------- */

static bool is_bin(const struct fl_namer *n, struct hg_node_id id)
{
	const struct spec_type *t = report_name_type(n, id, NULL);

	return t && strcmp(t->name, FL_BIN_TYPE) == 0;
}

static bool has_bins(const struct fl_namer *n)
{
	return spec_type_find(n->spec, FL_BIN_TYPE) >= 0;
}

struct err *report_finder_init(struct fl_finder *f, const struct fl_namer *n)
{
	uint32_t last = has_bins(n) ? hg_graph_nodes(n->graph) : 0;

	*f = (struct fl_finder){};
	for (struct hg_node_id id = { 1 }; id.v <= last; id.v++)
		if (is_bin(n, id) &&
		    map_put(&f->bins, hg_graph_node(n->graph, id)->start, id.v))
			return &err_nomem;
	return n->trails ? NULL : hg_past_create(n->graph, &f->past);
}

void report_finder_deinit(struct fl_finder *f)
{
	hg_past_destroy(f->past);
	map_deinit(&f->bins);
}

// Chunks lead to 16 bytes before the head of their bin, as if that were a chunk, too. What
// is there belongs to other bins.
static uint32_t bin_of(const struct fl_namer *n, const struct fl_finder *f, uint64_t addr)
{
	const uint64_t *known = f ? map_get(&f->bins, addr + 16) : NULL;

	if (f)
		return known ? *known : 0;
	for (struct hg_node_id id = { hg_graph_nodes(n->graph) }; id.v; id.v--)
		if (hg_graph_node(n->graph, id)->start == addr + 16 && is_bin(n, id))
			return id.v;
	return 0;
}

// The youngest node that covered the address, alive or not.
static struct hg_node_id covered_by(const struct fl_namer *n, const struct fl_finder *f,
				    uint64_t addr, uint64_t time)
{
	const struct hg_graph *g = n->graph;

	if (n->trails)
		return hg_trails_find(n->trails, addr, time);
	if (f)
		return hg_past_find(f->past, addr, time);
	for (struct hg_node_id id = { hg_graph_nodes(g) }; id.v; id.v--) {
		const struct hg_node *h = hg_graph_node(g, id);

		if (h->born <= time && addr >= h->start && addr - h->start < h->size)
			return id;
	}
	return (struct hg_node_id){ 0 };
}

struct fl_target report_name_target(const struct fl_namer *n, struct fl_finder *f,
				    uint64_t addr, uint64_t time)
{
	struct fl_target t = { .kind = addr ? FL_TO_WILD : FL_TO_NULL };
	uint32_t bin;

	if (addr)
		t.node = covered_by(n, f, addr, time);
	if (t.node.v) {
		const struct hg_node *h = hg_graph_node(n->graph, t.node);

		t.kind = h->died > time ? FL_TO_NODE : FL_TO_FREED;
		t.offset = addr - h->start;
	}
	bin = addr && t.kind != FL_TO_NODE && has_bins(n) ? bin_of(n, f, addr) : 0;
	if (bin)
		t = (struct fl_target){ .kind = FL_TO_NODE, .node = { bin } };
	return t;
}

/* ---- values ----------------------------------------------------------------------------- */

static const char *pointer_text(uint64_t addr, struct fl_target t, char *buf,
				size_t bytes)
{
	char offset[24] = "";

	if (t.offset)
		snprintf(offset, sizeof(offset), "+%llu", (unsigned long long)t.offset);
	switch (t.kind) {
	case FL_TO_NULL:
		snprintf(buf, bytes, "NULL");
		break;
	case FL_TO_NODE:
		snprintf(buf, bytes, "n%u%s", t.node.v, offset);
		break;
	case FL_TO_FREED:
		snprintf(buf, bytes, "n%u%s (freed)", t.node.v, offset);
		break;
	case FL_TO_WILD:
		snprintf(buf, bytes, "%#llx", (unsigned long long)addr);
		break;
	}
	return buf;
}

static uint64_t field_bits(const struct dec_field *f, uint64_t raw)
{
	unsigned bits = f->bit_size ? f->bit_size : f->size * 8;

	raw >>= f->bit_offset;
	if (bits < 64) {
		raw &= (1ull << bits) - 1;
		if (f->is_signed && raw >> (bits - 1))
			raw |= ~0ull << bits;
	}
	return raw;
}

// Without a layout a word may be a pointer or a number: it is a pointer when it leads to
// a node.
static bool looks_like_pointer(const struct dec_field *f, struct fl_target t)
{
	return (f->name && f->name[0]) || t.kind != FL_TO_WILD;
}

const char *report_name_value(const struct fl_namer *n, struct fl_finder *finder,
			      const struct dec_field *f, uint64_t raw, uint64_t time,
			      char *buf, size_t bytes)
{
	uint64_t value = field_bits(f, raw);
	struct fl_target t;
	float single;
	double real;

	if (f->size == 8 && f->is_pointer) {
		t = report_name_target(n, finder, raw, time);
		if (looks_like_pointer(f, t))
			return pointer_text(raw, t, buf, bytes);
	}
	if (f->is_float && f->size == 4) {
		memcpy(&single, &raw, sizeof(single));
		snprintf(buf, bytes, "%g", single);
	} else if (f->is_float && f->size == 8) {
		memcpy(&real, &raw, sizeof(real));
		snprintf(buf, bytes, "%g", real);
	} else if (f->is_signed) {
		snprintf(buf, bytes, "%lld", (long long)value);
	} else {
		snprintf(buf, bytes, value > 0xffffffff ? "%#llx" : "%llu",
			 (unsigned long long)value);
	}
	return buf;
}

/* ---- changes ---------------------------------------------------------------------------- */

// One field that the operation touched: before from the view before it, after from after.
struct changed {
	struct dec_field field;
	char name[96];
	uint64_t before, after;
};

static size_t changed_fields(const struct fl_namer *n, const struct hg_op *op,
			     struct changed *ret, size_t max)
{
	uint64_t start = op->addr - hg_graph_node(n->graph, op->node)->start;
	struct changed c;
	size_t found = 0;

	for (uint64_t i = 1; found < max; i++) {
		if (!report_name_field(n, op->node, i, &c.field, c.name, sizeof(c.name)))
			break;
		if (c.field.size && c.field.size <= 8 &&
		    c.field.offset < start + op->size &&
		    start < c.field.offset + c.field.size)
			ret[found++] = c;
	}
	return found;
}

static void print_raw_change(const struct hg_op *op, uint64_t offset, FILE *out)
{
	fprintf(out, "n%u+%llu: %#llx -> %#llx", op->node.v, (unsigned long long)offset,
		(unsigned long long)op->before, (unsigned long long)op->after);
}

static void print_field_change(const struct fl_namer *n, const struct hg_op *op,
			       const struct changed *c, FILE *out)
{
	char before[64], after[64];
	bool is_named = c->name[0] != '[';

	report_name_value(n, NULL, &c->field, c->before, op->time, before,
			  sizeof(before));
	report_name_value(n, NULL, &c->field, c->after, op->time, after, sizeof(after));
	fprintf(out, "n%u%s%s: ", op->node.v, is_named ? "." : "", c->name);
	if (c->before == c->after)
		fprintf(out, "%s again", after);
	else
		fprintf(out, "%s -> %s", before, after);
}

static void print_store(const struct fl_namer *n, uint64_t index, const struct hg_op *op,
			FILE *out)
{
	_cleanup_(hg_view_destroyp) struct hg_view *v = NULL;
	_cleanup_err_ struct err *err = hg_view_create(n->graph, index + 1, &v);
	struct changed c[CHANGED_FIELDS_MAX];
	size_t count = err ? 0 : changed_fields(n, op, c, CHANGED_FIELDS_MAX), shown = 0;

	for (size_t i = 0; i < count; i++)
		hg_view_read(v, op->node, c[i].field.offset, c[i].field.size,
			     &c[i].after);
	if (count)
		hg_view_back(v, NULL);
	for (size_t i = 0; i < count; i++)
		hg_view_read(v, op->node, c[i].field.offset, c[i].field.size,
			     &c[i].before);
	for (size_t i = 0; i < count; i++) {
		if (count > 1 && field_bits(&c[i].field, c[i].before) ==
					 field_bits(&c[i].field, c[i].after))
			continue;
		if (shown++)
			fputs(", ", out);
		print_field_change(n, op, &c[i], out);
	}
	if (!shown)
		print_raw_change(op, op->addr - hg_graph_node(n->graph, op->node)->start,
				 out);
}

void report_name_change(const struct fl_namer *n, uint64_t index, FILE *out)
{
	struct hg_op op = hg_graph_op(n->graph, index);
	const struct hg_node *h = hg_graph_node(n->graph, op.node);
	bool is_root = report_name_is_root(n, op.node);

	switch (op.kind) {
	case HG_OP_ALLOC:
		fprintf(out, "n%u %s (%llu bytes)", op.node.v,
			is_root ? "as it began" : "allocated",
			(unsigned long long)h->size);
		break;
	case HG_OP_FREE:
		fprintf(out, "n%u %s", op.node.v, is_root ? "ended" : "freed");
		break;
	case HG_OP_STORE:
		print_store(n, index, &op, out);
		break;
	}
}
