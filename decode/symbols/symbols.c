// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The set of modules of a program: which file lies where, and the answer to "what is at
 * this rip". Answers are kept per rip, because analysis asks about the same few thousand
 * statements millions of times.
 */
#include <dwarf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#define LOG_ROOM "decode"
#include "base/noreturn.h"
#include "decode/symbols/symbols_int.h"
#include "decode/symbols/variable.h"

/* ---- life ------------------------------------------------------------------------- */

struct err *dec_symbols_create_empty(struct dec_symbols **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? NULL : &err_nomem;
}

void dec_symbols_destroy(struct dec_symbols *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n_units; i++)
		dec_sym_unit_close(s->units[i]);
	free(s->units);
	vec_deinit(&s->mappings);
	map_deinit(&s->place_by_rip);
	vec_deinit(&s->places);
	map_deinit(&s->alloc_by_rip);
	vec_deinit(&s->allocs);
	vec_deinit(&s->structs);
	vec_deinit(&s->globals);
	arena_deinit(&s->arena);
	free(s);
}

/** @return the mapping that holds @p addr, valid until the next one is added; or NULL. */
struct dec_sym_mapping *dec_sym_mapping_of(struct dec_symbols *s, uint64_t addr)
{
	for (size_t i = s->mappings.size; i > 0; i--) {
		struct dec_sym_mapping *m = &s->mappings.data[i - 1];

		if (addr >= m->start && addr < m->end)
			return m;
	}
	return NULL;
}

/** The program's entry point, to tell the executable from its interpreter; 0 unknown. */
static uint64_t entry_point(const struct cap_core *core)
{
	for (size_t i = 0; i < core->n_auxv; i++) {
		if (core->auxv[2 * i] == AT_ENTRY)
			return core->auxv[2 * i + 1];
	}
	return 0;
}

struct err *dec_symbols_add_core(struct dec_symbols *s, const struct cap_core *core)
{
	uint64_t entry = entry_point(core);

	for (size_t i = 0; i < core->n_mappings; i++) {
		const struct cap_mapping *m = &core->mappings[i];
		struct err *err;

		if (!m->file || !(m->prot & PROT_EXEC))
			continue;
		err = dec_symbols_add(s, m->file, m->start, m->end - m->start,
				      m->file_offset);
		if (err)
			return err;
		if (entry >= m->start && entry < m->end)
			s->exe = dec_sym_mapping_of(s, entry)->unit;
	}
	return NULL;
}

struct err *dec_symbols_create(const struct capture *c, struct dec_symbols **ret)
{
	struct dec_symbols *s = NULL;
	struct cap_core *core = NULL;
	struct err *err = dec_symbols_create_empty(&s);

	if (err)
		return err;
	s->capture = c;
	// The flight recorder knows no beginning: the code as it lay at the end.
	err = capture_info(c)->mode == CAP_MODE_FLIGHT ? cap_end_core_open(c, &core) :
							 cap_core_open(c, &core);
	if (err && err->code == ERR_NOT_FOUND) {
		// No start state (-e heap alone): modules come with dec_symbols_add().
		err_destroy(err);
		err = NULL;
	} else if (!err) {
		err = dec_symbols_add_core(s, core);
		s->n_start = s->mappings.size;
		cap_core_close(core);
	}
	if (err) {
		dec_symbols_destroy(s);
		return err;
	}
	*ret = s;
	return NULL;
}

/* ---- modules ----------------------------------------------------------------------- */

/** Take ownership of @p u. */
static struct err *own_unit(struct dec_symbols *s, struct dec_sym_unit *u)
{
	struct dec_sym_unit **units =
		realloc(s->units, (s->n_units + 1) * sizeof(*units));

	if (!units) {
		dec_sym_unit_close(u);
		return &err_nomem;
	}
	s->units = units;
	units[s->n_units++] = u;
	return NULL;
}

static struct err *unit_of_file(struct dec_symbols *s, uint32_t file,
				struct dec_sym_unit **ret)
{
	const struct cap_info *info = capture_info(s->capture);
	struct err *err;
	int fd = -1;

