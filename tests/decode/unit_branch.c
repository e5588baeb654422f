// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Branches: without an alteration they end as the recording did, with its output, from wherever
 * they begin; with one they end somehow, within their limit, and the same when repeated; and
 * alterations do what they say, which the altered program's own output tells.
 *
 * FAULTLINE_BRANCHES (4) random alterations of each program, others in each run (FAULTLINE_SEED).
 *
 * time limit: 240
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "decode/machine/branch.h"
#include "decode/machine/trap.h"
#include "tests/unit.h"

#define LIMIT 400000000
#define AT_ONCE 2

struct run {
	char *dir;
	struct capture *capture;
	struct dec_machine *machine;
	struct dec_where end; ///< of the recording
	struct dec_written output;
};

static uint64_t random_word(uint64_t *seed)
{
	*seed ^= *seed >> 12;
	*seed ^= *seed << 25;
	*seed ^= *seed >> 27;
	return *seed * 2685821657736338717ull;
}

static struct dec_written hash_file(const char *path)
{
	struct dec_written w = { .hash = CAP_SIGNATURE_SEED };
	FILE *f = fopen(path, "r");
	int c;

	assert_non_null(f);
	while ((c = getc(f)) != EOF) {
		w.hash = (w.hash ^ (uint8_t)c) * CAP_SIGNATURE_PRIME;
		w.bytes++;
	}
	fclose(f);
	w.hash = w.bytes ? w.hash : 0;
	return w;
}

/* Record @p command and stand at its beginning. */
static void begin(struct run *r, const char *command)
{
	_cleanup_free_ char *out = NULL;

	assert_true(asprintf(&r->dir, "%s/capture", unit_env("TMPDIR")) > 0);
	assert_true(asprintf(&out, "%s/out", unit_env("TMPDIR")) > 0);
	unit_run(
		"rm -rf %s; echo abcdefgh >%s/in; %s record -o %s -- %s >%s <%s/in 2>%s/err",
		r->dir, unit_env("TMPDIR"), unit_env("FAULTLINE"), r->dir, command, out,
		unit_env("TMPDIR"), unit_env("TMPDIR"));
	ok(capture_open(r->dir, &r->capture));
	ok(dec_machine_create(r->capture, NULL, &r->machine));
	ok(dec_machine_run(r->machine, UINT64_MAX >> 1, &r->end));
	if (r->end.at != DEC_AT_END)
		fail_msg("%s: %s", command, dec_machine_divergence(r->machine));
	r->output = hash_file(out);
}

static void end(struct run *r)
{
	dec_machine_destroy(r->machine);
	capture_close(r->capture);
	free(r->dir);
}

static void seek(struct run *r, uint64_t position)
{
	struct dec_where w;

	ok(dec_machine_seek(r->machine, position, &w));
}

static const char *programs(size_t i)
{
	static char text[256];
	static const char *const list[] = {
		"%s/tests/programs/floats",
		"%s/tests/programs/memory",
		"%s/tests/programs/crash exit 3",
		"%s/tests/programs/crash abort",
		"%s/tests/programs/turns",
		"%s/examples/list-O0",
		"%s/examples/quad-O2",
		"/bin/ls -l /usr",
		"sort /etc/passwd",
		"bc -v",
		"gzip -c /etc/passwd",
	};

	if (i >= sizeof(list) / sizeof(*list))
		return NULL;
	snprintf(text, sizeof(text), list[i], unit_env("BUILD"));
	return text;
}

/* As recorded: its end, and what it wrote from the branch on. */
static void is_recorded(const struct run *r, const char *program,
			const struct dec_outcome *o, bool is_whole)
{
	bool is_exit = r->end.end == CAP_END_EXIT;

	if (o->fate != (is_exit ? DEC_FATE_EXIT : DEC_FATE_SIGNAL) ||
	    o->value != r->end.end_value || o->parted != UINT64_MAX ||
	    o->position != r->end.position || o->n_altered)
		fail_msg("%s: fate %d, value %d, parted at %ld, position %lu of %lu: %s",
			 program, o->fate, o->value, o->parted, o->position,
			 r->end.position, o->text);
	if (is_whole &&
	    (o->out[0].bytes != r->output.bytes || o->out[0].hash != r->output.hash))
		fail_msg("%s: %lu bytes of output, not %lu", program, o->out[0].bytes,
			 r->output.bytes);
}

