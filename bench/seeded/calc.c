// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * A calculator for whole numbers with variables of one letter: an expression or `x = expression' a
 * line; `?' tells all variables.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define LETTERS 26
#define LINE 120
#define DEEPEST 8

static char text[LINE];
static int at, depth, has_failed;
static int values[LETTERS], is_set[LETTERS];
static int n_results, last;

static int expression(void);

static void fail(const char *why)
{
	if (!has_failed)
		printf("error at %d: %s\n", at + 1, why);
	has_failed = 1;
}

static char peek(void)
{
	while (text[at] == ' ')
		at++;
	return text[at];
}

static int accept(char c)
{
	if (peek() != c)
		return 0;
	at++;
	return 1;
}

static int number(void)
{
	int n = 0;

	while (isdigit((unsigned char)text[at])) {
		n = n * 10 + text[at] - '0';
		at++;
	}
	return n;
}

static int power(int base, int exponent)
{
	int ret = 1;

	if (exponent < 0) {
		fail("negative exponent");
		return 0;
	}
	while (exponent > 0) {
		if (exponent % 2 == 1)
			ret *= base;
		base *= base;
		exponent /= 2;
	}
	return ret;
}

static int variable(void)
{
	int which = text[at] - 'a';

	at++;
	if (!is_set[which])
		fail("not set");
	return values[which];
}

static int primary(void)
{
	char c = peek();
	int ret;

	if (isdigit((unsigned char)c))
		return number();
	if (islower((unsigned char)c))
		return variable();
	if (accept('$'))
		return last;
	if (!accept('(')) {
		fail("a number is missing");
		return 0;
	}
	depth++;
	if (depth > DEEPEST)
		fail("too deep");
	ret = expression();
	depth--;
	if (!accept(')'))
		fail("no )");
	return ret;
}

static int unary(void)
{
	if (accept('-'))
		return -unary();
	if (accept('!'))
		return !unary();
	return primary();
}

static int raised(void)
{
	int base = unary();

	if (accept('^'))
		return power(base, raised());
	return base;
}

static int product(void)
{
	int left = raised();

	while (!has_failed) {
		char sign = peek();
		int right;

		if (sign != '*' && sign != '/' && sign != '%')
			break;
		at++;
		right = raised();
		if (sign == '*') {
			left *= right;
		} else if (right == 0) {
			fail("division by 0");
		} else if (sign == '/') {
			left /= right;
		} else {
			left %= right;
		}
	}
	return left;
}

static int sum(void)
{
	int left = product();

	while (!has_failed) {
		if (accept('+'))
			left += product();
		else if (accept('-'))
			left -= product();
		else
			break;
	}
	return left;
}

static int expression(void)
{
	int left = sum();

	while (!has_failed) {
		if (accept('<'))
			left = left < sum();
		else if (accept('>'))
			left = left > sum();
		else if (accept('&'))
			left = sum() && left;
		else
			break;
	}
	return left;
}

static int is_assignment(void)
{
	int i = 0;

	while (text[i] == ' ')
		i++;
	if (!islower((unsigned char)text[i]))
		return 0;
	i++;
	while (text[i] == ' ')
		i++;
	return text[i] == '=';
}

static void list_variables(void)
{
	int n = 0;

	for (int i = 0; i < LETTERS; i++)
		if (is_set[i]) {
			printf("%c = %d\n", 'a' + i, values[i]);
			n++;
		}
	printf("%d variables\n", n);
}

static void calculate(void)
{
	int which = -1, result;

	if (is_assignment()) {
		which = peek() - 'a';
		at++;
		accept('=');
	}
	result = expression();
	if (!has_failed && peek() != 0)
		fail("what is that?");
	if (has_failed)
		return;
	if (which >= 0) {
		values[which] = result;
		is_set[which] = 1;
	}
	last = result;
	n_results++;
	printf("%d\n", result);
}

int main(void)
{
	int n_failed = 0;

	while (fgets(text, sizeof(text), stdin)) {
		text[strcspn(text, "\n")] = 0;
		at = 0;
		depth = 0;
		has_failed = 0;
		if (peek() == 0)
			continue;
		if (peek() == '?')
			list_variables();
		else
			calculate();
		n_failed += has_failed;
	}
	printf("%d results, %d errors\n", n_results, n_failed);
	return 0;
}
