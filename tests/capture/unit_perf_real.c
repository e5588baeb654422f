// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Files that perf record wrote, also compressed ones, read as perf itself reads them: the
 * records of both, as lines of text, are the same. (There is no Intel PT in them; that is
 * the only kind of record for which a CPU with PT is needed.)
 */

#include <string.h>
#include <sys/stat.h>

#include "capture/perf_data.h"
#include "tests/unit.h"

static char dir[512];

/* ---- our reading, printed as perf prints -------------------------------------------------- */

static void print_mmap(FILE *f, const struct perf_record *r)
{
	if (r->type == 1) { // MMAP: all that it tells of protection is "data" or not
		fprintf(f, "MMAP %d/%d: [%#lx(%#lx) @ %#lx]: %c %s", (int)r->mmap.pid,
			(int)r->mmap.tid, r->mmap.addr, r->mmap.bytes,
			r->mmap.file_offset, r->mmap.prot == 5 ? 'x' : 'r', r->mmap.path);
		return;
	}
	fprintf(f, "MMAP2 %d/%d: [%#lx(%#lx) @ %#lx ", (int)r->mmap.pid, (int)r->mmap.tid,
		r->mmap.addr, r->mmap.bytes, r->mmap.file_offset);
	if (r->mmap.build_id_bytes)
		putc('<', f);
	for (int i = 0; i < r->mmap.build_id_bytes; i++)
		fprintf(f, "%02x", r->mmap.build_id[i]);
	if (r->mmap.build_id_bytes)
		putc('>', f);
	else
		fprintf(f, "%02x:%02x %lu %lu", r->mmap.major, r->mmap.minor,
			r->mmap.inode, r->mmap.generation);
	fprintf(f, "]: %c%c%c%c %s", r->mmap.prot & 1 ? 'r' : '-',
		r->mmap.prot & 2 ? 'w' : '-', r->mmap.prot & 4 ? 'x' : '-',
		r->mmap.flags & 1 ? 's' : 'p', r->mmap.path);
}

/* @return whether it is of a kind that is compared. */
static bool print_record(FILE *f, const struct perf_record *r)
{
	switch (r->kind) {
	case PERF_MMAP:
	case PERF_COMM:
	case PERF_FORK:
	case PERF_EXIT:
	case PERF_SWITCH:
		break;
	default:
		return false;
	}
	fprintf(f, "%lu ", r->time_ns);
	if (r->kind == PERF_MMAP)
		print_mmap(f, r);
	else if (r->kind == PERF_COMM)
		fprintf(f, "COMM%s: %s:%d/%d", r->comm.is_exec ? " exec" : "",
			r->comm.name, r->comm.pid, r->comm.tid);
	else if (r->kind == PERF_SWITCH)
		fprintf(f, "SWITCH %s",
			!r->change.is_out      ? "IN" :
			r->change.is_preempted ? "OUT preempt" :
						 "OUT");
	else
		fprintf(f, "%s(%d:%d):(%d:%d)", r->kind == PERF_FORK ? "FORK" : "EXIT",
			r->task.pid, r->task.tid, r->task.parent_pid, r->task.parent_tid);
	putc('\n', f);
	return true;
}

/* What of the file is ours in @p name.ours. @return samples and rounds. */
static void read_file(const char *name, uint64_t *samples, uint64_t *rounds)
{
	char path[600], ours[600];
	struct perf_reader *r;
	struct perf_record rec;
	bool is_end = false;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	snprintf(ours, sizeof(ours), "%s/%s.ours", dir, name);
	f = fopen(ours, "w");
	assert_non_null(f);
	ok(perf_reader_open(path, &r));
	for (;;) {
		ok(perf_reader_next(r, &rec, &is_end));
		if (is_end)
			break;
		print_record(f, &rec);
		*samples += rec.kind == PERF_SAMPLE;
		*rounds += rec.kind == PERF_ROUND;
	}
	assert_null(perf_reader_info(r)->damage);
	assert_false(perf_reader_info(r)->has_pt);
	assert_non_null(perf_reader_info(r)->host.arch);
	assert_string_equal(perf_reader_info(r)->cmdline[1], "record");
	assert_non_null(strstr(perf_reader_info(r)->attrs[0].name, "cpu-clock"));
	perf_reader_close(r);
	fclose(f);
}

static uint64_t perf_count(const char *name, const char *kind)
{
	char command[700], line[64] = "";
	FILE *f;

	snprintf(command, sizeof(command), "grep -c 'PERF_RECORD_%s\\b' %s/%s.dump", kind,
		 dir, name);
	f = popen(command, "r");
	assert_non_null(f);
	assert_non_null(fgets(line, sizeof(line), f));
	pclose(f);
	return strtoull(line, NULL, 10);
}

/* Record with @p options, and compare. */
static void compare(const char *name, const char *options)
{
	uint64_t samples = 0, rounds = 0;

	if (unit_run(
		    "cd %s && perf record -q -o %s -e cpu-clock:u -F 5000 "
		    "--switch-events %s -- sh -c 'ls -R /usr/lib >/dev/null; (true) & wait' "
		    "2>%s.err",
		    dir, name, options, name)) {
		printf("perf record cannot record here\n");
		exit(77);
	}
	assert_int_equal(unit_run("cd %s && perf script -D -i %s >%s.dump 2>/dev/null",
				  dir, name, name),
			 0);
	read_file(name, &samples, &rounds);
	assert_int_equal(
		unit_run("cd %s && sed -nE 's/^([0-9]+) 0x[^ ]+ \\[[^]]*\\]: "
			 "PERF_RECORD_((MMAP|COMM|FORK|EXIT|SWITCH).*[^ ]) *$/\\1 "
			 "\\2/p' %s.dump | sort >%s.theirs",
			 dir, name, name),
		0);
	assert_int_equal(
		unit_run("cd %s && sort %s.ours | diff - %s.theirs", dir, name, name), 0);
	assert_int_equal(unit_run("test $(wc -l <%s/%s.ours) -gt 20", dir, name), 0);
	assert_int_equal(samples, perf_count(name, "SAMPLE"));
	assert_int_equal(rounds, perf_count(name, "FINISHED_ROUND"));
}

static void files_of_perf(void **state)
{
	(void)state;
	compare("plain", "");
	compare("compressed", "-z");
	assert_int_equal(unit_run("perf script --header-only -i %s/compressed | "
				  "grep -q '^# compressed'",
				  dir),
			 0);
	compare("build-ids", "--buildid-mmap");
}

/* Pipe mode is refused, by name. */
static void pipe_mode(void **state)
{
	struct perf_reader *r;
	struct err *err;
	char path[600];

	(void)state;
	snprintf(path, sizeof(path), "%s/pipe", dir);
	assert_int_equal(unit_run("perf record -q -o - -e cpu-clock:u -- true >%s", path),
			 0);
	err = perf_reader_open(path, &r);
	assert_non_null(err);
	assert_int_equal(err->code, ERR_UNSUPPORTED);
	assert_non_null(strstr(err->message, "pipe mode"));
	err_destroy(err);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_of_perf),
		cmocka_unit_test(pipe_mode),
	};

	if (unit_run("perf --version >/dev/null 2>&1")) {
		printf("perf is not installed\n");
		return 77;
	}
	snprintf(dir, sizeof(dir), "%.400s", unit_env("TMPDIR"));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
