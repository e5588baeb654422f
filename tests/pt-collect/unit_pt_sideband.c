// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Collection with a real kernel: a PMU that is described like Intel PT's, but is the
 * kernel's dummy, so that all but PT itself is real: events, rings, what happens beside,
 * the perf.data. What it must say is what the program and /proc say.
 */
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <unistd.h>

#include "pt-collect/pt/pt.h"
#include "tests/pt-collect/pt_tree.h"
#include "tests/unit.h"

static struct ptc_pt_options options;
static struct ptc_pt_setup setup;

static void begin(bool is_per_cpu)
{
	struct ptc_pt_machine machine = ptc_pt_machine_here();
	char *why_not;

	pt_begin("dummy");
	pt_put("type", "1");
	pt_put("format/what", "config:0-3");
	machine.sysfs = pt_root;
	options = (struct ptc_pt_options){ .is_wanted = true,
					   .terms = "what=9",
					   .is_per_cpu = is_per_cpu };
	ok(ptc_pt_setup_init(&options, &machine, &setup, &why_not));
	assert_null(why_not);
	assert_int_equal(setup.pmu.type, 1);
	assert_int_equal(setup.config[0], 9);
}

/** Start the shell's @p command, its output in TMPDIR/out, stopped behind its exec. */
static pid_t start(const char *command)
{
	char path[600];
	pid_t pid = fork();
	int status;

	if (!pid) {
		snprintf(path, sizeof(path), "%s/out", unit_env("TMPDIR"));
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		if (!freopen(path, "w", stdout))
			_exit(1);
		execl("/bin/sh", "sh", "-c", command, NULL);
		_exit(127);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSTOPPED(status));
	return pid;
}

static const char *file_path(void)
{
	static char path[600];

	snprintf(path, sizeof(path), "%s/perf.data", unit_env("TMPDIR"));
	return path;
}

/** Record it to its end. */
static struct ptc_pt_stats record(pid_t pid)
{
	struct ptc_pt_stats stats;
	struct ptc_pt *pt;
	int status;

	ok(ptc_pt_create(&setup, pid, "/bin/sh", file_path(), &pt));
	ptrace(PTRACE_DETACH, pid, NULL, NULL);
	while (waitpid(pid, &status, WNOHANG) != pid) {
		ok(ptc_pt_drain(pt));
		usleep(1000);
	}
	assert_true(WIFEXITED(status) && !WEXITSTATUS(status));
	ok(ptc_pt_finish(pt));
	stats = *ptc_pt_stats(pt);
	ptc_pt_destroy(pt);
	return stats;
}

/* ---- what the file says ----------------------------------------------------------------------- */

struct summary {
	size_t n_mmaps, n_execs, n_forks, n_exits, n_switches_out, n_switches_in;
	size_t n_bad_times;
	char last_exec[32];
};

struct mapping {
	uint64_t start, bytes, offset;
	char path[256];
};

static VEC(struct mapping) mappings;

static void note_mapping(const struct perf_record *rec)
{
	struct mapping *m = vec_push(&mappings);

	assert_non_null(m);
	m->start = rec->mmap.addr;
	m->bytes = rec->mmap.bytes;
	m->offset = rec->mmap.file_offset;
	snprintf(m->path, sizeof(m->path), "%s", rec->mmap.path);
}

/** Read the file; records must not be of other processes than @p pid, unless 0. */
static struct summary read_file(pid_t pid)
{
	_cleanup_(perf_reader_closep) struct perf_reader *r = NULL;
	struct summary s = {};
	struct perf_record rec;
	bool is_end = false;

	mappings.size = 0;
	ok(perf_reader_open(file_path(), &r));
	assert_false(perf_reader_info(r)->is_unfinished);
	for (;;) {
		ok(perf_reader_next(r, &rec, &is_end));
		if (is_end)
			return s;
		if (rec.kind == PERF_MMAP) {
			s.n_mmaps++;
			note_mapping(&rec);
			assert_true(!pid || rec.mmap.pid == (uint32_t)pid);
		} else if (rec.kind == PERF_COMM && rec.comm.is_exec) {
			s.n_execs++;
			snprintf(s.last_exec, sizeof(s.last_exec), "%s", rec.comm.name);
		} else if (rec.kind == PERF_FORK) {
			s.n_forks++;
		} else if (rec.kind == PERF_EXIT) {
			s.n_exits++;
		} else if (rec.kind == PERF_SWITCH) {
			s.n_switches_out += rec.change.is_out;
			s.n_switches_in += !rec.change.is_out;
			s.n_bad_times += !rec.time_ns || rec.tid != (uint32_t)pid;
		}
	}
}

