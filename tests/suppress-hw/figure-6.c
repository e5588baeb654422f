// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Figures 6.3 and (FIGURE=65) 6.5 of paper 003, in two threads, which sleep where the figures' are
 * not scheduled. Numbers behind lines are the figures'.
 */
#include <assert.h>
#include <pthread.h>
#include <unistd.h>

struct data {
	int data;
};

static struct data any;
static struct data *structArray[16] = { &any, &any, &any, 0, &any };
static struct data *structArray2[16] = { &any, &any, &any, 0, &any };
static int shared_x = 1, shared_y, *x = &shared_x, *y = &shared_y;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;
static volatile int sink;

#if FIGURE == 65
static int z;

static int foo(int value)
{
	return value == 6 ? 0 : value;
}
#else
static int foo(int value)
{
	return value;
}
#endif

static int foo2(int value)
{
	return value;
}

static void *run(void *second)
{
	pthread_barrier_wait(&both);
	usleep(second ? 300000 : 0);
#if FIGURE == 65
	z = 3;	    // -1
	*x = 2 * z; // 0
#endif
	int a = foo(*x); // 1
	usleep(second ? 0 : 999999);
	*x = *x + a; // 2
	usleep(second ? 3000000 : 0);
	pthread_mutex_lock(&lock);
	*y = foo2(*x);		       // 3
	int b = structArray[*y]->data; // 4
	pthread_mutex_unlock(&lock);
	usleep(second ? 0 : 6000000);
	int c = structArray2[*x]->data; // 5
#if FIGURE == 65
	assert(z == 2); // 6
#endif
	sink = b + c;
	return NULL;
}

int main(void)
{
	pthread_t first, other;

	pthread_barrier_init(&both, NULL, 2);
	pthread_create(&first, NULL, run, NULL);
	pthread_create(&other, NULL, run, &other);
	pthread_join(first, NULL);
	pthread_join(other, NULL);
	return 0;
}
