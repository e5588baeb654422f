// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// As tar-1.13.25: a directory that is not there is no structure; it is used far from where it was
// looked for.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct directory {
	const char *name;
	int device;
};

static struct directory dirs[] = { { "a", 1 }, { "b", 2 } };

struct note {
	struct directory *dir;
	int count;
};

static struct directory *find(const char *name)
{
	for (size_t i = 0; i < sizeof(dirs) / sizeof(*dirs); i++)
		if (!strcmp(dirs[i].name, name))
			return &dirs[i];
	return NULL;
}

static void note(struct note *n, const char *name)
{
	n->dir = find(name); // FAULT
	n->count++;
}

static int scan(const struct note *n)
{
	return n->dir->device;
}

int main(void)
{
	struct note *n = calloc(1, sizeof(*n));

	puts("start");
	note(n, "a");
	printf("%d\n", scan(n));
	note(n, "c");
	for (int i = 0; i < 1000; i++)
		n->count += i & 1;
	printf("%d\n", scan(n));
	return 0;
}
