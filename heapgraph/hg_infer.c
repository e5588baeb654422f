// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "heapgraph/hg_infer.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "decode/dec_frames.h"
#include "heapgraph/hg_derive.h"
#include "heapgraph/hg_pieces.h"

enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9 };

#define ARGS 6
static const uint8_t arg_reg[ARGS] = { RDI, RSI, RDX, RCX, R8, R9 };

// Where DWARF does not bound the type by the size that was asked for, which nobody knows.
#define SIZE_UNKNOWN (UINT64_C(1) << 40)

// What lies so far above rsp is no longer this thread's stack.
#define STACK_BYTES (UINT64_C(8) << 20)
#define RED_ZONE 128

// An allocator's header is right in front of what it gives out.
#define HEADER_BYTES 16

/* What a function was given: a register that is overwritten before it is read was no
 * argument. */
struct args {
	uint32_t head[ARGS]; ///< 0: no pointer
	uint8_t undecided;   ///< bit n: number n was neither read yet nor overwritten
};

/* A call of the program's own code. */
struct own_call {
	uint64_t rsp; ///< where its return address lies
	uint64_t fn;  ///< 0: not there yet
	uint64_t rip; ///< of the call
	uint32_t number;
	struct args args;
};

/* A write of foreign code, kept until it is known what kind of function it was. */
struct foreign_write {
	uint64_t time, addr;
	uint32_t head, size;
};

/* A stay in foreign code. */
struct foreign {
	uint64_t rsp;	    ///< on entry: of the return address; 0: none
	uint64_t time, rip; ///< of the call
	struct args args;
	bool is_header_read[ARGS];
};

/* What foreign code left in rax, and it is a node's begin if it is a result. */
struct result {
	uint64_t time, rip; ///< time 0: nothing
};

struct thread {
	uint32_t tid;
	struct result result;
	frame_stack stack;
	VEC(struct own_call) calls;
	VEC(struct foreign) outer; ///< stays that called the program back
	VEC(struct foreign_write) writes;
	struct foreign foreign;
	bool is_return; ///< the last instruction was one
	bool is_call;	///< .. a call
};

struct region {
	uint64_t start, end;
};

struct infer {
	const struct hg_infer_options *o;
	struct dec_symbols *symbols;
	struct hg_derive derive;
	struct hg_pieces *pieces;
	struct frames frames;
	struct map sites;	    ///< return address -> whether it tells the type
	struct map sizes;	    ///< call + 1 -> bytes of the struct that it allocates
	VEC(struct region) regions; ///< ascending, apart
	size_t last_region;
	uint64_t brk;
	uint32_t n_calls;
	uint64_t now; ///< of the instruction
	uint64_t rip;
	VEC(struct thread *) threads;
	struct thread *thread;
};

/* ---- the heap's memory -------------------------------------------------------------------- */

static bool is_heap(struct infer *f, uint64_t addr)
{
	const struct region *r = f->regions.data;
	size_t at = f->last_region;

	if (at < f->regions.size && addr >= r[at].start && addr < r[at].end)
		return true;
	at = vec_rank(f->regions.size, i, r[i].start <= addr);
	if (!at || addr >= r[at - 1].end)
		return false;
	f->last_region = at - 1;
	return true;
}

static struct err *add_region(struct infer *f, uint64_t start, uint64_t end)
{
	size_t at = vec_rank(f->regions.size, i, f->regions.data[i].end < start), n = at;
	struct region *r;

	if (!vec_push(&f->regions))
		return &err_nomem;
	r = f->regions.data;
	f->regions.size--;
	while (n < f->regions.size && r[n].start <= end) {
		start = r[n].start < start ? r[n].start : start;
		end = r[n].end > end ? r[n].end : end;
		n++;
	}
	memmove(&r[at + 1], &r[n], (f->regions.size - n) * sizeof(*r));
	r[at] = (struct region){ start, end };
	f->regions.size = f->regions.size - n + at + 1;
	return NULL;
}

// A system call: its uses are rax and the arguments, its first definition the result.
static struct err *on_syscall(struct infer *f, const struct dec_step *s)
{
	uint64_t value[8] = {}, result = 0;
	size_t n = 0;

