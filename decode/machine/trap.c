// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "decode/machine/trap.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "decode/machine/log.h"

// A stretch of the run that is searched at once: forward it grows from the one to the other.
#define STRETCH_FIRST (UINT64_C(1) << 16)
#define STRETCH_MOST (UINT64_C(1) << 26)
// With conditions, of each place in it that they must be asked at.
#define STRETCH_ASKED (UINT64_C(1) << 22)
#define CHECKPOINTS_LAID 16 ///< at most, on the way to a stretch far from any
#define HEED_SPANS 64
// So many stretches are searched at once behind one that was written to, but not where it matters.
#define HEED_PAUSE 8
// A piece that was written to is gone through once more in so many parts, before it is logged.
#define FINER 16

#define ON_MEMORY (DEC_TRAP_READ | DEC_TRAP_WRITE)
#define ON_EVENTS (DEC_TRAP_SYSCALL | DEC_TRAP_SIGNAL | DEC_TRAP_SWITCH | DEC_TRAP_LOAD)
#define ON_INSTRUCTIONS (ON_MEMORY | DEC_TRAP_SYSCALL | DEC_TRAP_LOAD)

uint64_t dec_trap_piece = UINT64_C(1) << 24;

struct search {
	struct dec_machine *m;
	const struct dec_trap *traps;
	size_t n;
	bool is_back, has_conditions;
	unsigned on;	    ///< of all traps
	uint64_t low, high; ///< what READ and WRITE are within
	// Of what lies between two instructions, only what is at or behind the one and before
	// the other.
	uint64_t first, end;
	uint64_t nth, met;    ///< forward: which is looked for; how many there were
	dec_trapped_fn *each; ///< forward: told of all; or NULL
	void *ctx;
	/** There are only traps that most stretches of a run can be told to be without, as they
	 * are gone through, and need no log: */
	bool is_heeding;
	size_t n_spans; ///< what WRITE is for (dec_machine_heed())
	struct dec_span span[HEED_SPANS];
	VEC(struct dec_span) clean; ///< back: stretches of the run without a write
	uint64_t heeded;	    ///< back: from here on that is known
	uint64_t refined;	    ///< .. and finely
	struct log_reader reader;
	uint32_t tid;
	uint64_t fs_base;
	VEC(struct dec_trapped) found;
};

/* ---- what the log says ------------------------------------------------------------------ */

/* @return whether the machine stops once for both: before an instruction, or behind what it did;
 * going back it is before it for either. */
static bool is_one_stop(const struct search *s, const struct dec_trapped *a,
			const struct dec_trapped *b)
{
	return a->position == b->position &&
	       (s->is_back || !(a->on & ON_INSTRUCTIONS) == !(b->on & ON_INSTRUCTIONS));
}

static struct err *keep(struct search *s, const struct dec_trapped *t)
{
	struct dec_trapped *to = NULL;

	if (!(t->on & ON_INSTRUCTIONS) &&
	    (t->position < s->first || t->position >= s->end))
		return NULL;
	s->met++;
	if (s->each)
		return s->each(s->ctx, t);
	if (!s->is_back && !s->has_conditions && (!s->nth || s->met < s->nth))
		return NULL;
	if (s->found.size)
		to = &s->found.data[s->found.size - 1];
	if (!s->has_conditions && to && (!s->is_back || to->position == t->position)) {
		// The first of the traps is told.
		if (is_one_stop(s, to, t) && t->trap < to->trap)
			*to = *t;
		return NULL;
	}
	if (s->has_conditions || !to)
		to = vec_push(&s->found);
	if (!to)
		return &err_nomem;
	*to = *t;
	return NULL;
}

/* Such traps are breakpoints of the machine's; the log does not count. */
static bool is_asked_there(const struct dec_trap *t)
{
	return t->on == DEC_TRAP_EXECUTE && t->only_if.n;
}

/* Something happened: @p t has all but the trap. */
static struct err *meet(struct search *s, struct dec_trapped *t)
{
	struct err *err = NULL;

