// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
// FLAGS: -w -fno-builtin

/**
 * @file
 * Mistakes that do not end the program, ten and more of each kind, beside what looks like them and is right.
 * Each line that is wrong says by which rule. An argument: which part to run.
 */
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
#include <wchar.h>

// What is expected stands on the line itself.
// clang-format off

#define KEEP __attribute__((noinline, noclone))

struct node {
	long value;
	struct node *next;
	char name[16];
};

static void *volatile sink;
static volatile long sum;
static struct node *global;

// What compilers cannot see through.
KEEP static void *same(void *p)
{
	sink = p;
	return sink;
}

KEEP static void *make(size_t n)
{
	char *p = same(malloc(n));

	memset(p, 1, n);
	return p;
}

KEEP static void *gone(size_t n)
{
	void *p = make(n);

	free(p);
	return same(p);
}

/* ---- after it was freed ----------------------------------------------------------------------- */

KEEP static void dangling_reads(void)
{
	char *c = gone(40);
	struct node *n = gone(sizeof(*n)), *again;
	int *i = gone(400);
	char *moved = make(24), *big, text[64] = "";
	short *s = gone(64);

	sum += c[3];	      // expect: DANGLING-READ
	sum += n->value;      // expect: DANGLING-READ
	sum += (long)n->next; // expect: DANGLING-READ
	sum += i[99];	      // expect: DANGLING-READ
	for (int k = 0; k < 3; k++)
		sum += s[k * 5];  // expect: DANGLING-READ
	again = make(sizeof(*n)); // the same memory, perhaps
	sum += n->name[2];	  // expect: DANGLING-READ
	sum += again->name[2];
	big = same(realloc(moved, 100000));
	sum += moved[5]; // expect: DANGLING-READ
	sum += big[5];
	free(strcpy(make(8), "seven"));
	memcpy(text, c + 8, 16); // expect: DANGLING-READ
	sum += strlen(strcpy(text, "fine"));
	sum += memcmp(c, "x", 1);		    // expect: DANGLING-READ
	sum += *(volatile unsigned char *)(c + 39); // expect: DANGLING-READ
	free(again);
	free(big);
}

KEEP static void dangling_writes(void)
{
	char *c = gone(40), *other;
	struct node *n = gone(sizeof(*n));
	int *i = gone(400);
	double *d = gone(80);

	c[30] = 1;	// expect: DANGLING-WRITE
	n->name[3] = 2; // expect: DANGLING-WRITE
	i[50] = 3;	// expect: DANGLING-WRITE
	for (int k = 2; k < 8; k++)
		*(volatile double *)&d[k] = k; // expect: DANGLING-WRITE
	other = make(40);
	*(volatile char *)(c + 20) = 4; // expect: DANGLING-WRITE
	other[20] = 4;
	memset(same(c + 24), 0, 8);		// expect: DANGLING-WRITE
	memcpy((char *)i + 100, "12345678", 8); // expect: DANGLING-WRITE
	snprintf((char *)i + 200, 20, "%d", 5); // expect: DANGLING-WRITE
	strcpy((char *)same(i) + 240, "text");	// expect: DANGLING-WRITE
	if (pread(open("/dev/zero", O_RDONLY), (char *)i + 300, 16, 0) != 16) // expect: DANGLING-WRITE
		sum++;
	free(other);
}

/* ---- beyond ------------------------------------------------------------------------------------ */