	for (size_t i = 0; i < s->n_refs; i++) {
		uint64_t v;

		if (s->refs[i].is_mem || !s->refs[i].has_value)
			continue;
		memcpy(&v, s->refs[i].value, 8);
		if (!s->refs[i].is_def && n < 8)
			value[n++] = v;
		else if (s->refs[i].is_def && s->refs[i].reg == RAX)
			result = v;
	}
	if ((int64_t)result < 0 && (int64_t)result > -4096)
		return NULL;
	if (value[0] == SYS_brk) {
		uint64_t old = f->brk;

		f->brk = result;
		return old && result > old ? add_region(f, old, result) : NULL;
	}
	if (value[0] == SYS_mmap && (value[4] & MAP_ANONYMOUS) && !(value[4] & MAP_STACK))
		return add_region(f, result, result + value[2]);
	return NULL;
}

/* ---- threads -------------------------------------------------------------------------------- */

static struct thread *find_thread(struct infer *f, uint32_t tid)
{
	struct thread *t, **slot;

	for (size_t i = 0; i < f->threads.size; i++)
		if (f->threads.data[i]->tid == tid)
			return f->threads.data[i];
	t = calloc(1, sizeof(*t));
	slot = t ? vec_push(&f->threads) : NULL;
	if (!slot) {
		free(t);
		return NULL;
	}
	t->tid = tid;
	return *slot = t;
}

static struct err *switch_thread(struct infer *f, uint32_t tid)
{
	if (f->thread && f->thread->tid == tid)
		return NULL;
	if (f->thread)
		f->thread->stack = f->frames.stack;
	f->thread = find_thread(f, tid);
	if (!f->thread)
		return &err_nomem;
	f->frames.stack = f->thread->stack;
	hg_derive_thread(&f->derive, tid);
	return NULL;
}

static void threads_deinit(struct infer *f)
{
	if (f->thread)
		f->thread->stack = f->frames.stack;
	f->frames.stack = (frame_stack){};
	for (size_t i = 0; i < f->threads.size; i++) {
		struct thread *t = f->threads.data[i];

		vec_deinit(&t->stack);
		vec_deinit(&t->calls);
		vec_deinit(&t->outer);
		vec_deinit(&t->writes);
		free(t);
	}
	vec_deinit(&f->threads);
}

/* ---- statements ----------------------------------------------------------------------------- */

/* The statement to name for what the call that returns to @p return_rip gave out: where a
 * wrapper's result goes, the outer one's (see dec_heap_calls.c). */
static uint64_t site_of(struct infer *f, uint64_t return_rip)
{
	const uint64_t *known = map_get(&f->sites, return_rip);
	size_t n = f->frames.stack.size;
	uint32_t own = n ? f->frames.stack.data[n - 1].own : 0;
	uint64_t rip = return_rip, found = 0;

	if (known && !*known)
		return return_rip - 1;
	for (int depth = 0; depth < 8; depth++) {
		bool is_sure = false;

		if (dec_symbols_alloc_type(f->symbols, rip, SIZE_UNKNOWN, &is_sure) ||
		    is_sure) {
			found = rip;
			break;
		}
		if (!own)
			break;
		rip = f->frames.stack.data[own - 1].return_rip;
		own = own > 1 ? f->frames.stack.data[own - 2].own : 0;
	}
	if (!known)
		map_put(&f->sites, return_rip, found != 0 && found != return_rip);
	return (found ? found : return_rip) - 1;
}

// The bytes of the struct that DWARF says the call gives out, 0 when it does not.
static uint64_t size_at(struct infer *f, uint64_t rip)
{
	const uint64_t *known = map_get(&f->sizes, rip);
	const struct dec_struct *layout = NULL;
	const char *name;
	uint64_t size = 0;
	bool is_sure;

	if (known)
		return *known;
	name = dec_symbols_alloc_type(f->symbols, rip + 1, SIZE_UNKNOWN, &is_sure);
	if (name && is_sure) {
		err_destroy(dec_symbols_struct(f->symbols, name, &layout));
		size = layout ? layout->size : 0;
	}
	map_put(&f->sizes, rip, size);
	return size;
}

/* ---- pointers -------------------------------------------------------------------------------- */

/* For hg_derive.h: what a word of unknown origin points to. */
static uint32_t pointer_to(void *ctx, uint64_t value)
{
	struct infer *f = ctx;

	return is_heap(f, value) ? hg_pieces_at(f->pieces, value) : 0;
}

