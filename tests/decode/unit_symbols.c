// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Symbols against fixtures/types.c, built here in several ways. What is expected stands
 * in tags in the fixture's comments, so that it moves with the lines.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <Zydis/Zydis.h>

#include "decode/symbols/symbols_int.h"
#include "tests/unit.h"

#define LINES_MAX 400
#define BIAS 0x7f1234560000

/** The fixture's source, line by line, 1-based. */
static char source[LINES_MAX][128];
static int n_lines;
static char fixture[512], dir[256];

static void read_fixture(void)
{
	const char *root = getenv("SOURCE");
	FILE *f;

	snprintf(fixture, sizeof(fixture), "%s/tests/decode/fixtures/types.c",
		 root ? root : ".");
	f = fopen(fixture, "r");
	if (!f) {
		fprintf(stderr, "cannot open %s: run from the source directory\n",
			fixture);
		exit(1);
	}
	while (n_lines + 1 < LINES_MAX && fgets(source[n_lines + 1], 128, f))
		n_lines++;
	fclose(f);
	snprintf(dir, sizeof(dir), "%s/symbols.XXXXXX",
		 getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	if (!mkdtemp(dir)) {
		perror(dir);
		exit(1);
	}
}

static int line_with(const char *text)
{
	for (int i = 1; i <= n_lines; i++) {
		if (strstr(source[i], text))
			return i;
	}
	fail_msg("no line with '%s'", text);
	return 0;
}

static void build_of(const char *from, const char *flags, const char *path)
{
	char command[2048];

	snprintf(command, sizeof(command), "%s%s -o '%s' '%s'",
		 strncmp(flags, "clang ", 6) ? "cc " : "", flags, path, from);
	assert_int_equal(system(command), 0);
}

/** Build the fixture with @p flags, then run @p after (may be NULL) in the directory. */
static void build(const char *name, const char *flags, const char *after, char path[512])
{
	char command[2048];

	snprintf(path, 512, "%s/%s", dir, name);
	build_of(fixture, flags, path);
	if (after) {
		snprintf(command, sizeof(command), "cd '%s' && %s", dir, after);
		assert_int_equal(system(command), 0);
	}
}

static struct dec_symbols *load(const char *path, uint64_t bias)
{
	struct dec_symbols *s;

	assert_null(dec_symbols_create_empty(&s));
	assert_null(dec_symbols_add_path(s, path, path, bias));
	return s;
}

/* ---- allocation types --------------------------------------------------------------- */

static uint64_t size_of(struct dec_symbols *s, const char *type)
{
	const struct dec_struct *st;

	if (!strcmp(type, "-") || !strcmp(type, ">"))
		return 24;
	assert_null(dec_symbols_struct(s, type + (*type == '?'), &st));
	return st->size;
}

static void check_site(struct dec_symbols *s, uint64_t return_rip, int line,
		       const char *type)
{
	bool is_sure;
	const char *got =
		dec_symbols_alloc_type(s, return_rip, size_of(s, type), &is_sure);
	bool is_right;

	if (*type == '-')
		is_right = !got && is_sure;
	else if (*type == '>')
		is_right = !got && !is_sure;
	else if (*type == '?')
		is_right = got && !strcmp(got, type + 1) && !is_sure;
	else
		is_right = got && !strcmp(got, type) && is_sure;
	if (!is_right)
		fail_msg("line %d: expected %s, got %s (%ssure)", line, type,
			 got ? got : "none", is_sure ? "" : "un");
	// Again, from the cache.
	assert_ptr_equal(
		dec_symbols_alloc_type(s, return_rip, size_of(s, type), &is_sure), got);
}

/** Decode all of .text and ask about the first call of each tagged line. */
static int check_sites(struct dec_symbols *s)
{
	struct dec_sym_mapping *m = &s->mappings.data[0];
	bool is_seen[LINES_MAX] = { false };
	ZydisDecoder decoder;
	uint64_t pc, end;
	int n = 0;

	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	dec_sym_unit_need_debug(m->unit);
	for (size_t i = 0; i < m->unit->cu_ranges.size; i++) {
		pc = m->unit->cu_ranges.data[i].lo;
		end = m->unit->cu_ranges.data[i].hi;
		while (pc < end) {
			ZydisDecodedInstruction in;
			struct dec_place p;
			char type[64];
			uint8_t code[15];
			const char *tag;
			size_t got = dec_sym_unit_read(m->unit, pc, code, sizeof(code));

			if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(
				    &decoder, NULL, code, got, &in))) {
				pc++;
				continue;
			}
			dec_symbols_place(s, pc + m->bias, &p);
			pc += in.length;
			if (in.meta.category != ZYDIS_CATEGORY_CALL || !p.file ||
			    !p.line || p.line > n_lines || is_seen[p.line])
				continue;
			tag = strstr(source[p.line], "site:");
			if (!tag || sscanf(tag, "site:%60[^, ]", type) != 1)
				continue;
			is_seen[p.line] = true;
			check_site(s, pc + m->bias, p.line, type);
			n++;
		}
	}
	return n;
}

