// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * raced.c's like with OpenMP: with `racy' nothing orders what is shared, with `right' something does. Lines with a
 * comment that says `race' are one side of a race, and no other line is.
 */
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#define N 40

static volatile int sum, part;
static int last, made, needed, apart, cousins, reduced, values[N + 1];

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

#pragma omp parallel sections num_threads(2)
	{
#pragma omp section
		part = 1; // race
#pragma omp section
		part = 2; // race
	}

#pragma omp parallel num_threads(2)
	{
		if (omp_get_thread_num() == 0)
			reduced = 0; // race
#pragma omp for reduction(+ : reduced) // race
		for (int i = 0; i < N; i++)
			reduced += i;
	}
}

static int by_critical, by_atomic, by_reduction, by_ordered, by_single, by_task,
	by_section[2], by_depend, by_group, by_lock, by_master, by_mutex;
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

/* Two threads, or one, run them: what is a thread's own is not shared by those that it runs. */
static void sections(void)
{
#pragma omp parallel num_threads(2)
	{
		int own = 0, *scratch = malloc(sizeof(*scratch));

#pragma omp sections
		{
#pragma omp section
			{
				own = 1;
				*scratch = 2;
				by_section[0] = own;
			}
#pragma omp section
			{
				own = 3;
				*scratch = 4;
				by_section[1] = own;
			}
		}
		values[20 + omp_get_thread_num()] = by_section[0] + by_section[1] + own;
		free(scratch);
	}
#pragma omp parallel num_threads(2)
	{
		int number = omp_get_thread_num();

#pragma omp sections
		{
#pragma omp section
			values[30 + number]++;
#pragma omp section
			values[30 + number]++;
		}
	}
}

static void right(void)
{
	omp_init_lock(&lock);
	loops();
	sections();
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