	for (size_t i = 0; i < s->n_units; i++) {
		if (s->units[i]->file == file) {
			*ret = s->units[i];
			return NULL;
		}
	}
	if (file == 0 || file > info->n_files)
		return err_new(ERR_RANGE, "file number %u is not in the capture", file);
	err = capture_file_open(s->capture, file, &fd);
	if (err && err->code != ERR_NOT_FOUND)
		return err;
	err_destroy(err); // it was not kept
	err = dec_sym_unit_open(fd, info->files[file - 1].path, ret);
	if (err)
		return err;
	(*ret)->file = file;
	return own_unit(s, *ret);
}

/** Where the module of mapping @p k lies, no other is any more. */
static void mark_gone(struct dec_symbols *s, size_t k)
{
	const struct dec_sym_mapping *m = &s->mappings.data[k];

	for (size_t i = 0; i < k; i++) {
		struct dec_sym_mapping *o = &s->mappings.data[i];

		o->is_gone |= (m->unit != o->unit || m->bias != o->bias) &&
			      o->lo < m->hi && m->lo < o->hi;
	}
}

static struct err *add_mapping(struct dec_symbols *s, const struct dec_sym_mapping *m)
{
	struct dec_sym_mapping made = *m;
	bool is_over = false;

	for (size_t i = 0; i < s->mappings.size; i++) {
		const struct dec_sym_mapping *o = &s->mappings.data[i];

		is_over |= o->start < m->end && m->start < o->end;
	}
	if (!dec_sym_unit_extent(m->unit, &made.lo, &made.hi) ||
	    made.lo + m->bias > m->start || made.hi + m->bias <= m->start) {
		made.lo = m->start; // of no segment
		made.hi = m->end;
	} else {
		made.lo += m->bias;
		made.hi += m->bias;
	}
	if (vec_add(&s->mappings, made))
		return &err_nomem;
	mark_gone(s, s->mappings.size - 1);
	if (is_over || s->places.size) {
		// Something else was here before (dlclose, then dlopen), or a rip was asked
		// about before its module was known.
		map_deinit(&s->place_by_rip);
		map_deinit(&s->alloc_by_rip);
	}
	return NULL;
}

static void cut_mappings(struct dec_symbols *s, size_t n)
{
	s->mappings.size = n;
	for (size_t i = 0; i < n; i++)
		s->mappings.data[i].is_gone = false;
	for (size_t i = 0; i < n; i++)
		mark_gone(s, i);
	map_deinit(&s->place_by_rip);
	map_deinit(&s->alloc_by_rip);
}

void dec_symbols_unmap(struct dec_symbols *s)
{
	cut_mappings(s, 0);
}

void dec_symbols_rewind(struct dec_symbols *s)
{
	if (s->mappings.size > s->n_start)
		cut_mappings(s, s->n_start);
}

uint64_t dec_symbols_address(const struct dec_symbols *s, uint32_t file, uint64_t offset)
{
	for (size_t i = s->mappings.size; i > 0; i--) {
		const struct dec_sym_mapping *m = &s->mappings.data[i - 1];

		if (m->unit->file == file && offset >= m->file_offset &&
		    offset - m->file_offset < m->end - m->start)
			return m->start + (offset - m->file_offset);
	}
	return 0;
}

struct err *dec_symbols_open_kept(struct dec_symbols *s)
{
	const struct cap_info *info = s->capture ? capture_info(s->capture) : NULL;
	struct err *err = NULL;

	for (uint32_t file = 1; info && file <= info->n_files && !err; file++) {
		_cleanup_close_ int fd = -1;
		struct dec_sym_unit *u;
		char magic[SELFMAG];

		// Most of the others are data: nothing need be said about these.
		err_destroy(capture_file_open(s->capture, file, &fd));
		if (fd >= 0 && pread(fd, magic, SELFMAG, 0) == SELFMAG &&
		    !memcmp(magic, ELFMAG, SELFMAG))
			err = unit_of_file(s, file, &u);
	}
	return err;
}