/* The head that register @p reg is derived from; 0: it is no pointer. */
static uint32_t head_of(const struct infer *f, int reg)
{
	return f->derive.regs->gpr[reg];
}

static void set_head(struct infer *f, int reg, uint32_t head)
{
	f->derive.regs->gpr[reg] = head;
}

static uint64_t value_of(const struct infer *f, int reg)
{
	return f->derive.regs->value[reg];
}

/* From here on registers that held @p value, derived from @p old, are pointers to @p new. */
static void rename_pointer(struct infer *f, uint64_t value, uint32_t old, uint32_t new)
{
	for (int reg = 0; reg < DEC_GPRS; reg++)
		if (head_of(f, reg) == old && value_of(f, reg) == value)
			set_head(f, reg, new);
}

static bool is_stack(const struct infer *f, uint64_t addr)
{
	return addr + RED_ZONE >= value_of(f, RSP) &&
	       addr < value_of(f, RSP) + STACK_BYTES;
}

/* An own instruction stored a word: is it a pointer into the middle of a node? */
static void publish(struct infer *f, const struct dec_step *s, const struct dec_ref *r)
{
	uint64_t value;
	uint32_t from, head;

	if (r->size != 8 || !r->has_value ||
	    (!is_heap(f, r->addr) && is_stack(f, r->addr)))
		return;
	memcpy(&value, r->value, 8);
	if (!is_heap(f, value))
		return;
	from = hg_derive_word(&f->derive, r->addr, value);
	if (!from)
		return;
	head = from;
	if (value != hg_pieces_addr(f->pieces, from))
		head = hg_pieces_split(f->pieces, f->now, from, value, 0, s->insn->rip,
				       s->insn->rip);
	if (head && value == hg_pieces_addr(f->pieces, head))
		hg_pieces_keep(f->pieces, f->now, head, s->insn->rip);
	if (!head || head == from)
		return;
	hg_derive_set_word(&f->derive, r->addr, value, head);
	rename_pointer(f, value, from, head);
}

/* The innermost call of the program's own. */
static uint32_t call_number(const struct infer *f)
{
	size_t n = f->thread->calls.size;

	return n ? f->thread->calls.data[n - 1].number : 0;
}

/* ---- arguments ------------------------------------------------------------------------------ */

static void note_args(struct infer *f, struct args *a)
{
	for (int i = 0; i < ARGS; i++)
		a->head[i] = head_of(f, arg_reg[i]);
	a->undecided = (1 << ARGS) - 1;
}

/* @return argument @p i; 0: it is no pointer, or none was given. */
static uint32_t arg_of(const struct args *a, int i)
{
	return a->undecided >> i & 1 ? 0 : a->head[i];
}

/* The function that was given @p a executes @p insn. @return bit n: reads argument n, for
 * the first time. */
static uint8_t decide_args(struct args *a, const struct dec_insn *insn)
{
	uint8_t first = 0;

	for (int i = 0; i < ARGS; i++) {
		bool is_read = insn->gpr_read >> arg_reg[i] & 1;

		if (!(a->undecided >> i & 1) ||
		    !(is_read || insn->gpr_written >> arg_reg[i] & 1))
			continue;
		a->undecided &= ~(1u << i);
		first |= is_read << i;
		if (!is_read)
			a->head[i] = 0;
	}
	return first;
}

/* ---- accesses --------------------------------------------------------------------------------- */

/* The memory operand that @p r is an access of. */
static const struct dec_mem *operand_of(const struct dec_insn *insn,
					const struct dec_ref *r)
{
	for (int i = 0; i < insn->n_mem; i++)
		if (insn->mem[i].base < DEC_GPRS &&
		    (r->is_def ? insn->mem[i].is_write : insn->mem[i].is_read))
			return &insn->mem[i];
	return NULL;
}

/* What the address is derived from; a pointer of unknown origin is looked up, by own code. */
static uint32_t head_of_access(struct infer *f, const struct dec_mem *m, bool is_own)
{
	uint32_t base = head_of(f, m->base);
	uint32_t index = m->index < DEC_GPRS && m->scale == 1 ? head_of(f, m->index) : 0;
	uint64_t value = value_of(f, m->base);

	if (base || index)
		return base ? base : index;
	if (!is_own || !is_heap(f, value))
		return 0;
	base = hg_pieces_meet(f->pieces, f->now, value, f->rip);
	set_head(f, m->base, base);
	return base;
}

