// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * One pass over the events, in which decode's inputs.h keeps descriptors and offsets; then a
 * replay, which stops where files were opened: the path lies in the program's memory only.
 */

#include "faultlocate/inputs/sources.h"

#include <elf.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "decode/machine/inputs.h"
#include "decode/machine/log.h"
#include "decode/machine/machine.h"

#define KEPT_MAX ((uint64_t)1 << 28) // bytes of one source's contents
#define NAMED_MAX 512		     // files whose names are looked for
#define STRINGS_MAX (1u << 16)	     // arguments, variables
#define PAGE 4096

/* What is being read. */
struct reading {
	const struct capture *c;
	struct fl_sources *s;
	struct dec_inputs in;
	VEC(uint32_t) of_file; ///< source + 1 of each of in.files; 0: none yet
	uint32_t time;	       ///< source + 1
};

/* ---- sources and their bytes ------------------------------------------------------------- */

static struct err *add_source(struct fl_sources *s, enum fl_source_kind kind, char *name,
			      uint64_t opened, uint32_t *ret)
{
	struct fl_source *made = name ? vec_push(&s->all) : NULL;

	if (!made) {
		free(name);
		return &err_nomem;
	}
	made->kind = kind;
	made->name = name;
	made->opened = opened;
	*ret = s->all.size - 1;
	return NULL;
}

static struct err *keep(struct fl_source *f, uint64_t offset, const uint8_t *data,
			uint64_t size)
{
	uint64_t end = offset + size;

	if (end < offset || end > KEPT_MAX)
		return NULL;
	if (end > f->bytes.size) {
		if (vec_reserve(&f->bytes, end))
			return &err_nomem;
		memset(f->bytes.data + f->bytes.size, 0, end - f->bytes.size);
		f->bytes.size = end;
	}
	memcpy(f->bytes.data + offset, data, size);
	if (offset <= f->whole && end > f->whole)
		f->whole = end;
	return NULL;
}

static struct err *add_piece(struct fl_sources *s, uint32_t source, uint64_t seq,
			     uint64_t addr, uint64_t offset, const uint8_t *data,
			     uint64_t size)
{
	struct fl_source *f = &s->all.data[source];
	struct err *err = NULL;

	f->size = offset + size > f->size ? offset + size : f->size;
	err = keep(f, offset, data, size);
	while (size && !err) {
		uint32_t n = size < 1u << 30 ? size : 1u << 30;

		err = vec_add(&s->pieces,
			      (struct fl_piece){ seq, addr, offset, n, source });
		addr += n;
		offset += n;
		size -= n;
	}
	return err;
}

/* ---- the start ------------------------------------------------------------------------------- */

/* Read the text at @p addr into @p ret, a NUL behind it. */
static struct err *read_text(const struct capture *c, const struct cap_core *core,
			     uint64_t addr, char **ret, size_t *size)
{
	VEC(char) text = {};
	struct err *err = NULL;

	for (bool is_over = false; !is_over && !err; addr++) {
		char *slot = vec_push(&text);

		err = slot ? cap_core_read(c, core, addr, slot, 1) : &err_nomem;
		is_over = !err && !*slot;
	}
	if (err) {
		vec_deinit(&text);
		return err;
	}
	*ret = text.data;
	*size = text.size;
	return NULL;
}

/* Take the texts that the pointers from *@p at on lead to, up to the NULL. */
static struct err *take_texts(struct reading *r, const struct capture *c,
			      const struct cap_core *core, uint64_t *at, uint32_t source,
			      bool skips_first)
{
	uint64_t offset = 0, text;
	struct err *err = NULL;

	for (unsigned i = 0; i < STRINGS_MAX && !err; i++, *at += 8) {
		_cleanup_free_ char *s = NULL;
		size_t size = 0;

		err = cap_core_read(c, core, *at, &text, 8);
		if (err || !text)
			break;
		err = read_text(c, core, text, &s, &size);
		if (!err && !i && skips_first)
			r->s->argv0 = take_ptr(&s);
		if (err || (!i && skips_first))
			continue;
		err = add_piece(r->s, source, UINT64_MAX, text, offset, (uint8_t *)s,
				size);
		offset += size;
	}
	*at += 8;
	return err;
}

static int by_address(const void *a, const void *b)
{
	const struct fl_piece *x = a, *y = b;

	return (x->addr > y->addr) - (x->addr < y->addr);
}

static struct err *take_start(struct reading *r, const struct capture *c)
{
	struct cap_core *core;
	struct err *err = cap_core_open(c, &core);
	uint64_t at;
	uint32_t source;

