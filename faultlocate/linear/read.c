// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Histories in files: lines of ours, EDN, and lines of old Jepsen logs. Which it is, the first
 * character tells that is no space.
 */
#include <ctype.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/hash.h"
#include "faultlocate/linear/linear.h"

#define WORDS 16
#define OPEN SIZE_MAX ///< none is
#define FAILED      \
	(SIZE_MAX - \
	 1) ///< it will tell that it did not happen, which is known, and is gone
#define REST_AFTER (1u << 19) ///< operations
#define PASSED (16u << 20)    ///< bytes of a file, until they are given back

/* A word: a number, a keyword, a text in quotes (without them). */
struct word {
	const char *at;
	size_t n;
	bool is_quoted;
};

struct entry;

/* A process's operation that is under way. */
struct place {
	int64_t process;
	uint64_t *open; ///< of the reader's
	bool is_sought;
};

typedef VEC(struct place) places;

struct reader {
	const char *path, *at, *end;
	const struct fl_lin_object *o;
	struct fl_lin_history *h;
	struct map
		open; ///< hash of a process's name to its operation's index; OPEN: none
	uint64_t line;
	size_t rest_at;	    ///< how many operations there are at the next rest
	const char *passed; ///< of a file that is mapped: what was given back; NULL
	struct err *(*take_one)(struct reader *, const char *line,
				const char *end); ///< NULL: it is EDN
	/** It is looked ahead for the ends of these operations, of which so many are left; NULL: it is read. */
	places *sought;
	size_t n_sought;
};

/* Of a register a million operations are less work for its monitor than for a search that is kept open. */
static size_t rest_after(const struct reader *r)
{
	return r->h->rest_after		  ? r->h->rest_after :
	       r->o->kind == LIN_REGISTER ? 2 * REST_AFTER :
					    REST_AFTER;
}

enum event { CALL, RETURN, FAIL, LOST };

/* What one line or map says. */
struct entry {
	struct word process, operation;
	enum event event;
	struct word values[WORDS]; ///< the key first, if there is one
	size_t n;
	bool is_vector, is_edn;
};

static struct err *bad(const struct reader *r, const char *what, const struct word *w)
{
	return err_new(ERR_FORMAT, "%s:%llu: %s%s%.*s%s", r->path,
		       (unsigned long long)r->line, what, w ? " '" : "",
		       w ? (int)(w->n < 80 ? w->n : 80) : 0, w ? w->at : "",
		       w ? "'" : "");
}

static bool is_word(const struct word *w, const char *text)
{
	return strlen(text) == w->n && !memcmp(w->at, text, w->n);
}

static int64_t value_of(struct reader *r, const struct word *w)
{
	return w->is_quoted ? fl_lin_value_text(&r->h->values, w->at, w->n) :
			      fl_lin_value(&r->h->values, w->at, w->n);
}

/* ---- entries become operations ----------------------------------------------------------------- */

/* Does it give a value that its caller did not know? */
static bool gives_value(int does)
{
	return does == LIN_READ || does == LIN_GET || does == LIN_POP ||
	       does == LIN_PEEK || does >= LIN_STEP;
}

static uint64_t hash_of(const struct word *process)
{
	return hash_bytes(HASH_START, process->at, process->n);
}

static uint64_t *open_of(struct reader *r, const struct word *process)
{
	uint64_t hash = hash_of(process);
	uint64_t *at = map_get(&r->open, hash);

	if (at || map_put(&r->open, hash, OPEN))
		return at;
	return map_get(&r->open, hash);
}

static struct err *take_call(struct reader *r, const struct entry *e, uint64_t *open)
{
	const char *slash = memchr(e->operation.at, '/', e->operation.n);
	struct word name = e->operation;
	char known[256];
	struct fl_lin_op *op;
	unsigned n_args;
	size_t first;
	int does;