struct err *dec_symbols_add(struct dec_symbols *s, uint32_t file, uint64_t addr,
			    uint64_t size, uint64_t file_offset)
{
	struct dec_sym_mapping m = { .start = addr,
				     .end = addr + size,
				     .file_offset = file_offset };
	struct dec_sym_mapping *known = dec_sym_mapping_of(s, addr);
	uint64_t vaddr;
	struct err *err;

	if (size == 0 || m.end < m.start)
		return NULL;
	if (known && known->unit->file == file && known->start == addr &&
	    known->end == m.end && known->file_offset == file_offset)
		return NULL;
	err = unit_of_file(s, file, &m.unit);
	if (err)
		return err;
	// A mapping of no segment (data read through mmap) has no symbols, only a name.
	m.bias = dec_sym_unit_vaddr(m.unit, file_offset, &vaddr) ? addr - vaddr : 0;
	return add_mapping(s, &m);
}

struct err *dec_symbols_add_path(struct dec_symbols *s, const char *stored,
				 const char *path, uint64_t bias)
{
	struct dec_sym_mapping m = { .bias = bias };
	int fd = -1;
	struct err *err =
		file_open_input(AT_FDCWD, stored, stored, UINT64_MAX, &fd, NULL);

	if (err)
		log_warn("cannot read symbols of '%s': %s", path, err->message);
	err_destroy(err);
	err = dec_sym_unit_open(fd, path, &m.unit); // or what only has a name
	if (!err)
		err = own_unit(s, m.unit);
	if (err)
		return err;
	if (!dec_sym_unit_extent(m.unit, &m.start, &m.end))
		return err_new(ERR_FORMAT, "cannot load '%s': no ELF program", path);
	m.start += bias;
	m.end += bias;
	if (!s->exe)
		s->exe = m.unit;
	return add_mapping(s, &m);
}

static struct err *unit_of_path(struct dec_symbols *s, int fd, const char *path,
				struct dec_sym_unit **ret)
{
	struct err *err;
	int own = -1;

	for (size_t i = 0; i < s->n_units; i++) {
		*ret = s->units[i];
		if (!strcmp((*ret)->path, path))
			return NULL;
	}
	if (fd >= 0 && (own = fcntl(fd, F_DUPFD_CLOEXEC, 0)) < 0)
		return err_errno("cannot read symbols of '%s'", path);
	err = dec_sym_unit_open(own, path, ret);
	return err ? err : own_unit(s, *ret);
}

struct err *dec_symbols_add_file(struct dec_symbols *s, int fd, const char *path,
				 uint64_t addr, uint64_t size, uint64_t file_offset)
{
	struct dec_sym_mapping m = { .start = addr,
				     .end = addr + size,
				     .file_offset = file_offset };
	struct err *err = unit_of_path(s, fd, path, &m.unit);
	uint64_t vaddr;

	if (err)
		return err;
	m.bias = dec_sym_unit_vaddr(m.unit, file_offset, &vaddr) ? addr - vaddr : 0;
	if (!s->exe)
		s->exe = m.unit;
	return add_mapping(s, &m);
}

const char *dec_symbols_module(struct dec_symbols *s, uint64_t rip)
{
	const struct dec_sym_mapping *m = dec_sym_mapping_of(s, rip);

	return m ? m->unit->path : NULL;
}

bool dec_symbols_extent(struct dec_symbols *s, uint64_t addr, uint64_t *start,
			uint64_t *end)
{
	const struct dec_sym_mapping *m =
		vec_find(&s->mappings, e, !e->is_gone && addr >= e->lo && addr < e->hi);

	if (m)
		*start = m->lo, *end = m->hi;
	return m;
}

bool dec_symbols_has_debug(struct dec_symbols *s, uint64_t rip)
{
	const struct dec_sym_mapping *m = rip ? dec_sym_mapping_of(s, rip) : NULL;
	struct dec_sym_unit *u = m ? m->unit : rip ? NULL : s->exe;

	if (!u || (u != s->exe && dec_sym_unit_is_systems(u)))
		return false;
	dec_sym_unit_need_debug(u);
	return u->cus.size > 0;
}

