// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// Programs with threads, one a mode; each prints what it computed.
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static _Atomic long turn, done;
static volatile long sum;
static __thread long mine;
static pthread_mutex_t robust;
static sem_t sem;

static void spawn(pthread_t *t, void *(*fn)(void *), long arg)
{
	if (pthread_create(t, NULL, fn, (void *)arg))
		exit(99);
}

static void *ping(void *arg)
{
	long me = (long)arg;

	for (int i = 0; i < 2000; i++) {
		pthread_mutex_lock(&m);
		while (turn % 2 != me)
			pthread_cond_wait(&c, &m);
		turn++;
		sum = sum * 31 + me + i;
		pthread_cond_broadcast(&c);
		pthread_mutex_unlock(&m);
	}
	return NULL;
}

static void *spin(void *arg)
{
	long me = (long)arg;

	for (int i = 0; i < 100; i++) {
		while (turn % 3 != me)
			;
		sum = sum * 7 + me;
		turn++;
	}
	return NULL;
}

static void *count(void *arg)
{
	for (int i = 0; i < 3000000; i++)
		sum += i; // a race
	mine = (long)arg;
	return (void *)mine;
}

static void *brief(void *arg)
{
	mine += (long)arg;
	atomic_fetch_add(&done, mine);
	return NULL;
}

/* Arenas grow and shrink: the mappings change while others allocate. */
static void *arenas(void *arg)
{
	char *kept[64] = {};
	long s = (long)arg;

	for (int i = 0; i < 2000; i++) {
		char **k = &kept[i % 64];

		free(*k);
		*k = malloc(100 + i * 37 % 9000);
		memset(*k, i, 100);
		s += (*k)[5];
	}
	for (int i = 0; i < 64; i++)
		free(kept[i]);
	return (void *)s;
}

static void on_usr1(int signo)
{
	(void)signo;
	atomic_fetch_add(&turn, 1);
}

static void *busy(void *arg)
{
	unsigned long x = (unsigned long)arg;

	while (!done)
		x = x * 6364136223846793005ul + 1;
	return (void *)x;
}

/* All its progress is in memory that no register points to. */
static void *hide(void *arg)
{
	static long far[4][512];
	long *at = &far[(long)arg][256];

	__asm__ volatile("lea 1024(%0), %0\n"
			 "1: addq $1, -1024(%0)\n"
			 "cmpq $40000000, -1024(%0)\n"
			 "jl 1b\n"
			 : "+r"(at)
			 :
			 : "memory", "cc");
	return arg;
}

/* The same, in more pages than are kept to be compared. */
static void *hide_wide(void *arg)
{
	static long far[3][200][512];
	long *first = &far[(long)arg][0][256], *at, i;

	__asm__ volatile("1: mov $200, %1\n"
			 "mov %2, %0\n"
			 "2: addq $1, -1024(%0)\n"
			 "add $4096, %0\n"
			 "dec %1\n"
			 "jnz 2b\n"
			 "cmpq $40000, -1024(%2)\n"
			 "jl 1b\n"
			 : "=&r"(at), "=&r"(i)
			 : "r"(first)
			 : "memory", "cc");
	return arg;
}

/* Its progress is where a register points to, beside what looks like a breakpoint. */
static void *beside_int3(void *arg)
{
	static long near[3][8]
		__attribute__((aligned(64))) = { { 0, 0xcc }, { 0, 0xcc }, { 0, 0xcc } };

	__asm__ volatile("1: addq $1, (%0)\n"
			 "cmpq $4000000, (%0)\n"
			 "jl 1b\n"
			 :
			 : "r"(near[(long)arg])
			 : "memory", "cc");
	return arg;
}

/* The same, and long ways between. */
static void *hide_far(void *arg)
{
	static long far[4][512];
	long *at = &far[(long)arg][256], i;

	__asm__ volatile("lea 1024(%0), %0\n"
			 "1: mov $3000, %1\n"
			 "2: dec %1\n"
			 "jnz 2b\n"
			 "addq $1, -1024(%0)\n"
			 "cmpq $20000, -1024(%0)\n"
			 "jl 1b\n"
			 : "+r"(at), "=&r"(i)
			 :
			 : "memory", "cc");
	return arg;
}

/* All its progress is in a vector register. */
static void *hide_lanes(void *arg)
{
	double at = 0, step = 1, end = 40000000;

	__asm__ volatile("1: addsd %1, %0\n"
			 "ucomisd %2, %0\n"
			 "jb 1b\n"
			 : "+x"(at)
			 : "x"(step), "x"(end)
			 : "cc");
	return arg;
}

