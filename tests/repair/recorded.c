// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// A value is put into a sorted list, with a fault where it is not the first. Exits with 0 if the list
// is right and can be freed, and with how far it was.
#include <stdlib.h>

struct node {
	short data;
	struct node *next;
	double weight;
};

struct node *last;

struct node *put(struct node *list, int data)
{
	struct node *before, *n;

	n = malloc(sizeof(*n));
	n->data = data;
	before = NULL;
	last = list;
	while (last != NULL && last->data < data) {
		before = last;
		last = last->next;
	}
	n->next = last;
	if (before == NULL)
		list = n;
	else {
		before = n; // FIX: before->next
	}
	return list;
}

int main(int argc, char **argv)
{
	struct node *list = NULL;
	int n = 0;

	list = put(list, -7);
	for (int i = 1; i < argc; i++)
		list = put(list, atoi(argv[i]));
	while (list != NULL) {
		struct node *next = list->next;

		if (next != NULL && next->data < list->data)
			return 99;
		free(list);
		list = next;
		n++;
	}
	return argc - n;
}