bool dec_symbols_next_debug(struct dec_symbols *s, size_t *i, uint64_t *start,
			    uint64_t *end)
{
	while (*i < s->mappings.size) {
		const struct dec_sym_mapping *m = &s->mappings.data[(*i)++];

		*start = m->start, *end = m->end;
		if (dec_symbols_has_debug(s, m->start))
			return true;
	}
	return false;
}

/* The sequences of rows of @p cu, each from its first numbered row on. They come by address, a sequence's end before all
 * else that is there: a row then begins another one, or was the last of this one, of no bytes, and is of nobody. */
static struct err *lined_in_cu(const struct dec_sym_mapping *m, struct dec_sym_cu *cu,
			       struct err *(*fn)(void *ctx, uint64_t start, uint64_t end),
			       void *ctx)
{
	uint64_t bias = m->unit->debug_bias + m->bias, start = 0;
	struct err *err = NULL;
	Dwarf_Addr ended = 0;
	Dwarf_Lines *all;
	size_t n;

	if (dwarf_getsrclines(&cu->die, &all, &n))
		return NULL;
	for (size_t i = 0; i < n && !err; i++) {
		Dwarf_Line *row = dwarf_onesrcline(all, i);
		bool is_end = false;
		Dwarf_Addr addr = 0;
		int number = 0;

		dwarf_lineaddr(row, &addr);
		if (dwarf_lineendsequence(row, &is_end) == 0 && is_end) {
			if (start)
				err = fn(ctx, start, addr + bias);
			start = 0;
			ended = addr;
		} else if (!start && dwarf_lineno(row, &number) == 0 && number &&
			   (addr != ended || dwarf_haspc(&cu->die, addr) == 1)) {
			start = addr + bias;
		}
	}
	return err;
}

struct err *dec_symbols_lined(struct dec_symbols *s, size_t *n_told,
			      struct err *(*fn)(void *ctx, uint64_t start, uint64_t end),
			      void *ctx)
{
	struct err *err = NULL;

	for (; *n_told < s->mappings.size && !err; ++*n_told) {
		const struct dec_sym_mapping *m = &s->mappings.data[*n_told];

		if (!dec_symbols_has_debug(s, m->start))
			continue;
		for (size_t k = 0; k < m->unit->cus.size && !err; k++)
			err = lined_in_cu(m, &m->unit->cus.data[k], fn, ctx);
	}
	return err;
}

/* ---- places -------------------------------------------------------------------------- */

/** The nearest row before @p line with a line number, in the same sequence; or NULL. */
static Dwarf_Line *numbered_before(Dwarf_Die *cu, Dwarf_Line *line)
{
	Dwarf_Line *best = NULL;
	Dwarf_Lines *all;
	size_t n;

	if (dwarf_getsrclines(cu, &all, &n))
		return NULL;
	for (size_t i = 0; i < n; i++) {
		Dwarf_Line *row = dwarf_onesrcline(all, i);
		bool is_end = false;
		int number = 0;

		if (row == line)
			return best;
		if (dwarf_lineendsequence(row, &is_end) == 0 && is_end)
			best = NULL;
		else if (dwarf_lineno(row, &number) == 0 && number)
			best = row;
	}
	return NULL;
}

/** File and line of @p addr from the line table of @p cu. @return where its row begins; 0: none. */
static Dwarf_Addr place_line(struct dec_sym_unit *u, struct dec_sym_cu *cu, uint64_t addr,
			     struct dec_place *p)
{
	Dwarf_Line *line = dwarf_getsrc_die(&cu->die, addr - u->debug_bias);
	Dwarf_Addr begin = 0;
	Dwarf_Attribute attr;
	bool is_statement;
	int number = 0;

	if (line)
		dwarf_lineaddr(line, &begin);
	p->is_displaced = line && dwarf_linebeginstatement(line, &is_statement) == 0 &&
			  !is_statement;
	if (line && dwarf_lineno(line, &number) == 0 && number == 0) {
		// Line 0: made by the compiler; it belongs to the statement before.
		p->is_filled = p->is_displaced = true;
		line = numbered_before(&cu->die, line);
		if (line)
			dwarf_lineno(line, &number);
	}
	if (!line || !number)
		return begin;
	p->file = text_name(dwarf_linesrc(line, NULL, NULL));
	p->line = number;
	if (dwarf_attr(&cu->die, DW_AT_comp_dir, &attr))
		p->directory = text_name(dwarf_formstring(&attr));
	return begin;
}