KEEP static void overflows(void)
{
	char *c = make(10), *big = make(100), *state = make(140), text[128] = "";
	int *i = make(44), *neighbour = make(40);
	struct node *n = make(16);
	long *l = make(64);
	int at = 11; // what follows each block is of nobody: nothing is broken

	c[(long)same((void *)10)] = 1;	     // expect: HEAP-OVERFLOW
	sum += i[at];			     // expect: HEAP-OVERFLOW
	*(volatile int *)&i[12] = 2;	     // expect: HEAP-OVERFLOW
	sum += n->name[0];		     // expect: HEAP-OVERFLOW
	for (int k = 0; k <= 8; k++)
		sum += *(volatile long *)&l[k]; // expect: HEAP-OVERFLOW
	memset(same(c), 3, 11);			// expect: HEAP-OVERFLOW
	memcpy(text, same(big), 101);		// expect: HEAP-OVERFLOW
	memcpy(text, same(big), 100);
	strcpy(same(c), "ten chars!"); // expect: HEAP-OVERFLOW
	strcpy(same(c), "nine char");
	i[at + 5] = 4;			   // expect: HEAP-OVERFLOW
	sum += *(volatile short *)(c + 9); // expect: HEAP-OVERFLOW
	if (pread(open("/dev/zero", O_RDONLY), same(big), 102, 0) != 102) // expect: HEAP-OVERFLOW
		sum++;
	if (fstat(0, same(state)) + pipe(same(big))) // expect: HEAP-OVERFLOW
		sum++;
	if (getrlimit(0, same(big + 84)) + pipe(same(big + 96))) // expect: HEAP-OVERFLOW
		sum++;
	if (getrlimit(0, same(big + 88)) + pipe(same(big + 92))) // expect: HEAP-OVERFLOW
		sum++;
	for (int k = 0; k < 2; k++) {
		char *empty = same(k ? malloc(0) : calloc(at - at, 4));

		empty[0] = 1; // expect: HEAP-OVERFLOW
		free(empty);
	}
	sum += big[99] + c[9] + i[9] + n->value + l[7];
	free(c);
	free(big);
	free(state);
	free(n);
	free(i);
	free(l);
	free(neighbour);
}

KEEP static void underflows(void)
{
	char *c = make(20);
	int *i = make(40);
	long *l = make(64);
	struct node *n = make(sizeof(*n));
	int minus = -(int)(long)same((void *)1);

	sum += c[minus];	  // expect: HEAP-UNDERFLOW
	sum += i[minus];	  // expect: HEAP-UNDERFLOW
	sum += i[minus * 2];	  // expect: HEAP-UNDERFLOW
	sum += l[minus];	  // expect: HEAP-UNDERFLOW
	sum += n[minus].name[15]; // expect: HEAP-UNDERFLOW
	for (int k = 7; k >= -1; k--)
		sum += *(volatile long *)&l[k];		       // expect: HEAP-UNDERFLOW
	sum += *(volatile short *)(c + minus);		       // expect: HEAP-UNDERFLOW
	sum += *(volatile int *)((char *)same(i) - 4);	       // expect: HEAP-UNDERFLOW
	sum += memcmp((char *)same(c) - 2, "ab", 2);	       // expect: HEAP-UNDERFLOW
	*(volatile char *)(c - 9) = *(volatile char *)(c - 9); // expect: HEAP-UNDERFLOW
	sum += *(volatile char *)(c + 19) + i[0] + l[0] + n[0].name[15];
	free(c);
	free(i);
	free(l);
	free(n);
}

struct record {
	long id;
	char name[12];
	int count[6];
	short small[4];
	int between;
	struct {
		char text[8];
		long after;
	} inner;
	long last;
};

/* Inside of a block, outside of the part that the pointer is to. */
KEEP static void fields(void)
{
	struct record *r = malloc(sizeof(*r)), *copy = malloc(sizeof(*r));
	int six = (int)(long)same((void *)6), *count = same(r->count);
	char *name = same(r->name);
	short *small = same(r->small);

	memset(r, 1, sizeof(*r));
	((volatile int *)count)[six] = 1; // expect: FIELD-OVERFLOW
	for (int k = 0; k <= six; k++)
		*(volatile int *)&count[k] = k;	       // expect: FIELD-OVERFLOW
	strcpy(name, "twelve chars");		       // expect: FIELD-OVERFLOW
	memset(name, 2, 15);			       // expect: FIELD-OVERFLOW
	memset(count, 2, 27);			       // expect: FIELD-OVERFLOW
	sprintf(name, "%d", 1234567890);
	strcat(name, "two"); // expect: FIELD-OVERFLOW
	small[six - 2] = 3;  // expect: FIELD-OVERFLOW
	if (pread(open("/dev/zero", O_RDONLY), name, 13, 0) != 13) // expect: FIELD-OVERFLOW
		sum++;
	sprintf(name, "%d", 12345678); // what follows is read, but not written
	sprintf(name, "%d and more", 12345678); // expect: FIELD-OVERFLOW
	strncpy(name, "more than twelve", 16);	// expect: FIELD-OVERFLOW
	sum += count[six - 1] + count[six - 6];
	for (int k = 0; k < six; k++)
		*(volatile int *)&count[k] = k;
	strcpy(name, "eleven char");
	strncpy(r->inner.text, "eight chars", 8);
	memset(name, 2, sizeof(r->name));
	snprintf(name, sizeof(r->name), "%d and more", 123456789);
	small[six - 3] = 3;
	memset(same(r), 0, sizeof(*r));
	memcpy(same(copy), r, sizeof(*r));
	*copy = *r;
	memcpy(same(&copy->inner), &r->inner, sizeof(r->inner));
	free(r);
	free(copy);
}

