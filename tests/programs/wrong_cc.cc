// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Memory that is released by another family of functions than it was allocated by, and what is right.
 * As wrong.c.
 */
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <vector>

#define KEEP __attribute__((noinline))

struct plain {
	int a[4];
};

struct counted {
	static int n;
	counted() { n++; }
	~counted() { n--; }
	long value = 0;
};
int counted::n;

static void *volatile sink;

template <class T> KEEP static T *same(T *p)
{
	sink = p;
	return static_cast<T *>(sink);
}

KEEP static void mismatched()
{
	free(same(new int)); // expect: MISMATCHED-FREE
	free(same(new plain)); // expect: MISMATCHED-FREE
	free(same(new char[10])); // expect: MISMATCHED-FREE
	free(same(new (std::nothrow) plain)); // expect: MISMATCHED-FREE
	delete same(static_cast<int *>(malloc(4))); // expect: MISMATCHED-FREE
	delete same(static_cast<plain *>(calloc(1, sizeof(plain)))); // expect: MISMATCHED-FREE
	delete[] same(static_cast<char *>(malloc(20))); // expect: MISMATCHED-FREE
	delete same(new int[3]); // expect: MISMATCHED-FREE
	delete[] same(new int); // expect: MISMATCHED-FREE
	delete[] same(new plain); // expect: MISMATCHED-FREE
	delete same(strdup("text")); // expect: MISMATCHED-FREE
	sink = realloc(same(new char[30]), 60); // expect: MISMATCHED-FREE
	free(sink);
}

// As g++ calls them for `delete p', by p's static type (clang++ with -fsized-deallocation).
void sized(void *, size_t) __asm__("_ZdlPvm");
void sized_array(void *, size_t) __asm__("_ZdaPvm");
void sized_aligned(void *, size_t, std::align_val_t) __asm__("_ZdlPvmSt11align_val_t");

KEEP static void missized()
{
	const auto line = std::align_val_t(64);

	sized(same(new plain), sizeof(int)); // expect: MISMATCHED-SIZE
	sized(same(new int), sizeof(plain)); // expect: MISMATCHED-SIZE
	sized(same(::operator new(0)), 2); // expect: MISMATCHED-SIZE
	sized(same(::operator new(2)), 0); // expect: MISMATCHED-SIZE
	sized(same(new (std::nothrow) plain), 15); // expect: MISMATCHED-SIZE
	sized(same(new long), sizeof(long) + 1); // expect: MISMATCHED-SIZE
	sized_array(same(new int[10]), 4); // expect: MISMATCHED-SIZE
	sized_array(same(new char[100]), 101); // expect: MISMATCHED-SIZE
	sized_aligned(same(::operator new(64, line)), 65, line); // expect: MISMATCHED-SIZE
	sized_aligned(same(::operator new(65, line)), 64, line); // expect: MISMATCHED-SIZE
	for (int i = 0; i < 3; i++)
		sized(same(::operator new(i + 20)), 19); // expect: MISMATCHED-SIZE
	sized(same(new plain), sizeof(plain));
	sized(same(::operator new(0)), 0);
	sized(nullptr, 20);
	sized_array(same(new int[10]), 40);
	sized_aligned(same(::operator new(65, line)), 65, line);
	sized_aligned(same(::operator new(100, line)), 100, line);
	sized_aligned(same(::operator new(0, line)), 0, line);
}

KEEP static void right()
{
	delete same(new int);
	delete same(new plain);
	delete[] same(new int[10]);
	delete same(new counted);
	delete[] same(new counted[5]);
	delete same(new (std::nothrow) plain);
	::operator delete(same(::operator new(40)));
	::operator delete[](same(::operator new[](40)));
	::operator delete(same(::operator new(64, std::align_val_t(64))), std::align_val_t(64));
	free(same(malloc(10)));
	free(same(strdup("text")));
	free(same(realloc(same(malloc(10)), 100)));
	auto shared = std::make_shared<counted>();
	auto unique = std::make_unique<counted[]>(3);
	std::vector<std::string> v(20, "a text that is too long to be kept inside");
	std::map<int, std::string> m;
	for (int i = 0; i < 50; i++)
		m[i] = v[i % 20];
	v.resize(100);
	void *place = malloc(sizeof(counted));
	(new (place) counted)->~counted();
	free(place);
	delete static_cast<int *>(nullptr);
	void *none = nullptr;
	asm volatile("" : "+r"(none));
	for (int i = 0; i < 3; i++) { // free() leaves the register that has new's result
		int *made = same(new int);
		free(none);
		delete made;
	}
	free(nullptr);
}

int main()
{
	mismatched();
	missized();
	right();
	return counted::n;
}
