// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * The rounds. The recorded run is followed over its last stretch, to its crash; each altered run
 * begins at the first of its points, up to which it is the recorded one.
 */
#include "suppress-hw/suppress/suppress_int.h"

#include <signal.h>
#include <string.h>

// The stretch of the recorded run that is followed to its crash.
#define LAST (UINT64_C(1) << 20)
// An altered run gets so many times what was left, and so many instructions more.
#define TIMES 4
#define MORE (UINT64_C(10) << 20)
// The stretch of an altered run that is followed an instruction at a time to its crash, at first,
// and so many times longer each time that this was not enough.
#define NEAR (UINT64_C(1) << 17)
#define NEAR_TIMES 16

static const struct {
	const char *name;
	enum dec_nullify_allocator does;
} allocator[] = {
	{ "malloc", DEC_NULLIFY_MALLOC },	 { "free", DEC_NULLIFY_FREE },
	{ "calloc", DEC_NULLIFY_CALLOC },	 { "realloc", DEC_NULLIFY_REALLOC },
	{ "memalign", DEC_NULLIFY_OTHER },	 { "aligned_alloc", DEC_NULLIFY_OTHER },
	{ "posix_memalign", DEC_NULLIFY_OTHER }, { "cfree", DEC_NULLIFY_FREE }
};
static const char *const no_return[] = {
	"exit",		  "_exit", "abort", "__assert_fail", "__stack_chk_fail",
	"__fortify_fail", "err",   "errx",  "longjmp",	     "__libc_start_main",
	"pthread_exit",	  "_Exit"
};

/* ---- places -------------------------------------------------------------------------------- */

bool sup_is_own(struct sup_session *s, uint64_t rip)
{
	const char *exe = capture_info(s->ret->capture)->exe, *module;
	struct dec_place p = {};

	if (!rip)
		return false;
	if (dec_symbols_has_debug(s->ret->symbols, rip)) {
		dec_symbols_place(s->ret->symbols, rip, &p);
		return p.line;
	}
	module = dec_symbols_module(s->ret->symbols, rip);
	return !dec_symbols_has_debug(s->ret->symbols, 0) && module && exe &&
	       !strcmp(module, exe);
}

void sup_place(struct sup_session *s, uint64_t rip, const uint64_t *callers, size_t n,
	       struct sup_place *ret)
{
	*ret = (struct sup_place){ .rip = rip, .is_own = sup_is_own(s, rip) };
	for (size_t i = 0; i < n && !ret->is_own; i++)
		if (sup_is_own(s, callers[i] - 1)) {
			struct dec_place called;

			dec_symbols_place_bare(s->ret->symbols, rip, &called);
			ret->by = called.outer;
			ret->rip = callers[i] - 1;
			ret->is_own = true;
		}
	dec_symbols_place(s->ret->symbols, ret->rip, &ret->place);
}

uint64_t sup_caller(struct sup_session *s, const struct dec_nullify_call *c)
{
	return sup_is_own(s, c->tail) ? c->tail + 1 : c->ret;
}

bool sup_is_ordered(const struct sup_session *s)
{
	return s->order.moves.size;
}

uint64_t sup_limit(const struct sup_session *s, uint64_t begin)
{
	return TIMES * (s->end - begin) + MORE;
}

/* ---- runs ------------------------------------------------------------------------------------ */

struct err *sup_branch(struct sup_session *s, uint64_t at, const struct dec_nullify *ask,
		       uint64_t limit, struct dec_outcome *outcome,
		       struct dec_nullified *told)
{
	struct dec_branch b = { .limit = limit, .nullify = ask, .told = told };
	struct dec_where w;
	struct err *err = dec_machine_seek(s->machine, at, &w);

	b.is_laid_out = sup_is_ordered(s) && at == s->variables.begin;
	if (!err && b.is_laid_out)
		err = dec_machine_lay_out(s->machine, s->order.moves.data,
					  s->order.moves.size);
	*told = (struct dec_nullified){};
	if (!err)
		err = dec_machine_branches(s->machine, &b, 1, 1);
	*outcome = b.outcome;
	return err;
}

struct err *sup_count(struct sup_session *s, uint64_t at, const struct dec_nullify *ask,
		      uint64_t limit, struct dec_outcome *outcome,
		      struct dec_nullified *told)
{
	struct dec_nullify quick = *ask;

	quick.full_from = limit > NEAR ? UINT64_MAX : 0;
	return sup_branch(s, at, &quick, limit, outcome, told);
}