	if (slash) {
		name.at = slash + 1;
		name.n -= name.at - e->operation.at;
	}
	does = fl_lin_object_operation(r->o, name.at, name.n);
	if (does < 0) {
		fl_lin_object_operations(r->o, known, sizeof(known));
		return err_new(ERR_FORMAT,
			       "%s:%llu: a %s has no operation '%.*s' (it has: %s)",
			       r->path, (unsigned long long)r->line,
			       fl_lin_object_name(r->o), (int)(name.n < 80 ? name.n : 80),
			       name.at, known);
	}
	if (*open != OPEN)
		return bad(r,
			   "another call, and the last one has not returned, of process",
			   &e->process);
	n_args = fl_lin_does_args(r->o, does);
	// Jepsen's independent keys: [key value].
	first = e->is_vector && e->n > n_args + gives_value(does) ? 1 : 0;
	if (e->n < first + n_args)
		return bad(r, "arguments are missing of", &e->operation);
	*open = r->h->ops.size;
	op = vec_push(&r->h->ops);
	if (!op)
		return &err_nomem;
	*op = (struct fl_lin_op){ .does = does,
				  .process = value_of(r, &e->process),
				  .ret = LIN_NONE,
				  .call = r->h->moments++,
				  .end = LIN_PENDING,
				  .is_open = true,
				  .call_at = r->line };
	for (unsigned i = 0; i < 3; i++)
		op->arg[i] = i < n_args ? value_of(r, &e->values[first + i]) : LIN_NONE;
	if (first)
		op->instance = value_of(r, &e->values[0]);
	else if (slash)
		op->instance = fl_lin_value_text(&r->h->values, e->operation.at,
						 slash - e->operation.at);
	return NULL;
}

/* What the end of an operation tells. */
static int64_t result_of(struct reader *r, const struct entry *e,
			 const struct fl_lin_op *op)
{
	const struct word *last = e->n ? &e->values[e->n - 1] : NULL;
	bool is_bool = last && !last->is_quoted &&
		       (is_word(last, "true") || is_word(last, "false"));

	if (!e->is_edn)
		return e->n ? value_of(r, &e->values[0]) : LIN_NONE;
	if (op->does == LIN_CAS && !is_bool)
		return 1;
	return last && (is_bool || gives_value(op->does)) ? value_of(r, last) : LIN_NONE;
}

static struct err *take_end(struct reader *r, const struct entry *e, uint64_t *open)
{
	struct fl_lin_op *op;

	if (*open == OPEN || (*open == FAILED && e->event != FAIL))
		return bad(r, "a return without a call, of process", &e->process);
	op = *open == FAILED ? NULL : &r->h->ops.data[*open];
	*open = OPEN;
	if (!op)
		return NULL;
	op->end_at = r->line;
	op->is_open = false;
	if (e->event == RETURN) {
		op->end = op->is_wrong ? LIN_LATER : r->h->moments++;
		op->ret = result_of(r, e, op);
	} else if (e->event == FAIL) {
		op->does = -1; // it did not happen
	}
	return NULL;
}

/* Give back what was read of the file up to @p at. */
static void pass(const char **passed, const char *at)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	if (*passed && at - *passed > PASSED) {
		size_t n = (at - *passed) & ~(page - 1);

		madvise((void *)*passed, n, MADV_DONTNEED);
		*passed += n;
	}
}

/* ---- what matters no more ---------------------------------------------------------------------- */

static int by_process(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return x->process < y->process ? -1 : x->process > y->process;
}

/* Where r->open says which operations are under way. */
static struct err *find_open(const struct reader *r, places *ret)
{
	struct map_slot *slots = r->open.slots;

	for (size_t i = 0; i < r->open.capacity; i++)
		if (slots[i].key != MAP_EMPTY_KEY && slots[i].value < FAILED &&
		    vec_add(ret, (struct place){ r->h->ops.data[slots[i].value].process,
						 &slots[i].value, false }))
			return &err_nomem;
	vec_sort(ret, by_process);
	return NULL;
}

static struct fl_lin_op *op_at(const struct reader *r, const struct place *p)
{
	return *p->open < FAILED ? &r->h->ops.data[*p->open] : NULL;
}

/* @return the place of @p process, or of one that would come behind it. */
static struct place *place_of(places *all, int64_t process)
{
	return all->data + vec_rank(all->size, i, all->data[i].process < process);
}

/* Those that take what @p e puts in. */
static void note_again(struct reader *r, const struct entry *e)
{
	for (size_t k = 0; k < e->n; k++) {
		int64_t value = value_of(r, &e->values[k]);

		for (size_t i = 0; i < r->sought->size; i++) {
			struct place *p = &r->sought->data[i];

			if (p->is_sought && op_at(r, p)->ret == value)
				op_at(r, p)->is_again = true;
		}
	}
}

static struct err *take_ahead(struct reader *r, const struct entry *e)
{
	int64_t process = value_of(r, &e->process);
	struct place *p = place_of(r->sought, process);
	struct fl_lin_op *op;

