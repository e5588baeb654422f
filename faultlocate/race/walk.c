// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The run, from the machine's log of addresses: calls and returns, and each access of the user's code,
 * or of a string function that it called. What else libraries do in memory is theirs.
 *
 * What is atomic? An instruction with a lock prefix, or xchg; what is inlined of <atomic>; and loads and
 * stores of words that such are used on elsewhere, as x86 has no other instructions for those. An
 * atomic load acquires and a store releases, which the weakest do there.
 */
#include <string.h>

#include "faultlocate/race/race_int.h"

#include "decode/x86/zydis.h"

/* ---- accesses ------------------------------------------------------------------------------------ */

static uint32_t number_statement(struct race_walk *w, uint64_t rip)
{
	const uint64_t *known = map_get(&w->statement_of, rip);

	if (known)
		return *known;
	if (vec_add(&w->statements, rip) ||
	    map_put(&w->statement_of, rip, w->statements.size))
		return 0;
	return w->statements.size;
}

static void fill(const struct race_walk *w, const struct shadow_record *r, uint64_t addr,
		 struct fl_race_access *ret)
{
	*ret = (struct fl_race_access){
		.time = r->time,
		.rip = w->statements.data[r->statement - 1],
		.addr = addr,
		.size = r->size,
		.tid = fl_race_tid(w, r->thread, r->clock),
		.is_write = r->is_write,
		.is_atomic = r->is_atomic,
	};
	if (r->locks) {
		const struct race_lock_set *set = &w->lock_sets.data[r->locks - 1];

		memcpy(ret->lock, set->lock, sizeof(ret->lock));
		ret->n_locks = set->n;
	}
}

static struct err *on_race(void *ctx, const struct shadow_record *earlier,
			   const struct shadow_record *later, uint64_t addr)
{
	struct race_walk *w = ctx;
	uint64_t a = earlier->statement, b = later->statement, key;
	const uint64_t *known;
	struct fl_race *race;

	key = a < b ? a << 32 | b : b << 32 | a;
	known = map_get(&w->seen, key);
	if (known) {
		race = &w->found.data[*known - 1];
		race->count++;
		race->last_time = later->time;
		return NULL;
	}
	race = vec_push(&w->found);
	if (!race || map_put(&w->seen, key, w->found.size))
		return &err_nomem;
	race->count = 1;
	race->last_time = later->time;
	fill(w, earlier, addr, &race->earlier);
	fill(w, later, addr, &race->later);
	return NULL;
}

/* What is settled is so for one thread at one time of its clock. */
static void follow_epoch(struct race_walk *w)
{
	size_t clock = race_now(w)->clock;
	uint32_t time = clocks_now(&w->clocks, clock);

	w->shadow.generation += clock != w->epoch_clock || time != w->epoch_time;
	w->epoch_clock = clock;
	w->epoch_time = time;
}

// Before a second thread is made all is in order.
static bool is_looked_for(const struct race_walk *w)
{
	return !w->is_learning && (w->has_made || w->threads.size > 1);
}

static struct err *access_as(struct race_walk *w, uint64_t time, uint32_t statement,
			     uint64_t addr, uint64_t size, bool is_write, bool is_atomic)
{
	const struct race_thread *t = race_now(w);
	struct shadow_record x = { .time = time,
				   .clock = clocks_now(&w->clocks, t->clock),
				   .statement = statement,
				   .locks = t->lock_set,
				   .thread = t->clock,
				   .is_write = is_write,
				   .is_atomic = is_atomic,
				   .size = size < UINT32_MAX ? size : UINT32_MAX };

	x.is_write &= !w->unchanged.size || !map_get(&w->unchanged, time);
	clocks_access(&w->clocks, t->clock);
	return fl_shadow_access(&w->shadow, &w->clocks, addr, &x, on_race, w);
}

struct err *fl_race_access(struct race_walk *w, uint64_t time, uint64_t rip,
			   uint64_t addr, uint64_t size, bool is_write, bool is_atomic)
{
	uint32_t statement;

	if (!is_looked_for(w) || !size)
		return NULL;
	follow_epoch(w);
	statement = number_statement(w, rip);
	return statement ?
		       access_as(w, time, statement, addr, size, is_write, is_atomic) :
		       &err_nomem;
}

