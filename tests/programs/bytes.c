// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
// FLAGS: -w
//
// Accesses outside of variables, to those of functions that have returned, and uses of what was never given a value:
// where it says `expect:', and nowhere else. What is written astray is what was there.

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#ifdef __clang__
#define KEEP static __attribute__((noinline))
#else
#define KEEP static __attribute__((noipa))
#endif

static volatile long sum;
static volatile int zero;
// Nothing ends where it begins, in whichever order compilers place them.
static int before[16], table[8] __attribute__((aligned(256))), after[16];
static char text_before[32], text[8] = "static", text_after[32];
static const int primes[5] = { 2, 3, 5, 7, 11 };
static char far[1024];
static int *held;

KEEP void *same(void *p)
{
	__asm__ volatile("" : "+r"(p) : : "memory");
	return p;
}

/* ---- elsewhere, by a pointer that was given -------------------------------------------------- */

// clang-format off
KEEP void s1(volatile int *p, int i) { sum += p[i]; } // expect: STACK-OVERFLOW
KEEP void s2(volatile char *p, int i) { p[i] = p[i]; } // expect: STACK-OVERFLOW
KEEP void s3(volatile int *p, int n) { while (n--) sum += *p++; } // expect: STACK-OVERFLOW
KEEP void s4(volatile long *p) { sum += p[150]; } // expect: STACK-OVERFLOW
KEEP void s5(volatile short *p, int n) { for (int i = 0; i <= n; i++) sum += p[i]; } // expect: STACK-OVERFLOW
KEEP void s6(volatile double *p) { sum += p[100] > 0; } // expect: STACK-OVERFLOW
KEEP void u1(volatile int *p, int i) { sum += p[i]; } // expect: STACK-UNDERFLOW
KEEP void u2(volatile char *p) { p[-900] = p[-900]; } // expect: STACK-UNDERFLOW
KEEP void u3(volatile int *p, int n) { for (p += n; n-- >= -300;) sum += *--p; } // expect: STACK-UNDERFLOW
KEEP void u4(volatile long *p) { sum += *(p - 200); } // expect: STACK-UNDERFLOW
KEEP void u5(volatile short *p, int i) { p[i] = p[i]; } // expect: STACK-UNDERFLOW
KEEP void u6(volatile double *p) { sum += p[-120] > 0; } // expect: STACK-UNDERFLOW
KEEP void u7(char *p, int n) { while (n-- > -600) sum += *(volatile char *)(p + n); } // expect: STACK-UNDERFLOW
KEEP void s7(volatile char *p, int n) { while (n--) sum += *p++; } // expect: STACK-OVERFLOW
KEEP void s8(volatile int *p, int n) { while (n--) sum += *p++; } // expect: STACK-OVERFLOW
KEEP void u8(volatile char *p, int i) { sum += p[i]; } // expect: STACK-UNDERFLOW
KEEP void u9(volatile int *p, int n) { while (n--) sum += *--p; } // expect: STACK-UNDERFLOW
KEEP void g1(volatile int *p, int i) { sum += p[i]; } // expect: GLOBAL-OVERFLOW
KEEP void g2(volatile char *p, int i) { p[i] = p[i]; } // expect: GLOBAL-OVERFLOW
KEEP void g3(volatile int *p, int n) { while (n--) sum += *p++; } // expect: GLOBAL-OVERFLOW
KEEP void g4(const volatile int *p) { sum += p[5]; } // expect: GLOBAL-OVERFLOW
KEEP void h1(volatile int *p, int i) { sum += p[i]; } // expect: GLOBAL-UNDERFLOW
KEEP void h2(volatile char *p) { p[-5] = p[-5]; } // expect: GLOBAL-UNDERFLOW
KEEP void h3(volatile int *p, int n) { for (p += n; n-- >= 0;) sum += *--p; } // expect: GLOBAL-UNDERFLOW
KEEP void g5(volatile char *p, int n) { for (int i = 0; i <= n; i++) sum += p[i]; } // expect: GLOBAL-OVERFLOW
KEEP void g6(const volatile int *p, int i) { sum += *(volatile long *)(p + i); } // expect: GLOBAL-OVERFLOW
KEEP void h4(const volatile int *p) { sum += p[-3]; } // expect: GLOBAL-UNDERFLOW
KEEP void h5(volatile short *p, int i) { sum += p[i]; } // expect: GLOBAL-UNDERFLOW
KEEP void h6(volatile char *p, int n) { do sum += *--p; while (n--); } // expect: GLOBAL-UNDERFLOW