	pass(&r->passed, r->at);
	if (e->event == CALL)
		note_again(r, e);
	if (p == r->sought->data + r->sought->size || p->process != process ||
	    !p->is_sought)
		return NULL;
	p->is_sought = false;
	r->n_sought--;
	op = op_at(r, p);
	if (e->event == RETURN) {
		op->end = LIN_LATER;
		op->ret = result_of(r, e, op);
	} else if (e->event == FAIL) {
		op->does = -1;
		*p->open = FAILED;
	}
	return NULL;
}

static struct err *take_all(struct reader *r);

/* Look ahead for the ends of those operations that are sought. A mistake that is met is told when it is read. */
static void look_ahead(const struct reader *r, places *sought)
{
	struct reader ahead = *r;

	ahead.sought = sought;
	for (size_t i = 0; i < sought->size; i++)
		ahead.n_sought += sought->data[i].is_sought;
	if (ahead.n_sought)
		err_destroy(take_all(&ahead));
}

/* Find out how operations end that are under way; and, as only then it is known what they take, whether that is
 * put in again meanwhile. */
static void find_ends(const struct reader *r, places *open)
{
	for (size_t i = 0; i < open->size; i++)
		open->data[i].is_sought = !op_at(r, &open->data[i])->is_known;
	look_ahead(r, open);
	for (size_t i = 0; i < open->size; i++) {
		struct place *p = &open->data[i];
		struct fl_lin_op *op = op_at(r, p);

		p->is_sought = op && !op->is_known && op->end == LIN_LATER &&
			       op->does == LIN_POP;
		if (op)
			op->is_known = true; // or it never ends
	}
	look_ahead(r, open);
}

/* Take out what matters no more. Those under way stay, at other places. */
static struct err *take_out(struct reader *r)
{
	struct fl_lin_history *h = r->h;
	places open = {};
	struct err *err = find_open(r, &open);

	if (!err) {
		find_ends(r, &open);
		fl_lin_history_drop(h);
		err = h->rest(h, h->rest_of);
	}
	for (size_t i = 0; i < h->ops.size; i++)
		if (h->ops.data[i].is_open)
			*place_of(&open, h->ops.data[i].process)->open = i;
	vec_deinit(&open);
	// What is left is asked about once more: not too often.
	r->rest_at = h->ops.size * 2 > rest_after(r) ? h->ops.size * 2 : rest_after(r);
	return err;
}

static struct err *rest(struct reader *r)
{
	pass(&r->passed, r->at);
	return r->h->rest && r->h->ops.size >= r->rest_at && !r->open.has_empty_key ?
		       take_out(r) :
		       NULL;
}

/* Is there a 0 among the @p size bytes at @p text? */
static bool has_zero(const char *text, size_t size, bool is_mapped)
{
	const char *passed = is_mapped ? text : NULL;

	for (size_t at = 0; at < size; at += PASSED) {
		size_t n = size - at < PASSED ? size - at : PASSED;

		if (memchr(text + at, 0, n))
			return true;
		pass(&passed, text + at + n);
	}
	return false;
}

static struct err *take(struct reader *r, const struct entry *e)
{
	uint64_t *open;

	if (r->sought)
		return take_ahead(r, e);
	open = open_of(r, &e->process);
	if (!open)
		return &err_nomem;
	return e->event == CALL ? take_call(r, e, open) : take_end(r, e, open) ?: rest(r);
}

/* ---- lines --------------------------------------------------------------------------------------- */

/* @return whether there is another word before @p end. */
static bool next_word(const char **at, const char *end, struct word *ret)
{
	const char *p = *at;

	while (p < end &&
	       (isspace((unsigned char)*p) || *p == '[' || *p == ']' || *p == ','))
		p++;
	if (p == end || *p == '#')
		return false;
	*ret = (struct word){ .at = p };
	if (*p == '"') {
		ret->is_quoted = true;
		ret->at = ++p;
		while (p < end && *p != '"')
			p += *p == '\\' && p + 1 < end ? 2 : 1;
		ret->n = p - ret->at;
		*at = p < end ? p + 1 : end;
		return true;
	}
	while (p < end && !isspace((unsigned char)*p) && *p != ']' && *p != ',')
		p++;
	ret->n = p - ret->at;
	*at = p;
	return true;
}

static struct err *take_line(struct reader *r, const char *at, const char *end)
{
	struct entry e = {};
	struct word event;

