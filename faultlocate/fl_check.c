// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "faultlocate/fl_check.h"

#include <errno.h>
#include <string.h>
#include <strings.h>
#include <sys/syscall.h>

#include "faultlocate/fl_check_int.h"
#include "pt-collect/inputs/names.h"

/* ---- the rules -------------------------------------------------------------------------------- */

// specs/rules/, as fl_rules_text.S has them.
extern const char fl_rules_heap[], fl_rules_heap_end[], fl_rules_leaks[],
	fl_rules_leaks_end[], fl_rules_calls[], fl_rules_calls_end[], fl_rules_threads[],
	fl_rules_threads_end[], fl_rules_bytes[], fl_rules_bytes_end[];

static struct err *read_built_in(struct spec *s)
{
	struct err *err = spec_add_text(s, "heap.rules", fl_rules_heap,
					fl_rules_heap_end - fl_rules_heap);

	if (!err)
		err = spec_add_text(s, "leaks.rules", fl_rules_leaks,
				    fl_rules_leaks_end - fl_rules_leaks);
	if (!err)
		err = spec_add_text(s, "calls.rules", fl_rules_calls,
				    fl_rules_calls_end - fl_rules_calls);
	if (!err)
		err = spec_add_text(s, "bytes.rules", fl_rules_bytes,
				    fl_rules_bytes_end - fl_rules_bytes);
	if (!err)
		err = spec_add_text(s, "threads.rules", fl_rules_threads,
				    fl_rules_threads_end - fl_rules_threads);
	return err;
}

static struct err *read_rules(struct fl_check *c, const struct fl_check_options *o)
{
	struct err *err = o->n_files ? NULL : read_built_in(c->rules);
	size_t n;

	for (size_t i = 0; i < o->n_files && !err; i++)
		err = spec_add_file(c->rules, o->files[i]);
	if (err)
		return err;
	n = spec_errors(c->rules);
	if (n)
		return err_new(ERR_SPEC, "cannot check: the rules have %zu mistake%s", n,
			       n == 1 ? "" : "s");
	if (!spec_bugs(c->rules))
		return err_new(ERR_SPEC, "cannot check: there is no rule in '%s'",
			       text_line(o->files[0]));
	return NULL;
}

static bool is_about_accesses(const struct spec_bug *b)
{
	return b->point <= SPEC_POINT_DEREF;
}

/* Of a call that copies text it is asked when that is over: only then it is known how much it was. */
static bool is_about_text(const struct fl_check *c, size_t i)
{
	return spec_bug_needs(c->rules, i) & SPEC_NEED_TEXT;
}

/* It is asked of variables, or of what has no value, which fl_check_bytes.c looks at. */
bool fl_check_is_about_values(const struct fl_check *c, size_t i)
{
	return spec_bug(c->rules, i)->point == SPEC_POINT_USE ||
	       spec_bug_needs(c->rules, i) & SPEC_NEED_WRITTEN;
}

bool fl_check_is_about_bytes(const struct fl_check *c, size_t i)
{
	return fl_check_is_about_values(c, i) ||
	       spec_bug_needs(c->rules, i) & SPEC_NEED_OBJECT;
}

static struct err *refuse(const struct spec_bug *b, const char *what, const char *where)
{
	return err_new(ERR_UNSUPPORTED,
		       "cannot check: rule '%s' (%s:%d) asks %s: that can be asked at %s "
		       "alone (leave it out with --only)",
		       b->name, text_line(b->file), b->line, what, where);
}

/* Where something is written is not a point that has been built: such a rule would find nothing, which is not the
 * same as that nothing is there. */
static struct err *refuse_uses(const struct fl_check *c)
{
	for (size_t i = 0; i < spec_bugs(c->rules); i++) {
		const struct spec_bug *b = spec_bug(c->rules, i);

		if (c->is_on[i] && b->point != SPEC_POINT_USE &&
		    b->point != SPEC_POINT_READ &&
		    spec_bug_needs(c->rules, i) & SPEC_NEED_WRITTEN)
			return refuse(b, "which values were written",
				      "`use' and `deref_r'");
		if (c->is_on[i] && b->point != SPEC_POINT_CALL && is_about_text(c, i))
			return refuse(b, "how much is copied", "`call'");
	}
	return NULL;
}

