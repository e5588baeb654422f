// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * From a name to a variable.
 */
#include <dwarf.h>
#include <string.h>

#define LOG_ROOM "decode"
#include "decode/symbols/variable_int.h"

#define BYTES_MAX (16u << 20)

/** @return the file that @p die is declared in, as DWARF has it, or NULL. */
static const char *decl_file(Dwarf_Die *die)
{
	const char *file = dwarf_decl_file(die);
	Dwarf_Attribute attr;
	Dwarf_Files *files;
	Dwarf_Half version;
	Dwarf_Word index;
	Dwarf_Die cu;
	size_t n;

	// To libdw number 0 is none, which since DWARF 5 it is not.
	if (file || !dwarf_attr_integrate(die, DW_AT_decl_file, &attr) ||
	    dwarf_formudata(&attr, &index) || index ||
	    !dwarf_cu_die(attr.cu, &cu, &version, NULL, NULL, NULL, NULL, NULL) ||
	    version < 5 || dwarf_getsrcfiles(&cu, &files, &n) || !n)
		return file;
	return dwarf_filesrc(files, 0, NULL, NULL);
}

/* ---- one name ----------------------------------------------------------------------------- */

struct found {
	Dwarf_Die die;
	struct dec_sym_unit *unit;
	struct dec_place place;
	struct dec_var_site site; ///< of a static one
	bool is_in_function;
};

struct search {
	struct dec_symbols *s;
	struct dec_var_scopes wanted; ///< its scopes, as the user named them
	const char *name;	      ///< without
	const char *source;
	VEC(struct found) statics; ///< each place once
	dec_var_sites sites;	   ///< of a local one
	bool has_local, differs;
	struct found local; ///< but for its site
	size_t n_unplaced;
	enum dec_var_fate fate; ///< if nothing was found
	const char *others;
};

static const char *text_add(struct search *x, const char *text, const char *more)
{
	size_t n = text ? strlen(text) : 0, m = strlen(more);
	char *all = arena_alloc(&x->s->arena, n + m + 3);

	if (all)
		sprintf(all, "%s%s%s", text ? text : "", text ? ", " : "", more);
	return all;
}

bool dec_path_is_suffix(const char *path, const char *suffix)
{
	size_t n = strlen(path), m = strlen(suffix);

	return m <= n && strcmp(path + n - m, suffix) == 0 &&
	       (m == n || path[n - m - 1] == '/' || suffix[0] == '/');
}

/** Where it is declared: "src/list.c:12". */
static void print_place(const struct dec_place *p, char *buf, size_t bytes)
{
	snprintf(buf, bytes, "%s:%d", p->file ? p->file : "?", p->line);
}

static bool is_in_source(const struct search *x, struct dec_var_path *p)
{
	const char *file = decl_file(&p->die[p->n - 1]);
	const char *unit = dwarf_diename(&p->cu->die);

	return !x->source || (file && dec_path_is_suffix(file, x->source)) ||
	       (unit && dec_path_is_suffix(unit, x->source));
}

/** Do the scopes that were named, if any, end those that there are? */
static bool is_in_scopes(const struct search *x, struct dec_var_path *p)
{
	struct dec_var_scopes sc;

	if (!x->wanted.n)
		return true;
	dec_var_scopes(p, &sc);
	if (sc.n < x->wanted.n)
		return false;
	for (int i = 0; i < x->wanted.n; i++)
		if (strcmp(x->wanted.name[i], sc.name[sc.n - x->wanted.n + i]))
			return false;
	return true;
}

static void set_fate(struct search *x, enum dec_var_fate fate, const char *others)
{
	if (x->fate != DEC_VAR_UNKNOWN && x->fate != DEC_VAR_IS_LOCAL)
		return;
	x->fate = fate;
	x->others = others;
}

/** What is known of the variable of @p p. */
static struct found found_in(struct dec_var_path *p)
{
	struct found f = { .die = p->die[p->n - 1],
			   .unit = p->unit,
			   .is_in_function = p->function >= 0 };
	Dwarf_Attribute attr;

	f.place.file = text_name(decl_file(&f.die));
	dwarf_decl_line(&f.die, &f.place.line);
	f.place.module = p->unit->path;
	if (dwarf_attr(&p->cu->die, DW_AT_comp_dir, &attr))
		f.place.directory = text_name(dwarf_formstring(&attr));
	return f;
}

static uint64_t bytes_of(Dwarf_Die *die)
{
	Dwarf_Die type;

	return dec_sym_type_of(die, &type, NULL) ? dec_sym_type_bytes(&type) : 0;
}

static struct err *add_local(struct search *x, struct dec_var_path *p,
			     enum dec_var_fate fate)
{
	Dwarf_Die *die = &p->die[p->n - 1];