// clang-format on
KEEP void give_frames(void)
{
	int a[10] = { 1 }, b[6] = { 2 };
	char c[12] = "01234567890", big[64] = "01234567890123456789", *start = same(big);
	short h[5] = { 1 };
	double d[4] = { 1 };
	long one = 1;

	same(a), same(b), same(c), same(big), same(h), same(d), same(&one);
	s1(a, 200 + zero);
	s2(c, 1200 + zero);
	s3(b, 300 + zero);
	s4(&one);
	s5(h, 900 + zero);
	s6(d);
	u1(a + 3, -400 + zero);
	u2(c + 4);
	u3(b, 6 + zero);
	u4((long *)d + 2);
	u5(h + 2, -450 + zero);
	u6(d + 1);
	u7(big, 10 + zero);
	memcpy(same(far), (char *)same(c) - 900 + zero, 8); // expect: STACK-UNDERFLOW
	memset(same(b), 0, sizeof(b));
	pwrite(1, start - 800 + zero, 8, 0);		   // expect: STACK-UNDERFLOW
	memcpy(same(far), c, 900 + zero);		   // expect: STACK-OVERFLOW
	memcpy(same(far), b, 1000 + zero);		   // expect: STACK-OVERFLOW
	write(open("/dev/null", O_WRONLY), c, 800 + zero); // expect: STACK-OVERFLOW
}

KEEP void give_static(void)
{
	char copy[64], *second = same(text + 2);

	g1((int *)same(table), 8 + zero);
	g2((char *)same(text), 8 + zero);
	g3((int *)same(table), 9 + zero);
	g4(same((int *)primes));
	h1((int *)same(table + 3), -4 + zero);
	h2((char *)same(text + 4));
	h3((int *)same(table), 8 + zero);
	g5((char *)same(text), 8 + zero);
	g6(same((int *)primes), 4 + zero);
	h4(same((int *)primes + 2));
	h5((short *)same(table + 1), -3 + zero);
	h6((char *)same(text + 3), 3 + zero);
	memcpy(copy, (char *)same(table + 1) - 8 + zero, 8); // expect: GLOBAL-UNDERFLOW
	pwrite(1, (char *)same(text + 3) - 5 + zero, 4, 0);  // expect: GLOBAL-UNDERFLOW
	sum += memcmp(second - 4 + zero, "ab", 2);	     // expect: GLOBAL-UNDERFLOW
	memset((char *)same(text) + 4 + zero, 's', 5);	     // expect: GLOBAL-OVERFLOW
	memcpy(copy, table, 36 + zero);			     // expect: GLOBAL-OVERFLOW
	memcpy(copy, primes + 1, 20 + zero);		     // expect: GLOBAL-OVERFLOW
	sum += before[0] + after[0] + text_before[0] + text_after[0];
}

/* Memory whose size is known as it runs; compilers take some more. */
KEEP void give_dynamic(int n)
{
	char *first = memset(alloca(n), 1, n), *second = memset(alloca(2 * n), 2, 2 * n);

	s7(second, 2 * n + 40);
	u8(first, -40);
	memcpy(same(far), first, n + 32); // expect: STACK-OVERFLOW
	for (int i = 1; i < 3; i++) {
		int array[i * n];

		memset(array, 0, sizeof(array));
		s8(array, i * n + 8);
		u9(array + n, n + 3);
	}
}

/* ---- variables of functions that have returned ----------------------------------------------- */

KEEP int *gone(void)
{
	int local[4] = { 1, 2, 3, 4 };

	held = same(local);
	return same(local);
}

