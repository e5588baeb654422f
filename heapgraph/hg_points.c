// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The points of a run at which somebody is asked (hg_judge.h): what is released, calls and returns of
 * functions that are named, system calls; and by which family of functions memory was allocated.
 */
#include "heapgraph/hg_access_int.h"

#include <string.h>

#include "decode/history/allocator.h"

static const int argument[HG_POINT_VALUES] = { CAP_RDI, CAP_RSI, CAP_RDX, CAP_RCX, 8, 9 };
// Of a system call the fourth is in r10.
static const int syscall_argument[HG_POINT_VALUES] = {
	CAP_RDI, CAP_RSI, CAP_RDX, 10, 8, 9
};

/* ---- functions -------------------------------------------------------------------------------- */

#define ENTRIES_MAX 16

#define SLOTS_MAX 256 // a module has one or two

// Values of hg_finder.points: an operator's number, memmove, or this and the number of the judge's function.
#define POINT_FUNCTION 0x100
#define POINT_MOVE 0xff
#define MOVE UINT32_MAX // as an open call's number

static uint8_t family_of(const struct dec_allocator_operator *o)
{
	return o->is_array ? HG_FAMILY_NEW_ARRAY : HG_FAMILY_NEW;
}

const char *const hg_points_copies[] = { "memcpy", "__memcpy_chk", NULL };

static bool is_copy(const char *name)
{
	const char *const *copy = hg_points_copies;

	while (*copy && strcmp(*copy, name))
		copy++;
	return *copy;
}

/* Is the function @p name at @p entry memmove, too? The dynamic linker has one for both names, and nothing
 * tells which of them was meant. */
static bool is_memmove_too(struct dec_symbols *symbols, const char *name, uint64_t entry)
{
	uint64_t other[16];
	size_t n = is_copy(name) ? dec_symbols_entries(symbols, "memmove", other, 16) : 0;

	for (size_t i = 0; i < n && i < 16; i++)
		if (other[i] == entry)
			return true;
	return false;
}

static struct err *add_entries(struct hg_finder *f, struct dec_symbols *symbols,
			       const char *name, uint64_t value)
{
	uint64_t entry[16];
	size_t n = dec_symbols_entries(symbols, name, entry, 16);

	// Rules may be about a method; which it is of shows when the C library is there.
	if (!n && dec_symbols_entries(symbols, "malloc", entry, 1))
		n = dec_symbols_methods(symbols, name, entry, 16);
	for (size_t i = 0; i < n && i < 16; i++)
		if (!is_memmove_too(symbols, name, entry[i]) &&
		    map_put(&f->points, entry[i], value))
			return &err_nomem;
	return NULL;
}

/* memmove may have memcpy do its work, as musl's does where that copies in the right direction. */
static struct err *add_move(struct hg_finder *f, struct dec_symbols *symbols)
{
	uint64_t entry[16];
	size_t n = dec_symbols_entries(symbols, "memmove", entry, 16);

	for (size_t i = 0; i < n && i < 16; i++)
		if (!map_get(&f->points, entry[i]) &&
		    map_put(&f->points, entry[i], POINT_MOVE))
			return &err_nomem;
	return NULL;
}

/* What a resolver gives may be several functions in one (memcpy, memmove): of such only what they are called
 * by tells which it was. */
static struct err *add_function(struct hg_finder *f, struct dec_symbols *symbols,
				size_t i)
{
	const char *name = f->judge.functions[i];
	uint64_t slot[SLOTS_MAX];
	size_t n;

	if (!dec_symbols_resolvers(symbols, name, slot, 1)) {
		struct err *err = add_entries(f, symbols, name, POINT_FUNCTION + i);

		return err || !is_copy(name) ? err : add_move(f, symbols);
	}
	n = dec_symbols_slots(symbols, name, slot, SLOTS_MAX);
	for (size_t k = 0; k < n && k < SLOTS_MAX; k++)
		if (map_put(&f->slots, slot[k], POINT_FUNCTION + i))
			return &err_nomem;
	return NULL;
}

struct err *hg_points_find(struct hg_finder *f, struct dec_symbols *symbols)
{
	struct err *err = NULL;