static void unaltered(void **state)
{
	uint64_t seed = 0x9e3779b97f4a7c15;
	const char *program;

	(void)state;
	for (size_t i = 0; (program = programs(i)); i++) {
		struct dec_outcome o;
		struct run r = {};

		begin(&r, program);
		seek(&r, 0);
		ok(dec_machine_branch(r.machine, NULL, 0, LIMIT, &o));
		is_recorded(&r, program, &o, true);
		for (int k = 0; k < 3; k++) {
			seek(&r, random_word(&seed) % r.end.position);
			ok(dec_machine_branch(r.machine, NULL, 0, LIMIT, &o));
			is_recorded(&r, program, &o, false);
		}
		ok(dec_machine_branch(r.machine, NULL, 0, 1, &o));
		assert_true(o.fate == DEC_FATE_LIMIT || o.position == r.end.position);
		end(&r);
	}
}

/* ---- what alterations do ------------------------------------------------------------- */

/* Of tests/programs/altered, as it says itself. */
static struct {
	uint64_t twice, global, jump, call, read;
	char line[256]; ///< the first of its output
} place;

static void read_line(void)
{
	_cleanup_free_ char *out = NULL;
	FILE *f;

	assert_true(asprintf(&out, "%s/out", unit_env("TMPDIR")) > 0);
	f = fopen(out, "r");
	assert_non_null(f);
	assert_non_null(fgets(place.line, sizeof(place.line), f));
	fclose(f);
}

static void read_places(void)
{
	read_line();
	assert_int_equal(sscanf(place.line, "%lx %lx %lx %lx %lx", &place.twice,
				&place.global, &place.jump, &place.call, &place.read),
			 5);
}

/* Altered so it exits with @p status and says @p text. */
static void says(struct run *r, const struct dec_alter *a, size_t n, int status,
		 const char *text)
{
	uint64_t h = CAP_SIGNATURE_SEED;
	struct dec_outcome o;

	ok(dec_machine_branch(r->machine, a, n, LIMIT, &o));
	// Its first line, when the branch begins before that is written.
	for (const char *c = o.out[0].bytes > strlen(text) ? place.line : ""; *c; c++)
		h = (h ^ (uint8_t)*c) * CAP_SIGNATURE_PRIME;
	for (const char *c = text; *c; c++)
		h = (h ^ (uint8_t)*c) * CAP_SIGNATURE_PRIME;
	if (o.fate != DEC_FATE_EXIT || o.value != status || o.out[0].hash != h)
		fail_msg("not '%s': fate %d, value %d, %lu bytes: %s", text, o.fate,
			 o.value, o.out[0].bytes, o.text);
}