/* @return whether @p from was before what was followed an instruction at a time. */
static bool is_before(const struct dec_source *from)
{
	return from->kind == DEC_ORIGIN_BEFORE || from->kind == DEC_ORIGIN_REG;
}

static bool is_any_before(const struct dec_origin *o, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (is_before(&o[i].made) ||
		    (o[i].made.is_right &&
		     (is_before(&o[i].assigned) || is_before(&o[i].address) ||
		      is_before(&o[i].beyond))))
			return true;
	return false;
}

/* Does what the crash was by lie before what was followed? */
static bool has_to_follow_more(struct sup_session *s)
{
	const struct dec_nullified *t = &s->told;

	if (is_any_before(t->causes, t->n_causes))
		return true;
	if (t->is_overrun)
		return !t->n_causes;
	for (uint32_t i = 0; i < t->n_frames && (s->outcome.value == SIGABRT || !i);
	     i++) {
		const struct dec_nullify_frame *f = &t->frames[i];

		if ((!f->branch && sup_is_own(s, sup_caller(s, &f->call) - 1)) ||
		    is_any_before(f->by, f->n_branch) || is_any_before(f->arg, f->n_arg))
			return true;
	}
	return false;
}

static bool is_same_end(const struct dec_outcome *a, const struct dec_outcome *b)
{
	return a->fate == b->fate && a->value == b->value && a->position == b->position &&
	       a->rip == b->rip && !memcmp(a->out, b->out, sizeof(a->out));
}

static bool is_crash(int signal)
{
	return signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE ||
	       signal == SIGILL || signal == SIGABRT || signal == SIGTRAP ||
	       signal == SIGSYS;
}

bool sup_is_crash(const struct dec_outcome *o)
{
	return o->fate == DEC_FATE_SIGNAL && is_crash(o->value);
}

/* Quickly, and if it crashes once more, its last stretch an instruction at a time, as much of it as what
 * it crashed by goes back to. */
struct err *sup_run_altered(struct sup_session *s, uint64_t begin, uint64_t limit)
{
	struct dec_nullify ask = s->ask;
	struct dec_outcome quick;
	uint64_t back = NEAR;
	struct err *err;

	ask.full_from = UINT64_MAX;
	err = sup_branch(s, begin, &ask, limit, &s->outcome, &s->told);
	quick = s->outcome;
	if (err || !sup_is_crash(&quick))
		return err;
	do {
		ask.full_from = quick.position > begin + back ? quick.position - back : 0;
		err = sup_branch(s, begin, &ask, limit, &s->outcome, &s->told);
		if (err || is_same_end(&quick, &s->outcome))
			back *= NEAR_TIMES;
		else if (ask.full_from)
			back = UINT64_MAX / 2; // all of it, to be sure
		else
			return lines_add(&s->ret->notes,
					 "emitted code and single steps differ in the "
					 "altered run from %lu on: steps count",
					 begin);
	} while (!err && ask.full_from && has_to_follow_more(s));
	return err;
}

static struct err *mapped(void *ctx, const struct dec_where *w)
{
	struct sup_session *s = ctx;

	return dec_symbols_add(s->ret->symbols, w->map.file, w->map.addr, w->map.size,
			       w->map.file_offset);
}

/* Add to the @p k entries of @p to those of @p name. @return how many there are then. */
static size_t find_entries(struct sup_session *s, const char *name,
			   uint64_t to[DEC_KNOWN_ENTRIES], size_t k)
{
	size_t left = DEC_KNOWN_ENTRIES - k;
	size_t some = dec_symbols_entries(s->ret->symbols, name, &to[k], left);

	return k + (some < left ? some : left);
}

static void find_known(struct sup_session *s)
{
	size_t n = 0, k = 0;

	for (size_t i = 0; i < sizeof(allocator) / sizeof(*allocator); i++) {
		size_t first = n;

		n = find_entries(s, allocator[i].name, s->ask.allocator, n);
		memset(&s->ask.does[first], allocator[i].does, n - first);
	}
	for (size_t i = 0; i < sizeof(no_return) / sizeof(*no_return); i++)
		k = find_entries(s, no_return[i], s->ask.no_return, k);
}

/* What the recording lacks may be what matters. */
static struct err *tell_gaps(struct sup_session *s)
{
	const struct cap_info *info = capture_info(s->ret->capture);
	struct err *err = NULL;

	for (size_t i = 0; i < info->n_missing && !err; i++)
		err = lines_add(&s->ret->notes, "the capture is not complete: %s",
				info->missing[i]);
	return err;
}

