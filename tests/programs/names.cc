// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Functions with all kinds of names, called so often as the arguments say: C++ names, one that is
 * inlined, one of a shared library, a label of assembler without a type. Prints the sum.
 */
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace geometry {
struct point {
	double x, y;
	__attribute__((noinline)) double scale(double by);
	__attribute__((noinline)) double scale(int by, int more);
};

double point::scale(double by)
{
	return x * by + y;
}

double point::scale(int by, int more)
{
	return (x + by) * more;
}
} // namespace geometry

__asm__(".text\n"
	"bare_label:\n"
	"	lea 3(%rdi), %rax\n"
	"	ret\n"
	".globl bare_label\n");
extern "C" long bare_label(long);

static inline __attribute__((always_inline)) double within(double v)
{
	asm volatile("" : "+x"(v));
	return std::fmod(v, 7.5);
}

template <typename T> __attribute__((noinline)) T around(T v)
{
	return within(v) + 1;
}

int main(int argc, char **argv)
{
	volatile double sum = 0;
	geometry::point p = { 1.5, 2.5 };

	(void)argc;
	for (int i = 0; i < atoi(argv[1]); i++)
		sum = sum + p.scale(2.0);
	for (int i = 0; i < atoi(argv[2]); i++)
		sum = sum + p.scale(i, 2);
	for (int i = 0; i < atoi(argv[3]); i++)
		sum = sum + around<double>(i);
	for (int i = 0; i < atoi(argv[4]); i++)
		sum = sum + bare_label(i);
	printf("%g\n", (double)sum);
	return 0;
}