	t->tid = s->tid;
	for (size_t i = 0; i < s->n && !err; i++) {
		const struct dec_trap *trap = &s->traps[i];

		if (!(trap->on & t->on) || (trap->tid && trap->tid != s->tid) ||
		    is_asked_there(trap))
			continue;
		if (t->on == DEC_TRAP_EXECUTE && trap->addr != t->addr)
			continue;
		if (t->on == DEC_TRAP_LEAVE && t->addr - trap->addr < trap->size)
			continue;
		if (t->on & ON_MEMORY && (trap->addr >= t->addr + t->size ||
					  t->addr >= trap->addr + trap->size))
			continue;
		if (t->on == DEC_TRAP_SYSCALL && trap->number >= 0 &&
		    trap->number != t->number)
			continue;
		t->trap = i;
		err = keep(s, t);
	}
	return err;
}

static struct err *execute(struct search *s, uint64_t rip, uint64_t position)
{
	struct dec_trapped t = { .on = DEC_TRAP_EXECUTE,
				 .addr = rip,
				 .position = position };
	struct err *err = s->on & DEC_TRAP_EXECUTE ? meet(s, &t) : NULL;

	t.on = DEC_TRAP_LEAVE;
	return err || !(s->on & DEC_TRAP_LEAVE) ? err : meet(s, &t);
}

/* @return whether one of the traps is for the execution of the instruction at @p rip. */
static bool is_for(const struct search *s, uint64_t rip)
{
	for (size_t i = 0; i < s->n; i++)
		if ((s->traps[i].on & DEC_TRAP_EXECUTE && s->traps[i].addr == rip &&
		     !is_asked_there(&s->traps[i])) ||
		    (s->traps[i].on & DEC_TRAP_LEAVE &&
		     rip - s->traps[i].addr >= s->traps[i].size))
			return true;
	return false;
}

static struct err *access_memory(struct search *s, unsigned on, uint64_t addr,
				 uint64_t size, uint64_t position, bool is_by_kernel)
{
	struct dec_trapped t = { .on = on,
				 .addr = addr,
				 .size = size,
				 .position = position,
				 .is_by_kernel = is_by_kernel };

	return s->on & on && addr < s->high && addr + size > s->low ? meet(s, &t) : NULL;
}

/** What of a block may be stopped at, in the order of its instructions. */
struct plan {
	uint32_t n;
	struct {
		uint8_t insn, mem;
		uint8_t on;
		bool is_fs;
		uint32_t size;
		struct log_where where;
	} at[];
};

static struct plan *make_plan(const struct search *s, const struct log_block *b)
{
	struct plan *p =
		malloc(sizeof(*p) + b->n_insns * (1 + 2 * DEC_MEMS) * sizeof(p->at[0]));

	if (!p)
		return NULL;
	p->n = 0;
	for (uint32_t i = 0; i < b->n_insns; i++) {
		const struct dec_insn *insn = &b->insn[i];

		if (is_for(s, insn->rip)) {
			p->at[p->n].insn = i;
			p->at[p->n++].on = DEC_TRAP_EXECUTE;
		}
		for (int m = 0; m < insn->n_mem; m++) {
			const struct dec_mem *mem = &insn->mem[m];
			unsigned on = (mem->is_read ? DEC_TRAP_READ : 0) |
				      (mem->is_write ? DEC_TRAP_WRITE : 0);

			if (!(on & s->on))
				continue;
			p->at[p->n].insn = i;
			p->at[p->n].mem = m;
			p->at[p->n].is_fs = mem->is_fs;
			p->at[p->n].size = mem->size;
			p->at[p->n].where = dec_log_where(b, i, m);
			p->at[p->n++].on = on;
		}
	}
	return p;
}

