// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * clang makes one of where an array begins and of what its index is lowered by, where it does not optimize: that is in the
 * variable that lies before, a number or another array.
 */
#include <stddef.h>

static int behind_number(const char *text, int is_wrong)
{
	char state[16];
	size_t level = 0;
	int n = 0;

	for (; *text; text++)
		if (*text == '(')
			state[level++] = *text;
		else if (level && state[--level] != '(')
			n++;
	for (level = 16 + 2 * is_wrong; level > 12;)
		state[--level] = 0; // expect: STACK-OVERFLOW
	return n;
}

static int behind_array(long *sum, int is_wrong)
{
	long stack[6];
	long other[4];
	size_t top = 0;

	for (int i = 0; i < 4; i++)
		other[i] = stack[top++] = i;
	while (top)
		*sum += stack[--top] + other[top % 4];
	top = 6 + is_wrong;
	*sum += stack[--top] > 100; // expect: STACK-OVERFLOW
	return other[3];
}

int main(int argc, char **argv)
{
	long sum = 0;

	return behind_number("((()))()", argc > 1) + behind_array(&sum, argc > 1) != 3;
}
