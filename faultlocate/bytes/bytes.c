// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The replay, instruction by instruction: threads, the allocator, string functions, the kernel. What these do
 * with bytes is judged by what they are asked to do, not by each of their instructions.
 */
#include "faultlocate/bytes/bytes.h"

#include <signal.h>
#include <string.h>
#include <sys/syscall.h>

#include "decode/history/allocator.h"
#include "decode/machine/call_args.h"
#include "faultlocate/bytes/values_int.h"

#define TEXT_ROOM 512 // of what is not known, so much is kept to see where a text ends

/* ---- places ------------------------------------------------------------------------------------- */

bool fl_bytes_is_own(struct bytes_walk *w, struct fl_bytes_place *p)
{
	if (!p->statement)
		p->statement = dec_frames_statement(w->frames, p->pc);
	p->frames = w->frames;
	return dec_frames_is_own(w->frames, p->statement);
}

const struct insn_model *fl_bytes_model(struct bytes_walk *w, const struct dec_insn *insn)
{
	const uint64_t *known = map_get(&w->models, insn->rip);
	struct insn_model *m = known ? (struct insn_model *)(uintptr_t)*known : NULL;

	if (m && !memcmp(m->bytes, insn->bytes, insn->len))
		return m;
	m = arena_alloc(&w->arena, sizeof(*m));
	if (!m || map_put(&w->models, insn->rip, (uintptr_t)m))
		return NULL;
	fl_model_make(insn, m);
	return m;
}

/* ---- threads ------------------------------------------------------------------------------------ */

static struct err *switch_thread(struct bytes_walk *w, uint32_t tid)
{
	struct bytes_thread **known;

	if (w->thread && w->thread->tid == tid)
		return NULL;
	if (w->events->access) {
		w->objects.made = (struct bytes_made){};
		hg_derive_thread(&w->objects.derive, tid);
		if (!w->objects.derive.regs)
			return &err_nomem;
	}
	known = vec_find(&w->threads, t, (*t)->tid == tid);
	w->thread = known ? *known : calloc(1, sizeof(*w->thread));
	if (!w->thread)
		return &err_nomem;
	if (known)
		return NULL;
	w->thread->tid = tid;
	return vec_add(&w->threads, w->thread);
}

static uint32_t arguments_of(int fn)
{
	switch (fn) {
	case CAP_HEAP_CALLOC:
	case CAP_HEAP_REALLOC:
	case CAP_HEAP_ALIGNED_ALLOC:
		return 1u << CAP_RDI | 1u << CAP_RSI;
	case CAP_HEAP_POSIX_MEMALIGN:
		return 1u << CAP_RDI | 1u << CAP_RSI | 1u << CAP_RDX;
	default:
		return 1u << CAP_RDI;
	}
}

/* Modules were mapped: look for the functions in them that are to be known. */
static struct err *find_entries(struct bytes_walk *w)
{
	uint64_t entry[16];

	for (const struct dec_allocator_function *a = dec_allocator; a->name; a++) {
		size_t n = dec_symbols_entries(w->symbols, a->name, entry, 16);

		for (size_t i = 0; i < n && i < 16; i++)
			if (map_put(&w->entries, entry[i], a - dec_allocator))
				return &err_nomem;
	}
	w->n_mapped = w->frames->n_mapped;
	return hg_strings_add(&w->strings, w->symbols);
}

/* ---- string functions --------------------------------------------------------------------------- */

static uint32_t object_in(const struct bytes_walk *w, int reg)
{
	return w->events->access ? w->objects.derive.regs->gpr[reg] : 0;
}

uint32_t fl_bytes_object(struct bytes_walk *w, const struct dec_access *a)
{
	if (a->reg != DEC_ACCESS_WORD)
		return object_in(w, a->reg);
	return w->events->access ?
		       hg_derive_word(&w->objects.derive, a->at, a->addr - a->offset) :
		       0;
}

