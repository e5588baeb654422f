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

#define RUNS 64

/* The fields of what has a name, or is part of it: they follow each other. */
struct run {
	const char *name; // NULL: nobody asked yet
	size_t n;	  // its characters
	uint32_t first, behind;
	uint64_t start, end;
	uint64_t filled; // the end, with what fills it up; 0: nobody asked yet
};

/* A field, in order of where they begin, and the largest end of those up to it. */
struct placed {
	uint32_t field;
	uint64_t reach;
};

struct hg_fields {
	const struct dec_struct *t;
	VEC(struct placed) placed;
	struct run runs[RUNS]; // by name
};

static int by_offset(const void *a, const void *b)
{
	const struct dec_field *const *f = a, *const *g = b;

	return (*f)->offset != (*g)->offset ? ((*f)->offset < (*g)->offset ? -1 : 1) :
					      (*f < *g ? -1 : *f > *g);
}

void hg_fields_destroy(struct hg_fields *o)
{
	if (!o)
		return;
	vec_deinit(&o->placed);
	free(o);
}

struct err *hg_fields_create(const struct dec_struct *t, struct hg_fields **ret)
{
	struct hg_fields *o = calloc(1, sizeof(*o));
	VEC(const struct dec_field *) fields = {};
	struct err *err = o ? NULL : &err_nomem;
	uint64_t reach = 0;

	for (uint32_t i = 0; !err && i < t->n_fields; i++)
		err = vec_add(&fields, &t->fields[i]);
	vec_sort(&fields, by_offset);
	for (uint32_t i = 0; !err && i < t->n_fields; i++) {
		const struct dec_field *f = fields.data[i];
		uint64_t end = (uint64_t)f->offset + f->size;

		reach = end > reach ? end : reach;
		err = vec_add(&o->placed, ((struct placed){ f - t->fields, reach }));
	}
	vec_deinit(&fields);
	if (err) {
		hg_fields_destroy(o);
		return err;
	}
	o->t = t;
	*ret = o;
	return NULL;
}

/* The @p k th field of @p o by offset. */
static const struct dec_field *field(const struct hg_fields *o, size_t k)
{
	return &o->t->fields[o->placed.data[k].field];
}

/* @return how many fields of @p o begin before @p offset. */
static size_t n_before(const struct hg_fields *o, uint64_t offset)
{
	return vec_rank(o->placed.size, k, field(o, k)->offset < offset);
}

/* With @p f each field of @p o that has bytes of [@p start, @p end), backwards. */
#define EACH_AMONG(o, start, end, f)                           \
	for (size_t k_ = n_before(o, end);                     \
	     k_-- && (o)->placed.data[k_].reach > (start);)    \
		for (const struct dec_field *f = field(o, k_); \
		     f && f->offset + (uint64_t)f->size > (start); f = NULL)

/* Is @p name, of @p n characters, the name of something that @p f is part of? */
static bool is_part(const struct dec_field *f, const char *name, size_t n)
{
	return !strncmp(f->name, name, n) && strchr(".[", f->name[n]);
}

/* What the first @p n characters of the name of field @p i are the name of; until the next call. */
static struct run *run_of(struct hg_fields *o, uint32_t i, size_t n)
{
	const struct dec_struct *t = o->t;
	const char *name = t->fields[i].name;
	uint64_t key = n;
	struct run *r;

	for (size_t k = 0; k < n; k++)
		key = hg_derive_key(key, name[k]);
	r = &o->runs[key % RUNS];
	if (r->name && r->n == n && i >= r->first && i < r->behind &&
	    !strncmp(r->name, name, n))
		return r;
	*r = (struct run){ name, n, i, i + 1, .start = UINT64_MAX };
	while (r->first && is_part(&t->fields[r->first - 1], name, n))
		r->first--;
	while (r->behind < t->n_fields && is_part(&t->fields[r->behind], name, n))
		r->behind++;
	for (uint32_t k = r->first; k < r->behind; k++) {
		const struct dec_field *f = &t->fields[k];

		if (f->offset < r->start)
			r->start = f->offset;
		if (f->offset + f->size > r->end)
			r->end = f->offset + f->size;
	}
	return r;
}

