// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include <string.h>

#include "decode/translator/slots.h"
#include "faultlocate/bytes/bytes_int.h"
#include "faultlocate/bytes/values_int.h"

#define NEAR 65536 // below the stack's end, a handler's frame

/* That of the thread that runs whose frame is at @p frame; NULL: there is none. */
static struct bytes_handler *find(struct bytes_walk *w, uint64_t frame)
{
	return vec_find(&w->handlers, h, h->frame == frame && h->tid == w->thread->tid);
}

/* What the kernel has set has a value. */
static void change(struct bytes_regs *r, const uint64_t before[DEC_GPRS],
		   const uint64_t now[DEC_GPRS])
{
	for (int i = 0; i < DEC_GPRS; i++) {
		if (before[i] == now[i])
			continue;
		r->gpr[i] = 0;
		r->live &= ~(1u << i);
	}
	r->rsp = now[CAP_RSP];
}

/* One that was left by longjmp has its frame no more when another one gets it. */
static struct err *begin(struct bytes_walk *w, const uint64_t before[DEC_GPRS],
			 const uint64_t now[DEC_GPRS])
{
	struct bytes_thread *t = w->thread;
	uint64_t frame = now[CAP_RSP] + 8;
	struct bytes_handler *h = find(w, frame);

	if (!h && !(h = vec_push(&w->handlers)))
		return &err_nomem;
	*h = (struct bytes_handler){ .frame = frame, .tid = t->tid, .regs = t->regs };
	memcpy(h->gpr, before, sizeof(h->gpr));
	if (w->events->access)
		hg_derived_interrupt(w->objects.derive.regs, &h->derived, before, now);
	// It has a stack of its own.
	if (before[CAP_RSP] - now[CAP_RSP] > NEAR)
		w->has_stacks = true;
	change(&t->regs, before, now);
	fl_values_clear_others(&t->regs);
	fl_flow_clear_flags(&t->regs);
	return w->events->use ? fl_values_take(&w->values, now[CAP_RSP] - BYTES_RED_ZONE,
					       BYTES_RED_ZONE) :
				NULL;
}

static void end(struct bytes_walk *w, struct bytes_handler *h,
		const uint64_t now[DEC_GPRS])
{
	if (w->events->access)
		hg_derived_resume(w->objects.derive.regs, &h->derived, now);
	w->thread->regs = h->regs;
	change(&w->thread->regs, h->gpr, now);
	*h = w->handlers.data[--w->handlers.size];
}

struct err *fl_handlers_state(struct bytes_walk *w, const struct dec_rec *rec,
			      const uint64_t before[DEC_GPRS])
{
	struct bytes_handler *h = find(w, before[CAP_RSP]);
	struct err *err = NULL;

	w->objects.made = (struct bytes_made){ .given = UINT32_MAX };
	if (rec->value[20] == DEC_STATE_SIGNAL)
		err = begin(w, before, rec->value);
	else if (h)
		end(w, h, rec->value);
	memcpy(w->thread->gpr, rec->value, sizeof(w->thread->gpr));
	return err;
}