static struct err *on_block(void *ctx, struct log_block *b, const uint8_t *rec,
			    uint32_t n_ran, uint64_t time)
{
	struct search *s = ctx;
	const struct plan *p = b->user ?: (b->user = make_plan(s, b));
	struct err *err = p ? NULL : &err_nomem;

	for (uint32_t k = 0; !err && k < p->n && p->at[k].insn < n_ran; k++) {
		struct log_run runs[LOG_RUNS];
		uint32_t i = p->at[k].insn;
		uint64_t addr, size;
		int n;

		if (p->at[k].on == DEC_TRAP_EXECUTE) {
			err = execute(s, b->insn[i].rip, time + i);
			continue;
		}
		addr = dec_log_at(&p->at[k].where, rec);
		if (p->at[k].is_fs)
			addr += s->fs_base;
		size = p->at[k].size;
		if (addr >= s->high || addr + size <= s->low)
			continue;
		for (unsigned on = DEC_TRAP_READ; on <= DEC_TRAP_WRITE && !err;
		     on <<= 1) {
			if (!(p->at[k].on & on))
				continue;
			n = dec_log_accesses(b, i, p->at[k].mem, rec, runs);
			for (int r = 0; r < n && !err; r++)
				err = access_memory(s, on, addr + runs[r].offset,
						    runs[r].size, time + i, false);
		}
	}
	return err;
}

static struct err *on_slow(void *ctx, const struct dec_rec_slow *rec,
			   const struct dec_insn *insn, uint64_t time)
{
	struct log_refs refs = dec_log_refs(rec);
	const struct dec_rec_ref *ref;
	struct search *s = ctx;
	struct err *err = execute(s, rec->rip, time);
	const uint8_t *data;

	dec_log_follow_fs(rec, insn, &s->fs_base);
	while (!err && (ref = dec_log_next_ref(&refs, &data)))
		if (ref->is_mem)
			err = access_memory(s,
					    ref->is_def ? DEC_TRAP_WRITE : DEC_TRAP_READ,
					    ref->addr, ref->bytes, time, false);
	return err;
}

static struct err *on_state(struct search *s, const struct dec_rec *rec, uint64_t time)
{
	struct dec_trapped t = { .on = DEC_TRAP_SIGNAL, .position = time };
	uint64_t len = rec->value[18], why = rec->value[20];

	s->fs_base = rec->value[17];
	if (len) // an instruction that C answered
		return execute(s, rec->value[16] - len, time);
	return why == DEC_STATE_SIGNAL ? meet(s, &t) : NULL;
}

/* Memory that the answered call @p rec made anew, or took away: what it held is gone. @return how many
 * of @p ret there are. */
static int remapped(const struct dec_rec *rec, struct dec_span ret[2])
{
	const uint64_t *args = rec->value + 3;
	uint64_t result = rec->value[1];
	int n = 0;

	if (result > -4096ull)
		return 0;
	switch (rec->value[0]) {
	case SYS_mmap:
		ret[n++] = (struct dec_span){ result, result + args[1] };
		break;
	case SYS_mremap:
		if (result == args[0]) { // grown, or shrunk
			uint64_t less = args[1] < args[2] ? args[1] : args[2];
			uint64_t more = args[1] < args[2] ? args[2] : args[1];

			ret[n++] = (struct dec_span){ result + less, result + more };
			break;
		}
		ret[n++] = (struct dec_span){ result, result + args[2] };
		ret[n++] = (struct dec_span){ args[0], args[0] + args[1] };
		break;
	case SYS_madvise:
		if (args[2] != MADV_DONTNEED && args[2] != MADV_REMOVE)
			break;
		ret[n++] = (struct dec_span){ args[0], args[0] + args[1] };
		break;
	case SYS_munmap:
		ret[n++] = (struct dec_span){ args[0], args[0] + args[1] };
		break;
	}
	// Whole pages.
	for (int i = 0; i < n; i++)
		ret[i].end = (ret[i].end + 4095) & ~UINT64_C(4095);
	return n;
}

static struct err *on_syscall(struct search *s, const struct dec_rec *rec, uint64_t time)
{
	struct dec_span gone[2];
	int n = remapped(rec, gone);
	struct dec_trapped t = { .on = DEC_TRAP_SYSCALL,
				 .position = time,
				 .number = rec->value[0] };
	struct err *err = execute(s, rec->value[2], time);

