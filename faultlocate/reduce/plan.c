// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * A plan is a sequence of texts, each a length of 8 bytes and as many bytes.
 */

#include "faultlocate/reduce/plan.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "faultlocate/inputs/inputs.h"
#include "faultlocate/slice/question.h"

enum {
	PLAN_EXE,
	PLAN_CWD,
	PLAN_ARGV0,
	PLAN_ARGS,
	PLAN_ENV,
	PLAN_NUMBERS, ///< input, end, end_value: 4 bytes each
	PLAN_NAME,
	PLAN_DATA,
	PLAN_NOTES,
	PLAN_ROLES,
	PLAN_NODES,   ///< 4 bytes each
	PLAN_PARENTS, ///< 4 bytes each
	PLAN_TEXTS
};

/* ---- making ---------------------------------------------------------------------------------- */

struct making {
	const struct capture *capture;
	const struct cap_info *info;
	struct fl_sources sources;
	struct fl_source *input;
	uint32_t kind; ///< enum fl_run_input
	char notes[1024];
	struct fl_text texts[PLAN_TEXTS];
	uint32_t numbers[3];
	uint8_t *roles;
	uint32_t *nodes;
	VEC(uint32_t) parents;
};

static void note(struct making *m, const char *text)
{
	size_t n = strlen(m->notes);

	snprintf(m->notes + n, sizeof(m->notes) - n, "%s%s", n ? "\n" : "", text);
}

/* Of the file only a part was read: the rest is this machine's, if what was read is. */
static struct err *complete(struct making *m)
{
	struct fl_source *f = m->input;
	_cleanup_free_ char *path = NULL;
	_cleanup_free_ uint8_t *now = NULL;
	_cleanup_close_ int fd = -1;
	uint64_t size = 0;
	struct err *err;

	if (f->whole == f->size && f->is_input_end)
		return NULL;
	if (asprintf(&path, "%s%s%s", *f->name == '/' ? "" : m->info->cwd,
		     *f->name == '/' ? "" : "/", f->name) < 0)
		return &err_nomem;
	err = file_open_input(AT_FDCWD, path, f->name, 1u << 30, &fd, &size);
	err_destroy(err);
	now = err ? NULL : malloc(size + 1);
	if (now && size >= f->whole && read(fd, now, size) == (ssize_t)size &&
	    !memcmp(now, f->bytes.data, f->whole)) {
		if (vec_reserve(&f->bytes, size))
			return &err_nomem;
		memcpy(f->bytes.data, now, size);
		f->bytes.size = size;
		return NULL;
	}
	if (f->whole != f->size)
		return err_new(
			ERR_UNSUPPORTED,
			"'%s' was read in parts, and is not here any more as it was",
			text_line(f->name));
	note(m, "the input's end was not read: what was behind is not tried");
	return NULL;
}

static struct err *choose(struct making *m, const struct fl_plan_options *o)
{
	static const uint8_t kinds[] = { [FL_SOURCE_FILE] = FL_RUN_FILE,
					 [FL_SOURCE_STREAM] = FL_RUN_STDIN,
					 [FL_SOURCE_ARGS] = FL_RUN_ARGS,
					 [FL_SOURCE_ENV] = FL_RUN_ENV };
	uint32_t source = 0;
	struct err *err = fl_sources_choose(&m->sources, m->info, o->input, &source);

	if (err)
		return err;
	m->input = &m->sources.all.data[source];
	if (m->input->kind > FL_SOURCE_ENV ||
	    (m->input->kind == FL_SOURCE_STREAM && strcmp(m->input->name, "stdin")))
		return err_new(
			ERR_UNSUPPORTED,
			"'%s' can be no input of a new run: files, stdin, argv and env "
			"can",
			text_line(m->input->name));
	m->kind = kinds[m->input->kind];
	if (m->kind == FL_RUN_FILE)
		return complete(m);
	return m->input->bytes.size == m->input->size ?
		       NULL :
		       err_new(ERR_UNSUPPORTED, "the input is larger than is kept of it");
}