/* ---- atomic objects ------------------------------------------------------------------------------- */

static bool is_locked(const struct dec_insn *insn, int m)
{
	if (insn->mnemonic == ZYDIS_MNEMONIC_XCHG)
		return insn->mem[m].is_write;
	for (int i = 0; i < insn->len && dec_insn_is_legacy_prefix(insn->bytes[i]); i++)
		if (insn->bytes[i] == 0xf0)
			return true;
	return false;
}

/* Is @p file a header in which atomic objects' functions are? */
static bool is_atomics_header(const char *file)
{
	const char *name = file ? strrchr(file, '/') : NULL, *end;

	name = name ? name + 1 : file;
	end = name ? strrchr(name, '.') : NULL;
	return name && strcasestr(name, "atomic") && (!end || end[1] == 'h');
}

/* Does instruction @p i of @p b, which is atomic, tell what it found? Only who looks acquires. */
static bool is_looked_at(const struct log_block *b, uint32_t i)
{
	const struct dec_insn *insn = &b->insn[i];

	return insn->gpr_written || i + 1 >= b->n_insns || b->insn[i + 1].reads_flags;
}

static int learn_atomic(struct race_walk *w, uint64_t rip, uint64_t addr)
{
	const uint64_t *known = map_get(&w->atomics, addr);

	if (known && *known == RACE_BY_ANY)
		return 0;
	return map_put(&w->atomics, addr,
		       fl_race_says(w, rip) == RACE_SAYS_DIRECTIVE ? RACE_BY_DIRECTIVE :
								     RACE_BY_ANY);
}

/* Is a load or store by @p rip of the word at @p addr one of an atomic object? */
static bool is_of_atomic(struct race_walk *w, uint64_t rip, uint64_t addr)
{
	const uint64_t *by = w->atomics.size ? map_get(&w->atomics, addr) : NULL;

	return by && (*by == RACE_BY_ANY || fl_race_says(w, rip) != RACE_SAYS_PLAIN);
}

/* An atomic access: what it orders, and that it is there. */
static struct err *access_atomic(struct race_walk *w, const struct race_operand *o,
				 uint64_t time, uint64_t rip, uint64_t addr,
				 uint64_t size)
{
	uint64_t key = race_key(SPACE_OBJECT, addr);
	struct err *err = NULL;

	if (o->is_read && o->acquires)
		err = race_acquire(w, key);
	if (!err)
		err = fl_race_access(w, time, rip, addr, size, o->is_write, true);
	if (!err && o->is_write)
		err = race_release(w, key);
	follow_epoch(w);
	return err;
}

/* ---- cmov ---------------------------------------------------------------------------------------- */

/* It loads whatever its condition is, and drops that where it does not hold: then the source may have no access there.
 * The log has no flags; a register that is what it was tells that nothing was taken, or nothing else. */
static bool is_choice(const struct dec_insn *insn)
{
	return insn->mnemonic >= ZYDIS_MNEMONIC_CMOVB &&
	       insn->mnemonic <= ZYDIS_MNEMONIC_CMOVZ;
}

/* Have the registers told before @p insn and behind it. */
static struct err *learn_choice(struct race_walk *w, const struct dec_insn *insn)
{
	return map_put(&w->places, insn->rip, 1) ||
			       map_put(&w->places, insn->rip + insn->len, 1) ?
		       &err_nomem :
		       NULL;
}

static void begin_choice(struct race_walk *w, const struct log_block *b,
			 const struct race_operand *o, const uint8_t *rec, uint64_t time,
			 uint64_t rip, uint64_t addr)
{
	const struct dec_insn *insn = &b->insn[o->insn];
	int reg = __builtin_ctz(insn->gpr_written);

	if (o->insn || !b->is_watched)
		return;
	race_now(w)->choice = (struct race_choice){ .time = time,
						    .rip = rip,
						    .addr = addr,
						    .behind = insn->rip + insn->len,
						    .before = log_word(rec, 8 + 8 * reg),
						    .reg = reg,
						    .size = insn->mem[o->mem].size };
}

/* The thread is at @p rip. */
static struct err *end_choice(struct race_walk *w, uint64_t rip, const uint64_t *gpr)
{
	const struct race_choice c = race_now(w)->choice;

