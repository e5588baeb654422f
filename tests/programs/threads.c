// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Threads in many ways, one for each name that may be given. Each prints what came of it,
 * and that tells a replay with another schedule, because most of it is chance.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

#define THREADS_MAX 64
#define BIG (1u << 20)

static pthread_t threads[THREADS_MAX];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, robust;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static volatile int turn, is_over;
static volatile long counter, n_handled;
static __thread long own;

static void start(int n, void *(*fn)(void *))
{
	for (long i = 0; i < n; i++)
		if (pthread_create(&threads[i], NULL, fn, (void *)i)) {
			perror("pthread_create");
			exit(3);
		}
}

static void join(int n)
{
	unsigned long sum = 0;
	void *ret;

	for (int i = 0; i < n; i++) {
		pthread_join(threads[i], &ret);
		sum = sum * 31 + (unsigned long)ret;
	}
	printf("%lx %lx\n", sum, counter);
}

static void work(long n)
{
	for (volatile long i = 0; i < n; i++)
		;
}

static void on_signal(int signo)
{
	counter += signo;
	n_handled++;
}

/* ---- what threads do -------------------------------------------------------------------- */

static void *alternate(void *me)
{
	for (int i = 0; i < 1000; i++) {
		pthread_mutex_lock(&mutex);
		while (turn != (long)me)
			pthread_cond_wait(&cond, &mutex);
		turn = !turn;
		own += i;
		pthread_cond_signal(&cond);
		pthread_mutex_unlock(&mutex);
	}
	return (void *)own;
}

static void *spin(void *me)
{
	long n = (long)me;

	while (!is_over)
		n++;
	return (void *)n;
}

static void *spin_and_call(void *me)
{
	long n = (long)me;

	while (!is_over)
		if (++n % 10000 == 0)
			getppid();
	return (void *)n;
}

static void *race(void *me)
{
	for (int i = 0; i < 600000; i++)
		counter++;
	return me;
}

static void *add_own(void *me)
{
	own += (long)me;
	counter += own;
	return (void *)own;
}

static void *nap(void *me)
{
	struct timespec t = { .tv_nsec = 2000000 };
	long n = 0;

	while (!is_over)
		n += nanosleep(&t, NULL) ? 1 : 1000;
	return (void *)(n + (long)me);
}

static void *read_clock(void *me)
{
	for (int i = 0; i < 200; i++) {
		counter ^= __rdtsc();
		work(1000);
	}
	return me;
}

static void *call(void *me)
{
	for (int i = 0; i < 10000; i++)
		getppid();
	return me;
}

/** Calls that end in ENOSYS leave registers that look as if they had not begun. */
static void *call_nothing(void *me)
{
	for (int i = 0; i < 2000; i++) {
		syscall(9999);
		getppid();
		sched_yield();
	}
	return me;
}

static void *read_much(void *me)
{
	int zero = open("/dev/zero", O_RDONLY);
	char *buf = malloc(BIG);

	for (int i = 0; i < 20; i++)
		if (read(zero, buf, BIG) != BIG)
			abort();
	free(buf);
	close(zero);
	return me;
}

static void *die_with_lock(void *me)
{
	pthread_mutex_lock(&robust);
	turn = 1;
	usleep(1000);
	return me;
}

static void *count(void *me)
{
	__atomic_add_fetch(&counter, 1, __ATOMIC_SEQ_CST);
	return me;
}

static void *crash(void *me)
{
	work(3000000);
	*(volatile int *)me = 1; // 0 to 2: no page
	return me;
}

static void *execute(void *me)
{
	work(3000000);
	execl("/bin/echo", "echo", "executed", (char *)NULL);
	return me;
}

/* ---- programs --------------------------------------------------------------------------- */

static void do_alternate(void)
{
	start(2, alternate);
	join(2);
}

static void do_spin(void)
{
	start(3, spin);
	work(20000000);
	is_over = 1;
	join(3);
}

static void do_create(void)
{
	for (long i = 0; i < 1000; i++) {
		pthread_create(&threads[0], NULL, add_own, (void *)i);
		pthread_join(threads[0], NULL);
	}
	printf("%ld\n", counter);
}

static void do_race(void)
{
	start(4, race);
	join(4);
}

static void do_kill(void)
{
	start(3, spin_and_call);
	for (int i = 0; i < 100; i++) {
		pthread_kill(threads[i % 3], SIGUSR1);
		work(100000);
	}
	is_over = 1;
	join(3);
}