static void one_by_one(void **state)
{
	_cleanup_free_ char *command = NULL;
	struct dec_outcome o;
	struct run r = {};

	(void)state;
	assert_true(asprintf(&command, "%s/tests/programs/altered", unit_env("BUILD")) >
		    0);
	begin(&r, command);
	read_places();
	seek(&r, 0);
	says(&r, NULL, 0, 5, "twice 42, global 5, way 1, calls 6, read 'abcd' 'efgh'\n");

	const struct dec_alter
		reg = { DEC_ALTER_REG, place.twice, 1, 0, CAP_RDI, 0, 0, 50 },
		memory = { DEC_ALTER_MEMORY, place.twice, 1, 0, 0, 4, place.global, 7 },
		jump = { DEC_ALTER_INVERT, place.jump, 1, 0, 0, 0, 0, 0 },
		once = { DEC_ALTER_SKIP, place.call, 3, 0, 0, 0, 0, 0 },
		often = { DEC_ALTER_SKIP, place.call, 2, 2, 0, 0, 0, 0 },
		never = { DEC_ALTER_SKIP, place.call, 7, 0, 0, 0, 0, 0 },
		wild = { DEC_ALTER_REG, place.read, 2, 0, CAP_RSP, 0, 0, 64 },
		other = { DEC_ALTER_REG, place.read, 1, 0, CAP_RDI, 0, 0, place.global },
		more = { DEC_ALTER_MEMORY, place.twice, 1, 0, 0, 4, place.global, 99 },
		asks = { DEC_ALTER_REG, place.twice, 1, 0, 16, 0, 0, 0 };
	const struct dec_alter two[] = { reg, jump };

	says(&r, &reg, 1, 5, "twice 100, global 5, way 1, calls 6, read 'abcd' 'efgh'\n");
	// Evaluated before the call of twice(): the exit status alone has it.
	ok(dec_machine_branch(r.machine, &memory, 1, LIMIT, &o));
	assert_int_equal(o.fate, DEC_FATE_EXIT);
	assert_int_equal(o.value, 7);
	says(&r, &jump, 1, 5, "twice 42, global 5, way 2, calls 6, read 'abcd' 'efgh'\n");
	says(&r, two, 2, 5, "twice 100, global 5, way 2, calls 6, read 'abcd' 'efgh'\n");
	says(&r, &once, 1, 5, "twice 42, global 5, way 1, calls 5, read 'abcd' 'efgh'\n");
	says(&r, &often, 1, 5,
	     "twice 42, global 5, way 1, calls 3, read 'abcd' 'efgh'\n");
	says(&r, &never, 1, 5,
	     "twice 42, global 5, way 1, calls 6, read 'abcd' 'efgh'\n");
	ok(dec_machine_branch(r.machine, &wild, 1, LIMIT, &o));
	assert_int_equal(o.fate, DEC_FATE_SIGNAL);
	assert_int_equal(o.value, SIGSEGV);
	assert_true(o.n_altered == 1 && o.fault_addr < 4096);
	// Another call than the recorded one: from there on the model answers, and the second
	// read goes on where the first one ended.
	says(&r, &other, 1, 'a',
	     "twice 42, global 1684234849, way 1, calls 6, read '' 'efgh'\n");
	ok(dec_machine_branch(r.machine, &more, 1, LIMIT, &o));
	assert_int_equal(o.fate, DEC_FATE_LEFT);
	assert_non_null(strstr(o.text, "not read in the recording"));
	expect(ERR_USAGE, dec_machine_branch(r.machine, &asks, 1, LIMIT, &o));
	end(&r);
}

/* ---- the machine's own memory ----------------------------------------------------------- */

/* A process below @p pid that has none below it. */
static int youngest(int pid)
{
	_cleanup_fclose_ FILE *f = NULL;
	char path[64];
	int child;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
	f = fopen(path, "r");
	return f && fscanf(f, "%d", &child) == 1 ? youngest(child) : pid;
}

static bool is_guests(struct run *r, uint64_t start, uint64_t end)
{
	struct dec_range range;
	struct err *err = NULL;
	bool is = false;

	for (size_t i = 0; !err && !is; i++) {
		err = dec_machine_range(r->machine, i, &range);
		is = !err && range.start < end && start < range.end;
	}
	err_destroy(err);
	return is;
}

/* The next mapping of the machine's that is of a kind not in @p seen, where it is added. @return
 * 0: there is none. */
static uint64_t another_kind(struct run *r, char seen[64][300], int *n)
{
	_cleanup_fclose_ FILE *f = NULL;
	char path[64], line[600];

	snprintf(path, sizeof(path), "/proc/%d/maps", youngest(getpid()));
	f = fopen(path, "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f) && *n < 64) {
		char prot[8], name[256] = "";
		uint64_t start, end;
		int i = 0;

		sscanf(line, "%lx-%lx %7s %*s %*s %*s %255[^\n]", &start, &end, prot,
		       name);
		if (*prot != 'r' || start >> 47 || is_guests(r, start, end))
			continue;
		snprintf(seen[*n], sizeof(seen[*n]), "%s %s%s", prot, name,
			 end < 1ull << 31 ? " (low)" : "");
		while (strcmp(seen[i], seen[*n]))
			i++;
		if (i < *n)
			continue;
		++*n;
		return start + 64;
	}
	return 0;
}

/* A stack there faults, as it would natively; and the machine is none the worse for it. */
/* The instruction that makes the last call for memory at any address (libraries are mapped before), and
 * how many calls it has made then. */