/* Is the program here the one that was recorded? */
static void compare_program(struct making *m)
{
	_cleanup_free_ char *now = NULL;
	const char *then = NULL;
	int fd;

	for (size_t i = 0; i < m->info->n_files; i++)
		if (m->info->exe && m->info->files[i].path &&
		    !strcmp(m->info->files[i].path, m->info->exe))
			then = m->info->files[i].build_id;
	fd = m->info->exe ? open(m->info->exe, O_RDONLY | O_CLOEXEC) : -1;
	now = fd >= 0 ? capture_build_id(fd) : NULL;
	if (fd >= 0)
		close(fd);
	if (then && (!now || strcmp(now, then)))
		note(m, "the program here is not the one that was recorded (another "
			"build-id)");
}

/* ---- the tree ---------------------------------------------------------------------------------- */

/** An analysis under way. */
struct analysis {
	struct fl_trace *trace;
	struct dec_symbols *symbols;
	fl_seeds seeds;
	fl_prunes prunes;
	fl_strings strings;
	struct fl_inputs inputs;
};

static struct err *analyse(struct analysis *a, const struct making *m,
			   const struct fl_plan_options *po)
{
	struct fl_trace_options to = {};
	struct fl_inputs_options o = { .with_tree = true, .progress = po->progress };
	struct fl_question told;
	struct err *err = dec_symbols_create(m->capture, &a->symbols);

	to.symbols = a->symbols;
	if (!err)
		err = fl_trace_create(m->capture, &to, &a->trace);
	if (!err)
		err = fl_question_ask(a->trace, a->symbols, po->at, NULL, 0, 0, &a->seeds,
				      &told);
	if (!err)
		err = fl_question_cut_linker(a->trace, a->symbols, &a->prunes);
	o.prunes = a->prunes.data;
	o.n_prunes = a->prunes.size;
	if (!err)
		err = fl_inputs_strings(a->trace, a->symbols, &a->strings);
	o.strings = a->strings.data;
	o.n_strings = a->strings.size;
	return err   ?:
		       fl_inputs_walk(a->trace, &m->sources, a->seeds.data, a->seeds.size,
				      &o, &a->inputs);
}

static void analysis_deinit(struct analysis *a)
{
	fl_inputs_deinit(&a->inputs);
	fl_trace_destroy(a->trace);
	dec_symbols_destroy(a->symbols);
	vec_deinit(&a->seeds);
	vec_deinit(&a->prunes);
	vec_deinit(&a->strings);
}

/* Of the tree, hand over what leads to bytes of the input, numbered anew. */
static struct err *take_tree(struct making *m, const struct fl_inputs *in)
{
	uint32_t source = m->input - m->sources.all.data;
	size_t n = m->input->bytes.size;
	_cleanup_free_ uint32_t *number = calloc(in->parents.size, sizeof(*number));
	struct err *err = NULL;

	m->roles = calloc(n + 1, 1);
	m->nodes = calloc(n + 1, sizeof(*m->nodes));
	if (!number || !m->roles || !m->nodes)
		return &err_nomem;
	for (size_t i = 0; i < in->all.size; i++) {
		const struct fl_input *b = &in->all.data[i];

		if (b->source != source || b->offset >= n)
			continue;
		m->roles[b->offset] = b->roles;
		for (uint32_t k = b->node; k && !number[k]; k = in->parents.data[k])
			number[k] = 1;
	}
	number[1] = 1;
	err = vec_add(&m->parents, 0);
	for (size_t i = 1; i < in->parents.size && !err; i++) {
		if (!number[i])
			continue;
		number[i] = m->parents.size;
		err = vec_add(&m->parents, number[in->parents.data[i]]);
	}
	for (size_t i = 0; i < in->all.size && !err; i++) {
		const struct fl_input *b = &in->all.data[i];

		if (b->source == source && b->offset < n)
			m->nodes[b->offset] = number[b->node];
	}
	m->texts[PLAN_ROLES] = (struct fl_text){ m->roles, n };
	m->texts[PLAN_NODES] =
		(struct fl_text){ (uint8_t *)m->nodes, n * sizeof(*m->nodes) };
	m->texts[PLAN_PARENTS] =
		(struct fl_text){ (uint8_t *)m->parents.data,
				  m->parents.size * sizeof(*m->parents.data) };
	return err;
}

/* Without a tree the methods that use one go by the text alone, or are ddmin: say why. */
static struct err *make_tree(struct making *m, const struct fl_plan_options *po)
{
	struct analysis a = {};
	struct err *err = analyse(&a, m, po);