// clang-format off
KEEP void d1(volatile int *p) { sum += p[1]; } // expect: DEAD-FRAME
KEEP void d2(volatile int *p) { *p = 5; } // expect: DEAD-FRAME
KEEP void d3(volatile int *p, int n) { while (n--) sum += p[n]; } // expect: DEAD-FRAME
KEEP void d4(int **p) { sum += **p; } // expect: DEAD-FRAME

// clang-format on
KEEP void use_gone(void)
{
	int copy[4];

	d1(gone());
	gone();
	d2(held);
	memcpy(copy, gone(), sizeof(copy)); // expect: DEAD-FRAME
	sum += *gone();			    // expect: DEAD-FRAME
	d3(gone(), 3);
	gone();
	d4(&held);
	gone();
	memset(held + 1, 0, 4); // expect: DEAD-FRAME
	gone();
	sum += held[2]; // expect: DEAD-FRAME
}

/* ---- without a value --------------------------------------------------------------------------- */

struct mixed {
	char c;
	int i;
	unsigned flag : 1, other : 3, rest : 12;
	double d;
};

// clang-format off
KEEP void v1(int *p) { if (*p == 3) sum++; } // expect: UNINIT-USE
KEEP void v2(char *p) { if (p[2] > 'a') sum++; } // expect: UNINIT-USE
KEEP void v3(long *p) { if ((*p & 0xff0) != 0) sum++; } // expect: UNINIT-USE
KEEP void v4(double *p) { if (*p > 1.0) sum++; } // expect: UNINIT-USE
KEEP void v5(int *p) { sum += table[*p & 7]; } // expect: UNINIT-USE
KEEP void v6(int *p) { for (int i = 0; i < (*p & 3); i++) sum++; } // expect: UNINIT-USE
KEEP void v7(struct mixed *p) { if (p->other) sum++; } // expect: UNINIT-USE
KEEP void v8(int *p) { int x = *p * 3 + 7; if (x > 100) sum++; } // expect: UNINIT-USE
KEEP void v9(short *p) { if (p[1] + p[0] < 9) sum++; } // expect: UNINIT-USE
KEEP void v10(int *p, int n) { int t = 0; while (n--) t += *p++; if (t == 5) sum++; } // expect: UNINIT-USE

// clang-format on
KEEP void use_unset(void)
{
	int *block = malloc(64), local[4];
	struct mixed m;
	short pair[2] = { 1 };
	char c[16], *p;
	double d;
	long l;

	same(local), same(&m), same(c), same(&d), same(&l);
	v1(block + 3);
	v2(c);
	v3(&l);
	v4(&d);
	v5(local);
	v6(local + 1);
	m.flag = 1;
	same(&m);
	v7(&m);
	v8(local + 2);
	pair[1] = *(short *)(block + 1);
	v9(pair);
	block = realloc(block, 256);
	memset(block, 0, 128);
	v10(block, 40);
	write(open("/dev/null", O_WRONLY), c, 4); // expect: UNINIT-USE
	p = malloc(8);
	sum += strlen(p) > 100; // expect: UNINIT-USE
	free(p);
	free(same(calloc(1, 200)));
	p = same(malloc(200));		// .. of which most is still zeroes
	strcat(p + 100, "x");		// expect: UNINIT-USE
	free(malloc(block[60] & 0xff)); // expect: UNINIT-USE
	// Called for the first time, by the dynamic linker, which keeps vectors as they are.
	strfromd(text_after, 20, "%g", *(double *)same(block + 50)); // expect: UNINIT-USE
	free(p);
	free(block);
}

/* ---- read without a value, which is no use ------------------------------------------------------ */

static int kept_int, kept_ints[4];
static struct mixed kept_mixed;