/* ---- freed again -------------------------------------------------------------------------------- */

// The allocator gives the same memory again: it notices nothing.
KEEP static void *reused(size_t n)
{
	void *p = same(make(n)), *q;

	free(p);
	q = malloc(n);
	return same(p) == same(q) ? p : (free(q), (void *)0);
}

KEEP static void release(void *p)
{
	free(p); // expect: DOUBLE-FREE
}

KEEP static void double_frees(void)
{
	struct node *n = reused(sizeof(*n)), *copy;
	void *p, *q;

	global = n;
	free(global);	  // expect: DOUBLE-FREE
	free(reused(24)); // expect: DOUBLE-FREE
	release(reused(100));
	free(same(reused(200)));	     // expect: DOUBLE-FREE
	p = same(realloc(reused(300), 310)); // expect: DOUBLE-FREE
	free(p);
	p = same(realloc(reused(64), 4000)); // expect: DOUBLE-FREE
	free(p);
	for (int k = 0; k < 3; k++)
		free(reused(80 + 16 * k)); // expect: DOUBLE-FREE
	copy = same(malloc(sizeof(*copy)));
	copy->next = reused(500);
	memcpy(&n, &copy->next, sizeof(n));
	free(n); // expect: DOUBLE-FREE
	free(copy);
	q = reused(700);
	if (q != copy)
		free(q); // expect: DOUBLE-FREE
	global = same(reused(900));
	free(((struct node volatile *)&global)->value ? global : 0); // expect: DOUBLE-FREE
	for (int k = 0; k < 20; k++)
		free(make(24 + k));
	free(NULL);
	free(realloc(make(10), 20));
}

/* ---- lost ----------------------------------------------------------------------------------------- */

struct node *list, *kept;
char *interior;

KEEP static void leaks(void)
{
	struct node *a, *b;
	void **sealed = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), **table;

	*sealed = same(malloc(31)); // kept
	mprotect(sealed, 4096, PROT_READ);
	same(malloc(11));		// expect: DEFINITE-LEAK
	same(calloc(3, 4));		// expect: DEFINITE-LEAK
	same(realloc(NULL, 13));	// expect: DEFINITE-LEAK
	same(strdup("fourteen chars")); // expect: DEFINITE-LEAK
	same(malloc(0));		// expect: DEFINITE-LEAK
	for (int k = 0; k < 3; k++)
		same(malloc(15)); // expect: DEFINITE-LEAK
	list = same(malloc(16));  // expect: DEFINITE-LEAK
	list = same(malloc(17)); // kept
	a = same(malloc(sizeof(*a))); // expect: DEFINITE-LEAK
	b = same(malloc(sizeof(*b))); // expect: INDIRECT-LEAK
	a->next = b;
	b->next = a;
	a = same(malloc(sizeof(*a))); // perhaps a pointer is left of what is freed
	a->next = same(malloc(18)); // expect: DEFINITE-LEAK
	free(a);
	same(aligned_alloc(64, 128)); // expect: DEFINITE-LEAK
	same(malloc(200000));	      // expect: DEFINITE-LEAK
	same(reallocarray(NULL, 2, 12)); // expect: DEFINITE-LEAK
	same(strndup("fourteen chars", 9)); // expect: DEFINITE-LEAK
	a = same(calloc(1, 200)); // expect: DEFINITE-LEAK
	a->next = same(calloc(1, 300)); // expect: INDIRECT-LEAK
	a->next->next = same(malloc(19)); // expect: INDIRECT-LEAK
	a->next->value = (long)same(strdup("nineteen")); // expect: INDIRECT-LEAK
	a->value = (long)a;
	table = same(calloc(8, sizeof(*table))); // expect: DEFINITE-LEAK
	table[0] = table;
	table[1] = same(malloc(200000)); // expect: INDIRECT-LEAK
	table[2] = (char *)same(malloc(64)) + 16; // expect: INDIRECT-LEAK
	table[3] = same(realloc(NULL, 65)); // expect: INDIRECT-LEAK
	for (int k = 4; k < 7; k++)
		table[k] = same(malloc(66)); // expect: INDIRECT-LEAK
	table[7] = same(aligned_alloc(64, 64)); // expect: INDIRECT-LEAK
	*(void **)table[7] = same(calloc(5, 14)); // expect: INDIRECT-LEAK
	sink = NULL;
	table = same(NULL);

	kept = same(calloc(1, sizeof(*kept))); // kept
	kept->next = same(calloc(1, sizeof(*kept))); // kept
	kept->next->next = same(malloc(30)); // kept
	interior = (char *)same(malloc(100)) + 50; // kept
	table = same(malloc(8)); // kept
	*table = same(malloc(0)); // kept
	kept->next->next->next = same(table);
	free(malloc(5));
	a = b = NULL;
}

