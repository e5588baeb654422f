// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * First the whole run once, logging where indirect jumps went: what code there is, which calls came
 * back; checkpoints on the way.
 */

#include "faultlocate/slice/trace.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE 4096
#define SEEN (1u << 14)
#define STACK_WORDS \
	(1u << 16) // of the stack at a crash: deeper calls are taken to have ended

/* ---- instructions and blocks ------------------------------------------------------------ */

uint32_t fl_trace_intern(struct fl_trace *t, const struct dec_insn *insn)
{
	const uint64_t *at = map_get(&t->insn_of, insn->rip);
	struct trace_insn *made;

	// Code may have changed since.
	if (at && t->insns.data[*at].insn.len == insn->len &&
	    !memcmp(t->insns.data[*at].insn.bytes, insn->bytes, insn->len))
		return *at;
	made = vec_push(&t->insns);
	if (!made || map_put(&t->insn_of, insn->rip, t->insns.size - 1))
		return UINT32_MAX;
	made->insn = *insn;
	return t->insns.size - 1;
}

const struct effect *fl_trace_effect(struct fl_trace *t, uint32_t i)
{
	struct trace_insn *insn = &t->insns.data[i];

	if (!insn->effect)
		insn->effect = fl_effect_of(&insn->insn);
	return insn->effect;
}

struct err *fl_trace_find_place(struct fl_trace *t, uint32_t i, struct trace_place *ret)
{
	struct err *err;

	*ret = (struct trace_place){ FLOW_NONE, FLOW_NONE, true };
	while (t->places.size < t->insns.size)
		if (!vec_push(&t->places))
			return &err_nomem;
	err = fl_flow_block(t->flow, t->insns.data[i].insn.rip, &ret->block);
	if (err)
		return err;
	if (ret->block != FLOW_NONE)
		ret->function = fl_flow_function(t->flow, ret->block);
	t->places.data[i] = *ret;
	return NULL;
}

static void make_operand(struct trace_mem *to, const struct log_mem *where,
			 const struct dec_mem *m)
{
	*to = (struct trace_mem){ .base_at = where->base_at,
				  .index_at = where->index_at,
				  .base_step = where->base_step,
				  .index_step = where->index_step,
				  .scale = m->scale,
				  .size = m->size,
				  .is_fs = m->is_fs,
				  .is_addr32 = m->is_addr32,
				  .is_write = m->is_write,
				  .disp = m->disp };
}

_Static_assert(DEC_BLOCK_INSNS <= 32, "a bit for each");

/* How instruction @p i, @p insn, of @p b stores. */
static void note_stores(struct trace_block *b, uint32_t i, const struct effect *e,
			const struct dec_insn *insn)
{
	uint32_t bit = 1u << i, n_defs = 0, n_written = 0;

	for (int d = 0; d < e->n_defs; d++) {
		if (!e->def[d].is_mem)
			continue;
		n_defs++;
		b->written[i] = b->first_mem[i] + e->def[d].mem;
		b->maybes |= e->def[d].is_maybe ? bit : 0;
	}
	for (int m = 0; m < insn->n_mem; m++)
		n_written += insn->mem[m].is_write;
	b->stores |= n_defs ? bit : 0;
	b->odd |= n_defs > 1 || n_written != n_defs || insn->is_slow_addr ? bit : 0;
	b->restores |= e->is_restore ? bit : 0;
}

/* Room for @p n_mem operands of @p b, and for what else there is of each instruction. */
static struct err *make_room(struct trace_block *b, uint32_t n_mem)
{
	b->mem = calloc(1, n_mem * sizeof(*b->mem) +
				   b->n * (sizeof(*b->defs) + sizeof(*b->touched) +
					   sizeof(*b->insn) + 2) +
				   n_mem + 1);
	if (!b->mem)
		return &err_nomem;
	b->defs = (uint64_t *)(b->mem + n_mem);
	b->touched = b->defs + b->n;
	b->insn = (uint32_t *)(b->touched + b->n);
	b->first_mem = (uint8_t *)(b->insn + b->n);
	b->written = b->first_mem + b->n + 1;
	b->store = b->written + b->n;
	return NULL;
}

