// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
// FLAGS: -w

/**
 * @file
 * ends FORM: ends by a signal in the way that FORM says. The truth is in comments: BAD FORM is the
 * statement that made the value that ended the program, or that released the memory it was read
 * from; USE FORM the statement of the user's that it ended at.
 */
#include <assert.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define APART __attribute__((noinline, noclone, noipa))

struct node {
	struct node *next;
	long key;
};

struct record {
	char name[16];
	struct record *next;
	void (*call)(int);
	long key;
};

static volatile int zero;

static APART struct node *push(struct node *head, long key)
{
	struct node *n = malloc(sizeof(*n));

	n->next = head;
	n->key = key;
	return n;
}

/* What memory on the heap and the stack is full of before. */
static APART void soil(void)
{
	volatile char on_stack[2000];
	char *heap[4];

	for (size_t i = 0; i < sizeof(on_stack); i++)
		on_stack[i] = 0x5a;
	for (int i = 0; i < 4; i++) {
		heap[i] = malloc(sizeof(struct record));
		memset(heap[i], 0x5a, sizeof(struct record));
	}
	for (int i = 0; i < 4; i++)
		free(heap[i]);
}

/* ---- null: through three functions -------------------------------------------------------- */

static APART struct node *look(struct node *list, long key)
{
	for (int i = 0; i < 3 && list; i++) {
		if (list->key == key)
			return list;
		if (list->key > 100)
			list = list->next;
	}
	return NULL; /* BAD null */
}

static APART struct node *look_twice(struct node *list, long key)
{
	struct node *n = look(list, key);

	return n ? n : look(list, key + 1);
}

static APART struct node *find(struct node *list, long key)
{
	struct node *n = look_twice(list, key);

	puts("looked");
	return n;
}

static APART long null(struct node *list)
{
	struct node *found = find(list, 17);

	return found->key; /* USE null */
}

/* ---- freed: the next of a node that was released -------------------------------------------- */

static APART void drop(struct node *n)
{
	free(n); /* BAD freed */
}

static APART long freed(struct node *list)
{
	long sum = 0;

	drop(list->next->next);
	drop(list->next);
	for (struct node *n = list; n; n = n->next)
		sum += n->key; /* USE freed */
	return sum;
}

/* ---- heap, zeroed: fields that nobody wrote -------------------------------------------------- */

static APART struct record *record_new(long key)
{
	struct record *r = malloc(sizeof(*r)); /* BAD heap */

	r->key = key;
	return r;
}

static APART long heap(void)
{
	struct record *r = record_new(3);

	return r->next->key; /* USE heap */
}

static APART long zeroed(void)
{
	struct record *r = calloc(1, sizeof(*r)); /* BAD zeroed */

	r->key = zero;
	return r->next->key; /* USE zeroed */
}

/* ---- local: a variable that nobody wrote (without optimisation) ------------------------------- */

static APART long use_local(int is_right)
{
	struct node *n;

	if (is_right)
		n = push(NULL, 1);
	return n->key; /* USE local */
}

static APART long local(void)
{
	return use_local(zero); /* BAD local */
}

/* ---- overflow: memcpy beyond an array ------------------------------------------------------------ */

static APART void set_name(struct record *r, const char *name)
{
	memcpy(r->name, name, strlen(name) + 1); /* BAD overflow */
}

static APART long overflow(void)
{
	struct record *r = calloc(2, sizeof(*r));

	r[0].next = &r[1];
	set_name(r, "a name that is too long by far");
	return r->next->key; /* USE overflow */
}

/* ---- bytes: a loop of the program's own beyond an array ------------------------------------------- */

static APART void copy_name(struct record *r, const char *name)
{
	int i = 0;

	do
		r->name[i] = name[i]; /* BAD bytes */
	while (name[i++]);
}

static APART long bytes(void)
{
	struct record *r = calloc(2, sizeof(*r));

	r[0].next = &r[1];
	copy_name(r, "another name that is too long");
	return r->next->key; /* USE bytes */
}

/* ---- variant: a number where a union had a pointer --------------------------------------------------- */