/* ---- calls ----------------------------------------------------------------------------------------- */

KEEP static void overlaps(void)
{
	char *p = make(256), text[256] = "";
	int n = (int)(long)same((void *)16);

	memcpy(p + 1, p, n);	    // expect: OVERLAP
	memcpy(p, p + 1, n);	    // expect: OVERLAP
	memcpy(text + 8, text, n);  // expect: OVERLAP
	memcpy(text, text + 15, n); // expect: OVERLAP
	memcpy(p + 50, p + 40, n);  // expect: OVERLAP
	for (int k = 1; k < 20; k++)
		memcpy(p + 100, p + 100 + k, n);   // expect: OVERLAP
	memcpy(p + 90, p + 2, n * 8);		   // expect: OVERLAP
	memcpy(same(text + 3), same(text + 2), 2); // expect: OVERLAP
	memcpy(p + n - 1, p, n);		   // expect: OVERLAP
	memcpy(p + 10, p + 10 + n - 1, n);	   // expect: OVERLAP
	memmove(p + 1, p, n);
	memmove(p, p + 1, n);
	memmove(text, text + 3, 100);
	memcpy(p, p + n, n);
	memcpy(p + n, p, n);
	memcpy(p, p, n);
	memcpy(p, text, 200);
	memcpy(p, p + 1, 0);
	memcpy(p, p + 1, 1);
	memcpy(text, p, 200);
	free(p);
}

/* Texts are set anew before each: what a copy over itself leaves is nobody's business. */
KEEP static char *texts(char *p)
{
	memset(p, 0, 256);
	memcpy(p, "abcdefgh", 8);
	memcpy(p + 100, "ijkl", 4);
	return same(p);
}

KEEP static void text_overlaps(void)
{
	char *p = make(256), text[256];
	wchar_t *wide = make(256);
	int n = (int)(long)same((void *)16);

	strcpy(texts(p), p + 3);	   // expect: OVERLAP
	strcpy(texts(p) + 8, p);	   // expect: OVERLAP
	strcpy(texts(text), text + 1);	   // expect: OVERLAP
	same(stpcpy(texts(p), p + 4));	   // expect: OVERLAP
	strncpy(texts(p), p + n - 1, n);   // expect: OVERLAP
	strncpy(texts(p) + 8, p, n);	   // expect: OVERLAP
	strncpy(texts(p) + 2, p, 3);	   // expect: OVERLAP
	strcat(texts(p), p);		   // expect: OVERLAP
	strcat(texts(p), p + 7);	   // expect: OVERLAP
	strcat(texts(text), text + 8);	   // expect: OVERLAP
	strncat(texts(p), p + 5, n);	   // expect: OVERLAP
	strncat(texts(p) + 103, p + 101, n); // expect: OVERLAP
	for (int k = 1; k < 9; k++)
		strcpy(texts(p) + k, p);   // expect: OVERLAP
	wide = wcscpy(wmemset(wide, 0, 60), L"wide");
	wcscpy(wide, wide + 1); // expect: OVERLAP
	wcscpy(wide, wide + 5);
	strcpy(texts(p) + 9, p);
	strcpy(texts(p), p + 100);
	strcpy(texts(p) + 105, p + 100);
	strcpy(texts(p) + 95, p + 100);
	strcpy(p, texts(text));
	strncpy(texts(p), p + n, n);
	strncpy(texts(p) + n, p, n);
	strncpy(texts(p) + 3, p, 3);
	strncpy(texts(p), p, 0);
	strcat(texts(p), p + 100);
	strcat(texts(p) + 100, p);
	strcat(texts(p), p + 12);
	strncat(texts(p), p + 100, 2);
	strncat(texts(p) + 104, p + 101, 2);
	strncat(texts(p), p, 0);
	free(p);
	free(wide);
}

