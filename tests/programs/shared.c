// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Memory under several addresses, which the program alone writes: a file mapped shared
 * twice and private once, code written through one mapping and run through the other, a
 * ring buffer whose end is its beginning, System V segments. `shared other FILE` maps FILE
 * and waits until another process has written into it.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096

static unsigned char *map(void *at, size_t size, int prot, int flags, int fd,
			  off_t offset)
{
	unsigned char *p = mmap(at, size, prot, flags, fd, offset);

	if (p == MAP_FAILED) {
		perror("mmap");
		_exit(2);
	}
	return p;
}

static int memory(size_t size)
{
	int fd = memfd_create("shared", 0);

	if (fd < 0 || ftruncate(fd, size))
		_exit(2);
	return fd;
}

static void do_file(void)
{
	int fd = memory(8 * PAGE), rw = PROT_READ | PROT_WRITE;
	unsigned char *a = map(NULL, 8 * PAGE, rw, MAP_SHARED, fd, 0), *b, *c, *d;

	a[5] = 1;
	madvise(a, PAGE, MADV_DONTNEED); // the file keeps it
	b = map(NULL, 4 * PAGE, rw, MAP_SHARED, fd, 2 * PAGE);
	c = map(NULL, 8 * PAGE, rw, MAP_PRIVATE, fd, 0);
	a[2 * PAGE + 7] = 3;
	b[PAGE] = 4;
	c[3 * PAGE + 1] = 9;
	b[PAGE + 1] = 5;
	printf("file %d %d %d %d %d\n", a[5], b[7], a[3 * PAGE], c[2 * PAGE + 7],
	       c[3 * PAGE + 1]);
	d = mremap(b, 4 * PAGE, 4 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED,
		   map(NULL, 4 * PAGE, rw, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	d[9] = 6;
	munmap(a, PAGE);
	mprotect(a + 2 * PAGE, PAGE, PROT_READ);
	d[10] = 7;
	printf("moved %d %d\n", a[2 * PAGE + 9], a[2 * PAGE + 10]);
	munmap(c, 8 * PAGE);
	close(fd);
}

static void do_code(void)
{
	int fd = memory(PAGE);
	unsigned char *w = map(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	unsigned char *x = map(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	unsigned char code[] = { 0xb8, 0, 0, 0, 0, 0x01, 0xf8, 0xc3 };
	uint64_t sum = 0;

	for (int i = 0; i < 300; i++) {
		memcpy(code + 1, &i, sizeof(i));
		memcpy(w + (i & 3) * 16, code, sizeof(code));
		sum = sum * 3 + ((int (*)(int))(uintptr_t)(x + (i & 3) * 16))(i * 7);
	}
	printf("code %lx\n", sum);
}

static void do_ring(void)
{
	int fd = memory(PAGE), rw = PROT_READ | PROT_WRITE;
	unsigned char *p =
		map(NULL, 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	map(p, PAGE, rw, MAP_SHARED | MAP_FIXED, fd, 0);
	map(p + PAGE, PAGE, rw, MAP_SHARED | MAP_FIXED, fd, 0);
	strcpy((char *)p + PAGE - 5, "around the end");
	printf("ring '%s' %d\n", (char *)p, p[PAGE] == p[0]);
}

static void do_segment(void)
{
	int id = shmget(IPC_PRIVATE, 3 * PAGE, 0600 | IPC_CREAT);
	char *a = shmat(id, NULL, 0), *b = shmat(id, NULL, SHM_RDONLY);

	shmctl(id, IPC_RMID, NULL);
	if (a == (void *)-1 || b == (void *)-1)
		_exit(2);
	strcpy(a + PAGE, "in a segment");
	printf("segment '%s'\n", b + PAGE);
	printf("detached %d\n", shmdt(a));
	printf("still '%s'\n", b + PAGE);
	shmdt(b);
}

/* What a checkpoint must bring back: each step builds on what the memory held. */
static void do_count(void)
{
	int fd = memory(PAGE), rw = PROT_READ | PROT_WRITE;
	volatile uint64_t *a = (uint64_t *)map(NULL, PAGE, rw, MAP_SHARED, fd, 0);
	volatile uint64_t *b = (uint64_t *)map(NULL, PAGE, rw, MAP_SHARED, fd, 0);

	for (int i = 0; i < 30000; i++)
		a[i & 1] = b[~i & 1] * 3 + i;
	printf("count %lx %lx\n", b[0], b[1]);
}

static int wait_for_other(const char *path)
{
	int fd = open(path, O_RDWR);
	volatile unsigned char *p =
		map(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	struct timespec tick = { 0, 20000000 };

	puts("waiting");
	fflush(stdout);
	for (int i = 0; i < 6000 && !p[0]; i++)
		nanosleep(&tick, NULL);
	printf("other wrote %d\n", p[0]);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc > 2)
		return wait_for_other(argv[2]);
	do_file();
	do_code();
	do_ring();
	do_segment();
	do_count();
	return 0;
}
