/* A list, to be compiled. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct node {
	struct node *next, *previous;
	char name[16];
	double weight;
};

static struct node *push(struct node *head, int i)
{
	struct node *n = calloc(1, sizeof(*n));

	snprintf(n->name, sizeof(n->name), "node%d", i * 7919 % 1009);
	n->weight = i / 3.0;
	n->next = head;
	if (head)
		head->previous = n;
	return n;
}

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 100;
	struct node *head = NULL, *next;
	double sum = 0;

	for (int i = 0; i < count; i++)
		head = push(head, i);
	for (struct node *n = head; n; n = next) {
		next = n->next;
		sum += n->weight * strlen(n->name);
		free(n);
	}
	printf("%d %.3f\n", count, sum);
	return 0;
}
