// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * raced.c's like with OpenMP: with `racy' nothing orders what is shared, with `right' something does. Lines with a
 * comment that says `race' are one side of a race, and no other line is.
 */
#include <omp.h>
#include <string.h>

#define N 40

static volatile int sum;
static int last, made, needed, apart, cousins, values[N + 1];

static void raise(void)
{
#pragma omp task depend(inout : values[7])
	cousins++; // race
}

static void lower(void)
{
#pragma omp task depend(inout : values[7])
	cousins--; // race
}

static void racy(void)
{
#pragma omp parallel for num_threads(3)
	for (int i = 0; i < N; i++)
		sum += i; // race

#pragma omp parallel num_threads(2)
	{
		if (omp_get_thread_num() == 0)
			last = 5; // race
		if (omp_get_thread_num() == 1)
			values[0] = last; // race
	}

#pragma omp parallel num_threads(2)
#pragma omp single
	{
#pragma omp task
		made = 3; // race
#pragma omp task
		values[1] = made; // race
	}

#pragma omp parallel num_threads(2)
#pragma omp single
	{
#pragma omp task depend(out : values[2])
		needed = 3; // race
#pragma omp task depend(in : values[3])
		values[4] = needed; // race
	}

#pragma omp parallel num_threads(2)
#pragma omp single
	{
#pragma omp task depend(inout : values[2])
		raise();
#pragma omp task depend(inout : values[2])
		lower();
	}

#pragma omp parallel num_threads(2)
	{
#pragma omp single
		{
#pragma omp task
			apart++; // race
			apart++; // race
#pragma omp taskwait
			apart++;
		}
	}
}

static int by_critical, by_atomic, by_reduction, by_ordered, by_single, by_task,
	by_depend, by_group, by_lock, by_master, by_mutex;
static omp_lock_t lock;

static void tasks(void)
{
#pragma omp task
	by_task = 4;
#pragma omp taskwait
	by_task++;
#pragma omp task depend(out : by_depend)
	by_depend = 6;
#pragma omp task depend(in : by_depend)
	values[5] = by_depend;
#pragma omp task depend(in : by_depend)
	values[6] = by_depend;
#pragma omp task depend(inout : by_depend)
	by_depend = 7;
#pragma omp task depend(mutexinoutset : by_mutex)
	by_mutex += 7;
#pragma omp task depend(mutexinoutset : by_mutex)
	by_mutex += 8;
#pragma omp taskwait
#pragma omp taskgroup
	{
#pragma omp task
		by_group = by_depend + by_mutex;
	}
	by_group++;
}

static void loops(void)
{
#pragma omp parallel for num_threads(3) reduction(+ : by_reduction)
	for (int i = 0; i < N; i++)
		by_reduction += i;
#pragma omp parallel for num_threads(3) schedule(dynamic)
	for (int i = 0; i < N; i++) {
#pragma omp critical
		by_critical += i;
#pragma omp atomic
		by_atomic += i;
		omp_set_lock(&lock);
		by_lock++;
		omp_unset_lock(&lock);
	}
#pragma omp parallel for num_threads(2) ordered
	for (int i = 0; i < N; i++) {
		values[i] = i;
#pragma omp ordered
		by_ordered += i;
	}
}

static void right(void)
{
	omp_init_lock(&lock);
	loops();
#pragma omp parallel num_threads(3)
	{
#pragma omp single
		by_single = by_reduction;
		values[omp_get_thread_num()] = by_single;
#pragma omp barrier
#pragma omp master
		by_master = values[1] + values[2];
#pragma omp barrier
#pragma omp atomic write
		values[9] = by_master;
#pragma omp single
		tasks();
	}
	values[8] = by_critical + by_atomic + by_lock + by_ordered + by_task + by_group;
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "racy"))
		racy();
	else
		right();
	return 0;
}
