// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "heapgraph/hg_access_int.h"

#include <string.h>
#include <sys/syscall.h>

#include "decode/history/allocator.h"
#include "decode/machine/call_args.h"
#include "decode/symbols/object.h"
#include "heapgraph/hg_derive_int.h"

#define PAGE_BYTES 4096u

/* ---- threads ---------------------------------------------------------------------------- */

static struct err *switch_thread(struct hg_finder *f, uint32_t tid)
{
	size_t at;

	if (f->thread && f->derive.regs->tid == tid)
		return NULL;
	at = hg_derive_thread(&f->derive, tid);
	if (!f->derive.regs)
		return &err_nomem;
	while (f->threads.size <= at)
		if (!vec_push(&f->threads))
			return &err_nomem;
	f->thread = &f->threads.data[at];
	return NULL;
}

/* ---- instructions ----------------------------------------------------------------------- */

uint32_t hg_access_derivation(const struct hg_finder *f, const struct dec_mem *m,
			      uint64_t addr, uint64_t size)
{
	const uint32_t *gpr = f->derive.regs->gpr;
	uint32_t base = gpr[m->base];
	uint32_t index = m->index < DEC_GPRS && m->scale == 1 ? gpr[m->index] : 0;

	if (index && (!base || hg_astray_is_inside(f, index, addr, size)))
		return index;
	return base;
}

/* How many bytes is the call to deal with that the user made? */
static uint64_t intent_of(const struct hg_finder *f)
{
	const struct hg_string_call *call = &f->thread->string;

	if (call->outer_rsp)
		return call->outer_intent;
	return call->rsp ? call->intent : f->thread->call_size;
}

struct err *hg_access_check(struct hg_finder *f, const struct hg_operand *o)
{
	struct hg_suspect x = {
		.is_write = o->is_write,
		.position = o->position,
		.pc = o->insn->rip,
		.addr = o->addr,
		.size = o->size,
		.intent = intent_of(f),
		.derivation = o->derivation,
		.insn = o->insn,
		.m = o->m,
	};

	return hg_astray_check(f, &x);
}

static struct err *check_ref(struct hg_finder *f, const struct dec_step *s,
			     const struct dec_ref *r)
{
	const struct dec_mem *m = hg_derive_operand(s->insn, r, f->derive.regs->value);
	struct hg_operand o = { .insn = s->insn,
				.m = m,
				.position = s->position,
				.addr = r->addr,
				.size = r->size,
				.is_write = r->is_def };

	if (m)
		o.derivation = hg_access_derivation(f, m, r->addr, r->size);
	return o.derivation ? hg_access_check(f, &o) : NULL; // most have none
}

/* Whatever it is, somebody wants to know. */
static struct err *tell_access(struct hg_finder *f, const struct dec_step *s,
			       const struct dec_ref *r)
{
	const struct dec_mem *m = hg_derive_operand(s->insn, r, f->derive.regs->value);

	return hg_points_access(f, s, r,
				m ? hg_access_derivation(f, m, r->addr, r->size) : 0);
}

/* What a string function loads is judged when it returns. */
static bool is_string_load(struct hg_finder *f, const struct dec_insn *insn,
			   const struct dec_ref *r)
{
	return f->thread->string.rsp && !r->is_def &&
	       !dec_frames_is_own(f->frames, insn->rip);
}

static struct err *check_all(struct hg_finder *f, const struct dec_step *s)
{
	struct err *err = NULL;

	for (size_t i = 0; i < s->n_refs && !err; i++) {
		const struct dec_ref *r = &s->refs[i];

		if (!r->is_mem || !r->size)
			continue;
		if (f->judge.wants_all)
			err = tell_access(f, s, r);
		if (err)
			break;
		if (is_string_load(f, s->insn, r))
			err = hg_string_call_load(&f->thread->string, r);
		else
			err = check_ref(f, s, r);
	}
	return err;
}

/* ---- calls of string functions ---------------------------------------------------------- */

/* From @p addr on, how much is there of the live node of @p derivation? */
static uint64_t room_at(const struct hg_finder *f, uint32_t derivation, uint64_t addr)
{
	struct hg_node_id id = hg_derive_get(&f->derive, derivation)->node;
	const struct hg_node *n = hg_graph_node(f->graph, id);

	return hg_graph_lives(f->graph, id) && addr - n->start < n->size ?
		       n->start + n->size - addr :
		       0;
}