/** @return the number that attribute @p name of @p die has, 0 when it has none. */
static uint64_t number_of(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attr;
	Dwarf_Word value;

	return dwarf_attr(die, name, &attr) && dwarf_formudata(&attr, &value) == 0 ?
		       value :
		       0;
}

/** The calls of the inlined functions among @p sc. Without memory there are none. */
static void place_inlined(struct dec_symbols *s, struct dec_sym_cu *cu,
			  struct dec_sym_scopes *sc, struct dec_place *p)
{
	struct dec_inlined *calls = arena_alloc(&s->arena, sc->n * sizeof(*calls));
	Dwarf_Files *files = NULL;
	size_t n_files = 0;

	if (!calls || dwarf_getsrcfiles(&cu->die, &files, &n_files))
		return;
	for (int i = sc->n; i > 0; i--) {
		int tag = dwarf_tag(&sc->die[i - 1]);
		uint64_t file;

		if (tag != DW_TAG_lexical_block && p->n_inlined &&
		    !calls[p->n_inlined - 1].function)
			calls[p->n_inlined - 1].function =
				text_name(dwarf_diename(&sc->die[i - 1]));
		if (tag != DW_TAG_inlined_subroutine)
			continue;
		file = number_of(&sc->die[i - 1], DW_AT_call_file);
		calls[p->n_inlined++] = (struct dec_inlined){
			.file = file < n_files ? text_name(dwarf_filesrc(files, file,
									 NULL, NULL)) :
						 NULL,
			.line = (int)number_of(&sc->die[i - 1], DW_AT_call_line),
		};
	}
	p->inlined = calls;
}

/** The innermost function, and whether it was inlined there. */
static void sp_place_function(struct dec_symbols *s, struct dec_sym_unit *u,
			      struct dec_sym_cu *cu, uint64_t addr, struct dec_place *p)
{
	struct dec_sym_scopes sc;

	dec_sym_unit_scopes(u, addr, &sc);
	for (int i = sc.n; i > 0; i--) {
		int tag = dwarf_tag(&sc.die[i - 1]);

		if (tag == DW_TAG_lexical_block)
			continue;
		p->function = text_name(dwarf_diename(&sc.die[i - 1]));
		p->is_inlined = tag == DW_TAG_inlined_subroutine;
		break;
	}
	if (p->is_inlined)
		place_inlined(s, cu, &sc, p);
	if (!p->outer && sc.n) {
		uint64_t entry;

		p->outer = text_name(dwarf_diename(&sc.die[0]));
		if (dec_sym_entry_pc(u, &sc.die[0], &entry) && addr >= entry)
			p->offset = addr - entry;
	}
}

/** Fill in of @p p what needs no debug information. @return the unit with the code, NULL without one
 * that can be read; @p addr: where it is there. */
static struct dec_sym_unit *find_bare(struct dec_symbols *s, uint64_t rip,
				      struct dec_place *p, uint64_t *addr)
{
	const struct dec_sym_mapping *m = dec_sym_mapping_of(s, rip);
	const struct dec_sym_symbol *sym;

	if (!m)
		return NULL;
	p->module = m->unit->path;
	if (!m->unit->elf)
		return NULL;
	*addr = rip - m->bias;
	sym = dec_sym_unit_symbol(m->unit, *addr);
	if (sym)
		p->function = p->outer = sym->name;
	p->offset = *addr - (sym ? sym->addr : 0);
	return m->unit;
}