#define STRICT "UNINIT-READ"

/* @return whether there is the rule that --strict asks, too. */
static bool ask_strictly(struct fl_check *c)
{
	for (size_t i = 0; i < spec_bugs(c->rules); i++)
		if (!strcasecmp(spec_bug(c->rules, i)->name, STRICT))
			return c->is_on[i] = c->is_named[i] = true;
	return false;
}

static struct err *choose(struct fl_check *c, const struct fl_check_options *o)
{
	for (size_t i = 0; i < spec_bugs(c->rules); i++) {
		const struct spec_bug *b = spec_bug(c->rules, i);

		c->is_on[i] = !o->n_only && !b->is_off &&
			      (!o->is_accesses || is_about_accesses(b));
	}
	for (size_t k = 0; k < o->n_only; k++) {
		struct spec_nearest near = { .word = o->only[k] };
		bool is_found = false;

		for (size_t i = 0; i < spec_bugs(c->rules); i++) {
			const char *name = spec_bug(c->rules, i)->name;

			spec_nearest_try(&near, name);
			if (strcasecmp(name, o->only[k]))
				continue;
			c->is_on[i] = c->is_named[i] = is_found = true;
		}
		if (!is_found)
			return err_new(ERR_NOT_FOUND,
				       "cannot check: there is no rule '%s'%s%s%s",
				       text_line(o->only[k]),
				       near.name ? " (did you mean '" : "",
				       near.name ? near.name : "",
				       near.name ? "'?)" : "");
	}
	if (o->is_strict && !ask_strictly(c))
		return err_new(ERR_NOT_FOUND,
			       "cannot check strictly: there is no rule '" STRICT "'");
	return refuse_uses(c);
}

/* ---- functions ---------------------------------------------------------------------------------- */

/* The program's function that @p z of a rule is: what --function says, or that of the same name. */
static const char *function_of(const struct fl_check_options *o, const char *z)
{
	size_t n = strlen(z);

	for (size_t i = 0; i < o->n_functions; i++)
		if (!strncmp(o->functions[i], z, n) && o->functions[i][n] == '=')
			return o->functions[i] + n + 1;
	return z;
}

static int function_index(const struct fl_check *c, const char *name)
{
	for (size_t i = 0; i < c->functions.size; i++)
		if (!strcmp(c->functions.data[i], name))
			return (int)i;
	return -1;
}

static struct err *add_function(struct fl_check *c, const char *name, size_t n)
{
	char *copy = arena_strndup(&c->arena, name, n);

	if (!copy)
		return &err_nomem;
	return function_index(c, copy) >= 0 ? NULL : vec_add(&c->functions, copy);
}

/* `"read|write"`: is @p name one of them? */
bool fl_check_names(const char *list, const char *name)
{
	size_t n = strlen(name);

	for (; list; list = strchr(list, '|')) {
		list += *list == '|';
		if (!strncmp(list, name, n) && (!list[n] || list[n] == '|'))
			return true;
	}
	return false;
}

static struct err *add_functions(struct fl_check *c, const struct fl_check_options *o)
{
	struct err *err = add_function(c, "main", 4);

	for (size_t i = 0; i < spec_bugs(c->rules) && !err; i++) {
		const struct spec_bug *b = spec_bug(c->rules, i);
		const char *z = b->function ? function_of(o, b->function) : NULL, **slot;

		slot = vec_push(&c->of_rule);
		if (!slot)
			return &err_nomem;
		*slot = z;
		if (b->point != SPEC_POINT_CALL && b->point != SPEC_POINT_RET)
			continue;
		for (; z && !err; z = strchr(z, '|')) {
			z += *z == '|';
			err = add_function(c, z, strcspn(z, "|"));
		}
	}
	return err;
}

/* ---- life --------------------------------------------------------------------------------------- */

