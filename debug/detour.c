// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "debug/detour.h"

#include <string.h>

#include "decode/machine/branch.h"

/* ---- reading --------------------------------------------------------------------------------- */

void dbg_detour_deinit(struct dbg_detour *d)
{
	vec_deinit(&d->turns);
}

/* Take ":NUMBER". */
static bool take_field(struct dbg_cursor *c, uint64_t *ret)
{
	return dbg_take(c, ":") && dbg_take_hex(c, ret);
}

static bool take_turn(struct dbg_cursor *c, struct dbg_turn *ret)
{
	*ret = (struct dbg_turn){ .kind = DBG_TURN_START };
	if (dbg_take(c, "s"))
		return take_field(c, &ret->at);
	if (dbg_take(c, "r")) {
		ret->kind = DBG_TURN_RETURN;
		return take_field(c, &ret->at);
	}
	if (dbg_take(c, "j")) {
		ret->kind = DBG_TURN_JUMP;
		return take_field(c, &ret->at) && take_field(c, &ret->to);
	}
	ret->kind = DBG_TURN_FLIP;
	return dbg_take(c, "f") && take_field(c, &ret->at) &&
	       take_field(c, &ret->taken) && take_field(c, &ret->not_taken);
}

struct err *dbg_detour_parse(const char *text, struct dbg_detour *ret)
{
	struct dbg_detour d = {};
	struct dbg_cursor c;
	char *end;

	d.nth = strtoull(text, &end, 10);
	c = (struct dbg_cursor){ end, text + strlen(text) };
	while (end > text && dbg_take(&c, " ")) {
		struct dbg_turn t;

		if (!take_turn(&c, &t))
			break;
		if (vec_add(&d.turns, t)) {
			dbg_detour_deinit(&d);
			return &err_nomem;
		}
	}
	if (dbg_left(&c) || !d.turns.size) {
		dbg_detour_deinit(&d);
		return err_new(ERR_USAGE, "no detour: see monitor help");
	}
	*ret = d;
	return NULL;
}

/* ---- on the way ------------------------------------------------------------------------------ */

static struct err *go_on_at(struct dbg_session *s, uint64_t rip)
{
	uint8_t value[64] = {};
	struct err *err;

	memcpy(value, &rip, sizeof(rip));
	err = dec_machine_set_reg(s->machine, s->where.tid, DEC_REG_RIP, value);
	return err ?: dec_machine_run(s->machine, 0, &s->where);
}

/* Have the function that begins here return; what rax holds, it returns. */
static struct err *give_up(struct dbg_session *s)
{
	struct cap_regs regs;
	struct err *err = dec_machine_regs(s->machine, &regs);
	uint8_t value[64] = {};
	uint64_t to, rsp;

	if (!err)
		err = dec_machine_read(s->machine, regs.gpr[CAP_RSP], &to, sizeof(to));
	if (err)
		return err;
	rsp = regs.gpr[CAP_RSP] + sizeof(to);
	memcpy(value, &rsp, sizeof(rsp));
	err = dec_machine_set_reg(s->machine, s->where.tid, CAP_RSP, value);
	return err ?: go_on_at(s, to);
}

/* Let the branch decide, and go where it does not. */
static struct err *flip(struct dbg_session *s, const struct dbg_turn *t)
{
	const struct dec_where before = s->where;
	uint8_t bytes[15];
	struct dec_insn insn;
	struct err *err;
	uint64_t to;

	if (!dec_insn_decode(bytes, dbg_session_read(s, t->at, bytes, sizeof(bytes)),
			     t->at, &insn) ||
	    insn.flow != DEC_FLOW_JCC)
		return NULL;
	err = dec_machine_run(s->machine, before.position + 1, &s->where);
	if (err || s->where.tid != before.tid)
		return err;
	to = s->where.rip == insn.target ? t->taken : t->not_taken;
	return to ? go_on_at(s, to) : NULL;
}

static struct err *turn(struct dbg_session *s, struct dbg_detour *d,
			const struct dbg_turn *t)
{
	if (t->kind == DBG_TURN_START || t->kind == DBG_TURN_RETURN) {
		d->seen++;
		d->is_active = !d->nth || d->seen == d->nth;
	}
	if (!d->is_active || t->kind == DBG_TURN_START)
		return NULL;
	if (t->kind == DBG_TURN_RETURN)
		return give_up(s);
	return t->kind == DBG_TURN_JUMP ? go_on_at(s, t->to) : flip(s, t);
}

struct err *dbg_detours_take(struct dbg_session *s, dbg_detours *all)
{
	uint64_t rip = s->where.rip;

	for (size_t i = 0; i < all->size; i++) {
		struct dbg_detour *d = &all->data[i];

		// Its turns stand in this order: an instance begins before it is left.
		for (size_t k = 0; k < d->turns.size; k++) {
			struct err *err;

			if (d->turns.data[k].at != rip)
				continue;
			err = turn(s, d, &d->turns.data[k]);
			if (err)
				return err;
			if (s->where.rip != rip)
				return NULL;
		}
	}
	return NULL;
}

struct err *dbg_detours_break(struct dbg_session *s, const dbg_detours *all, bool is_on)
{
	struct err *err = NULL;

	for (size_t i = 0; i < all->size && !err; i++)
		for (size_t k = 0; k < all->data[i].turns.size && !err; k++)
			err = dec_machine_break(s->machine, all->data[i].turns.data[k].at,
						is_on);
	return err;
}