	race_now(w)->choice.behind = 0;
	if (rip != c.behind || !gpr || !((gpr[c.reg] ^ c.before) << (64 - 8 * c.size)))
		return NULL;
	return fl_race_access(w, c.time, c.rip, c.addr, c.size, false, false);
}

/* ---- blocks ---------------------------------------------------------------------------------------- */

static bool is_of_stack(const struct dec_insn *insn, const struct dec_mem *m)
{
	return m->base == CAP_RSP &&
	       (dec_insn_rsp_step(insn) || insn->flow != DEC_FLOW_NEXT);
}

static void lay_out_operand(struct race_walk *w, const struct log_block *b, uint32_t i,
			    int m, struct race_operand *ret)
{
	const struct dec_insn *insn = &b->insn[i];
	const struct dec_mem *d = &insn->mem[m];
	bool is_frames = d->base == CAP_RSP || d->base == CAP_RBP;
	struct dec_place place = {};

	*ret = (struct race_operand){ .insn = i,
				      .mem = m,
				      .is_read = d->is_read,
				      .is_write = d->is_write,
				      .is_fs = d->is_fs,
				      .has_lanes = insn->lane_bytes,
				      .where = dec_log_where(b, i, m),
				      .is_own =
					      dec_frames_is_own(&w->frames, insn->rip) };
	if (!ret->is_own)
		return;
	ret->is_locked = is_locked(insn, m);
	ret->is_choice = is_choice(insn);
	ret->acquires = !ret->is_locked || is_looked_at(b, i);
	ret->is_plain = !ret->is_locked && d->is_read != d->is_write;
	if (ret->is_plain && map_get(&w->instructions, insn->rip)) {
		ret->is_known = true;
		return;
	}
	if (!is_frames)
		dec_symbols_place(w->symbols, insn->rip, &place);
	ret->is_known = ret->is_plain && is_atomics_header(place.file);
}

static void add_operand(struct race_walk *w, const struct log_block *b, uint32_t i, int m,
			struct race_block *rb)
{
	struct race_operand *o = &rb->operand[rb->n++];

	lay_out_operand(w, b, i, m, o);
	rb->has_own |= o->is_own;
	rb->has_news |= o->is_locked || o->is_choice;
}

/* The module alone is asked for: a place would have the C library's debug information unpacked. */
static bool is_in_library(const struct race_walk *w, uint64_t rip)
{
	const char *module = w->library ? dec_symbols_module(w->symbols, rip) : NULL;

	return module && !strcmp(module, w->library);
}

static struct race_block *lay_out(struct race_walk *w, struct log_block *b)
{
	uint32_t n = 0, last = b->n_insns - 1;
	struct race_block *rb;

	for (uint32_t i = 0; i < b->n_insns; i++)
		n += b->insn[i].n_mem;
	rb = calloc(1, sizeof(*rb) + n * sizeof(rb->operand[0]));
	if (!rb)
		return NULL;
	b->user = rb;
	rb->branch = -1;
	for (uint32_t i = 0; i < b->n_insns; i++) {
		const struct dec_insn *insn = &b->insn[i];

		for (int m = 0; m < insn->n_mem; m++) {
			bool is_stack = is_of_stack(insn, &insn->mem[m]);

			if (!is_stack)
				add_operand(w, b, i, m, rb);
			else if (i == last && insn->flow != DEC_FLOW_NEXT)
				rb->branch = m;
		}
	}
	if (!b->n_insns)
		return rb;
	rb->has_call = b->insn[last].flow == DEC_FLOW_CALL ||
		       b->insn[last].flow == DEC_FLOW_CALL_IND;
	rb->has_ret = b->insn[last].flow == DEC_FLOW_RET;
	rb->jump_end = dec_frames_jump_end(&w->frames, &b->insn[last]);
	if ((b->insn[last].flow == DEC_FLOW_JMP_IND ||
	     b->insn[last].flow == DEC_FLOW_CALL_IND) &&
	    b->insn[last].n_mem && b->insn[last].mem[0].is_absolute)
		rb->slot = b->insn[last].mem[0].disp;
	if (map_get(&w->strings, b->rip))
		rb->string = *map_get(&w->strings, b->rip);
	rb->is_library = is_in_library(w, b->rip);
	return rb;
}