	if (!next_word(&at, end, &e.process))
		return NULL;
	if (!next_word(&at, end, &event))
		return bad(r, "expected call, return or lost behind", &e.process);
	if (is_word(&event, "call"))
		e.event = CALL;
	else if (is_word(&event, "return"))
		e.event = RETURN;
	else if (is_word(&event, "lost"))
		e.event = LOST;
	else
		return bad(r, "expected call, return or lost, not", &event);
	if (!next_word(&at, end, &e.operation))
		return bad(r, "expected an operation behind", &event);
	while (e.n < WORDS && next_word(&at, end, &e.values[e.n]))
		e.n++;
	return take(r, &e);
}

/* `INFO  jepsen.util - 3  :invoke :write  4` */
static struct err *take_log_line(struct reader *r, const char *at, const char *end)
{
	struct entry e = { .is_edn = true };
	struct word w;

	for (int i = 0; i < 3; i++)
		if (!next_word(&at, end, &w))
			return NULL;
	if (!next_word(&at, end, &e.process) || !e.process.n ||
	    !isdigit((unsigned char)*e.process.at) || !next_word(&at, end, &w) ||
	    !next_word(&at, end, &e.operation) || !e.operation.n)
		return NULL; // of the nemesis, or somebody else's
	if (is_word(&w, ":invoke"))
		e.event = CALL;
	else if (is_word(&w, ":ok"))
		e.event = RETURN;
	else if (is_word(&w, ":fail"))
		e.event = FAIL;
	else if (is_word(&w, ":info"))
		e.event = LOST;
	else
		return NULL;
	if (*e.operation.at == ':')
		e.operation.at++, e.operation.n--;
	while (e.n < WORDS && next_word(&at, end, &e.values[e.n]))
		e.n++;
	return take(r, &e);
}

static bool is_done(const struct reader *r)
{
	return r->at == r->end || (r->sought && !r->n_sought);
}

static struct err *take_lines(struct reader *r)
{
	struct err *err = NULL;

	while (!err && !is_done(r)) {
		const char *newline = memchr(r->at, '\n', r->end - r->at);
		const char *end = newline ?: r->end;

		r->line++;
		err = r->take_one(r, r->at, end);
		r->at = newline ? end + 1 : end;
	}
	return err;
}

/* ---- EDN ------------------------------------------------------------------------------------------- */

static void skip_blanks(struct reader *r)
{
	for (; r->at < r->end; r->at++) {
		if (*r->at == '\n')
			r->line++;
		else if (*r->at == ';')
			while (r->at + 1 < r->end && r->at[1] != '\n')
				r->at++;
		else if (!isspace((unsigned char)*r->at) && *r->at != ',')
			return;
	}
}

/* A number, keyword, symbol or text. @return whether there was one. */
static bool edn_word(struct reader *r, struct word *ret)
{
	skip_blanks(r);
	*ret = (struct word){ .at = r->at };
	if (r->at < r->end && *r->at == '"') {
		ret->is_quoted = true;
		ret->at = ++r->at;
		while (r->at < r->end && *r->at != '"') {
			r->line += *r->at == '\n';
			r->at += *r->at == '\\' && r->at + 1 < r->end ? 2 : 1;
		}
		ret->n = r->at - ret->at;
		if (r->at == r->end)
			return false;
		r->at++;
		return true;
	}
	while (r->at < r->end && !isspace((unsigned char)*r->at) &&
	       !strchr(",;\"{}[]()", *r->at))
		r->at++;
	ret->n = r->at - ret->at;
	return ret->n;
}

/* Any value: its words, in their order, into @p words, as many as there is room for (NULL: none). */
static struct err *edn_value(struct reader *r, struct word *words, size_t *n,
			     bool *is_vector)
{
	size_t depth = 0;
	struct word w;

	do {
		skip_blanks(r);
		if (r->at == r->end) {
			r->line -= r->end[-1] == '\n';
			return bad(r, "the file ends in a value", NULL);
		}
		if (strchr("[({", *r->at)) {
			depth++;
			*is_vector = true;
			r->at++;
		} else if (strchr("])}", *r->at)) {
			if (!depth)
				return bad(r, "expected a value", NULL);
			depth--;
			r->at++;
		} else if (!edn_word(r, &w)) {
			return bad(r, "this is no EDN", NULL);
		} else if (w.at[0] == '#' && !w.is_quoted) {
			if (!depth && w.n > 1) // a tag: what it tags follows
				return edn_value(r, words, n, is_vector);
		} else if (words && *n < WORDS) {
			words[(*n)++] = w;
		}
	} while (depth);
	return NULL;
}

