// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Which array or struct inside of a struct begins at an offset, and where does it end? Layouts are flat:
 * a field's name tells of what it is part.
 */
#include "heapgraph/hg_fields.h"

#include "heapgraph/hg_access_int.h"

#include <string.h>

/* Is @p name, of @p n characters, the name of @p f or of something that @p f is part of? */
static bool is_part(const struct dec_field *f, const char *name, size_t n)
{
	return !strncmp(f->name, name, n) && strchr(".[", f->name[n]);
}

/* Where @p name, of @p n characters, begins in @p t. @p end: behind it. */
uint64_t hg_fields_extent(const struct dec_struct *t, const char *name, size_t n,
			  uint64_t *end)
{
	uint64_t start = UINT64_MAX;

	*end = 0;
	for (uint32_t i = 0; i < t->n_fields; i++) {
		const struct dec_field *f = &t->fields[i];

		if (!is_part(f, name, n))
			continue;
		if (f->offset < start)
			start = f->offset;
		if (f->offset + f->size > *end)
			*end = f->offset + f->size;
	}
	return start;
}

uint32_t hg_fields_element(const struct dec_struct *t, uint64_t offset)
{
	for (uint32_t i = 0; i < t->n_fields; i++)
		if (t->fields[i].offset == offset)
			return t->fields[i].size;
	return 0;
}

/* The array that @p name, of @p n characters, is an element of, which is an array itself: compilers
 * go from one row to another. */
static size_t outermost(const char *name, size_t n)
{
	while (n && name[n - 1] == ']' && name[n] == '[')
		while (name[--n] != '[')
			;
	return n;
}

/* Is something else than @p name, of @p n characters, at [@p start, @p end) of @p t, too? */
static bool is_in_union(const struct dec_struct *t, const char *name, size_t n,
			uint64_t start, uint64_t end)
{
	for (uint32_t i = 0; i < t->n_fields; i++) {
		const struct dec_field *f = &t->fields[i];

		if (f->offset < end && f->offset + f->size > start &&
		    !is_part(f, name, n))
			return true;
	}
	return false;
}

/* Behind all members of the union that begin at @p start. */
static uint64_t union_end(const struct dec_struct *t, uint64_t start)
{
	uint64_t end, most = 0;

	for (uint32_t i = 0; i < t->n_fields; i++) {
		const char *name = t->fields[i].name;
		size_t n = strcspn(name, ".[");

		if (t->fields[i].offset != start)
			continue;
		if (!name[n]) // may be of a struct without a name
			return t->size;
		hg_fields_extent(t, name, n, &end);
		most = end > most ? end : most;
	}
	return most;
}

// So many bytes and more between fields are no padding, but of a type that DWARF only names.
#define NO_PADDING 8

/* Where what begins at @p start and is named ends: the last one, and what is made of structs, with
 * what fills it up. */
static uint64_t end_of(const struct dec_struct *t, const char *name, size_t n,
		       uint64_t start)
{
	uint64_t end, next = t->size;

	hg_fields_extent(t, name, n, &end);
	if (is_in_union(t, name, n, start, end))
		end = union_end(t, start);
	for (uint32_t i = 0; i < t->n_fields; i++)
		if (t->fields[i].offset >= end && t->fields[i].offset < next)
			next = t->fields[i].offset;
	return next == t->size || (next - end < NO_PADDING && strchr(name + n, '.')) ?
		       next :
		       end;
}

/* The largest array or struct inside @p t that begins at @p offset, with an empty name when there is
 * none. */
static struct hg_part look_up_part(const struct dec_struct *t, uint64_t offset)
{
	struct hg_part p = { .in = t, .offset = offset };

	for (uint32_t i = 0; i < t->n_fields; i++) {
		const char *name = t->fields[i].name;
		uint64_t end;

		if (t->fields[i].offset != offset)
			continue;
		for (size_t n = strcspn(name, ".["); name[n];
		     n += 1 + strcspn(name + n + 1, ".[")) {
			if (hg_fields_extent(t, name, n, &end) != offset)
				continue;
			p.name = name;
			p.length = outermost(name, n);
			p.start = hg_fields_extent(t, name, p.length, &end);
			p.end = end_of(t, name, p.length, p.start);
			return p;
		}
	}
	return p;
}

