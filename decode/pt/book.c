// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "decode/pt/book.h"

#include <libiberty/demangle.h>
#include <string.h>

#include "decode/symbols/symbols.h"

struct dec_pt_book {
	struct dec_pt_image *image;
	struct dec_symbols *symbols;
	const char *function, *exe;
	bool as_json;
	size_t n_applied; ///< mappings of the image that it, and symbols, know
	struct map by_ip; ///< -> index
	VEC(struct dec_pt_entry) entries;
	bool has_wanted;
	struct arena arena;
};

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* The program itself is mapped first. */
static const char *exe_of(const struct dec_pt_image *image)
{
	for (size_t i = 0; i < image->maps.size; i++)
		if (image->maps.data[i].path[0] == '/')
			return image->maps.data[i].path;
	return NULL;
}

/* Let symbols know what is applied of the image: later mappings come over earlier ones. */
static struct err *book_map(struct dec_pt_book *b)
{
	const struct dec_pt_image *im = b->image;
	struct err *err = NULL;

	if (b->n_applied > im->n_applied) {
		dec_symbols_unmap(b->symbols);
		b->n_applied = 0;
	}
	for (; !err && b->n_applied < im->n_applied; b->n_applied++) {
		const struct dec_pt_map *m = &im->maps.data[b->n_applied];

		err = dec_symbols_add_file(b->symbols, m->path[0] == '/' ? m->fd : -1,
					   m->path, m->addr, m->size, m->file_offset);
	}
	return err;
}

struct err *dec_pt_book_create(struct dec_pt_image *image, const char *function,
			       bool as_json, struct dec_pt_book **ret)
{
	struct dec_pt_book *b = calloc(1, sizeof(*b));
	struct err *err;

	if (!b)
		return &err_nomem;
	b->image = image;
	b->function = function;
	b->as_json = as_json;
	b->exe = exe_of(image);
	err = dec_symbols_create_empty(&b->symbols);
	if (!err)
		err = book_map(b);
	if (err)
		dec_pt_book_destroy(b);
	else
		*ret = b;
	return err;
}

void dec_pt_book_destroy(struct dec_pt_book *b)
{
	if (!b)
		return;
	dec_symbols_destroy(b->symbols);
	map_deinit(&b->by_ip);
	vec_deinit(&b->entries);
	arena_deinit(&b->arena);
	free(b);
}

/* Something else lies there now: forget it all. */
static struct err *book_renew(struct dec_pt_book *b)
{
	bool hides = b->n_applied > b->image->n_applied;

	for (size_t i = b->n_applied; i < b->image->n_applied; i++)
		hides |= b->image->maps.data[i].hides;
	if (hides) {
		map_deinit(&b->by_ip);
		b->entries.size = 0;
	}
	return book_map(b);
}

/* ---- texts --------------------------------------------------------------------------------- */

/* A text of the book's, made of what is written to the stream. */
struct text {
	FILE *f;
	char *buf;
	size_t n;
};

static bool text_begin(struct text *t)
{
	*t = (struct text){};
	t->f = open_memstream(&t->buf, &t->n);
	return t->f;
}

static const char *text_end(struct dec_pt_book *b, struct text *t)
{
	const char *s = NULL;

	if (fclose(t->f) == 0)
		s = arena_strndup(&b->arena, t->buf, t->n);
	free(t->buf);
	return s;
}

/* "libc.so.6" is short enough as "libc". */
static size_t module_length(const char *name)
{
	const char *so = strstr(name, ".so");

	return so && so > name ? (size_t)(so - name) : strlen(name);
}

static const char *place_text(struct dec_pt_book *b, const struct dec_pt_entry *e)
{
	struct text t;

	if (!text_begin(&t))
		return NULL;
	if (e->symbol)
		fputs(e->name, t.f);
	else
		fprintf(t.f, "%#lx", e->ip);
	if (e->symbol && e->offset)
		fprintf(t.f, "+%#lx", e->offset);
	if (e->module && (!b->exe || strcmp(e->module, b->exe) != 0 || !e->symbol))
		fprintf(t.f, " [%.*s]", (int)module_length(base_name(e->module)),
			base_name(e->module));
	return text_end(b, &t);
}

