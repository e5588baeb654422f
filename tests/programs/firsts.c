// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The array that a struct begins with has the struct's own address. `firsts wrong` writes 20 bytes or more into
 * one of 16, in many ways, each at a line marked WRONG; `firsts` writes as many as there is
 * room for, and what else begins there: the whole struct, a part of it, a union, an array that
 * goes on behind its last element.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

struct item {
	char name[16];
	void *fn;
	long more;
};

struct part {
	char name[16];
	long number;
	struct part *next;
};

struct header {
	char name[16];
	char owner[8];
	char size[8];
};

struct atom {
	char tag[4];
	unsigned type, bytes;
	char rest[4];
};

struct hack {
	long length;
	char data[1];
};

union either {
	char text[8];
	struct {
		int a, b, c, d;
	} numbers;
};

struct table {
	char short_one[4];
	char used[64];
	int counts[3][5];
	char last[60];
};

static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGH";
static const char *volatile format = "1-%.*s";
static char line[64];
static int fds[2];
static FILE *file;

static NOINLINE void by_memcpy(struct item *p, size_t n)
{
	memcpy(p->name, letters, n); /* WRONG */
}

static NOINLINE void by_strncat(struct item *p, size_t n)
{
	p->name[0] = 0;
	strncat(p->name, letters, n - 1); /* WRONG */
}

static NOINLINE void by_strcpy(struct item *p, size_t n)
{
	strcpy(p->name, letters + 35 - n); /* WRONG */
}

static NOINLINE void by_sprintf(struct item *p, size_t n)
{
	sprintf(p->name, format, (int)n - 3, letters); /* WRONG */
}

static NOINLINE void by_sscanf(struct item *p, size_t n)
{
	sscanf(letters + 35 - n, "%s", p->name); /* WRONG */
}

static NOINLINE void by_fscanf(struct item *p, size_t n)
{
	fprintf(file, "%s\n", letters + 35 - n);
	rewind(file);
	fscanf(file, "%s", p->name); /* WRONG */
}

static NOINLINE void by_fread(struct item *p, size_t n)
{
	fprintf(file, "%s\n", letters);
	rewind(file);
	fread(p->name, 1, n, file); /* WRONG */
}

static NOINLINE void by_read(struct item *p, size_t n)
{
	write(fds[1], letters, n);
	read(fds[0], p->name, n); /* WRONG */
}

static NOINLINE void by_index(struct item *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		p->name[i] = letters[i]; /* WRONG */
}

static NOINLINE void copy(char *to, const char *from, size_t n)
{
	while (n--)
		*to++ = *from++; /* WRONG */
}

static NOINLINE void by_pointer(struct item *p, size_t n)
{
	copy(p->name, letters, n);
}

static NOINLINE void by_snprintf(struct item *p, size_t n)
{
	snprintf(p->name, n, "%s", letters); /* WRONG */
}

static NOINLINE void by_fgets(struct item *p, size_t n)
{
	fprintf(file, "%s\n", letters);
	rewind(file);
	fgets(p->name, n, file); /* WRONG */
}

static NOINLINE void by_memset(struct item *p, size_t n)
{
	memset(p->name, 'x', n); /* WRONG */
}

static NOINLINE void by_strncpy(struct item *p, size_t n)
{
	strncpy(p->name, letters, n); /* WRONG */
}

/* As large as the struct is, wrongly: what is written is text, not the struct. */
static NOINLINE void by_size(struct item *p, size_t n)
{
	snprintf(p->name, n == 16 ? n : sizeof(*p), "%.19s", letters); /* WRONG */
}

/* Up to where the next field ends, or the struct. */
static NOINLINE void by_field(struct item *p, size_t n)
{
	memcpy(p->name, letters, n == 16 ? n : offsetof(struct item, more)); /* WRONG */
}

static NOINLINE void by_whole(struct item *p, size_t n)
{
	memmove(p->name, letters + 3, n == 16 ? n : sizeof(*p)); /* WRONG */
}

static NOINLINE void by_number(struct item *item, size_t n)
{
	struct part *p = (struct part *)item;

	memcpy(p->name, letters, n == 16 ? n : offsetof(struct part, next)); /* WRONG */
}

static void (*const ways[])(struct item *, size_t) = {
	by_memcpy, by_strncat, by_strcpy, by_sprintf, by_sscanf,   by_fscanf,
	by_fread,  by_read,    by_index,  by_pointer, by_snprintf, by_fgets,
	by_memset, by_strncpy, by_size,	  by_field,   by_whole,	   by_number,
};

/* ---- what is right ---------------------------------------------------------------------- */

static NOINLINE void own_copy(void *to, const void *from, size_t n)
{
	char *t = to;

	for (const char *f = from; n; n--)
		*t++ = *f++;
}