/* What is known to be a variable's may be read to its end; of other memory the text is looked for. */
static void enter_read(struct bytes_walk *w, struct hg_string_call *c, size_t i, int reg)
{
	uint32_t number = object_in(w, reg);
	uint64_t room = number ? fl_objects_room(w, number, c->read[i].start) : 0;
	uint64_t first = w->events->use ? fl_values_first(&w->values, c->read[i].start,
							  TEXT_ROOM) :
					  UINT64_MAX;
	bool has_none = first != UINT64_MAX;

	w->thread->string_lacks[i] = first;
	if (!room && has_none)
		room = TEXT_ROOM;
	if (number || has_none)
		hg_string_call_read(c, i, number ? number : UINT32_MAX, room);
}

/* What memcpy() and the like store, some from the end on, and may not live to, is judged here. */
static struct err *enter_write(struct bytes_walk *w, const struct dec_step *s)
{
	const struct fl_bytes_place p = { .time = s->position, .pc = s->insn->rip };
	uint64_t size = w->thread->gpr[CAP_RDX];
	uint32_t number = object_in(w, CAP_RDI);

	return number && size ? fl_objects_check(w, p, number, w->thread->gpr[CAP_RDI],
						 size, true, true) :
				NULL;
}

static struct err *enter_string(struct bytes_walk *w, const struct dec_step *s)
{
	struct hg_string_call *c = &w->thread->string;
	uint64_t outer = c->outer_rsp;
	bool is_string = hg_strings_enter(&w->strings, c, s->insn->rip, w->thread->gpr);
	bool is_filler = c->outer_rsp != outer;

	if ((is_string || is_filler) && dec_frames_is_own(w->frames, s->insn->rip)) {
		// The user's own function of that name.
		*(is_string ? &c->rsp : &c->outer_rsp) = 0;
		return NULL;
	}
	if (is_string) {
		c->position = s->position;
		enter_read(w, c, 0, CAP_RDI);
		enter_read(w, c, 1, CAP_RSI);
		c->statement = dec_frames_statement(w->frames, c->pc);
	}
	return (is_string || is_filler) && hg_string_call_fills(c) ? enter_write(w, s) :
								     NULL;
}

/* What it returns has a value, whatever it made of what lies behind the text: what it was to read has, or is told of. */
static struct err *leave_string(struct bytes_walk *w, uint64_t rax)
{
	struct hg_string_call *c = &w->thread->string;
	struct fl_bytes_place p = { .time = c->position,
				    .pc = c->pc,
				    .statement = c->statement };
	struct err *err = NULL;

	fl_values_put_gpr(&w->thread->regs, CAP_RAX, 0);
	for (size_t i = 0; i < HG_STRING_READS && !err; i++) {
		uint64_t start = c->read[i].start, first, size;

		if (!c->read[i].derivation || !(size = hg_string_call_reach(c, i, rax)))
			continue;
		if (c->read[i].derivation != UINT32_MAX)
			err = fl_objects_check(w, p, c->read[i].derivation, start, size,
					       false, true);
		if (err || !w->events->use ||
		    (hg_string_call_copies(c) && !w->events->wants_reads))
			continue;
		// What is behind the end is told of already.
		if (c->read[i].room && size > c->read[i].room)
			size = c->read[i].room;
		// Of what strcat() appends to, the end was found before it was written to.
		first = w->thread->string_lacks[i];
		if (first - start >= size)
			first = fl_values_first(&w->values, start, size);
		if (first != UINT64_MAX && fl_bytes_is_own(w, &p))
			err = w->events->use(w->events->ctx, &p,
					     hg_string_call_copies(c) ? FL_USE_READ :
									FL_USE_TEXT,
					     first);
	}
	return err ? err : hg_strings_leave(&w->strings, c, rax);
}

/* ---- the kernel --------------------------------------------------------------------------------- */

