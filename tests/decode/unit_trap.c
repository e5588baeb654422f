// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Stops of every kind, judged by the trace of the whole run, instruction by instruction: going
 * forward from the beginning finds each of them in order, going back from the end the same in
 * reverse, and the machine stands where it says.
 *
 * time limit: 240
 */
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "decode/machine/trace.h"
#include "decode/machine/trap.h"
#include "tests/unit.h"

#define TRAPS 3
#define STOPS_MOST 4 ///< looked at in each direction
#define BACK_MOST 8  ///< events that are gone back to, from the last

/** Something that a trap is for, as the trace tells. */
struct event {
	uint64_t position;
	size_t trap;
	bool is_between;
};

struct run {
	char *dir;
	struct capture *capture;
	struct dec_machine *machine;
	uint64_t end, n_switches, n_signals;
	struct dec_trap traps[TRAPS];
	VEC(struct event) events;
	// Chosen from:
	uint64_t sample_at, n_seen, seed;
	struct {
		uint64_t rip, addr, number;
		uint32_t tid;
	} sample[TRAPS];
};

static uint64_t random_word(uint64_t *seed)
{
	*seed ^= *seed >> 12;
	*seed ^= *seed << 25;
	*seed ^= *seed >> 27;
	return *seed * 2685821657736338717ull;
}

static struct err *count_signals(void *ctx, const struct cap_event *ev)
{
	*(uint64_t *)ctx += ev->kind == CAP_EV_SIGNAL && ev->has_after;
	return NULL;
}

static void begin(struct run *r, const char *command)
{
	struct dec_where w;

	assert_true(asprintf(&r->dir, "%s/capture", unit_env("TMPDIR")) > 0);
	unit_run("rm -rf %s; %s record -o %s -- %s >/dev/null 2>&1", r->dir,
		 unit_env("FAULTLINE"), r->dir, command);
	ok(capture_open(r->dir, &r->capture));
	ok(dec_machine_create(r->capture, NULL, &r->machine));
	ok(dec_machine_run(r->machine, UINT64_MAX >> 1, &w));
	if (w.at != DEC_AT_END)
		fail_msg("%s: %s", command, dec_machine_divergence(r->machine));
	r->end = w.position;
	r->n_switches = w.switches;
	ok(cap_events_each(r->capture, count_signals, &r->n_signals));
	r->seed = 0x9e3779b97f4a7c15;
}

static void end(struct run *r)
{
	dec_machine_destroy(r->machine);
	capture_close(r->capture);
	vec_deinit(&r->events);
	free(r->dir);
}

/* ---- the judge -------------------------------------------------------------------------- */

/* Is something of what @p t watches in the pages from @p start on that have these bytes? */
static bool is_within(const struct dec_trap *t, uint64_t start, uint64_t bytes)
{
	return start < t->addr + t->size && t->addr < start + ((bytes + 4095) & ~4095ull);
}

/* Is it a call that made anew, or took away, memory that @p t watches? */
static bool is_remapped(const struct dec_trap *t, const struct dec_step *s)
{
	uint64_t used[CAP_GPRS] = {}, result = 0, least;

	for (size_t i = 0; i < s->n_refs; i++) {
		const struct dec_ref *ref = &s->refs[i];

		if (!ref->is_mem && ref->reg < CAP_GPRS && ref->value)
			memcpy(ref->is_def && ref->reg == CAP_RAX ? &result :
								    &used[ref->reg],
			       ref->value, 8);
	}
	if (result > -4096ull)
		return false;
	switch (used[CAP_RAX]) {
	case SYS_mmap:
		return is_within(t, result, used[CAP_RSI]);
	case SYS_munmap:
		return is_within(t, used[CAP_RDI], used[CAP_RSI]);
	case SYS_madvise:
		return used[CAP_RDX] == MADV_DONTNEED &&
		       is_within(t, used[CAP_RDI], used[CAP_RSI]);
	case SYS_mremap: // where it stays, what is more, or less
		if (result != used[CAP_RDI])
			return is_within(t, result, used[CAP_RDX]) ||
			       is_within(t, used[CAP_RDI], used[CAP_RSI]);
		least = used[CAP_RSI] < used[CAP_RDX] ? used[CAP_RSI] : used[CAP_RDX];
		return is_within(t, result + least,
				 used[CAP_RSI] + used[CAP_RDX] - 2 * least);
	default:
		return false;
	}
}