	if (!err && a.inputs.has_tree)
		err = take_tree(m, &a.inputs);
	else if (!err)
		note(m,
		     "the tree of dependences is too large: roles are not made use of");
	if (err && err->code != ERR_NOMEM) {
		char text[512];

		snprintf(text, sizeof(text),
			 "no tree of dependences (%.400s): roles are not known",
			 err->message);
		note(m, text);
		err_destroy(err);
		err = NULL;
	}
	analysis_deinit(&a);
	return err;
}

/* ---- handing over --------------------------------------------------------------------------------- */

static struct fl_text text_of(const char *s)
{
	return (struct fl_text){ (const uint8_t *)(s ?: ""), strlen(s ?: "") };
}

static struct err *write_all(int fd, const void *data, size_t size)
{
	for (size_t done = 0; done < size;) {
		ssize_t n = write(fd, (const char *)data + done, size - done);

		if (n <= 0)
			return err_errno("cannot hand over what is to be run");
		done += n;
	}
	return NULL;
}

static struct err *put(struct making *m, int fd)
{
	struct err *err = NULL;

	for (int i = 0; i < PLAN_TEXTS && !err; i++) {
		uint64_t size = m->texts[i].size;

		err = write_all(fd, &size, sizeof(size));
		if (!err)
			err = write_all(fd, m->texts[i].data, size);
	}
	return err;
}

static struct err *make(struct making *m, const struct fl_plan_options *o, int fd)
{
	struct fl_source *all;
	struct err *err = fl_sources_read(m->capture, &m->sources);

	if (!err)
		err = choose(m, o);
	if (err)
		return err;
	compare_program(m);
	if (m->info->has_masked)
		note(m,
		     "values of environment variables were left out of the capture: the "
		     "program gets x's");
	all = m->sources.all.data;
	m->numbers[0] = m->kind;
	m->numbers[1] = m->info->end;
	m->numbers[2] = m->info->end_value;
	m->texts[PLAN_EXE] = text_of(m->info->exe);
	m->texts[PLAN_CWD] = text_of(m->info->cwd);
	m->texts[PLAN_ARGV0] = text_of(m->sources.argv0 ?: m->info->exe);
	m->texts[PLAN_ARGS] = (struct fl_text){ all[FL_SOURCES_ARGS].bytes.data,
						all[FL_SOURCES_ARGS].bytes.size };
	m->texts[PLAN_ENV] = (struct fl_text){ all[FL_SOURCES_ENV].bytes.data,
					       all[FL_SOURCES_ENV].bytes.size };
	m->texts[PLAN_NUMBERS] =
		(struct fl_text){ (uint8_t *)m->numbers, sizeof(m->numbers) };
	m->texts[PLAN_NAME] = text_of(m->input->name);
	m->texts[PLAN_DATA] =
		(struct fl_text){ m->input->bytes.data, m->input->bytes.size };
	err = o->at ? make_tree(m, o) : NULL;
	m->texts[PLAN_NOTES] = text_of(m->notes);
	return err ?: put(m, fd);
}

struct err *fl_plan_make(const char *dir, const struct fl_plan_options *o, int fd)
{
	struct making *m = calloc(1, sizeof(*m));
	struct capture *c = NULL;
	struct err *err = m ? capture_open(dir, &c) : &err_nomem;

	if (!err) {
		m->capture = c;
		m->info = capture_info(c);
		if (m->info->mode != CAP_MODE_REPLAY || !m->info->exe || !m->info->cwd)
			err = err_new(ERR_UNSUPPORTED,
				      "a capture of the flight recorder has no inputs");
	}
	if (!err)
		err = make(m, o, fd);
	if (m) {
		fl_sources_deinit(&m->sources);
		free(m->roles);
		free(m->nodes);
		vec_deinit(&m->parents);
	}
	free(m);
	capture_close(c);
	return err;
}

/* ---- reading ------------------------------------------------------------------------------------- */

static struct err *damaged(void)
{
	return err_new(ERR_FORMAT,
		       "the process that read the capture was overcome by it");
}

static struct err *slurp(int fd, uint8_t **ret, size_t *size)
{
	struct stat st;

	if (fstat(fd, &st) || st.st_size < 0)
		return err_errno("cannot read what is to be run");
	*size = st.st_size;
	*ret = malloc(*size + 1);
	if (!*ret)
		return &err_nomem;
	for (size_t done = 0; done < *size;) {
		ssize_t n = pread(fd, *ret + done, *size - done, done);

		if (n <= 0)
			return damaged();
		done += n;
	}
	return NULL;
}

