// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The kernel's types that are cut out for relocation are where libbpf's reader of all finds
 * them.
 */
#include <bpf/btf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "pt-collect/kernel/types.h"
#include "tests/unit.h"

static struct btf *all, *cut;
static struct ptc_numbers numbers;

static const struct btf_type *find(const struct btf *b, const char *name)
{
	int id = btf__find_by_name_kind(b, name, BTF_KIND_STRUCT);

	return id > 0 ? btf__type_by_id(b, id) : NULL;
}

/** Sizes where both are numbers, or both pointers. */
static void expect_same_kind(const struct btf_type *a, const struct btf_type *b)
{
	if (btf_is_ptr(a) || btf_is_ptr(b))
		assert_int_equal(btf_kind(a), btf_kind(b));
	if (btf_is_int(a)) {
		assert_int_equal(btf_kind(a), btf_kind(b));
		assert_int_equal(a->size, b->size);
	}
}

static const struct btf_type *member_type(const struct btf *b, const struct btf_type *t,
					  int i)
{
	return btf__type_by_id(b, btf__resolve_type(b, btf_members(t)[i].type));
}

/** @return members compared. */
static int compare(const struct btf_type *a, const struct btf_type *b)
{
	int n = btf_vlen(a);

	assert_int_equal(n, btf_vlen(b));
	assert_int_equal(a->size, b->size);
	for (int i = 0; i < btf_vlen(a); i++) {
		const struct btf_type *x = member_type(all, a, i);
		const struct btf_type *y = member_type(cut, b, i);
		const char *name = btf__name_by_offset(all, btf_members(a)[i].name_off);

		assert_string_equal(name,
				    btf__name_by_offset(cut, btf_members(b)[i].name_off));
		assert_int_equal(btf_member_bit_offset(a, i),
				 btf_member_bit_offset(b, i));
		assert_int_equal(btf_member_bitfield_size(a, i),
				 btf_member_bitfield_size(b, i));
		expect_same_kind(x, y);
		if (btf_is_composite(x) && !x->name_off)
			n += compare(x, y);
	}
	return n;
}

static void test_same_places(void **state)
{
	static const char *const names[] = { "task_struct", "thread_struct",
					     "thread_info", "signal_struct",
					     "sigpending",  "pt_regs",
					     "uprobe_task" };

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const struct btf_type *a = find(all, names[i]), *b = find(cut, names[i]);

		assert_non_null(a);
		assert_non_null(b);
		assert_true(compare(a, b) > 0);
	}
}

static void test_is_small(void **state)
{
	(void)state;
	assert_true(btf__type_cnt(cut) > 10);
	assert_true(btf__type_cnt(cut) < btf__type_cnt(all) / 50);
}

/** 0 where the kernel has no such. */
static uint32_t number_of(const char *name, uint32_t kind)
{
	int number = btf__find_by_name_kind(all, name, kind);

	return number < 0 ? 0 : number;
}

static void test_numbers(void **state)
{
	(void)state;
	assert_true(numbers.call_end);
	assert_int_equal(numbers.call_end,
			 number_of("btf_trace_sys_exit", BTF_KIND_TYPEDEF));
	assert_int_equal(numbers.cast, number_of("bpf_rdonly_cast", BTF_KIND_FUNC));
	assert_true(numbers.words);
	assert_int_equal(numbers.words, number_of("timespec64", BTF_KIND_STRUCT));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_places),
		cmocka_unit_test(test_is_small),
		cmocka_unit_test(test_numbers),
	};
	char path[64];
	int fd, ret;

	all = btf__parse("/sys/kernel/btf/vmlinux", NULL);
	if (!all) {
		puts("this kernel has no BTF");
		return 77;
	}
	fd = ptc_types_open(&numbers);
	if (fd < 0) {
		puts("cannot cut out the kernel's types");
		return 1;
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	cut = btf__parse(path, NULL);
	ret = cut ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
	btf__free(cut);
	btf__free(all);
	close(fd);
	return ret;
}