static void enter_string(struct hg_finder *f, const struct dec_step *s)
{
	static const int args[HG_STRING_READS] = { CAP_RDI, CAP_RSI };
	const struct hg_derived_regs *regs = f->derive.regs;
	struct hg_string_call *c = &f->thread->string;

	if (!hg_strings_enter(&f->strings, c, s->insn->rip, regs->value))
		return;
	if (dec_frames_is_own(f->frames, c->pc)) {
		c->rsp = 0; // the user's own function of that name
		return;
	}
	c->position = s->position;
	for (size_t i = 0; i < HG_STRING_READS; i++) {
		uint32_t derivation = regs->gpr[args[i]];

		if (derivation)
			hg_string_call_read(c, i, derivation,
					    room_at(f, derivation, c->read[i].start));
	}
	if (f->judge.wants_texts)
		hg_string_call_watch_copy(c);
	c->copied = hg_string_call_copies(c) ? regs->gpr[CAP_RDI] : 0;
	if (c->watched || c->read[0].derivation || c->read[1].derivation || c->copied)
		c->statement = dec_frames_statement(f->frames, c->pc);
}

/* The copy is done. */
static struct err *check_copied(struct hg_finder *f)
{
	const struct hg_string_call *c = &f->thread->string;
	struct hg_suspect x = {
		.position = c->position,
		.pc = c->pc,
		.statement = c->statement,
		.addr = c->read[0].start,
		.size = c->limit,
		.intent = intent_of(f),
		.derivation = c->copied,
	};

	return c->copied ?
		       hg_astray_copied(f, &x, c->read[1].start, c->read[1].derivation) :
		       NULL;
}

static struct err *leave_string(struct hg_finder *f)
{
	struct hg_string_call *c = &f->thread->string;
	uint64_t rax = f->derive.regs->value[CAP_RAX];
	struct err *err = NULL;

	for (size_t i = 0; i < HG_STRING_READS && !err; i++) {
		struct hg_suspect x = {
			.position = c->position,
			.pc = c->pc,
			.statement = c->statement,
			.addr = c->read[i].start,
			.intent = intent_of(f),
			.derivation = c->read[i].derivation,
		};

		if (!x.derivation)
			continue;
		x.size = hg_string_call_reach(c, i, rax);
		if (x.size)
			err = hg_astray_check(f, &x);
	}
	if (!err)
		err = check_copied(f);
	if (!err)
		err = hg_points_text(f);
	return err ? err : hg_strings_leave(&f->strings, c, rax);
}

/* ---- system calls ----------------------------------------------------------------------- */

/* Whose pointer does access @p a go by? */
static uint32_t pointer_of(struct hg_finder *f, const struct dec_access *a)
{
	return a->reg == DEC_ACCESS_WORD ?
		       hg_derive_word(&f->derive, a->at, a->addr - a->offset) :
		       f->derive.regs->gpr[a->reg];
}

static struct err *check_kernel(struct hg_finder *f, const struct dec_step *s,
				const struct dec_access *a)
{
	struct hg_suspect x = {
		.is_write = a->is_write,
		.position = s->position,
		.pc = s->insn->rip,
		.addr = a->addr,
		.size = a->size,
		.intent = f->thread->string.outer_rsp ? intent_of(f) : a->size,
		.derivation = pointer_of(f, a),
	};

	return x.derivation ? hg_astray_check(f, &x) : NULL;
}

/* The kernel gets its arguments, and accesses where they lead. */
static struct err *enter_kernel(struct hg_finder *f, const struct dec_step *s)
{
	struct err *err = NULL;

	for (size_t i = 0; i < s->n_accesses && !err; i++)
		if (s->accesses[i].is_bounds)
			err = check_kernel(f, s, &s->accesses[i]);
	return err;
}

static void leave_kernel(struct hg_finder *f, uint64_t position, uint64_t number)
{
	f->thread->kernel.is_childs = number == SYS_vfork || number == SYS_clone ||
				      number == SYS_clone3;
	f->thread->kernel.position = position;
}