struct err *fl_check_create(const struct fl_check_options *o, struct fl_check **ret)
{
	struct fl_check *c = calloc(1, sizeof(*c));
	struct err *err = c ? spec_create(&c->rules) : &err_nomem;

	*ret = c;
	if (!err)
		err = read_rules(c, o);
	if (err)
		return err;
	c->is_on = calloc(spec_bugs(c->rules), sizeof(*c->is_on));
	c->is_named = calloc(spec_bugs(c->rules), sizeof(*c->is_named));
	if (!c->is_on || !c->is_named)
		return &err_nomem;
	c->is_built_in = !o->n_files && !o->n_functions;
	err = choose(c, o);
	return err ? err : add_functions(c, o);
}

void fl_check_destroy(struct fl_check *c)
{
	if (!c)
		return;
	spec_destroy(c->rules);
	free(c->is_on);
	free(c->is_named);
	map_deinit(&c->lines);
	vec_deinit(&c->functions);
	vec_deinit(&c->of_rule);
	vec_deinit(&c->errors);
	vec_deinit(&c->races);
	vec_deinit(&c->pointers);
	map_deinit(&c->seen);
	map_deinit(&c->closed);
	free(c->reached);
	vec_deinit(&c->left_words);
	map_deinit(&c->wide_blocks);
	arena_deinit(&c->arena);
	free(c);
}

bool fl_check_is_built_in(const struct fl_check *c)
{
	return c->is_built_in;
}

void fl_check_forget(struct fl_check *c)
{
	c->errors.size = 0;
	map_deinit(&c->seen);
	map_deinit(&c->closed);
	free(take_ptr(&c->reached));
	c->has_main_returned = c->has_fault = false;
	c->n_unknown = c->n_childs = 0;
	c->graph = NULL;
	c->finder = NULL;
}

void fl_check_main_returned(struct fl_check *c)
{
	c->has_main_returned = true;
}

const struct spec *fl_check_rules(const struct fl_check *c)
{
	return c->rules;
}

bool fl_check_is_on(const struct fl_check *c, size_t i)
{
	return c->is_on[i];
}

size_t fl_check_errors(const struct fl_check *c)
{
	return c->errors.size;
}

const struct fl_error *fl_check_error(const struct fl_check *c, size_t i)
{
	return &c->errors.data[i];
}

uint64_t fl_check_unknown(const struct fl_check *c)
{
	return c->n_unknown;
}

uint64_t fl_check_childs(const struct fl_check *c)
{
	return c->n_childs;
}

/* ---- what is found ------------------------------------------------------------------------------ */

static uint64_t key_of(uint64_t key, uint64_t more)
{
	key = (key ^ more ^ key >> 29) * 0x9e3779b97f4a7c15u;
	return key ^ key >> 32;
}

struct err *fl_check_add(struct fl_check *c, struct frames *frames,
			 const struct fl_error *x)
{
	uint64_t key = key_of(key_of(1, x->rule), x->rip), *known;
	struct fl_error *e;

	for (uint32_t i = 0; i < x->callers.n; i++)
		key = key_of(key, x->callers.rip[i]);
	(void)frames;
	known = map_get(&c->seen, key);
	if (known) {
		e = &c->errors.data[*known - 1];
		e->count++;
		e->bytes += x->bytes;
		e->last_time = x->time;
		return NULL;
	}
	e = vec_push(&c->errors);
	if (!e || map_put(&c->seen, key, c->errors.size))
		return &err_nomem;
	*e = *x;
	e->count = 1;
	e->last_time = x->time;
	return NULL;
}

/* What a library's header allocated did a statement of the user's. */
static void name_users(struct frames *frames, struct fl_error *e)
{
	uint32_t i = 0;

	while (i < e->callers.n && !dec_frames_is_users(frames, e->rip))
		e->rip = e->callers.rip[i++];
	e->callers.n -= i;
	memmove(e->callers.rip, e->callers.rip + i,
		e->callers.n * sizeof(*e->callers.rip));
}