static bool is_met(const struct dec_trap *t, const struct dec_step *s, bool *is_between)
{
	*is_between = false;
	if (t->tid && t->tid != s->tid)
		return false;
	if (t->on & DEC_TRAP_WRITE && s->insn && s->insn->flow == DEC_FLOW_SYSCALL &&
	    is_remapped(t, s))
		return true;
	if (t->on & DEC_TRAP_EXECUTE && s->insn && s->insn->rip == t->addr)
		return *is_between = true;
	for (size_t i = 0; i < s->n_refs; i++) {
		const struct dec_ref *ref = &s->refs[i];

		if (ref->is_mem && ref->addr < t->addr + t->size &&
		    t->addr < ref->addr + ref->size &&
		    t->on & (ref->is_def ? DEC_TRAP_WRITE : DEC_TRAP_READ))
			return true;
		if (t->on & DEC_TRAP_SYSCALL && s->insn &&
		    s->insn->flow == DEC_FLOW_SYSCALL && !ref->is_mem && !ref->is_def &&
		    ref->reg == CAP_RAX &&
		    (t->number < 0 || !memcmp(&t->number, ref->value, 8)))
			return true;
	}
	return false;
}

static struct err *judge(void *ctx, const struct dec_step *s)
{
	struct run *r = ctx;
	bool is_between;

	// The instruction is stopped at before what it does.
	for (size_t k = 0; k < 2 * TRAPS; k++) {
		struct event *e = r->events.size ? &r->events.data[r->events.size - 1] :
						   NULL;
		size_t i = k % TRAPS;

		if (!is_met(&r->traps[i], s, &is_between) || is_between != (k < TRAPS))
			continue;
		// One stop for all that is at an instant: the first trap is told.
		if (e && e->position == s->position && e->is_between == is_between) {
			e->trap = e->trap < i ? e->trap : i;
			continue;
		}
		e = vec_push(&r->events);
		*e = (struct event){ s->position, i, is_between };
	}
	return NULL;
}

/* Take an instruction, an address, a call of the run at random. */
static struct err *sample(void *ctx, const struct dec_step *s)
{
	struct run *r = ctx;
	size_t k = random_word(&r->seed) % TRAPS;
	uint64_t n = ++r->n_seen;

	if (!s->insn || random_word(&r->seed) % n)
		return NULL;
	r->sample[k].rip = s->insn->rip;
	r->sample[k].tid = s->tid;
	for (size_t i = 0; i < s->n_refs; i++)
		if (s->refs[i].is_mem)
			r->sample[k].addr = s->refs[i].addr;
	return NULL;
}

/* ---- stops ------------------------------------------------------------------------------- */

static void is_there(const struct dec_trapped *t, const struct event *e, bool is_back)
{
	uint64_t stands = e->position + (!is_back && !e->is_between);

	if (t->trap != e->trap || t->position != e->position ||
	    t->where.position != stands)
		fail_msg("%s: trap %zu at %lu, stands at %lu; expected trap %zu at %lu, "
			 "stand at %lu",
			 is_back ? "back" : "forward", t->trap, t->position,
			 t->where.position, e->trap, e->position, stands);
}

/* Of all that is at one instant between two instructions and by the later one, the first is met
 * first; then that one, from where the machine stands. */