/** All tagged sites must be there, but a tail call (jmp) has no return address. */
static void check_count(int n)
{
	int n_tags = 0, n_tail = 0;

	// The comment at the top explains the tags.
	for (int i = 12; i <= n_lines; i++) {
		n_tags += strstr(source[i], "site:") != NULL;
		n_tail += strstr(source[i], "unless a tail call") != NULL;
	}
	assert_in_range(n, n_tags - n_tail, n_tags);
}

static void test_alloc_type(void **state)
{
	static const char *const flags[] = {
		"-O0 -g",
		"-O2 -g",
		"-O1 -g",
		"-O3 -g",
		"-Os -g",
		"clang -O0 -g",
		"clang -O2 -g",
		"-O2 -g -no-pie -fno-pie",
		"-O0 -g -no-pie -fno-pie",
		"-O2 -g -gdwarf-4",
		"-O0 -gdwarf-4",
		"-O2 -g -gsplit-dwarf",
		"-O2 -g -fcf-protection=full -fno-omit-frame-pointer",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++) {
		bool is_pie = !strstr(flags[i], "-no-pie");
		struct dec_symbols *s;
		char path[512];

		if (!strncmp(flags[i], "clang", 5) &&
		    system("clang --version >/dev/null 2>&1"))
			continue;
		printf("  %s\n", flags[i]);
		build("types", flags[i], NULL, path);
		s = load(path, is_pie ? BIAS : 0);
		check_count(check_sites(s));
		dec_symbols_destroy(s);
	}
}

/* ---- layouts --------------------------------------------------------------------------- */

static void check_field(const struct dec_struct *st, uint32_t i, const char *name,
			uint32_t offset, uint32_t size)
{
	assert_true(i < st->n_fields);
	assert_string_equal(st->fields[i].name, name);
	assert_int_equal(st->fields[i].offset, offset);
	assert_int_equal(st->fields[i].size, size);
}

static void check_bits(const struct dec_struct *st, uint32_t i, uint8_t offset,
		       uint8_t size)
{
	assert_int_equal(8 * st->fields[i].offset + st->fields[i].bit_offset, offset);
	assert_int_equal(st->fields[i].bit_size, size);
}

static void check_shape(struct dec_symbols *s)
{
	const struct dec_struct *st;

	assert_null(dec_symbols_struct(s, "shape", &st));
	assert_int_equal(st->n_fields, 18);
	assert_int_equal(st->size, 80);
	assert_string_equal(st->fields[0].name, "kind");
	check_bits(st, 0, 0, 3);
	assert_string_equal(st->fields[1].name, "flags");
	check_bits(st, 1, 3, 7);
	assert_string_equal(st->fields[2].name, "delta");
	check_bits(st, 2, 10, 12);
	assert_true(st->fields[2].is_signed);
	assert_false(st->fields[1].is_signed);
	check_field(st, 3, "weight", 8, 8);
	assert_true(st->fields[3].is_float);
	check_field(st, 4, "at[0].x", 16, 2);
	check_field(st, 7, "at[1].y", 22, 2);
	check_field(st, 8, "whole", 24, 8);
	check_field(st, 9, "byte", 24, 1);
	check_field(st, 10, "child[0]", 32, 8);
	check_field(st, 13, "child[3]", 56, 8);
	assert_true(st->fields[13].is_pointer);
	assert_string_equal(st->fields[13].points_to, "node");
	check_field(st, 14, "grid[0][0]", 64, 4);
	check_field(st, 15, "grid[0][1]", 68, 4);
	check_field(st, 17, "grid[1][1]", 76, 4);
}