	if (!x->wanted.n) {
		struct dec_var_scopes sc;
		char name[256];

		dec_var_scopes(p, &sc);
		snprintf(name, sizeof(name), "%s::%s", sc.n ? sc.name[sc.n - 1] : "?",
			 x->name);
		set_fate(x, DEC_VAR_IS_LOCAL, text_add(x, NULL, name));
		return NULL;
	}
	if (fate != DEC_VAR_FOUND) {
		// What was inlined everywhere has no frame of its own, either.
		x->n_unplaced += !dwarf_hasattr(&p->die[p->function], DW_AT_inline);
		set_fate(x, fate, NULL);
		return NULL;
	}
	x->differs |= x->has_local && bytes_of(die) != bytes_of(&x->local.die);
	x->has_local = true;
	x->local = found_in(p);
	return NULL;
}

static struct err *add_static(struct search *x, struct dec_var_path *p,
			      const struct dec_var_site *site)
{
	struct found f = found_in(p);

	f.site = *site;
	if (vec_find(&x->statics, k,
		     k->site.unit == site->unit && k->site.addr == site->addr &&
			     k->site.is_per_thread == site->is_per_thread))
		return NULL;
	return vec_add(&x->statics, f);
}

static struct err *search_one(void *ctx, struct dec_var_path *p)
{
	Dwarf_Die *die = &p->die[p->n - 1];
	const char *name = dwarf_diename(die);
	struct search *x = ctx;
	enum dec_var_fate fate = DEC_VAR_FOUND;
	size_t n = x->sites.size;
	bool is_local;
	struct err *err;

	if (!name || strcmp(name, x->name) || !is_in_scopes(x, p))
		return NULL;
	err = dec_var_place(x->s, p, &x->sites, &is_local, &fate);
	if (err || fate == DEC_VAR_UNKNOWN)
		return err;
	if (!is_in_source(x, p)) {
		struct found f = found_in(p);
		char place[512];

		print_place(&f.place, place, sizeof(place));
		set_fate(x, DEC_VAR_ELSEWHERE, text_add(x, NULL, place));
		x->sites.size = n;
		return NULL;
	}
	if (is_local)
		err = add_local(x, p, fate);
	else if (fate == DEC_VAR_FOUND)
		err = add_static(x, p, &x->sites.data[n]);
	else
		set_fate(x, fate, NULL);
	if (!is_local || !x->wanted.n)
		x->sites.size = n;
	return err;
}

/* ---- the answer ---------------------------------------------------------------------------- */

/** Append @p type as C would write it, without "struct". */
static void print_type(Dwarf_Die *type, const char *typedef_name, FILE *out, int depth)
{
	const char *name = text_name(dwarf_diename(type)), *of = NULL;
	int tag = dwarf_tag(type);
	bool is_pointer = tag == DW_TAG_pointer_type, has_more;
	uint64_t each;
	Dwarf_Die to;

	if (!is_pointer && tag != DW_TAG_array_type) {
		fputs(name ? name : typedef_name ? typedef_name : "struct", out);
		return;
	}
	has_more = depth < 8 && dec_sym_type_of(type, &to, &of);
	if (has_more)
		print_type(&to, of, out, depth + 1);
	else
		fputs("void", out);
	if (is_pointer) {
		fputs(has_more && dwarf_tag(&to) == DW_TAG_pointer_type ? "*" : " *",
		      out);
		return;
	}
	each = has_more ? dec_sym_type_bytes(&to) : 0;
	fprintf(out, "[%llu]",
		(unsigned long long)(each ? dec_sym_type_bytes(type) / each : 0));
}

static const char *type_text(struct dec_symbols *s, Dwarf_Die *type,
			     const char *typedef_name)
{
	_cleanup_free_ char *text = NULL;
	size_t n = 0;
	FILE *out = open_memstream(&text, &n);

	if (!out)
		return NULL;
	print_type(type, typedef_name, out, 0);
	return fclose(out) ? NULL : arena_strndup(&s->arena, text, n);
}

static struct err *describe(struct dec_symbols *s, struct found *f, const char *name,
			    struct dec_variable *ret)
{
	const char *typedef_name;
	struct err *err;
	Dwarf_Die type;

	ret->place = f->place;
	if (!dec_sym_type_of(&f->die, &type, &typedef_name))
		return NULL;
	ret->type = type_text(s, &type, typedef_name);
	if (!ret->type)
		return &err_nomem;
	ret->size = dec_sym_type_bytes(&type);
	ret->is_struct = dec_sym_is_struct(dwarf_tag(&type));
	if (ret->is_struct)
		ret->tag = dec_sym_names_of(f->unit, &type);
	err = dec_sym_layout(s, &type, name, &ret->layout);
	return err;
}

/** Is some array in it too large to have fields? */
static bool is_too_large(const struct dec_struct *l)
{
	return !l->n_fields || l->size > BYTES_MAX ||
	       (l->n_fields == 1 && l->fields[0].size > 16);
}

/** Without scopes, what is in no function is meant, if there is any. */
static void prefer_outer(struct search *x)
{
	size_t n = 0;

	if (x->wanted.n || !vec_find(&x->statics, k, !k->is_in_function))
		return;
	for (size_t i = 0; i < x->statics.size; i++)
		if (!x->statics.data[i].is_in_function)
			x->statics.data[n++] = x->statics.data[i];
	x->statics.size = n;
}

static struct err *conclude(struct search *x, struct dec_variable *ret,
			    enum dec_var_fate *fate, const char **others)
{
	struct dec_var_site *sites = NULL;
	struct err *err;