static struct err *check_kernel(struct bytes_walk *w, const struct dec_step *s,
				const struct dec_access *a)
{
	const struct fl_bytes_place p = { .time = s->position, .pc = s->insn->rip };
	uint32_t object = fl_bytes_object(w, a);

	return object ? fl_objects_check(w, p, object, a->addr, a->size, a->is_write,
					 true) :
			NULL;
}

static struct err *enter_kernel(struct bytes_walk *w, const struct dec_step *s)
{
	struct err *err = NULL;

	for (size_t i = 0; i < s->n_accesses && !err; i++)
		if (s->accesses[i].is_bounds)
			err = check_kernel(w, s, &s->accesses[i]);
	return err;
}

/* What the kernel mapped has values. */
static struct err *leave_kernel(struct bytes_walk *w, const struct dec_step *s,
				uint64_t number)
{
	int64_t result = s->gpr[CAP_RAX];

	// All registers are others again, and the stack may be another one.
	if (number == SYS_rt_sigreturn)
		w->thread->regs = (struct bytes_regs){};
	return number == SYS_mmap && result > 0 && w->events->use ?
		       fl_values_set(&w->values, result, w->thread->gpr[CAP_RSI], true) :
		       NULL;
}

/* ---- instructions ------------------------------------------------------------------------------- */

/* What the allocator returns has a value, whatever that was made of: musl's looks at what was in the memory before. */
static struct err *follow_return(struct bytes_walk *w, uint64_t rsp, uint64_t rax)
{
	struct bytes_thread *t = w->thread;
	uint64_t *size;

	hg_string_call_return(&t->string, rsp);
	if (!t->allocator_rsp || rsp < t->allocator_rsp)
		return NULL;
	t->allocator_rsp = 0;
	size = t->asked ? map_get(&w->blocks, t->asked) : NULL;
	if (size && rax > *size) // all of that is the program's
		*size = rax;
	fl_values_put_gpr(&t->regs, CAP_RAX, 0);
	if (w->events->access) {
		hg_derive_leave(&w->objects.derive);
		hg_derived_set(w->objects.derive.regs, CAP_RAX, 0);
	}
	return w->events->use && t->allocator_result ?
		       fl_values_set(&w->values, t->allocator_result, 8, true) :
		       NULL;
}

/* What it does with its arguments is not looked at: that they have values is. */
static struct err *enter_allocator(struct bytes_walk *w, const struct dec_step *s)
{
	const uint64_t *known = map_get(&w->entries, s->insn->rip);
	struct fl_bytes_place p = { .time = s->position, .pc = s->insn->rip };
	struct bytes_thread *t = w->thread;
	const struct dec_allocator_function *a;
	uint32_t arguments;

	if (!known)
		return NULL;
	a = &dec_allocator[*known];
	arguments = arguments_of(a->fn);
	t->allocator_rsp = t->gpr[CAP_RSP];
	t->allocator_result = // posix_memalign()'s
		arguments & 1u << CAP_RDX ? t->gpr[CAP_RDI] : 0;
	t->asked = strcmp(a->name, "malloc_usable_size") ? 0 : t->gpr[CAP_RDI];
	if (w->events->access)
		hg_derive_enter(&w->objects.derive);
	return w->events->use && t->regs.live & arguments && fl_bytes_is_own(w, &p) ?
		       w->events->use(w->events->ctx, &p, FL_USE_SIZE, 0) :
		       NULL;
}

static struct err *track(struct bytes_walk *w, const struct dec_step *s)
{
	struct bytes_thread *t = w->thread;
	bool is_in_string = t->string.rsp && !dec_frames_is_own(w->frames, s->insn->rip);
	struct err *err = NULL;

	for (size_t i = 0; i < s->n_refs && is_in_string && !err; i++)
		if (s->refs[i].is_mem && !s->refs[i].is_def)
			err = hg_string_call_load(&t->string, &s->refs[i]);
	if (!err && w->events->access && t->allocator_rsp)
		hg_derive_skip(&w->objects.derive, s);
	else if (!err && w->events->access)
		err = fl_objects_step(w, s);
	if (!err && w->events->use)
		err = fl_values_step(w, s, t->allocator_rsp || is_in_string);
	return err;
}

