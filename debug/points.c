// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Where to stop: points, and what gdb wants evaluated there.
 */
#include <string.h>

#include "decode/machine/agent.h"
#include "debug/session.h"

#define TEXT_MOST 4096 ///< printed at once

typedef VEC(uint8_t) expressions; ///< as struct dec_agent_conditions has them

struct dbg_code {
	struct dbg_session *session;
	expressions conditions, commands;
	struct dec_machine *machine; ///< while it is evaluated
	struct dbg_text said;
};

/* ---- points ---------------------------------------------------------------------------------- */

static void code_destroy(struct dbg_code *c)
{
	if (!c)
		return;
	vec_deinit(&c->conditions);
	vec_deinit(&c->commands);
	dbg_text_deinit(&c->said);
	free(c);
}

static struct dbg_point *find(struct dbg_session *s, const struct dbg_point *p)
{
	return vec_find(&s->points, e,
			e->kind == p->kind && e->addr == p->addr && e->size == p->size);
}

struct err *dbg_point_set(struct dbg_session *s, const struct dbg_point *p,
			  struct dbg_code *code)
{
	struct dbg_point *there = find(s, p), with = *p;
	struct err *err = NULL;

	if (there) {
		code_destroy(there->code);
		there->code = code;
		return NULL;
	}
	with.code = code;
	err = vec_add(&s->points, with);
	if (err)
		code_destroy(code);
	return err;
}

void dbg_point_clear(struct dbg_session *s, const struct dbg_point *p)
{
	struct dbg_point *there = find(s, p);

	if (!there)
		return;
	code_destroy(there->code);
	*there = s->points.data[--s->points.size];
}

void dbg_points_clear(struct dbg_session *s)
{
	for (size_t i = 0; i < s->points.size; i++)
		code_destroy(s->points.data[i].code);
	s->points.size = 0;
}

bool dbg_session_point(const struct dbg_session *s, enum dbg_point_kind first,
		       enum dbg_point_kind last, uint64_t addr, uint64_t size,
		       struct dbg_point *ret)
{
	const struct dbg_point *p = vec_find(
		&s->points, e,
		e->kind >= first && e->kind <= last && e->addr < addr + size &&
			addr < e->addr + (e->kind >= DBG_POINT_WRITE ? e->size : 1));

	if (p)
		*ret = *p;
	return p != NULL;
}

/* ---- code ------------------------------------------------------------------------------------ */

/* Take "X SIZE , CODE" as often as it comes. */
static struct err *take_expressions(struct dbg_cursor *c, expressions *to)
{
	while (dbg_take(c, "X")) {
		uint64_t n;
		uint32_t n32;

		if (!dbg_take_hex(c, &n) || !dbg_take(c, ",") || !n ||
		    n > dbg_left(c) / 2)
			return err_new(ERR_USAGE, "an expression is cut short");
		n32 = n;
		if (vec_reserve(to, to->size + sizeof(n32) + n))
			return &err_nomem;
		memcpy(to->data + to->size, &n32, sizeof(n32));
		if (dbg_take_bytes(c, to->data + to->size + sizeof(n32), n) < n)
			return err_new(ERR_USAGE, "an expression is cut short");
		to->size += sizeof(n32) + n;
	}
	return NULL;
}

struct err *dbg_code_take(struct dbg_session *s, struct dbg_cursor *c,
			  struct dbg_code **ret)
{
	struct dbg_code *code;
	struct err *err = NULL;
	uint64_t persists;

	*ret = NULL;
	if (!dbg_left(c))
		return NULL;
	code = calloc(1, sizeof(*code));
	if (!code)
		return &err_nomem;
	code->session = s;
	while (!err && dbg_take(c, ";")) {
		// Whether it prints on when gdb has gone: nothing does.
		bool is_command = dbg_take(c, "cmds:");

		if (is_command && (!dbg_take_hex(c, &persists) || !dbg_take(c, ",")))
			err = err_new(ERR_USAGE, "no commands");
		else
			err = take_expressions(c, is_command ? &code->commands :
							       &code->conditions);
	}
	if (!err && dbg_left(c))
		err = err_new(ERR_USAGE, "a point's code ends otherwise");
	if (err)
		code_destroy(code);
	else
		*ret = code;
	return err;
}