	if (err)
		return err;
	at = core->regs.gpr[CAP_RSP] + 8;
	err = add_source(r->s, FL_SOURCE_ARGS, strdup("argv"), UINT64_MAX, &source);
	if (!err)
		err = add_source(r->s, FL_SOURCE_ENV, strdup("env"), UINT64_MAX, &source);
	// At an attach the stack is no longer as it was at exec: argv is not there.
	if (!err) {
		struct err *odd =
			take_texts(r, c, core, &at, FL_SOURCES_ARGS, true) ?:
				take_texts(r, c, core, &at, FL_SOURCES_ENV, false);

		if (odd && odd->code == ERR_NOMEM)
			err = odd;
		else
			err_destroy(odd);
	}
	cap_core_close(core);
	r->s->n_start = r->s->pieces.size;
	qsort(r->s->pieces.data, r->s->n_start, sizeof(*r->s->pieces.data), by_address);
	return err;
}

/* ---- events ------------------------------------------------------------------------------------ */

/* The source of descriptor @p fd's file. */
static struct err *source_of(struct reading *r, const struct inputs_open *o, int fd,
			     uint32_t *ret)
{
	const struct inputs_file *f = &r->in.files.data[o->file];
	struct err *err = NULL;
	char *name = NULL;

	while (r->of_file.size < r->in.files.size && !err)
		err = vec_add(&r->of_file, 0);
	if (err)
		return err;
	if (!r->of_file.data[o->file]) {
		bool is_stdin = !fd && o->seq == UINT64_MAX;
		bool is_file = !f->is_stream && o->seq != UINT64_MAX;

		if (is_stdin)
			name = strdup("stdin");
		else if (asprintf(&name, f->is_stream ? "stream (fd %d)" : "file (fd %d)",
				  fd) < 0)
			name = NULL;
		err = add_source(r->s, is_file ? FL_SOURCE_FILE : FL_SOURCE_STREAM, name,
				 o->seq, ret);
		if (!err)
			r->of_file.data[o->file] = *ret + 1;
	}
	*ret = r->of_file.data[o->file] - 1;
	return err;
}

/* What @p ev wrote to memory is bytes of @p source from @p offset on, @p left of them. */
static struct err *take_writes(struct reading *r, const struct cap_event *ev,
			       uint32_t source, uint64_t offset, uint64_t left)
{
	struct err *err = NULL;

	for (size_t i = 0; i < ev->n_writes && left && !err; i++) {
		const struct cap_write *w = &ev->writes[i];
		uint64_t n = w->size < left ? w->size : left;

		err = add_piece(r->s, source, ev->seq, w->addr, offset, w->data, n);
		offset += n;
		left -= n;
	}
	return err;
}

static struct err *take_read(struct reading *r, const struct cap_event *ev, int placed)
{
	const struct inputs_open *o = dec_inputs_open(&r->in, ev->regs.gpr[CAP_RDI]);
	uint64_t offset;
	uint32_t source;
	struct err *err;

	if (!o || ev->ret < 0)
		return NULL;
	offset = placed ? ev->regs.gpr[CAP_R10] : o->offset;
	err = source_of(r, o, ev->regs.gpr[CAP_RDI], &source);
	if (!err && !ev->ret)
		r->s->all.data[source].is_input_end |= offset >=
						       r->s->all.data[source].size;
	return err ?: take_writes(r, ev, source, offset, ev->ret);
}

/* @return whether the @p n bytes at @p head are a program's, or a library's. */
static bool is_elf(const uint8_t *head, size_t n)
{
	return n >= SELFMAG && !memcmp(head, ELFMAG, SELFMAG);
}

/* The bytes of a private mapping that @p ev made are in the capture's copy of the file. Programs'
 * own are none. @return none: *@p n is 0. */
static struct err *read_copy(const struct reading *r, const struct cap_event *ev,
			     uint8_t **ret, size_t *n)
{
	uint64_t most = ev->regs.gpr[CAP_RSI];
	_cleanup_close_ int fd = -1;
	uint8_t head[SELFMAG];
	ssize_t got;

	if (!ev->file || (ev->flags & CAP_SYS_IDENTITY) || most > KEPT_MAX)
		return NULL;
	// Without its copy it is nothing that can be told.
	err_destroy(capture_file_open(r->c, ev->file, &fd));
	if (fd < 0 || (pread(fd, head, sizeof(head), 0) == sizeof(head) &&
		       is_elf(head, sizeof(head))))
		return NULL;
	*ret = malloc(most + 1);
	if (!*ret)
		return &err_nomem;
	got = pread(fd, *ret, most, ev->file_offset);
	*n = got > 0 ? got : 0;
	return NULL;
}

