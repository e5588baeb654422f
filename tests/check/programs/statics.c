// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// Static functions that have names of the C library's functions, as a file may have that includes none of its headers,
// and what they do is right; with an argument one element behind the pool's block is written.
void *calloc(unsigned long n, unsigned long bytes);
void *realloc(void *p, unsigned long bytes);
#define OWN static __attribute__((noinline))
struct node {
	struct node *next;
	long value[3];
};
struct pool {
	struct node *unused, *all;
	long n;
};
OWN struct node *malloc(struct pool *p)
{
	struct node *to = p->unused;
	p->unused = to->next;
	for (int i = 0; i < 3; i++)
		to->value[i] = ++p->n;
	return to;
}
OWN void free(struct pool *p, struct node *node)
{
	node->next = p->unused;
	p->unused = node;
}
OWN long close(struct pool *p)
{
	return --p->n;
}
OWN long strlen(struct node *node)
{
	return node->value[0];
}
OWN void memcpy(struct node *to, struct node *from, long n)
{
	to->value[n % 3] = from->value[n % 3];
}
OWN long read(struct pool *p, struct node *node, long n)
{
	return p->n + node->value[n % 3];
}
OWN void exit(struct pool *p)
{
	p->n = 0;
}
OWN long pthread_mutex_lock(struct pool *p)
{
	return ++p->n;
}
OWN void abort(struct node *node)
{
	node->value[2]--;
}
int main(int argc, char **argv)
{
	struct pool p = { 0 };
	struct node *n[6];
	long sum = 0;
	p.unused = p.all = calloc(8, sizeof(struct node));
	for (int i = 0; i < 7; i++)
		p.all[i].next = &p.all[i + 1];
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 6; i++)
			n[i] = malloc(&p);
		memcpy(n[1], n[0], 1000 + round);
		sum += close(&p) + close(&p) + strlen(n[2]) + read(&p, n[3], 5000) +
		       pthread_mutex_lock(&p);
		abort(n[4]);
		for (int i = 0; i < 6; i++)
			free(&p, n[i]);
		exit(&p);
	}
	free(&p, n[3]);
	if (argc > 1)
		p.all[8].next = 0; // expect: HEAP-OVERFLOW-WRITE
	return !realloc(p.all, 0) && sum == 12345;
}
