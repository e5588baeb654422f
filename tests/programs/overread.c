// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * overread [fixed]: reads beyond the end of heap buffers, each in one statement: through
 * functions of the C library that read by vectors, which may read ahead, and by the program
 * itself. With "fixed" they read what there is. Buffers end in all places of a vector.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>
#include <wchar.h>

#define NOINLINE __attribute__((noinline))

enum { ROOM = 40, MORE = 24 };

static int is_fixed;
static volatile size_t sum;
static char other[512];

static size_t length(void)
{
	return is_fixed ? ROOM : ROOM + MORE;
}

/* A buffer of letters, terminated only when "fixed". What comes after it ends some time. */
NOINLINE static char *text(char letter)
{
	char *buffer = malloc(ROOM), *next = malloc(ROOM);

	memset(buffer, letter, ROOM);
	memset(next, 0, ROOM);
	if (is_fixed)
		buffer[ROOM - 1] = 0;
	return buffer;
}

NOINLINE static void end_scans(void)
{
	sum += strlen(text('a'));					     /* READ */
	sum += strnlen(text('b'), ROOM + MORE);				     /* READ */
	sum += !!strchr(text('c'), '!');				     /* READ */
	sum += !!strrchr(text('d'), '!');				     /* READ */
	sum += !!memchr(text('e'), '!', length());			     /* READ */
	sum += strspn(text('f'), "f");					     /* READ */
	sum += strcspn(text('g'), "!");					     /* READ */
	sum += !!strpbrk(text('h'), "!?");				     /* READ */
	sum += !!strstr(text('i'), "i!");				     /* READ */
	sum += !!memrchr(text('j'), '!', length());			     /* READ */
	sum += wcslen((const wchar_t *)text(0) + (is_fixed ? 0 : ROOM / 4)); /* READ */
}

/* What both have in common goes on behind the end of the first. */
NOINLINE static void comparisons(void)
{
	char *a = text('A');

	memcpy(other, a, ROOM);
	sum += strcmp(a, other);       /* READ */
	sum += strncmp(a, other, 200); /* READ */
	sum += strcasecmp(a, other);   /* READ */
	memset(a, 0, ROOM);
	memset(other, 0, sizeof(other));
	sum += memcmp(a, other, length()); /* READ */
}

NOINLINE static void copies(void)
{
	sum += (size_t)memcpy(other, text('a'), length());  /* READ */
	sum += (size_t)memmove(other, text('b'), length()); /* READ */
	sum += (size_t)strcpy(other, text('c'));	    /* READ */
	sum += (size_t)strncpy(other, text('d'), 200);	    /* READ */
	sum += (size_t)strcat(other, text('e'));	    /* READ */
	sum += sprintf(other, "%s", text('f'));		    /* READ */
}

NOINLINE static void others(void)
{
	int *numbers = (int *)text(1), fd[2];

	for (size_t i = 0; i < length() / 4; i++)
		sum += numbers[i]; /* READ */
	if (pipe(fd))
		abort();
	sum += write(fd[1], text('w'), length()); /* READ */
}

/* What is sound, however far the library reads: strings that end anywhere. */
NOINLINE static void sound(void)
{
	for (size_t n = 1; n < 140; n++) {
		char *a = malloc(n), *b = malloc(n), *c = malloc(n + 1);

		memset(a, 'x', n);
		a[n - 1] = 0;
		memcpy(b, a, n);
		memcpy(c, "x", 2);
		sum += strlen(b) + strcmp(a, b) + strcmp(b, "x") + strcasecmp(a, "X") +
		       strncmp(a, c, n) + memcmp(a, b, n) + !!strchr(a, 'y') +
		       !!strrchr(b, 'y') + !!memchr(a, 'y', n) + strspn(a, "x") +
		       strcspn(b, "y") + !!strstr(a, "xy") + strnlen(a, n) +
		       !!rawmemchr(a, 0) + !!strpbrk(a, "yz") + !!memrchr(a, 'y', n);
		strcpy(b, a);
		strncpy(b, a, n);
		free(a);
		free(c);
		a = strdup(b);
		sum += strlen(a);
		free(a);
		free(b);
	}
}

int main(int argc, char **argv)
{
	(void)argv;
	is_fixed = argc > 1;
	end_scans();
	comparisons();
	copies();
	others();
	sound();
	return 0;
}