/* The kernel wrote @p r; what a child did in its parent's memory is the kernel's, too: what it changed is told behind the pages
 * that it is in. */
static struct err *on_kernel_write(struct hg_finder *f, uint64_t position,
				   const struct dec_ref *r)
{
	const struct hg_kernel_call *k = &f->thread->kernel;

	if (k->is_childs && position == k->position && r->size < PAGE_BYTES &&
	    vec_add(&f->childs,
		    (struct hg_childs){ r->addr, r->addr + r->size, position }))
		return &err_nomem;
	return NULL;
}

/* ---- the walk --------------------------------------------------------------------------- */

static void follow_return(struct hg_finder *f, uint64_t rsp)
{
	struct thread *t = f->thread;

	if (t->allocator_rsp && rsp >= t->allocator_rsp) {
		t->allocator_rsp = t->stranger = 0;
		t->is_back = true;
		hg_derive_leave(&f->derive);
	}
}

/* Behind a jump, call or return, whose registers are known now. */
static struct err *follow_flow(struct hg_finder *f, const struct dec_insn *insn,
			       uint64_t position, uint64_t rsp_before)
{
	uint64_t *value = f->derive.regs->value, jump_end = f->frames->jump_end;
	struct thread *t = f->thread;
	struct err *err = NULL;

	t->has_jumped = insn->flow != DEC_FLOW_NEXT;
	if (insn->flow == DEC_FLOW_RET) {
		if (t->string.rsp && rsp_before >= t->string.rsp)
			err = leave_string(f);
		hg_string_call_return(&t->string, rsp_before);
		follow_return(f, rsp_before);
		if (!err && (t->family || t->open.size))
			err = hg_points_return(f, position, insn->rip, rsp_before);
	}
	if (t->has_jumped)
		jump_end = dec_frames_jump_end(f->frames, insn);
	if (jump_end) // should it be a tail call
		t->call_size = value[CAP_RDX];
	if ((insn->flow == DEC_FLOW_CALL || insn->flow == DEC_FLOW_CALL_IND) &&
	    dec_frames_is_own(f->frames, insn->rip))
		t->call_size = value[CAP_RDX];
	return err;
}

/* The allocator's result is the node that was made meanwhile; posix_memalign() puts it where a pointer to another may have been,
 * with the same value. free() leaves what was there: what was allocated just before, perhaps, by another family. */
static struct err *take_result(struct hg_finder *f)
{
	uint64_t result = f->derive.regs->value[CAP_RAX];
	uint64_t at = (uint32_t)result ? 0 : f->thread->made_at;
	struct hg_node_id id;
	uint32_t root;
	bool is_its;

	f->thread->is_back = false;
	if (f->thread->asked)
		return hg_points_usable(f, result);
	if (at)
		hg_recorder_memory(f->recorder, at, &result, sizeof(result));
	id = hg_graph_covers(f->graph, result);
	is_its = id.v && hg_graph_node(f->graph, id)->start == result;
	root = is_its ? hg_derive_root(&f->derive, id) : 0;
	hg_derived_set(f->derive.regs, CAP_RAX, at ? 0 : root);
	if (at)
		hg_derive_set_word(&f->derive, at, result, root);
	is_its = is_its && !f->thread->is_releasing;
	if (is_its)
		hg_derive_born(&f->derive, id, f->thread->resized);
	if (is_its && f->thread->resized.v &&
	    hg_graph_node(f->graph, f->thread->resized)->start == result &&
	    map_put(&f->stayed, id.v, f->thread->resized.v))
		return &err_nomem;
	return is_its ? hg_points_allocated(f, id) ?: hg_reports_allocated(f, id) : NULL;
}

/* An instruction of the program's, outside of the allocator. */
static struct err *look_at(struct hg_finder *f, const struct dec_step *s)
{
	uint64_t number = f->derive.regs->value[CAP_RAX];
	struct thread *t = f->thread;
	struct err *err;
	bool is_syscall = s->insn->flow == DEC_FLOW_SYSCALL;
	struct hg_point p;