static struct err *foreign_access(struct infer *f, const struct dec_ref *r, uint32_t head)
{
	struct foreign *in = &f->thread->foreign;
	struct foreign_write *w;
	int arg;

	for (arg = 0; arg < ARGS; arg++)
		if (arg_of(&in->args, arg) &&
		    hg_pieces_is_kin(f->pieces, arg_of(&in->args, arg), head))
			break;
	if (arg == ARGS)
		return NULL;
	if (!r->is_def) {
		uint64_t start = hg_pieces_addr(f->pieces, head);

		in->is_header_read[arg] |= r->size <= 8 && r->addr < start &&
					   r->addr + HEADER_BYTES >= start;
		return NULL;
	}
	w = vec_push(&f->thread->writes);
	if (!w)
		return &err_nomem;
	*w = (struct foreign_write){ f->now, r->addr, head, r->size };
	return NULL;
}

static struct err *access_all(struct infer *f, const struct dec_step *s, bool is_own)
{
	for (size_t i = 0; i < s->n_refs; i++) {
		const struct dec_ref *r = &s->refs[i];
		const struct dec_mem *m;
		struct err *err;
		uint32_t head;

		if (!r->is_mem || !r->size || !is_heap(f, r->addr))
			continue;
		m = operand_of(s->insn, r);
		if (!m || m->base == RSP)
			continue;
		head = head_of_access(f, m, is_own);
		if (!head)
			continue;
		if (is_own) {
			hg_pieces_access(f->pieces, f->now, head, r->addr, r->size,
					 r->is_def, call_number(f));
			continue;
		}
		err = foreign_access(f, r, head);
		if (err)
			return err;
	}
	return NULL;
}

/* ---- foreign code ------------------------------------------------------------------------------- */

static void enter_foreign(struct infer *f)
{
	struct thread *t = f->thread;
	size_t n = f->frames.stack.size;

	if (t->outer.size && t->is_return) { // back from a callback
		t->foreign = t->outer.data[--t->outer.size];
		return;
	}
	t->foreign = (struct foreign){ .rsp = value_of(f, RSP), .time = f->now };
	t->foreign.rip = n ? f->frames.stack.data[n - 1].return_rip - 1 : f->rip;
	for (int i = 0; i < ARGS; i++)
		if (!head_of(f, arg_reg[i]))
			set_head(f, arg_reg[i], pointer_to(f, value_of(f, arg_reg[i])));
	note_args(f, &t->foreign.args);
	t->writes.size = 0;
}

// What the function did was done to its arguments, unless it is an allocator.
static void commit_writes(struct infer *f)
{
	struct thread *t = f->thread;

	for (size_t i = 0; i < t->writes.size; i++) {
		const struct foreign_write *w = &t->writes.data[i];

		if (hg_pieces_is_released(f->pieces, w->head))
			continue;
		hg_pieces_access(f->pieces, w->time, w->head, w->addr, w->size, true,
				 call_number(f));
	}
	t->writes.size = 0;
}

/* Foreign code returned to @p rip: what it gave out begins a node, what it was given may have
 * ended. */
static void leave_foreign(struct infer *f)
{
	struct foreign in = f->thread->foreign;
	uint64_t result = value_of(f, RAX);
	uint32_t head = head_of(f, RAX);
	bool is_allocator = false, is_argument = false;

	f->thread->foreign.rsp = 0;
	for (int i = 0; i < ARGS; i++) {
		uint32_t arg = arg_of(&in.args, i);

		if (!arg)
			continue;
		is_argument |= head && hg_pieces_is_kin(f->pieces, arg, head);
		if (!in.is_header_read[i])
			continue;
		is_allocator = true;
		hg_pieces_release(f->pieces, in.time, arg, in.rip);
	}
	if (is_allocator)
		f->thread->writes.size = 0;
	else
		commit_writes(f);
	if (!is_heap(f, result))
		return;
	if (head && !hg_pieces_is_released(f->pieces, head) &&
	    (is_argument ? !is_allocator : hg_pieces_holds(f->pieces, head, result)))
		return;
	f->thread->result = (struct result){ f->now, site_of(f, f->rip) };
}

