// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Which struct has which names. The same struct is described by each compile unit that knows it;
 * structs of one name are many in programs of many files, in C++, and where functions have
 * structs of their own. An index of each unit says, of every description, which struct it is,
 * and of every struct, what it is called: by its tag, by typedefs, without either by the member
 * or variable that it is the type of; in its namespaces, classes and functions, and in its file.
 *
 * A struct's own name is the shortest of these that means no other struct.
 */
#include <ctype.h>
#include <dwarf.h>
#include <stdio.h>
#include <string.h>

#define LOG_ROOM "decode"
#include "base/hash.h"
#include "decode/symbols/symbols_int.h"

#define SCOPES_MAX 16 ///< in one name
#define NAME_BYTES 1024
#define CANDIDATES_SHOWN 4

enum name_kind { NAME_SCOPE, NAME_TAG, NAME_TYPEDEF, NAME_MEMBER };

/** A name in its scope. */
struct name {
	const char *text;
	uint32_t scope; ///< index of the name around it; 0: none
	uint32_t type;	///< index, when it is one's
	uint32_t next;	///< with the same last word; 0 ends
	enum name_kind kind;
	bool is_optional; ///< a namespace that may be left out
	uint64_t hash;	  ///< of it with all that is around it
	const void *of;	  ///< until all are known: the description that it names
};

/** A struct. */
struct named {
	Dwarf_Die die;
	uint32_t name; ///< the first, 0: none yet
	const char *own;
	const char *file; ///< of its compile unit
	uint64_t bytes;
	int line;
};

struct dec_sym_names {
	VEC(struct name) names;	 ///< 0 is not used
	VEC(struct named) types; ///< 0 is not used
	struct map of_die;	 ///< address of a description -> index of its type, or
	struct map declared;	 ///< .. of the name that is declared there
	struct map by_word;	 ///< hash of the last word, without <...> -> first name
	struct map by_shape;	 ///< hash of all that a struct is known by -> type
	const char *file;	 ///< of the compile unit being read
	bool is_out_of_memory;
};

/* ---- text ------------------------------------------------------------------------------ */

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/** A word, or a character that is in none. */
struct piece {
	const char *text;
	size_t n; ///< 0: there is none
};

static bool is_piece(const struct piece *p, const char *text)
{
	return p->n == strlen(text) && !strncmp(p->text, text, p->n);
}

/** Go to the next piece before @p end; `int` behind `long` and its like says nothing. */
static void next_piece(struct piece *p, const char *end)
{
	struct piece last = *p;

	p->text += p->n;
	p->n = 0;
	while (p->text < end && *p->text == ' ')
		p->text++;
	while (p->text + p->n < end && is_word(p->text[p->n]))
		p->n++;
	p->n += !p->n && p->text < end;
	if (is_piece(p, "int") &&
	    (is_piece(&last, "long") || is_piece(&last, "short") ||
	     is_piece(&last, "unsigned") || is_piece(&last, "signed")))
		next_piece(p, end);
}

/** Are @p a (@p n bytes) and @p b the same, spaces aside? */
static bool is_same(const char *a, size_t n, const char *b)
{
	struct piece x = { a, 0 }, y = { b, 0 };

	do {
		next_piece(&x, a + n);
		next_piece(&y, b + strlen(b));
	} while (x.n && x.n == y.n && !strncmp(x.text, y.text, x.n));
	return !x.n && !y.n;
}

/** The bytes of the @p n of @p text before `<`. */
static size_t bare_bytes(const char *text, size_t n)
{
	const char *open = memchr(text, '<', n);

	// Not those of operator<.
	return open && open > text && is_word(open[-1]) ? (size_t)(open - text) : n;
}

static uint64_t hash_name(uint64_t hash, const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (text[i] != ' ')
			hash = hash_mix(hash, (unsigned char)text[i]);
	return hash;
}

static uint64_t hash_word(const char *text, size_t n)
{
	return hash_name(0, text, bare_bytes(text, n));
}

/* ---- reading a compile unit ---------------------------------------------------------------- */