static size_t both_ways(struct run *r)
{
	size_t n = r->events.size, most = n < STOPS_MOST ? n : STOPS_MOST;
	struct dec_trapped t;
	struct dec_where w;

	ok(dec_machine_seek(r->machine, 0, &w));
	for (size_t i = 0; i < most; i++) {
		if (r->events.data[i].is_between && !r->events.data[i].position)
			continue; // it stands there already
		ok(dec_machine_forward(r->machine, r->traps, TRAPS, UINT64_MAX >> 1, &t));
		is_there(&t, &r->events.data[i], false);
		// Behind what an instruction did the next one may be at a stop: passed.
		while (i + 1 < n && r->events.data[i + 1].is_between &&
		       r->events.data[i + 1].position == t.where.position)
			i++;
	}
	if (most == n) {
		ok(dec_machine_forward(r->machine, r->traps, TRAPS, UINT64_MAX >> 1, &t));
		assert_true(t.trap == SIZE_MAX && t.where.at == DEC_AT_END);
		assert_int_equal(t.where.position, r->end);
	}
	ok(dec_machine_seek(r->machine, r->end, &w));
	for (size_t i = 0; i < most; i++) {
		const struct event *e = &r->events.data[n - 1 - i];

		ok(dec_machine_back(r->machine, r->traps, TRAPS, 0, &t));
		// At one position, going back stands before the instruction: both are there.
		if (i + 1 < n && e[-1].position == e->position) {
			assert_int_equal(t.position, e->position);
			assert_int_equal(t.where.position, e->position);
			i++;
			continue;
		}
		is_there(&t, e, true);
	}
	if (most == n) {
		ok(dec_machine_back(r->machine, r->traps, TRAPS, 0, &t));
		assert_true(t.trap == SIZE_MAX);
		assert_int_equal(t.where.position, 0);
	}
	return n;
}

static void list(struct run *r)
{
	struct dec_where w;

	r->events.size = 0;
	ok(dec_machine_seek(r->machine, 0, &w));
	ok(dec_machine_trace(r->machine, UINT64_MAX >> 1, judge, r, &w));
}

static const char *const programs[] = { "%s/tests/programs/altered",
					"%s/tests/programs/threads create",
					"%s/examples/list-O0", "%s/tests/programs/memory",
					NULL };

static void as_traced(void **state)
{
	size_t n_met = 0;

	(void)state;
	for (size_t i = 0; programs[i]; i++) {
		static const unsigned on[] = {
			DEC_TRAP_EXECUTE, DEC_TRAP_WRITE,
			DEC_TRAP_READ,	  DEC_TRAP_READ | DEC_TRAP_WRITE,
			DEC_TRAP_SYSCALL, DEC_TRAP_EXECUTE | DEC_TRAP_READ
		};
		_cleanup_free_ char *command = NULL;
		struct run r = {};
		struct dec_where w;

		assert_true(asprintf(&command, programs[i], unit_env("BUILD")) > 0);
		begin(&r, command);
		// The second only writes, in pieces of the run that are told without a log; of the
		// last program, long and of changing mappings, nothing else.
		dec_trap_piece = programs[i + 1] ? 1 << 14 : 1 << 20;
		for (int round = programs[i + 1] ? 0 : 1; round < 2; round++) {
			r.n_seen = 0;
			ok(dec_machine_seek(r.machine, 0, &w));
			ok(dec_machine_trace(r.machine, UINT64_MAX >> 1, sample, &r, &w));
			for (size_t k = 0; k < TRAPS; k++) {
				struct dec_trap *t = &r.traps[k];
				uint64_t kind = random_word(&r.seed) % 6;

				*t = (struct dec_trap){ .on = on[kind],
							.addr = r.sample[k].addr,
							.size = 1 +
								random_word(&r.seed) % 16,
							.number = -1 };
				if (round == 1)
					t->on = DEC_TRAP_WRITE;
				else if (on[kind] & DEC_TRAP_EXECUTE)
					t->addr = r.sample[k].rip;
				if (random_word(&r.seed) % 4 == 0)
					t->tid = r.sample[k].tid;
			}
			list(&r);
			n_met += both_ways(&r);
		}
		end(&r);
	}
	print_message("%zu stops\n", n_met);
	assert_true(n_met > 50); // thousands, mostly
}