struct err *fl_check_add_block(struct fl_check *c, struct frames *frames, size_t i,
			       uint64_t time, const struct spec_bug_value *block)
{
	struct fl_error e = { .rule = i, .time = time, .bound = *block };
	struct hg_node_id id = { block->bid };

	if (id.v) {
		const struct hg_node *n = hg_graph_node(c->graph, id);

		e.rip = e.pc = n->alloc_rip;
		e.bytes = n->size;
		hg_access_allocated(c->finder, id, &e.callers);
		if (dec_frames_is_own(frames, e.rip))
			name_users(frames, &e);
	}
	return fl_check_add(c, frames, &e);
}

/* ---- accesses ----------------------------------------------------------------------------------- */

static bool is_asked(const struct spec_bug *b, bool is_write)
{
	return b->point == SPEC_POINT_DEREF ||
	       b->point == (is_write ? SPEC_POINT_WRITE : SPEC_POINT_READ);
}

int fl_check_access(void *ctx, const struct hg_judged *x)
{
	struct fl_check *c = ctx;
	const struct spec_bug_world w = {
		.graph = c->graph,
		.time = x->position,
		.width = x->size,
		.base = x->addr,
		.part_start = x->part_start,
		.part_end = x->part_end,
		.ctx = c,
	};

	for (size_t i = 0; i < spec_bugs(c->rules); i++) {
		struct spec_bug_value slots[SPEC_BUG_SLOTS] = { { x->addr, x->node.v, 0,
								  true } };

		if (c->is_on[i] && !fl_check_is_about_bytes(c, i) &&
		    is_asked(spec_bug(c->rules, i), x->is_write) &&
		    spec_bug_holds(c->rules, i, &w, slots))
			return (int)i;
	}
	return -1;
}

/* ---- points ------------------------------------------------------------------------------------- */

static uint32_t family_of(void *ctx, uint32_t bid)
{
	const struct fl_check *c = ctx;

	return hg_access_family(c->finder, (struct hg_node_id){ bid });
}

static bool is_open(void *ctx, uint64_t fd)
{
	const struct fl_check *c = ctx;

	(void)fd;
	return c->result != -EBADF;
}

static bool is_refused(void *ctx, uint64_t x)
{
	const struct fl_check *c = ctx;

	(void)x;
	return c->result == -EFAULT;
}

static bool was_closed(void *ctx, uint64_t fd)
{
	const struct fl_check *c = ctx;

	return map_get(&c->closed, (uint32_t)fd);
}

/* Does rule @p i belong to the point? */
static bool is_at(const struct fl_check *c, size_t i, const struct hg_point *p)
{
	const struct spec_bug *b = spec_bug(c->rules, i);
	const char *name;

	switch (p->kind) {
	case HG_POINT_RELEASE:
		return b->point == SPEC_POINT_FREE;
	case HG_POINT_ACCESS:
		return is_about_accesses(b) && is_asked(b, p->is_write);
	case HG_POINT_SYSCALL:
		name = ptc_name_of(p->which);
		return b->point == SPEC_POINT_SYSCALL && name &&
		       fl_check_names(b->function, name);
	case HG_POINT_TEXT:
		return is_about_text(c, i) &&
		       fl_check_names(c->of_rule.data[i], p->function);
	default:
		return b->point == (p->kind == HG_POINT_CALL ? SPEC_POINT_CALL :
							       SPEC_POINT_RET) &&
		       strcmp(b->function, "main") &&
		       (p->has_extent || !is_about_text(c, i)) &&
		       fl_check_names(c->of_rule.data[i], c->functions.data[p->which]);
	}
}

static struct err *found(struct fl_check *c, struct frames *frames, size_t i,
			 const struct hg_point *p, const struct spec_bug_value *slots)
{
	const struct spec_bug *b = spec_bug(c->rules, i);
	struct fl_error e = { .rule = i,
			      .time = p->position,
			      .rip = dec_frames_statement(frames, p->pc),
			      .pc = p->pc,
			      .n_values = b->n_args,
			      .reg = -1 };

	for (int k = 0; k < b->n_args; k++)
		e.value[k] = slots[k];
	e.bound = slots[b->n_args];
	if (spec_bug_needs(c->rules, i) & SPEC_NEED_TOLD) {
		char told[32];
		int n = snprintf(told, sizeof(told), "%llu bytes",
				 (unsigned long long)p->told);

		e.detail = arena_strndup(&c->arena, told, n);
		if (!e.detail)
			return &err_nomem;
	}
	hg_chain_list(frames, e.rip, &e.callers);
	return fl_check_add(c, frames, &e);
}