uint32_t hg_fields_element(const struct hg_fields *o, uint64_t offset)
{
	size_t k = n_before(o, offset);

	return k < o->placed.size && field(o, k)->offset == offset ? field(o, k)->size :
								     0;
}

uint64_t hg_fields_outermost(struct hg_fields *o, uint64_t offset, uint64_t *end)
{
	uint32_t first = UINT32_MAX;
	const struct run *r;

	EACH_AMONG(o, offset, offset + 1, f)
	if (f - o->t->fields < first)
		first = f - o->t->fields;
	*end = 0;
	if (first == UINT32_MAX)
		return UINT64_MAX;
	r = run_of(o, first, strcspn(o->t->fields[first].name, "["));
	*end = r->end;
	return r->start;
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

/* Is something else than @p r among its bytes, too? */
static bool is_in_union(const struct hg_fields *o, const struct run *r)
{
	EACH_AMONG(o, r->start, r->end, f)
	if (f - o->t->fields < r->first || f - o->t->fields >= r->behind)
		return true;
	return false;
}

/* Behind all members of the union that begin at @p start. */
static uint64_t union_end(struct hg_fields *o, uint64_t start)
{
	uint64_t most = 0;

	EACH_AMONG(o, start, start + 1, f)
	{
		size_t n = strcspn(f->name, ".[");
		const struct run *r;

		if (f->offset != start)
			continue;
		if (!f->name[n]) // may be of a struct without a name
			return o->t->size;
		r = run_of(o, f - o->t->fields, n);
		most = r->end > most ? r->end : most;
	}
	return most;
}

// So many bytes and more between fields are no padding, but of a type that DWARF only names.
#define NO_PADDING 8

/* Where what the first @p n characters of the name of field @p i name ends: the last one, and what is made of
 * structs, with what fills it up. */
static uint64_t end_of(struct hg_fields *o, uint32_t i, size_t n)
{
	const struct run r = *run_of(o, i, n);
	uint64_t end, next = o->t->size;
	size_t k;

	if (r.filled)
		return r.filled;
	end = is_in_union(o, &r) ? union_end(o, r.start) : r.end;
	k = n_before(o, end);
	if (k < o->placed.size && field(o, k)->offset < next)
		next = field(o, k)->offset;
	if (next == o->t->size || (next - end < NO_PADDING && strchr(r.name + n, '.')))
		end = next;
	run_of(o, i, n)->filled = end;
	return end;
}

/* The largest array or struct inside @p o that begins at @p offset, with no name when there is none. */
static struct hg_part look_up_part(struct hg_fields *o, uint64_t offset)
{
	struct hg_part p = { .in = o->t, .offset = offset };

	for (size_t k = n_before(o, offset);
	     k < o->placed.size && field(o, k)->offset == offset; k++) {
		const char *name = field(o, k)->name;
		uint32_t i = o->placed.data[k].field;

		for (size_t n = strcspn(name, ".["); name[n];
		     n += 1 + strcspn(name + n + 1, ".[")) {
			if (run_of(o, i, n)->start != offset)
				continue;
			p.name = name;
			p.field = i;
			p.length = outermost(name, n);
			p.start = run_of(o, i, p.length)->start;
			p.end = end_of(o, i, p.length);
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
		*p = look_up_part(hg_access_fields(f, t), offset);
	return p;
}

uint64_t hg_fields_elements(struct hg_fields *o, const struct hg_part *p, uint64_t *start,
			    uint64_t *end)
{
	size_t n = p->length, behind;
	struct run whole, first;
	uint64_t stride;

	if (!p->name || p->name[n] != '.' || p->name[n - 1] != ']')
		return 0;
	while (p->name[--n] != '[')
		;
	whole = *run_of(o, p->field, n);
	behind = n + strcspn(o->t->fields[whole.first].name + n, "]") + 1;
	first = *run_of(o, whole.first, behind);
	stride = (first.behind < whole.behind ? o->t->fields[first.behind].offset :
						first.end) -
		 first.start;
	while (n && p->name[n - 1] == ']')
		while (p->name[--n] != '[')
			;
	whole = *run_of(o, p->field, n);
	*start = whole.start;
	*end = whole.end;
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
static struct hg_such look_up_such(struct hg_fields *o, const struct hg_part *p,
				   uint64_t at)
{
	struct hg_such s = { o->t, p->offset, at, UINT64_MAX, 0 };
	uint32_t first = UINT32_MAX;
	size_t length = 0;

	EACH_AMONG(o, at, at + 1, f)
	{
		uint32_t i = f - o->t->fields;
		size_t n = matched(f->name, p->name, p->length);

		if (!n || i > first)
			continue;
		first = i;
		length = n;
	}
	if (length) {
		s.start = run_of(o, first, length)->start;
		s.end = end_of(o, first, length);
	}
	return s;
}

bool hg_fields_is_in_such(struct hg_finder *f, const struct hg_part *p, uint64_t at,
			  uint64_t size)
{
	uint64_t key = hg_derive_key((uintptr_t)p->in, hg_derive_key(p->offset, at));
	struct hg_such *s = &f->such[key % HG_SUCH];

	if (s->in != p->in || s->part != p->offset || s->at != at)
		*s = look_up_such(hg_access_fields(f, p->in), p, at);
	return at >= s->start && at + size <= s->end;
}

bool hg_fields_is_any(const struct hg_fields *o, uint64_t at, uint64_t size)
{
	EACH_AMONG(o, at, at + size, f)
	return true;
	return false;
}

/* ---- for a guard --------------------------------------------------------------------------- */

/* May a part begin where @p f does, by its name? Not at elements without parts of their own that are not the first. */
static bool may_begin(const struct dec_field *f)
{
	size_t n = strlen(f->name);

	return strpbrk(f->name, ".[") &&
	       (f->name[n - 1] != ']' || (n > 2 && !strcmp(f->name + n - 3, "[0]")));
}

/* Hooks on their way. */
struct hooks {
	struct hg_fields *o;
	uint8_t layout;
	hg_hooks *ret;
	struct map seen; ///< offset + 1 -> 1
	struct map such; ///< key of a name without indices -> number
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
	uint32_t element = hg_fields_element(h->o, p->start);
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
static struct err *add_inner(struct hooks *h, uint32_t i, struct hg_part p)
{
	const struct dec_field *f = &h->o->t->fields[i];
	struct err *err = NULL;

	for (size_t n = p.length + 1; !err; n++) {
		n += strcspn(f->name + n, ".[");
		if (!f->name[n])
			break;
		if (outermost(f->name, n) != n || !memchr(f->name, '[', n) ||
		    run_of(h->o, i, n)->start != f->offset)
			continue;
		p.name = f->name;
		p.length = n;
		p.start = f->offset;
		p.end = end_of(h->o, i, n);
		err = add_part(h, f, &p, DEC_HOOK_AS_SUCH);
	}
	return err;
}

static struct err *add_parts(struct hooks *h)
{
	for (uint32_t i = 0; i < h->o->t->n_fields; i++) {
		const struct dec_field *f = &h->o->t->fields[i];
		struct hg_part p;
		struct err *err;

		if (!may_begin(f) || map_get(&h->seen, f->offset + 1ull))
			continue;
		p = look_up_part(h->o, f->offset);
		if (!p.name)
			continue;
		if (map_put(&h->seen, f->offset + 1ull, 1))
			return &err_nomem;
		err = add_part(h, f, &p, h->layout);
		if (!err)
			err = add_inner(h, i, p);
		if (err)
			return err;
	}
	return NULL;
}

struct err *hg_fields_hooks(const struct dec_struct *t, uint8_t layout, hg_hooks *ret)
{
	struct hooks h = { .layout = layout, .ret = ret };
	struct err *err = hg_fields_create(t, &h.o);

	if (!err)
		err = add_parts(&h);
	hg_fields_destroy(h.o);
	map_deinit(&h.seen);
	map_deinit(&h.such);
	return err;
}