/* Waits for the last one, which works. @n: how long it stays away from the word. */
static void wait_idly(long me, long n)
{
	while (me < 2 && !done)
		for (long i = n, k = me; i; i--)
			__asm__ volatile("" : "+r"(k));
	if (me == 2) {
		for (volatile long i = 0; i < 20000000; i++)
			;
		done = 1;
	}
}

/* All its progress is in the carry flag, with long ways between; but the last one's, which is in a register. */
static void *hide_carry(void *arg)
{
	long i;

	if ((long)arg == 2) {
		for (i = 0; i < 100000000; i++)
			__asm__ volatile("" : "+r"(i));
		done = 1;
		return arg;
	}
	__asm__ volatile("1: mov $3000, %k0\n"
			 "2: dec %k0\n"
			 "jnz 2b\n"
			 "cmc\n"
			 "movzbl %1, %k0\n"
			 "jrcxz 1b\n"
			 : "=&c"(i)
			 : "m"(done)
			 : "memory", "cc");
	return arg;
}

static void *idle(void *arg)
{
	wait_idly((long)arg, 3);
	return NULL;
}

static void *idle_long(void *arg)
{
	wait_idly((long)arg, 3000);
	return NULL;
}

/* The same memory under two addresses. */
static void *twice(void *arg)
{
	int fd = memfd_create("twice", 0);
	volatile long *a, *b;
	long n = 0;

	if (fd < 0 || ftruncate(fd, 4096))
		exit(99);
	a = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	b = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	for (int i = 0; i < 10000000; i++) {
		a[0]++;
		n += b[0] ^ i;
	}
	pthread_mutex_lock(&m);
	sum += n + (long)arg;
	pthread_mutex_unlock(&m);
	return NULL;
}

static void *die_holding(void *arg)
{
	pthread_mutex_lock(&robust);
	turn = 1;
	return arg;
}

static void *stamps(void *arg)
{
	unsigned long x = 0;

	for (int i = 0; i < 300; i++)
		x ^= __rdtsc();
	pthread_mutex_lock(&m);
	sum ^= x;
	pthread_mutex_unlock(&m);
	return arg;
}

static void *fill(void *arg)
{
	size_t n = 40u << 20;
	unsigned char *p =
		mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned char *q =
		mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (int i = 0; i < 4; i++) {
		memset(p, (int)(long)arg + i, n);
		memcpy(q, p, n);
		atomic_fetch_add(&done, q[n - 1]);
	}
	munmap(p, n);
	munmap(q, n);
	return arg;
}

static void *sems(void *arg)
{
	for (int i = 0; i < 1000; i++) {
		sem_wait(&sem);
		sum = sum * 3 + (long)arg;
		sem_post(&sem);
		if (i % 100 == 0)
			sched_yield();
	}
	return NULL;
}

static void *calls(void *arg)
{
	for (int i = 0; i < 20000; i++)
		syscall(SYS_getppid);
	return arg;
}

static void *crash(void *arg)
{
	usleep(1000);
	*(volatile int *)arg = 1;
	return NULL;
}

static void *leave(void *arg)
{
	usleep(2000);
	(void)arg;
	printf("leaving\n");
	exit(7);
}

static void *become(void *arg)
{
	usleep(1000);
	execl("/bin/echo", "echo", "become", (char *)NULL);
	return arg;
}

static void *asleep(void *arg)
{
	struct timespec t = { .tv_nsec = 200000 };

	for (int i = 0; i < 20; i++)
		nanosleep(&t, NULL);
	return arg;
}

static void *detached(void *arg)
{
	asleep(arg);
	atomic_fetch_add(&done, 1);
	return NULL;
}

static int run(void *(*fn)(void *), int n)
{
	pthread_t t[16];

	for (long i = 0; i < n; i++)
		spawn(&t[i], fn, i);
	for (int i = 0; i < n; i++)
		pthread_join(t[i], NULL);
	printf("sum %ld turn %ld done %ld\n", sum, (long)turn, (long)done);
	return 0;
}

static int signals(void)
{
	struct sigaction sa = { .sa_handler = on_usr1 };
	pthread_t t[3];

	sigaction(SIGUSR1, &sa, NULL);
	for (long i = 0; i < 3; i++)
		spawn(&t[i], busy, i);
	for (int i = 0; i < 60; i++) {
		pthread_kill(t[i % 3], SIGUSR1);
		usleep(500);
	}
	done = 1;
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	printf("handled %d\n", turn > 0);
	return 0;
}

static _Atomic int word, round_of;

/* Waits until a signal comes, or the word has changed. Has it, by then? */
static void *waits(void *arg)
{
	const struct timespec second = { .tv_sec = 1 };

	for (int i = 1; i <= 100; i++) {
		word = 0;
		round_of = i;
		syscall(SYS_futex, &word, (long)arg, 0, &second, NULL, 0);
		sum = sum * 31 + word;
		while (turn < i)
			usleep(50);
	}
	return NULL;
}