	f->has_librarys_new = dec_allocator_has_librarys_new(symbols, f->frames->exe);
	for (size_t i = 0; i < dec_allocator_n_operators && !err; i++)
		err = add_entries(f, symbols, dec_allocator_operators[i].name, i);
	map_deinit(
		&f->slots); // a module may have gone, and another lie where its slots were
	for (size_t i = 0; f->judge.point && i < f->judge.n_functions && !err; i++)
		err = add_function(f, symbols, i);
	return err;
}

struct err *hg_points_hooks(struct dec_symbols *symbols, const char *exe, hg_hooks *ret)
{
	bool is_once = dec_allocator_has_librarys_new(symbols, exe);
	struct err *err = NULL;
	uint64_t entry[ENTRIES_MAX];

	for (size_t k = 0; k < dec_allocator_n_operators && !err; k++) {
		const struct dec_allocator_operator *o = &dec_allocator_operators[k];
		size_t n = dec_symbols_entries(symbols, o->name, entry, ENTRIES_MAX);

		for (size_t i = 0; i < n && i < ENTRIES_MAX && !err; i++)
			err = vec_add(ret, (struct dec_hook){ .rip = entry[i],
							      .kind = DEC_HOOK_FAMILY,
							      .which = family_of(o),
							      .limit = o->size,
							      .times = o->align,
							      .is_once = is_once });
	}
	return err;
}

/* ---- values ----------------------------------------------------------------------------------- */

/* To which node is the pointer in register @p reg? By where it came from; else by what lies there. */
static struct hg_node_id node_of(const struct hg_finder *f, int reg)
{
	uint32_t derivation = f->derive.regs->gpr[reg];

	return derivation ? hg_derive_get(&f->derive, derivation)->node :
			    hg_graph_covers(f->graph, f->derive.regs->value[reg]);
}

static void fill(const struct hg_finder *f, struct hg_point *p, const int *from)
{
	for (int i = 0; i < HG_POINT_VALUES; i++) {
		p->value[i] = f->derive.regs->value[from[i]];
		p->node[i] = node_of(f, from[i]);
	}
}

static struct err *tell(struct hg_finder *f, const struct hg_point *p)
{
	return f->judge.point ? f->judge.point(f->judge.ctx, f->frames, p) : NULL;
}

/* ---- families --------------------------------------------------------------------------------- */

static uint8_t family_now(const struct hg_finder *f)
{
	const struct thread *t = f->thread;
	uint64_t rsp = f->derive.regs->value[CAP_RSP];

	return t->family && rsp <= t->family_rsp ? t->family : HG_FAMILY_MALLOC;
}

struct err *hg_points_allocated(struct hg_finder *f, struct hg_node_id id)
{
	while (f->families.size < id.v)
		if (!vec_push(&f->families))
			return &err_nomem;
	f->families.data[id.v - 1] = f->thread->allocating;
	return NULL;
}

struct err *hg_points_usable(struct hg_finder *f, uint64_t bytes)
{
	uint32_t id = f->thread->asked;

	f->thread->asked = 0;
	return id && map_put(&f->usable, id, bytes) ? &err_nomem : NULL;
}

uint64_t hg_access_usable(const struct hg_finder *f, struct hg_node_id id)
{
	const uint64_t *bytes = f->usable.size ? map_get(&f->usable, id.v) : NULL;

	return bytes ? *bytes : 0;
}

uint8_t hg_access_family(const struct hg_finder *f, struct hg_node_id id)
{
	uint8_t family = id.v && id.v <= f->families.size ? f->families.data[id.v - 1] :
							    0;

	return family ? family : HG_FAMILY_MALLOC;
}

/* ---- points ----------------------------------------------------------------------------------- */

/* Nothing is where somebody has it, or where no allocator gives it out. */
static bool is_nowhere(const struct hg_finder *f, uint64_t addr)
{
	const struct frames *frames = f->frames;
	uint64_t rsp = f->derive.regs->value[CAP_RSP], start, end;
	bool is_on_stack = frames->stack.size && addr >= rsp &&
			   addr <= frames->stack.data[0].rsp;

	return !is_on_stack && !dec_symbols_extent(frames->symbols, addr, &start, &end);
}

/* May a stranger have given out what is released at @p addr, which was @p node's, or is by the pointer (@p is_derived)? */
static bool is_strangers(const struct hg_finder *f, uint64_t addr, struct hg_node_id node,
			 bool is_derived)
{
	const struct hg_node *n = node.v ? hg_graph_node(f->graph, node) : NULL;

	if (!f->strange_at || (n && hg_access_is_lent(f, node)))
		return f->strange_at;
	return !is_derived && is_nowhere(f, addr) &&
	       (!n || (n->died != UINT64_MAX && n->died < f->strange_at));
}

