// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "faultlocate/fl_types.h"

#include <string.h>

#include "decode/symbols/variable.h"

// What is remembered of an allocation site, for one size; chained where the keys of several are equal.
struct site {
	uint64_t rip, size;
	uint32_t type; ///< spec type + 1; 0 none
	enum { FOUND_NONE, FOUND_BY_SITE, FOUND_BY_DWARF, FOUND_BY_SIZE } how;
	size_t next; ///< index + 1
};

struct fl_typer {
	const struct spec *spec;
	struct dec_symbols *symbols;
	struct map sites; ///< site_key() -> index + 1 of the last one
	VEC(struct site) known;
};

int fl_types_chunk(const struct spec *s)
{
	return spec_type_find(s, FL_CHUNK_TYPE);
}

/* ---- layouts ---------------------------------------------------------------------- */

// struct malloc_chunk of glibc's malloc/malloc.c on 64-bit machines. Debian's libc comes
// without debug information, and its layout has not changed since 2007.
static const struct dec_field chunk_fields[] = {
	{ .name = "prev_size", .offset = 0, .size = 8 },
	{ .name = "size", .offset = 8, .size = 8 },
	{ .name = "fd",
	  .offset = 16,
	  .size = 8,
	  .is_pointer = true,
	  .points_to = FL_CHUNK_TYPE },
	{ .name = "bk",
	  .offset = 24,
	  .size = 8,
	  .is_pointer = true,
	  .points_to = FL_CHUNK_TYPE },
	{ .name = "fd_nextsize",
	  .offset = 32,
	  .size = 8,
	  .is_pointer = true,
	  .points_to = FL_CHUNK_TYPE },
	{ .name = "bk_nextsize",
	  .offset = 40,
	  .size = 8,
	  .is_pointer = true,
	  .points_to = FL_CHUNK_TYPE },
};

// What else glibc has in and behind its heap; the same of glibc 2.26 and later. Chunks in
// fast bins have an fd only, and it is where the thread cache has its link.
static const struct dec_field cached_fields[] = {
	{ .name = "next", .size = 8, .is_pointer = true, .points_to = "tcache_entry" },
	{ .name = "key", .offset = 8, .size = 8 },
};

static const struct dec_field fast_fields[] = {
	{ .name = "fd", .size = 8, .is_pointer = true, .points_to = "fastbin_chunk" },
};

static const struct dec_field bin_fields[] = {
	{ .name = "fd", .size = 8, .is_pointer = true, .points_to = FL_CHUNK_TYPE },
	{ .name = "bk",
	  .offset = 8,
	  .size = 8,
	  .is_pointer = true,
	  .points_to = FL_CHUNK_TYPE },
};

// struct tcache_perthread_struct: a count and a list for each size of chunks.
#define CACHE_LISTS 64
static struct dec_field cache_fields[2 * CACHE_LISTS];
static char cache_names[2 * CACHE_LISTS][24];

#define FIELDS(f) .fields = f, .n_fields = sizeof(f) / sizeof(*f)
static const struct dec_struct internal_structs[HG_INTERNAL_KINDS] = {
	[HG_INTERNAL_CHUNK] = { .name = FL_CHUNK_TYPE, .size = 48, FIELDS(chunk_fields) },
	[HG_INTERNAL_CACHED] = { .name = "tcache_entry",
				 .size = 16,
				 FIELDS(cached_fields) },
	[HG_INTERNAL_FAST] = { .name = "fastbin_chunk", .size = 8, FIELDS(fast_fields) },
	[HG_INTERNAL_CACHE] = { .name = "tcache_perthread_struct",
				.size = 640,
				FIELDS(cache_fields) },
	[HG_INTERNAL_BIN] = { .name = FL_BIN_TYPE, .size = 16, FIELDS(bin_fields) },
};

static void name_cache_fields(void)
{
	for (int i = 0; i < 2 * CACHE_LISTS; i++) {
		bool is_list = i < CACHE_LISTS;
		int list = i % CACHE_LISTS;

		// The lists first: they say what is in the cache.
		snprintf(cache_names[i], sizeof(cache_names[i]), "%s[%#x]",
			 is_list ? "entries" : "counts", 0x20 + 16 * list);
		cache_fields[i] = (struct dec_field){
			.name = cache_names[i],
			.offset = is_list ? 2 * CACHE_LISTS + 8 * list : 2 * list,
			.size = is_list ? 8 : 2,
			.is_pointer = is_list,
			.points_to = is_list ? "tcache_entry" : NULL,
		};
	}
}