/* A word changes when its waiter's call is over, and before the handler of the signal that ended it runs. */
static int interrupted(int op)
{
	struct sigaction sa = { .sa_handler = on_usr1 };
	pthread_t t;

	sigaction(SIGUSR1, &sa, NULL);
	turn = round_of = 0;
	spawn(&t, waits, op);
	for (int i = 1; i <= 100; i++) {
		while (round_of < i)
			usleep(50);
		usleep(200);
		pthread_kill(t, SIGUSR1);
		for (int k = 0; k < 20; k++)
			sched_yield();
		word = 1;
	}
	pthread_join(t, NULL);
	printf("sum %ld\n", sum);
	return 0;
}

static int timers(void)
{
	struct sigevent ev = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 };
	struct itimerspec every = { { 0, 1000000 }, { 0, 1000000 } };
	struct sigaction sa = { .sa_handler = on_usr1, .sa_flags = SA_RESTART };
	pthread_t t[2];
	timer_t id;

	sigaction(SIGUSR1, &sa, NULL);
	timer_create(CLOCK_MONOTONIC, &ev, &id);
	for (long i = 0; i < 2; i++)
		spawn(&t[i], busy, i);
	timer_settime(id, 0, &every, NULL);
	while (turn < 30)
		;
	timer_delete(id);
	done = 1;
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	printf("ticked\n");
	return 0;
}

static int thousand(void)
{
	pthread_t t;

	for (long i = 0; i < 1000; i++) {
		spawn(&t, brief, i);
		pthread_join(t, NULL);
	}
	printf("done %ld\n", (long)done);
	return 0;
}

static int robusts(void)
{
	pthread_mutexattr_t a;
	pthread_t t;
	int got;

	pthread_mutexattr_init(&a);
	pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&robust, &a);
	spawn(&t, die_holding, 1);
	// Were it ours first, each would wait for the other.
	while (!turn)
		usleep(100);
	got = pthread_mutex_lock(&robust);
	pthread_join(t, NULL);
	printf("owner died %d\n", got == EOWNERDEAD);
	return 0;
}

static int detach(void)
{
	pthread_attr_t a;
	pthread_t t;

	pthread_attr_init(&a);
	pthread_attr_setdetachstate(&a, PTHREAD_CREATE_DETACHED);
	for (int i = 0; i < 5; i++)
		pthread_create(&t, &a, detached, NULL);
	while (done < 5)
		usleep(100);
	printf("detached\n");
	return 0;
}

/* @fn runs beside threads that never end. */
static int beside(void *(*fn)(void *))
{
	pthread_t t[3];

	spawn(&t[0], busy, 1);
	spawn(&t[1], busy, 2);
	spawn(&t[2], fn, 0);
	pthread_join(t[0], NULL);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void *(*fn)(void *);
		int n;
	} modes[] = { { "ping", ping, 2 },	  { "spin", spin, 3 },
		      { "race", count, 4 },	  { "fill", fill, 3 },
		      { "calls", calls, 8 },	  { "sleep", asleep, 8 },
		      { "stamps", stamps, 4 },	  { "sem", sems, 4 },
		      { "hide", hide, 3 },	  { "far", hide_far, 3 },
		      { "lanes", hide_lanes, 3 }, { "carry", hide_carry, 3 },
		      { "idle", idle, 3 },	  { "long", idle_long, 3 },
		      { "wide", hide_wide, 3 },	  { "int3", beside_int3, 3 },
		      { "twice", twice, 3 },	  { "arenas", arenas, 4 } };
	const char *mode = argc > 1 ? argv[1] : "";
	pthread_t t;

	setvbuf(stdout, NULL, _IOLBF, 0);
	sem_init(&sem, 0, 1);
	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++)
		if (!strcmp(mode, modes[i].name))
			return run(modes[i].fn, modes[i].n);
	if (!strcmp(mode, "thousand"))
		return thousand();
	if (!strcmp(mode, "signals"))
		return signals();
	if (!strcmp(mode, "interrupted"))
		return interrupted(FUTEX_WAIT_PRIVATE) + interrupted(FUTEX_WAIT);
	if (!strcmp(mode, "timers"))
		return timers();
	if (!strcmp(mode, "robust"))
		return robusts();
	if (!strcmp(mode, "detached"))
		return detach();
	if (!strcmp(mode, "crash"))
		return beside(crash);
	if (!strcmp(mode, "leave"))
		return beside(leave);
	if (!strcmp(mode, "become"))
		return beside(become);
	if (!strcmp(mode, "leader")) {
		spawn(&t, asleep, 0);
		pthread_exit(NULL);
	}
	fprintf(stderr, "which mode?\n");
	return 2;
}