// clang-format off
KEEP int r1(volatile int *p) { return *p; } // strict
KEEP void r2(volatile int *p) { kept_int = *p; } // strict
KEEP void r3(volatile char *p, int i) { text_after[0] = p[i]; } // strict
KEEP void r4(struct mixed *p) { kept_mixed = *p; } // strict
KEEP void r5(int *p) { for (int i = 0; i < 4; i++) kept_ints[i] = p[i]; } // strict
KEEP void r6(int *p) { *p += 3; } // strict
KEEP void r7(long *p) { p[0] = p[1] * 3; } // strict
KEEP void r8(double *p) { p[1] = p[0]; } // strict
KEEP unsigned r9(volatile struct mixed *p) { return p->rest; } // strict

// clang-format on
KEEP void read_unset(void)
{
	int *block = malloc(64), local[8];
	struct mixed m;
	char c[16];
	double d[2];
	long l[2];

	same(local), same(&m), same(c), same(d), same(l);
	same(&kept_int), same(kept_ints), same(&kept_mixed), same(text_after);
	kept_int = r1(block + 3);
	same(&kept_int);
	r2(local + 5);
	r3(c, 7);
	r4(&m);
	r5(local);
	r6(block + 7);
	r7(l);
	r8(d);
	same(&m), same(&kept_int), same(kept_ints), same(text_after);
	kept_int = r9(&m);
	same(&kept_int);
	memcpy(kept_ints, block + 8, sizeof(kept_ints)); // strict
	kept_int = 0;
	memset(kept_ints, 0, sizeof(kept_ints));
	memset(&kept_mixed, 0, sizeof(kept_mixed));
	memset(text_after, 0, sizeof(text_after));
	free(block);
}

/* ---- right ones -------------------------------------------------------------------------------- */

KEEP int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

KEEP int depth(int n, int *up)
{
	int here[3] = { n, n + 1, n + 2 };

	if (n)
		return depth(n - 1, here) + up[n % 3];
	return up[0];
}

KEEP void backward(int *end, int n)
{
	while (n--)
		*--end = n;
}

struct parts {
	unsigned low : 21;
	int high : 10;
};

/* Compilers add a register to itself, or to one in which other bits have values. */
KEEP void bits_in_part(struct parts *p)
{
	volatile unsigned *word = same(p);

	p->high = 45;
	same(p);
	if (p->high == 45)
		sum++;
	if (((*word & 0xff) + 0x300) >> 9 == 1)
		sum++;
	if ((0x4ff - (*word & 0xff)) & 0x400)
		sum++;
}

KEEP struct mixed made(int i)
{
	struct mixed m = { .c = 'x', .i = i };

	m.flag = 1;
	m.other = i;
	return m;
}

/* A handler's stack lies above the one that it leaves, with data in between. */
#define PART (1 << 16)
static ucontext_t here, there;
static char *parts_of_it;

static void on_signal(int signo)
{
	sum += signo;
}

static void raise_there(void)
{
	raise(SIGUSR1);
	for (int i = 0; i < 1000; i++)
		if (parts_of_it[2 * PART + i])
			sum++;
}