static bool has_mapping(const struct mapping *want)
{
	for (size_t i = 0; i < mappings.size; i++)
		if (mappings.data[i].start == want->start &&
		    mappings.data[i].bytes == want->bytes &&
		    mappings.data[i].offset == want->offset &&
		    !strcmp(mappings.data[i].path, want->path))
			return true;
	return false;
}

/* ---- tests -------------------------------------------------------------------------------------- */

/** A program that prints its own mappings: those with code are in the file, exactly. */
static void test_mappings_are_the_programs(void **state)
{
	char path[600], line[600];
	struct summary s;
	size_t n = 0;
	pid_t pid;
	FILE *f;

	(void)state;
	begin(false);
	pid = start("exec cat /proc/self/maps");
	assert_int_equal(record(pid).n_damaged, 0);
	s = read_file(pid);
	assert_int_equal(s.n_execs, 1);
	assert_string_equal(s.last_exec, "cat");
	assert_int_equal(s.n_exits, 1);
	snprintf(path, sizeof(path), "%s/out", unit_env("TMPDIR"));
	f = fopen(path, "r");
	while (fgets(line, sizeof(line), f)) {
		struct mapping m = {};
		char prot[8];
		uint64_t end;

		if (sscanf(line, "%lx-%lx %7s %lx %*s %*s %255s", &m.start, &end, prot,
			   &m.offset, m.path) != 5 ||
		    prot[2] != 'x' || m.path[0] != '/')
			continue;
		m.bytes = end - m.start;
		if (!has_mapping(&m))
			fail_msg("not in the file: %s", line);
		n++;
	}
	fclose(f);
	assert_in_range(n, 3, 100); // cat, ld.so, libc
	vec_deinit(&mappings);
	ptc_pt_setup_deinit(&setup);
}

/** A program that sleeps so often: it stops and begins to run at least as often. */
static void test_switches_are_seen(void **state)
{
	struct summary s;
	pid_t pid;

	(void)state;
	begin(false);
	pid = start("exec perl -e 'select(undef, undef, undef, 0.001) for 1..50'");
	record(pid);
	s = read_file(pid);
	assert_in_range(s.n_switches_out, 50, 100000);
	assert_in_range(s.n_switches_in, 50, 100000);
	assert_int_equal(s.n_bad_times, 0);
	vec_deinit(&mappings);
	ptc_pt_setup_deinit(&setup);
}

/** Per CPU: threads that it starts are followed by the kernel; other processes are not. */
static void test_threads_by_cpu(void **state)
{
	char command[700];
	struct summary s;
	pid_t pid;

	(void)state;
	begin(true);
	snprintf(command, sizeof(command), "exec %s/tests/programs/flight spawn 20",
		 unit_env("BUILD"));
	pid = start(command);
	assert_int_equal(record(pid).n_damaged, 0);
	s = read_file(pid);
	assert_int_equal(s.n_forks, 20);
	assert_int_equal(s.n_exits, 21);
	vec_deinit(&mappings);
	ptc_pt_setup_deinit(&setup);
}

/** More happens than a ring holds while nobody reads: what is lost is told. */
static void test_lost_records_are_counted(void **state)
{
	struct ptc_pt_stats stats;
	struct ptc_pt *pt;
	struct summary s;
	int status;
	pid_t pid;

	(void)state;
	begin(false);
	pid = start("exec perl -e 'for (1..8000) { select(undef, undef, undef, 1e-6) }'");
	ok(ptc_pt_create(&setup, pid, "/bin/sh", file_path(), &pt));
	ptrace(PTRACE_DETACH, pid, NULL, NULL);
	// Once, when the ring has long been full, and then not until the end.
	usleep(300000);
	ok(ptc_pt_drain(pt));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	ok(ptc_pt_finish(pt));
	stats = *ptc_pt_stats(pt);
	ptc_pt_destroy(pt);
	s = read_file(pid);
	assert_in_range(stats.n_lost, 1, 100000);
	// What came and what was lost are all that happened: each sleep is two switches, but
	// for the few that are over before they begin. A ring full holds some 1600.
	assert_in_range(s.n_switches_out + s.n_switches_in + stats.n_lost, 15500, 100000);
	vec_deinit(&mappings);
	ptc_pt_setup_deinit(&setup);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mappings_are_the_programs),
		cmocka_unit_test(test_switches_are_seen),
		cmocka_unit_test(test_threads_by_cpu),
		cmocka_unit_test(test_lost_records_are_counted),
	};

	if (!pt_may_open_events())
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