/* ---- what is between instructions --------------------------------------------------------- */

/* @return how many stops there are of @p on, the last of them the same both ways. */
static size_t count(struct run *r, unsigned on)
{
	const struct dec_trap trap = { .on = on, .number = -1 };
	VEC(uint64_t) at = {};
	struct dec_trapped t;
	struct dec_where w;
	size_t n, i;

	ok(dec_machine_seek(r->machine, 0, &w));
	for (;;) {
		ok(dec_machine_forward(r->machine, &trap, 1, UINT64_MAX >> 1, &t));
		if (t.trap == SIZE_MAX)
			break;
		*(uint64_t *)vec_push(&at) = t.position;
	}
	for (n = i = at.size; i && n - i < BACK_MOST; i--) {
		ok(dec_machine_back(r->machine, &trap, 1, 0, &t));
		assert_int_equal(t.trap, 0);
		assert_int_equal(t.position, at.data[i - 1]);
	}
	if (n)
		ok(dec_machine_seek(r->machine, at.data[0], &w));
	ok(dec_machine_back(r->machine, &trap, 1, 0, &t));
	assert_true(t.trap == SIZE_MAX);
	vec_deinit(&at);
	return n;
}

/* Out of a page: judged by single steps, each looked at. */
static void pages_left(void **state)
{
	size_t n_left = 0;
	struct run r = {};
	_cleanup_free_ char *command = NULL;

	(void)state;
	assert_true(asprintf(&command, "%s/tests/programs/threads create",
			     unit_env("BUILD")) > 0);
	begin(&r, command);
	for (int round = 0; round < 10; round++) {
		uint64_t from = random_word(&r.seed) % r.end;
		struct dec_trap leave = { .on = DEC_TRAP_LEAVE, .size = 4096 };
		struct dec_trapped t;
		struct dec_where w;

		ok(dec_machine_seek(r.machine, from, &w));
		leave.addr = w.rip & ~4095ull;
		if (round % 2)
			leave.tid = w.tid;
		for (int i = 0; i < 2000; i++) {
			ok(dec_machine_run(r.machine, w.position + 1, &w));
			if (w.at != DEC_AT_POSITION ||
			    (w.rip - leave.addr >= 4096 &&
			     (!leave.tid || w.tid == leave.tid)))
				break;
		}
		if (w.at != DEC_AT_POSITION || w.position - from > 1999)
			continue;
		n_left++;
		ok(dec_machine_seek(r.machine, from, &t.where));
		ok(dec_machine_forward(r.machine, &leave, 1, r.end, &t));
		assert_int_equal(t.trap, 0);
		assert_int_equal(t.where.position, w.position);
		assert_int_equal(t.where.rip, w.rip);
		// Back: the last one outside before that; between them all are inside.
		ok(dec_machine_back(r.machine, &leave, 1, 0, &t));
		assert_true(t.where.position <= from);
	}
	assert_in_range(n_left, 3, 10);
	end(&r);
}