/* ---- evaluation ------------------------------------------------------------------------------ */

static bool read_memory(void *ctx, uint64_t addr, void *buf, size_t n)
{
	struct dbg_code *c = ctx;
	struct err *err = dec_machine_read(c->machine, addr, buf, n);

	err_destroy(err);
	return !err;
}

/* The registers of the running thread, found without looking through the others where it can be. */
static struct err *values_of(struct dec_machine *m, const struct dbg_register *reg,
			     struct dbg_values *v)
{
	struct err *err = NULL;

	*v = (struct dbg_values){ .machine = m, .held = -1 };
	if (reg->from == DBG_FROM_GPR || reg->from == DBG_FROM_REGS)
		return dec_machine_regs(m, &v->thread.regs);
	for (size_t i = 0; !err && !v->thread.is_running; i++)
		err = dec_machine_thread(m, i, &v->thread);
	return err;
}

static bool read_register(void *ctx, unsigned number, uint64_t *ret)
{
	struct dbg_code *c = ctx;
	const struct dbg_registers *r = &c->session->registers;
	uint8_t buf[DBG_REGISTER_BYTES];
	struct dbg_values v;
	struct err *err;

	*ret = 0;
	if (number >= r->n || r->reg[number].bytes > sizeof(*ret))
		return false;
	err = values_of(c->machine, &r->reg[number], &v);
	if (!err)
		err = dbg_registers_read(r, &v, number, buf);
	if (!err)
		memcpy(ret, buf, r->reg[number].bytes);
	err_destroy(err);
	return !err;
}

static void say(void *ctx, const char *text, size_t n)
{
	struct dbg_code *c = ctx;
	size_t left = TEXT_MOST - c->said.bytes.size;

	dbg_put(&c->said, text, n < left ? n : left);
}

/* Run what is to be run. @return whether all of it could be. */
static bool run_commands(struct dbg_code *c, const struct dec_agent_world *w)
{
	const char *wrong = NULL;
	uint32_t n;

	c->said.bytes.size = 0;
	for (size_t at = 0; at < c->commands.size && !wrong; at += n) {
		memcpy(&n, &c->commands.data[at], sizeof(n));
		at += sizeof(n);
		wrong = dec_agent_run(&c->commands.data[at], n, w, NULL);
	}
	if (c->said.bytes.size)
		dbg_session_tell(c->session, "%.*s", (int)c->said.bytes.size,
				 c->said.bytes.data);
	if (wrong)
		dbg_session_tell(c->session, "what is to be printed here cannot be: %s\n",
				 wrong);
	return !wrong;
}

static struct dec_agent_conditions conditions_of(const struct dbg_code *c)
{
	return (struct dec_agent_conditions){ c->conditions.data, c->conditions.size };
}

void dbg_code_apply(const struct dbg_point *p, struct dec_trap *t)
{
	if (!p->code)
		return;
	t->only_if = conditions_of(p->code);
	// Conditions need not be asked again: gdb does.
	t->holds = p->code->commands.size ? dbg_code_holds : NULL;
	t->ctx = p->code;
}

bool dbg_code_holds(void *ctx, struct dec_machine *m)
{
	struct dbg_code *c = ctx;
	const struct dec_agent_world w = { read_memory, read_register, say, c };
	const struct dec_agent_conditions conditions = conditions_of(c);

	c->machine = m;
	if (conditions.n && !dec_agent_holds(&conditions, &w))
		return false;
	if (!c->commands.size)
		return true;
	// Backward all of a stretch are asked, and the last counts: that is no order to print in.
	return !c->session->is_going_back && !run_commands(c, &w);
}
