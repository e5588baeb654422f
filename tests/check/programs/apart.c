// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Where a variable lies in the frame clang adds behind an index, not with it: until then that seems to be to what lies at the
 * frame's end.
 */
#include <stdarg.h>
#include <stdio.h>

static int told;

__attribute__((noinline)) static void show(const char *text)
{
	told += text[0] == 'E';
}

static void print(const char *label, const char *format, va_list args)
{
	char message[64];
	int length = sprintf(message, "%s: ", label);

	length += vsprintf(message + length, format, args); // expect: STACK-OVERFLOW
	show(message);
}

__attribute__((noinline)) static void error(int kind, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (kind == 1) {
		print("Error at newline", format, args);
	} else {
		char label[40];

		sprintf(label, "Error at '%d'", kind);
		print(label, format, args);
	}
	va_end(args);
}

int main(int argc, char **argv)
{
	for (int i = 0; i < 4; i++)
		error(i, "%s is %*d", "all", argc > 1 && i == 3 ? 240 : 2, i);
	return told != 4;
}