/* What operator delete was told; new may have asked the allocator for more, and the block have that. */
static void take_told(const struct fl_check *c, const struct hg_point *p,
		      struct spec_bug_world *w)
{
	uint64_t size = p->node[0].v ? hg_graph_node(c->graph, p->node[0])->size : 0;

	w->is_told = p->is_told;
	w->told = p->told;
	if (dec_guard_new_size(size, p->align) == dec_guard_new_size(p->told, p->align))
		w->told = size;
}

/* Of a condition `exists b in ..` each b is told. */
static struct err *ask(struct fl_check *c, struct frames *frames, size_t i,
		       const struct hg_point *p, const struct spec_bug_world *w)
{
	const struct spec_bug *b = spec_bug(c->rules, i);
	struct err *err = NULL;

	for (uint32_t next = 0; !err;) {
		struct spec_bug_value slots[SPEC_BUG_SLOTS] = {};

		for (int k = 0; k < b->n_args; k++)
			slots[k] = (struct spec_bug_value){ p->value[k], p->node[k].v, 0,
							    true };
		if (!spec_bug_next(c->rules, i, w, slots, &next))
			return NULL;
		if (p->kind == HG_POINT_RETURN && slots[b->n_args].bid)
			err = fl_check_add_block(c, frames, i, p->position,
						 &slots[b->n_args]);
		else
			err = found(c, frames, i, p, slots);
	}
	return err;
}

/* Descriptors that were closed; what opens others gives them again. */
static struct err *follow_descriptors(struct fl_check *c, const struct hg_point *p)
{
	if (p->which == SYS_close && !p->result &&
	    map_put(&c->closed, (uint32_t)p->value[0], 1))
		return &err_nomem;
	return NULL;
}

/* Memory that was not seen to be allocated, where that may have been before, or is no allocator's, or by what nobody knows of the
 * allocator. */
static bool is_unknown(const struct fl_check *c, const struct hg_point *p)
{
	return p->kind == HG_POINT_RELEASE &&
	       (p->is_strangers || (!p->node[0].v && !c->is_from_start));
}

/* May a child in its parent's memory have allocated it? */
static bool is_childs(const struct fl_check *c, const struct hg_point *p)
{
	const struct hg_node *n = p->node[0].v ? hg_graph_node(c->graph, p->node[0]) :
						 NULL;

	return p->kind == HG_POINT_RELEASE && (!n || n->died != UINT64_MAX) &&
	       hg_access_is_childs(c->finder, p->value[0], n ? n->died : 0);
}

/* The C library frees by itself what it cached for a thread that ends: freed blocks, and others that the
 * program never saw. What it frees otherwise in its own functions was used there before. */
static bool is_own_release(struct frames *frames, const struct hg_point *p)
{
	const char *caller, *callee;
	uint64_t from;

	if (!frames->stack.size || p->is_resize)
		return false;
	from = frames->stack.data[frames->stack.size - 1].return_rip - 1;
	// The modules alone: for a place the C library's debug information would be unpacked.
	caller = dec_symbols_module(frames->symbols, from);
	callee = dec_symbols_module(frames->symbols, p->pc);
	return caller && callee && !strcmp(caller, callee) &&
	       !dec_frames_is_own(frames, from);
}

/* .. but what it releases for a call of the user's (fclose) is not to be released again. */
static bool is_again_for_user(const struct fl_check *c, struct frames *frames,
			      const struct hg_point *p)
{
	return p->node[0].v && hg_graph_node(c->graph, p->node[0])->died < p->position &&
	       dec_frames_is_own(frames, dec_frames_statement(frames, p->pc));
}

