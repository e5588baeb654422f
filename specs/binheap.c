// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/* A binary heap in an array. */
#include "specs/subject.h"

struct heap {
	int n;
	int key[1023];
};

static struct heap *heap;

static void swap(int *a, int *b)
{
	int t = *a;

	*a = *b;
	*b = t;
}

NOINLINE static void heap_push(int key)
{
	int i = heap->n;

	if (i == 1023)
		return;
	heap->n++;
	heap->key[i] = key;
	for (; i && heap->key[i] < heap->key[(i - 1) / 2]; i = (i - 1) / 2)
		FAULT(0, swap(&heap->key[i], &heap->key[(i - 1) / 2]),
		      heap->key[(i - 1) / 2] += 1000);
}

NOINLINE static void heap_pop(void)
{
	int i = 0, least;

	heap->key[0] = heap->key[--heap->n];
	for (;; i = least) {
		least = i;
		for (int k = 2 * i + 1; k <= 2 * i + 2 && k < heap->n; k++)
			if (heap->key[k] < heap->key[least])
				least = k;
		if (least == i)
			break;
		swap(&heap->key[i], &heap->key[least]);
	}
	FAULT(1, heap->key[heap->n] = 0, heap->key[heap->n / 2] = -heap->n);
}

static void build(void)
{
	heap = NEW(struct heap);
	for (int i = 0; i < SUBJECT_NODES; i++)
		heap_push(subject_random() % 1000000);
}

NOINLINE static void operate(unsigned r)
{
	if (heap->n < 900 || (r & 1 && heap->n < 1000))
		heap_push(r / 2 % 1000000);
	else
		heap_pop();
}

int main(int argc, char **argv)
{
	return subject_main(argc, argv, &(struct subject){ 2, build, operate });
}