	if (t->has_jumped && !t->string.rsp)
		enter_string(f, s);
	err = is_syscall ? enter_kernel(f, s) : NULL;
	if (is_syscall && f->judge.wants_syscalls)
		hg_points_syscall(f, s, &p);
	if (!err && t->has_jumped)
		err = hg_points_enter(f, s);
	if (!err && s->insn->flow != DEC_FLOW_NEXT)
		err = hg_points_call(f, s);
	if (!err)
		err = check_all(f, s);
	hg_derive_step(&f->derive, s);
	if (!err && is_syscall && f->judge.wants_syscalls)
		err = hg_points_answered(f, &p);
	if (is_syscall)
		leave_kernel(f, s->position, number);
	return err;
}

/* Is the function at @p rip, which is entered, called by its own module? */
static bool is_for_itself(const struct hg_finder *f, uint64_t rip)
{
	const struct frames *frames = f->frames;

	return frames->stack.size &&
	       dec_symbols_same_module(
		       frames->symbols, rip,
		       frames->stack.data[frames->stack.size - 1].return_rip);
}

static struct err *enter_allocator(struct hg_finder *f, const struct dec_step *s,
				   uint64_t rsp)
{
	const uint64_t *known = map_get(&f->entries, s->insn->rip);
	struct err *err;

	if (!known || (*known == HG_STRANGER &&
		       (f->thread->stranger || is_for_itself(f, s->insn->rip))))
		return NULL;
	// What is known of the allocator's goes on where a stranger calls it.
	f->thread->stranger = *known == HG_STRANGER ? s->insn->rip : 0;
	f->thread->allocator_rsp = rsp;
	hg_derive_enter(&f->derive);
	err = f->thread->stranger ? hg_points_stranger(f, s) :
				    hg_points_allocator(f, s, *known - 1);
	return err ?: hg_points_enter(f, s);
}

/* A stranger may put what it gives out where a pointer to what had that address before was. */
static void forget_stores(struct hg_finder *f, const struct dec_step *s)
{
	for (size_t i = 0; i < s->n_refs; i++) {
		const struct dec_ref *r = &s->refs[i];

		for (uint64_t at = r->addr & ~7ull;
		     r->is_mem && r->is_def && at < r->addr + r->size; at += 8)
			hg_derive_remember(&f->derive, at, 0, 0);
	}
}

/* What a stranger calls of the user's is as ever, and so is what it does then. */
static void leave_stranger(struct hg_finder *f, uint64_t rip)
{
	struct thread *t = f->thread;

	if (dec_frames_is_own(f->frames, rip) &&
	    !dec_symbols_same_module(f->frames->symbols, t->stranger, rip))
		t->stranger = t->allocator_rsp = 0;
}

static struct err *on_insn(struct hg_finder *f, const struct dec_step *s)
{
	struct thread *t = f->thread;
	uint64_t rsp = f->derive.regs->value[CAP_RSP];
	struct err *err = NULL;

	if (t->is_back)
		err = take_result(f);
	if (t->string.rsp && rsp > t->string.rsp) // left by longjmp or an exception
		t->string.rsp = 0;
	if (t->stranger && t->has_jumped)
		leave_stranger(f, s->insn->rip);
	if (!err && (!t->allocator_rsp || t->stranger) && t->has_jumped)
		err = enter_allocator(f, s, rsp);
	if (t->stranger)
		forget_stores(f, s);
	if (t->allocator_rsp)
		hg_derive_skip(&f->derive, s);
	else if (!err)
		err = look_at(f, s);
	return err ? err : follow_flow(f, s->insn, s->position, rsp);
}

static struct err *add_stranger(void *ctx, uint64_t entry)
{
	struct hg_finder *f = ctx;

	return map_put(&f->entries, entry, HG_STRANGER) ? &err_nomem : NULL;
}

/* Modules were mapped: look for the functions in them that are to be known. */
static struct err *find_entries(struct hg_finder *f, struct dec_symbols *symbols)
{
	uint64_t entry[16];
	struct err *err =
		dec_allocator_strangers(symbols, f->frames->exe, add_stranger, f);

	for (const struct dec_allocator_function *a = dec_allocator; a->name && !err;
	     a++) {
		size_t n = dec_symbols_entries(symbols, a->name, entry, 16);

		for (size_t i = 0; i < n && i < 16; i++)
			if (map_put(&f->entries, entry[i], a - dec_allocator + 1))
				return &err_nomem;
	}
	if (!err)
		err = hg_points_find(f, symbols);
	return err ?: hg_strings_add(&f->strings, symbols);
}

