// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * A signal landed, or a thread was interrupted, where the replay never stood with the
 * recorded registers. Where did it stand there with nearly the recorded ones?
 */

#include "decode/explain/explain_int.h"

// A hot loop may pass the place more often than is worth looking at.
#define NEAR_PASSES 2000

static struct err *near_read(const struct explain *ex, struct cap_regs *ret)
{
	struct cap_events *it = NULL;
	struct err *err = cap_events_open(ex->capture, &it);
	struct cap_event ev;
	bool is_end = false;

	while (!err && !is_end) {
		err = cap_events_next(it, &ev, &is_end);
		if (err || is_end || ev.seq != ex->x->at.seq)
			continue;
		*ret = ev.regs;
		break;
	}
	cap_events_close(it);
	return err;
}

/* The machine stands at the place: keep it when it is nearer than those before. */
static struct err *near_compare(struct explain *ex, const struct cap_regs *recorded,
				uint64_t position)
{
	struct dec_explain_near *near = &ex->x->near;
	uint32_t n_differing = 0;
	struct cap_regs regs;
	int first = 0;
	struct err *err = dec_machine_regs(ex->machine, &regs);

	if (err)
		return err;
	for (int i = CAP_GPRS; i--;) {
		if (regs.gpr[i] == recorded->gpr[i])
			continue;
		n_differing++;
		first = i;
	}
	near->n_passed++;
	if (near->n_passed > 1 && n_differing > near->n_differing)
		return NULL;
	near->position = position;
	near->n_differing = n_differing;
	near->reg = first;
	near->recorded = recorded->gpr[first];
	near->replayed = regs.gpr[first];
	return NULL;
}

struct err *dec_explain_near(struct explain *ex)
{
	const struct dec_divergence *d = &ex->x->at;
	struct cap_regs recorded = {};
	struct dec_where w;
	struct err *err;

	if (d->parting != DEC_PARTED_EVENT ||
	    (d->event != CAP_EV_SIGNAL && d->event != CAP_EV_SWITCH))
		return NULL;
	err = near_read(ex, &recorded);
	if (!err)
		err = dec_machine_seek(ex->machine,
				       d->has_agreed ? d->agreed_position + 1 : 0, &w);
	// A run does not stop at a breakpoint that it begins at.
	if (!err && w.rip == d->event_rip)
		err = near_compare(ex, &recorded, w.position);
	if (!err)
		err = dec_machine_break(ex->machine, d->event_rip, true);
	while (!err && ex->x->near.n_passed < NEAR_PASSES) {
		err = dec_machine_run(ex->machine, d->position, &w);
		if (err || w.at != DEC_AT_BREAK)
			break;
		err = near_compare(ex, &recorded, w.position);
	}
	if (err)
		return err;
	return dec_machine_break(ex->machine, d->event_rip, false);
}