/* Is rax a result at all? Only if somebody reads it. */
static void take_result(struct infer *f, const struct dec_insn *insn)
{
	struct result *r = &f->thread->result;
	uint64_t value = value_of(f, RAX);

	if (insn->flow == DEC_FLOW_CALL || insn->flow == DEC_FLOW_CALL_IND) {
		r->time = 0;
	} else if (insn->gpr_read & 1u << RAX) {
		set_head(f, RAX,
			 hg_pieces_begin(f->pieces, r->time, value, size_at(f, r->rip),
					 r->rip));
		r->time = 0;
	} else if (insn->gpr_written & 1u << RAX) {
		r->time = 0;
	}
}

/* ---- calls of its own ----------------------------------------------------------------------------- */

static struct err *own_call(struct infer *f)
{
	struct own_call *c = vec_push(&f->thread->calls);

	if (!c)
		return &err_nomem;
	c->rsp = value_of(f, RSP);
	c->rip = f->rip;
	c->number = ++f->n_calls;
	note_args(f, &c->args);
	return NULL;
}

/* The program's own function that runs uses what it was given. */
static void use_args(struct infer *f, const struct dec_insn *insn)
{
	struct own_call *c = &f->thread->calls.data[f->thread->calls.size - 1];
	uint8_t used = decide_args(&c->args, insn);

	for (int i = 0; used; i++, used >>= 1)
		if (used & 1 && c->args.head[i] &&
		    value_of(f, arg_reg[i]) == hg_pieces_addr(f->pieces, c->args.head[i]))
			hg_pieces_pass(f->pieces, f->now, c->args.head[i], c->fn,
				       c->number, c->rip);
}

/* The call whose return address was at @p rsp returned to @p rip: is its result a pointer
 * to something that the caller did not have? */
static void own_return(struct infer *f, uint64_t rsp, uint64_t place)
{
	struct thread *t = f->thread;
	struct own_call c = {};
	uint64_t result = value_of(f, RAX), site, return_rip;
	uint32_t from = head_of(f, RAX), head = from;
	bool is_new;
	size_t n = f->frames.stack.size;

	while (t->calls.size && t->calls.data[t->calls.size - 1].rsp <= rsp)
		c = t->calls.data[--t->calls.size];
	return_rip = n && f->frames.stack.data[n - 1].rsp == rsp ?
			     f->frames.stack.data[n - 1].return_rip :
			     0;
	if (c.rsp != rsp || !return_rip || !from || !is_heap(f, result))
		return;
	is_new = result != hg_pieces_addr(f->pieces, head);
	for (int i = 0; i < ARGS; i++)
		if (arg_of(&c.args, i) &&
		    (is_new ? hg_pieces_is_kin(f->pieces, arg_of(&c.args, i), head) &&
				      !hg_pieces_is_fresh(f->pieces, head, result) :
			      hg_pieces_is_same(f->pieces, arg_of(&c.args, i), head)))
			return;
	frames_return(&f->frames, rsp);
	site = site_of(f, return_rip);
	if (is_new) {
		head = hg_pieces_split(f->pieces, f->now, head, result, size_at(f, site),
				       site, place);
		if (!head || head == from)
			return;
		rename_pointer(f, result, from, head);
	}
	hg_pieces_give(f->pieces, f->now, head, c.fn, c.number, site);
}

/* ---- the walk ---------------------------------------------------------------------------------------- */

static struct err *follow_flow(struct infer *f, const struct dec_insn *insn,
			       uint64_t rsp_before, bool is_own)
{
	struct err *err = NULL;

	if (insn->flow == DEC_FLOW_RET) {
		if (is_own)
			own_return(f, rsp_before, insn->rip);
		frames_return(&f->frames, rsp_before);
	}
	if (insn->flow != DEC_FLOW_CALL && insn->flow != DEC_FLOW_CALL_IND)
		return NULL;
	if (is_own)
		err = own_call(f);
	return err ? err :
		     frames_call(&f->frames, insn->rip + insn->len, value_of(f, RSP));
}

// Bring it up to whose code runs: entries into foreign code, and returns.
static struct err *follow_border(struct infer *f, bool is_own)
{
	struct thread *t = f->thread;
	uint64_t in = t->foreign.rsp;

