// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
// FLAGS: -O0

/**
 * @file
 * figures WHICH: the examples of paper 002, section 4.1, on stdin: "sums" is Figure 4.3 (numbers are
 * bytes), "body" is Figure 4.5, "strength" the text's small ones, "switch" a test by a jump table.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static volatile int sink;

static void show(int value)
{
	sink = value;
}

static void sums(void)
{
	signed char raw[100];
	int data[100], posSum = 0, negSum = 0, dt, i, num = 0;
	int have = read(0, raw, sizeof(raw));

	while (num < have) {
		dt = raw[num];
		data[num] = dt;
		num++;
	}
	i = 0;
	while (i < num) {
		dt = data[i];
		if (dt == 0)
			break;
		if (dt > 0)
			posSum += dt;
		else
			negSum += dt;
		i++;
	}
	show(posSum); // posSum
	show(negSum); // negSum
}

enum { OTHER = 7, BODY = 9, TRUE = 1, FALSE = 0 };

static int parse(const char *name)
{
	int seeBody = FALSE, cmp = 5, tag, i = 0;
	const char *str = "body";
	char c = name[i];

	while (c == str[i]) {
		if (c == '\0') {
			cmp = 0; // cmp
			break;
		}
		i++;
		c = name[i];
	}
	if (c != str[i]) {
		if (c > str[i])
			cmp = 1;
		else
			cmp = -1;
	}
	tag = OTHER;
	if (cmp == 0)
		tag = BODY; // tag
	if (tag == BODY)
		seeBody = TRUE; // assigned
	return seeBody;		// seeBody
}

static void body(void)
{
	static char name[100];

	sink = read(0, name, sizeof(name));
	show(parse(name));
}

static void strength(void)
{
	static unsigned char in[100];
	static int buf[256];
	int x, y, z, w;

	sink = read(0, in, sizeof(in));
	x = in[0];
	y = x;
	show(y); // copied
	z = x * 3 % 251;
	w = z;
	show(w); // computed
	x = in[1];
	z = x;
	if (x == '0') {
		w = z; // inside
		y = 1;
		show(w); // guarded
		show(y); // mapped
	}
	if (y < 100)
		show(7); // compared
	x = in[2];
	z = buf[x];
	show(z); // indexed
	y = x * 3 % 251;
	w = buf[y];
	show(w); // hashed
}

static void by_switch(void)
{
	static unsigned char in[100];
	int kind = 0;

	sink = read(0, in, sizeof(in));
	for (int i = 0; i < 2; i++) {
		switch (in[i]) {
		case 'a':
			kind = 11;
			break;
		case 'b':
			kind = 12;
			break;
		case 'c':
			kind = 13;
			break;
		case 'd':
			kind = 14;
			break;
		case 'e':
		case 'f':
			kind = 15;
			break;
		case 'g':
			kind = 16;
			break;
		default:
			kind = 0;
		}
		show(kind); // kind
	}
}

/* The C library looks at a long text more often than anybody would stop there. */
static void often(void)
{
	static char text[200];
	int length = 0;

	sink = read(0, text, sizeof(text) - 1);
	for (int i = 0; i < 10000; i++)
		length = strlen(text);
	show(length); // length
}

int main(int argc, char **argv)
{
	const char *which = argc > 1 ? argv[1] : "";

	if (!strcmp(which, "sums"))
		sums();
	if (!strcmp(which, "body"))
		body();
	if (!strcmp(which, "strength"))
		strength();
	if (!strcmp(which, "switch"))
		by_switch();
	if (!strcmp(which, "often"))
		often();
	return 0;
}