static NOINLINE void own_clear(void *to, size_t n)
{
	for (size_t i = 0; i < n; i++)
		((char *)to)[i] = 0;
}

static NOINLINE unsigned own_hash(const void *key, size_t n)
{
	unsigned hash = 0;

	for (const unsigned char *c = key; n; n--)
		hash = hash * 31 + *c++;
	return hash;
}

static NOINLINE int own_compare(const unsigned char *a, const unsigned char *b, size_t n)
{
	for (; n && *a == *b; n--, a++, b++)
		;
	return n ? *a - *b : 0;
}

static NOINLINE void read_whole(void *to, size_t n)
{
	char *at = to;

	for (ssize_t got; n && (got = read(fds[0], at, n)) > 0; at += got)
		n -= got;
}

static NOINLINE unsigned whole(struct item *p, struct item *q)
{
	unsigned sum = 0;

	memset(p, 'a', sizeof(*p));
	memcpy(q, p, sizeof(*q));
	memcpy(q, p, offsetof(struct item, more)); // a struct that begins alike
	*p = *q;
	own_clear(p, sizeof(*p));
	own_copy(q, p, sizeof(*q));
	q->more = 2;
	sum += own_hash(p, sizeof(*p)) + own_compare((void *)p, (void *)q, sizeof(*p));
	rewind(file);
	for (int i = 0; i < 300; i++) // across the stream's buffers
		fwrite(p, sizeof(*p), 1, file);
	rewind(file);
	for (int i = 0; i < 300; i++)
		sum += fread(q, sizeof(*q), 1, file);
	rewind(file);
	write(fds[1], p, 18);
	write(fds[1], &p->name[2], 14);
	read(fds[0], q, sizeof(*q)); // both
	write(fds[1], p, 18);
	read(fds[0], q, sizeof(*q)); // less than it wants
	write(fds[1], p, 18);
	write(fds[1], p, 14);
	read_whole(q, sizeof(*q));
	return sum;
}

/* Structs that are copied whole, or as far as several fields go, with names that fill their arrays. */
static NOINLINE unsigned copies(size_t n)
{
	struct header *h = malloc(sizeof(*h));
	struct atom *a = malloc(sizeof(*a));
	struct part *p = malloc(sizeof(*p)), *q = malloc(sizeof(*q)), local;
	unsigned sum = 0;

	memcpy(h, letters, n + 8);
	memcpy(h, letters, 2 * n);
	memcpy(a, letters, n);
	memcpy(a, letters, n / 2);
	memcpy(local.name, letters, n);
	local.number = 0x6162;
	local.next = p;
	memcpy(p, &local, sizeof(local));
	memcpy(q, p, offsetof(struct part, next));
	memcpy(q, p, sizeof(*p));
	memcpy(q->name, letters, sizeof(q->name));
	sum += h->size[1] + a->bytes + (unsigned)q->number;
	return sum;
}

static NOINLINE void fill(struct table *t, int n)
{
	for (int i = 0; i < n; i++) {
		t->used[i] = i & 1;
		t->last[i] = t->used[i];
	}
	for (int k = 0; k < 3; k++)
		for (int i = 0; i < 5; i++)
			t->counts[k][i] = k * i + (k ? t->counts[k - 1][i] : 0);
	for (int i = 0; i < 4; i++)
		t->short_one[i] = t->used[i] + 1;
}

static unsigned others(void)
{
	// Its last array has room in what fills the struct up.
	struct hack *h = malloc(offsetof(struct hack, data) + 8);
	union either *e = malloc(sizeof(*e));
	struct table *t = calloc(1, sizeof(*t));
	unsigned sum = 0;

	strcpy(h->data, "1234567");
	for (int i = 0; i < 7; i++)
		sum += h->data[i];
	strcpy((char *)e, "0123456789");
	memset(e, 0, sizeof(*e));
	sprintf((char *)e, "%s", "0123456789ab");
	fill(t, 60);
	return sum + e->numbers.c + t->counts[2][4];
}

int main(int argc, char **argv)
{
	size_t n = argc > 1 ? 20 : 16;
	unsigned sum = 0;

	(void)argv;
	file = tmpfile();
	if (!file || pipe(fds))
		return 2;
	setvbuf(file, line, _IOFBF, sizeof(line));
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		struct item *p = ways[i] == by_number ? calloc(1, sizeof(struct part)) :
							calloc(1, sizeof(*p));

		rewind(file);
		ways[i](p, n);
		sum += p->fn != NULL;
	}
	if (argc == 1)
		sum += whole(calloc(1, sizeof(struct item)),
			     calloc(1, sizeof(struct item))) +
		       others() + copies(n);
	printf("%u\n", sum);
	return 0;
}