/* A file that was mapped is read where it is looked at: all that was mapped counts as got then. */
static struct err *take_mapping(struct reading *r, const struct cap_event *ev)
{
	const struct inputs_open *o = dec_inputs_open(&r->in, ev->regs.gpr[CAP_R8]);
	uint64_t offset = ev->regs.gpr[CAP_R9];
	_cleanup_free_ uint8_t *copy = NULL;
	struct err *err = NULL;
	uint32_t source;
	size_t n = 0;

	if (!o || (ev->ret < 0 && ev->ret > -4096))
		return NULL;
	if (!ev->n_writes)
		err = read_copy(r, ev, &copy, &n);
	if (err || !(n || ev->n_writes))
		return err;
	err = source_of(r, o, ev->regs.gpr[CAP_R8], &source);
	if (err)
		return err;
	if (n)
		err = add_piece(r->s, source, ev->seq, ev->ret, offset, copy, n);
	else
		err = take_writes(r, ev, source, offset, UINT64_MAX);
	r->s->all.data[source].is_input_end |= r->s->all.data[source].size <
					       offset + ev->regs.gpr[CAP_RSI];
	return err;
}

/* Sources without descriptors: what comes is behind what came. */
static struct err *take_plain(struct reading *r, const struct cap_event *ev,
			      uint32_t *which, enum fl_source_kind kind, const char *name,
			      uint64_t most)
{
	uint32_t source;
	struct err *err = NULL;

	if (!*which) {
		err = add_source(r->s, kind, strdup(name), UINT64_MAX, &source);
		if (err)
			return err;
		*which = source + 1;
	}
	source = *which - 1;
	return take_writes(r, ev, source, r->s->all.data[source].size, most);
}

static struct err *take_event(void *ctx, const struct cap_event *ev)
{
	struct reading *r = ctx;
	struct err *err = NULL;

	if (ev->kind == CAP_EV_SYSCALL && !(ev->flags & CAP_SYS_UNLISTED)) {
		switch (ev->regs.gpr[CAP_RAX]) {
		case SYS_pread64:
		case SYS_preadv:
		case SYS_preadv2:
			err = take_read(r, ev, 1);
			break;
		case SYS_read:
		case SYS_readv:
		case SYS_recvfrom:
		case SYS_recvmsg:
			err = take_read(r, ev, 0);
			break;
		case SYS_mmap:
			err = take_mapping(r, ev);
			break;
		case SYS_getrandom:
			while (r->of_file.size <= r->in.random && !err)
				err = vec_add(&r->of_file, 0);
			if (!err && ev->ret > 0)
				err = take_plain(r, ev, &r->of_file.data[r->in.random],
						 FL_SOURCE_RANDOM, "random", ev->ret);
			break;
		case SYS_clock_gettime:
		case SYS_gettimeofday:
		case SYS_time:
			err = take_plain(r, ev, &r->time, FL_SOURCE_TIME, "time",
					 UINT64_MAX);
			break;
		}
	}
	return err ?: dec_inputs_learn(&r->in, ev);
}

/* ---- names ---------------------------------------------------------------------------------------- */

static int by_seq(const void *a, const void *b)
{
	const struct fl_opening *x = a, *y = b;

	return x->seq < y->seq ? -1 : x->seq > y->seq;
}

/* A file may have been read later than one that was opened behind it. */
static struct err *find_openings(struct fl_sources *s)
{
	struct err *err = NULL;

	for (size_t i = 0; i < s->all.size && !err; i++)
		if (s->all.data[i].kind == FL_SOURCE_FILE && s->openings.size < NAMED_MAX)
			err = vec_add(
				&s->openings,
				(struct fl_opening){ .seq = s->all.data[i].opened });
	if (!err)
		vec_sort(&s->openings, by_seq);
	return err;
}

void fl_sources_call(void *sources, uint64_t seq, uint64_t position, const uint64_t *call)
{
	struct fl_sources *s = sources;
	bool is_first = call[0] == SYS_open || call[0] == SYS_creat;

	for (size_t i = vec_rank(s->openings.size, k, s->openings.data[k].seq < seq);
	     i < s->openings.size && s->openings.data[i].seq == seq; i++) {
		s->openings.data[i].position = position;
		s->openings.data[i].path = call[is_first ? 3 : 4];
	}
}