/* What is told of a thread that waits for its turn is what it goes on with; time goes on too. */
static void waiting_threads(struct run *r)
{
	const struct dec_trap other = { .on = DEC_TRAP_SWITCH };
	struct dec_trapped t = {};
	struct dec_thread thread;
	uint64_t last_ns = 0;
	size_t n_waited = 0;
	struct dec_where w;

	ok(dec_machine_seek(r->machine, 0, &w));
	for (;;) {
		size_t n_running = 0, i;
		uint8_t xmm[160];
		uint64_t here;
		size_t bytes;
		struct dec_trapped on;
		struct err *err;

		ok(dec_machine_forward(r->machine, &other, 1, UINT64_MAX >> 1, &t));
		if (t.trap)
			break;
		here = t.where.position;
		assert_true(t.where.at_ns >= last_ns);
		last_ns = t.where.at_ns;
		for (i = 0; !(err = dec_machine_thread(r->machine, i, &thread)); i++) {
			struct dec_trap again = { .on = DEC_TRAP_EXECUTE,
						  .addr = thread.regs.rip,
						  .tid = thread.tid };
			struct cap_regs regs;

			n_running += thread.is_running;
			ok(dec_machine_thread_reg(r->machine, thread.tid, DEC_REG_VEC,
						  xmm, &bytes));
			assert_int_equal(bytes, 64);
			if (thread.is_running || thread.is_in_call || n_waited >= 10)
				continue;
			n_waited++;
			ok(dec_machine_forward(r->machine, &again, 1, UINT64_MAX >> 1,
					       &on));
			if (!on.trap) {
				ok(dec_machine_regs(r->machine, &regs));
				assert_memory_equal(regs.gpr, thread.regs.gpr,
						    sizeof(regs.gpr));
			}
			ok(dec_machine_seek(r->machine, here, &w));
		}
		err_destroy(err);
		assert_int_equal(n_running, 1);
		assert_true(i > 0);
	}
	assert_true(n_waited > 0 && last_ns > 0);
	expect(ERR_RANGE, dec_machine_thread_reg(r->machine, 1, 0, (uint8_t[160]){},
						 &(size_t){ 0 }));
}

/* The call that a program ends with is met when it is alone in the last piece, too. */
static void last_call(struct run *r)
{
	const struct dec_trap call = { .on = DEC_TRAP_SYSCALL, .number = SYS_exit_group };
	uint64_t piece = dec_trap_piece;
	struct dec_trapped t;
	struct dec_where w;

	dec_trap_piece = 2;
	ok(dec_machine_seek(r->machine, r->end, &w));
	ok(dec_machine_back(r->machine, &call, 1, r->end - 16, &t));
	assert_int_equal(t.trap, 0);
	assert_int_equal(t.position, r->end - 1);
	dec_trap_piece = piece;
}

static void events(void **state)
{
	_cleanup_free_ char *signals = NULL, *threads = NULL;
	struct run a = {}, b = {};

	(void)state;
	assert_true(asprintf(&signals, "%s/tests/programs/signals", unit_env("BUILD")) >
		    0);
	assert_true(asprintf(&threads, "%s/tests/programs/threads race",
			     unit_env("BUILD")) > 0);
	begin(&a, signals);
	assert_true(a.n_signals > 5);
	assert_int_equal(count(&a, DEC_TRAP_SIGNAL), a.n_signals);
	assert_true(count(&a, DEC_TRAP_LOAD) >= 1);
	last_call(&a);
	end(&a);
	begin(&b, threads);
	assert_true(b.n_switches > 5);
	// Some threads go on and leave again before any instruction of theirs.
	assert_in_range(count(&b, DEC_TRAP_SWITCH), 3, b.n_switches);
	waiting_threads(&b);
	end(&b);
}

/* ---- conditions ----------------------------------------------------------------------------- */

static bool some_hold(void *ctx, struct dec_machine *m)
{
	struct cap_regs regs;
	struct err *err = dec_machine_regs(m, &regs);

	(void)ctx;
	assert_null(err);
	return regs.gpr[CAP_RAX] * 0x9e3779b97f4a7c15 >> 63;
}

