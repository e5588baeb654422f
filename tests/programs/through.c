// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Memory that changes without being written to: through the file that is mapped there, through
 * /proc/self/mem, by calls that fail half done, by mappings that grow, stay or come again.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#ifndef MADV_DONTNEED_LOCKED
#define MADV_DONTNEED_LOCKED 24
#endif
#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif

#define PAGE 4096
#define RW (PROT_READ | PROT_WRITE)

static sigjmp_buf back;

static void on_fault(int signo)
{
	siglongjmp(back, signo);
}

/** What each page begins with, or the signal that reading it gives. */
static void print(const char *what, const volatile char *p, int pages)
{
	printf("%s:", what);
	for (volatile int i = 0; i < pages; i++) {
		int signo = sigsetjmp(back, 1);

		if (signo)
			printf(" signal %d", signo);
		else
			printf(" %d,%d", p[i * PAGE], p[i * PAGE + 100]);
	}
	printf("\n");
}

static char *map(size_t pages, int prot, int flags, int fd, off_t offset)
{
	char *p = mmap(NULL, pages * PAGE, prot, flags, fd, offset);

	if (p == MAP_FAILED) {
		perror("mmap");
		_exit(2);
	}
	return p;
}

static char *map_bytes(int fd, size_t bytes)
{
	char *p = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, fd, 0);

	return p == MAP_FAILED ? "" : p;
}

/** A file of @p pages: the nth is full of 10 + n. */
static int make_file(int pages)
{
	char name[] = "/tmp/faultline-through.XXXXXX", page[PAGE];
	int fd = mkstemp(name);

	unlink(name);
	for (int i = 0; i < pages; i++) {
		memset(page, 10 + i, PAGE);
		if (write(fd, page, PAGE) != PAGE)
			_exit(2);
	}
	return fd;
}

static void do_writes(void)
{
	int fd = make_file(3), from = make_file(1);
	char *shared = map(3, PROT_READ, MAP_SHARED, fd, 0);
	char *own = map(2, RW, MAP_PRIVATE, fd, PAGE);
	struct iovec v[2] = { { "\x21", 1 }, { "\x22\x23", 2 } };
	off_t at = 2 * PAGE, zero = 0;

	print("before", shared, 3);
	own[PAGE] = 99; // this page is not the file's any more
	print("pwrite", shared, pwrite(fd, "\x20", 1, 100) + 2);
	lseek(fd, PAGE, SEEK_SET);
	printf("writev %zd ", writev(fd, v, 2));
	print("", shared, 3);
	print("private", own, 2);
	printf("copy %zd ", copy_file_range(from, &zero, fd, &at, 5, 0));
	print("", shared, 3);
	lseek(fd, 2 * PAGE + 98, SEEK_SET);
	zero = 0;
	printf("send %zd ", sendfile(fd, from, &zero, 4));
	print("", shared, 3);
	print("private", own, 2);
}

static void do_sizes(void)
{
	int fd = make_file(4);
	char *shared = map(5, PROT_READ, MAP_SHARED, fd, 0);
	char *own = map(4, RW, MAP_PRIVATE, fd, 0);

	own[2 * PAGE] = 99;
	print("whole", shared, 5);
	printf("shrink %d ", ftruncate(fd, PAGE + 50));
	print("", shared, 4);
	print("private", own, 4);
	printf("grow %d ", ftruncate(fd, 3 * PAGE));
	print("", shared, 4);
	print("private", own, 4);
	printf("append %zd ", pwrite(fd, "\x2a", 1, 3 * PAGE));
	print("", shared, 4);
	fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, PAGE);
	print("hole", shared, 4);
}

static void do_own_memory(void)
{
	int fd = open("/proc/thread-self/mem", O_RDWR);
	char *p = map(1, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	printf("mem %zd ", pwrite(fd, "\x31", 1, (off_t)p));
	print("", p, 1);
	lseek(fd, (off_t)p + 100, SEEK_SET);
	printf("mem %zd ", write(fd, "\x32", 1));
	print("", p, 1);
}

static void do_moves(void)
{
	int fd = make_file(4);
	char *p = map(1, RW, MAP_PRIVATE, fd, 0), *q, *place;

	p[0] = 5;
	p = mremap(p, PAGE, 3 * PAGE, MREMAP_MAYMOVE);
	print("grown", p, 3);
	p = mremap(map(1, RW, MAP_SHARED, fd, PAGE), PAGE, 3 * PAGE, MREMAP_MAYMOVE);
	p[2 * PAGE] = 6;
	print("grown, shared", p, 3);
	p = map(2, RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(p, 7, 2 * PAGE);
	q = mremap(p, 2 * PAGE, 2 * PAGE, MREMAP_MAYMOVE | MREMAP_DONTUNMAP);
	if (q != MAP_FAILED) {
		print("left", p, 2);
		print("gone", q, 2);
	}
	p = map(2, RW, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	p[PAGE] = 8;
	place = map(2, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	q = mremap(p, 0, 2 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, place);
	q[0] = 9;
	p[PAGE + 100] = 10;
	print("once", p, 2);
	print("twice", q, 2);
}

static void do_half_done(void)
{
	char *p = map(5, RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int file = make_file(2), fd;
	char name[64];

	memset(p, 3, 5 * PAGE);
	munmap(p + 2 * PAGE, PAGE);
	printf("the rest of a page: %d\n", map_bytes(file, 2)[100]);
	printf("over a hole %d ", madvise(p + PAGE, 4 * PAGE, MADV_DONTNEED));
	print("", p, 2);
	print("behind", p + 3 * PAGE, 2);
	memset(p + 3 * PAGE, 4, 2 * PAGE);
	mlock(p + 4 * PAGE, PAGE);
	printf("locked %d ", madvise(p + 3 * PAGE, 2 * PAGE, MADV_DONTNEED));
	print("", p + 3 * PAGE, 2);
	printf("all the same %d ", madvise(p + 3 * PAGE, 2 * PAGE, MADV_DONTNEED_LOCKED));
	print("", p + 3 * PAGE, 2);
	printf("protect %d ", mprotect(p, 5 * PAGE, PROT_NONE));
	print("", p, 2);
	print("behind", p + 3 * PAGE, 2);
	p = map(2, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	snprintf(name, sizeof(name), "/proc/self/fd/%d", file);
	fd = open(name, O_RDONLY);
	mmap(p + PAGE, PAGE, PROT_READ, MAP_SHARED | MAP_FIXED, fd, 0);
	printf("not ours %d ", mprotect(p, 2 * PAGE, RW));
	if (!sigsetjmp(back, 1))
		p[0] = 44;
	print("", p, 2);
	p = map(2, RW, MAP_PRIVATE, file, 0);
	p[0] = p[PAGE] = 1;
	madvise(p, PAGE, MADV_DONTNEED);
	print("the file again", p, 2);
}

int main(void)
{
	signal(SIGBUS, on_fault);
	signal(SIGSEGV, on_fault);
	do_writes();
	do_sizes();
	do_own_memory();
	do_moves();
	do_half_done();
	return 0;
}