static struct err *find_layout(struct dec_symbols *symbols, const char *name,
			       const struct dec_struct **ret)
{
	struct err *err;

	for (int kind = 0; kind < HG_INTERNAL_KINDS; kind++) {
		if (strcmp(name, internal_structs[kind].name) != 0)
			continue;
		if (kind == HG_INTERNAL_CACHE)
			name_cache_fields();
		*ret = &internal_structs[kind];
		return NULL;
	}
	*ret = NULL;
	err = dec_symbols_struct(symbols, name, ret);
	if (err && err->code == ERR_NOT_FOUND) {
		err_destroy(err);
		return NULL;
	}
	return err;
}

static void try_name(void *ctx, const char *name)
{
	spec_nearest_try(ctx, name);
}

// Type number i is no struct that any module's debug information has.
static struct err *note_unknown(struct spec *s, size_t i, struct dec_symbols *symbols,
				char *unknown, size_t unknown_bytes)
{
	const struct spec_type *t = spec_type(s, i);
	struct spec_nearest nearest = { .word = t->name };
	size_t used = strlen(unknown);
	char hint[256] = "";

	if (t->is_array)
		return NULL;
	if (!t->n_fields && !dec_symbols_has_debug(symbols, 0))
		return NULL; // spec_resolve() says so
	for (size_t k = 0; k < spec_types(s); k++)
		if (spec_type(s, k)->layout)
			spec_nearest_try(&nearest, spec_type(s, k)->name);
	dec_symbols_struct_names(symbols, try_name, &nearest);
	if (nearest.name)
		snprintf(hint, sizeof(hint), "did you mean '%s'?", nearest.name);
	if (!t->n_fields)
		return spec_bind_nothing(s, i, "the program has no such struct",
					 nearest.name ? hint : NULL);
	snprintf(unknown + used, unknown_bytes - used, "%s'%s'%s%s%s", used ? ", " : "",
		 t->name, *hint ? " (" : "", hint, *hint ? ")" : "");
	return NULL;
}

// Several structs have that name: @p why says which.
static struct err *note_ambiguous(struct spec *s, size_t i, struct err *why)
{
	struct err *err = spec_bind_nothing(s, i, why->message,
					    "write one of these, with its quotes");

	err_destroy(why);
	return err;
}

struct err *fl_types_bind(struct spec *s, struct dec_symbols *symbols,
			  fl_variables *variables, char *unknown, size_t unknown_bytes)
{
	size_t n_errors;
	// Variables, and what they are, may be in modules that are mapped late.
	struct err *err = spec_roots(s) ? dec_symbols_open_kept(symbols) : NULL;

	if (err)
		return err;
	for (size_t i = 0; i < spec_types(s); i++) {
		const struct spec_type *t = spec_type(s, i);
		const struct dec_struct *layout;

		if (t->is_root)
			continue;
		err = find_layout(symbols, t->name, &layout);
		if (!err && layout)
			err = spec_bind_type(s, i, layout);
		if (err && err->code == ERR_AMBIGUOUS)
			err = note_ambiguous(s, i, err);
		else if (!err && !layout)
			err = note_unknown(s, i, symbols, unknown, unknown_bytes);
		if (err)
			return err;
	}
	n_errors = spec_errors(s);
	err = fl_roots_bind(s, symbols, variables);
	// What has no layout is not to be told for each of its uses.
	return err || spec_errors(s) > n_errors ? err : spec_resolve(s);
}

static struct err *declare(struct spec *s, struct dec_symbols *symbols, const char *name)
{
	const struct dec_struct *layout;
	struct err *err = find_layout(symbols, name, &layout);
	_cleanup_free_ char *text = NULL;
	unsigned int n_edges = 0;

	// No specification can name what has a quote in its name.
	if (err || !layout || !layout->n_fields || strchr(name, '"'))
		return err;
	for (uint32_t i = 0; i < layout->n_fields; i++)
		n_edges += layout->fields[i].is_pointer;
	// In quotes: templates have names that are no words.
	if (asprintf(&text, "\"%s\" FIELD %u EDGE %u;", name, layout->n_fields, n_edges) <
	    0)
		return &err_nomem;
	return spec_add_text(s, name, text, strlen(text));
}

