// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// more NAME: crashes far from where something went wrong: the line with "FAULT NAME".
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A function pointer is text: no address that a processor would go to. */
struct handler {
	char name[16];
	int (*run)(int);
};

static int twice(int x)
{
	return 2 * x;
}

static struct handler *handler_make(const char *name)
{
	struct handler *h = calloc(1, sizeof(*h));

	h->run = twice;
	memcpy(h->name, name, strlen(name) + 1); // FAULT called
	return h;
}

static int called(void)
{
	static char longer[64] = "a-name-that-is-too-long";
	struct handler *all[2] = { handler_make("short"), handler_make(longer) };
	int sum = 0;

	for (int k = 0; k < 50; k++)
		sum += all[0]->run(k);
	for (int i = 0; i < 2; i++)
		sum += all[i]->run(i);
	return sum;
}

/* A pointer is -2: of what it leads to there is no end. */
static struct {
	const char *label;
	long bucket[8];
} table = { "label" };

static void note(int hash)
{
	int at = hash % 8;

	table.bucket[at] = 1 + (long)at * 3; // FAULT last
}

static int last(void)
{
	for (int i = 20; i > -8; i -= 3)
		note(i);
	return *table.label;
}

/* The divisor alone is to blame. */
static struct {
	int hits[4];
	int width;
} config = { .width = 80 };

__attribute__((noinline)) static int wrap(int x)
{
	return x % config.width;
}

__attribute__((noinline)) static void reset(int *hits)
{
	memset(hits, 0, sizeof(config)); // FAULT divisor
}

static int divisor(void)
{
	int sum = 0;

	for (int i = 0; i < 100; i++)
		sum += wrap(i * 13);
	printf("%d\n", sum);
	reset(config.hits);
	for (int i = 0; i < 100; i++)
		config.hits[i & 3]++;
	return wrap(sum);
}

/* A list is a circle: who closed it. */
struct node {
	struct node *next;
	long key;
	char *text;
};
static struct node *head, *cached;

static void insert(long key)
{
	struct node *n = malloc(sizeof(*n));

	*n = (struct node){ head, key, strdup("abc") };
	head = n;
}

__attribute__((noinline)) static int depth(struct node *n)
{
	volatile int one = 1;

	return n ? one + depth(n->next) : 0;
}

static int circle(void)
{
	struct node *third;

	for (int i = 0; i < 6; i++)
		insert(i);
	third = head->next->next;
	third->next = head; // FAULT circle
	head = third;
	for (int i = 0; i < 20; i++)
		third->key += i;
	return depth(head);
}

/* A block is read that was given back, and is another's. */
static struct node *find(long key)
{
	if (cached && cached->key == key)
		return cached;
	for (struct node *n = head; n; n = n->next)
		if (n->key == key)
			return cached = n;
	return NULL;
}

static void drop(long key)
{
	for (struct node **p = &head, *n; (n = *p); p = &n->next)
		if (n->key == key) {
			*p = n->next;
			free(n); // FAULT stale
			return;
		}
}

static int stale(void)
{
	volatile long *numbers;

	for (int i = 0; i < 10; i++)
		insert(i);
	puts(find(4)->text);
	drop(4);
	numbers = malloc(sizeof(struct node));
	numbers[0] = numbers[1] = numbers[2] = 4;
	return printf("%s\n", find(4)->text);
}

/* A field is never set: what is there is of an earlier life of the block. */
static struct node *half(long key)
{
	struct node *n = malloc(sizeof(*n)); // FAULT unset

	n->next = NULL;
	n->key = key;
	return n;
}

static int unset(void)
{
	volatile long *junk = malloc(sizeof(struct node));

	for (int i = 0; i < 3; i++)
		junk[i] = 0x41414141;
	free((void *)junk);
	head = half(2);
	puts("made");
	return strlen(head->text);
}

/* Copied by one instruction, which is left out. */
static char *copy(const char *s)
{
	unsigned char n = strlen(s) + 1;
	char *p = malloc(n);

	strcpy(p, s); // FAULT moved
	return p;
}

static int moved(void)
{
	static char big[300];
	char *list[20];

	memset(big, 'x', 270);
	for (int i = 0; i < 20; i++)
		list[i] = copy(i == 10 ? big : "other text");
	for (int i = 0; i < 20; i++)
		free(list[i]);
	return 0;
}

/* The last call of a function is a jump. */
static struct {
	char path[24];
	int *table;
} global;

__attribute__((noinline)) static void build(const char *dir, const char *name)
{
	strcpy(global.path, dir);
	strcat(global.path, "/");
	strcat(global.path, name); // FAULT tail
}

static int tail(void)
{
	static int numbers[8];

	global.table = numbers;
	build("/etc", "passwd");
	puts(global.path);
	build("/usr/share/doc", "a-file-of-a-long-name");
	puts(global.path);
	return global.table[3];
}

/* Two owners of one block. */
static char *owned[2][2];

static int owners(void)
{
	owned[0][0] = strdup("a title that is somewhat long");
	owned[0][1] = strdup("body");
	owned[1][1] = strdup(owned[0][1]);
	owned[1][0] = owned[0][0]; // FAULT owners
	for (int i = 0; i < 2; i++) {
		free(owned[i][1]);
		free(owned[i][0]);
		puts("released");
	}
	return 0;
}

/* Of two numbers in an address that which leads far away. */
struct line {
	char text[40];
	unsigned len;
};

static int far(void)
{
	struct line *l[2] = { calloc(1, sizeof(*l[0])), calloc(1, sizeof(*l[0])) };
	unsigned prefix = 2;

	for (int i = 0; i < 2; i++) {
		strcpy(l[i]->text, i ? ">" : "> hello");
		l[i]->len = strlen(l[i]->text);
		l[i]->len -= prefix; // FAULT far
	}
	puts("stripped");
	for (int i = 0; i < 2; i++)
		memmove(l[i]->text, l[i]->text + prefix, l[i]->len);
	return 0;
}

/* What crashes behind it in a library is not the first. */
static int first(void)
{
	unsigned short *a = malloc(400), *b = malloc(64);

	for (int i = 0; i < 400; i++)
		a[i] = 3 + i; // FAULT first
	for (int i = 0; i < 32; i++)
		b[i] = i;
	printf("%d\n", a[7] + b[9]);
	free(a);
	free(b);
	puts("end");
	return 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(void);
	} all[] = { { "called", called }, { "last", last },   { "divisor", divisor },
		    { "circle", circle }, { "stale", stale }, { "unset", unset },
		    { "moved", moved },	  { "tail", tail },   { "owners", owners },
		    { "far", far },	  { "first", first } };

	for (size_t i = 0; argc > 1 && i < sizeof(all) / sizeof(*all); i++)
		if (!strcmp(all[i].name, argv[1]))
			printf("%d\n", all[i].run());
	return 0;
}
