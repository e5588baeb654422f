// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Has the block ended that declares a variable? Of code without optimization, as the code of the function goes on
 * outside of the block, by a pointer that was made in it, or, as clang does for what comes first in it, before. What is
 * made behind it is the compiler's, by which it cleans up.
 *
 * Where a block ends, its variables are destroyed, or given to what the attribute `cleanup' names, the last one first: by
 * calls that gcc has in the block, and clang behind it. No variable holds the address that they get, as one
 * does where the program keeps it: it was made in the register, or is kept where no variable is.
 */
#include <string.h>

#include "faultlocate/bytes/bytes_int.h"

static struct bytes_object *object_in(struct bytes_walk *w, int reg)
{
	uint32_t number = w->objects.derive.regs->gpr[reg];

	return number ? &w->objects.all.data[number - 1] : NULL;
}

/* ---- cleaning up ------------------------------------------------------------------------------ */

/* Is the place in the frame that the instruction of @p s loads an address from no variable's? It is asked once. */
static bool is_kept_aside(struct bytes_walk *w, const struct dec_step *s)
{
	struct dec_frame f = { .rip = s->insn->rip, .read = fl_objects_read_nothing };
	uint64_t key = hg_derive_key(s->insn->rip, SITE_SLOT);
	const uint64_t *known = map_get(&w->objects.sites, key);
	struct dec_around around;
	bool is_variable;

	if (known)
		return !*known;
	memcpy(f.gpr, w->objects.derive.regs->value, sizeof(f.gpr));
	is_variable = dec_symbols_around(w->symbols, &f, fl_made_slot(s), &around) &&
		      around.at.name;
	// What cannot be kept is asked again.
	map_put(&w->objects.sites, key, is_variable);
	return !is_variable;
}

void fl_ended_load(struct bytes_walk *w, const struct dec_step *s, int reg)
{
	const struct bytes_object *x = object_in(w, reg);
	struct bytes_made *made = &w->objects.made;

	if (!x || !x->around.at.scope || !fl_made_may_load(s->insn))
		return;
	made->untold |= (uint32_t)is_kept_aside(w, s) << reg;
	made->inside |= (uint32_t)fl_objects_is_within(&x->around.at, s->insn->rip)
			<< reg;
}

/* Is function @p name a destructor? C++ ABI, 5.1.4.3. */
static bool is_destructor(const char *name)
{
	size_t n = name ? strlen(name) : 0;

	return n > 6 && !strncmp(name, "_Z", 2) && name[n - 4] == 'D' &&
	       strchr("012", name[n - 3]) && !strcmp(name + n - 2, "Ev");
}

/* What the call of @p s gets as its first argument, if that is such an address; 0: it is not. What has no name, as a
 * constant's that a reference is to, is known by the destructor. */
static uint32_t cleaned_up_by(struct bytes_walk *w, const struct dec_step *s)
{
	const struct hg_derived_regs *r = w->objects.derive.regs;
	const struct bytes_object *x = object_in(w, CAP_RDI);
	struct dec_place place;

	if (x && x->around.at.name)
		return w->objects.made.untold >> CAP_RDI & 1 &&
				       !fl_objects_is_within(&x->around.at,
							     s->insn->rip) ?
			       r->gpr[CAP_RDI] :
			       0;
	dec_symbols_place_bare(w->symbols, s->insn->target, &place);
	return is_destructor(place.outer) ? BYTES_NOBODY : 0;
}

void fl_ended_call(struct bytes_walk *w, const struct dec_step *s)
{
	const struct hg_derived_regs *r = w->objects.derive.regs;
	uint64_t back = s->insn->rip + s->insn->len, rsp = r->value[CAP_RSP];

	if (r->value[CAP_RDI] - rsp >= fl_objects_frame(w).rsp - rsp ||
	    map_get(&w->objects.cleanups, back))
		return;
	if (map_put(&w->objects.cleanups, back, cleaned_up_by(w, s)))
		w->objects.derive.is_out_of_memory = true;
}

/* ---- judgement -------------------------------------------------------------------------------- */

/* Is @p call one by which the end of its block cleans up, while @p o is still there? What was declared last goes first. */
static bool is_cleanup(const struct bytes_walk *w, const struct frame *call,
		       const struct dec_object *o)
{
	const uint64_t *number = map_get(&w->objects.cleanups, call->return_rip);
	const struct dec_object *gone =
		number && *number ? &w->objects.all.data[*number - 1].around.at : NULL;

	return gone && (!gone->name || (gone->scope->die == o->scope->die &&
					(uintptr_t)gone->die >= (uintptr_t)o->die));
}

/* Is the code at @p pc of a destructor that was inlined there, or of what it calls? */
static bool is_in_destructor(struct bytes_walk *w, uint64_t pc)
{
	struct dec_place place = {};
	const char *called;

	dec_symbols_place(w->symbols, pc, &place);
	called = place.function;
	for (uint32_t i = 0; i < place.n_inlined; i++) {
		if (called && *called == '~')
			return true;
		called = place.inlined[i].function;
	}
	return false;
}

bool fl_ended_has(struct bytes_walk *w, const struct bytes_object *x, uint64_t pc)
{
	const frame_stack *stack = &w->frames->stack;
	const struct dec_object *o = &x->is;
	size_t i = stack->size;

	if (!o->scope || !x->is_literal || x->tid != w->thread->tid ||
	    (x->site >= o->scope->piece[0].end && !fl_objects_is_within(o, x->site)))
		return false;
	while (i && (stack->data[i - 1].rsp != x->frame.rsp ||
		     stack->data[i - 1].time != x->frame.time))
		i--;
	if (i && i < stack->size) {
		if (is_cleanup(w, &stack->data[i], o))
			return false;
		pc = stack->data[i].return_rip - 1;
	}
	return i && !fl_objects_is_within(o, pc) &&
	       fl_objects_same_function(w, x->site, pc) && !is_in_destructor(w, pc);
}