	s->fs_base = rec->value[13];
	for (int i = 0; i < n && !err; i++)
		err = access_memory(s, DEC_TRAP_WRITE, gone[i].start,
				    gone[i].end - gone[i].start, time, true);
	if (!err)
		err = meet(s, &t);
	if (err || rec->value[0] != SYS_mmap || rec->value[1] > -4096ull ||
	    !(rec->value[5] & PROT_EXEC) || rec->value[6] & MAP_ANONYMOUS)
		return err;
	t.on = DEC_TRAP_LOAD;
	t.addr = rec->value[1];
	t.size = rec->value[4];
	return meet(s, &t);
}

static struct err *on_other(void *ctx, const struct dec_rec *rec, uint64_t time)
{
	const struct dec_rec_write *w = (const struct dec_rec_write *)rec;
	struct dec_trapped t = { .on = DEC_TRAP_SWITCH, .position = time };
	struct search *s = ctx;
	bool is_first;

	switch (rec->id) {
	case DEC_REC_STATE:
		return on_state(s, rec, time);
	case DEC_REC_SYSCALL:
		return on_syscall(s, rec, time);
	case DEC_REC_THREAD:
		is_first = !s->tid || s->tid == rec->value[0];
		s->tid = rec->value[0];
		return is_first ? NULL : meet(s, &t);
	case DEC_REC_WRITE:
		// What an instruction writes in bulk is among its references.
		return w->by_insn ? NULL :
				    access_memory(s, DEC_TRAP_WRITE, w->addr, w->n_bytes,
						  time ? time - 1 : 0, true);
	default:
		return NULL;
	}
}

static struct err *feed(void *ctx, const uint8_t *log, size_t bytes)
{
	const struct log_sink sink = { ctx, on_block, on_slow, on_other };
	struct search *s = ctx;

	return dec_log_reader_feed(&s->reader, &sink, log, bytes);
}

/* ---- a stretch ----------------------------------------------------------------------------- */

/* Run on; others' breakpoints and stops are passed by. */
static struct err *run(struct search *s, uint64_t position, struct dec_where *ret)
{
	struct err *err;

	do
		err = dec_machine_run(s->m, position, ret);
	while (!err && ret->at == DEC_AT_BREAK && ret->position < position);
	return err;
}

static struct err *go(struct search *s, uint64_t position, struct dec_where *ret)
{
	struct err *err = dec_machine_seek(s->m, position, ret);

	return err ? err : run(s, position, ret);
}

/* The breakpoints of those traps that are asked where the program runs. */
static struct err *set_breaks(struct search *s, bool is_on)
{
	struct err *err = NULL;

	for (size_t i = 0; i < s->n && !err; i++) {
		const struct dec_trap *t = &s->traps[i];

		if (!is_asked_there(t))
			continue;
		err = is_on ? dec_machine_break_if(s->m, t->addr, &t->only_if) :
			      dec_machine_break(s->m, t->addr, false);
	}
	return err;
}

/* It stands at a breakpoint: one of a trap's? @p is_met: of one that has no other condition. */
static struct err *keep_break(struct search *s, const struct dec_where *w, bool *is_met)
{
	struct dec_trapped t = { .on = DEC_TRAP_EXECUTE,
				 .addr = w->rip,
				 .position = w->position,
				 .tid = w->tid };

	for (size_t i = 0; i < s->n; i++)
		if (is_asked_there(&s->traps[i]) && s->traps[i].addr == w->rip &&
		    (!s->traps[i].tid || s->traps[i].tid == w->tid)) {
			t.trap = i;
			*is_met |= !s->traps[i].holds;
			return keep(s, &t);
		}
	return NULL;
}

/* Run to @p to, past breakpoints; forward nothing behind one that is met matters. */
static struct err *run_through(struct search *s, uint64_t to, struct dec_where *ret)
{
	bool is_met = false;
	struct err *err;

	do {
		err = dec_machine_run(s->m, to, ret);
		if (!err && ret->at == DEC_AT_BREAK)
			err = keep_break(s, ret, &is_met);
	} while (!err && ret->at == DEC_AT_BREAK && ret->position < to &&
		 (s->is_back || !is_met));
	return err;
}

