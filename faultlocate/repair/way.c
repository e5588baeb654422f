// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include <stdlib.h>

#include "decode/machine/trap.h"
#include "faultlocate/repair/way.h"

enum { MOST_OF_LINE = 8 };

struct way {
	const struct rp_program *p;
	VEC(struct dec_trap) traps;
	rp_lines of_trap; ///< of each of them
	rp_lines *lines;
};

static struct err *pass(struct way *w, int line)
{
	if (w->lines->size && w->lines->data[w->lines->size - 1] == line)
		return NULL;
	return vec_add(w->lines, line);
}

static struct err *passed(void *ctx, const struct dec_trapped *t)
{
	struct way *w = ctx;

	return pass(w, w->of_trap.data[t->trap]);
}

/* Where statements of @p line begin; a line that several functions share is trapped once. */
static struct err *trap_line(struct way *w, struct dec_symbols *s, const char *file,
			     int line, uint32_t tid)
{
	uint64_t addrs[MOST_OF_LINE];
	size_t n = dec_symbols_line_addrs(s, file, line, addrs, MOST_OF_LINE);
	struct err *err = NULL;

	for (size_t i = 0; !err && i < n && i < MOST_OF_LINE; i++) {
		struct dec_trap t = { .on = DEC_TRAP_EXECUTE,
				      .addr = addrs[i],
				      .tid = tid };

		err = vec_add(&w->traps, t);
		if (!err)
			err = vec_add(&w->of_trap, line);
	}
	return err;
}

static void add_line(bool *is_line, size_t n, int line)
{
	if (line > 0 && (size_t)line < n)
		is_line[line] = true;
}

/* Lines at which the interpreter stops. @return one a line, or NULL. */
static bool *find_lines(const struct rp_program *p, size_t *ret_n)
{
	size_t n = 2;
	bool *ret;

	for (size_t i = 0; i < p->size; i++)
		n += p->text[i] == '\n';
	ret = calloc(n, sizeof(*ret));
	for (size_t i = 0; ret && i < p->blocks.size; i++)
		for (size_t k = 0; k < p->blocks.data[i]->list.size; k++)
			add_line(ret, n, p->blocks.data[i]->list.data[k]->line);
	for (size_t i = 0; ret && i < p->functions.size; i++)
		if (p->functions.data[i].body)
			add_line(ret, n, p->functions.data[i].end.line);
	*ret_n = n;
	return ret;
}

/* At the head of a loop no statement's first instruction tells that it is there again. */
static struct err *pass_here(struct way *w, struct dec_machine *m, struct dec_symbols *s,
			     const bool *is_line, size_t n)
{
	struct dec_place place;
	struct cap_regs regs;
	struct err *err = dec_machine_regs(m, &regs);

	if (err)
		return err;
	dec_symbols_place(s, regs.rip, &place);
	return place.line > 0 && (size_t)place.line < n && is_line[place.line] &&
			       fl_rp_program_function(w->p, place.function ?: "") !=
				       RP_NONE ?
		       pass(w, place.line) :
		       NULL;
}

struct err *fl_rp_way(struct dec_machine *m, struct dec_symbols *s,
		      const struct rp_program *p, const char *file, uint32_t tid,
		      uint64_t at, rp_lines *ret)
{
	struct way w = { .p = p, .lines = ret };
	size_t n;
	bool *is_line = find_lines(p, &n);
	struct err *err = is_line ? NULL : &err_nomem;
	struct dec_where where;

	for (size_t i = 0; !err && i < n; i++)
		if (is_line[i])
			err = trap_line(&w, s, file, (int)i, tid);
	// The statement that begins there is under way.
	if (!err)
		err = dec_machine_forward_each(m, w.traps.data, w.traps.size, at + 1,
					       passed, &w);
	if (!err)
		err = dec_machine_seek(m, at, &where);
	if (!err && where.tid == tid)
		err = pass_here(&w, m, s, is_line, n);
	free(is_line);
	vec_deinit(&w.traps);
	vec_deinit(&w.of_trap);
	return err;
}