static uint32_t add_name(struct dec_sym_names *x, struct name name)
{
	const struct name *scope = &x->names.data[name.scope];
	uint64_t word = hash_word(name.text, strlen(name.text));
	const uint64_t *first = map_get(&x->by_word, word);
	struct name *n;

	name.hash = scope->hash;
	if (!name.is_optional)
		name.hash =
			hash_name(hash_mix(name.hash, ':'), name.text, strlen(name.text));
	name.next = first && name.kind != NAME_SCOPE ? (uint32_t)*first : 0;
	n = vec_push(&x->names);
	if (!n ||
	    (name.kind != NAME_SCOPE && map_put(&x->by_word, word, x->names.size - 1))) {
		x->is_out_of_memory = true;
		return 0;
	}
	*n = name;
	return x->names.size - 1;
}

/** What tells a struct from others of its name: its size, place and members. */
static uint64_t hash_shape(Dwarf_Die *type)
{
	uint64_t hash = hash_mix(1, dec_sym_type_bytes(type));
	const void *last = NULL;
	Dwarf_Die m;
	int line = 0;

	dwarf_decl_line(type, &line);
	hash = hash_mix(hash, line);
	if (dwarf_child(type, &m) != 0)
		return hash;
	do {
		const char *name = dwarf_diename(&m);

		if (!dec_sym_is_next(&m, &last))
			break;
		if (!dec_sym_is_member(&m))
			continue;
		hash = hash_mix(hash, name ? hash_word(name, strlen(name)) : 0);
		hash = hash_mix(hash, dec_sym_member_offset(&m));
	} while (dwarf_siblingof(&m, &m) == 0);
	return hash;
}

static void map_set(struct dec_sym_names *x, struct map *m, const void *key,
		    uint64_t value)
{
	x->is_out_of_memory |= map_put(m, (uintptr_t)key, value) != 0;
}

/** Struct @p die, which is whole, is called by name @p name (0: by none). */
static void add_type(struct dec_sym_names *x, Dwarf_Die *die, uint32_t name)
{
	uint64_t shape = hash_mix(x->names.data[name].hash, hash_shape(die));
	const uint64_t *known = name ? map_get(&x->by_shape, shape) : NULL;
	uint32_t i = known ? (uint32_t)*known : (uint32_t)x->types.size;
	struct named *t = known ? &x->types.data[i] : vec_push(&x->types);

	if (!t || (name && map_put(&x->by_shape, shape, i))) {
		x->is_out_of_memory = true;
		return;
	}
	if (!known) {
		*t = (struct named){ .die = *die, .name = name, .file = x->file };
		t->bytes = dec_sym_type_bytes(die);
		dwarf_decl_line(die, &t->line);
	}
	x->names.data[name].type = name ? i : 0;
	map_set(x, &x->of_die, die->addr, i);
}

static void read_struct(struct dec_sym_names *x, Dwarf_Die *die, const char *text,
			uint32_t scope, uint32_t *inner)
{
	Dwarf_Die whole = *die;
	uint32_t name = 0;

	if (text)
		name = add_name(x, (struct name){ .text = text,
						  .scope = scope,
						  .kind = NAME_TAG });
	*inner = name ? name : scope;
	if (!dec_sym_is_complete(&whole))
		map_set(x, &x->declared, die->addr, name);
	else if (whole.addr == die->addr)
		add_type(x, die, name);
	else // described in a type unit
		x->names.data[name].of = whole.addr;
}

/** The struct that an object of type @p die is, or is an array of, or points to. */
static bool struct_behind(Dwarf_Die *die, Dwarf_Die *ret)
{
	Dwarf_Die at = *die;

	for (int i = 0; i < 8; i++) {
		if (!dec_sym_type_of(&at, ret, NULL))
			return false;
		if (dec_sym_is_struct(dwarf_tag(ret)))
			return true;
		if (dwarf_tag(ret) != DW_TAG_array_type &&
		    dwarf_tag(ret) != DW_TAG_pointer_type)
			return false;
		at = *ret;
	}
	return false;
}

