// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// Memory of no bytes from each operator new, kept and deleted, though the library has asked for some; one is accessed, by
// number. So it is behind what has fewer bytes than its alignment makes of them.
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <new>

static const auto wide = std::align_val_t(64);
static volatile size_t none = 0;
static volatile char sink;

// Each returns to a place of its own.
static char *get(int which)
{
	switch (which) {
	case 0:
		return (char *)operator new(none);
	case 1:
		return (char *)operator new[](none);
	case 2:
		return (char *)operator new(none, std::nothrow);
	case 3:
		return (char *)operator new[](none, std::nothrow);
	case 4:
		return (char *)operator new(none, wide);
	case 5:
		return (char *)operator new[](none, wide);
	case 6:
		return (char *)operator new(none, wide, std::nothrow);
	default:
		return (char *)operator new[](none, wide, std::nothrow);
	}
}

static void put(int which, char *p)
{
	switch (which) {
	case 0:
	case 2:
		return operator delete(p);
	case 1:
	case 3:
		return operator delete[](p);
	case 4:
	case 6:
		return operator delete(p, none, wide);
	default:
		return operator delete[](p, none, wide);
	}
}

struct later {
	later *next;
	int *items;
	size_t n;
	later(later *before, size_t count) : next(before), items(new int[count]), n(count)
	{
		for (size_t i = 0; i < n; i++)
			items[i] = (int)i;
	}
	~later() { delete[] items; }
};

int main(int argc, char **argv)
{
	int wrong = argc > 1 ? atoi(argv[1]) : 0;
	char *volatile p[8];
	later *list = nullptr;

	for (int i = 0; i < 8; i++)
		p[i] = get(i);
	for (int i = 0; i < 8; i++)
		for (int k = 0; k < i; k++)
			if (p[i] == p[k])
				return 1;
	if (wrong > 0 && wrong <= 8)
		p[wrong - 1][0] = 1;
	if (wrong > 8 && wrong <= 16)
		sink = p[wrong - 9][0];
	for (int i = 0; i < 8; i++)
		put(i, p[i]);
	for (size_t n = 0; n < 20; n++)
		list = new later(list, n % 4);
	while (list) {
		later *next = list->next;

		delete list;
		list = next;
	}
	p[0] = (char *)operator new(100, wide);
	for (int i = 0; i < 100 + (wrong == 17); i++)
		p[0][i] = i;
	operator delete(p[0], 100 + (wrong == 18 ? 100 : 0), wide);
	p[0] = (char *)operator new(none);
	operator delete(p[0], none + (wrong == 19 ? 2 : 0));
	return 0;
}