/* Is what is done in memory at present the library's, in a call that synchronises? */
static bool is_in_call(const struct race_thread *t)
{
	return t->open.size && !t->open.data[t->open.size - 1].is_callback;
}

/* Whose is an access there at present? @return the statement; 0: nobody's that is looked at. */
static uint64_t statement_of(struct race_walk *w, uint64_t rip, bool is_own,
			     bool is_library, bool is_write)
{
	const struct race_thread *t = race_now(w);
	const struct frames *f = &w->frames;

	if (is_in_call(t))
		return 0;
	if (is_own)
		return rip;
	if (!is_library || !t->string_rsp || !(is_write || t->is_exact))
		return 0;
	for (size_t i = f->stack.size; i && f->stack.data[i - 1].rsp <= t->string_rsp;
	     i--)
		if (f->stack.data[i - 1].rsp == t->string_rsp)
			return f->stack.data[i - 1].return_rip - 1;
	return 0;
}

static struct err *access_plain(struct race_walk *w, const struct race_operand *o,
				uint64_t time, uint32_t statement, uint64_t addr,
				uint64_t size)
{
	struct err *err = NULL;

	if (o->is_read)
		err = access_as(w, time, statement, addr, size, false, false);
	if (o->is_write && !err)
		err = access_as(w, time, statement, addr, size, true, false);
	return err;
}

/* What the record tells of an operand that has lanes. */
static struct err *access_lanes(struct race_walk *w, const struct log_block *b,
				const struct race_operand *o, const uint8_t *rec,
				uint64_t time, uint32_t statement, uint64_t addr)
{
	struct log_run run[LOG_RUNS];
	int n = dec_log_accesses(b, o->insn, o->mem, rec, run);
	struct err *err = NULL;

	for (int i = 0; i < n && !err; i++)
		err = access_plain(w, o, time, statement, addr + run[i].offset,
				   run[i].size);
	return err;
}

/* An operand of the user's code: what it did last is not done again. */
static struct err *on_own(struct race_walk *w, const struct log_block *b,
			  struct race_operand *o, const uint8_t *rec, uint64_t time)
{
	const struct dec_insn *insn = &b->insn[o->insn];
	uint64_t addr = dec_log_at(&o->where, rec) + (o->is_fs ? w->fs_base : 0);
	struct err *err;

	if (o->addr == addr && o->generation == w->shadow.generation)
		return NULL;
	if (o->is_locked || o->is_known ||
	    (o->is_plain && is_of_atomic(w, insn->rip, addr)))
		return access_atomic(w, o, time, insn->rip, addr, insn->mem[o->mem].size);
	if (o->is_choice) {
		begin_choice(w, b, o, rec, time, insn->rip, addr);
		return NULL;
	}
	if (!is_looked_for(w))
		return NULL;
	if (!o->statement)
		o->statement = number_statement(w, insn->rip);
	if (!o->statement)
		return &err_nomem;
	if (o->has_lanes)
		return access_lanes(w, b, o, rec, time, o->statement, addr);
	err = access_plain(w, o, time, o->statement, addr, insn->mem[o->mem].size);
	o->addr = addr;
	// Where there are stores that change nothing, it is the time that tells whether it is a write.
	o->generation =
		w->shadow.is_settled && !w->unchanged.size ? w->shadow.generation : 0;
	return err;
}

/* .. of a string function's. */
static struct err *on_foreign(struct race_walk *w, const struct log_block *b,
			      const struct race_operand *o, const uint8_t *rec,
			      uint64_t time)
{
	uint64_t rip = statement_of(w, b->insn[o->insn].rip, false, true, o->is_write);
	uint32_t statement = rip && is_looked_for(w) ? number_statement(w, rip) : 0;
	uint64_t addr = dec_log_at(&o->where, rec) + (o->is_fs ? w->fs_base : 0);

	return statement ? access_lanes(w, b, o, rec, time, statement, addr) : NULL;
}

static struct err *learn_operand(struct race_walk *w, const struct log_block *b,
				 const struct race_operand *o, const uint8_t *rec)
{
	const struct dec_insn *insn = &b->insn[o->insn];
	uint64_t addr = dec_log_at(&o->where, rec) + (o->is_fs ? w->fs_base : 0);

	if (o->is_locked)
		return learn_atomic(w, insn->rip, addr) ? &err_nomem : NULL;
	return o->is_choice && !o->is_known ? learn_choice(w, insn) : NULL;
}

