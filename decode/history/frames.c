// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "decode/history/frames.h"

#include <string.h>

#define FAR 65536   // what a frame has not often
#define HANDLERS 64 // of signals, at most, that may still return

void dec_frames_init(struct frames *f, struct dec_symbols *symbols, const char *exe)
{
	*f = (struct frames){ .symbols = symbols, .exe = exe };
	f->exe_has_lines = dec_symbols_has_debug(symbols, 0);
}

void dec_frames_deinit(struct frames *f)
{
	vec_deinit(&f->stack);
	for (size_t i = 0; i < f->threads.size; i++)
		vec_deinit(&f->threads.data[i].stack);
	vec_deinit(&f->threads);
	vec_deinit(&f->handlers);
	map_deinit(&f->by_tid);
	map_deinit(&f->own);
}

/* Where the calls of thread @p tid are kept; NULL: out of memory. */
static struct frames_thread *frames_kept(struct frames *f, uint32_t tid)
{
	const uint64_t *known = map_get(&f->by_tid, tid);
	struct frames_thread *t;

	if (known)
		return &f->threads.data[*known];
	if (map_put(&f->by_tid, tid, f->threads.size))
		return NULL;
	t = vec_push(&f->threads);
	if (t)
		t->tid = tid;
	else
		map_remove(&f->by_tid, tid);
	return t;
}

struct err *dec_frames_switch(struct frames *f, uint32_t tid)
{
	struct frames_thread *t;

	if (tid == f->tid)
		return NULL;
	t = frames_kept(f, f->tid);
	if (!t)
		return &err_nomem;
	t->stack = f->stack;
	f->stack = (frame_stack){};
	t = frames_kept(f, tid);
	if (!t)
		return &err_nomem;
	f->stack = t->stack;
	t->stack = (frame_stack){};
	f->thread = t - f->threads.data;
	f->tid = tid;
	f->jump_end = 0;
	return NULL;
}

void dec_frames_refresh(struct frames *f)
{
	f->n_mapped++;
	map_deinit(&f->own);
	memset(f->recent, 0, sizeof(f->recent));
	f->exe_has_lines = dec_symbols_has_debug(f->symbols, 0);
}

static bool is_foreign_module(const struct frames *f, const char *path)
{
	for (size_t i = 0; i < f->n_foreign; i++)
		if (!strcmp(f->foreign[i], path))
			return true;
	return false;
}

static enum frames_code look_at_code(struct frames *f, uint64_t rip)
{
	struct dec_place place;
	const char *module;

	// Address by address: a static program holds the user's code and libc's.
	if (dec_symbols_has_debug(f->symbols, rip)) {
		dec_symbols_place(f->symbols, rip, &place);
		if (!place.line)
			return FRAMES_FOREIGN;
		return dec_place_to_users(&place) ? FRAMES_USERS : FRAMES_HEADERS;
	}
	module = dec_symbols_module(f->symbols, rip);
	if (f->n_foreign)
		return module && !is_foreign_module(f, module) ? FRAMES_USERS :
								 FRAMES_FOREIGN;
	return !f->exe_has_lines && module && f->exe && !strcmp(module, f->exe) ?
		       FRAMES_USERS :
		       FRAMES_FOREIGN;
}

static enum frames_code look_up_code(struct frames *f, uint64_t rip)
{
	const uint64_t *known = map_get(&f->own, rip);
	enum frames_code code;

	if (known)
		return *known;
	code = look_at_code(f, rip);
	map_put(&f->own, rip, code);
	return code;
}

static enum frames_code code_at(struct frames *f, uint64_t rip)
{
	uint64_t at = rip % FRAMES_RECENT;

	if (f->recent[at].rip != rip || !rip) {
		f->recent[at].code = look_up_code(f, rip);
		f->recent[at].rip = rip;
	}
	return f->recent[at].code;
}

bool dec_frames_is_own(struct frames *f, uint64_t rip)
{
	return code_at(f, rip) != FRAMES_FOREIGN;
}