static uint64_t find_mmap(const struct capture *c, uint64_t *ret_nth)
{
	struct map n_calls = {};
	struct cap_events *it;
	struct cap_event ev;
	uint64_t rip = 0;

	ok(cap_events_open(c, &it));
	for (bool is_end = false;;) {
		uint64_t *n;

		ok(cap_events_next(it, &ev, &is_end));
		if (is_end)
			break;
		if (ev.kind != CAP_EV_SYSCALL)
			continue;
		n = map_get(&n_calls, ev.regs.rip);
		assert_int_equal(map_put(&n_calls, ev.regs.rip, n ? *n + 1 : 1), 0);
		if (ev.regs.gpr[CAP_RAX] != SYS_mmap || ev.regs.gpr[CAP_RDI] ||
		    !(ev.regs.gpr[CAP_R10] & MAP_ANONYMOUS))
			continue;
		rip = ev.regs.rip;
		*ret_nth = *map_get(&n_calls, rip);
	}
	assert_true(rip);
	cap_events_close(it);
	map_deinit(&n_calls);
	return rip - 2;
}

/* A run that wants so much memory that it meets the machine's own is run where the machine lies
 * elsewhere; one that would everywhere is told, and the others are as ever, from the same place. */
static void elsewhere(void **state)
{
	_cleanup_free_ char *command = NULL;
	struct dec_alter tera = { .kind = DEC_ALTER_REG, .reg = CAP_RSI }, all[3];
	struct dec_moved nine = { .kind = DEC_MOVED_WORD, .to = 9 };
	const uint64_t from = 1000; // no memory was asked for before
	struct run r = {};

	(void)state;
	assert_true(asprintf(&command, "%s/tests/programs/altered", unit_env("BUILD")) >
		    0);
	begin(&r, command);
	read_places();
	nine.at = place.global;
	tera.rip = find_mmap(r.capture, &tera.nth);
	tera.value = 1ull << 40;
	all[0] = all[1] = all[2] = tera;
	all[0].value = (1ull << 47) - (1ull << 32);
	all[1].reg = CAP_RDI, all[1].value = 1 << 16;
	all[2].reg = CAP_R10, all[2].value = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
	for (int i = 0; i < 10; i++) {
		struct dec_branch b[] = {
			{ .alters = &tera, .n = 1, .limit = LIMIT },
			{ .limit = LIMIT },
			{ .alters = all, .n = i ? 0 : 3, .limit = LIMIT },
			{ .alters = &tera, .n = 1, .limit = LIMIT },
			{ .limit = r.end.position - from + 1 },
			{ .limit = LIMIT, .is_laid_out = true }
		};
		const size_t n = sizeof(b) / sizeof(*b);

		dec_machine_destroy(r.machine);
		ok(dec_machine_create(r.capture, NULL, &r.machine));
		seek(&r, from);
		ok(dec_machine_lay_out(r.machine, &nine, 1));
		ok(dec_machine_branches(r.machine, b, n, AT_ONCE));
		assert_int_equal(b[n - 1].outcome.value, 9);
		for (size_t k = 0; k < n - 1; k++) {
			const struct dec_outcome *o = &b[k].outcome;
			bool is_all = b[k].n == 3;

			if (o->fate != (is_all ? DEC_FATE_MACHINE : DEC_FATE_EXIT) ||
			    b[k].has_collided != is_all ||
			    (!is_all &&
			     (o->value != 5 || o->out[0].hash != r.output.hash)))
				fail_msg("machine %d, run %zu: fate %d, value %d: %s", i,
					 k, o->fate, o->value, o->text);
		}
		assert_int_equal(b[0].outcome.n_altered, 1);
		assert_int_equal(b[1].outcome.parted, UINT64_MAX);
	}
	end(&r);
}