/* Choose places of which the condition holds at some. @return whether it did. */
static bool choose_conditional(struct run *r)
{
	struct dec_where w;
	size_t n = 0;

	r->n_seen = 0;
	ok(dec_machine_seek(r->machine, 0, &w));
	ok(dec_machine_trace(r->machine, UINT64_MAX >> 1, sample, r, &w));
	for (size_t k = 0; k < TRAPS; k++)
		r->traps[k] = (struct dec_trap){
			.on = k ? DEC_TRAP_EXECUTE : DEC_TRAP_WRITE,
			.addr = k ? r->sample[k].rip : r->sample[k].addr,
			.size = k ? 0 : 64,
		};
	list(r);
	if (r->events.size > 400)
		return false;
	for (size_t i = 0; i < r->events.size; i++) {
		struct event e = r->events.data[i];

		ok(dec_machine_seek(r->machine, e.position + !e.is_between, &w));
		if (some_hold(NULL, r->machine))
			r->events.data[n++] = e;
	}
	if (n < 3 || n == r->events.size)
		return false;
	r->events.size = n;
	for (size_t k = 0; k < TRAPS; k++)
		r->traps[k].holds = some_hold;
	return true;
}

static void conditions(void **state)
{
	_cleanup_free_ char *command = NULL;
	struct run r = {};
	int n = 0;

	(void)state;
	assert_true(asprintf(&command, "%s/examples/list-O0", unit_env("BUILD")) > 0);
	begin(&r, command);
	for (int tries = 0; n < 3 && tries < 400; tries++) {
		if (!choose_conditional(&r))
			continue;
		both_ways(&r);
		n++;
	}
	assert_int_equal(n, 3);
	end(&r);
}

static bool always_holds(void *ctx, struct dec_machine *m)
{
	(void)ctx, (void)m;
	return true;
}

/* A thousand stores in, the next one: an instruction, and what it writes. */
static struct err *find_store(void *ctx, const struct dec_step *s)
{
	struct run *r = ctx;

	for (size_t i = 0; i < s->n_refs && s->insn; i++)
		if (s->refs[i].is_mem && s->refs[i].is_def && r->n_seen++ == 1000) {
			r->sample[0].rip = s->insn->rip;
			r->sample[0].addr = s->refs[i].addr;
		}
	return NULL;
}

/* The instruction is stopped at before what it writes, and the first trap of two that are the same is
 * told, with conditions and without. */
static void one_instruction(void **state)
{
	_cleanup_free_ char *command = NULL;
	struct run r = {};
	struct dec_where w;

	(void)state;
	assert_true(asprintf(&command, "%s/examples/list-O0", unit_env("BUILD")) > 0);
	begin(&r, command);
	ok(dec_machine_seek(r.machine, 0, &w));
	ok(dec_machine_trace(r.machine, UINT64_MAX >> 1, find_store, &r, &w));
	assert_true(r.n_seen > 1000);
	for (int kind = 0; kind < 4; kind++) {
		for (size_t k = 0; k < TRAPS; k++)
			r.traps[k] = (struct dec_trap){ .on = DEC_TRAP_EXECUTE,
							.addr = r.sample[0].rip };
		if (kind & 1)
			r.traps[0] = (struct dec_trap){ .on = DEC_TRAP_WRITE,
							.addr = r.sample[0].addr,
							.size = 8 };
		list(&r);
		for (size_t k = 0; k < TRAPS; k++)
			r.traps[k].holds = kind & 2 ? always_holds : NULL;
		assert_true(both_ways(&r) >= (kind & 1 ? 2 : 1));
	}
	end(&r);
}

static void bad(void **state)
{
	struct dec_trap t = { .on = DEC_TRAP_READ, .addr = 4096 };
	struct dec_trapped ret;
	struct run r = {};

	(void)state;
	begin(&r, "/bin/true");
	expect(ERR_USAGE, dec_machine_forward(r.machine, &t, 1, 10, &ret));
	t.size = UINT64_MAX;
	expect(ERR_USAGE, dec_machine_back(r.machine, &t, 1, 0, &ret));
	end(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_traced),	   cmocka_unit_test(pages_left),
		cmocka_unit_test(events),	   cmocka_unit_test(conditions),
		cmocka_unit_test(one_instruction), cmocka_unit_test(bad),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
