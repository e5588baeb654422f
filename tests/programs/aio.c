// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// Reads the beginning of a file with the kernel's asynchronous I/O (io_submit), or, as databases do
// where there is none, without. Prints it.
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static char buf[64];

static long read_asynchronously(int fd)
{
	struct iocb read = { .aio_fildes = fd,
			     .aio_lio_opcode = IOCB_CMD_PREAD,
			     .aio_buf = (uintptr_t)buf,
			     .aio_nbytes = sizeof(buf) - 1 };
	struct iocb *list[] = { &read };
	struct io_event done = {};
	aio_context_t ctx = 0;

	if (syscall(SYS_io_setup, 8, &ctx))
		return errno == ENOSYS ? pread(fd, buf, sizeof(buf) - 1, 0) : -1;
	if (syscall(SYS_io_submit, ctx, 1, list) != 1 ||
	    syscall(SYS_io_getevents, ctx, 1, 1, &done, NULL) != 1)
		return -1;
	syscall(SYS_io_destroy, ctx);
	return done.res;
}

int main(int argc, char **argv)
{
	int fd = argc > 1 ? open(argv[1], O_RDONLY) : -1;
	long n = read_asynchronously(fd);

	printf("%ld bytes: %s\n", n, buf);
	return n < 0;
}