static void find_place(struct dec_symbols *s, uint64_t rip, struct dec_place *p)
{
	uint64_t addr, row;
	struct dec_sym_unit *u = find_bare(s, rip, p, &addr);
	struct dec_sym_cu *cu = u ? dec_sym_unit_cu(u, addr) : NULL;

	if (!cu)
		return;
	p->function = NULL;
	p->offset = p->outer ? p->offset : 0;
	row = place_line(u, cu, addr, p);
	p->is_within = row && row + u->debug_bias != addr;
	sp_place_function(s, u, cu, addr, p);
	// What a function begins with has the line of its head.
	p->is_displaced |= p->outer && row + u->debug_bias == addr - p->offset;
	if (!p->function)
		p->function = p->outer;
	if (!p->outer)
		p->offset = addr;
}

void dec_symbols_place_bare(struct dec_symbols *s, uint64_t rip, struct dec_place *ret)
{
	uint64_t addr;

	*ret = (struct dec_place){ 0 };
	find_bare(s, rip, ret, &addr);
}

const char *dec_symbols_label(struct dec_symbols *s, uint64_t rip, uint64_t *offset)
{
	const struct dec_sym_mapping *m = dec_sym_mapping_of(s, rip);
	const struct dec_sym_symbol *l =
		m && m->unit->elf ? dec_sym_unit_label(m->unit, rip - m->bias) : NULL;

	if (l)
		*offset = rip - m->bias - l->addr;
	return l ? l->name : NULL;
}

bool dec_symbols_never_returns(struct dec_symbols *s, uint64_t rip)
{
	uint64_t offset = 0;
	const char *name = dec_symbols_label(s, rip, &offset);
	struct dec_place p;

	if (!name) {
		dec_symbols_place_bare(s, rip, &p);
		name = p.outer;
		offset = p.offset;
	}
	// exit@plt
	return name && !offset && noreturn_is(name, strcspn(name, "@"));
}

void dec_symbols_place(struct dec_symbols *s, uint64_t rip, struct dec_place *ret)
{
	const uint64_t *known;
	struct dec_place *slot;

	if (rip == MAP_EMPTY_KEY) {
		*ret = (struct dec_place){ 0 };
		return;
	}
	known = map_get(&s->place_by_rip, rip);
	if (known) {
		*ret = s->places.data[*known];
		return;
	}
	*ret = (struct dec_place){ 0 };
	find_place(s, rip, ret);
	slot = vec_push(&s->places);
	if (!slot)
		return;
	*slot = *ret;
	if (map_put(&s->place_by_rip, rip, s->places.size - 1))
		s->places.size--;
}

/* ---- allocations, kept ----------------------------------------------------------------- */

const char *dec_symbols_alloc_type(struct dec_symbols *s, uint64_t return_rip,
				   uint64_t size, bool *is_sure)
{
	const struct dec_sym_mapping *m;
	struct dec_sym_alloc a = { .size = size }, *slot;
	const uint64_t *head;

	*is_sure = false;
	if (return_rip == 0 || return_rip == MAP_EMPTY_KEY)
		return NULL;
	head = map_get(&s->alloc_by_rip, return_rip);
	for (uint64_t i = head ? *head : 0; i; i = s->allocs.data[i - 1].next) {
		const struct dec_sym_alloc *known = &s->allocs.data[i - 1];

		if (known->size == size) {
			*is_sure = known->is_sure;
			return known->name;
		}
	}
	m = dec_sym_mapping_of(s, return_rip - 1);
	if (m && !dec_sym_unit_is_systems(m->unit))
		a.name = dec_sym_alloc_type(m->unit, return_rip - m->bias, size,
					    &a.is_sure);
	a.next = head ? (uint32_t)*head : 0;
	*is_sure = a.is_sure;
	slot = vec_push(&s->allocs);
	if (!slot)
		return a.name;
	*slot = a;
	if (map_put(&s->alloc_by_rip, return_rip, s->allocs.size))
		s->allocs.size--;
	return a.name;
}

const char *dec_symbols_returned_type(struct dec_symbols *s, uint64_t return_rip,
				      uint64_t size)
{
	const struct dec_sym_mapping *m = dec_sym_mapping_of(s, return_rip - 1);

	return m && !dec_sym_unit_is_systems(m->unit) ?
		       dec_sym_returned_type(m->unit, return_rip - m->bias, size) :
		       NULL;
}