static struct err *note_call(void *ctx, const struct dec_rec *rec, uint64_t time)
{
	if (rec->id == DEC_REC_SYSCALL)
		fl_sources_call(ctx, rec->value[14], time, rec->value);
	return NULL;
}

/** A log that is read for calls. */
struct calls {
	struct fl_sources *s;
	struct log_reader reader;
};

static struct err *feed(void *ctx, const uint8_t *log, size_t bytes)
{
	struct calls *c = ctx;
	const struct log_sink sink = { .ctx = c->s, .other = note_call };

	return dec_log_reader_feed(&c->reader, &sink, log, bytes);
}

/* Read the text at @p addr, page by page, into *@p ret; NULL: there is none. */
static struct err *read_path(struct dec_machine *m, uint64_t addr, char **ret)
{
	char path[4096];
	size_t n = 0, size;
	struct err *err = NULL;

	while (n < sizeof(path) && !memchr(path, 0, n) && !err) {
		size = PAGE - (addr + n) % PAGE;
		size = size < sizeof(path) - n ? size : sizeof(path) - n;
		err = dec_machine_read(m, addr + n, path + n, size);
		n += err ? 0 : size;
	}
	if (err && err->code == ERR_RANGE) {
		err_destroy(err);
		return NULL;
	}
	if (!err && memchr(path, 0, n)) {
		*ret = strdup(path);
		err = *ret ? NULL : &err_nomem;
	}
	return err;
}

/* Name what opening @p o opened. */
static struct err *name_one(struct fl_sources *s, struct dec_machine *m,
			    const struct fl_opening *o)
{
	struct dec_where at;
	char *path = NULL;
	struct err *err = o->path ? dec_machine_run(m, o->position, &at) : NULL;

	if (!err && o->path && at.at == DEC_AT_POSITION)
		err = read_path(m, o->path, &path);
	for (size_t i = 0; i < s->all.size && path; i++) {
		struct fl_source *f = &s->all.data[i];

		if (f->kind == FL_SOURCE_FILE && f->opened == o->seq) {
			free(f->name);
			f->name = take_ptr(&path);
		}
	}
	free(path);
	return err;
}

/* Files of one name are one source. */
static void merge(struct fl_sources *s)
{
	for (size_t i = 0; i < s->all.size; i++) {
		struct fl_source *f = &s->all.data[i];
		size_t first = 0;

		while (first < i && (s->all.data[first].kind != FL_SOURCE_FILE ||
				     strcmp(s->all.data[first].name, f->name)))
			first++;
		if (f->kind != FL_SOURCE_FILE || first == i)
			continue;
		for (size_t p = 0; p < s->pieces.size; p++)
			if (s->pieces.data[p].source == i)
				s->pieces.data[p].source = first;
		if (f->whole > s->all.data[first].whole) {
			struct fl_source other = s->all.data[first];

			s->all.data[first].bytes.data = f->bytes.data;
			s->all.data[first].bytes.size = f->bytes.size;
			s->all.data[first].bytes.capacity = f->bytes.capacity;
			s->all.data[first].whole = f->whole;
			f->bytes.data = other.bytes.data;
		}
		s->all.data[first].is_input_end |= f->is_input_end;
		if (f->size > s->all.data[first].size)
			s->all.data[first].size = f->size;
		f->size = f->whole = f->bytes.size = 0;
	}
}

struct err *fl_sources_begin(const struct capture *c, struct fl_sources *ret)
{
	struct reading r = { .c = c, .s = ret };
	struct err *err = dec_inputs_init(&r.in);

	if (!err)
		err = take_start(&r, c);
	if (!err)
		err = cap_events_readable(c, take_event, &r);
	dec_inputs_deinit(&r.in);
	vec_deinit(&r.of_file);
	return err ?: find_openings(ret);
}

struct err *fl_sources_name(struct fl_sources *s, struct dec_machine *m)
{
	struct dec_where at;
	struct err *err = s->openings.size ? dec_machine_seek(m, 0, &at) : NULL;

	for (size_t i = 0; i < s->openings.size && !err; i++)
		err = name_one(s, m, &s->openings.data[i]);
	if (!err)
		merge(s);
	return err;
}

struct err *fl_sources_read(const struct capture *c, struct fl_sources *ret)
{
	struct calls calls = { .s = ret };
	struct dec_machine *m = NULL;
	struct dec_where at;
	struct err *err = fl_sources_begin(c, ret);