static const char *where_text(struct dec_pt_book *b, const struct dec_pt_entry *e)
{
	struct text t;

	if (!e->line)
		return e->place;
	if (!text_begin(&t))
		return NULL;
	fprintf(t.f, "%s (%s:%d%s%s)", e->place, base_name(e->file), e->line,
		e->inlined ? " in " : "", e->inlined ?: "");
	return text_end(b, &t);
}

static const char *line_text(struct dec_pt_book *b, const struct dec_pt_entry *e)
{
	struct text t;

	if (!text_begin(&t))
		return NULL;
	if (b->as_json)
		fprintf(t.f, "%s}\n", e->json);
	else if (e->line)
		fprintf(t.f, "%016lx  %-35s %-39s %s:%d\n", e->ip, e->place, e->insn,
			base_name(e->file), e->line);
	else
		fprintf(t.f, "%016lx  %-35s %s\n", e->ip, e->place, e->insn);
	return text_end(b, &t);
}

void dec_pt_book_json(FILE *f, const char *key, const char *s)
{
	if (!s)
		return;
	fprintf(f, ",\"%s\":\"", key);
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			fprintf(f, "\\%c", *s);
		else if ((unsigned char)*s < ' ')
			fprintf(f, "\\u%04x", *s);
		else
			fputc(*s, f);
	}
	fputc('"', f);
}

static const char *json_text(struct dec_pt_book *b, const struct dec_pt_entry *e)
{
	struct text t;

	if (!text_begin(&t))
		return NULL;
	fprintf(t.f, "\"ip\":\"%#lx\"", e->ip);
	dec_pt_book_json(t.f, "insn", e->is_known ? e->insn : NULL);
	dec_pt_book_json(t.f, "symbol", e->symbol);
	if (e->symbol)
		fprintf(t.f, ",\"offset\":%lu", e->offset);
	if (e->symbol && strcmp(e->symbol, e->name) != 0)
		dec_pt_book_json(t.f, "name", e->name);
	dec_pt_book_json(t.f, "inlined", e->inlined);
	dec_pt_book_json(t.f, "module", e->module);
	dec_pt_book_json(t.f, "file", e->file);
	if (e->line)
		fprintf(t.f, ",\"line\":%d", e->line);
	return text_end(b, &t);
}

/* ---- entries ------------------------------------------------------------------------------- */

static bool is_wanted(const struct dec_pt_book *b, const struct dec_place *p,
		      const char *name)
{
	return !b->function || (name && !strcmp(name, b->function)) ||
	       (p->function && !strcmp(p->function, b->function)) ||
	       (p->outer && !strcmp(p->outer, b->function));
}

bool dec_pt_book_has_wanted(const struct dec_pt_book *b)
{
	return b->has_wanted;
}

/* The name that a linker has for a C++ or Rust function, as people write it; what a version or the
 * PLT has put behind it stays. */
static const char *name_of(struct dec_pt_book *b, const char *symbol)
{
	size_t n = strcspn(symbol, "@");
	_cleanup_free_ char *bare = NULL, *plain = NULL, *whole = NULL;
	int length;

	if (symbol[0] != '_' || (symbol[1] != 'Z' && symbol[1] != 'R'))
		return symbol;
	bare = strndup(symbol, n);
	if (!bare)
		return NULL;
	plain = cplus_demangle_v3(bare, DMGL_PARAMS | DMGL_ANSI) ?:
			rust_demangle(bare, DMGL_PARAMS);
	if (!plain)
		return symbol;
	length = asprintf(&whole, "%s%s", plain, symbol + n);
	if (length < 0)
		return NULL;
	return arena_strndup(&b->arena, whole, length);
}

static bool is_stub(const char *symbol)
{
	size_t n = strlen(symbol);

	return n > 4 && !strcmp(symbol + n - 4, "@plt");
}