static struct err *on_operands(struct race_walk *w, const struct log_block *b,
			       struct race_block *rb, const uint8_t *rec, uint32_t n_ran,
			       uint64_t time)
{
	const struct race_thread *t = race_now(w);
	bool is_string = rb->is_library && t->string_rsp && !w->is_learning;
	struct err *err = NULL;

	if (is_in_call(t) || !(w->is_learning ? rb->has_news : rb->has_own || is_string))
		return NULL;
	if (!w->is_learning)
		follow_epoch(w);
	for (uint32_t i = 0; i < rb->n && rb->operand[i].insn < n_ran && !err; i++) {
		struct race_operand *o = &rb->operand[i];

		if (w->is_learning)
			err = learn_operand(w, b, o, rec);
		else if (o->is_own)
			err = on_own(w, b, o, rec, time + o->insn);
		else if (is_string)
			err = on_foreign(w, b, o, rec, time + o->insn);
	}
	return err;
}

/* The string function that @p string tells of begins, if it is the user who calls it. */
static void begin_string(struct race_walk *w, int string)
{
	struct race_thread *t = race_now(w);
	const struct frames *f = &w->frames;
	const struct frame *top = f->stack.size ? &f->stack.data[f->stack.size - 1] :
						  NULL;

	if (!string || !top || t->string_rsp ||
	    !dec_frames_is_own(&w->frames, top->return_rip - 1))
		return;
	t->string_rsp = top->rsp;
	t->is_exact = string == RACE_EXACT;
}

/* A function begins, perhaps: behind a call or jump. */
static struct err *land(struct race_walk *w, const struct race_block *rb, uint64_t rip)
{
	struct race_thread *t = race_now(w);
	const struct frames *f = &w->frames;
	const struct frame *top = f->stack.size ? &f->stack.data[f->stack.size - 1] :
						  NULL;

	if (!top)
		return NULL;
	if (t->was_call && w->callbacks.size) {
		struct err *err = fl_race_enter_callback(w, rip, top->rsp);

		if (err)
			return err;
	}
	begin_string(w, rb->string);
	return NULL;
}

static struct err *begin_block(struct race_walk *w, uint64_t rip, const uint64_t *gpr,
			       const struct race_block *rb, uint64_t time)
{
	struct err *err = frames_land(&w->frames, rip);

	if (!err && race_now(w)->choice.behind)
		err = end_choice(w, rip, gpr);
	if (!err && race_now(w)->has_pending)
		err = fl_race_finish(w, gpr ? gpr[CAP_RAX] : 0);
	if (!err && gpr)
		err = fl_race_enter(w, rip, gpr, time);
	return err ? err : land(w, rb, rip);
}

/* The thread jumps, or calls, through a slot: to a string function? */
static void follow_slot(struct race_walk *w, const struct race_block *rb)
{
	const uint64_t *known = rb->slot ? map_get(&w->slots, rb->slot) : NULL;

	begin_string(w, known ? *known : 0);
}

static struct err *end_block(struct race_walk *w, const struct log_block *b,
			     const struct race_block *rb, const uint8_t *rec,
			     uint64_t time)
{
	const struct dec_insn *last = &b->insn[b->n_insns - 1];
	struct err *err = NULL;
	uint64_t at =
		rb->branch < 0 ? 0 : dec_log_address(b, b->n_insns - 1, rb->branch, rec);

	w->frames.jump_end = rb->jump_end;
	race_now(w)->was_call = rb->has_call;
	if (rb->has_call)
		err = dec_frames_call(&w->frames, last->rip + last->len, at, time);
	follow_slot(w, rb);
	if (rb->has_ret && !err) {
		dec_frames_return(&w->frames, at);
		err = fl_race_return(w, at);
	}
	return err;
}