static struct err *on_insn(struct bytes_walk *w, const struct dec_step *s)
{
	struct bytes_thread *t = w->thread;
	uint64_t rsp = t->gpr[CAP_RSP], number = t->gpr[CAP_RAX];
	bool is_syscall = s->insn->flow == DEC_FLOW_SYSCALL;
	struct err *err;

	if (t->string.rsp && rsp > t->string.rsp) // left by longjmp or an exception
		t->string.rsp = 0;
	err = t->has_jumped && !t->allocator_rsp ? enter_allocator(w, s) : NULL;
	if (t->has_jumped && !t->allocator_rsp && !t->string.rsp)
		err = err ?: enter_string(w, s);
	if (!err && is_syscall)
		err = enter_kernel(w, s);
	if (!err)
		err = track(w, s);
	if (is_syscall) // it may be rt_sigreturn
		w->objects.made = (struct bytes_made){ .given = UINT32_MAX };
	if (!err && is_syscall)
		err = leave_kernel(w, s, number);
	t->has_jumped = s->insn->flow != DEC_FLOW_NEXT;
	if (s->insn->flow != DEC_FLOW_RET || err)
		return err;
	if (t->string.rsp && rsp >= t->string.rsp)
		err = leave_string(w, s->gpr[CAP_RAX]);
	return err ?: follow_return(w, rsp, s->gpr[CAP_RAX]);
}

static struct err *on_step(void *ctx, struct frames *frames, const struct dec_step *s)
{
	struct bytes_walk *w = ctx;
	struct err *err = switch_thread(w, s->tid);

	w->frames = frames;
	w->has_released = false;
	if (!err && w->n_mapped != frames->n_mapped)
		err = find_entries(w);
	if (err)
		return err;
	if (s->insn)
		err = on_insn(w, s);
	else if (w->events->use)
		err = fl_values_step(w, s, true);
	if (s->gpr)
		memcpy(w->thread->gpr, s->gpr, sizeof(w->thread->gpr));
	return err;
}

static struct err *on_state(void *ctx, uint32_t tid, const struct dec_rec *rec,
			    const uint64_t before[DEC_GPRS])
{
	return switch_thread(ctx, tid) ?: fl_handlers_state(ctx, rec, before);
}

/* The instruction whose fault ended the program is none that ran. */
static struct err *on_ended(void *ctx, struct frames *frames, struct dec_machine *m,
			    const struct dec_where *where)
{
	struct bytes_walk *w = ctx;
	struct dec_insn insn;
	struct dec_ref target = { .is_mem = true, .size = 8 };
	struct dec_step s = { .position = where->position,
			      .insn = &insn,
			      .refs = &target };
	uint8_t bytes[15] = {};
	bool is_code = false;
	struct cap_regs regs;
	struct err *err = dec_machine_regs(m, &regs), *unread;

	if (err || !w->thread || w->thread->allocator_rsp || !w->events->use ||
	    where->end != CAP_END_SIGNAL ||
	    (where->end_value != SIGSEGV && where->end_value != SIGBUS))
		return err;
	for (size_t i = 0; i < sizeof(bytes); i++) { // the next page may be none
		unread = dec_machine_read(m, regs.rip + i, bytes + i, 1);
		is_code |= !unread;
		err_destroy(unread);
	}
	if (!is_code || !dec_insn_decode(bytes, sizeof(bytes), regs.rip, &insn))
		return NULL;
	w->frames = frames;
	s.tid = w->thread->tid;
	s.gpr = regs.gpr;
	// Where a branch was to go may be in memory.
	s.n_refs = insn.flow != DEC_FLOW_NEXT && insn.n_mem;
	if (s.n_refs)
		target.addr = dec_insn_address(&insn.mem[0], regs.gpr, regs.fs_base, 0);
	return fl_values_fault(w, &s);
}