/* Fill in what the instructions @p insn of @p b access and define. */
static struct err *lay_out(struct fl_trace *t, const struct log_block *b,
			   const uint32_t *insn, struct trace_block *to)
{
	struct err *err;
	uint32_t n = 0;

	for (uint32_t i = 0; i < b->n_insns; i++)
		n += b->insn[i].n_mem;
	err = make_room(to, n);
	if (err)
		return err;
	memcpy(to->insn, insn, to->n * sizeof(*insn));
	n = 0;
	for (uint32_t i = 0; i < b->n_insns; i++) {
		const struct effect *e = fl_trace_effect(t, insn[i]);

		if (!e)
			return &err_nomem;
		to->defs[i] = e->regs;
		to->regs |= e->regs;
		to->first_mem[i] = n;
		note_stores(to, i, e, &b->insn[i]);
		to->touched[i] = effect_touches(e);
		if (i && !((to->stores | to->odd) >> (i - 1) & 1))
			to->touched[i] |= to->touched[i - 1];
		for (int m = 0; m < b->insn[i].n_mem; m++, n++) {
			make_operand(&to->mem[n], &b->mem[i][m], &b->insn[i].mem[m]);
			if (b->insn[i].mem[m].is_write)
				to->store[to->n_stores++] = n;
		}
	}
	to->first_mem[b->n_insns] = n;
	return NULL;
}

struct err *fl_trace_find_block(struct fl_trace *t, const struct log_block *b,
				uint32_t *ret)
{
	struct trace_block made = { .rip = b->rip,
				    .n = b->n_insns,
				    .is_watched = b->is_watched };
	uint64_t hash = b->rip * 0x9e3779b97f4a7c15;
	uint32_t insn[DEC_BLOCK_INSNS];
	const uint64_t *at;
	struct err *err;

	for (uint32_t i = 0; i < b->n_insns; i++) {
		insn[i] = fl_trace_intern(t, &b->insn[i]);
		if (insn[i] == UINT32_MAX)
			return &err_nomem;
		hash = (hash ^ insn[i]) * 0x100000001b3;
	}
	hash ^= b->n_insns | (uint64_t)b->is_watched << 32;
	at = map_get(&t->block_of, hash);
	if (at && t->blocks.data[*at].n == made.n &&
	    !memcmp(t->blocks.data[*at].insn, insn, made.n * sizeof(*insn))) {
		*ret = *at;
		return NULL;
	}
	made.flow = b->n_insns ? b->insn[b->n_insns - 1].flow : DEC_FLOW_NEXT;
	err = lay_out(t, b, insn, &made);
	if (!err &&
	    (!vec_push(&t->blocks) || map_put(&t->block_of, hash, t->blocks.size - 1)))
		err = &err_nomem;
	if (err) {
		free(made.mem);
		return err;
	}
	*ret = t->blocks.size - 1;
	t->blocks.data[*ret] = made;
	return NULL;
}

/* ---- code that did not run ----------------------------------------------------------------- */

static const uint8_t *code_page(struct fl_trace *t, uint64_t page)
{
	const uint64_t *at = map_get(&t->code, page);
	uint8_t *bytes;
	struct err *err;

	if (at)
		return (const uint8_t *)*at;
	bytes = malloc(PAGE);
	if (!bytes)
		return NULL;
	fl_trace_rest(t);
	err = dec_machine_read(t->machine, page * PAGE, bytes, PAGE);
	if (err)
		free(take_ptr(&bytes));
	err_destroy(err);
	if (map_put(&t->code, page, (uint64_t)bytes))
		free(take_ptr(&bytes));
	return bytes;
}

bool fl_trace_decode(void *ctx, uint64_t rip, struct dec_insn *ret)
{
	struct fl_trace *t = ctx;
	const uint64_t *at = map_get(&t->insn_of, rip);
	uint64_t here = PAGE - rip % PAGE;
	uint8_t bytes[15];
	const uint8_t *page;

	if (at) {
		*ret = t->insns.data[*at].insn;
		return true;
	}
	page = code_page(t, rip / PAGE);
	if (!page)
		return false;
	here = here < sizeof(bytes) ? here : sizeof(bytes);
	memcpy(bytes, page + rip % PAGE, here);
	page = here < sizeof(bytes) ? code_page(t, rip / PAGE + 1) : NULL;
	if (page) {
		memcpy(bytes + here, page, sizeof(bytes) - here);
		here = sizeof(bytes);
	}
	*ret = *dec_insns_decode(t->known, bytes, here, rip);
	return ret->len;
}