struct err *fl_types_declare(struct spec *s, struct dec_symbols *symbols,
			     const struct hg_graph *g, bool with_chunk)
{
	_cleanup_(map_deinit) struct map seen = {};
	struct err *err = NULL;

	for (int kind = 0; kind < HG_INTERNAL_KINDS && with_chunk && !err; kind++)
		err = declare(s, symbols, internal_structs[kind].name);
	for (uint32_t id = 1; id <= hg_graph_nodes(g) && !err; id++) {
		const struct hg_node *n = hg_graph_node(g, (struct hg_node_id){ id });
		const char *name;
		bool is_sure;

		if (map_get(&seen, n->alloc_rip))
			continue;
		if (map_put(&seen, n->alloc_rip, 1))
			return &err_nomem;
		name = dec_symbols_alloc_type(symbols, n->alloc_rip + 1, n->size,
					      &is_sure);
		if (name && spec_type_find(s, name) < 0)
			err = declare(s, symbols, name);
		// Two lambdas of a function, say, have one name: nobody can declare them, or asked for it.
		if (err && err->code == ERR_AMBIGUOUS)
			err_destroy(take_ptr(&err));
	}
	return err;
}

/* ---- nodes ------------------------------------------------------------------------ */

static bool has_site(const struct spec_type *t, const struct dec_place *p)
{
	for (size_t i = 0; i < t->n_sites; i++)
		if (p->file && t->sites[i].line == p->line &&
		    dec_path_is_suffix(p->file, t->sites[i].file))
			return true;
	return false;
}

bool fl_types_have_sites(const struct spec *s)
{
	for (size_t i = 0; i < spec_types(s); i++)
		if (spec_type(s, i)->n_sites)
			return true;
	return false;
}

// @return 1 + index of the type of @p s that has the site @p rip, or 0.
static uint32_t type_of_site(const struct spec *s, struct dec_symbols *symbols,
			     uint64_t rip)
{
	struct dec_place place = {};

	dec_symbols_place(symbols, rip, &place);
	for (size_t i = 0; i < spec_types(s); i++)
		if (has_site(spec_type(s, i), &place))
			return i + 1;
	return 0;
}

bool fl_types_is_site(const struct spec *s, struct dec_symbols *symbols, uint64_t rip)
{
	return type_of_site(s, symbols, rip) != 0;
}

static bool by_site(const struct fl_typer *t, uint64_t rip, struct site *s)
{
	s->type = type_of_site(t->spec, t->symbols, rip);
	s->how = s->type ? FOUND_BY_SITE : FOUND_NONE;
	return s->type != 0;
}

// @return whether DWARF said anything, be it the name of another struct, or that it is none.
static bool by_dwarf(const struct fl_typer *t, uint64_t rip, struct site *s)
{
	bool is_sure = false;
	// The recorder has the call itself, one byte before where it returns to.
	const char *name = dec_symbols_alloc_type(t->symbols, rip + 1, s->size, &is_sure);
	int type;

	if (!name)
		return is_sure;
	type = spec_type_find(t->spec, name);
	if (type >= 0 && !spec_type(t->spec, type)->n_sites) {
		s->type = type + 1;
		s->how = is_sure ? FOUND_BY_DWARF : FOUND_BY_SIZE;
	}
	return true;
}

static bool is_internal(const struct dec_struct *layout)
{
	return layout >= internal_structs &&
	       layout < internal_structs + HG_INTERNAL_KINDS;
}

static void by_size(const struct fl_typer *t, struct site *s)
{
	uint32_t found = 0;

	for (size_t i = 0; i < spec_types(t->spec); i++) {
		const struct spec_type *type = spec_type(t->spec, i);

		if (type->n_sites || type->is_array || type->is_root || !type->layout ||
		    type->same_as >= 0 || is_internal(type->layout) ||
		    type->layout->size != s->size)
			continue;
		if (found)
			return; // two candidates: not known
		found = i + 1;
	}
	s->type = found;
	s->how = found ? FOUND_BY_SIZE : FOUND_NONE;
}

static uint64_t site_key(uint64_t rip, uint64_t size)
{
	return rip + size * 0x9e3779b97f4a7c15u;
}

