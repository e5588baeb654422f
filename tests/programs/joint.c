// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Processes that share memory, and that see what the others write while they compute. Each prints
 * a number that depends on the order in which all of them wrote; the last line is "end".
 *
 *   joint spin      two take turns by a word on which they spin, and race for another
 *   joint ring      one hands numbers to another through a ring, with futexes
 *   joint mutex     four share a mutex; one of them ends while it has it
 *   joint shm       three programs, executed by name, open shared memory by name
 *   joint segment   three attach a System V segment, each for itself
 *   joint leave     one writes, and unmaps what it wrote at once
 *   joint file      one writes by calls into a file that the other one has mapped
 *   joint numbers   one maps file after file, each deleted before the next is made, which gets its number
 *   joint alarm     signals land in loops that read what the other one writes
 *   joint lost      one of two makes a call that cannot be replayed (int 0x80)
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define CELLS 1024

struct memory {
	_Atomic uint32_t turn, head, tail, ready;
	uint64_t sum, raced;
	pthread_mutex_t mutex;
	uint64_t cells[CELLS];
};

static struct memory *m;

static struct memory *map(int fd)
{
	return mmap(NULL, sizeof(*m), PROT_READ | PROT_WRITE,
		    MAP_SHARED | (fd < 0 ? MAP_ANONYMOUS : 0), fd, 0);
}

static void spend(uint64_t n)
{
	for (volatile uint64_t i = 0; i < n; i++)
		;
}

/* Every cell that it reads may just have been written by another. */
static uint64_t mix(uint64_t me, int times)
{
	uint64_t h = me;

	for (int i = 0; i < times; i++) {
		m->sum = m->sum * 31 + me;
		m->cells[m->sum % CELLS] ^= h + m->sum;
		h = h * 31 + m->cells[i % CELLS];
	}
	return h;
}

static void wait_all(void)
{
	while (wait(NULL) > 0)
		;
	printf("end %lx %lx\n", m->sum, m->raced);
}

static void finish(unsigned me, uint64_t h)
{
	printf("%u: %lx\n", me, h);
	fflush(stdout);
	_exit(0);
}

static void spin(void)
{
	unsigned me = !fork();
	uint64_t h = 1;

	for (unsigned i = 0; i < 6; i++) {
		while (m->turn % 2 != me)
			h++;
		h = h * 31 + (m->sum = m->sum * 31 + i);
		m->turn++;
		for (int k = 0; k < 3000; k++)
			h = h * 31 + m->raced++;
	}
	if (me)
		finish(me, h);
	printf("0: %lx\n", h);
}

static void sleep_on(_Atomic uint32_t *word, uint32_t value)
{
	syscall(SYS_futex, word, FUTEX_WAIT, value, NULL, NULL, 0);
}

static void wake(_Atomic uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void ring(void)
{
	uint64_t h = 1;

	if (!fork()) {
		for (uint32_t i = 0; i < 1000; i++) {
			while (m->head == m->tail)
				sleep_on(&m->head, m->tail);
			h = h * 31 + m->cells[i % 16];
			m->tail++;
			wake(&m->tail);
		}
		finish(1, h);
	}
	for (uint32_t i = 0; i < 1000; i++) {
		while (m->head - m->tail == 16)
			sleep_on(&m->tail, m->head - 16);
		m->cells[i % 16] = h = h * 6364136223846793005u + 1;
		spend(h >> 57);
		m->head++;
		wake(&m->head);
	}
}

static void take(pthread_mutex_t *mutex)
{
	if (pthread_mutex_lock(mutex) == EOWNERDEAD)
		pthread_mutex_consistent(mutex);
}

static void mutex(void)
{
	pthread_mutexattr_t a;

	pthread_mutexattr_init(&a);
	pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&m->mutex, &a);
	for (unsigned p = 0; p < 4; p++) {
		uint64_t h = p;

		if (fork())
			continue;
		for (int i = 0; i < 100; i++) {
			take(&m->mutex);
			h ^= mix(p, 3);
			if (i % 10 == 0)
				sched_yield();
			if (p == 2 && i == 50)
				_exit(0);
			pthread_mutex_unlock(&m->mutex);
			spend(5000);
		}
		finish(p, h);
	}
}

static void shm(const char *self)
{
	char name[64];
	int fd;

	snprintf(name, sizeof(name), "/faultline-joint-%d", getpid());
	fd = shm_open(name, O_RDWR | O_CREAT, 0600);
	if (fd < 0 || ftruncate(fd, sizeof(*m)))
		exit(1);
	for (int p = 1; p <= 3; p++) {
		char me[8];

		snprintf(me, sizeof(me), "%d", p);
		if (!fork()) {
			execl(self, self, "opened", name, me, NULL);
			_exit(127);
		}
	}
	m = map(fd);
	wait_all();
	shm_unlink(name);
	exit(0);
}