/* Did the program end where it meant to? Not by a fault, nor where the replay can go no further. */
static bool is_end_meant(const struct dec_where *end)
{
	int signo = end->end_value;

	return end->at == DEC_AT_END &&
	       (end->end != CAP_END_SIGNAL || (signo != SIGSEGV && signo != SIGBUS &&
					       signo != SIGFPE && signo != SIGILL));
}

/* Know the words of the stack from @p at on, page by page, until there is none. */
static struct err *read_stack(struct fl_trace *t, uint64_t at)
{
	struct err *err = NULL;

	while (!err && t->stack.size < STACK_WORDS) {
		uint64_t n = (PAGE - at % PAGE) / 8;

		if (vec_reserve(&t->stack, t->stack.size + n))
			return &err_nomem;
		err = dec_machine_read(t->machine, at, t->stack.data + t->stack.size,
				       n * 8);
		t->stack.size += err ? 0 : n;
		at += n * 8;
	}
	return err;
}

/* Is the call that would return to @p next under way where the run breaks off? */
static bool is_under_way(struct fl_trace *t, uint64_t next)
{
	struct cap_regs regs;
	struct err *err;

	if (is_end_meant(&t->end))
		return false;
	if (!t->stack.size) {
		err = dec_machine_regs(t->machine, &regs);
		if (!err)
			err = read_stack(t, regs.gpr[CAP_RSP] & ~UINT64_C(7));
		err_destroy(err);
	}
	for (size_t i = 0; i < t->stack.size; i++)
		if (t->stack.data[i] == next)
			return true;
	return false;
}

/* Would the call at @p rip, which was not made, have come back? */
static bool would_return(struct fl_trace *t, uint64_t rip)
{
	uint64_t target = 0;
	struct dec_insn insn;

	if (!t->options.symbols || !fl_trace_decode(t, rip, &insn))
		return true;
	if (insn.flow == DEC_FLOW_CALL)
		target = insn.target;
	else if (insn.n_mem && insn.mem[0].is_absolute)
		err_destroy(dec_machine_read(t->machine, insn.mem[0].disp, &target,
					     sizeof(target)));
	return !dec_symbols_never_returns(t->options.symbols, target);
}

/* A call that was made, and behind which nothing ran: it never came back, unless it would have. */
static bool never_returned(void *ctx, uint64_t rip, uint64_t next)
{
	struct fl_trace *t = ctx;

	fl_trace_rest(t);
	if (!map_get(&t->insn_of, rip))
		return !would_return(t, rip);
	return !map_get(&t->insn_of, next) && !is_under_way(t, next);
}

/* ---- the first time ---------------------------------------------------------------------------- */

struct harvest_jump {
	uint64_t from, to;
};

/** Of a block that ends with an indirect jump or call: where that led last. Most of what its block says
 * is not looked at again. */
struct harvest_end {
	uint64_t from, to[2];
	uint32_t slot_at; ///< in its record: where it leads
};

/** What the first log tells. */
struct harvest {
	struct fl_trace *t;
	struct log_reader reader;
	struct harvest_jump seen[SEEN];
	VEC(struct harvest_jump) jumps; ///< indirect ones, and calls; some repeatedly
};

static const struct dec_range *module_of(const struct fl_trace *t, uint64_t rip)
{
	return vec_find(&t->modules, m, rip - m->start < m->end - m->start);
}

bool fl_trace_leaves_module(const struct fl_trace *t, uint64_t a, uint64_t b)
{
	return module_of(t, a) != module_of(t, b);
}

/* Know the mappings of code where the machine stands. */
static struct err *note_modules(struct fl_trace *t)
{
	struct dec_range r;
	struct err *err = NULL;

	t->modules.size = 0;
	for (size_t i = 0; !err && !(err = dec_machine_range(t->machine, i, &r)); i++)
		if (r.prot & PROT_EXEC)
			err = vec_add(&t->modules, r);
	if (!err || err->code != ERR_RANGE)
		return err;
	err_destroy(err);
	return NULL;
}

/* The first time that @p b runs. */
static struct err *harvest_made(void *ctx, struct log_block *b)
{
	struct harvest *h = ctx;
	const struct dec_insn *last = b->n_insns ? &b->insn[b->n_insns - 1] : NULL;