static struct err *copy_text(struct fl_text t, char **ret)
{
	if (memchr(t.data, 0, t.size))
		return damaged();
	*ret = strndup((const char *)t.data, t.size);
	return *ret ? NULL : &err_nomem;
}

static bool ends_well(struct fl_text t)
{
	return !t.size || !t.data[t.size - 1];
}

/* Numbers of a text, whose place need not be even. @return free(); NULL: no memory. */
static uint32_t *numbers_of(struct fl_text t)
{
	uint32_t *ret = malloc(t.size + 1);

	if (ret)
		memcpy(ret, t.data, t.size);
	return ret;
}

static struct err *take_tree_texts(struct fl_plan *p, const struct fl_text *t)
{
	size_t n = t[PLAN_DATA].size, n_nodes = t[PLAN_PARENTS].size / 4;
	bool is_fine = t[PLAN_NODES].size == 4 * n && n_nodes >= 2 &&
		       t[PLAN_PARENTS].size % 4 == 0;

	if (!is_fine)
		return damaged();
	p->nodes = numbers_of(t[PLAN_NODES]);
	p->parents = numbers_of(t[PLAN_PARENTS]);
	if (!p->nodes || !p->parents)
		return &err_nomem;
	for (size_t i = 1; i < n_nodes; i++)
		is_fine &= p->parents[i] < i;
	for (size_t i = 0; i < n; i++)
		is_fine &= p->nodes[i] < n_nodes;
	p->tree = (struct fl_tree){ .roles = t[PLAN_ROLES].data,
				    .nodes = p->nodes,
				    .parents = p->parents,
				    .n_nodes = n_nodes,
				    .n_bytes = n,
				    .data = t[PLAN_DATA].data };
	p->has_tree = true;
	return is_fine ? NULL : damaged();
}

static struct err *take(struct fl_plan *p, const struct fl_text *t)
{
	char **const names[] = { &p->exe, &p->cwd, &p->argv0, &p->name, &p->notes };
	static const int which[] = { PLAN_EXE, PLAN_CWD, PLAN_ARGV0, PLAN_NAME,
				     PLAN_NOTES };
	size_t n = t[PLAN_DATA].size;
	uint32_t numbers[3];
	struct err *err = NULL;

	for (int i = 0; i < 5 && !err; i++)
		err = copy_text(t[which[i]], names[i]);
	if (err || t[PLAN_NUMBERS].size != sizeof(numbers) || !ends_well(t[PLAN_ARGS]) ||
	    !ends_well(t[PLAN_ENV]) || (t[PLAN_ROLES].size && t[PLAN_ROLES].size != n))
		return err ?: damaged();
	memcpy(numbers, t[PLAN_NUMBERS].data, sizeof(numbers));
	if (numbers[0] > FL_RUN_ENV)
		return damaged();
	p->input = numbers[0];
	p->end = numbers[1];
	p->end_value = numbers[2];
	p->args = t[PLAN_ARGS];
	p->env = t[PLAN_ENV];
	p->data = t[PLAN_DATA];
	p->tree = (struct fl_tree){ .n_bytes = p->data.size, .data = p->data.data };
	return t[PLAN_ROLES].size ? take_tree_texts(p, t) : NULL;
}

struct err *fl_plan_read(int fd, struct fl_plan *ret)
{
	struct fl_text t[PLAN_TEXTS];
	size_t size = 0, at = 0;
	struct err *err = slurp(fd, &ret->bytes, &size);

	for (int i = 0; i < PLAN_TEXTS && !err; i++) {
		uint64_t n;

		if (size - at < sizeof(n))
			return damaged();
		memcpy(&n, ret->bytes + at, sizeof(n));
		at += sizeof(n);
		if (size - at < n)
			return damaged();
		t[i] = (struct fl_text){ ret->bytes + at, n };
		at += n;
	}
	return err ?: take(ret, t);
}

void fl_plan_deinit(struct fl_plan *p)
{
	free(p->exe);
	free(p->cwd);
	free(p->argv0);
	free(p->name);
	free(p->notes);
	free(p->nodes);
	free(p->parents);
	free(p->bytes);
}