	prefer_outer(x);
	*fate = x->fate;
	*others = x->others;
	if (x->statics.size + x->has_local > 1 || x->differs) {
		*fate = DEC_VAR_SEVERAL;
		*others = NULL;
		for (size_t i = 0; i < x->statics.size; i++) {
			char place[512];

			print_place(&x->statics.data[i].place, place, sizeof(place));
			*others = text_add(x, *others, place);
		}
		return NULL;
	}
	if (!x->statics.size && !x->has_local)
		return NULL;
	if (x->statics.size && vec_add(&x->sites, x->statics.data[0].site))
		return &err_nomem;
	ret->n_sites = x->sites.size;
	ret->sites = sites = arena_alloc(&x->s->arena, ret->n_sites * sizeof(*sites));
	if (!sites)
		return &err_nomem;
	memcpy(sites, x->sites.data, ret->n_sites * sizeof(*sites));
	ret->is_local = x->has_local;
	ret->is_per_thread = x->statics.size && x->statics.data[0].site.is_per_thread;
	ret->n_unplaced = x->has_local ? x->n_unplaced : 0;
	err = describe(x->s, x->has_local ? &x->local : &x->statics.data[0], x->name,
		       ret);
	*fate = err || (ret->layout && !is_too_large(ret->layout)) ? DEC_VAR_FOUND :
								     DEC_VAR_TOO_LARGE;
	return err;
}

/** Divide `a<b::c>::d` into a<b::c> and d. @return NULL: out of memory. */
static const char *divide(struct dec_symbols *s, const char *name,
			  struct dec_var_scopes *ret)
{
	char *at = arena_strndup(&s->arena, name, strlen(name)), *from = at;
	int depth = 0;

	for (; at && *at; at++) {
		depth += *at == '<' || *at == '(';
		depth -= *at == '>' || *at == ')';
		if (depth || strncmp(at, "::", 2))
			continue;
		*at++ = 0;
		if (*from && ret->n < DEC_VAR_SCOPES)
			ret->name[ret->n++] = from;
		from = at + 1;
	}
	return from;
}

struct err *dec_symbols_variable_named(struct dec_symbols *s, const char *name,
				       const char *source, struct dec_variable *ret,
				       enum dec_var_fate *fate, const char **others)
{
	struct search x = { .s = s, .source = source, .fate = DEC_VAR_UNKNOWN };
	struct err *err = NULL;

	*ret = (struct dec_variable){};
	x.name = divide(s, name, &x.wanted);
	if (!x.name)
		return &err_nomem;
	err = dec_var_walk(s, search_one, &x);
	if (!err)
		err = conclude(&x, ret, fate, others);
	vec_deinit(&x.statics);
	vec_deinit(&x.sites);
	return err;
}

/* ---- all names ------------------------------------------------------------------------------ */

struct listing {
	void (*fn)(void *ctx, const char *name);
	void *ctx;
	uint32_t n;
};

// To find the scopes of a C++ declaration takes a walk through its compile unit.
#define NAMES_LISTED_MAX 10000

static struct err *list_one(void *ctx, struct dec_var_path *p)
{
	const char *name = text_name(dwarf_diename(&p->die[p->n - 1]));
	struct listing *l = ctx;
	struct dec_var_scopes sc;
	char text[512];

	if (!name)
		return NULL;
	l->fn(l->ctx, name);
	if (++l->n > NAMES_LISTED_MAX)
		return NULL;
	dec_var_scopes(p, &sc);
	if (!sc.n)
		return NULL;
	snprintf(text, sizeof(text), "%s::%s", sc.name[sc.n - 1], name);
	l->fn(l->ctx, text);
	return NULL;
}

void dec_symbols_variables(struct dec_symbols *s, void (*fn)(void *ctx, const char *name),
			   void *ctx)
{
	struct listing l = { .fn = fn, .ctx = ctx };

	err_destroy(dec_var_walk(s, list_one, &l));
}

/* ---- modules --------------------------------------------------------------------------------- */

bool dec_symbols_unit_address(const struct dec_symbols *s, const struct dec_sym_unit *u,
			      uint64_t addr, uint64_t *ret)
{
	for (size_t i = s->mappings.size; i > 0; i--)
		if (s->mappings.data[i - 1].unit == u) {
			*ret = s->mappings.data[i - 1].bias + addr;
			return true;
		}
	return false;
}

void dec_symbols_unit_contents(const struct dec_sym_unit *u, uint64_t addr, void *buf,
			       size_t size, bool is_per_thread)
{
	GElf_Phdr ph;
	size_t n = 0;

	if (!is_per_thread)
		n = dec_sym_unit_read((struct dec_sym_unit *)u, addr, buf, size);
	else if (dec_sym_unit_threads(u, &ph) && addr < ph.p_filesz)
		n = dec_sym_unit_read((struct dec_sym_unit *)u, ph.p_vaddr + addr, buf,
				      size < ph.p_filesz - addr ? size :
								  ph.p_filesz - addr);

	memset((char *)buf + n, 0, size - n); // .bss
}