/* List what is met from @p from to before @p to. @p ret: where the machine stands then. */
static struct err *list(struct search *s, uint64_t from, uint64_t to,
			struct dec_where *ret)
{
	enum dec_log_mode mode = s->on & ON_MEMORY ? DEC_LOG_ADDRESSES : DEC_LOG_FLOW;
	struct err *err = go(s, from, ret), *off;

	if (err || ret->position != from)
		return err;
	s->found.size = 0;
	s->tid = 0;
	dec_log_reader_init(&s->reader, mode, from);
	err = dec_machine_log(s->m, mode, feed, s);
	if (!err)
		err = set_breaks(s, true);
	if (!err)
		err = run_through(s, to, ret); // not from a checkpoint in between
	off = dec_machine_log(s->m, DEC_LOG_NONE, NULL, NULL);
	if (!off)
		off = set_breaks(s, false);
	dec_log_reader_deinit(&s->reader);
	if (!err)
		return off;
	err_destroy(off);
	return err;
}

/* Run to @p to. @p ret_clean: nothing that there is a trap for has happened on the way. */
static struct err *heed(struct search *s, uint64_t to, bool *ret_clean,
			struct dec_where *ret)
{
	struct dec_where w;
	struct err *err = dec_machine_run(s->m, 0, &w); // tells where it stands

	if (!err)
		err = dec_machine_heed(s->m, s->span, s->n_spans);
	if (!err)
		err = run(s, to, ret);
	*ret_clean = !err && !dec_machine_heeded(s->m) &&
		     (!(s->on & DEC_TRAP_SIGNAL) || w.handlers == ret->handlers) &&
		     (!(s->on & DEC_TRAP_SWITCH) || w.switches == ret->switches) &&
		     // The call that ends the program has no event.
		     (!(s->on & (DEC_TRAP_SYSCALL | DEC_TRAP_LOAD)) ||
		      (w.seq == ret->seq && ret->at == DEC_AT_POSITION));
	err_destroy(dec_machine_heed(s->m, NULL, 0));
	return err;
}

/* @return of what was listed that whose condition holds: forward the first, backward the last, of
 * one stop that of the first trap; NULL: none does. */
static struct err *choose(struct search *s, const struct dec_trapped **ret)
{
	*ret = NULL;
	for (size_t i = 0; i < s->found.size; i++) {
		const struct dec_trapped *t = &s->found.data[i];
		const struct dec_trap *trap = &s->traps[t->trap];
		bool is_same = *ret && is_one_stop(s, *ret, t);
		struct dec_where w;
		struct err *err;

		if (*ret && !is_same && !s->is_back)
			break;
		if (is_same && t->trap > (*ret)->trap)
			continue;
		if (trap->holds) {
			err = go(s, t->position + !!(t->on & ON_INSTRUCTIONS), &w);
			if (err)
				return err;
		}
		if (!trap->holds || trap->holds(trap->ctx, s->m))
			*ret = t;
	}
	return NULL;
}

static struct err *stop_at(struct search *s, const struct dec_trapped *t,
			   struct dec_trapped *ret)
{
	*ret = *t;
	return go(s, t->position + (!s->is_back && t->on & ON_INSTRUCTIONS), &ret->where);
}

static struct err *start(struct search *s)
{
	size_t n_spans = 0;

	s->low = UINT64_MAX;
	for (size_t i = 0; i < s->n; i++) {
		const struct dec_trap *t = &s->traps[i];

		s->on |= t->on;
		s->has_conditions |= t->holds != NULL;
		if (!(t->on & ON_MEMORY))
			continue;
		if (!t->size || t->addr + t->size < t->addr)
			return err_new(ERR_USAGE, "cannot watch %lu bytes at %#lx",
				       t->size, t->addr);
		s->low = t->addr < s->low ? t->addr : s->low;
		s->high = t->addr + t->size > s->high ? t->addr + t->size : s->high;
		n_spans++;
		if (s->n_spans < HEED_SPANS)
			s->span[s->n_spans++] =
				(struct dec_span){ t->addr, t->addr + t->size };
	}
	s->is_heeding = !(s->on & ~(DEC_TRAP_WRITE | ON_EVENTS)) && s->n_spans == n_spans;
	return NULL;
}