/* ---- blocks ------------------------------------------------------------------------------------- */

static struct err *on_release(void *ctx, uint64_t time, uint64_t addr, uint64_t rip,
			      uint64_t pc)
{
	struct bytes_walk *w = ctx;
	const uint64_t *known = map_get(&w->blocks, addr);

	(void)time, (void)rip, (void)pc;
	w->has_released = known != NULL;
	w->released_size = known ? *known : 0;
	map_remove(&w->blocks, addr);
	return NULL;
}

/* What realloc copied has the values that it had; a block that was released just before, in the same call. */
static struct err *on_alloc(void *ctx, uint64_t time, uint64_t addr, uint64_t size,
			    bool is_zeroed, uint64_t rip, uint64_t pc)
{
	struct bytes_walk *w = ctx;
	uint64_t kept = w->has_released ? w->released_size : 0;

	(void)time, (void)rip, (void)pc;
	w->has_released = false;
	if (map_put(&w->blocks, addr, size))
		return &err_nomem;
	if (!w->first_block || addr < w->first_block)
		w->first_block = addr;
	if (addr > w->last_block)
		w->last_block = addr;
	kept = kept < size ? kept : size;
	return fl_values_set(&w->values, addr + kept, size - kept, is_zeroed);
}

/* ---- all of it ---------------------------------------------------------------------------------- */

static void walk_destroy(struct bytes_walk *w)
{
	for (size_t i = 0; i < w->threads.size; i++) {
		hg_string_call_deinit(&w->threads.data[i]->string);
		free(w->threads.data[i]);
	}
	vec_deinit(&w->threads);
	vec_deinit(&w->handlers);
	map_deinit(&w->entries);
	map_deinit(&w->models);
	map_deinit(&w->replaced);
	map_deinit(&w->blocks);
	arena_deinit(&w->arena);
	hg_strings_deinit(&w->strings);
	fl_values_deinit(&w->values);
	fl_objects_deinit(&w->objects);
	fl_named_deinit(w);
	free(w);
}

/* One replay, by a new walk that knows of @p looks. */
static struct err *replay(const struct capture *c, struct dec_symbols *symbols,
			  const struct fl_bytes_events *events, bool with_progress,
			  struct bytes_looks *looks)
{
	struct bytes_walk *w = calloc(1, sizeof(*w));
	const struct dec_heap_events allocs = { .ctx = w,
						.alloc = events->use ? on_alloc : NULL,
						.release = events->use ? on_release :
									 NULL };
	const struct dec_heap_options o = {
		.progress = with_progress ? "looked at the bytes of" : NULL,
		.step = on_step,
		.state = on_state,
		.glance = events->is_plain ? NULL : fl_bytes_glance,
		.stretch = events->is_plain || events->access ? NULL : fl_bytes_stretch,
		.glance_bytes = fl_bytes_glance_bytes,
		.step_ctx = w,
		.ended = on_ended,
		.ended_ctx = w,
		.until = events->until,
		.skips_allocator = true,
	};
	struct dec_run run = {};
	struct err *err;

	if (!w)
		return &err_nomem;
	w->events = events;
	w->symbols = symbols;
	w->looks = *looks;
	err = fl_objects_init(w);
	if (!err)
		err = dec_heap_trace(c, symbols, &o, &allocs, &run);
	if (!err && !run.has_matched)
		err = err_new(ERR_DIVERGED, "cannot look at each byte: the replay left "
					    "the recorded path");
	dec_run_deinit(&run);
	*looks = w->looks;
	walk_destroy(w);
	return err;
}

struct err *fl_bytes_find(const struct capture *c, struct dec_symbols *symbols,
			  const struct fl_bytes_events *events, bool with_progress)
{
	struct bytes_looks looks = {};
	struct err *err;

	for (;;) {
		err = replay(c, symbols, events, with_progress, &looks);
		if (!looks.found)
			return err;
		err_destroy(err);
		events->again(events->ctx, looks.found);
		looks.found = 0;
	}
}
