// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Who ends the program stands on a stack beside which others keep what alone leads to a block:
 *
 *   elsewhere heap|static|mapping    coroutines, and what is there besides
 *   elsewhere thread|placed	      threads; on stacks that the program has made
 *   elsewhere hole		      main() itself; what leads there is in a mapping where a block's was, beside another's
 *
 * Nothing is lost.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#define STACK 65536

static ucontext_t begun, keeper, ender;
static pthread_barrier_t both;
static struct {
	char *block;
	_Alignas(16) char low[STACK], high[STACK];
} beside;

static void keep(void)
{
	char *volatile block = malloc(100);

	block[0] = 1;
	swapcontext(&keeper, &begun);
	_exit(block[0]);
}

static void end(void)
{
	exit(0);
}

static void make(ucontext_t *c, char *stack, void (*fn)(void))
{
	getcontext(c);
	c->uc_stack.ss_sp = stack;
	c->uc_stack.ss_size = STACK;
	makecontext(c, fn, 0);
}

static void *thread_keeps(void *arg)
{
	char *volatile block = malloc(200);

	block[0] = 1;
	pthread_barrier_wait(&both);
	pause();
	return block;
}

static void *thread_ends(void *arg)
{
	volatile char room[STACK / 2];

	room[0] = 0;
	pthread_barrier_wait(&both);
	exit(room[0]);
}

static void begin(void *(*fn)(void *), char *stack)
{
	pthread_attr_t how;
	pthread_t t;

	pthread_attr_init(&how);
	if (stack)
		pthread_attr_setstack(&how, stack, STACK);
	else
		pthread_attr_setstacksize(&how, STACK);
	pthread_create(&t, &how, fn, NULL);
}

/* Two blocks with mappings of their own, of which the upper one makes room. */
static void fill_hole(void)
{
	static char *volatile high, *volatile low, **there;

	high = malloc(8 * STACK);
	low = malloc(8 * STACK);
	free(high);
	there = mmap(high - 16, 8 * STACK, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	there[100] = malloc(400);
	exit(0);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	char *room = mmap(NULL, 3 * STACK, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *low = room + STACK, *high = low + STACK, *block;

	if (!strcmp(how, "thread") || !strcmp(how, "placed")) {
		pthread_barrier_init(&both, NULL, 2);
		// Of what is mapped the later comes below.
		begin(thread_ends, strcmp(how, "placed") ? NULL : high);
		begin(thread_keeps, strcmp(how, "placed") ? NULL : low);
		pause();
	}
	if (!strcmp(how, "hole"))
		fill_hole();
	block = malloc(300);
	if (!strcmp(how, "static")) {
		beside.block = block;
		low = beside.low;
		high = beside.high;
	} else if (!strcmp(how, "heap")) {
		low = malloc(STACK + sizeof(block));
		memcpy(low + STACK, &block, sizeof(block));
		high = malloc(STACK);
	} else {
		memcpy(room, &block, sizeof(block));
	}
	block = NULL;
	make(&keeper, low, keep);
	make(&ender, high, end);
	swapcontext(&begun, &keeper);
	swapcontext(&begun, &ender);
	return 1;
}
