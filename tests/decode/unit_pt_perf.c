// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * perf as the judge: for programs of Debian's and some of ours, recorded and encoded by
 * faultline, `perf script` prints from perf.data, thread by thread, the same instructions
 * and the same branches as the machine ran. Nothing of faultline's takes part in reading.
 *
 * time limit: 400
 *
 * `unit_pt_perf CAPTURE...` compares those captures instead, and prints their totals.
 */

#include <errno.h>
#include <string.h>
#include "capture/capture.h"
#include "capture/perf_data.h"
#include "decode/machine/machine.h"
#include "tests/decode/pt_truth.h"

/* ---- the truth: branches ------------------------------------------------------------------- */

/* A branch that was taken; from 0: tracing begins, to 0: it ends. */
struct jump {
	uint64_t from, to;
};

struct jump_thread {
	uint32_t tid;
	VEC(struct jump) jumps;
	bool is_traced, is_in_call;
	uint64_t rip, target, behind; ///< of its last instruction; behind: the next one's
	uint8_t flow;
};

/* What ran, twice: its instructions and its branches. */
struct run {
	struct truth truth;
	struct log_reader reader;
	VEC(struct jump_thread) threads;
	size_t current;
};

static struct jump_thread *jump_thread(struct run *r, uint32_t tid)
{
	struct jump_thread *t;

	for (size_t i = 0; i < r->threads.size; i++) {
		if (r->threads.data[i].tid == tid) {
			r->current = i;
			return &r->threads.data[i];
		}
	}
	t = vec_push(&r->threads);
	assert_non_null(t);
	t->tid = tid;
	r->current = r->threads.size - 1;
	return t;
}

static void jump(struct jump_thread *t, uint64_t from, uint64_t to)
{
	struct jump *j = vec_push(&t->jumps);

	assert_non_null(j);
	*j = (struct jump){ from, to };
}

/* The thread comes to @p rip. */
static void arrive(struct jump_thread *t, uint64_t rip)
{
	if (!t->is_traced)
		jump(t, 0, rip);
	else if (t->flow == DEC_FLOW_JCC || t->flow == DEC_FLOW_JRCX ?
			 rip == t->target :
			 t->flow != DEC_FLOW_NEXT && t->flow != DEC_FLOW_TSC &&
				 t->flow != DEC_FLOW_CPUID && t->flow != DEC_FLOW_RANDOM)
		jump(t, t->rip, rip);
	t->is_traced = true;
}

static void executed(struct run *r, uint64_t rip, const struct dec_insn *last)
{
	struct jump_thread *t = &r->threads.data[r->current];

	arrive(t, rip);
	t->rip = last->rip;
	t->target = last->target;
	t->flow = last->flow;
}

/* The kernel is entered at @p rip. */
static void leave(struct jump_thread *t, uint64_t rip)
{
	if (t->is_traced)
		jump(t, rip, 0);
	t->is_traced = false;
}

static void called(struct run *r, uint64_t rip)
{
	struct dec_insn insn = { .rip = rip, .flow = DEC_FLOW_SYSCALL };

	executed(r, rip, &insn);
	leave(&r->threads.data[r->current], rip);
}

static struct err *jumps_on_block(void *ctx, struct log_block *b, const uint8_t *rec,
				  uint32_t n_ran, uint64_t time)
{
	(void)rec, (void)time;
	if (n_ran)
		executed(ctx, b->rip, &b->insn[n_ran - 1]);
	return NULL;
}

static struct err *jumps_on_slow(void *ctx, const struct dec_rec_slow *rec,
				 const struct dec_insn *insn, uint64_t time)
{
	(void)time;
	executed(ctx, rec->rip, insn);
	return NULL;
}

static void on_switch(struct run *r, const struct dec_rec *rec)
{
	struct jump_thread *t = r->threads.size ? &r->threads.data[r->current] : NULL;
	uint64_t left = rec->value[1];

	if (t && left && rec->value[2] && !t->is_in_call) {
		called(r, left);
		t->is_in_call = true;
	} else if (t && left && t->is_traced) {
		arrive(t, left);
		leave(t, left);
	}
	jump_thread(r, rec->value[0]);
}

static struct err *jumps_on_other(void *ctx, const struct dec_rec *rec, uint64_t time)
{
	struct run *r = ctx;
	struct jump_thread *t = r->threads.size ? &r->threads.data[r->current] : NULL;
	struct dec_insn insn = {};