/** A typedef, or a member or variable whose type has no name of its own. */
static void read_named(struct dec_sym_names *x, Dwarf_Die *die, const char *text,
		       uint32_t scope)
{
	bool is_typedef = dwarf_tag(die) == DW_TAG_typedef;
	Dwarf_Die type;
	uint32_t name;

	if (!text || (is_typedef ? !dec_sym_type_of(die, &type, NULL) ||
					   !dec_sym_is_struct(dwarf_tag(&type)) :
				   !struct_behind(die, &type) || dwarf_diename(&type)))
		return;
	name = add_name(x,
			(struct name){ .text = text,
				       .scope = scope,
				       .kind = is_typedef ? NAME_TYPEDEF : NAME_MEMBER });
	x->names.data[name].of = type.addr;
}

static uint32_t read_namespace(struct dec_sym_names *x, Dwarf_Die *die, const char *text,
			       uint32_t scope)
{
	return add_name(
		x,
		(struct name){ .text = text ? text : "(anonymous namespace)",
			       .scope = scope,
			       .kind = NAME_SCOPE,
			       .is_optional = !text ||
					      dwarf_hasattr(die, DW_AT_export_symbols) });
}

static void read_children(struct dec_sym_names *x, Dwarf_Die *parent, uint32_t scope,
			  int depth, const void **last)
{
	Dwarf_Die die;

	if (depth > DEC_SYM_DEPTH || dwarf_child(parent, &die) != 0)
		return;
	do {
		uint32_t inner = scope;
		int tag = dwarf_tag(&die);
		const char *text;

		if (!dec_sym_is_next(&die, last))
			return;
		if (!dec_sym_is_struct(tag) && tag != DW_TAG_typedef &&
		    tag != DW_TAG_member && tag != DW_TAG_variable &&
		    tag != DW_TAG_namespace && tag != DW_TAG_subprogram &&
		    tag != DW_TAG_lexical_block)
			continue;
		text = text_name(dwarf_diename(&die));
		if (dec_sym_is_struct(tag))
			read_struct(x, &die, text, scope, &inner);
		else if (tag == DW_TAG_namespace)
			inner = read_namespace(x, &die, text, scope);
		else if (tag == DW_TAG_subprogram && text && dwarf_haschildren(&die))
			inner = add_name(x, (struct name){ .text = text,
							   .scope = scope,
							   .kind = NAME_SCOPE });
		else if (tag != DW_TAG_subprogram && tag != DW_TAG_lexical_block)
			read_named(x, &die, text, scope);
		if (tag != DW_TAG_typedef && tag != DW_TAG_member &&
		    tag != DW_TAG_variable)
			read_children(x, &die, inner, depth + 1, last);
	} while (!x->is_out_of_memory && dwarf_siblingof(&die, &die) == 0);
}

/** The type that the description at @p of is of; 0: not known. */
static uint32_t find_described(const struct dec_sym_names *x, const void *of)
{
	const uint64_t *type = map_get(&x->of_die, (uintptr_t)of);
	const uint64_t *declared = map_get(&x->declared, (uintptr_t)of), *first;
	const struct name *n = &x->names.data[declared ? *declared : 0];

	if (type || !declared || !*declared)
		return type ? *type : 0;
	// One that is whole, of the same name in the same scopes.
	first = map_get(&x->by_word, hash_word(n->text, strlen(n->text)));
	for (uint32_t i = first ? *first : 0; i; i = x->names.data[i].next)
		if (x->names.data[i].type && x->names.data[i].hash == n->hash)
			return x->names.data[i].type;
	return 0;
}

/** Nameless type @p type is called by name @p name: is it one that another compile unit described
 * before? @return which it is. */
static uint32_t call(struct dec_sym_names *x, uint32_t type, uint32_t name)
{
	struct named *t = &x->types.data[type];
	uint64_t shape = hash_mix(x->names.data[name].hash, hash_shape(&t->die));
	const uint64_t *known = map_get(&x->by_shape, shape);

	t->name = name;
	if (!known) {
		x->is_out_of_memory |= map_put(&x->by_shape, shape, type) != 0;
		return type;
	}
	map_set(x, &x->of_die, t->die.addr, *known);
	return *known;
}

