// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// As tidy-34132: a parser takes a node that is not there.
#include <stdio.h>
#include <stdlib.h>

struct node {
	struct node *parent, *content;
	int tag;
};

static struct node *new_node(struct node *parent, int tag)
{
	struct node *n = calloc(1, sizeof(*n));

	n->parent = parent;
	n->tag = tag;
	if (parent)
		parent->content = n;
	return n;
}

static int depth(const struct node *element)
{
	int n = 0;

	while (element->tag != 1) {
		element = element->parent;
		n++;
	}
	return n;
}

int main(void)
{
	struct node *root = new_node(NULL, 1);
	struct node *list = new_node(root, 2), *item = new_node(list, 3), *lost;

	puts("start");
	printf("%d\n", depth(item));
	lost = item->content; // FAULT
	for (int i = 0; i < 100; i++)
		root->tag = 1 + i / 100;
	printf("%d\n", depth(lost));
	return 0;
}
