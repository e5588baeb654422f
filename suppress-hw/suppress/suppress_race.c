// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * A race is judged by runs with other schedules; and which races are to be judged.
 */
#include "suppress-hw/suppress/suppress_int.h"

#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>

// An altered run gets so many times what was left, and so many instructions more.
#define TIMES 4
#define MORE (UINT64_C(4) << 20)

const char *sup_race_kind(const struct fl_race *race)
{
	return !race->later.is_write ? "RAW" : race->earlier.is_write ? "WAW" : "WAR";
}

/** One race at hand. */
struct judge {
	struct dec_machine *m;
	const struct fl_race *race;
	uint64_t earlier, later; ///< instructions that make the accesses
	uint64_t addr, end;
	struct sup_race *ret;
};

/** What of it an altered run has done. */
struct done {
	bool earlier, later;
	bool is_over; ///< there is nothing more to wait for
};

/* Does the instruction at hand access what the race is about? */
static struct err *is_there(struct judge *j, uint64_t rip, bool *ret)
{
	struct cap_regs regs;
	struct dec_insn insn;
	uint8_t code[15];
	size_t n = 0;
	struct err *err = dec_machine_regs(j->m, &regs);

	*ret = false;
	for (; n < sizeof(code); n++) {
		_cleanup_err_ struct err *none =
			dec_machine_read(j->m, rip + n, &code[n], 1);

		if (none)
			break;
	}
	if (err || !dec_insn_decode(code, n, rip, &insn))
		return err;
	*ret = insn.is_rep; // where it has come to is not known
	for (int i = 0; i < insn.n_mem; i++) {
		uint64_t at = dec_insn_address(&insn.mem[i], regs.gpr, regs.fs_base,
					       regs.gs_base);

		*ret |= at < j->addr + j->ret->bytes && j->addr < at + insn.mem[i].size;
	}
	return NULL;
}

static struct err *see(struct judge *j, struct sup_schedule *s, struct done *d)
{
	d->is_over = s->is_reached = true;
	return dec_machine_read(j->m, j->addr, s->value, j->ret->bytes);
}

/* An access is about to be made. */
static struct err *take(struct judge *j, struct dec_where *w, bool is_later,
			struct sup_schedule *s, struct done *d)
{
	bool is_read = !(is_later ? &j->race->later : &j->race->earlier)->is_write;
	struct err *err;

	if (is_read && (is_later || d->later))
		return see(j, s, d);
	d->is_over = is_read; // as it was recorded
	if (is_read)
		return NULL;
	err = dec_machine_run(j->m, w->position + 1, w);
	*(is_later ? &d->later : &d->earlier) = true;
	return err || !d->earlier || !d->later ? err : see(j, s, d);
}

/* It stands at @p w. */
static struct err *look(struct judge *j, struct dec_where *w, struct sup_schedule *s,
			struct done *d)
{
	bool is_later = w->tid == j->race->later.tid && w->rip == j->later;
	bool is_earlier = w->tid == j->race->earlier.tid && w->rip == j->earlier;
	bool is_at = false;
	struct err *err = is_later || is_earlier ? is_there(j, w->rip, &is_at) : NULL;

	return err || !is_at ? err : take(j, w, is_later, s, d);
}

static struct err *set_breaks(struct judge *j, bool is_on)
{
	struct err *err = dec_machine_break(j->m, j->earlier, is_on);

	return err ?: dec_machine_break(j->m, j->later, is_on);
}

/* Astray, from @p w on, through both accesses. */
static struct err *meet(struct judge *j, struct dec_where w, uint64_t until,
			struct sup_schedule *s)
{
	struct done d = {};
	struct err *err = set_breaks(j, true);

	while (!err && !d.is_over && w.at == DEC_AT_BREAK) {
		err = look(j, &w, s, &d);
		if (!err && !d.is_over)
			err = dec_machine_run(j->m, until, &w);
	}
	return err ?: set_breaks(j, false);
}

/* To its end. */
static struct err *finish(struct judge *j, uint64_t until, struct sup_schedule *s)
{
	struct dec_where w;
	struct err *err = dec_machine_run(j->m, until, &w);

	s->has_ended = !err && w.at == DEC_AT_END;
	return err || !s->has_ended ? err : dec_machine_outcome(j->m, &s->outcome);
}

/* Astray, thread @p t goes on. @p ret: there. @return ERR_RANGE: it is not ready. */
static struct err *place(struct judge *j, const struct dec_thread *t,
			 struct dec_where *ret)
{
	uint8_t value[64] = {};
	struct cap_regs regs;
	struct err *err;

	memcpy(value, &t->regs.gpr[CAP_RBX], sizeof(t->regs.gpr[0]));
	err = dec_machine_set_reg(j->m, t->tid, CAP_RBX, value);
	if (!err)
		err = dec_machine_regs(j->m, &regs);
	if (err)
		return err;
	*ret = (struct dec_where){ .at = DEC_AT_BREAK,
				   .position = j->race->earlier.time,
				   .tid = t->tid,
				   .rip = regs.rip };
	return NULL;
}

/* It waits for what another thread does: it is not ready. */
static bool waits(const struct dec_thread *t)
{
	uint64_t op = t->regs.gpr[CAP_RSI] & FUTEX_CMD_MASK;

	return t->is_in_call && t->regs.gpr[CAP_RAX] == SYS_futex &&
	       (op == FUTEX_WAIT || op == FUTEX_WAIT_BITSET || op == FUTEX_LOCK_PI);
}