static void machines_own(void **state)
{
	static char seen[64][300];
	_cleanup_free_ char *command = NULL;
	struct run r = {};
	struct dec_outcome o;
	uint64_t at;
	int n = 0;

	(void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	skip(); // its shadow lies where it lies
#endif
	assert_true(asprintf(&command, "%s/tests/programs/altered", unit_env("BUILD")) >
		    0);
	begin(&r, command);
	read_places();
	seek(&r, r.end.position / 2);
	while ((at = another_kind(&r, seen, &n))) {
		const struct dec_alter a = { DEC_ALTER_REG, place.twice, 1, 0,
					     CAP_RSP,	    0,		 0, at };

		ok(dec_machine_branch(r.machine, &a, 1, LIMIT, &o));
		if (o.fate != DEC_FATE_SIGNAL || o.value != SIGSEGV ||
		    o.fault_addr + 16 - at > 32)
			fail_msg("%#lx (%s): fate %d, value %d, at %#lx: %s", at,
				 seen[n - 1], o.fate, o.value, o.fault_addr, o.text);
		says(&r, NULL, 0, 5,
		     "twice 42, global 5, way 1, calls 6, read 'abcd' 'efgh'\n");
	}
	assert_true(n > 8);
	end(&r);
}

/* What a call reads is compared with what the recorded one read, also where nobody can write to it when the
 * branch begins. */
static void name_of_then(void **state)
{
	const uint64_t from = 5, store = 9, call = 15;
	_cleanup_free_ char *command = NULL;
	struct dec_alter skip = { .kind = DEC_ALTER_SKIP, .nth = 1 };
	struct dec_outcome o;
	struct cap_regs regs;
	struct run r = {};

	(void)state;
	assert_int_equal(
		unit_run(
			"printf '.globl _start\n_start: leaq name(%%%%rip), %%%%rdi\n"
			"movl $4096, %%%%esi; movl $1, %%%%edx; movl $10, %%%%eax; syscall; nop\n"
			"movl $3, %%%%edx; movl $10, %%%%eax; syscall; movb $98, (%%%%rdi)\n"
			"movl $1, %%%%edx; movl $10, %%%%eax; syscall\n"
			"movl $21, %%%%eax; xorl %%%%esi, %%%%esi; syscall\n"
			"movl $60, %%%%eax; xorl %%%%edi, %%%%edi; syscall\n"
			".data; .balign 4096; name: .asciz \"a\"; .balign 4096\n' |\n"
			"gcc -x assembler -nostdlib -static -o %s/name -",
			unit_env("TMPDIR")),
		0);
	assert_true(asprintf(&command, "%s/name", unit_env("TMPDIR")) > 0);
	begin(&r, command);
	seek(&r, store);
	ok(dec_machine_regs(r.machine, &regs));
	skip.rip = regs.rip;
	seek(&r, from);
	ok(dec_machine_branch(r.machine, NULL, 0, LIMIT, &o));
	assert_int_equal(o.parted, UINT64_MAX);
	ok(dec_machine_branch(r.machine, &skip, 1, LIMIT, &o));
	assert_int_equal(o.n_altered, 1);
	assert_int_equal(o.parted, call);
	end(&r);
}

/* ---- threads, places ----------------------------------------------------------------- */

static uint64_t race, load, lea; ///< in tests/programs/turns

static void begin_turns(struct run *r)
{
	_cleanup_free_ char *command = NULL;

	assert_true(asprintf(&command, "%s/tests/programs/turns", unit_env("BUILD")) > 0);
	begin(r, command);
	read_line();
	assert_int_equal(sscanf(place.line, "%lx %lx %lx", &race, &load, &lea), 3);
}

/* The thread beside the running one that stands at the race, or comes to it. */
static uint32_t other_thread(struct run *r, uint32_t first)
{
	struct dec_thread t, running = {};
	uint32_t other = 0;
	struct err *err;

	for (size_t i = 0; !(err = dec_machine_thread(r->machine, i, &t)); i++) {
		if (t.is_running)
			running = t;
		else if (t.tid != first)
			other = t.tid;
	}
	err_destroy(err);
	assert_true(running.tid && other);
	return other;
}

static void another_thread(void **state)
{
	struct dec_outcome o;
	struct dec_trap trap;
	struct dec_trapped t;
	struct run r = {};
	struct dec_where w;

	(void)state;
	begin_turns(&r);
	seek(&r, 0);
	ok(dec_machine_run(r.machine, 0, &w));
	trap = (struct dec_trap){ .on = DEC_TRAP_EXECUTE, .addr = race };
	ok(dec_machine_forward(r.machine, &trap, 1, UINT64_MAX >> 1, &t));
	assert_int_equal(t.trap, 0);

	const struct dec_alter other = { DEC_ALTER_THREAD,	 0, 0, 0, 0, 0, 0,
					 other_thread(&r, w.tid) },
			       nobody = { DEC_ALTER_THREAD, 0, 0, 0, 0, 0, 0, 1 },
			       next = { DEC_ALTER_MOVE, load, 1, 0, 0, 0, 0, 4 },
			       pointer = { DEC_ALTER_MOVE, lea, 1, 0, 0, 0, 0, 8 },
			       away = { DEC_ALTER_MOVE, load, 1, 0, 0, 0, 0, 1ull << 40 };
	const struct dec_alter both[] = { next, pointer };

	says(&r, NULL, 0, 0, "sum 70210, counter 2, loaded 11, by pointer 11\n");
	says(&r, &nobody, 1, 0, "sum 70210, counter 2, loaded 11, by pointer 11\n");
	says(&r, &other, 1, 0, "sum 70210, counter 1, loaded 11, by pointer 11\n");
	says(&r, both, 2, 0, "sum 70210, counter 2, loaded 22, by pointer 33\n");
	ok(dec_machine_branch(r.machine, &away, 1, LIMIT, &o));
	assert_int_equal(o.fate, DEC_FATE_SIGNAL);
	assert_int_equal(o.value, SIGSEGV);
	end(&r);
}

/* One that has just been made is there, whether it has run or not, and each of the two can go first. */
static void new_thread(void **state)
{
	const struct dec_trap clone = { .on = DEC_TRAP_SYSCALL, .number = SYS_clone3 };
	struct dec_alter first = { .kind = DEC_ALTER_THREAD };
	struct dec_trapped at;
	struct run r = {};

	(void)state;
	begin_turns(&r);
	seek(&r, 0);
	ok(dec_machine_forward(r.machine, &clone, 1, UINT64_MAX >> 1, &at));
	assert_int_equal(at.trap, 0);
	first.value = other_thread(&r, 0);
	says(&r, &first, 1, 0, "sum 70210, counter 2, loaded 11, by pointer 11\n");
	end(&r);
}

/* Whoever goes on instead, wherever: the same comes of it. */
static void any_order(void **state)
{
	const struct dec_trap last_write = { .on = DEC_TRAP_SYSCALL,
					     .number = SYS_write };
	uint64_t seed = 0x853c49e6748fea9b, n_parted = 0;
	struct dec_trapped end_of_output;
	struct run r = {};

	(void)state;
	begin_turns(&r);
	seek(&r, r.end.position);
	ok(dec_machine_back(r.machine, &last_write, 1, 0, &end_of_output));
	assert_int_equal(end_of_output.trap, 0);
	for (int k = 0; k < 40; k++) {
		struct dec_alter a = { .kind = DEC_ALTER_THREAD };
		struct dec_outcome o, again;
		struct dec_thread t;

		seek(&r, random_word(&seed) % end_of_output.position);
		for (size_t i = random_word(&seed) % 4; i < 4; i--) {
			struct err *err = dec_machine_thread(r.machine, i, &t);

			a.value = err ? a.value : t.tid;
			err_destroy(err);
		}
		ok(dec_machine_branch(r.machine, &a, 1, LIMIT, &o));
		ok(dec_machine_branch(r.machine, &a, 1, LIMIT, &again));
		assert_memory_equal(&o, &again, sizeof(o));
		n_parted += o.parted != UINT64_MAX;
		if (o.fate != DEC_FATE_EXIT || o.value)
			fail_msg("from %lu with thread %lu: fate %d, value %d: %s",
				 o.parted, a.value, o.fate, o.value, o.text);
		says(&r, &a, 1, 0, "sum 70210, counter 2, loaded 11, by pointer 11\n");
	}
	assert_true(n_parted > 10);
	end(&r);
}

/* ---- chance ------------------------------------------------------------------------------ */

/* One at an instruction that runs somewhere behind the branch. */
static struct dec_alter some_alteration(struct run *r, uint64_t from, uint64_t *seed)
{
	uint64_t span = r->end.position - from;
	struct dec_alter a = { .kind = random_word(seed) % 6, .nth = 1 };
	struct cap_regs regs;
	struct dec_where w;

	seek(r, from + random_word(seed) % (span < 200000 ? span : 200000));
	ok(dec_machine_regs(r->machine, &regs));
	ok(dec_machine_run(r->machine, 0, &w));
	a.rip = regs.rip;
	a.nth = 1 + random_word(seed) % 3;
	a.every = random_word(seed) % 4 ? 0 : 1 + random_word(seed) % 5;
	a.reg = random_word(seed) % CAP_GPRS;
	a.value = random_word(seed) >> (random_word(seed) % 64);
	a.bytes = 1 << random_word(seed) % 4;
	for (size_t i = random_word(seed) % 5; a.kind == DEC_ALTER_THREAD && i < 5; i--) {
		struct dec_thread t;
		struct err *err = dec_machine_thread(r->machine, i, &t);

		a.value = err ? a.value : t.tid;
		err_destroy(err);
	}
	a.addr = regs.gpr[random_word(seed) % CAP_GPRS] + random_word(seed) % 64;
	return a;
}

/* Under a sanitizer the machine has the addresses of its shadow, and is the first to say so. */
static bool meets_shadow(struct err *err)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	bool is_met = err && strstr(err->message, "leave the machine no room");

	if (is_met)
		err_destroy(err);
	return is_met;
#else
	(void)err;
	return false;
#endif
}