/* The same, as it was the last time. */
const struct hg_part *hg_fields_part(struct hg_finder *f, const struct dec_struct *t,
				     uint64_t offset)
{
	struct hg_part *p = &f->parts[hg_derive_key((uintptr_t)t, offset) % HG_PARTS];

	if (p->in != t || p->offset != offset)
		*p = look_up_part(t, offset);
	return p;
}

/* @return how far it is from one element to the next in the array that @p name, of @p n characters, is an element
 * of; 0: not known. */
static uint64_t stride_of(const struct dec_struct *t, const char *name, size_t n)
{
	_cleanup_free_ char *element = NULL;
	uint64_t start, next, end;
	int length;

	while (name[--n] != '[')
		;
	length = asprintf(&element, "%.*s[1]", (int)n, name);
	if (length < 0) {
		element = NULL;
		return 0;
	}
	next = hg_fields_extent(t, element, length, &end);
	element[n + 1] = '0';
	start = hg_fields_extent(t, element, length, &end);
	return (next == UINT64_MAX ? end : next) - start;
}

uint64_t hg_fields_elements(const struct dec_struct *t, const struct hg_part *p,
			    uint64_t *start, uint64_t *end)
{
	size_t n = p->length;
	uint64_t stride;

	if (!p->name || p->name[n] != '.' || p->name[n - 1] != ']')
		return 0;
	stride = stride_of(t, p->name, n);
	while (n && p->name[n - 1] == ']')
		while (p->name[--n] != '[')
			;
	*start = hg_fields_extent(t, p->name, n, end);
	if (stride)
		*end = *start + (*end - *start + stride - 1) / stride * stride;
	return stride;
}

/* How much of @p name is the first @p n characters of @p like, whatever the indices are? 0: they differ. */
static size_t matched(const char *name, const char *like, size_t n)
{
	size_t i = 0, k = 0;

	while (k < n && name[i] == like[k]) {
		if (name[i] == '[') {
			i += strcspn(name + i, "]");
			k += strcspn(like + k, "]");
		}
		i++;
		k++;
	}
	return k >= n && strchr(".[", name[i]) ? i : 0;
}

/* Where the same as part @p p begins and ends that has byte @p at; nowhere: at UINT64_MAX. */
static struct hg_such look_up_such(const struct hg_part *p, uint64_t at)
{
	const struct dec_struct *t = p->in;
	struct hg_such s = { t, p->offset, at, UINT64_MAX, 0 };

	for (uint32_t i = 0; i < t->n_fields; i++) {
		const struct dec_field *f = &t->fields[i];
		size_t n;

		if (at - f->offset >= f->size)
			continue;
		n = matched(f->name, p->name, p->length);
		if (!n)
			continue;
		s.start = hg_fields_extent(t, f->name, n, &s.end);
		s.end = end_of(t, f->name, n, s.start);
		return s;
	}
	return s;
}

bool hg_fields_is_in_such(struct hg_finder *f, const struct hg_part *p, uint64_t at,
			  uint64_t size)
{
	uint64_t key = hg_derive_key((uintptr_t)p->in, hg_derive_key(p->offset, at));
	struct hg_such *s = &f->such[key % HG_SUCH];

	if (s->in != p->in || s->part != p->offset || s->at != at)
		*s = look_up_such(p, at);
	return at >= s->start && at + size <= s->end;
}

bool hg_fields_is_any(const struct dec_struct *t, uint64_t at, uint64_t size)
{
	for (uint32_t i = 0; i < t->n_fields; i++)
		if (t->fields[i].offset < at + size &&
		    t->fields[i].offset + t->fields[i].size > at)
			return true;
	return false;
}

/* ---- for a guard --------------------------------------------------------------------------- */

