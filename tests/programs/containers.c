// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Pointers to a part of a struct by which its whole is meant: the struct around a member
 * (container_of), by constants and by an offset that is known at run time; all that lies behind a
 * member; a key made of several. Nothing leaves what it means. `containers wrong` leaves its array
 * at each line marked WRONG, still inside of the struct.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct link {
	struct link *next, *prev;
};

struct point {
	int x, y;
};

struct item {
	struct point key; // with kind
	char kind;
	int id;
	char name[20];
	struct link links[3];
	long tail;
	struct link link;
	struct point points[3];
	char room[12];
	int more;
};

#define container_of(p, type, member) ((type *)((char *)(p)-offsetof(type, member)))
#define NOINLINE __attribute__((noinline))

static NOINLINE struct item *item_of(struct link *l, int list)
{
	switch (list) {
	case 0:
		return container_of(l, struct item, links[0]);
	case 1:
		return container_of(l, struct item, links[1]);
	case 2:
		return container_of(l, struct item, links[2]);
	default:
		return container_of(l, struct item, link);
	}
}

static NOINLINE struct item *item_at(void *l, long offset)
{
	return (struct item *)((char *)l - offset);
}

static NOINLINE int id_at(void *l, long offset)
{
	return ((struct item *)((char *)l - offset))->id;
}

static NOINLINE void add(struct link *head, struct link *l)
{
	l->next = head->next;
	l->prev = head;
	head->next->prev = l;
	head->next = l;
}

static NOINLINE void clear(struct item *x)
{
	memset(x, 0, sizeof(*x));
}

static NOINLINE void clear_rest(struct item *x)
{
	memset(&x->room, 0, sizeof(*x) - offsetof(struct item, room));
}

static NOINLINE int has_key(const struct item *x, const struct item *y)
{
	return !memcmp(&x->key, &y->key, offsetof(struct item, kind) + sizeof(x->kind));
}

static long use(struct item *x, struct item *before)
{
	long sum = x->id + x->tail + strlen(x->name) + has_key(x, before);

	x->tail = sum;
	x->more = sum;
	memcpy(x->room, x->name, sizeof(x->room));
	for (int i = 0; i < 3; i++)
		x->points[i].x = x->points[i].y + i;
	return sum;
}

static NOINLINE void fill(char *p, int n)
{
	for (int i = 0; i < n; i++)
		p[i] = 'a'; /* WRONG */
}

static NOINLINE void place(struct point *p, int n)
{
	for (int i = 0; i < n; i++)
		p[i].x = i; /* WRONG */
}

static void go_wrong(struct item *x)
{
	fill(x->room, 13);
	place(x->points, 4);
	memcpy(x->name, "0123456789012345678901", 22); /* WRONG */
	strcpy(x->room, "012345678901");	       /* WRONG */
}

int main(int argc, char **argv)
{
	struct item *before = calloc(1, sizeof(*before));
	struct link head[4], *next;
	long sum = 0;

	(void)argv;
	for (int k = 0; k < 4; k++)
		head[k] = (struct link){ &head[k], &head[k] };
	for (int i = 0; i < 10; i++) {
		struct item *x = malloc(sizeof(*x));

		clear(x);
		x->id = i;
		strcpy(x->name, "abc");
		for (int k = 0; k < 3; k++)
			add(&head[k], &x->links[k]);
		add(&head[3], &x->link);
	}
	for (int k = 0; k < 4; k++)
		for (struct link *l = head[k].next; l != &head[k]; l = l->next) {
			sum += use(item_of(l, k), before);
			before = item_of(l, k);
		}
	for (struct link *l = head[3].next; l != &head[3]; l = l->next) {
		struct item *x = item_at(l, offsetof(struct item, link));

		sum += id_at(l, offsetof(struct item, link)) + x->name[1];
		clear_rest(x);
	}
	for (struct link *l = head[2].next; l != &head[2]; l = l->next)
		sum += container_of(l, struct item, links[2])->more;
	if (argc > 1)
		go_wrong(before);
	for (struct link *l = head[3].next; l != &head[3]; l = next) {
		struct item *x = container_of(l, struct item, link);

		next = l->next;
		clear(x);
		free(x);
	}
	printf("containers: %ld\n", sum);
	return 0;
}