static void test_layout(void **state)
{
	static const char *const flags[] = { "-O0 -g", "-O0 -gdwarf-4", "-O0 -gdwarf-3",
					     "-O0 -g -fdebug-types-section",
					     "-O0 -gdwarf-2 -gstrict-dwarf" };

	(void)state;
	for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++) {
		const struct dec_struct *st, *again;
		struct dec_symbols *s;
		struct err *err;
		char path[512];

		build("types", flags[i], NULL, path);
		s = load(path, 0);
		check_shape(s);
		assert_null(dec_symbols_struct(s, "node", &st));
		assert_int_equal(st->n_fields, 3);
		check_field(st, 0, "value", 0, 4);
		check_field(st, 2, "prev", 16, 8);
		assert_null(dec_symbols_struct(s, "struct node", &again));
		assert_ptr_equal(st, again);
		err = dec_symbols_struct(s, "nothing", &st);
		assert_non_null(err);
		assert_int_equal(err->code, ERR_NOT_FOUND);
		err_destroy(err);
		dec_symbols_destroy(s);
	}
}

/* ---- places ------------------------------------------------------------------------------ */

static void check_places(struct dec_symbols *s, uint64_t bias)
{
	uint64_t addr[8], entry;
	struct dec_place p;
	size_t n;

	n = dec_symbols_methods(s, "in_variable", &entry, 1);
	assert_int_equal(n, 1);
	assert_true(entry >= bias);
	dec_symbols_place(s, entry, &p);
	assert_string_equal(p.function, "in_variable");
	// At -O2 gcc clones: in_variable.constprop.0.
	assert_int_equal(strncmp(p.outer, "in_variable", 11), 0);
	assert_int_equal(p.offset, 0);
	assert_in_range(p.line, line_with("in_variable(int v)"),
			line_with("in_variable(int v)") + 1);
	assert_false(p.is_inlined);
	assert_true(p.directory && p.directory[0] == '/');
	assert_true(strlen(p.file) > 7 &&
		    !strcmp(p.file + strlen(p.file) - 7, "types.c"));

	n = dec_symbols_line_addrs(s, "types.c", line_with("inlined-line"), addr, 8);
	assert_in_range(n, 1, 8);
	dec_symbols_place(s, addr[0], &p);
	assert_int_equal(p.line, line_with("inlined-line"));
	assert_string_equal(p.function, "inlined_make");
	assert_int_equal(strncmp(p.outer, "calls_inlined", 13), 0);
	assert_true(p.is_inlined);
	assert_true(p.offset > 0);

	// A brace has no statement at -O2, but the function ends there.
	n = dec_symbols_line_addrs(s, "types.c", line_with("end-of-checked"), addr, 8);
	assert_in_range(n, 1, 8);
	for (size_t i = 0; i < n; i++) {
		dec_symbols_place(s, addr[i], &p);
		assert_int_equal(p.line, line_with("end-of-checked"));
		assert_string_equal(p.function, "checked");
	}

	assert_int_equal(dec_symbols_entries(s, "inlined_make", addr, 8), 0);
	n = dec_symbols_inlined_entries(s, "inlined_make", addr, 8);
	assert_int_equal(n, 1);
	dec_symbols_place(s, addr[0], &p);
	assert_string_equal(p.function, "inlined_make");

	dec_symbols_place(s, 0x10, &p);
	assert_null(p.module);
	assert_null(p.function);
	dec_symbols_place(s, UINT64_MAX, &p);
	assert_null(p.function);
	assert_int_equal(dec_symbols_line_addrs(s, "pes.c", line_with("inlined-line"),
						addr, 8),
			 0);
}

static void test_places(void **state)
{
	static const char *const flags[] = { "-O0 -g", "-O2 -g",
					     "-O2 -g -no-pie -fno-pie" };

	(void)state;
	for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++) {
		uint64_t bias = strstr(flags[i], "-no-pie") ? 0 : BIAS;
		struct dec_symbols *s;
		char path[512];

		build("types", flags[i], NULL, path);
		s = load(path, bias);
		assert_true(dec_symbols_has_debug(s, 0));
		check_places(s, bias);
		dec_symbols_destroy(s);
	}
}