	for (uint32_t i = 0; i < b->n_insns; i++)
		if (fl_trace_intern(h->t, &b->insn[i]) == UINT32_MAX)
			return &err_nomem;
	if (last && (last->flow == DEC_FLOW_JMP_IND || last->flow == DEC_FLOW_CALL_IND)) {
		struct harvest_end *e = calloc(1, sizeof(*e));

		if (!e)
			return &err_nomem;
		e->from = last->rip;
		e->slot_at = b->slot_at[b->n_insns - 1];
		b->user = e;
	}
	return last && last->flow == DEC_FLOW_CALL ?
		       fl_flow_entry(h->t->flow, last->target) :
		       NULL;
}

/* An indirect jump or call: others have no record, unless the log is made to do harm. */
static struct err *harvest_block(void *ctx, struct log_block *b, const uint8_t *rec,
				 uint32_t n_ran, uint64_t time)
{
	struct harvest *h = ctx;
	struct harvest_end *e = b->user;
	struct harvest_jump jump, *seen;

	(void)time;
	if (!e || n_ran < b->n_insns)
		return NULL;
	jump = (struct harvest_jump){ e->from, log_word(rec, e->slot_at) };
	if (jump.to == e->to[0] || jump.to == e->to[1])
		return NULL;
	e->to[1] = e->to[0];
	e->to[0] = jump.to;
	seen = &h->seen[(jump.from * 31 ^ jump.to * 0x9e3779b97f4a7c15) >> 20 &
			(SEEN - 1)];
	if (seen->from == jump.from && seen->to == jump.to)
		return NULL;
	*seen = jump;
	return vec_add(&h->jumps, jump);
}

static struct err *harvest_insn(void *ctx, const struct dec_rec_slow *rec,
				const struct dec_insn *insn, uint64_t time)
{
	struct harvest *h = ctx;

	(void)rec, (void)time;
	return fl_trace_intern(h->t, insn) == UINT32_MAX ? &err_nomem : NULL;
}

/* A handler begins where no branch leads. And C answers what is stepped there without a record of
 * its own. */
static struct err *harvest_other(void *ctx, const struct dec_rec *rec, uint64_t time)
{
	struct harvest *h = ctx;
	const struct fl_trace_options *o = &h->t->options;
	struct dec_insn insn;
	bool is_call = rec->id == DEC_REC_SYSCALL;
	bool is_state = rec->id == DEC_REC_STATE;
	uint64_t len = is_state ? rec->value[18] : 2;
	uint64_t rip = !is_state ? rec->value[2] : rec->value[16] - len;

	if (is_call && o->call)
		o->call(o->ctx, rec->value[14], time, rec->value);
	if (is_state && rec->value[20] == DEC_STATE_SIGNAL)
		return fl_flow_entry(h->t->flow, rec->value[16]);
	if ((!is_call && !is_state) || !len || len > 8 ||
	    !dec_insn_decode(is_call ? (const uint8_t *)"\x0f\x05" :
				       (const uint8_t *)&rec->value[19],
			     len, rip, &insn))
		return NULL;
	return fl_trace_intern(h->t, &insn) == UINT32_MAX ? &err_nomem : NULL;
}

static struct err *harvest_feed(void *ctx, const uint8_t *log, size_t bytes)
{
	const struct log_sink sink = { ctx, harvest_block, harvest_insn, harvest_other };
	struct harvest *h = ctx;

	return dec_log_reader_feed(&h->reader, &sink, log, bytes);
}

/* Run to the end. */
static struct err *harvest(struct fl_trace *t, struct harvest *h)
{
	uint64_t end = t->options.end ?: UINT64_MAX >> 1, at = t->options.at, apart = 0;
	struct err *err = dec_machine_log(t->machine, DEC_LOG_JUMPS, harvest_feed, h);

	while (!err) {
		uint64_t next;

		if (t->end.position >= apart)
			apart = t->end.position + fl_trace_apart(t->end.position);
		next = apart < end ? apart : end;
		if (t->end.position < at && at < next)
			next = at;
		err = dec_machine_run(t->machine, next, &t->end);
		if (err || t->end.at != DEC_AT_POSITION || t->end.position >= end)
			break;
		err = dec_machine_checkpoint(t->machine);
		if (!err && t->options.progress)
			t->options.progress(t->options.ctx, t->end.position);
	}
	return err ?: dec_machine_log(t->machine, DEC_LOG_NONE, NULL, NULL);
}

/* Calls, jumps through what the linker fills in, and those to other modules lead to functions. */
static struct err *sort_jumps(struct fl_trace *t, const struct harvest *h)
{
	struct err *err = note_modules(t);