/* Replay to the end. */
static struct err *find_crash(struct sup_session *s, const struct sup_options *o)
{
	struct dec_machine_options mo = { .output_fd = -1, .mapped = mapped, .ctx = s };
	struct dec_where w;
	struct err *err = capture_open(o->capture, &s->ret->capture);

	if (!err && capture_info(s->ret->capture)->mode == CAP_MODE_FLIGHT)
		return err_new(ERR_UNSUPPORTED,
			       "a capture of the flight recorder has no start from which "
			       "the run can be made again");
	if (!err)
		err = tell_gaps(s);
	if (!err)
		err = dec_symbols_create(s->ret->capture, &s->ret->symbols);
	if (!err)
		err = dec_machine_create(s->ret->capture, &mo, &s->machine);
	if (!err)
		err = dec_machine_run(s->machine, UINT64_MAX, &w);
	if (err)
		return err;
	if (w.at == DEC_AT_DIVERGENCE)
		return err_new(ERR_DIVERGED, "%s", dec_machine_divergence(s->machine));
	if (w.is_cut)
		return err_new(ERR_TRUNCATED, "the capture breaks off before the end: %s",
			       dec_machine_divergence(s->machine) ?: "?");
	s->end = w.position;
	s->ret->has_crashed = w.end == CAP_END_SIGNAL && is_crash(w.end_value);
	find_known(s);
	return NULL;
}

/* ---- what was omitted ------------------------------------------------------------------------------ */

static int compare_text(const char *a, const char *b)
{
	return !a || !b ? !!a - !!b : strcmp(a, b);
}

static int by_line(const void *a, const void *b)
{
	const struct dec_place *p = &((const struct sup_omitted *)a)->place.place,
			       *q = &((const struct sup_omitted *)b)->place.place;

	return compare_text(p->file, q->file) ?:
		       p->line != q->line ? (p->line > q->line) - (p->line < q->line) :
					    compare_text(p->outer, q->outer);
}

static struct err *list_omitted(struct sup_session *s, struct sup_step *step)
{
	size_t n = 0;

	for (uint32_t i = 0; i < s->told.n_rips; i++) {
		struct sup_omitted o = { .n = s->told.omitted[i].n };

		sup_place(s, s->told.omitted[i].rip, NULL, 0, &o.place);
		if (vec_add(&step->omitted, o))
			return &err_nomem;
	}
	vec_sort(&step->omitted, by_line);
	for (size_t i = 0; i < step->omitted.size; i++) {
		if (n && !by_line(&step->omitted.data[n - 1], &step->omitted.data[i]))
			step->omitted.data[n - 1].n += step->omitted.data[i].n;
		else
			step->omitted.data[n++] = step->omitted.data[i];
	}
	step->omitted.size = n;
	return NULL;
}

/* ---- rounds ------------------------------------------------------------------------------------ */

/* The recorded run, over its last stretch. */
static struct err *follow_crash(struct sup_session *s)
{
	uint64_t back = s->end < LAST ? s->end : LAST;

	s->begin = s->end - back;
	return sup_branch(s, s->begin, &s->ask, back + MORE, &s->outcome, &s->told);
}

// A crash by the same instruction, for the same one, so many times: not one instance a run any
// more.
#define ONE_BY_ONE 3
// Then the run begins so many times further back than the instances found lie apart.
#define FURTHER 4

/* A block's end is written over again: those who did so before are left out each time. */
static void generalise_overrun(struct sup_session *s, size_t first)
{
	s->n_alike = s->crash_before == s->told.crash ? s->n_alike + 1 : 1;
	if (s->n_alike == 1)
		s->overrun_first = first;
	s->crash_before = s->told.crash;
	for (size_t i = s->overrun_first; i < s->ret->points.size && s->n_alike > 1;
	     i++) {
		struct dec_point *p = &s->ret->points.data[i].at;

		if (p->is_arrival)
			continue;
		p->is_each = true;
		p->addr = 0;
		p->nth = 1;
		if (i < s->ask.n_points)
			s->ask.points[i] = *p;
	}
}

/* A loop that goes wrong does so at each of its instances: once that is seen, the instruction is
 * left out each time from far enough before the earliest one on; further, if that does not do. */