static void random_alterations(void **state)
{
	const char *env = getenv("FAULTLINE_BRANCHES");
	size_t n = env ? strtoul(env, NULL, 0) : 4;
	uint64_t fates[DEC_FATE_MACHINE + 1] = {}, seed = unit_seed(), n_altered = 0,
					  n_tried = 0;
	struct dec_branch *b = calloc(2 * n, sizeof(*b));
	struct dec_alter *a = calloc(n, sizeof(*a));
	const char *program;

	(void)state;
	assert_true(a && b);
	for (size_t i = 0; (program = programs(i)); i++) {
		struct run r = {};
		struct err *err;
		uint64_t from;

		begin(&r, program);
		from = random_word(&seed) % r.end.position;
		seek(&r, from);
		ok(dec_machine_checkpoint(r.machine));
		for (size_t k = 0; k < n; k++) {
			a[k] = some_alteration(&r, from, &seed);
			b[k] = b[n + k] = (struct dec_branch){
				&a[k], 1,    3 * r.end.position + 100000, {}, NULL, NULL,
				false, false
			};
		}
		seek(&r, from);
		err = dec_machine_branches(r.machine, b, 2 * n, AT_ONCE);
		if (meets_shadow(err)) {
			end(&r);
			continue;
		}
		ok(err);
		n_tried += n;
		for (size_t k = 0; k < n; k++) {
			const struct dec_outcome *o = &b[k].outcome;
			struct dec_outcome alone;

			fates[o->fate]++;
			n_altered += o->n_altered != 0;
			if (strstr(o->text, "process ended"))
				fail_msg("%s, alteration %zu: %s", program, k, o->text);
			if (memcmp(o, &b[n + k].outcome, sizeof(*o)))
				fail_msg("%s, alteration %zu: another end when repeated",
					 program, k);
			if (k % 3)
				continue;
			// Alone in a fork, where nothing was taken back.
			ok(dec_machine_branch(r.machine, b[k].alters, 1, b[k].limit,
					      &alone));
			if (memcmp(o, &alone, sizeof(*o)))
				fail_msg("%s, alteration %zu: another end when alone",
					 program, k);
		}
		end(&r);
	}
	free(a);
	free(b);
	print_message("exit %lu, signal %lu, hang %lu, limit %lu, left %lu, end %lu, "
		      "machine %lu; %lu altered\n",
		      fates[0], fates[1], fates[2], fates[3], fates[4], fates[5],
		      fates[6], n_altered);
	assert_true(fates[DEC_FATE_EXIT] && fates[DEC_FATE_SIGNAL]);
	assert_true(n_tried >= 4 * n && 2 * n_altered > n_tried);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_by_one),	  cmocka_unit_test(unaltered),
		cmocka_unit_test(another_thread), cmocka_unit_test(any_order),
		cmocka_unit_test(new_thread),	  cmocka_unit_test(random_alterations),
		cmocka_unit_test(machines_own),	  cmocka_unit_test(elsewhere),
		cmocka_unit_test(name_of_then),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