KEEP static void negative_sizes(void)
{
	long n = (long)same((void *)-4l), most = (long)same((void *)(-1ul >> 1));

	char *have = make(8), *volatile none = NULL;
	int less = (int)n;
	short few = (short)n;

	same(malloc(n)); // expect: NEGATIVE-SIZE
	same(malloc(n * 1000)); // expect: NEGATIVE-SIZE
	same(malloc(less)); // expect: NEGATIVE-SIZE
	same(malloc(few)); // expect: NEGATIVE-SIZE
	same(malloc(less + sizeof(int) - 1)); // expect: NEGATIVE-SIZE
	same(malloc(none - have)); // expect: NEGATIVE-SIZE
	same(malloc(~most)); // expect: NEGATIVE-SIZE
	same(valloc(n)); // expect: NEGATIVE-SIZE
	same(pvalloc(n)); // expect: NEGATIVE-SIZE
	for (int k = 0; k < 3; k++)
		same(malloc(n - k)); // expect: NEGATIVE-SIZE
	same(calloc(n, 2)); // expect: NEGATIVE-COUNT
	same(calloc(2, n)); // expect: NEGATIVE-COUNT
	same(calloc(n, n)); // expect: NEGATIVE-COUNT
	same(calloc(1, less)); // expect: NEGATIVE-COUNT
	same(realloc(NULL, n)); // expect: NEGATIVE-COUNT
	same(realloc(have, n)); // expect: NEGATIVE-COUNT
	same(realloc(have, few)); // expect: NEGATIVE-COUNT
	same(aligned_alloc(64, n)); // expect: NEGATIVE-COUNT
	same(memalign(64, n)); // expect: NEGATIVE-COUNT
	same(memalign(16, few)); // expect: NEGATIVE-COUNT
	for (int k = 0; k < 3; k++)
		same(calloc(k + 1, ~most)); // expect: NEGATIVE-COUNT
	same(malloc(most));
	free(same(malloc((unsigned)less)));
	same(malloc(most - 1000));
	same(calloc(most, most));
	same(calloc(0x8000000000, 0x8000000000));
	same(realloc(NULL, most));
	same(realloc(have, most));
	same(memalign(64, most));
	same(aligned_alloc(64, 0x7fffffffffffffc0));
	same(valloc(most));
	free(same(malloc(0)));
	free(same(calloc(0, most)));
	free(have);
}

/* Nothing is wrong here. What realloc moves a pointer to is where one to a block that is gone was, of the same
 * value: the allocator wrote it, and nobody saw that. */
KEEP static void moved_pointers(void)
{
	char **few = malloc(16), **fence = malloc(16), **old = malloc(2000);

	old[0] = malloc(40);
	free(old[0]);
	free(old);
	few[0] = malloc(40);
	few[0][0] = 0;
	few = realloc(few, 2000);
	sum += few[0][0];
	free(few[0]);
	free(few);
	free(fence);
}

/* Nor here: blocks are kept as distances from the table of them, which moves, as fontconfig keeps them. */
KEEP static void distances(void)
{
	long *table = malloc(16), *moved, by;
	char *fence = malloc(16);

	for (int i = 0; i < 2; i++)
		table[i] = (char *)make(32) - (char *)table;
	moved = realloc(table, 4000);
	by = (char *)moved - (char *)table;
	for (int i = 0; i < 2; i++)
		moved[i] -= by;
	for (int i = 0; i < 2; i++) {
		sum += *((volatile char *)moved + moved[i] + 3);
		free((char *)moved + moved[i]);
	}
	free(moved);
	free(fence);
}

