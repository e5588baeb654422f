// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
// FLAGS: -w -fno-builtin

/**
 * @file
 * The eight bugs of Tables 3.3 and 3.4 of paper 002, in kind: programs of our own that do what those did wrong, in
 * the same way. An argument: which of them. What is expected stands on the line where it goes wrong, after
 * the name: by which rule, and the length of the chain of values that the paper's debugger gave; `root' is on the
 * line that is to be mended, or beside which something is missing, where a chain leads there.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// What is expected stands on the line itself.
// clang-format off

#define KEEP __attribute__((noinline, noclone))

static volatile unsigned seed = 1;

// Other work between what goes wrong and where that shows.
KEEP static unsigned work(int n)
{
	unsigned x = seed;

	for (int i = 0; i < n; i++)
		x = x * 1103515245 + 12345;
	return seed = x;
}

/* ---- Tidy: a copy of attributes that shares what they own, and a body that is not there ----------- */

struct node {
	char tag;
	struct node *next, *content, *parent;
	struct attribute *attributes;
};

struct attribute {
	const char *name;
	struct node *php;
	struct attribute *next;
};

static struct attribute *pushed;
static void *volatile kept;

KEEP static void *allocate(size_t n)
{
	void *p = malloc(n);

	if (!p)
		exit(3);
	memset(p, 0, n);
	return p;
}

KEEP static struct node *new_node(char tag)
{
	struct node *node = allocate(sizeof(*node));

	node->tag = tag;
	return node;
}

KEEP static void release(void *mem)
{
	void *ptr = mem;

	free(ptr); // expect twice: DOUBLE-FREE 16
}

KEEP static void free_attributes(struct attribute *a)
{
	while (a) {
		struct attribute *next = a->next;

		if (a->php)
			release(a->php);
		release(a);
		a = next;
	}
}

KEEP static struct attribute *copy_attributes(const struct attribute *from)
{
	struct attribute *to;

	if (!from)
		return NULL;
	to = allocate(sizeof(*to));
	*to = *from; // twice: root
	to->next = copy_attributes(from->next);
	return to;
}

KEEP static struct node *element(const char *text)
{
	struct node *n = new_node(*text);

	for (const char *c = text + 1; *c; c++) {
		struct attribute *a = allocate(sizeof(*a));

		a->name = c;
		if (*c == 'p')
			a->php = new_node('p');
		a->next = n->attributes;
		n->attributes = a;
	}
	return n;
}

static void twice(void)
{
	struct node *n = element("fabpc");

	pushed = copy_attributes(n->attributes);
	work(500);
	free_attributes(pushed);
	work(500);
	free_attributes(n->attributes);
	free(n);
}

KEEP static struct node *find_body(struct node *n)
{
	for (; n; n = n->content)
		if (n->tag == 'B')
			return n;
	return NULL; // nobody: root
}

KEEP static void into_body(struct node *frames, struct node *what)
{
	struct node *body;

	work(500);
	body = find_body(frames);
	what->parent = body;
	what->next = body->content; // expect nobody: NULL-DEREF 4
	body->content = what;
}

static void nobody(void)
{
	struct node *outer = new_node('S'), *inner = new_node('S');

	outer->content = inner;
	inner->content = new_node('N');
	into_body(outer, new_node('P'));
}

/* ---- bc: the count of another array ------------------------------------------------------------------ */

static long **volatile arrays, **volatile variables;
static int n_arrays, n_variables;

KEEP static void more_variables(int n)
{
	variables = allocate(n * sizeof(*variables));
	n_variables = n;
}

KEEP static void more_arrays(void)
{
	int old = n_arrays;
	long **was = arrays;
	int i;

	n_arrays += 8;
	arrays = allocate(n_arrays * sizeof(*arrays));
	for (i = 0; i < old; i++)
		arrays[i] = was[i];
	for (; i < n_variables; i++)
		arrays[i] = NULL; // expect count: HEAP-OVERFLOW 1
	free(was);
}

static void count(void)
{
	more_variables(64);
	work(500);
	more_arrays();
}

/* ---- Tar: a directory that cannot be opened ------------------------------------------------------------ */

KEEP static char *save_directory(const char *path)
{
	DIR *d = opendir(path);
	char *names;

	if (!d)
		return NULL; // directory: root
	names = allocate(4096);
	closedir(d);
	return names;
}

KEEP static int get_contents(const char *path)
{
	char *names = save_directory(path), *entry;
	int n = 0;
	size_t length;

	work(5);
	for (entry = names; (length = strlen(entry)); entry += length + 1) // expect directory: NULL-DEREF 4
		n++;
	return n;
}

static void directory(void)
{
	get_contents("/nonexistent/directory");
}

/* ---- CPython: a type taken for a string --------------------------------------------------------------- */

struct object {
	long references;
	const char *type;
};

struct string {
	struct object head;
	size_t length;
	char *wide;
};

struct type {
	struct object head;
	size_t basic_size, item_size;
	const char *name;
};

static struct type integers = { { 1, "type" }, 32, 4, "int" };

KEEP static void make_ready(struct string *s)
{
	work(500);
	s->length = 0;
	free(s->wide); // expect object: UNMATCHED-FREE 2
	s->wide = NULL;
}

KEEP static void get_attribute(const struct type *t, void *name)
{
	make_ready(name);
}

static void object(void)
{
	get_attribute(&integers, &integers);
}

/* .. a file that two think they must close */

struct loader {
	FILE *file;
	const char *name;
};

KEEP static FILE *find_module(const char *name, struct loader *l)
{
	FILE *f = fopen("/dev/null", "r");

	l->file = f;
	l->name = name;
	return l->file;
}

KEEP static void load_source(FILE *f)
{
	fclose(f);
}

KEEP static void load_module(FILE *f)
{
	load_source(f); // file: root
}

KEEP static void import(const char *name)
{
	struct loader l;
	FILE *f = find_module(name, &l);

	load_module(f);
	work(50);
	if (f)
		fclose(f); // expect file: DOUBLE-FREE 10
}

static void file(void)
{
	import("folder");
}

/* .. a size that does not fit into 32 bits */

KEEP static unsigned char *to_8_bits(const unsigned *pixel, int width, int height)
{
	unsigned size = (unsigned)width * height * 65536u / 65536u;
	unsigned char *made = allocate(size), *to = made;

	for (long n = (long)width * height; n > 0; n--)
		*to++ = *pixel >> 5; // expect image: HEAP-OVERFLOW 1
	return made;
}

static void image(void)
{
	unsigned pixel = 77;

	kept = to_8_bits(&pixel, 257, 256); // 65792 pixels
}

/* .. an object of which the initialisation has failed */

struct pickler {
	struct object head;
	char *buffer;
	size_t used;
};

KEEP static struct pickler *new_pickler(const char *protocol)
{
	struct pickler *p = calloc(1, sizeof(*p));

	if (!protocol)
		return p;
	p->buffer = allocate(100);
	return p;
}

KEEP static void dump(struct pickler *p, char c)
{
	work(500);
	p->buffer[p->used++] = c; // expect pickler: NULL-DEREF 2
}

static void pickler(void)
{
	dump(new_pickler(NULL), 'x');
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} all[] = {
		{ "twice", twice }, { "nobody", nobody }, { "count", count }, { "directory", directory },
		{ "object", object }, { "file", file }, { "image", image }, { "pickler", pickler },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (argc > 1 && !strcmp(argv[1], all[i].name))
			all[i].run();
	return 0;
}