	if (err || !ret->openings.size)
		return err ?: fl_sources_name(ret, NULL);
	err = dec_machine_create(c, NULL, &m);
	dec_log_reader_init(&calls.reader, DEC_LOG_JUMPS, 0);
	if (!err)
		err = dec_machine_checkpoint(m);
	if (!err)
		err = dec_machine_run_logged(m, DEC_LOG_JUMPS, feed, &calls,
					     UINT64_MAX >> 1, &at);
	if (!err)
		err = fl_sources_name(ret, m);
	dec_log_reader_deinit(&calls.reader);
	dec_machine_destroy(m);
	return err;
}

void fl_sources_deinit(struct fl_sources *s)
{
	for (size_t i = 0; i < s->all.size; i++) {
		free(s->all.data[i].name);
		vec_deinit(&s->all.data[i].bytes);
	}
	vec_deinit(&s->all);
	vec_deinit(&s->pieces);
	vec_deinit(&s->openings);
	free(s->argv0);
}

/* ---- asking --------------------------------------------------------------------------------------- */

const struct fl_piece *fl_sources_find(const struct fl_sources *s, uint64_t seq,
				       uint64_t addr)
{
	const struct fl_piece *p = s->pieces.data;
	bool is_start = seq == UINT64_MAX;
	size_t end = is_start ? s->n_start : s->pieces.size;
	size_t i = is_start ? vec_rank(end, k, p[k].addr + p[k].size <= addr) :
			      s->n_start + vec_rank(end - s->n_start, k,
						    p[s->n_start + k].seq < seq);

	for (; i < end && p[i].seq == seq; i++)
		if (addr - p[i].addr < p[i].size)
			return &p[i];
	return NULL;
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Is @p f what an argument names? */
static bool is_argument(const struct fl_source *f, const struct cap_info *info)
{
	for (char **a = info->argv ? info->argv + 1 : NULL; a && a[-1] && *a; a++) {
		size_t n = strlen(f->name), all = strlen(*a);

		// --file=NAME, -fNAME, @NAME
		if (all >= n && !strcmp(*a + all - n, f->name))
			return true;
	}
	return false;
}

/* A library's head is read, too; and of the system there are locales, time zones, tables. */
static bool is_own(const struct fl_source *f)
{
	static const char *const below[] = { "/usr/", "/etc/", "/lib", "/proc/",
					     "/sys/", "/dev/", "/run/" };

	for (size_t i = 0; i < sizeof(below) / sizeof(*below); i++)
		if (!strncmp(f->name, below[i], strlen(below[i])))
			return false;
	return !is_elf(f->bytes.data, f->bytes.size);
}

static struct err *no_choice(const struct fl_sources *s, const char *why)
{
	char list[1024] = "";
	size_t n = 0, shown = 0;

	for (size_t i = 0; i < s->all.size && n < sizeof(list) - 80 && shown < 12; i++)
		if (s->all.data[i].size && s->all.data[i].kind <= FL_SOURCE_ENV &&
		    !is_elf(s->all.data[i].bytes.data, s->all.data[i].bytes.size)) {
			n += snprintf(list + n, sizeof(list) - n, "%s%.60s",
				      n ? ", " : "", text_line(s->all.data[i].name));
			shown++;
		}
	return err_new(ERR_USAGE, "%s: name one with --input (read were: %s)", why, list);
}

/* @return how good a choice @p f is for somebody who named none. */
static int rank(const struct fl_source *f, const struct cap_info *info)
{
	if (f->kind == FL_SOURCE_FILE)
		return is_argument(f, info) ? 3 : is_own(f);
	return f->kind == FL_SOURCE_STREAM && !strcmp(f->name, "stdin") ? 2 : 0;
}

struct err *fl_sources_choose(const struct fl_sources *s, const struct cap_info *info,
			      const char *name, uint32_t *ret)
{
	unsigned n = 0;
	int best = 0;

	for (size_t i = 0; i < s->all.size; i++) {
		const struct fl_source *f = &s->all.data[i];
		int this = 0;

		if (!f->size)
			continue;
		if (!name)
			this = rank(f, info);
		else if (!strcmp(name, f->name))
			this = 2;
		else if (f->kind == FL_SOURCE_FILE &&
			 !strcmp(last_part(name), last_part(f->name)))
			this = 1;
		if (this > best)
			n = 0;
		if (this >= best && this) {
			best = this;
			n++;
			*ret = i;
		}
	}
	if (n == 1)
		return NULL;
	if (name && !n) {
		char why[512];

		snprintf(why, sizeof(why), "the capture did not read '%.300s'", name);
		return no_choice(s, why);
	}
	return no_choice(
		s, n ? "there are several inputs" :
		       "the program read no file of its user's, and nothing from stdin");
}