static enum event event_of(const struct word *w)
{
	return is_word(w, ":invoke") ? CALL :
	       is_word(w, ":ok")     ? RETURN :
	       is_word(w, ":fail")   ? FAIL :
				       LOST;
}

/* One map; r->at is behind its brace. */
static struct err *take_map(struct reader *r)
{
	struct entry e = { .is_edn = true };
	struct word key = {}, type = {};
	struct word values[WORDS];
	size_t n = 0;
	bool is_vector, ignored = false;
	struct err *err = NULL;

	for (;;) {
		struct word one[WORDS];
		size_t n_one = 0;
		struct word name;

		skip_blanks(r);
		if (r->at < r->end && *r->at == '}')
			break;
		if (r->at == r->end || !edn_word(r, &name))
			return bad(r, "expected a keyword or '}'", NULL);
		is_vector = false;
		err = edn_value(r, one, &n_one, &is_vector);
		if (err)
			return err;
		if (is_word(&name, ":value")) {
			memcpy(values, one, sizeof(values));
			n = n_one;
			e.is_vector = is_vector;
		} else if (n_one) {
			if (is_word(&name, ":process"))
				e.process = one[0];
			else if (is_word(&name, ":type"))
				type = one[0];
			else if (is_word(&name, ":f"))
				e.operation = one[0];
			else if (is_word(&name, ":key"))
				key = one[0];
		}
	}
	r->at++;
	if (!e.process.n || !type.n || !e.operation.n)
		return bad(r, "a map without :process, :type or :f", NULL);
	ignored = !isdigit((unsigned char)*e.process.at); // :nemesis
	if (*e.operation.at == ':')
		e.operation.at++, e.operation.n--;
	e.event = event_of(&type);
	if (key.n)
		e.values[e.n++] = key;
	for (size_t i = 0; i < n && e.n < WORDS; i++)
		e.values[e.n++] = values[i];
	return ignored ? NULL : take(r, &e);
}

static struct err *take_edn(struct reader *r)
{
	struct err *err = NULL;

	for (;;) {
		struct word tag;

		skip_blanks(r);
		if (err || is_done(r))
			return err;
		if (*r->at == '{') {
			r->at++;
			err = take_map(r);
		} else if (strchr("[]()", *r->at)) {
			r->at++;
		} else if (*r->at == '#' && edn_word(r, &tag)) {
			continue; // #jepsen.history.Op
		} else {
			err = bad(r, "expected a map", NULL);
		}
	}
}

static struct err *take_all(struct reader *r)
{
	return r->take_one ? take_lines(r) : take_edn(r);
}

/* ---- all --------------------------------------------------------------------------------------------- */

static struct err *parse(const char *path, const char *text, size_t size,
			 const struct fl_lin_object *o, bool is_mapped,
			 struct fl_lin_history *h)
{
	struct reader r = { .path = path,
			    .at = text,
			    .end = text + size,
			    .o = o,
			    .h = h,
			    .passed = is_mapped ? text : NULL };
	struct err *err;

	r.rest_at = rest_after(&r);
	if (has_zero(text, size, is_mapped))
		return err_new(ERR_FORMAT, "%s: this is no text", path);
	skip_blanks(&r);
	if (r.at == r.end || !strchr("{[(", *r.at))
		r.take_one = r.end - r.at > 4 && !memcmp(r.at, "INFO", 4) ?
				     take_log_line :
				     take_line;
	r.at = text;
	r.line = r.take_one ? 0 : 1;
	err = take_all(&r);
	map_deinit(&r.open);
	if (err)
		return err;
	fl_lin_history_drop(h);
	return h->ops.size || h->n_gone ?
		       NULL :
		       err_new(ERR_FORMAT, "%s: no operation is in it", path);
}

struct err *fl_lin_history_parse(const char *path, const char *text, size_t size,
				 const struct fl_lin_object *o, struct fl_lin_history *h)
{
	return parse(path, text, size, o, false, h);
}

struct err *fl_lin_history_read(const char *path, const struct fl_lin_object *o,
				struct fl_lin_history *h)
{
	uint64_t size;
	struct err *err;
	char *text;
	int fd;

	err = file_open_input(AT_FDCWD, path, path, UINT64_MAX, &fd, &size);
	if (err)
		return err;
	text = size ? mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0) : NULL;
	if (text == MAP_FAILED)
		err = err_errno("cannot read '%s'", path);
	else
		err = parse(path, text, size, o, true, h);
	if (text && text != MAP_FAILED)
		munmap(text, size);
	close(fd);
	return err;
}