static void opened(const char *name, unsigned me)
{
	m = map(shm_open(name, O_RDWR, 0));
	m->ready++;
	while (m->ready < 3)
		sched_yield();
	finish(me, mix(me, 30000));
}

static void segment(void)
{
	int id = shmget(IPC_PRIVATE, sizeof(*m), 0600);

	for (unsigned p = 1; p <= 3; p++)
		if (!fork()) {
			m = shmat(id, NULL, 0);
			finish(p, mix(p, 100000));
		}
	m = shmat(id, NULL, 0);
	shmctl(id, IPC_RMID, NULL);
}

static void leave(void)
{
	int fd = memfd_create("left", 0);

	if (ftruncate(fd, sizeof(*m)))
		exit(1);
	m = map(fd);
	if (!fork()) {
		for (int i = 0; i < 50; i++) {
			struct memory *own = map(fd);

			own->sum = own->sum * 31 + i;
			own->turn++;
			munmap(own, sizeof(*own));
		}
		_exit(0);
	}
	for (uint64_t seen = 0, h = 0; seen < 50; seen = m->turn)
		m->raced = h = h * 31 + m->turn;
}

static volatile sig_atomic_t n_alarms;

static void on_alarm(int signo)
{
	(void)signo;
	n_alarms++;
	m->sum = m->sum * 31 + m->raced;
}

static void alarms(void)
{
	const struct itimerval often = { { 0, 2000 }, { 0, 2000 } };
	unsigned me = !fork();
	uint64_t h = me;

	signal(SIGALRM, on_alarm);
	setitimer(ITIMER_REAL, &often, NULL);
	while (n_alarms < 8)
		h = h * 31 + m->raced++;
	setitimer(ITIMER_REAL, &(struct itimerval){}, NULL);
	if (me)
		finish(me, h);
	printf("0: %lx\n", h);
}

static void lost(void)
{
	uint64_t h = 1;

	if (!fork()) {
		long ret = 20; // getpid

		__asm__ volatile("int $0x80" : "+a"(ret)::"memory");
		finish(1, mix(ret != 0, 1000) + !(m->ready = 1));
	}
	while (!m->ready)
		h++;
	printf("0: %d\n", h > 0);
}

static void file(void)
{
	FILE *f = tmpfile();
	int fd = f ? fileno(f) : -1;

	if (ftruncate(fd, sizeof(*m)))
		exit(1);
	m = map(fd);
	if (!fork()) {
		// What it has no mapping of itself.
		munmap(m, sizeof(*m));
		for (uint32_t i = 1; i <= 50; i++) {
			uint64_t sum = i * 6364136223846793005u;

			pwrite(fd, &sum, sizeof(sum), offsetof(struct memory, sum));
			lseek(fd, offsetof(struct memory, turn), SEEK_SET);
			if (write(fd, &i, sizeof(i)) != sizeof(i))
				_exit(1);
		}
		_exit(0);
	}
	for (uint64_t seen = 0, h = 0; seen < 50; seen = m->turn)
		m->raced = h = h * 31 + m->turn + m->sum;
}

/* Inodes are given again: on ext4 at once, on tmpfs never. */
static void numbers(void)
{
	uint64_t h = 1;

	if (!fork()) {
		for (uint64_t i = 0; i < 20; i++, usleep(1000))
			m->sum = m->sum * 31 + i;
		_exit(0);
	}
	for (uint64_t i = 0; i < 20; i++) {
		FILE *f = tmpfile();
		uint64_t *words;

		if (!f || ftruncate(fileno(f), sizeof(*m)))
			_exit(2);
		words = (uint64_t *)map(fileno(f));
		for (uint64_t k = 0; k < sizeof(*m) / sizeof(*words); k++) {
			h = h * 31 + words[k];
			words[k] = h + i;
		}
		munmap(words, sizeof(*m));
		fclose(f);
	}
	printf("numbers %lx\n", h);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} all[] = { { "spin", spin },	    { "ring", ring },	{ "mutex", mutex },
		    { "segment", segment }, { "leave", leave }, { "alarm", alarms },
		    { "lost", lost },	    { "file", file },	{ "numbers", numbers } };

	if (argc == 4)
		opened(argv[2], atoi(argv[3]));
	if (argc == 2 && !strcmp(argv[1], "shm"))
		shm(argv[0]);
	m = map(-1);
	for (size_t i = 0; argc == 2 && i < sizeof(all) / sizeof(*all); i++)
		if (!strcmp(argv[1], all[i].name)) {
			all[i].run();
			wait_all();
			return 0;
		}
	return 2;
}