struct variant {
	int kind;
	union {
		long number;
		struct node *list;
	};
};

static APART void set_number(struct variant *v, long number)
{
	v->kind = 1;
	v->number = number; /* PASS variant */
}

static APART long first_of(struct variant *v)
{
	return v->list->key; /* USE variant */
}

static APART long variant(void)
{
	struct variant v = { .kind = 0 };

	set_number(&v, 1234567); /* BAD variant */
	return first_of(&v);
}

/* ---- index: far outside of an array ------------------------------------------------------------------- */

struct table {
	int at;
	int *slots;
};

static APART void advance(struct table *t)
{
	t->at = 900000000 + zero; /* BAD index */
}

static APART long indexed(struct table *t)
{
	return t->slots[t->at]; /* USE index */
}

/* ---- callee: a function pointer ------------------------------------------------------------------------ */

static void greet(int n)
{
	printf("%d\n", n);
}

static APART void forget(struct record *r)
{
	r->call = NULL; /* BAD callee */
}

static APART void use_callee(struct record *r)
{
	r->call(3); /* USE callee */
}

/* ---- deep: recursion without an end ------------------------------------------------------------------- */

static APART long deep(long n, volatile char *outer)
{
	volatile char room[200];

	room[0] = outer[0];
	room[1] = deep(n + 1, room); /* USE deep */
	return room[1] + outer[1];
}

/* ---- stale: the address of a variable of a function that returned --------------------------------------- */

static APART void keep(struct node **where)
{
	struct node here[40];

	for (int i = 0; i < 40; i++)
		here[i] = (struct node){ &here[i], 4 };
	*where = &here[8]; /* BAD stale */
}

static APART long stale(void)
{
	struct node *n;

	keep(&n);
	soil();
	return n->next->key; /* USE stale */
}

/* ---- division ---------------------------------------------------------------------------------------------- */

struct total {
	int sum, count;
};

static APART void reset(struct total *t)
{
	t->count = 0; /* BAD division */
}

static APART int mean(struct total *t)
{
	return t->sum / t->count; /* USE division */
}

/* ---- smashed: a return address -------------------------------------------------------------------------------- */

static APART __attribute__((optimize("no-stack-protector"))) int smashed(const char *text)
{
	char copy[8];

	strcpy(copy, text); /* BAD smashed */
	return copy[0] + zero;
} /* USE smashed */

/* ---- constant: a string that may not be written --------------------------------------------------------------- */

static APART void shout(char *text)
{
	text[0] = 'X'; /* USE constant */
}

/* ---- input: a pointer that was read from a file ---------------------------------------------------------------- */

static APART void load(struct node *n)
{
	int fd = open("/proc/self/maps", O_RDONLY);

	if (read(fd, n, sizeof(*n)) != sizeof(*n)) /* BAD input */
		exit(3);
	close(fd);
}

static APART long input(void)
{
	struct node *n = push(NULL, 1);

	load(n);
	return n->next->key; /* USE input */
}

/* ---- nobody: a static pointer that is never set ------------------------------------------------------------------ */

struct node *nobody;

static APART long use_nobody(void)
{
	return nobody->key; /* USE nobody */
}

/* ---- refused: an allocation that failed ---------------------------------------------------------------------------- */

static APART long refused(size_t size)
{
	volatile long *p = malloc(size); /* BAD refused */

	p[1] = 3; /* USE refused */
	return p[1] + zero;
}

/* ---- moved: through copies of structs and a larger array ---------------------------------------------------------- */

struct slot {
	long id;
	struct node *list;
	long more[3];
};

static APART void slot_init(struct slot *s, long id)
{
	s->id = id;
	s->list = NULL;
	if (id == 2)
		s->list = (void *)(uintptr_t)(0xdead0000 + zero); /* BAD moved */
}

static int compare_slots(const void *a, const void *b)
{
	const struct slot *x = a, *y = b;

	return (x->id < y->id) - (x->id > y->id);
}

