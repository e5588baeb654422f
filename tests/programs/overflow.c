// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * overflow KIND [fixed]: a heap buffer that is filled beyond its end, twelve ways, after the
 * vulnerability classes of RIPE (Wilander et al., ACSAC 2011) that table 3.5 of Singh's
 * dissertation counts: what gets overwritten is, directly or through a pointer in the next
 * allocation, a return address, an old base pointer, a function pointer or a long jump
 * buffer; twice it is a function pointer in the same struct. With "fixed" as much is
 * copied as there is room for. Nothing is attacked: what was overwritten is not used.
 */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))

enum { ROOM = 64 };

struct holder {
	void (*call)(void);
	void **target;
	jmp_buf place;
};

struct vulnerable {
	char buffer[ROOM];
	void (*call)(void);
};

struct nested {
	int n;
	char buffer[ROOM];
	void (*call)(void);
};

static int is_fixed;
static char source[1024];
static void (*in_bss)(void);
static void (*in_data)(void) = abort;

static size_t length(size_t wrong)
{
	return is_fixed ? ROOM - 1 : wrong;
}

/* The ways to fill a buffer. */
NOINLINE static void by_memcpy(char *to, size_t n)
{
	memcpy(to, source, n); /* OVERFLOW */
}

NOINLINE static void by_strcpy(char *to, size_t n)
{
	source[n] = 0;
	strcpy(to, source); /* OVERFLOW */
	source[n] = 'A';
}

NOINLINE static void by_strncpy(char *to, size_t n)
{
	strncpy(to, source, n); /* OVERFLOW */
}

NOINLINE static void by_sprintf(char *to, size_t n)
{
	sprintf(to, "%.*s", (int)n, source); /* OVERFLOW */
}

NOINLINE static void by_strcat(char *to, size_t n)
{
	source[n] = 0;
	to[0] = 0;
	strcat(to, source); /* OVERFLOW */
	source[n] = 'A';
}

NOINLINE static void by_loop(char *to, size_t n)
{
	for (size_t i = 0; i < n; i++)
		to[i] = source[i]; /* OVERFLOW */
}

NOINLINE static void by_pointer(char *to, size_t n)
{
	for (const char *from = source; n; n--)
		*to++ = *from++; /* OVERFLOW */
}

typedef void (*fill_fn)(char *to, size_t n);

/* A buffer, and behind it a node whose contents change. */
NOINLINE static void next_node(fill_fn fill, void **target)
{
	char *buffer = malloc(ROOM);
	struct holder *h = malloc(sizeof(*h));

	h->call = abort;
	h->target = target;
	if (setjmp(h->place))
		abort();
	fill(buffer, length(ROOM + 16 + 12));
	// Not freed: the allocator would notice its header.
	printf("%d %d\n", buffer[0], h->call == abort);
}

/* The same, where a frame's own words are what the pointer leads to. */
NOINLINE static void through_frame(fill_fn fill, int is_return)
{
	void **frame = __builtin_frame_address(0);

	next_node(fill, frame + is_return);
}

NOINLINE static void through_parameter(fill_fn fill, void (*call)(void))
{
	next_node(fill, (void **)&call);
}

NOINLINE static void inside_first(void)
{
	struct vulnerable *v = malloc(sizeof(*v));

	v->call = abort;
	by_memcpy(v->buffer, length(ROOM + 4));
	printf("%d\n", v->call == abort);
	free(v);
}

NOINLINE static void inside_nested(void)
{
	struct nested *v = malloc(sizeof(*v));

	v->n = ROOM;
	v->call = abort;
	by_loop(v->buffer, length(ROOM + 6));
	printf("%d %d\n", v->n, v->call == abort);
	free(v);
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "";
	void (*on_stack)(void) = abort;
	void **on_heap = malloc(8);

	is_fixed = argc > 2;
	memset(source, 'A', sizeof(source) - 1);
	if (!strcmp(kind, "return"))
		through_frame(by_memcpy, 1);
	else if (!strcmp(kind, "base1"))
		through_frame(by_strcpy, 0);
	else if (!strcmp(kind, "base2"))
		through_frame(by_loop, 0);
	else if (!strcmp(kind, "stack"))
		next_node(by_strncpy, (void **)&on_stack);
	else if (!strcmp(kind, "parameter"))
		through_parameter(by_sprintf, abort);
	else if (!strcmp(kind, "heap"))
		next_node(by_strcat, on_heap);
	else if (!strcmp(kind, "bss"))
		next_node(by_pointer, (void **)&in_bss);
	else if (!strcmp(kind, "data"))
		next_node(by_loop, (void **)&in_data);
	else if (!strcmp(kind, "jump1"))
		next_node(by_memcpy, NULL);
	else if (!strcmp(kind, "jump2"))
		next_node(by_strcpy, on_heap);
	else if (!strcmp(kind, "inside1"))
		inside_first();
	else if (!strcmp(kind, "inside2"))
		inside_nested();
	else
		return 2;
	return 0;
}