static void join(struct dec_sym_names *x)
{
	static const enum name_kind order[] = { NAME_TAG, NAME_TYPEDEF, NAME_MEMBER };

	// A typedef may be of what a type unit describes.
	for (size_t k = 0; k < sizeof(order) / sizeof(*order); k++)
		for (size_t i = 1; i < x->names.size; i++) {
			struct name *n = &x->names.data[i];

			if (n->kind != order[k] || n->type || !n->of)
				continue;
			n->type = find_described(x, n->of);
			if (n->type && !x->types.data[n->type].name)
				n->type = call(x, n->type, i);
		}
}

struct dec_sym_names *dec_sym_unit_names(struct dec_sym_unit *u)
{
	struct dec_sym_names *x = u->names;

	dec_sym_unit_need_debug(u);
	if (x || !u->cus.size)
		return x;
	x = u->names = calloc(1, sizeof(*x));
	if (!x || !vec_push(&x->names) || !vec_push(&x->types))
		return NULL;
	for (size_t k = 0; k < u->cus.size && !x->is_out_of_memory; k++) {
		const void *last = NULL;

		x->file = text_name(dwarf_diename(&u->cus.data[k].die));
		read_children(x, &u->cus.data[k].die, 0, 0, &last);
	}
	join(x);
	return x;
}

void dec_sym_names_destroy(struct dec_sym_names *x)
{
	if (!x)
		return;
	for (size_t i = 1; i < x->types.size; i++)
		free((char *)x->types.data[i].own);
	vec_deinit(&x->names);
	vec_deinit(&x->types);
	map_deinit(&x->of_die);
	map_deinit(&x->declared);
	map_deinit(&x->by_word);
	map_deinit(&x->by_shape);
	free(x);
}

/* ---- asking by a name ---------------------------------------------------------------------- */

/** A name as somebody wrote it. */
struct query {
	struct {
		const char *text;
		size_t n;
	} word[SCOPES_MAX];
	size_t n_words;
	bool is_tag; ///< struct, union or class was before it
	int line;    ///< 0: any
};

static void split(const char *text, struct query *q)
{
	static const char *const keywords[] = { "struct ", "union ", "class " };
	int depth = 0;

	*q = (struct query){};
	for (size_t i = 0; i < sizeof(keywords) / sizeof(*keywords); i++)
		if (!q->is_tag && !strncmp(text, keywords[i], strlen(keywords[i]))) {
			text += strlen(keywords[i]);
			q->is_tag = true;
		}
	for (const char *from = text;; text++) {
		bool is_end = !*text;

		depth += (*text == '<' || *text == '(') - (*text == '>' || *text == ')');
		if (!is_end && (depth > 0 || text[0] != ':'))
			continue;
		if (text > from && q->n_words < SCOPES_MAX) {
			q->word[q->n_words].text = from;
			q->word[q->n_words++].n = text - from;
		}
		// "f::node:12", where f() has more than one
		if (!is_end && text[1] != ':')
			q->line = atoi(text + 1);
		if (is_end || text[1] != ':')
			return;
		from = ++text + 1;
	}
}

/** @return whether @p path ends in @p suffix (@p n bytes), from a slash on. */
static bool is_file(const char *path, const char *suffix, size_t n)
{
	size_t all = path ? strlen(path) : 0;

	return all >= n && !strncmp(path + all - n, suffix, n) &&
	       (all == n || path[all - n - 1] == '/');
}

enum { MATCH_WHOLE, MATCH_PART, MATCH_BARE_WHOLE, MATCH_BARE_PART, MATCH_NONE };