/* ---- both ways --------------------------------------------------------------------------- */

static struct err *search_forward(struct search *s, uint64_t until,
				  struct dec_trapped *ret)
{
	uint64_t most = s->has_conditions ? STRETCH_ASKED : STRETCH_MOST,
		 n = STRETCH_FIRST;
	uint64_t from = ret->where.position;
	const struct dec_trapped *t = NULL;
	struct err *err = NULL;
	int pause = 0;
	bool is_clean;

	s->first = from + 1;
	s->end = UINT64_MAX;
	for (; !err && !t && from < until; n = 4 * n < most ? 4 * n : most) {
		uint64_t to = until - from > n ? from + n : until;

		err = dec_machine_checkpoint(s->m);
		is_clean = false;
		if (!err && s->is_heeding && !pause--) {
			err = heed(s, to, &is_clean, &ret->where);
			pause = is_clean ? 0 : HEED_PAUSE;
		}
		s->found.size = 0;
		if (!err && !is_clean)
			err = list(s, from, to, &ret->where);
		if (!err && !is_clean)
			err = choose(s, &t);
		if (!err && !t && ret->where.at != DEC_AT_POSITION)
			break;
		// Conditions moved it.
		if (!err && !t && s->found.size)
			err = go(s, to, &ret->where);
		from = to;
	}
	return err || !t ? err : stop_at(s, t, ret);
}

static uint64_t checkpoint_before(const struct search *s, uint64_t since, uint64_t end)
{
	uint64_t at = dec_machine_checkpoint_before(s->m, end);

	return at > since ? at : since;
}

/* From @p from, where it stands, to @p to: which stretches of @p piece instructions are clean? */
static struct err *heed_way(struct search *s, uint64_t from, uint64_t to, uint64_t piece)
{
	struct err *err = NULL;

	for (uint64_t next; from < to && !err; from = next) {
		struct dec_span *last =
			s->clean.size ? &s->clean.data[s->clean.size - 1] : NULL;
		struct dec_where w;
		bool is_clean;

		next = to - from > piece ? from + piece : to;
		err = heed(s, next, &is_clean, &w);
		if (err || !is_clean)
			continue;
		if (last && last->end == from)
			last->end = next;
		else
			err = vec_add(&s->clean, ((struct dec_span){ from, next }));
	}
	return err;
}

/* Have checkpoints before @p end, not too far apart; and know what is clean between. */
static struct err *lay_checkpoints(struct search *s, uint64_t since, uint64_t end)
{
	uint64_t most = s->has_conditions ? STRETCH_ASKED : STRETCH_MOST,
		 from = checkpoint_before(s, since, end), n = (end - from) / most, step;
	bool is_heeding = s->is_heeding && from < s->heeded;
	struct dec_where w;
	struct err *err = is_heeding ? go(s, from, &w) : NULL;

	n = n < CHECKPOINTS_LAID ? n : CHECKPOINTS_LAID;
	step = (end - from) / (n + 1);
	for (uint64_t i = 0, at = from; i < n && !err; i++, at += step) {
		err = is_heeding ? heed_way(s, at, at + step, dec_trap_piece) :
				   go(s, at + step, &w);
		if (!err)
			err = dec_machine_checkpoint(s->m);
	}
	if (is_heeding && !err)
		err = heed_way(s, from + n * step, end, dec_trap_piece);
	s->heeded = is_heeding ? from : s->heeded;
	return err;
}