struct err *hg_access_step(void *ctx, struct frames *frames, const struct dec_step *s)
{
	struct hg_finder *f = ctx;
	struct err *err = switch_thread(f, s->tid);

	f->frames = frames;
	f->is_level = false;
	if (!err)
		err = hg_recorder_reach(f->recorder, s->position);
	if (!err && f->n_mapped != frames->n_mapped)
		err = find_entries(f, frames->symbols);
	if (err)
		return err;
	f->n_mapped = frames->n_mapped;
	if (s->insn)
		err = on_insn(f, s);
	else if (s->n_refs)
		err = on_kernel_write(f, s->position, &s->refs[0]);
	return err ? err : f->derive.is_out_of_memory ? &err_nomem : NULL;
}

/* That of thread @p tid whose frame is at @p frame; NULL: there is none. */
static struct hg_handler *find_handler(struct hg_finder *f, uint32_t tid, uint64_t frame)
{
	return vec_find(&f->handlers, h, h->frame == frame && h->regs.tid == tid);
}

/* One that was left by longjmp has its frame no more when another one gets it. */
static struct err *begin_handler(struct hg_finder *f, const uint64_t before[DEC_GPRS],
				 const uint64_t now[DEC_GPRS])
{
	struct hg_derived_regs *regs = f->derive.regs;
	uint64_t frame = now[CAP_RSP] + 8;
	struct hg_handler *h = find_handler(f, regs->tid, frame);

	if (!h && !(h = vec_push(&f->handlers)))
		return &err_nomem;
	*h = (struct hg_handler){ .frame = frame };
	hg_derived_interrupt(regs, &h->regs, before, now);
	return NULL;
}

/* What the kernel gives back is what it was, if it still is. */
static void end_handler(struct hg_finder *f, struct hg_handler *h,
			const uint64_t now[DEC_GPRS])
{
	hg_derived_resume(f->derive.regs, &h->regs, now);
	*h = f->handlers.data[--f->handlers.size];
}

struct err *hg_access_state(void *ctx, uint32_t tid, const struct dec_rec *rec,
			    const uint64_t before[DEC_GPRS])
{
	struct hg_finder *f = ctx;
	struct err *err = switch_thread(f, tid);
	struct hg_handler *h;

	f->is_level = false;
	if (err)
		return err;
	if (rec->value[20] == DEC_STATE_SIGNAL)
		return begin_handler(f, before, rec->value);
	h = find_handler(f, tid, before[CAP_RSP]);
	if (h)
		end_handler(f, h, rec->value);
	return NULL;
}

/* ---- what others ask ------------------------------------------------------------------- */

bool hg_access_wants_steps(const struct hg_finder *f)
{
	return f->judge.wants_all;
}

// glibc keeps that much in front of a block, and so much in it when it is free; others less.
#define ALLOCATORS 16

bool hg_access_is_lent(const struct hg_finder *f, struct hg_node_id id)
{
	return f->lent.size && map_get(&f->lent, id.v);
}

bool hg_access_has_strangers(const struct hg_finder *f)
{
	return f->strange_at;
}

bool hg_access_is_childs(const struct hg_finder *f, uint64_t addr, uint64_t since)
{
	return vec_find(&f->childs, c,
			c->time >= since && c->start < addr + ALLOCATORS &&
				c->end + ALLOCATORS > addr) != NULL;
}

struct hg_node_id hg_access_live_at(const struct hg_finder *f, uint64_t addr)
{
	return hg_graph_covers(f->graph, addr);
}

int hg_access_fault(struct hg_finder *f, const uint8_t *bytes, uint64_t rip,
		    const uint64_t gpr[DEC_GPRS], struct hg_judged *x)
{
	struct dec_insn insn;
	uint32_t derivation;
	int base = -1;

	if (!f->derive.regs || !dec_insn_decode(bytes, 15, rip, &insn))
		return -1;
	for (int i = 0; i < insn.n_mem; i++) {
		const struct dec_mem *m = &insn.mem[i];

		x->is_write = m->is_write && !m->is_read;
		x->size = m->size;
		if (!x->addr && !m->is_fs && !m->is_gs)
			x->addr = dec_insn_address(m, gpr, 0, 0);
		if (m->base >= DEC_GPRS)
			continue;
		base = m->base;
		derivation = hg_access_derivation(f, m, x->addr, m->size);
		if (derivation)
			x->node = hg_derive_get(&f->derive, derivation)->node;
	}
	if (hg_access_is_lent(f, x->node))
		x->node = (struct hg_node_id){};
	return base;
}

