// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Branches: without an alteration they end as the recording did, with its output, from wherever
 * they begin; with one they end somehow, within their limit, and the same when repeated; and
 * alterations do what they say, which the altered program's own output tells.
 *
 * FAULTLINE_BRANCHES (40) random alterations of each program. time limit: 240
 */
#include <stdlib.h>
#include <string.h>

#include "decode/machine/branch.h"
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
	unit_run("rm -rf %s; %s record -o %s -- %s >%s </dev/null 2>%s/err", r->dir,
		 unit_env("FAULTLINE"), r->dir, command, out, unit_env("TMPDIR"));
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

/* One at an instruction that runs somewhere behind the branch. */
static struct dec_alter some_alteration(struct run *r, uint64_t from, uint64_t *seed)
{
	uint64_t span = r->end.position - from;
	struct dec_alter a = { .kind = random_word(seed) >> 62, .nth = 1 };
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
	a.addr = regs.gpr[random_word(seed) % CAP_GPRS] + random_word(seed) % 64;
	return a;
}

static void random_alterations(void **state)
{
	const char *env = getenv("FAULTLINE_BRANCHES");
	size_t n = env ? strtoul(env, NULL, 0) : 40;
	uint64_t fates[DEC_FATE_MACHINE + 1] = {}, seed = 0x2545f4914f6cdd1d,
					  n_altered = 0;
	struct dec_branch *b = calloc(2 * n, sizeof(*b));
	struct dec_alter *a = calloc(n, sizeof(*a));
	const char *program;

	(void)state;
	assert_true(a && b);
	for (size_t i = 0; (program = programs(i)); i++) {
		struct run r = {};
		uint64_t from;

		begin(&r, program);
		from = random_word(&seed) % r.end.position;
		for (size_t k = 0; k < n; k++) {
			a[k] = some_alteration(&r, from, &seed);
			b[k] = b[n + k] = (struct dec_branch){
				&a[k], 1, 3 * r.end.position + 100000, {}
			};
		}
		seek(&r, from);
		ok(dec_machine_branches(r.machine, b, 2 * n, AT_ONCE));
		for (size_t k = 0; k < n; k++) {
			const struct dec_outcome *o = &b[k].outcome;

			fates[o->fate]++;
			n_altered += o->n_altered != 0;
			if (strstr(o->text, "process ended"))
				fail_msg("%s, alteration %zu: %s", program, k, o->text);
			if (memcmp(o, &b[n + k].outcome, sizeof(*o)))
				fail_msg("%s, alteration %zu: another end when repeated",
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
	assert_true(n_altered > 5 * n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unaltered),
		cmocka_unit_test(random_alterations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