/** How well does name @p i fit @p q? */
static int match(const struct dec_sym_names *x, uint32_t i, const struct query *q)
{
	const struct named *t = &x->types.data[x->names.data[i].type];
	size_t left = q->n_words;
	bool is_bare = false;

	if (q->line && q->line != t->line)
		return MATCH_NONE;
	for (; left && i; i = x->names.data[i].scope) {
		const struct name *n = &x->names.data[i];
		const char *text = q->word[left - 1].text;
		size_t bytes = q->word[left - 1].n,
		       bare = bare_bytes(n->text, strlen(n->text));

		if (is_same(text, bytes, n->text)) {
			left--;
		} else if (bare == bytes && !strncmp(text, n->text, bare)) {
			left--;
			is_bare = true;
		} else if (!n->is_optional) {
			return MATCH_NONE;
		}
	}
	while (i && x->names.data[i].is_optional)
		i = x->names.data[i].scope;
	if (left == 1 && !i && q->n_words > 1 &&
	    is_file(t->file, q->word[0].text, q->word[0].n))
		left = 0;
	if (left)
		return MATCH_NONE;
	return (i ? MATCH_PART : MATCH_WHOLE) + (is_bare ? MATCH_BARE_WHOLE : 0);
}

typedef VEC(uint32_t) type_list;

/** List the types that fit @p q best, tags before typedefs. */
static int find_best(const struct dec_sym_names *x, const struct query *q, type_list *ret)
{
	const uint64_t *first;
	int best = INT32_MAX;

	ret->size = 0;
	if (!q->n_words)
		return 0;
	first = map_get(&x->by_word, hash_word(q->word[q->n_words - 1].text,
					       q->word[q->n_words - 1].n));
	for (uint32_t i = first ? (uint32_t)*first : 0; i; i = x->names.data[i].next) {
		const struct name *n = &x->names.data[i];
		bool is_there = false;
		int how;

		if (!n->type || (q->is_tag && n->kind != NAME_TAG))
			continue;
		how = match(x, i, q) * 4 + (int)n->kind;
		if (how >= MATCH_NONE * 4 || how > best)
			continue;
		if (how < best)
			ret->size = 0;
		best = how;
		for (size_t k = 0; k < ret->size && !is_there; k++)
			is_there = ret->data[k] == n->type;
		if (!is_there && vec_add(ret, n->type))
			return -1;
	}
	return 0;
}

/** Does @p text mean type @p type, and no other? */
static bool means(const struct dec_sym_names *x, const char *text, uint32_t type)
{
	type_list found = {};
	struct query q;
	bool ret;

	split(text, &q);
	ret = !find_best(x, &q, &found) && found.size == 1 && found.data[0] == type;
	vec_deinit(&found);
	return ret;
}

/** The shortest name that means type @p type of @p x alone; NULL: it has none. */
static const char *own_name(struct dec_sym_names *x, uint32_t type)
{
	struct named *t = &x->types.data[type];
	char text[NAME_BYTES] = "", longer[NAME_BYTES];
	const char *file = t->file;

	if (t->own || !t->name)
		return t->own;
	for (uint32_t i = t->name; i; i = x->names.data[i].scope) {
		snprintf(longer, sizeof(longer), "%s%s%.900s", x->names.data[i].text,
			 *text ? "::" : "", text);
		memcpy(text, longer, sizeof(text));
		if (means(x, text, type))
			break;
	}
	if (!means(x, text, type) && file) {
		// By the file's name, or as much of its path as there is.
		const char *slash = strrchr(file, '/');

		snprintf(longer, sizeof(longer), "%.200s::%.800s",
			 slash ? slash + 1 : file, text);
		if (!means(x, longer, type))
			snprintf(longer, sizeof(longer), "%.200s::%.800s", file, text);
		memcpy(text, longer, sizeof(text));
	}
	if (!means(x, text, type)) {
		snprintf(longer, sizeof(longer), "%.1000s:%d", text, t->line);
		memcpy(text, longer, sizeof(text));
	}
	t->own = strdup(text);
	return t->own;
}

