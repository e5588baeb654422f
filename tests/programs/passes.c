// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
// FLAGS: -O0 -lpthread

/**
 * @file
 * For a debugger: places that are passed often, by two threads, with values of all widths to be
 * asked about.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct item {
	signed char c;
	unsigned char u;
	short s;
	int bits : 5;
	unsigned more : 3;
	long l;
	const char *name;
};

static struct item item = { .name = "item" };
static long sum;

void pass(int i, struct item *p)
{
	p->c = i;
	p->u = i;
	p->s = -i;
	p->bits = i;
	p->more = i;
	p->l = (long)i * i;
	sum += i; /* PASS */
}

static void *work(void *arg)
{
	int from = *(int *)arg;
	struct item own = { .name = "own" };

	for (int i = from; i < from + 1000; i++)
		pass(i, &own);
	return NULL;
}

int main(void)
{
	int from[] = { 10000, 20000 };
	pthread_t thread;

	for (int i = 0; i < 5000; i++)
		pass(i, &item);
	pthread_create(&thread, NULL, work, &from[0]);
	work(&from[1]);
	pthread_join(thread, NULL);
	printf("%ld\n", sum);
	return 0;
}