static void look_up(const struct dec_pt_book *b, uint64_t ip, struct dec_place *p)
{
	uint64_t offset;
	const char *label = dec_symbols_label(b->symbols, ip, &offset);

	dec_symbols_place(b->symbols, ip, p);
	if (label) {
		p->outer = label;
		p->offset = offset;
	}
}

/* Where a direct branch leads, as objdump shows it. */
static void target_text(struct dec_pt_book *b, const struct dec_insn *insn, char *buf,
			size_t size)
{
	struct dec_place p;
	const char *name;

	if (!insn->target)
		return;
	look_up(b, insn->target, &p);
	name = p.outer ? name_of(b, p.outer) : NULL;
	if (name && p.offset)
		snprintf(buf, size, " <%s+%#lx>", name, p.offset);
	else if (name)
		snprintf(buf, size, " <%s>", name);
}

static struct err *entry_code(struct dec_pt_book *b, struct dec_pt_entry *e)
{
	struct dec_insn insn;
	char text[512] = "(no code)";
	size_t n;
	struct err *err = dec_pt_image_insn(b->image, b->n_applied, e->ip, &insn);

	e->is_known = !err;
	e->flow = DEC_FLOW_TRAP;
	if (!err) {
		e->flow = insn.flow;
		e->behind = dec_pt_image_behind(&insn);
		e->after = insn.rip + insn.len;
		n = dec_insn_text(&insn, text, sizeof(text));
		target_text(b, &insn, text + n, sizeof(text) - n);
	}
	err_destroy(err);
	e->insn = arena_strndup(&b->arena, text, strlen(text));
	return e->insn ? NULL : &err_nomem;
}

static struct err *entry_fill(struct dec_pt_book *b, struct dec_pt_entry *e)
{
	struct err *err = entry_code(b, e);
	struct dec_place p;

	if (err)
		return err;
	look_up(b, e->ip, &p);
	e->symbol = p.outer ?: p.function;
	e->name = e->symbol ? name_of(b, e->symbol) : NULL;
	if (e->symbol && !e->name)
		return &err_nomem;
	e->inlined = p.is_inlined ? p.function : NULL;
	e->offset = p.offset;
	e->module = p.module;
	e->file = p.file;
	e->line = p.file ? p.line : 0;
	// A stub is on the way to a function.
	e->is_entry = e->symbol && !e->offset && !is_stub(e->symbol);
	e->is_wanted = is_wanted(b, &p, e->name);
	b->has_wanted |= e->is_wanted;
	e->place = place_text(b, e);
	e->where = e->place ? where_text(b, e) : NULL;
	e->json = e->where && b->as_json ? json_text(b, e) : NULL;
	if (!e->where || (b->as_json && !e->json))
		return &err_nomem;
	e->line_text = line_text(b, e);
	e->line_bytes = e->line_text ? strlen(e->line_text) : 0;
	return e->line_text ? NULL : &err_nomem;
}

struct err *dec_pt_book_find(struct dec_pt_book *b, uint64_t ip,
			     struct dec_pt_entry **ret)
{
	uint64_t *known;
	struct err *err;

	err = b->n_applied != b->image->n_applied ? book_renew(b) : NULL;
	if (err)
		return err;
	known = map_get(&b->by_ip, ip);
	if (known) {
		*ret = &b->entries.data[*known];
		return NULL;
	}
	*ret = vec_push(&b->entries);
	if (!*ret)
		return &err_nomem;
	(*ret)->ip = ip;
	err = entry_fill(b, *ret);
	if (!err && ip != MAP_EMPTY_KEY && map_put(&b->by_ip, ip, b->entries.size - 1))
		err = &err_nomem;
	if (err)
		b->entries.size--;
	return err;
}

struct err *dec_pt_book_next(struct dec_pt_book *b, struct dec_pt_entry *e,
			     struct dec_pt_entry **ret)
{
	size_t index = e - b->entries.data;
	struct err *err;

	if (e->next) {
		*ret = &b->entries.data[e->next - 1];
		return NULL;
	}
	err = dec_pt_book_find(b, e->behind, ret);
	if (!err)
		b->entries.data[index].next = *ret - b->entries.data + 1;
	return err;
}