const char *dec_sym_names_of(struct dec_sym_unit *u, Dwarf_Die *type)
{
	struct dec_sym_names *x = dec_sym_unit_names(u);
	uint32_t i = x ? find_described(x, type->addr) : 0;

	return i ? own_name(x, i) : NULL;
}

/** `cannot tell which`, with what could be written instead. */
static struct err *ambiguous(struct dec_sym_names *x, const char *name,
			     const type_list *found)
{
	_cleanup_free_ char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	if (!out)
		return &err_nomem;
	// Of a name those read last are found first.
	for (size_t i = 0; i < found->size && i < CANDIDATES_SHOWN; i++) {
		uint32_t type = found->data[found->size - 1 - i];
		struct named *t = &x->types.data[type];
		const char *file = dwarf_decl_file(&t->die);

		fprintf(out, "%s\"%s\" (%llu bytes, %s:%d)", i ? ", " : "",
			own_name(x, type), (unsigned long long)t->bytes,
			file ? file : "?", t->line);
	}
	if (found->size > CANDIDATES_SHOWN)
		fprintf(out, " and %zu more", found->size - CANDIDATES_SHOWN);
	if (fclose(out))
		return &err_nomem;
	return err_new(ERR_AMBIGUOUS, "'%s' may be %s", name, text);
}

struct err *dec_sym_names_find(struct dec_sym_unit *u, const char *name, Dwarf_Die *ret,
			       const char **own)
{
	struct dec_sym_names *x = dec_sym_unit_names(u);
	type_list found = {};
	struct err *err = NULL;
	struct query q;

	*own = NULL;
	if (!x)
		return NULL;
	split(name, &q);
	if (x->is_out_of_memory || find_best(x, &q, &found))
		err = &err_nomem;
	else if (found.size > 1)
		err = ambiguous(x, name, &found);
	if (!err && found.size) {
		*ret = x->types.data[found.data[0]].die;
		*own = own_name(x, found.data[0]);
		err = *own ? NULL : &err_nomem;
	}
	vec_deinit(&found);
	return err;
}

/** Is there more in struct @p type than fields without parts of their own? */
static bool is_composite(Dwarf_Die *type)
{
	const void *last = NULL;
	Dwarf_Die m, of;

	if (dwarf_child(type, &m) != 0)
		return false;
	do {
		int tag = dec_sym_is_member(&m) && dec_sym_type_of(&m, &of, NULL) ?
				  dwarf_tag(&of) :
				  0;

		if (tag == DW_TAG_array_type || dec_sym_is_struct(tag))
			return true;
	} while (dec_sym_is_next(&m, &last) && dwarf_siblingof(&m, &m) == 0);
	return false;
}

struct err *dec_symbols_composites(struct dec_symbols *s, size_t *n_told, uint64_t bytes,
				   struct err *(*fn)(void *ctx, uint64_t bytes,
						     const char *name),
				   void *ctx)
{
	struct err *err = NULL;

	for (; *n_told < s->n_units && !err; ++*n_told) {
		struct dec_sym_unit *u = s->units[*n_told];
		bool is_users = u == s->exe || !dec_sym_unit_is_systems(u);
		struct dec_sym_names *x = is_users ? dec_sym_unit_names(u) : NULL;

		if (x && x->is_out_of_memory)
			return &err_nomem;
		for (size_t i = 1; x && i < x->types.size && !err; i++)
			if (x->types.data[i].bytes &&
			    (!bytes || x->types.data[i].bytes == bytes) &&
			    is_composite(&x->types.data[i].die))
				err = fn(ctx, x->types.data[i].bytes,
					 bytes ? own_name(x, i) : NULL);
	}
	return err;
}

void dec_symbols_struct_names(struct dec_symbols *s,
			      void (*fn)(void *ctx, const char *name), void *ctx)
{
	for (size_t i = 0; i < s->n_units; i++) {
		const struct dec_sym_names *x = s->units[i]->names;

		for (size_t k = 1; x && k < x->names.size; k++)
			if (x->names.data[k].type && x->names.data[k].kind != NAME_MEMBER)
				fn(ctx, x->names.data[k].text);
	}
}