/* Nor here: a block grows, mostly where it is, by calls of several statements, and pointers to it are kept. */
KEEP static void grown(void)
{
	char *base = make(40000), *at = base + 39999, *old = base;

	base = same(realloc(base, 44000));
	if (base != old)
		at += base - old;
	old = base;
	base = same(realloc(base, 48000));
	if (base != old)
		at += base - old;
	old = base;
	base = same(realloc(base, 52000));
	if (base != old)
		at += base - old;
	at[9000] = 1;
	sum += at[8000] + base[3];
	free(base);
}

/* Nor here: what a string instruction clears is no more what the kernel got before, at the same place. */
KEEP static void cleared_again(void)
{
	int null = open("/dev/null", O_WRONLY);
	char *p = make(40960);

	sum += write(null, p, 52);
	free(p);
	p = memset(malloc(40960), 0, 40960);
	sum += p[60];
	free(p);
	close(null);
}

/* Nor here: other memory is mapped where a block was that had a mapping of its own. */
KEEP static void mapped_again(void)
{
	char *p = aligned_alloc(4096, 64 << 20), *q;

	p[0] = 1;
	free(p);
	q = mmap(p, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	memset(q, 1, 8192);
	sum += q[200];
	munmap(q, 8192);
}

KEEP static void close_it(int fd)
{
	close(fd); // expect: DOUBLE-CLOSE
}

KEEP static void closed_twice(int zero)
{
	int two[2], fd = dup(zero);
	FILE *f = fopen("/dev/null", "r");

	close(fd);
	close_it(fd);
	fd = fcntl(zero, F_DUPFD, 200);
	close(fd);
	if (close(fd)) // expect: DOUBLE-CLOSE
		sum++;
	sum += pipe(two);
	close(two[0]);
	close(two[1]);
	close(two[1]); // expect: DOUBLE-CLOSE
	close(two[0]); // expect: DOUBLE-CLOSE
	fd = fileno(f);
	fclose(f);
	close(fd); // expect: DOUBLE-CLOSE
	fd = openat(AT_FDCWD, "/dev/null", O_WRONLY);
	sum += dup2(zero, fd);
	close(fd);
	close(fd); // expect: DOUBLE-CLOSE
	for (int k = 0; k < 2; k++)
		close(fd); // expect: DOUBLE-CLOSE
	fd = dup2(zero, 300);
	close(fd);
	fd = dup2(zero, 300);
	close(fd);
	fd += (int)(long)same(NULL);
	close(fd); // expect: DOUBLE-CLOSE
	fd = open("/dev/null", O_RDONLY);
	close(fd);
	if (fd != -1)
		close(fd); // expect: DOUBLE-CLOSE
	f = fdopen(dup(zero), "r");
	fclose(f);
	sum += pipe(two);
	close(two[0]);
	close(two[1]);
}

/* Memory that is not there, or may be read alone, and is handed to the kernel. */
KEEP static void bad_buffers(void)
{
	char *none = same(mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)),
	     *fixed = same(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)), here[4096], name[] = "/dev/null";
	int zero = open("/dev/zero", O_RDONLY), two[2], pair[2];
	struct sockaddr_storage address;
	struct iovec v = { none, 8 };
	socklen_t n = sizeof(address);
	struct pollfd asked = { 0 };
	struct stat found;

	sum += pipe(two) + socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
	sum += read(zero, same((void *)64), 8); // expect: BAD-BUFFER
	sum += read(zero, none, 8); // expect: BAD-BUFFER
	sum += read(zero, fixed, 8); // expect: BAD-BUFFER
	sum += pread(zero, fixed, 8, 0); // expect: BAD-BUFFER
	sum += readv(zero, &v, 1); // expect: BAD-BUFFER
	sum += readv(zero, (void *)none, 1); // expect: BAD-BUFFER
	sum += preadv(zero, (void *)none, 1, 0); // expect: BAD-BUFFER
	sum += write(two[1], none, 8); // expect: BAD-BUFFER
	sum += open(none, O_RDONLY); // expect: BAD-BUFFER
	sum += stat(none, &found); // expect: BAD-BUFFER
	sum += stat(name, (void *)fixed); // expect: BAD-BUFFER
	sum += fstat(zero, (void *)fixed); // expect: BAD-BUFFER
	sum += access(none, R_OK); // expect: BAD-BUFFER
	sum += readlink(none, here, 8); // expect: BAD-BUFFER
	sum += unlink(none); // expect: BAD-BUFFER
	sum += rmdir(none); // expect: BAD-BUFFER
	sum += execv(none, (char *[]){ NULL }); // expect: BAD-BUFFER
	sum += chdir(none); // expect: BAD-BUFFER
	sum += getsockname(pair[0], (void *)fixed, &n); // expect: BAD-BUFFER
	sum += ioctl(two[0], FIONREAD, fixed); // expect: BAD-BUFFER
	sum += poll((void *)none, 1, 0); // expect: BAD-BUFFER
	sum += send(pair[0], none, 8, 0); // expect: BAD-BUFFER
	v.iov_base = here;
	n = sizeof(address);
	memset(here, 0, sizeof(here));
	sum += read(zero, here, 8) + pread(zero, here + 4088, 8, 0) + readv(zero, &v, 1);
	sum += write(two[1], fixed, 8) + read(two[0], here, 8); // it may be read
	sum += read(zero, none, 0);
	close(open(name, O_RDONLY));
	sum += stat(name, &found) + fstat(zero, &found) + access(name, R_OK) + readlink(name, here, 8);
	sum += unlink("/nowhere/nothing") + chdir("/nowhere");
	sum += getsockname(pair[0], (void *)&address, &n) + ioctl(two[0], FIONREAD, &two[1]);
	sum += poll(&asked, 1, 0) + poll(NULL, 0, 0) + send(pair[0], here, 8, 0);
	munmap(none, 4096);
	munmap(fixed, 4096);
}