	(void)time;
	if (rec->id == DEC_REC_THREAD)
		on_switch(r, rec);
	if (rec->id == DEC_REC_SYSCALL) {
		if (!t->is_in_call)
			called(r, rec->value[2]);
		t->is_in_call = false;
	}
	if (rec->id != DEC_REC_STATE)
		return NULL;
	if (rec->value[18]) {
		insn.rip = rec->value[16] - rec->value[18];
		executed(r, insn.rip, &insn);
	}
	if (rec->value[20] == DEC_STATE_SIGNAL && t->is_traced) {
		arrive(t, rec->value[21]);
		leave(t, rec->value[21]);
	}
	return NULL;
}

static struct err *run_feed(void *ctx, const uint8_t *log, size_t bytes)
{
	struct run *r = ctx;
	struct log_sink sink = { r, jumps_on_block, jumps_on_slow, jumps_on_other };
	struct err *err = truth_feed(&r->truth, log, bytes);

	return err ? err : dec_log_reader_feed(&r->reader, &sink, log, bytes);
}

static void run_replay(struct run *r, const char *dir)
{
	struct capture *c;
	struct dec_machine *m;
	struct dec_where w;

	*r = (struct run){};
	truth_init(&r->truth);
	dec_log_reader_init(&r->reader, DEC_LOG_FLOW, 0);
	ok(capture_open(dir, &c));
	ok(dec_machine_create(c, NULL, &m));
	ok(dec_machine_log(m, DEC_LOG_FLOW, run_feed, r));
	ok(dec_machine_run(m, UINT64_MAX >> 1, &w));
	ok(dec_machine_log(m, DEC_LOG_NONE, NULL, NULL));
	if (w.at != DEC_AT_END)
		fail_msg("%s: %s", dir, dec_machine_divergence(m));
	if (r->threads.data[r->current].is_traced) {
		arrive(&r->threads.data[r->current], w.rip);
		leave(&r->threads.data[r->current], w.rip);
	}
	dec_machine_destroy(m);
	capture_close(c);
}

static void run_deinit(struct run *r)
{
	truth_deinit(&r->truth);
	dec_log_reader_deinit(&r->reader);
	for (size_t i = 0; i < r->threads.size; i++)
		vec_deinit(&r->threads.data[i].jumps);
	vec_deinit(&r->threads);
}

/* ---- what perf says ------------------------------------------------------------------------- */

/* perf on @p file of capture @p dir, with an empty home: it is to find the code there. */
static FILE *perf_open(const char *dir, const char *file, const char *itrace,
		       const char *fields)
{
	_cleanup_free_ char *command = NULL;
	FILE *f;

	assert_true(asprintf(&command,
			     "HOME=%s perf script --symfs %s/symfs -i %s/%s "
			     "--itrace=%s -F %s 2>%s/perf.err",
			     dir, dir, dir, file, itrace, fields, dir) > 0);
	f = popen(command, "r");
	assert_non_null(f);
	return f;
}

static void perf_close(const char *dir, FILE *f)
{
	if (pclose(f))
		fail_msg("perf script failed: see %s/perf.err", dir);
}

static uint64_t same_instructions(const struct run *r, const char *dir, const char *file)
{
	const struct truth *t = &r->truth;
	struct judge *judges = calloc(t->threads.size, sizeof(*judges)), *j = NULL;
	FILE *f = perf_open(dir, file, "i0nse", "tid,ip");
	uint64_t n = 0;
	char line[512];

	assert_non_null(judges);
	while (fgets(line, sizeof(line), f)) {
		char *end;
		uint32_t tid = strtoul(line, &end, 10);
		uint64_t ip = strtoull(end, &end, 16), want;

		if (end == line || *end != '\n')
			fail_msg("%s: after %lu instructions perf says: %s", dir, n,
				 line);
		for (size_t i = 0; !(j && j->thread->tid == tid); i++) {
			assert_true(i < t->threads.size);
			j = &judges[i];
			j->truth = t;
			j->thread = &t->threads.data[i];
		}
		want = judge_next(j);
		if (ip != want)
			fail_msg("%s: thread %u: instruction %lu is at %#lx, perf says "
				 "%#lx",
				 dir, tid, j->position - 1, want, ip);
		n++;
	}
	perf_close(dir, f);
	free(judges);
	assert_int_equal(n, t->total);
	return n;
}