#define STACK_BYTES \
	(8ull << 20) // so far below the stack pointer lies what the stack has left

struct err *hg_access_pointers(struct hg_finder *f,
			       struct err *(*fn)(void *ctx, uint64_t value,
						 struct hg_node_id node),
			       void *ctx)
{
	const struct hg_derived_regs *regs = f->derive.regs;
	const struct hg_image *memory = &f->derive.memory;
	uint64_t rsp = regs ? regs->value[CAP_RSP] : 0;
	struct err *err = NULL;

	for (int r = 0; regs && r < DEC_GPRS && !err; r++)
		if (regs->gpr[r])
			err = fn(ctx, regs->value[r],
				 hg_derive_get(&f->derive, regs->gpr[r])->node);
	for (size_t k = 0; k < memory->slots.capacity && !err; k++) {
		const struct map_slot *slot = &memory->slots.slots[k];
		const uint8_t *page;

		if (slot->key == MAP_EMPTY_KEY)
			continue;
		page = memory->pages.data[slot->value];
		for (uint32_t i = 0; i < HG_PAGE_BYTES && !err; i += 8) {
			uint64_t word = hg_word_at(page + i);
			const struct hg_derivation *d =
				word >> 32 ? hg_derive_get(&f->derive, word >> 32) : NULL;
			uint64_t addr = slot->key * HG_PAGE_BYTES + i;

			if (d && (addr >= rsp || rsp - addr > STACK_BYTES))
				err = fn(ctx,
					 (d->start & ~0xffffffffull) | (uint32_t)word,
					 d->node);
		}
	}
	return err;
}

/* ---- life ------------------------------------------------------------------------------- */

struct err *hg_access_create(struct hg_recorder *r, hg_layout_fn layout, void *layout_ctx,
			     const struct hg_judge *judge, hg_accesses *found,
			     struct hg_finder **ret)
{
	struct hg_finder *f = calloc(1, sizeof(*f));

	if (!f)
		return &err_nomem;
	f->recorder = r;
	f->graph = hg_recorder_graph(r);
	f->layout = layout;
	f->layout_ctx = layout_ctx;
	f->found = found;
	f->judge = *judge;
	hg_derive_init(&f->derive, f->graph);
	*ret = f;
	return NULL;
}

void hg_access_without_history(struct hg_finder *f)
{
	f->is_without_history = true;
}

static struct err *on_node(void *ctx, struct hg_node_id id)
{
	return hg_reports_allocated(ctx, id);
}

void hg_access_nodes_alone(struct hg_finder *f)
{
	hg_recorder_on_alloc(f->recorder, on_node, f);
}

void hg_access_lend(void *ctx, struct frames *frames)
{
	struct hg_finder *f = ctx;

	f->frames = frames;
}

void hg_access_destroy(struct hg_finder *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->threads.size; i++) {
		hg_string_call_deinit(&f->threads.data[i].string);
		vec_deinit(&f->threads.data[i].open);
	}
	vec_deinit(&f->families);
	vec_deinit(&f->handlers);
	vec_deinit(&f->childs);
	map_deinit(&f->points);
	map_deinit(&f->slots);
	map_deinit(&f->usable);
	map_deinit(&f->stayed);
	map_deinit(&f->lent);
	vec_deinit(&f->threads);
	hg_derive_deinit(&f->derive);
	hg_strings_deinit(&f->strings);
	vec_deinit(&f->layouts);
	for (size_t i = 0; i < f->fields.capacity; i++)
		if (f->fields.slots[i].key != MAP_EMPTY_KEY)
			hg_fields_destroy((struct hg_fields *)f->fields.slots[i].value);
	map_deinit(&f->fields);
	map_deinit(&f->entries);
	hg_reports_deinit(&f->reports);
	free(f);
}