static void generalise(struct sup_session *s, size_t first)
{
	struct sup_result *ret = s->ret;
	struct sup_point *p = &ret->points.data[first];
	uint64_t low = p->position, high = p->position, back;

	if (s->crash_before == s->told.crash && s->point_before == p->at.rip)
		s->n_alike++;
	else
		s->n_alike = 1;
	s->crash_before = s->told.crash;
	s->point_before = p->at.rip;
	if (s->n_alike < ONE_BY_ONE || p->at.is_arrival)
		return;
	for (size_t i = 0; i < ret->points.size; i++) {
		const struct sup_point *q = &ret->points.data[i];

		if (q->at.rip != p->at.rip)
			continue;
		low = q->position < low ? q->position : low;
		high = q->position > high ? q->position : high;
	}
	back = FURTHER * (high - low);
	p->begin = low > back ? low - back : 0;
	p->at.is_each = true;
	p->at.addr = 0; // each defines its own
}

/* The points found since number @p first are suppressed, too: from the earliest of all on. */
static struct err *run_again(struct sup_session *s, size_t first)
{
	uint64_t begin = s->ask.n_points ? s->begin : UINT64_MAX;
	struct sup_result *ret = s->ret;
	struct err *err;

	if (s->told.is_overrun)
		generalise_overrun(s, first);
	else
		generalise(s, first);
	for (size_t i = first; i < ret->points.size; i++) {
		const struct sup_point *p = &ret->points.data[i];
		uint64_t at = p->at.is_each ? p->begin : p->position;

		begin = at < begin ? at : begin;
	}
	// Variables are where they are from the beginning.
	if (sup_is_ordered(s))
		begin = s->variables.begin;
	err = sup_recount(s, begin);
	for (size_t i = first; i < ret->points.size && !err; i++) {
		struct sup_point *p = &ret->points.data[i];
		struct dec_nullify none = s->ask;
		struct dec_nullified told;
		struct dec_outcome outcome;

		// What lies before where points were was not altered.
		if (p->at.is_each) {
			p->at.nth = 1;
		} else if (p->position < s->begin || !s->ask.n_points) {
			none.n_points = none.n_calls = 0;
			memset(none.counted, 0, sizeof(none.counted));
			none.counted[0] = p->at.rip;
			err = sup_count(s, begin, &none, p->position - begin, &outcome,
					&told);
			p->at.nth = told.counts[0] + 1;
		} else if (begin < s->begin) {
			none.n_points = none.n_calls = 0;
			memset(none.counted, 0, sizeof(none.counted));
			none.counted[0] = p->at.rip;
			err = sup_count(s, begin, &none, s->begin - begin, &outcome,
					&told);
			p->at.nth += told.counts[0];
		}
	}
	for (size_t i = first; i < ret->points.size; i++)
		s->ask.points[s->ask.n_points++] = ret->points.data[i].at;
	s->begin = begin;
	s->n_runs++;
	if (!err)
		err = sup_calls(s, begin);
	return err ?: sup_run_altered(s, begin, sup_limit(s, begin));
}

/* The likelier first, then the later. */
static int by_weight(const void *a, const void *b)
{
	const struct sup_point *p = a, *q = b;

	if (p->weight != q->weight)
		return q->weight - p->weight;
	return p->position > q->position ? -1 : p->position < q->position;
}

/* One round. @return in *@p goes_on whether there is another crash to look at. */
static struct err *make_round(struct sup_session *s, bool *goes_on)
{
	struct sup_result *ret = s->ret;
	struct sup_step *step = vec_push(&ret->steps);
	size_t first = ret->points.size;
	struct err *err;

	*goes_on = false;
	s->first = first;
	if (!step)
		return &err_nomem;
	if (!s->told.is_overrun || s->crash_before != s->told.crash)
		ret->found = ret->steps.size - 1;
	step->ordering = sup_is_ordered(s) ? ret->orderings.size : 0;
	step->signal = s->outcome.value;
	step->position = s->outcome.position;
	step->first = first;
	sup_crash_place(s, &step->place);
	err = sup_crash(s);
	step->n = ret->points.size - first;
	if (err || !step->n)
		return err;
	qsort(ret->points.data + first, step->n, sizeof(*ret->points.data), by_weight);
	for (size_t i = first; i < ret->points.size && !err && !ret->is_race; i++)
		err = sup_race_at(s, &ret->points.data[i].place);
	if (err || ret->is_race)
		return err;
	err = run_again(s, first);
	step->begin = s->begin;
	step->n_steps = s->told.n_steps;
	step->n_omitted = s->told.n_omitted;
	step->n_slow = s->told.n_slow;
	if (!err)
		err = list_omitted(s, step);
	*goes_on = sup_is_crash(&s->outcome);
	ret->is_removed = !*goes_on && s->outcome.fate != DEC_FATE_MACHINE;
	return err;
}