static uint64_t same_branches(const struct run *r, const char *dir)
{
	size_t *at = calloc(r->threads.size, sizeof(*at)), which = 0;
	FILE *f = perf_open(dir, "perf.data", "be", "tid,ip,addr");
	uint64_t n = 0;
	char line[512];

	assert_non_null(at);
	while (fgets(line, sizeof(line), f)) {
		const struct jump_thread *t;
		uint64_t from, to;
		uint32_t tid;

		if (sscanf(line, "%u %lx => %lx", &tid, &from, &to) != 3)
			fail_msg("%s: after %lu branches perf says: %s", dir, n, line);
		if (r->threads.data[which].tid != tid)
			for (which = 0; which < r->threads.size &&
					r->threads.data[which].tid != tid;)
				which++;
		assert_true(which < r->threads.size);
		t = &r->threads.data[which];
		if (at[which] >= t->jumps.size)
			fail_msg("%s: thread %u: perf has more than %zu branches: %s",
				 dir, tid, t->jumps.size, line);
		if (from != t->jumps.data[at[which]].from ||
		    to != t->jumps.data[at[which]].to)
			fail_msg(
				"%s: thread %u: branch %zu is %#lx => %#lx, perf says %s",
				dir, tid, at[which], t->jumps.data[at[which]].from,
				t->jumps.data[at[which]].to, line);
		at[which]++;
		n++;
	}
	perf_close(dir, f);
	for (size_t i = 0; i < r->threads.size; i++)
		assert_int_equal(at[i], r->threads.data[i].jumps.size);
	free(at);
	return n;
}

/* Encode @p dir with @p options, and have perf judge. @return instructions compared. */
static uint64_t judge_capture(const char *dir, const char *options)
{
	double start = clock_now_s(), encoded;
	uint64_t n_insns, n_branches;
	struct run r;

	run_replay(&r, dir);
	if (unit_run("%s encode %s %s >%s/encode.out", unit_env("FAULTLINE"), options,
		     dir, dir))
		fail_msg("%s: encode failed", dir);
	encoded = clock_now_s();
	n_insns = same_instructions(&r, dir, "perf.data");
	n_branches = same_branches(&r, dir);
	printf("%s: %s: %zu threads, %lu instructions, %lu branches; %.1f s, perf %.1f s\n",
	       strrchr(dir, '/') ? strrchr(dir, '/') + 1 : dir,
	       *options ? options : "as it is", r.truth.threads.size, n_insns, n_branches,
	       encoded - start, clock_now_s() - encoded);
	fflush(stdout);
	run_deinit(&r);
	return n_insns;
}

/* ---- programs -------------------------------------------------------------------------------- */

/* %s: a text; those that are large need FAULTLINE_PERF=full, which makes that longer, too. */
static const struct {
	const char *name, *command;
	bool is_large;
} programs[] = {
	{ "ls", "ls -l /", false },
	{ "gzip", "gzip -9nc %s", false },
	{ "bzip2", "bzip2 -9c %s", true },
	{ "sort", "sort --parallel=1 %s", false },
	{ "grep", "grep -c 'a.*e' %s", false },
	{ "sed", "sed -n 's/a/b/gp' %s", true },
	{ "mawk", "mawk '{n += NF} END {print n}' %s", true },
	{ "m4", "m4 %s", true },
	{ "dc", "dc -e '2 2000^p'", true },
	{ "sqlite3",
	  "sqlite3 :memory: 'create table t(a); insert into t values(1),(2); "
	  "select sum(a) from t'",
	  true },
	{ "lua", "lua5.4 -e 'local t={} for i=1,500 do t[i]=i*i end print(#t)'", true },
	{ "perl", "perl -e 'print join(\",\", map {$_*2} 1..99)'", true },
	{ "pigz", "pigz -p 2 -9nc %s", false },
	{ "xz", "xz -T2 --block-size=4KiB -0c %s", true },
	{ "traps",
	  "sh -c 'trap \"n=x\\$n\" USR1; i=0; while [ $i -lt 100 ]; do i=$((i + 1)); "
	  "case $i in *0) kill -USR1 $$;; esac; done; echo $n'",
	  false },
	{ "plugins", "$BUILD/tests/programs/plugins", false },
	{ "ping", "$BUILD/tests/programs/crowd ping", false },
	{ "python3", "python3 -c 'print(sum(range(1000)))'", true },
	{ "signals", "$BUILD/tests/programs/signals", true },
};
#define PROGRAMS (sizeof(programs) / sizeof(programs[0]))

/* Each way of encoding in turn. */
static const char *const shapes[] = { "", "--psb 4K --no-retcomp", "--timing",
				      "--psb 64K", "--psb 2K --timing" };
#define SHAPES (sizeof(shapes) / sizeof(shapes[0]))