static APART long moved(void)
{
	struct slot *all = malloc(2 * sizeof(*all)), one;

	for (int i = 0; i < 4; i++) {
		if (i == 2)
			all = realloc(all, 4 * sizeof(*all));
		slot_init(&one, i);
		all[i] = one; /* PASS moved */
	}
	qsort(all, 4, sizeof(*all), compare_slots);
	return all[1].list->key; /* USE moved */
}

/* ---- truncated: a file that is shorter than its mapping --------------------------------------------------------------- */

static APART long truncated(void)
{
	FILE *f = tmpfile();
	void *p =
		mmap(NULL, 8192, PROT_READ, MAP_SHARED, fileno(f), 0); /* BAD truncated */
	char *text = p;

	return text[5000]; /* USE truncated */
}

/* ---- ends that somebody chose ------------------------------------------------------------------------------------------- */

static APART void check(const struct record *r, int level)
{
	assert(r->key > level); /* USE assert */
}

static APART void die(const char *why, int code)
{
	fprintf(stderr, "ends: %s (%d)\n", why, code);
	abort(); /* USE abort */
}

static APART void free_twice(void *p)
{
	free(p);
	free(p); /* USE twice */
}

static APART void free_inside(char *p)
{
	free(p + 8); /* USE inside */
}

static APART __attribute__((optimize("stack-protector-all"))) void
guarded(const char *text)
{
	char copy[8];

	strcpy(copy, text);
	puts(copy);
} /* USE guarded */

/* As strcpy(r->name, text) is with _FORTIFY_SOURCE. */
static APART void fortified(struct record *r, const char *text)
{
	__builtin___strcpy_chk(r->name, text, sizeof(r->name)); /* USE fortified */
}

static APART void trap(int is_here)
{
	if (is_here)
		__builtin_trap(); /* USE trap */
}

static int run(const char *form)
{
	struct node *list = push(push(push(NULL, 3), 2), 1);
	struct record r = { .call = greet, .key = 1 };
	struct total t = { 10, 2 };
	struct table table = { 0, calloc(10, sizeof(int)) };

	soil();
	if (!strcmp(form, "null"))
		return null(list);
	if (!strcmp(form, "freed"))
		return freed(list);
	if (!strcmp(form, "heap"))
		return heap();
	if (!strcmp(form, "zeroed"))
		return zeroed();
	if (!strcmp(form, "local"))
		return local();
	if (!strcmp(form, "overflow"))
		return overflow();
	if (!strcmp(form, "bytes"))
		return bytes();
	if (!strcmp(form, "variant"))
		return variant();
	if (!strcmp(form, "deep"))
		return deep(1, (char[]){ 1, 2 });
	if (!strcmp(form, "stale"))
		return stale();
	if (!strcmp(form, "smashed"))
		return smashed("much more text than there is room for");
	if (!strcmp(form, "input"))
		return input();
	if (!strcmp(form, "nobody"))
		return use_nobody();
	if (!strcmp(form, "refused"))
		return refused(PTRDIFF_MAX - zero);
	if (!strcmp(form, "moved"))
		return moved();
	if (!strcmp(form, "truncated"))
		return truncated();
	if (!strcmp(form, "constant"))
		shout("quiet"); /* BAD constant */
	if (!strcmp(form, "index")) {
		advance(&table);
		return indexed(&table);
	}
	if (!strcmp(form, "callee")) {
		forget(&r);
		use_callee(&r);
	}
	if (!strcmp(form, "division")) {
		reset(&t);
		return mean(&t);
	}
	if (!strcmp(form, "assert"))
		check(&r, 7);
	if (!strcmp(form, "abort"))
		die("nothing left", 42);
	if (!strcmp(form, "twice"))
		free_twice(malloc(1000));
	if (!strcmp(form, "inside"))
		free_inside(malloc(1000));
	if (!strcmp(form, "guarded"))
		guarded("much more text than there is room for");
	if (!strcmp(form, "fortified"))
		fortified(&r, "much more text than there is room for");
	if (!strcmp(form, "trap"))
		trap(!zero);
	return 3;
}

int main(int argc, char **argv)
{
	return argc > 1 ? run(argv[1]) : 2;
}