bool dec_frames_is_users(struct frames *f, uint64_t rip)
{
	return code_at(f, rip) == FRAMES_USERS;
}

struct err *dec_frames_call(struct frames *f, uint64_t return_rip, uint64_t rsp,
			    uint64_t time)
{
	enum frames_code code = code_at(f, return_rip - 1);
	const struct frame *outer;
	struct frame *new;

	// What lies below the new return address was left by longjmp or an exception.
	dec_frames_return(f, rsp);
	new = vec_push(&f->stack);
	if (!new)
		return &err_nomem;
	outer = f->stack.size > 1 ? new - 1 : new;
	new->return_rip = return_rip;
	new->rsp = rsp;
	new->time = time;
	new->own = code != FRAMES_FOREIGN ? f->stack.size : outer->own;
	new->users = code == FRAMES_USERS ? f->stack.size : outer->users;
	return NULL;
}

void dec_frames_return(struct frames *f, uint64_t rsp)
{
	f->jump_end = 0;
	while (f->stack.size && f->stack.data[f->stack.size - 1].rsp <= rsp)
		f->stack.size--;
}

void dec_frames_meet_return(struct frames *f, uint64_t rsp)
{
	// Upward it may be an exception's; below the calls that are under way there is none to return from.
	if (f->stack.size && f->stack.data[f->stack.size - 1].rsp > rsp &&
	    !vec_find(&f->handlers, h, *h == rsp))
		f->has_stacks = true;
}

void dec_frames_land_thrown(struct frames *f, uint64_t rsp)
{
	dec_frames_return(f, rsp - 1);
	if (f->stack.size && f->stack.data[f->stack.size - 1].rsp - rsp > FAR)
		f->has_stacks = true;
}

struct err *dec_frames_handle(struct frames *f, uint64_t rsp)
{
	if (f->handlers.size == HANDLERS)
		memmove(f->handlers.data, f->handlers.data + 1,
			--f->handlers.size * sizeof(*f->handlers.data));
	return vec_find(&f->handlers, h, *h == rsp) ? NULL : vec_add(&f->handlers, rsp);
}

uint64_t dec_frames_jump_end(struct frames *f, const struct dec_insn *insn)
{
	bool is_jump = insn->flow == DEC_FLOW_JMP || insn->flow == DEC_FLOW_JMP_IND;

	// Without lines the linker's stubs are as good as the user's code.
	return is_jump && dec_frames_is_own(f, insn->rip) &&
			       dec_symbols_has_debug(f->symbols, insn->rip) ?
		       insn->rip + insn->len :
		       0;
}

struct err *dec_frames_land_jump(struct frames *f, uint64_t rip)
{
	size_t n = f->stack.size;
	struct frame *top = n ? &f->stack.data[n - 1] : NULL, *new;

	if (!top || dec_frames_is_own(f, rip))
		return NULL;
	// Of tail calls in a row the last one is the frame.
	if (n > 1 && f->stack.data[n - 2].rsp == top->rsp)
		new = top;
	else
		new = vec_push(&f->stack);
	if (!new)
		return &err_nomem;
	new->return_rip = f->jump_end;
	new->rsp = f->stack.data[n - 1].rsp;
	new->time = f->stack.data[n - 1].time;
	new->own = new->users = new - f->stack.data + 1;
	f->jump_end = 0;
	return NULL;
}

uint64_t dec_frames_statement(struct frames *f, uint64_t pc)
{
	enum frames_code code = code_at(f, pc);
	const struct frame *top = f->stack.size ? &f->stack.data[f->stack.size - 1] :
						  NULL;

	if (code == FRAMES_USERS || !top)
		return pc;
	if (top->users)
		return f->stack.data[top->users - 1].return_rip - 1;
	if (code == FRAMES_HEADERS || !top->own)
		return pc;
	return f->stack.data[top->own - 1].return_rip - 1;
}