static struct err *typer_find(struct fl_typer *t, uint64_t rip, uint64_t size,
			      struct site *ret)
{
	uint64_t *first = map_get(&t->sites, site_key(rip, size));
	struct site s = { .rip = rip, .size = size }, *slot;

	for (size_t i = first ? *first : 0; i; i = t->known.data[i - 1].next)
		if (t->known.data[i - 1].rip == rip &&
		    t->known.data[i - 1].size == size) {
			*ret = t->known.data[i - 1];
			return NULL;
		}
	if (!by_site(t, rip, &s) && !by_dwarf(t, rip, &s))
		by_size(t, &s);
	s.next = first ? *first : 0;
	slot = vec_push(&t->known);
	if (!slot || map_put(&t->sites, site_key(rip, size), t->known.size))
		return &err_nomem;
	*slot = *ret = s;
	return NULL;
}

struct fl_typer *fl_typer_create(const struct spec *s, struct dec_symbols *symbols)
{
	struct fl_typer *t = calloc(1, sizeof(*t));

	if (t)
		*t = (struct fl_typer){ .spec = s, .symbols = symbols };
	return t;
}

void fl_typer_destroy(struct fl_typer *t)
{
	if (!t)
		return;
	map_deinit(&t->sites);
	vec_deinit(&t->known);
	free(t);
}

void fl_typer_destroyp(struct fl_typer **t)
{
	fl_typer_destroy(*t);
}

bool fl_typer_has(struct fl_typer *t, uint64_t rip, uint64_t size)
{
	_cleanup_err_ struct err *err = NULL;
	struct site site = {};

	err = typer_find(t, rip, size, &site);
	return err || site.type;
}

struct err *fl_types_assign(const struct spec *s, struct dec_symbols *symbols,
			    struct hg_graph *g, const hg_roots *roots,
			    struct fl_typing *ret)
{
	struct fl_typer t = { .spec = s, .symbols = symbols };
	struct err *err = NULL;
	size_t next = 0;

	*ret = (struct fl_typing){};
	for (uint32_t id = 1; id <= hg_graph_nodes(g) && !err; id++) {
		const struct hg_node *n = hg_graph_node(g, (struct hg_node_id){ id });
		struct site site = {};

		if (next < roots->size && roots->data[next].node == id) {
			err = hg_graph_set_type(
				g, (struct hg_node_id){ id },
				spec_root(s, roots->data[next++].index)->type + 1);
			continue;
		}
		err = typer_find(&t, n->alloc_rip, n->size, &site);
		if (!err)
			err = hg_graph_set_type(g, (struct hg_node_id){ id }, site.type);
		ret->n_by_site += site.how == FOUND_BY_SITE;
		ret->n_by_dwarf += site.how == FOUND_BY_DWARF;
		ret->n_by_size += site.how == FOUND_BY_SIZE;
		ret->n_untyped += site.how == FOUND_NONE;
	}
	map_deinit(&t.sites);
	vec_deinit(&t.known);
	return err;
}

const struct dec_struct *fl_types_layout(const struct spec *s,
					 struct dec_symbols *symbols, uint64_t rip,
					 uint64_t size)
{
	const struct fl_typer t = { .spec = s, .symbols = symbols };
	const struct dec_struct *layout = NULL;
	struct site found = { .size = size };
	bool is_sure = false;
	const char *name;

	if (by_site(&t, rip, &found) ||
	    (by_dwarf(&t, rip, &found) && found.how == FOUND_BY_DWARF))
		return spec_type(s, found.type - 1)->layout;
	name = spec_types(s) ? NULL :
			       dec_symbols_alloc_type(symbols, rip + 1, size, &is_sure);
	if (name && is_sure)
		err_destroy(find_layout(symbols, name, &layout));
	return layout;
}

struct err *fl_types_assign_chunks(const struct spec *s, struct hg_graph *g,
				   const hg_internals *internals)
{
	int type[HG_INTERNAL_KINDS];
	struct err *err = NULL;

	for (int kind = 0; kind < HG_INTERNAL_KINDS; kind++)
		type[kind] = spec_type_find(s, internal_structs[kind].name);
	for (uint32_t id = 1; id <= hg_graph_nodes(g) && !err; id++) {
		int found = type[internals->data[id - 1].kind];

		if (found >= 0)
			err = hg_graph_set_type(g, (struct hg_node_id){ id }, found + 1);
	}
	return err;
}
