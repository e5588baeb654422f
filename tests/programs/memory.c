// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Memory from everywhere: mapped files, mremap, mprotect, munmap and map again at the
 * same place, brk, large reads, a deep stack. `memory shared` maps a file shared too.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGES 300
#define FILE_BYTES (PAGES * 4096 + 123)

static uint64_t sum_bytes(const unsigned char *p, size_t n)
{
	uint64_t sum = 14695981039346656037u, word;
	size_t i;

	for (i = 0; i + sizeof(word) <= n; i += sizeof(word)) {
		memcpy(&word, p + i, sizeof(word));
		sum = (sum ^ word) * 1099511628211u;
	}
	for (; i < n; i++)
		sum = (sum ^ p[i]) * 1099511628211u;
	return sum;
}

static void fill_file(int fd)
{
	unsigned char *data = malloc(FILE_BYTES);
	uint32_t x = 1;

	if (!data)
		exit(2);
	for (size_t i = 0; i < FILE_BYTES; i++)
		data[i] = (x = x * 1664525 + 1013904223) >> 24;
	if (write(fd, data, FILE_BYTES) != FILE_BYTES)
		exit(2);
	free(data);
}

static unsigned char *map_file(int fd, int flags, size_t size, off_t offset)
{
	unsigned char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, flags, fd, offset);

	if (p == MAP_FAILED)
		exit(2);
	return p;
}

static void do_mapped_files(int fd)
{
	unsigned char *p = map_file(fd, MAP_PRIVATE, FILE_BYTES, 0), *q, *again;

	printf("private at %p: %lx\n", (void *)p, sum_bytes(p, FILE_BYTES));
	memset(p + 5000, 1, 9000);
	printf("written: %lx\n", sum_bytes(p, FILE_BYTES));
	again = mmap(p + 8 * 4096, 4096, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 4096);
	printf("page 1 over page 8: %lx\n", sum_bytes(again, 4096));
	munmap(p + 20 * 4096, 4096);
	q = map_file(fd, MAP_PRIVATE, 8192, 17 * 4096);
	printf("two pages at 17: %lx\n", sum_bytes(q, 8192));
	munmap(p, FILE_BYTES);
}

static void do_shared(int fd)
{
	unsigned char *p = map_file(fd, MAP_PRIVATE, FILE_BYTES, 0);
	unsigned char *q = map_file(fd, MAP_SHARED, FILE_BYTES, 0);

	printf("shared: %lx\n", sum_bytes(q, FILE_BYTES));
	q[4100] ^= 0x55;
	printf("shared, written: %lx, private sees %x\n", sum_bytes(q, FILE_BYTES),
	       p[4100]);
	munmap(q, FILE_BYTES);
	munmap(p, FILE_BYTES);
}

static void do_anonymous(void)
{
	unsigned char *p = mmap(NULL, 64 * 4096, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
		      *q;

	for (size_t i = 0; i < 64 * 4096; i += 7)
		p[i] = i;
	q = mremap(p, 64 * 4096, 5000 * 4096, MREMAP_MAYMOVE);
	printf("moved: %lx\n", sum_bytes(q, 200 * 4096));
	mprotect(q, 4096, PROT_READ);
	printf("read only: %lx\n", sum_bytes(q, 4096));
	mprotect(q, 4096, PROT_READ | PROT_WRITE);
	madvise(q + 4096, 4096, MADV_DONTNEED);
	printf("dropped: %lx\n", sum_bytes(q, 3 * 4096));
	munmap(q, 5000 * 4096);
}

static void do_brk(void)
{
	char *before = sbrk(0), *p = sbrk(1 << 20);

	printf("brk %p grows %d\n", (void *)before, p == before);
	memset(p, 3, 1 << 20);
	sbrk(-(1 << 19));
	sbrk(1 << 19);
	printf("brk again: %lx\n", sum_bytes((unsigned char *)p, 1 << 20));
}

static void do_large_reads(int fd)
{
	unsigned char *data = malloc(FILE_BYTES);
	ssize_t n;

	lseek(fd, 0, SEEK_SET);
	n = read(fd, data, FILE_BYTES);
	printf("read %zd at once: %lx\n", n, sum_bytes(data, n));
	n = pread(fd, data + 1, FILE_BYTES - 1, 4000);
	printf("pread %zd: %lx\n", n, sum_bytes(data, FILE_BYTES));
	free(data);
}

static __attribute__((noinline)) uint64_t recurse(unsigned depth, uint64_t seed)
{
	volatile unsigned char frame[150];

	frame[seed % sizeof(frame)] = depth;
	if (depth == 0)
		return seed;
	return recurse(depth - 1, seed * 31 + depth) + frame[seed % sizeof(frame)];
}

int main(int argc, char **argv)
{
	char path[] = "/tmp/faultline-memory.XXXXXX";
	int fd = mkstemp(path), is_deep;

	if (fd < 0)
		return 2;
	fill_file(fd);
	do_mapped_files(fd);
	if (argc > 1 && strcmp(argv[1], "shared") == 0)
		do_shared(fd);
	do_anonymous();
	do_brk();
	do_large_reads(fd);
	is_deep = argc > 1 && !strcmp(argv[1], "deep");
	printf("recursion: %lx\n", recurse(is_deep ? 500000 : 25000, 1));
	unlink(path);
	return 0;
}
