#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# A program that knows how many system calls it makes agrees with its capture, and each
# byte that it read is there: many small calls, sizes around the ring's own borders, one
# call with more than the kernel side takes, scattered reads.
. tests/lib.sh

need cc perl
cat >"$TMPDIR/p.c" <<'C'
#include <stdio.h>
#include <fcntl.h>
#include <unistd.h>
#include <sys/syscall.h>
#include <sys/uio.h>

static char buf[3 << 20];

static void echo(const char *p, long n)
{
	while (n > 0) {
		long m = write(1, p, n);

		if (m <= 0)
			_exit(1);
		p += m;
		n -= m;
	}
}

int main(void)
{
	static const int sizes[] = { 1, 7, 8, 4096, 32743, 32744, 32745, 32768, 32769,
				     65536, 1 << 20, (1 << 20) + 1, 3 << 20 };
	struct iovec v[3] = { { buf + 5, 10 }, { buf + 100, 70000 }, { buf + 90000, 3 } };
	int random = open("/dev/urandom", O_RDONLY);

	for (int i = 0; i < 200000; i++)
		syscall(SYS_getppid);
	for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		for (int k = 0; k < 3; k++)
			echo(buf, read(random, buf, sizes[i]));
	if (readv(random, v, 3) == 70013)
		for (int i = 0; i < 3; i++)
			echo(v[i].iov_base, v[i].iov_len);
	return 0;
}
C
cc -O2 -o "$TMPDIR/p" "$TMPDIR/p.c" || fail "cannot compile"
make_capture "$TMPDIR/c" "$TMPDIR/p"
n=$("$FAULTLINE" dump "$TMPDIR/c" | grep -c 'SYSCALL getppid')
[ "$n" = 200000 ] || fail "$n of 200000 calls recorded"

# Reads before the first getppid are the dynamic linker's.
"$FAULTLINE" dump -m "$TMPDIR/c" |
	perl -ne '$on ||= /SYSCALL getppid/; next unless $on && /SYSCALL readv?\(/;
		print pack("H*", $1) while /\[[0-9a-f]+\+\d+\]=([0-9a-f]+)/g' \
		>"$TMPDIR/recorded"
cmp "$TMPDIR/c.out" "$TMPDIR/recorded" || fail "recorded bytes are not those read"