KEEP void change_stacks(void)
{
	struct sigaction act = {}; // C++ has no designator for its handler
	stack_t above = { .ss_size = PART };

	act.sa_handler = on_signal;
	act.sa_flags = SA_ONSTACK;
	parts_of_it = mmap(NULL, 4 * PART, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(parts_of_it + 2 * PART, 7, PART);
	above.ss_sp = parts_of_it + 3 * PART;
	sigaltstack(&above, NULL);
	sigaction(SIGUSR1, &act, NULL);
	getcontext(&there);
	there.uc_stack.ss_sp = parts_of_it;
	there.uc_stack.ss_size = PART;
	there.uc_link = &here;
	makecontext(&there, raise_there, 0);
	swapcontext(&here, &there);
}

/* Texts in blocks of whole words, of which the last one has bytes that nobody has written. memcheck is told so
 * by a function of its own, whose name valgrind.h makes. */
#ifdef __cplusplus
extern "C" {
#endif
KEEP int has_same_words(const long *a, const long *b, int n)
{
	for (; n > 0; n -= 8, a++, b++)
		if (*a ^ *b)
			return n < 8 && !((*a ^ *b) << (64 - 8 * n));
	return 1;
}

int _vgr00000ZU_NONE_has_same_words(const long *a, const long *b, int n)
{
	return !memcmp(a, b, n);
}
#ifdef __cplusplus
}
#endif

KEEP void compare_words(void)
{
	char *a = malloc(24), *b = malloc(16);

	strcpy(a, "text");
	strcpy(b, "text");
	if (has_same_words((long *)a, (long *)b, 4))
		sum++;
	free(a);
	free(b);
}

KEEP void fill(volatile char *p, int n)
{
	while (n--)
		p[n] = n;
}

/* What was taken first lies highest; what is given back is taken again. */
KEEP void take(int n)
{
	char low[16], *all = alloca(n), *p;

	fill(low, sizeof(low));
	fill(memset(all, 0, n), n);
	for (int i = 1; i < 6; i++) {
		int array[i * n];
		__attribute__((aligned(64))) char line[i + 60];

		fill((char *)array, sizeof(array));
		fill(line, sizeof(line));
		p = memcpy(alloca(9000 * i), line, i + 60);
		fill(p, 9000 * i);
		sum += array[i * n - 1] + line[i] + *p + all[n - 1] + low[i];
	}
}

static long *roots_end, kept[64];

/* A collector: what might be a pointer on the stack? */
KEEP void collect(void)
{
	long here = 1;

	for (long *p = &here; p < roots_end; p++)
		if (*p > 4096 && !(*p & 7))
			kept[*p >> 3 & 63] = *p;
	for (int i = 0; i < 64; i++)
		if (kept[i] > 1)
			sum++;
}

KEEP void right(int n)
{
	int a[10], b[10], vla[n + 3], *grown = NULL, *p;
	struct mixed m = made(3), copy, all[4];
	char name[32], *word = alloca(n + 1);
	jmp_buf place;
	union {
		int i;
		char c[4];
	} both;

	backward(a + 10, 10);
	for (int i = 9; i >= 0; i--)
		b[i] = a[i] * 2;
	for (p = b + 10; p > b;)
		sum += *--p;
	for (int i = 1; i <= 10; i++)
		sum += a[i - 1] + b[10 - i];
	for (int i = 0; i < n + 3; i++)
		vla[i] = i;
	sum += vla[n];
	qsort(a, 10, sizeof(*a), compare);
	copy = m;
	memcpy(&all[1], &copy, sizeof(copy));
	if (all[1].other == 3 && all[1].flag && all[1].i == 3)
		sum++;
	snprintf(name, sizeof(name), "%d-%s", n, "text");
	if (strchr(name, 'x') && strlen(name) > 3 && !strcmp(name, "4-text"))
		sum++;
	memset(word, 'w', n);
	word[n] = 0;
	sum += strlen(word) + depth(7, a);
	both.i = n;
	if (both.c[1])
		sum++;
	for (int i = 0; i < 40; i++) {
		grown = realloc(grown, (i + 1) * sizeof(*grown));
		grown[i] = i;
	}
	for (int i = 0; i < 40; i++)
		if (grown[i] != i)
			sum++;
	free(grown);
	grown = calloc(100, 4);
	for (int i = 0; i < 100; i++)
		if (grown[i])
			sum++;
	free(grown);
	if (!setjmp(place))
		longjmp(place, 1);
	for (int i = 0; i < 8; i++)
		table[i] = primes[i % 5];
	for (p = table + 8; p-- > table;)
		sum += *p;
	strcpy(text, "1234567");
	sum += text[7];
	compare_words();
	take(n);
	collect();
	printf("%s %d %.2f %c\n", name, m.i, m.d, m.c);
}

int main(int argc, char **argv)
{
	char room[4096] = ""; // what is read astray has a value
	struct parts parts;

	same(room);
	roots_end = (long *)(room + sizeof(room));
	right(3 + argc);
	if (argc > 1 && !strcmp(argv[1], "wrong")) {
		give_frames();
		give_static();
		use_gone();
		use_unset();
		read_unset();
		bits_in_part(&parts);
		give_dynamic((long)same((void *)20));
	}
	change_stacks(); // with a signal, behind which pointers are not followed
	return 0;
}