static void do_interrupt(void)
{
	start(3, nap);
	for (int i = 0; i < 100; i++) {
		pthread_kill(threads[i % 3], SIGUSR1);
		usleep(500);
	}
	is_over = 1;
	join(3);
}

static void do_timer(void)
{
	struct itimerval it = { { 0, 3000 }, { 0, 3000 } }, off = {};

	start(3, spin_and_call);
	setitimer(ITIMER_REAL, &it, NULL);
	while (n_handled < 50)
		getppid();
	setitimer(ITIMER_REAL, &off, NULL);
	is_over = 1;
	join(3);
}

static void do_robust(void)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	for (int i = 0; i < 30; i++) {
		pthread_mutex_init(&robust, &attr);
		turn = 0;
		start(1, die_with_lock);
		while (!turn)
			usleep(100);
		if (pthread_mutex_lock(&robust) != EOWNERDEAD)
			abort();
		pthread_mutex_consistent(&robust);
		pthread_mutex_unlock(&robust);
		join(1);
	}
}

static void do_clock(void)
{
	start(4, read_clock);
	join(4);
}

static void do_calls(void)
{
	start(8, call);
	join(8);
}

static void do_nothing(void)
{
	start(4, call_nothing);
	join(4);
}

static void do_read(void)
{
	start(24, read_much);
	join(24);
}

static void do_detached(void)
{
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	for (int i = 0; i < 200; i++)
		pthread_create(&threads[0], &attr, count, NULL);
	while (counter < 200)
		usleep(100);
	printf("%ld\n", counter);
}

static void do_crash(void)
{
	start(3, spin_and_call);
	pthread_create(&threads[3], NULL, crash, (void *)2);
	join(4);
}

static void do_execute(void)
{
	start(3, spin_and_call);
	pthread_create(&threads[3], NULL, execute, NULL);
	join(4);
}

static void do_exit(void)
{
	start(4, spin);
	work(3000000);
	puts("leaving");
	exit(7);
}

static void do_leave_first(void)
{
	start(2, spin_and_call);
	fflush(stdout);
	if (!fork()) {
		usleep(50000);
		_exit(0);
	}
	is_over = 1;
	pthread_exit(NULL);
}

static void do_fork(void)
{
	int status;

	start(2, spin_and_call);
	for (int i = 0; i < 10; i++) {
		pid_t pid = fork();

		if (!pid)
			_exit(i);
		waitpid(pid, &status, 0);
		counter += status;
	}
	is_over = 1;
	join(2);
}

static void do_spawn(void)
{
	char *argv[] = { "true", NULL };
	int status;
	pid_t pid;

	start(2, race);
	for (int i = 0; i < 10; i++) {
		if (posix_spawn(&pid, "/bin/true", NULL, NULL, argv, NULL))
			abort();
		waitpid(pid, &status, 0);
	}
	join(2);
}

static void do_stop(void)
{
	start(2, spin_and_call);
	for (int i = 0; i < 5; i++) {
		pid_t pid = fork();

		if (!pid) {
			kill(getppid(), SIGSTOP);
			usleep(2000);
			kill(getppid(), SIGCONT);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
	}
	is_over = 1;
	join(2);
}

static const struct {
	const char *name;
	void (*fn)(void);
} programs[] = {
	{ "alternate", do_alternate }, { "spin", do_spin },
	{ "create", do_create },       { "race", do_race },
	{ "kill", do_kill },	       { "interrupt", do_interrupt },
	{ "timer", do_timer },	       { "robust", do_robust },
	{ "clock", do_clock },	       { "calls", do_calls },
	{ "nothing", do_nothing },     { "read", do_read },
	{ "detached", do_detached },   { "crash", do_crash },
	{ "execute", do_execute },     { "exit", do_exit },
	{ "leave", do_leave_first },   { "fork", do_fork },
	{ "spawn", do_spawn },	       { "stop", do_stop },
};

int main(int argc, char **argv)
{
	signal(SIGUSR1, on_signal);
	signal(SIGALRM, on_signal);
	for (size_t i = 0; argc > 1 && i < sizeof(programs) / sizeof(programs[0]); i++)
		if (!strcmp(programs[i].name, argv[1])) {
			programs[i].fn();
			return 0;
		}
	return 2;
}
