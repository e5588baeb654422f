// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * More than a recorder can take: `pressure calls N` makes N system calls in a row,
 * `pressure alike N` as many of which one is like the other to the last flag,
 * `pressure pipe BYTES` reads so much that a child writes into a pipe. Prints what it
 * counted itself: calls, or reads, bytes and their checksum.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static uint64_t words[8192];

/** Neither constant, nor too much for a disk: each word stands 64 times. */
static void fill(uint64_t *x)
{
	for (size_t i = 0; i < 8192; i++) {
		if (i % 64 == 0)
			*x = *x * 6364136223846793005ull + 1442695040888963407ull;
		words[i] = *x;
	}
}

static int write_all(int fd, uint64_t bytes)
{
	uint64_t x = 1;

	while (bytes) {
		size_t n = bytes < sizeof(words) ? bytes : sizeof(words);

		fill(&x);
		for (size_t done = 0; done < n;) {
			ssize_t w = write(fd, (char *)words + done, n - done);

			if (w <= 0)
				return 1;
			done += w;
		}
		bytes -= n;
	}
	return 0;
}

static int read_all(uint64_t bytes)
{
	unsigned long long reads = 0, total = 0, sum = 0;
	int fds[2], status;
	ssize_t n;

	if (pipe(fds))
		return 1;
	if (!fork()) {
		close(fds[0]);
		_exit(write_all(fds[1], bytes));
	}
	close(fds[1]);
	while ((n = read(fds[0], words, sizeof(words))) > 0) {
		reads++;
		total += n;
		sum = sum * 31 + words[0];
	}
	wait(&status);
	printf("reads %llu bytes %llu sum %llx\n", reads, total, sum);
	return status;
}

/** With the same registers each time: what counts is in memory. */
static void call_alike(unsigned long long n)
{
	static volatile unsigned long long made;

	while (made < n) {
		long ret = SYS_getppid;

		__asm__ volatile("xor %%edi, %%edi\n\t" // and the flags
				 "syscall"
				 : "+a"(ret)
				 :
				 : "rcx", "rdi", "r11", "memory");
		made++;
	}
	printf("calls %llu\n", made);
}

int main(int argc, char **argv)
{
	unsigned long long n = argc > 2 ? strtoull(argv[2], NULL, 10) : 0, made = 0;

	if (n && !strcmp(argv[1], "pipe"))
		return read_all(n);
	if (n && !strcmp(argv[1], "alike")) {
		call_alike(n);
		return 0;
	}
	while (made < n)
		made += syscall(SYS_getppid) >= 0;
	printf("calls %llu\n", made);
	return 0;
}