	if (!is_own && !in)
		enter_foreign(f);
	if (!is_own)
		return NULL;
	if (in && value_of(f, RSP) > in) {
		leave_foreign(f);
	} else if (in) { // called back
		struct foreign *outer = vec_push(&t->outer);

		if (!outer)
			return &err_nomem;
		*outer = t->foreign;
		t->foreign.rsp = 0;
		commit_writes(f);
	}
	return NULL;
}

static struct err *on_step(void *ctx, const struct dec_step *s)
{
	struct infer *f = ctx;
	struct err *err = switch_thread(f, s->tid);
	struct own_call *c;
	bool is_own;
	uint64_t rsp;

	if (err || !s->insn)
		return err;
	f->now = s->position;
	f->rip = s->insn->rip;
	if (f->o->progress && s->position % (1 << 20) == 0)
		f->o->progress(f->o->progress_ctx, s->position);
	is_own = frames_is_own(&f->frames, s->insn->rip);
	rsp = value_of(f, RSP);
	err = follow_border(f, is_own);
	if (f->thread->result.time)
		take_result(f, s->insn);
	if (!is_own && f->thread->foreign.args.undecided)
		decide_args(&f->thread->foreign.args, s->insn);
	c = is_own && f->thread->calls.size ?
		    &f->thread->calls.data[f->thread->calls.size - 1] :
		    NULL;
	if (c && f->thread->is_call)
		c->fn = f->rip;
	if (c && c->args.undecided)
		use_args(f, s->insn);
	if (!err)
		err = access_all(f, s, is_own);
	if (err)
		return err;
	hg_derive_step(&f->derive, s);
	for (size_t i = 0; is_own && i < s->n_refs; i++)
		if (s->refs[i].is_def && s->refs[i].is_mem)
			publish(f, s, &s->refs[i]);
	if (s->insn->flow == DEC_FLOW_SYSCALL)
		err = on_syscall(f, s);
	else
		err = follow_flow(f, s->insn, rsp, is_own);
	f->thread->is_return = s->insn->flow == DEC_FLOW_RET;
	f->thread->is_call = is_own && (s->insn->flow == DEC_FLOW_CALL ||
					s->insn->flow == DEC_FLOW_CALL_IND);
	if (!err && (f->derive.is_out_of_memory || hg_pieces_is_out_of_memory(f->pieces)))
		err = &err_nomem;
	return err;
}

static struct err *add_modules(struct infer *f, const struct capture *c)
{
	struct cap_core *core = NULL;
	struct err *err = cap_core_open(c, &core);

	for (size_t i = 0; !err && i < core->n_mappings; i++) {
		const struct cap_mapping *m = &core->mappings[i];

		if (m->file && (m->prot & PROT_EXEC))
			err = dec_symbols_add(f->symbols, m->file, m->start,
					      m->end - m->start, m->file_offset);
	}
	if (core)
		cap_core_close(core);
	return err;
}

static struct err *walk(struct infer *f, const struct capture *c)
{
	const struct dec_machine_options mo = { .stops_at_maps = true, .output_fd = -1 };
	struct dec_machine *m = NULL;
	struct dec_where w = {};
	struct err *err = add_modules(f, c);

	frames_init(&f->frames, f->symbols, capture_info(c)->exe);
	if (!err)
		err = dec_machine_create(c, &mo, &m);
	while (!err) {
		err = dec_machine_trace(m, UINT64_MAX >> 1, on_step, f, &w);
		if (err || w.at != DEC_AT_MAP)
			break;
		err = dec_symbols_add(f->symbols, w.map.file, w.map.addr, w.map.size,
				      w.map.file_offset);
		frames_refresh(&f->frames);
	}
	dec_machine_destroy(m);
	return err;
}

struct err *hg_infer(const struct capture *c, struct dec_symbols *symbols,
		     const struct hg_infer_options *o, hg_plan *ret)
{
	struct infer f = { .o = o, .symbols = symbols };
	struct err *err = hg_pieces_create(&f.pieces);

	if (err)
		return err;
	hg_derive_init_plain(&f.derive, pointer_to, &f);
	err = walk(&f, c);
	if (!err)
		err = hg_pieces_plan(f.pieces, ret);
	threads_deinit(&f);
	hg_pieces_destroy(f.pieces);
	hg_derive_deinit(&f.derive);
	frames_deinit(&f.frames);
	map_deinit(&f.sites);
	map_deinit(&f.sizes);
	vec_deinit(&f.regions);
	return err;
}