static void test_stripped(void **state)
{
	const struct dec_struct *st;
	struct dec_symbols *s;
	struct dec_place p;
	struct err *err;
	uint64_t entry;
	char path[512];
	bool is_sure;

	(void)state;
	// Without DWARF: function and offset, no line.
	build("nodebug", "-O2 -g", "strip -g nodebug", path);
	s = load(path, BIAS);
	assert_false(dec_symbols_has_debug(s, 0));
	assert_int_equal(dec_symbols_methods(s, "push", &entry, 1), 1);
	dec_symbols_place(s, entry + 4, &p);
	assert_int_equal(strncmp(p.function, "push", 4), 0);
	assert_int_equal(p.offset, 4);
	assert_null(p.file);
	assert_null(dec_symbols_alloc_type(s, entry + 4, 24, &is_sure));
	assert_false(is_sure);
	err = dec_symbols_struct(s, "node", &st);
	assert_non_null(err);
	err_destroy(err);
	dec_symbols_destroy(s);

	// Without any symbol: the module.
	build("bare", "-O2 -g", "strip bare", path);
	s = load(path, BIAS);
	dec_symbols_place(s, entry + 4, &p);
	assert_null(p.function);
	assert_string_equal(p.module, path);
	dec_symbols_destroy(s);

	// Debug information beside the program, found by .gnu_debuglink.
	build("split", "-O2 -g -Wl,--build-id=none",
	      "objcopy --only-keep-debug split split.debug && strip split && "
	      "objcopy --add-gnu-debuglink=split.debug split",
	      path);
	s = load(path, BIAS);
	assert_true(dec_symbols_has_debug(s, 0));
	check_places(s, BIAS);
	check_count(check_sites(s));
	dec_symbols_destroy(s);
}

static void test_bad_files(void **state)
{
	struct dec_symbols *s;
	struct dec_place p;
	struct err *err;
	char path[512];
	FILE *f;

	(void)state;
	snprintf(path, sizeof(path), "%s/garbage", dir);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs("\177ELF and then nothing of the kind", f);
	fclose(f);
	assert_null(dec_symbols_create_empty(&s));
	err = dec_symbols_add_path(s, path, path, 0);
	assert_non_null(err);
	assert_int_equal(err->code, ERR_FORMAT);
	err_destroy(err);
	dec_symbols_place(s, 0x1000, &p);
	assert_null(p.module);
	assert_false(dec_symbols_has_debug(s, 0));
	dec_symbols_destroy(s);
	dec_symbols_destroy(NULL);
}

struct piece {
	uint64_t start, end;
};

struct pieces {
	VEC(struct piece) all;
};

static struct err *add_piece(void *ctx, uint64_t start, uint64_t end)
{
	struct pieces *p = ctx;

	return vec_add(&p->all, ((struct piece){ start, end })) ? &err_nomem : NULL;
}

/** How many of @p p have the byte at @p addr? */
static int have(const struct pieces *p, uint64_t addr)
{
	int n = 0;

	for (size_t i = 0; i < p->all.size; i++)
		n += addr >= p->all.data[i].start && addr < p->all.data[i].end;
	return n;
}

/** Where fixtures/lined.c has @p name. */
static uint64_t in_lined(struct dec_symbols *s, const char *name)
{
	uint64_t addr = 0;

	assert_int_equal(dec_symbols_entries(s, name, &addr, 1), 1);
	return addr;
}

static void test_lined(void **state)
{
	char from[600], path[512];
	struct pieces p = {};
	struct dec_symbols *s;
	size_t n_told = 0;

	(void)state;
	snprintf(from, sizeof(from), "%.*slined.c",
		 (int)(strlen(fixture) - strlen("types.c")), fixture);
	snprintf(path, sizeof(path), "%s/lined", dir);
	build_of(from, "-O2 -g -fno-toplevel-reorder", path);
	s = load(path, BIAS);
	assert_null(dec_symbols_lined(s, &n_told, add_piece, &p));
	assert_int_equal(have(&p, in_lined(s, "main")), 1);
	assert_int_equal(have(&p, in_lined(s, "first")), 1);
	assert_int_equal(have(&p, in_lined(s, "second")), 1);
	assert_int_equal(have(&p, in_lined(s, "first") + 16), 0);
	assert_int_equal(have(&p, in_lined(s, "second") - 16), 0);
	vec_deinit(&p.all);
	dec_symbols_destroy(s);
}

static int clean_up(void **state)
{
	char command[512];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_layout),	  cmocka_unit_test(test_places),
		cmocka_unit_test(test_stripped),  cmocka_unit_test(test_alloc_type),
		cmocka_unit_test(test_bad_files), cmocka_unit_test(test_lined),
	};

	read_fixture();
	return cmocka_run_group_tests(tests, NULL, clean_up);
}