struct err *hg_points_stranger(struct hg_finder *f, const struct dec_step *s)
{
	static const int where[] = { CAP_RDI, CAP_RSI };

	f->thread->asked = 0;
	f->thread->is_releasing = true; // whatever it returns
	f->thread->made_at = 0;
	f->thread->resized = (struct hg_node_id){};
	f->strange_at = s->position;
	for (size_t i = 0; i < sizeof(where) / sizeof(*where); i++) {
		uint64_t addr = f->derive.regs->value[where[i]];
		struct hg_node_id id = hg_graph_covers(f->graph, addr);

		if (id.v && hg_graph_node(f->graph, id)->start == addr &&
		    map_put(&f->lent, id.v, 1))
			return &err_nomem;
	}
	return NULL;
}

struct err *hg_points_allocator(struct hg_finder *f, const struct dec_step *s, int fn)
{
	struct hg_point p = { .kind = HG_POINT_RELEASE,
			      .position = s->position,
			      .pc = s->insn->rip,
			      .family = family_now(f) };
	const uint64_t *known = map_get(&f->points, s->insn->rip);
	struct hg_node_id live;
	bool is_derived, is_operator;

	f->thread->allocating = p.family;
	f->thread->asked = !strcmp(dec_allocator[fn].name, "malloc_usable_size") ?
				   node_of(f, CAP_RDI).v :
				   0;
	f->thread->resized = (struct hg_node_id){};
	fn = dec_allocator[fn].fn;
	f->thread->is_releasing = fn == CAP_HEAP_FREE;
	f->thread->made_at =
		fn == CAP_HEAP_POSIX_MEMALIGN ? f->derive.regs->value[CAP_RDI] : 0;
	if ((fn != CAP_HEAP_FREE && fn != CAP_HEAP_REALLOC) ||
	    !f->derive.regs->value[CAP_RDI])
		return NULL;
	p.is_resize = fn == CAP_HEAP_REALLOC;
	is_operator = known && *known < POINT_MOVE;
	p.is_told = p.family != HG_FAMILY_MALLOC && f->thread->is_told;
	p.told = f->thread->told;
	p.align = f->thread->align;
	fill(f, &p, argument);
	live = hg_graph_covers(f->graph, p.value[0]);
	if (p.node[0].v && live.v != p.node[0].v &&
	    hg_astray_is_successor(f, p.node[0], live))
		p.node[0] = live;
	is_derived = p.node[0].v;
	if (!is_derived)
		p.node[0].v = hg_graph_ended_at(f->graph, p.value[0]);
	if (is_operator) // it is both: who is meant nobody knows
		p.family = hg_access_family(f, p.node[0]);
	p.is_strangers = is_strangers(f, p.value[0], p.node[0], is_derived);
	if (p.is_resize)
		f->thread->resized = p.node[0];
	return tell(f, &p);
}

/* Function number @p which is entered, or will be next, with the stack at @p rsp. What memmove calls is
 * nobody's question. */
static struct err *enter(struct hg_finder *f, const struct dec_step *s, uint32_t which,
			 uint64_t rsp)
{
	struct thread *t = f->thread;
	struct hg_point p = { .kind = HG_POINT_CALL,
			      .position = s->position,
			      .pc = s->insn->rip,
			      .which = which };

	if (t->open.size && t->open.data[t->open.size - 1].which == MOVE &&
	    t->open.data[t->open.size - 1].rsp >= rsp)
		return NULL;
	if (vec_add(&t->open, (struct hg_open_call){ which, rsp, s->position }))
		return &err_nomem;
	if (which == MOVE)
		return NULL;
	fill(f, &p, argument);
	p.has_extent = is_copy(f->judge.functions[which]);
	if (p.has_extent && p.value[0] != p.value[1])
		p.reads = p.writes = p.value[2];
	return tell(f, &p);
}

struct err *hg_points_text(struct hg_finder *f)
{
	const struct hg_string_call *c = &f->thread->string;
	struct hg_point p = { .kind = HG_POINT_TEXT,
			      .position = c->position,
			      .pc = c->pc,
			      .function = hg_string_call_copies_text(c),
			      .has_extent = true };