/* Where the earlier access is about to be made thread @p t goes on instead, if it can. */
static struct err *try_thread(struct judge *j, const struct dec_thread *t)
{
	uint64_t from = j->race->earlier.time,
		 until = from + TIMES * (j->end - from) + MORE;
	struct sup_schedule s = { .tid = t->tid };
	struct dec_where w;
	struct err *err = dec_machine_seek(j->m, from, &w), *back;

	if (!err)
		err = dec_machine_stray_awake(j->m);
	if (err)
		return err;
	err = place(j, t, &w);
	if (err && err->code == ERR_RANGE) {
		err_destroy(err);
		return dec_machine_return(j->m, from, &w);
	}
	if (!err)
		err = meet(j, w, until, &s);
	if (!err)
		err = finish(j, until, &s);
	back = dec_machine_return(j->m, from, &w);
	if (err || back) {
		err_destroy(err ? back : NULL);
		return err ?: back;
	}
	j->ret->is_harmful |= s.is_reached &&
			      memcmp(s.value, j->ret->value, j->ret->bytes);
	return vec_add(&j->ret->schedules, s);
}

/* What the recorded run has there: what the one that reads reads, or what both leave. */
static struct err *see_recorded(struct judge *j)
{
	const struct fl_race *race = j->race;
	uint64_t at = !race->later.is_write   ? race->later.time :
		      !race->earlier.is_write ? race->earlier.time :
						race->later.time + 1;
	struct dec_where w;
	struct err *err = dec_machine_seek(j->m, race->later.time, &w);

	j->later = w.rip;
	if (!err)
		err = dec_machine_seek(j->m, race->earlier.time, &w);
	j->earlier = w.rip;
	if (!err)
		err = dec_machine_seek(j->m, at, &w);
	return err ?: dec_machine_read(j->m, j->addr, j->ret->value, j->ret->bytes);
}

struct err *sup_race_judge(struct dec_machine *m, const struct fl_race *race,
			   uint64_t end, struct sup_race *ret)
{
	struct judge j = {
		.m = m, .race = race, .addr = race->later.addr, .end = end, .ret = ret
	};
	VEC(struct dec_thread) threads = {};
	struct dec_where w;
	struct err *err;

	ret->race = *race;
	ret->bytes = race->later.size < SUP_RACE_BYTES ? race->later.size :
							 SUP_RACE_BYTES;
	err = see_recorded(&j);
	if (!err)
		err = dec_machine_seek(m, race->earlier.time, &w);
	for (size_t i = 0; !err; i++) {
		struct dec_thread t;
		_cleanup_err_ struct err *last = dec_machine_thread(m, i, &t);

		if (last)
			break;
		if (!t.is_running && !waits(&t))
			err = vec_add(&threads, t);
	}
	for (size_t i = 0; i < threads.size && !err; i++)
		err = try_thread(&j, &threads.data[i]);
	vec_deinit(&threads);
	return err;
}

void sup_race_deinit(struct sup_race *r)
{
	vec_deinit(&r->schedules);
}

/* ---- which ------------------------------------------------------------------------------------ */

static struct err *find_races(struct sup_session *s)
{
	struct fl_race_options o = { .with_progress = s->o->with_progress };
	struct dec_symbols *symbols = NULL;
	bool has_threads = false;
	struct err *err = s->has_races ? NULL :
					 dec_symbols_create(s->ret->capture, &symbols);

	if (!err && !s->has_races)
		err = fl_races_find(s->ret->capture, symbols, &o, &s->races,
				    &has_threads);
	s->has_races = !err;
	dec_symbols_destroy(symbols);
	return err;
}

/* @return NULL: it was judged before. */
static struct err *judge_once(struct sup_session *s, const struct fl_race *race)
{
	struct sup_race *judged;

	if (vec_find(&s->ret->races, r,
		     r->race.earlier.rip == race->earlier.rip &&
			     r->race.later.rip == race->later.rip))
		return NULL;
	judged = vec_push(&s->ret->races);
	return judged ? sup_race_judge(s->machine, race, s->end, judged) : &err_nomem;
}

/* Is @p x what writes at @p p? */
static bool writes_at(struct sup_session *s, const struct fl_race_access *x,
		      const struct sup_place *p)
{
	struct dec_place at = {};

	if (!x->is_write || x->rip == p->rip)
		return x->is_write;
	dec_symbols_place(s->ret->symbols, x->rip, &at);
	return at.file && p->place.file && at.line == p->place.line &&
	       !strcmp(at.file, p->place.file);
}

struct err *sup_race_at(struct sup_session *s, const struct sup_place *p)
{
	struct err *err = find_races(s);

	for (size_t i = 0; i < s->races.size && !err && !s->ret->is_race; i++) {
		const struct fl_race *race = &s->races.data[i];

		if (!writes_at(s, &race->earlier, p) && !writes_at(s, &race->later, p))
			continue;
		err = judge_once(s, race);
		s->ret->is_race = !err &&
				  s->ret->races.data[s->ret->races.size - 1].is_harmful;
	}
	return err;
}

struct err *sup_race_asked(struct sup_session *s)
{
	struct err *err = find_races(s);

	if (!err && s->o->race > s->races.size)
		err = err_new(ERR_NOT_FOUND, "it has %zu race%s that check knows of",
			      s->races.size, s->races.size == 1 ? "" : "s");
	if (!err)
		err = judge_once(s, &s->races.data[s->o->race - 1]);
	s->ret->is_race = !err && s->ret->races.data[s->ret->races.size - 1].is_harmful;
	return err;
}