KEEP static void descriptors(void)
{
	int zero = open("/dev/zero", O_RDONLY), two = dup(zero), fd = 1000 + zero;
	char c[8];
	struct iovec v = { c, 8 };

	sum += read(fd, c, 1);	       // expect: INVALID-FD
	sum += write(fd, c, 1);	       // expect: INVALID-FD
	sum += pread(fd, c, 1, 0);     // expect: INVALID-FD
	sum += pwrite(fd, c, 1, 0);    // expect: INVALID-FD
	sum += lseek(fd, 0, SEEK_SET); // expect: INVALID-FD
	sum += readv(fd, &v, 1);       // expect: INVALID-FD
	sum += writev(fd, &v, 1);      // expect: INVALID-FD
	sum += preadv(fd, &v, 1, 0);   // expect: INVALID-FD
	sum += read(-1, c, 1);	       // expect: INVALID-FD
	sum += fsync(fd);	       // expect: INVALID-FD
	close(two);
	sum += read(two, c, 1); // expect: INVALID-FD
	close(two);		// expect: DOUBLE-CLOSE
	for (int k = 0; k < 10; k++) {
		int d = dup(zero);

		close(d);
		close(d); // expect: DOUBLE-CLOSE
	}
	sum += read(zero, c, 8) + lseek(zero, 0, SEEK_SET) + pread(zero, c, 1, 0);
	sum += readv(zero, &v, 1);
	closed_twice(zero);
	two = dup(zero);
	close(two);
	two = dup(zero);
	close(two);
	for (fd = zero + 10; fd < zero + 30; fd++)
		close(fd); // never open: what daemons do
	close(zero);
}

int main(int argc, char **argv)
{
	const char *part = argc > 1 ? argv[1] : "";
	bool is_all = !strcmp(part, "all");

	if (is_all || !strcmp(part, "heap")) {
		dangling_reads();
		dangling_writes();
		overflows();
		underflows();
		fields();
	}
	if (is_all || !strcmp(part, "others")) {
		leaks();
		overlaps();
		text_overlaps();
		negative_sizes();
		bad_buffers();
		descriptors();
	}
	if (is_all || !strcmp(part, "frees"))
		double_frees();
	if (is_all)
		cleared_again(), distances(), grown(), mapped_again();
	if (is_all) // last, as it disturbs what is reused
		moved_pointers();
	return 0; // of what there was no value is in the sum
}