static struct err *on_block(void *ctx, struct log_block *b, const uint8_t *rec,
			    uint32_t n_ran, uint64_t time)
{
	struct race_walk *w = ctx;
	struct race_block *rb = b->user ? b->user : lay_out(w, b);
	uint64_t gpr[16];
	struct err *err;

	if (!rb)
		return &err_nomem;
	if (!b->n_insns || !n_ran)
		return NULL;
	if (b->is_watched)
		memcpy(gpr, rec + 8, sizeof(gpr));
	err = begin_block(w, b->rip, b->is_watched ? gpr : NULL, rb, time);
	if (!err)
		err = on_operands(w, b, rb, rec, n_ran, time);
	return err || n_ran < b->n_insns ? err :
					   end_block(w, b, rb, rec, time + n_ran - 1);
}

/* ---- the rest --------------------------------------------------------------------------------------- */

static bool is_library(struct race_walk *w, uint64_t rip)
{
	return race_now(w)->string_rsp && is_in_library(w, rip);
}

/* An instruction that was stepped in C: rep movs, and rare ones. */
static struct err *on_slow(void *ctx, const struct dec_rec_slow *rec,
			   const struct dec_insn *insn, uint64_t time)
{
	const struct race_block none = {};
	struct log_refs refs = dec_log_refs(rec);
	const struct dec_rec_ref *ref;
	struct race_walk *w = ctx;
	uint64_t at = rec->gpr[CAP_RSP] - (insn->flow == DEC_FLOW_RET ? 0 : 8), rip;
	bool is_own = dec_frames_is_own(&w->frames, insn->rip);
	bool is_of_library = !is_own && is_library(w, insn->rip);
	struct err *err =
		begin_block(w, rec->rip, rec->is_watched ? rec->gpr : NULL, &none, time);
	const uint8_t *data;

	while (!err && insn->flow == DEC_FLOW_NEXT &&
	       (ref = dec_log_next_ref(&refs, &data))) {
		rip = ref->is_mem ? statement_of(w, insn->rip, is_own, is_of_library,
						 ref->is_def) :
				    0;
		if (rip)
			err = fl_race_access(w, time, rip, ref->addr, ref->bytes,
					     ref->is_def, false);
	}
	dec_log_follow_fs(rec, insn, &w->fs_base);
	w->frames.jump_end = dec_frames_jump_end(&w->frames, insn);
	race_now(w)->was_call = insn->flow == DEC_FLOW_CALL ||
				insn->flow == DEC_FLOW_CALL_IND;
	if (!err && race_now(w)->was_call)
		err = dec_frames_call(&w->frames, insn->rip + insn->len, at, time);
	if (!err && insn->flow == DEC_FLOW_RET) {
		dec_frames_return(&w->frames, at);
		err = fl_race_return(w, at);
	}
	return err;
}

/* Registers of the thread from here on. Where it begins, its stack may be that of one that is gone. */
static struct err *on_state(struct race_walk *w, const struct dec_rec *rec)
{
	uint64_t base = rec->value[17], rsp = rec->value[CAP_RSP];
	const uint64_t *known = map_get(&w->by_base, base);
	const struct dec_range *stack;

	w->fs_base = base;
	if (rec->value[20] == DEC_STATE_SIGNAL) {
		struct err *err = fl_race_take_signal(w, rec->value[CAP_RDI]);

		race_now(w)->left_at =
			0; // in a call that is made again behind the handler
		if (err)
			return err;
	}
	if (!base || (known && *known == w->thread))
		return NULL;
	if (w->thread) {
		stack = vec_find(&w->stacks, s, rsp - s->start < s->end - s->start);
		if (stack)
			fl_shadow_clear(&w->shadow, stack->start,
					stack->end - stack->start);
	}
	return map_put(&w->by_base, base, w->thread) ? &err_nomem : NULL;
}

static struct err *on_other(void *ctx, const struct dec_rec *rec, uint64_t time)
{
	struct race_walk *w = ctx;

	switch (rec->id) {
	case DEC_REC_THREAD:
		return fl_race_switch(w, rec->value[0], rec->value[2]);
	case DEC_REC_STATE:
		return w->threads.size ? on_state(w, rec) : NULL;
	case DEC_REC_SYSCALL:
		w->fs_base = rec->value[13];
		return w->threads.size ? fl_race_syscall(w, rec, time) : NULL;
	default:
		return NULL;
	}
}

const struct log_sink fl_race_sink = { NULL, on_block, on_slow, on_other };
