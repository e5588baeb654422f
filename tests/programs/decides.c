// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
// FLAGS: -O0

/**
 * @file
 * For a debugger: predicates and statements, each instance of which decides what the sums are; values
 * that are copied from where they were made: input, a constant, arithmetic, the program's file.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct pair {
	int first, second;
	char tag[4];
};

static int picked, noted, calls;
static const int table[] = { 3, 1, 4 };
static struct pair pair;
static char line[64];

static void note(int i)
{
	calls++;
	noted += i; /* NOTED */
}

static int twice(int i)
{
	int made = i + i; /* MADE */

	return made;
}

static void copy(struct pair *to, const char *from)
{
	char byte = from[5]; /* BYTE */

	to->tag[0] = byte; /* TAG */
	to->first = twice(21);
	to->second = table[2]; /* TABLE */
}

int main(int argc, char **argv)
{
	char *kept = NULL;
	int fd = open(argv[1], O_RDONLY);

	if (argc < 2 || lseek(fd, 10, SEEK_SET) != 10 || read(fd, line, sizeof(line)) < 8)
		return 2;
	for (int i = 0; i < 10; i++) {	  /* LOOP */
		if (i % 3 == 0 && i != 6) /* PICK */
			picked += i;	  /* ADD */
		note(i);		  /* CALL */
	}
	copy(&pair, line);
	kept = malloc(16);
	memcpy(kept, &pair, sizeof(pair) + argc - 2);		/* COPIED */
	printf("%d %d %d %c\n", picked, noted, calls, kept[8]); /* LAST */
	free(kept);
	return 0;
}