struct err *fl_check_point(void *ctx, struct frames *frames, const struct hg_point *p)
{
	struct fl_check *c = ctx;
	struct spec_bug_world w = { .graph = c->graph,
				    .time = p->position,
				    .width = p->size,
				    .base = p->value[0],
				    .entered = p->entered,
				    .releaser = p->family,
				    .reads = p->reads,
				    .writes = p->writes,
				    .ctx = c,
				    .family = family_of,
				    .is_open = is_open,
				    .was_closed = was_closed,
				    .is_refused = is_refused };
	struct err *err = NULL;

	if (p->kind == HG_POINT_RETURN && !strcmp(c->functions.data[p->which], "main"))
		c->has_main_returned = true;
	if (p->kind == HG_POINT_RELEASE && is_own_release(frames, p) &&
	    !is_again_for_user(c, frames, p))
		return NULL;
	if (is_childs(c, p)) {
		c->n_childs++;
		return NULL;
	}
	if (is_unknown(c, p)) {
		c->n_unknown++;
		return NULL;
	}
	c->result = p->result;
	if (p->kind == HG_POINT_RELEASE)
		take_told(c, p, &w);
	for (size_t i = 0; i < spec_bugs(c->rules) && !err; i++) {
		if (!c->is_on[i] || !is_at(c, i, p) || fl_check_is_about_bytes(c, i))
			continue;
		if (spec_bug_needs(c->rules, i) & SPEC_NEED_POINTERS) {
			err = fl_check_list_pointers(c);
			w.pointers = c->pointers.data;
			w.n_pointers = c->pointers.size;
		}
		if (!err)
			err = ask(c, frames, i, p, &w);
	}
	return err || p->kind != HG_POINT_SYSCALL ? err : follow_descriptors(c, p);
}

bool fl_check_is_along(const struct fl_check *c)
{
	for (size_t i = 0; i < spec_bugs(c->rules); i++)
		if (c->is_on[i] && spec_bug(c->rules, i)->point != SPEC_POINT_RACE &&
		    !fl_check_is_about_bytes(c, i))
			return true;
	return false;
}

bool fl_check_is_about_races(const struct fl_check *c)
{
	bool ret = false;

	for (size_t i = 0; i < spec_bugs(c->rules); i++) {
		if (c->is_on[i] && spec_bug(c->rules, i)->point != SPEC_POINT_RACE)
			return false;
		ret |= c->is_on[i];
	}
	return ret;
}

const struct hg_judge *fl_check_begin(struct fl_check *c, const struct hg_graph *graph,
				      bool is_from_start)
{
	bool has_points = false;

	c->graph = graph;
	c->is_from_start = is_from_start;
	c->judge = (struct hg_judge){ .ctx = c, .access = fl_check_access };
	for (size_t i = 0; i < spec_bugs(c->rules); i++) {
		const struct spec_bug *b = spec_bug(c->rules, i);

		if (!c->is_on[i] || fl_check_is_about_bytes(c, i))
			continue;
		has_points |= !is_about_accesses(b);
		c->judge.wants_syscalls |= b->point == SPEC_POINT_SYSCALL;
		c->judge.wants_texts |= is_about_text(c, i);
		c->judge.wants_all |= is_about_accesses(b) &&
				      (spec_bug_may_hold(c->rules, i, true) ||
				       spec_bug_may_hold(c->rules, i, false));
	}
	if (has_points || c->judge.wants_all)
		c->judge.point = fl_check_point;
	c->judge.functions = c->functions.data;
	c->judge.n_functions = has_points ? c->functions.size : 0;
	return &c->judge;
}

void fl_check_graph(struct fl_check *c, const struct hg_graph *graph)
{
	c->graph = graph;
}

bool fl_check_has_chains(const struct fl_check *c)
{
	return vec_find(&c->errors, e, spec_bug(c->rules, e->rule)->n_chains) != NULL;
}

void fl_check_finder(struct fl_check *c, struct hg_finder *finder)
{
	c->finder = finder;
}