static struct err *say_how_it_ended(struct sup_session *s)
{
	switch (s->outcome.fate) {
	case DEC_FATE_LIMIT:
		return lines_add(&s->ret->notes,
				 "the last run did not end within %lu instructions",
				 s->outcome.position - s->begin);
	case DEC_FATE_LEFT:
		return lines_add(&s->ret->notes,
				 "the last run needed what was never recorded: %s",
				 s->outcome.text);
	case DEC_FATE_HANG:
		return lines_add(&s->ret->notes,
				 "in the last run all threads wait for each other");
	case DEC_FATE_MACHINE:
		return lines_add(&s->ret->notes, "the last run could not go on: %s",
				 s->outcome.text);
	default:
		return NULL;
	}
}

/* While it crashes: without what defined what it crashed by. */
static struct err *make_rounds(struct sup_session *s)
{
	bool goes_on = true;
	struct err *err = NULL;

	while (!err && goes_on && s->n_runs < s->o->max_runs) {
		err = make_round(s, &goes_on);
		if (s->o->with_progress)
			fprintf(stderr, "faultline: %u altered runs, %zu points\n",
				s->n_runs, s->ret->points.size);
	}
	s->ret->outcome = s->outcome;
	s->ret->told = s->told;
	return err;
}

/* From the recorded crash on. */
static struct err *suppress_recorded(struct sup_session *s)
{
	struct err *err = follow_crash(s);

	if (!err && s->outcome.fate != DEC_FATE_SIGNAL)
		return err_new(ERR_DIVERGED,
			       "the run, followed once more, does not come "
			       "to its crash: %s",
			       s->outcome.text);
	return err ?: make_rounds(s);
}

/* As long as there are orderings with which what does not crash any more crashes (Figure 5.7). */
static struct err *suppress_reordered(struct sup_session *s)
{
	struct sup_result *ret = s->ret;
	struct err *err = NULL;
	bool found = true;

	while (!err && found && !ret->is_race && (ret->is_removed || !ret->steps.size) &&
	       s->n_runs < s->o->max_runs) {
		err = sup_reorder(s, &found);
		if (err || !found)
			continue;
		ret->has_crashed = true;
		ret->is_removed = false;
		err = make_rounds(s);
	}
	return err;
}

/* @return when what @p step left out went wrong. */
static uint64_t time_of(const struct sup_result *ret, const struct sup_step *step)
{
	const struct sup_point *p = &ret->points.data[step->first];

	return p->is_use ? 0 : p->position;
}

/* Of all that was suppressed until nothing crashed any more what took place first is the first corruption: what
 * crashed behind it may be what leaving that out led to. */
static void choose_step(struct sup_result *ret)
{
	for (size_t i = 0; i < ret->steps.size && ret->is_removed; i++) {
		const struct sup_step *step = &ret->steps.data[i],
				      *found = &ret->steps.data[ret->found];

		if (step->n && (!found->n || time_of(ret, step) < time_of(ret, found)))
			ret->found = i;
	}
}

static struct err *suppress(struct sup_session *s)
{
	struct err *err = find_crash(s, s->o);

	if (!err && s->o->race)
		return sup_race_asked(s);
	if (!err && s->ret->has_crashed)
		err = suppress_recorded(s);
	if (!err && s->o->reorders)
		err = suppress_reordered(s);
	choose_step(s->ret);
	return err || !s->ret->has_crashed ? err : say_how_it_ended(s);
}

struct err *sup_suppress(const struct sup_options *o, struct sup_result *ret)
{
	struct sup_session *s = calloc(1, sizeof(*s));
	struct err *err;

	if (!s)
		return &err_nomem;
	s->o = o;
	s->ret = ret;
	s->ask.mode = ret->mode = o->mode;
	s->ask.granule = o->granule;
	err = suppress(s);
	vec_deinit(&s->races);
	sup_variables_deinit(&s->variables);
	sup_order_deinit(&s->order);
	dec_past_destroy(s->past);
	dec_machine_destroy(s->machine);
	free(s);
	return err;
}

void sup_result_deinit(struct sup_result *r)
{
	for (size_t i = 0; i < r->steps.size; i++)
		vec_deinit(&r->steps.data[i].omitted);
	for (size_t i = 0; i < r->orderings.size; i++)
		lines_deinit(&r->orderings.data[i].pairs);
	vec_deinit(&r->orderings);
	vec_deinit(&r->steps);
	vec_deinit(&r->points);
	for (size_t i = 0; i < r->races.size; i++)
		sup_race_deinit(&r->races.data[i]);
	vec_deinit(&r->races);
	lines_deinit(&r->notes);
	dec_symbols_destroy(r->symbols);
	capture_close(r->capture);
}