	for (size_t i = 0; i < h->jumps.size && !err; i++) {
		struct harvest_jump j = h->jumps.data[i];
		const uint64_t *at = map_get(&t->insn_of, j.from);
		const struct dec_insn *insn = at ? &t->insns.data[*at].insn : NULL;
		bool is_import = insn && insn->n_mem && insn->mem[0].is_absolute;

		// Nothing is executed where a jump leads that faults.
		if (!insn || !map_get(&t->insn_of, j.to))
			continue;
		if (is_import || insn->flow == DEC_FLOW_CALL_IND ||
		    fl_trace_leaves_module(t, j.from, j.to))
			err = fl_flow_entry(t->flow, j.to);
		else if (!t->options.ignores_jumps)
			err = fl_flow_jump(t->flow, j.from, j.to);
	}
	return err;
}

static struct err *trace_run(struct fl_trace *t)
{
	struct harvest *h = calloc(1, sizeof(*h));
	struct cap_regs regs;
	struct err *err = h ? NULL : &err_nomem;

	if (err)
		return err;
	h->t = t;
	dec_log_reader_init(&h->reader, DEC_LOG_JUMPS, 0);
	h->reader.made = harvest_made;
	err = dec_machine_checkpoint(t->machine);
	if (!err)
		err = dec_machine_regs(t->machine, &regs);
	if (!err)
		err = fl_flow_entry(t->flow, regs.rip);
	if (!err)
		err = harvest(t, h);
	if (!err)
		err = sort_jumps(t, h);
	dec_log_reader_deinit(&h->reader);
	vec_deinit(&h->jumps);
	free(h);
	return err ?: fl_flow_build(t->flow);
}

static struct err *note_mapped(void *ctx, const struct dec_where *w)
{
	struct fl_trace *t = ctx;

	return dec_symbols_add(t->options.symbols, w->map.file, w->map.addr, w->map.size,
			       w->map.file_offset);
}

struct err *fl_trace_create(const struct capture *c, const struct fl_trace_options *o,
			    struct fl_trace **ret)
{
	_cleanup_(fl_trace_destroyp) struct fl_trace *t = calloc(1, sizeof(*t));
	struct dec_machine_options mo = { .output_fd = -1 };
	struct err *err;

	if (!t)
		return &err_nomem;
	t->capture = c;
	t->options = o ? *o : (struct fl_trace_options){};
	t->known = dec_insns_take();
	if (!t->known)
		return &err_nomem;
	mo.mapped = t->options.symbols ? note_mapped : NULL;
	mo.ctx = t;
	err = dec_machine_create(c, &mo, &t->machine);
	if (!err)
		err = fl_flow_create(fl_trace_decode, never_returned, t, &t->flow);
	if (!err)
		err = trace_run(t);
	if (err)
		return err;
	*ret = take_ptr(&t);
	return NULL;
}

void fl_trace_destroy(struct fl_trace *t)
{
	if (!t)
		return;
	fl_trace_ahead_deinit(t);
	dec_machine_destroy(t->machine);
	fl_flow_destroy(t->flow);
	fl_trace_window_deinit(&t->window);
	dec_insns_give(t->known);
	for (size_t i = 0; i < t->insns.size; i++)
		free(t->insns.data[i].effect);
	vec_deinit(&t->stack);
	vec_deinit(&t->modules);
	vec_deinit(&t->insns);
	vec_deinit(&t->places);
	map_deinit(&t->insn_of);
	for (size_t i = 0; i < t->blocks.size; i++)
		free(t->blocks.data[i].mem);
	vec_deinit(&t->blocks);
	map_deinit(&t->block_of);
	for (size_t i = 0; i < t->code.capacity; i++)
		if (t->code.slots[i].key != MAP_EMPTY_KEY)
			free((void *)t->code.slots[i].value);
	map_deinit(&t->code);
	free(t);
}

void fl_trace_destroyp(struct fl_trace **t)
{
	fl_trace_destroy(*t);
}

const struct dec_where *fl_trace_end(const struct fl_trace *t)
{
	return &t->end;
}

struct dec_machine *fl_trace_machine(struct fl_trace *t)
{
	return t->machine;
}

struct fl_trace_size fl_trace_size(const struct fl_trace *t)
{
	struct flow_size f = fl_flow_size(t->flow);

	return (struct fl_trace_size){ f.functions, f.blocks, f.jumps, t->insns.size };
}