// So many comparisons of names are too many.
#define LOOKS_MAX (1u << 25)

/* May a part begin where @p f does, by its name? Not at elements without parts of their own that are not the first. */
static bool may_begin(const struct dec_field *f)
{
	size_t n = strlen(f->name);

	return strpbrk(f->name, ".[") &&
	       (f->name[n - 1] != ']' || (n > 2 && !strcmp(f->name + n - 3, "[0]")));
}

/* Hooks on their way. */
struct hooks {
	const struct dec_struct *t;
	uint8_t layout;
	hg_hooks *ret;
	struct map seen; ///< offset + 1 -> 1
	struct map such; ///< key of a name without indices -> number
	uint64_t looks;
};

/* @return a number for what has the first @p n characters of @p name, whatever the indices are; 0: there are none, or
 * that cannot be kept. */
static uint32_t such_number(struct hooks *h, const char *name, size_t n)
{
	uint64_t key = 0, *known;

	if (!memchr(name, '[', n))
		return 0;
	for (size_t i = 0; i < n; i++) {
		key = hg_derive_key(key, name[i]);
		if (name[i] == '[')
			i += strcspn(name + i, "]");
	}
	known = map_get(&h->such, key);
	if (known)
		return *known;
	return map_put(&h->such, key, h->such.size + 1) ? 0 : h->such.size;
}

/* Of field @p f: part @p p begins there. */
static struct err *add_part(struct hooks *h, const struct dec_field *f,
			    const struct hg_part *p, uint8_t which)
{
	uint32_t element = hg_fields_element(h->t, p->start);
	const struct dec_hook hook = {
		.kind = DEC_HOOK_PART,
		.rip = f->offset,
		.start = p->start,
		.end = p->end,
		.such = such_number(h, p->name, p->length),
		.which = which,
		.width = element < UINT8_MAX ? element : UINT8_MAX,
		.is_array = p->name[p->length] == '[',
		.is_of_structs = strchr(p->name + p->length, '.') != NULL,
	};

	return vec_add(h->ret, hook);
}

/* .. and those in it that begin there, too: pointers to the same of another element are meant for these. */
static struct err *add_inner(struct hooks *h, const struct dec_field *f, struct hg_part p)
{
	struct err *err = NULL;
	uint64_t end;

	for (size_t n = p.length + 1; !err; n++) {
		n += strcspn(f->name + n, ".[");
		if (!f->name[n])
			break;
		h->looks += h->t->n_fields;
		if (outermost(f->name, n) != n || !memchr(f->name, '[', n) ||
		    hg_fields_extent(h->t, f->name, n, &end) != f->offset)
			continue;
		p.name = f->name;
		p.length = n;
		p.start = f->offset;
		p.end = end_of(h->t, f->name, n, p.start);
		err = add_part(h, f, &p, DEC_HOOK_AS_SUCH);
	}
	return err;
}

static struct err *add_parts(struct hooks *h)
{
	for (uint32_t i = 0; i < h->t->n_fields; i++) {
		const struct dec_field *f = &h->t->fields[i];
		struct hg_part p;
		struct err *err;

		if (!may_begin(f) || map_get(&h->seen, f->offset + 1ull))
			continue;
		h->looks += h->t->n_fields;
		if (h->looks > LOOKS_MAX)
			return err_new(ERR_UNSUPPORTED, "a struct has too many parts");
		p = look_up_part(h->t, f->offset);
		if (!p.name)
			continue;
		if (map_put(&h->seen, f->offset + 1ull, 1))
			return &err_nomem;
		err = add_part(h, f, &p, h->layout);
		if (!err)
			err = add_inner(h, f, p);
		if (err)
			return err;
	}
	return NULL;
}

struct err *hg_fields_hooks(const struct dec_struct *t, uint8_t layout, hg_hooks *ret)
{
	struct hooks h = { .t = t, .layout = layout, .ret = ret };
	struct err *err = add_parts(&h);

	map_deinit(&h.seen);
	map_deinit(&h.such);
	return err;
}