/* [*@p from, *@p end) without what is clean at its end, or before that: this may move both. */
static void leave_out_clean(const struct search *s, uint64_t since, uint64_t *from,
			    uint64_t *end)
{
	for (size_t i = s->clean.size; i--;)
		if (s->clean.data[i].start < *end && s->clean.data[i].end >= *end) {
			*end = s->clean.data[i].start;
			i = s->clean.size;
		}
	*end = *end > since ? *end : since;
	*from = checkpoint_before(s, since, *end);
	// What lies before that is to be gone through first.
	if (s->is_heeding && *from < s->heeded)
		*from = s->heeded < *end ? s->heeded : *end;
	for (size_t i = 0; i < s->clean.size; i++)
		if (s->clean.data[i].end > *from && s->clean.data[i].end < *end)
			*from = s->clean.data[i].end;
}

/* The same more finely, where [*@p from, *@p end) is long: gone through once more that is
 * done in a fraction of the time of a log. */
static struct err *refine(struct search *s, uint64_t since, uint64_t *from, uint64_t *end)
{
	uint64_t piece = dec_trap_piece / FINER ?: 1;
	struct dec_where w;
	struct err *err;

	if (!s->is_heeding || *end <= *from + piece || *from >= s->refined)
		return NULL;
	s->refined = *from;
	err = go(s, *from, &w);
	if (!err)
		err = heed_way(s, *from, *end, piece);
	if (!err)
		leave_out_clean(s, since, from, end);
	return err;
}

static struct err *search_back(struct search *s, uint64_t since, struct dec_trapped *ret)
{
	uint64_t end = ret->where.position, from;
	const struct dec_trapped *t = NULL;
	struct err *err = NULL;

	s->first = since;
	s->end = s->heeded = s->refined = end;
	while (!err && !t && end > since) {
		err = lay_checkpoints(s, since, end);
		leave_out_clean(s, since, &from, &end);
		if (!err)
			err = refine(s, since, &from, &end);
		if (!err && from < end)
			err = list(s, from, end, &ret->where);
		if (!err && from < end)
			err = choose(s, &t);
		end = from;
	}
	if (err)
		return err;
	return t ? stop_at(s, t, ret) : go(s, since, &ret->where);
}

static struct err *search(struct search *s, uint64_t to, struct dec_trapped *ret)
{
	struct err *err = start(s);

	*ret = (struct dec_trapped){ .trap = SIZE_MAX };
	if (!err)
		err = dec_machine_run(s->m, 0, &ret->where); // tells where it stands
	if (!err)
		err = s->is_back ? search_back(s, to, ret) : search_forward(s, to, ret);
	vec_deinit(&s->found);
	vec_deinit(&s->clean);
	return err;
}

struct err *dec_machine_forward_nth(struct dec_machine *m, const struct dec_trap *traps,
				    size_t n, uint64_t until, uint64_t nth,
				    uint64_t *ret_met, struct dec_trapped *ret)
{
	struct search s = { .m = m, .traps = traps, .n = n, .nth = nth };
	struct err *err = search(&s, until, ret);

	*ret_met = nth && s.met > nth ? nth : s.met;
	return err;
}

struct err *dec_machine_forward_each(struct dec_machine *m, const struct dec_trap *traps,
				     size_t n, uint64_t until, dec_trapped_fn *each,
				     void *ctx)
{
	struct search s = { .m = m, .traps = traps, .n = n, .each = each, .ctx = ctx };
	struct dec_trapped end;

	return search(&s, until, &end);
}

struct err *dec_machine_forward(struct dec_machine *m, const struct dec_trap *traps,
				size_t n, uint64_t until, struct dec_trapped *ret)
{
	uint64_t met;

	return dec_machine_forward_nth(m, traps, n, until, 1, &met, ret);
}

struct err *dec_machine_back(struct dec_machine *m, const struct dec_trap *traps,
			     size_t n, uint64_t since, struct dec_trapped *ret)
{
	struct search s = { .m = m, .traps = traps, .n = n, .is_back = true };

	return search(&s, since, ret);
}

struct err *dec_machine_last_write(struct dec_machine *m, uint64_t addr, uint64_t size,
				   uint64_t since, struct dec_trapped *ret)
{
	const struct dec_trap trap = { .on = DEC_TRAP_WRITE, .addr = addr, .size = size };

	return dec_machine_back(m, &trap, 1, since, ret);
}