static void perf_agrees(void **state)
{
	const char *tmp = unit_env("TMPDIR");
	_cleanup_free_ char *text = NULL;
	const char *perf = getenv("FAULTLINE_PERF");
	bool is_full = perf && !strcmp(perf, "full");
	uint64_t n = 0;

	(void)state;
	assert_true(asprintf(&text, "%s/text", tmp) > 0);
	assert_int_equal(
		unit_run("head -c %d LICENSES/* >%s", is_full ? 40000 : 5000, text), 0);
	for (size_t i = 0; i < PROGRAMS; i++) {
		_cleanup_free_ char *dir = NULL, *command = NULL;

		if (programs[i].is_large && !is_full)
			continue;
		assert_true(asprintf(&dir, "%s/%s", tmp, programs[i].name) > 0);
		assert_true(asprintf(&command, programs[i].command, text) > 0);
		if (unit_run("%s record -o %s -- %s >/dev/null 2>%s.err",
			     unit_env("FAULTLINE"), dir, command, dir))
			fail_msg("cannot record %s: see %s.err", command, dir);
		n += judge_capture(dir, shapes[i % SHAPES]);
	}
	printf("%lu instructions\n", n);
}

/* ---- a processor's stream ------------------------------------------------------------------ */

/* The thread gets CPU 0 from the idle task, or gives it back. */
static void put_switch(struct perf_writer *w, const struct perf_info *info, bool is_out)
{
	uint32_t tid = info->streams[0].tid;
	struct perf_record r = { .kind = PERF_SWITCH,
				 .pid = tid,
				 .tid = tid,
				 .time_ns = is_out ? info->last_ns : info->first_ns,
				 .change = { .is_out = is_out, .has_other = true } };

	ok(perf_writer_record(w, &r));
}

static void put_piece(struct perf_writer *w, const struct perf_reader *r,
		      const struct perf_piece *from)
{
	struct perf_piece piece = *from;
	uint8_t *bytes = malloc(piece.bytes);

	assert_non_null(bytes);
	ok(perf_reader_piece(r, &piece, 0, bytes, piece.bytes));
	piece.tid = PERF_NONE;
	piece.cpu = 0;
	piece.offset = UINT64_MAX;
	ok(perf_writer_stream(w, &piece, bytes, piece.bytes));
	free(bytes);
}

/* perf.data of one thread again, as if CPU 0 had been traced: cpu.data. */
static void as_processor(const char *dir)
{
	_cleanup_free_ char *from = NULL, *to = NULL;
	struct perf_writer_options o = {};
	struct perf_record rec;
	struct perf_reader *r;
	struct perf_writer *w;
	bool is_end = false;

	assert_true(asprintf(&from, "%s/perf.data", dir) > 0);
	assert_true(asprintf(&to, "%s/cpu.data", dir) > 0);
	ok(perf_reader_open(from, &r));
	o.pt = perf_reader_info(r)->pt;
	o.host = perf_reader_info(r)->host;
	o.pt.is_per_cpu = true;
	o.pt.has_switches = PERF_SWITCHES_CPU_WIDE;
	ok(perf_writer_create(to, &o, &w));
	for (;;) {
		ok(perf_reader_next(r, &rec, &is_end));
		if (is_end)
			break;
		rec.id = 0;
		if (rec.kind == PERF_AUXTRACE)
			put_piece(w, r, &rec.piece);
		else if (rec.kind == PERF_ITRACE_START) // only a switch tells who runs
			put_switch(w, perf_reader_info(r), false);
		else if (rec.kind == PERF_MMAP || rec.kind == PERF_COMM ||
			 rec.kind == PERF_AUX)
			ok(perf_writer_record(w, &rec));
	}
	put_switch(w, perf_reader_info(r), true);
	ok(perf_writer_finish(w, NULL));
	perf_writer_destroy(w);
	perf_reader_close(r);
}

static void perf_agrees_on_a_processor(void **state)
{
	_cleanup_free_ char *dir = NULL;
	struct run r;

	(void)state;
	assert_true(asprintf(&dir, "%s/ls", unit_env("TMPDIR")) > 0);
	run_replay(&r, dir);
	as_processor(dir);
	same_instructions(&r, dir, "cpu.data");
	run_deinit(&r);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(perf_agrees),
					    cmocka_unit_test(
						    perf_agrees_on_a_processor) };

	if (unit_run("perf --version >/dev/null 2>&1")) {
		printf("perf is not installed\n");
		return 77;
	}
	for (int i = 1; i < argc; i++)
		judge_capture(argv[i], "");
	return argc > 1 ? 0 : cmocka_run_group_tests(tests, NULL, NULL);
}
