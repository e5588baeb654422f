// along the pointers of a list
#include <stdlib.h>
struct node {
	struct node *next;
	int value, other;
};

static struct node *add(struct node *head, int value)
{
	struct node *n = malloc(sizeof(*n)); // in

	n->next = head; // in
	n->value = value; // in -O0
	n->other = value * 2; // out
	return n; // in -O0
}

int main(int argc, char **argv)
{
	struct node *volatile head = NULL;
	volatile int r;

	(void)argv;
	head = add(head, argc + 3); // in -O0
	head = add(head, argc + 4); // in -O0
	head = add(head, argc + 5); // in -O0
	r = head->next->value; // in
	head->value = 0; // out
	return r; // at r
}