	if (!f->judge.wants_texts || !p.function ||
	    !hg_string_call_copied(c, &p.reads, &p.writes))
		return NULL;
	for (int i = 0; i < HG_STRING_READS; i++) {
		p.value[i] = c->read[i].start;
		if (c->read[i].derivation)
			p.node[i] =
				hg_derive_get(&f->derive, c->read[i].derivation)->node;
	}
	return tell(f, &p);
}

/* Is this a jump or call through a slot that is known? */
static const uint64_t *slot_of(const struct hg_finder *f, const struct dec_step *s)
{
	enum dec_flow flow = s->insn->flow;

	if (!f->slots.size || (flow != DEC_FLOW_JMP_IND && flow != DEC_FLOW_CALL_IND))
		return NULL;
	for (size_t i = 0; i < s->n_refs; i++)
		if (s->refs[i].is_mem && !s->refs[i].is_def)
			return map_get(&f->slots, s->refs[i].addr);
	return NULL;
}

struct err *hg_points_call(struct hg_finder *f, const struct dec_step *s)
{
	const uint64_t *known = slot_of(f, s);
	bool is_call = s->insn->flow == DEC_FLOW_CALL_IND;

	return known ? enter(f, s, *known - POINT_FUNCTION,
			     f->derive.regs->value[CAP_RSP] - (is_call ? 8 : 0)) :
		       NULL;
}

static void enter_operator(struct hg_finder *f, const struct dec_allocator_operator *o,
			   uint64_t rsp)
{
	const uint64_t *value = f->derive.regs->value;
	struct thread *t = f->thread;

	t->family = family_of(o);
	t->family_rsp = rsp;
	t->is_told = o->is_delete && o->size && f->has_librarys_new;
	t->told = value[o->size];
	t->align = o->align ? value[o->align] : 0;
}

struct err *hg_points_enter(struct hg_finder *f, const struct dec_step *s)
{
	const uint64_t *known = map_get(&f->points, s->insn->rip);
	uint64_t rsp = f->derive.regs->value[CAP_RSP];
	struct thread *t = f->thread;

	if (!known)
		return NULL;
	if (*known < POINT_MOVE) {
		if (!t->family || rsp > t->family_rsp)
			enter_operator(f, &dec_allocator_operators[*known], rsp);
		return NULL;
	}
	return enter(f, s, *known == POINT_MOVE ? MOVE : *known - POINT_FUNCTION, rsp);
}

struct err *hg_points_return(struct hg_finder *f, uint64_t position, uint64_t pc,
			     uint64_t rsp)
{
	struct thread *t = f->thread;
	struct err *err = NULL;

	if (t->family && rsp >= t->family_rsp)
		t->family = 0;
	while (!err && t->open.size && t->open.data[t->open.size - 1].rsp <= rsp) {
		struct hg_open_call c = t->open.data[--t->open.size];
		struct hg_point p = { .kind = HG_POINT_RETURN,
				      .position = position,
				      .pc = pc,
				      .which = c.which,
				      .value = { f->derive.regs->value[CAP_RAX] },
				      .node = { node_of(f, CAP_RAX) },
				      .entered = c.position };

		if (c.rsp == rsp && c.which != MOVE)
			err = tell(f, &p);
	}
	return err;
}

void hg_points_syscall(struct hg_finder *f, const struct dec_step *s, struct hg_point *p)
{
	*p = (struct hg_point){ .kind = HG_POINT_SYSCALL,
				.position = s->position,
				.pc = s->insn->rip,
				.which = f->derive.regs->value[CAP_RAX] };
	fill(f, p, syscall_argument);
}

struct err *hg_points_answered(struct hg_finder *f, struct hg_point *p)
{
	p->result = f->derive.regs->value[CAP_RAX];
	return tell(f, p);
}

struct err *hg_points_access(struct hg_finder *f, const struct dec_step *s,
			     const struct dec_ref *r, uint32_t derivation)
{
	struct hg_point p = { .kind = HG_POINT_ACCESS,
			      .position = s->position,
			      .pc = s->insn->rip,
			      .value = { r->addr },
			      .is_write = r->is_def,
			      .size = r->size };

	if (derivation)
		p.node[0] = hg_derive_get(&f->derive, derivation)->node;
	return tell(f, &p);
}
