#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# A process that executes another program just when it is attached to: the capture is that of the
# program that was recorded, and has its name. And a program whose file is gone names it, too.
. tests/lib.sh

need gcc gojq
need_bpf
[ "$(id -u)" = 0 ] || skip "the recorder must be preloaded"
grep -qs -e -fsanitize= "$BUILD/.flags" && skip "a sanitizer's library insists on being first"

# Behind the Nth look at /proc/PID/exe it executes another one.
cat >"$TMPDIR/late.c" <<'EOF'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int *looks; // of all processes

__attribute__((constructor)) static void begin(void)
{
	looks = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

ssize_t readlink(const char *path, char *to, size_t size)
{
	ssize_t (*real)(const char *, char *, size_t) =
		(ssize_t (*)(const char *, char *, size_t))dlsym(RTLD_NEXT, "readlink");
	ssize_t n = real(path, to, size);
	char now[4096];

	if (strcmp(path, getenv("LATE_PATH")) || ++*looks != atoi(getenv("LATE_AT")))
		return n;
	int fd = open(getenv("LATE_PIPE"), O_WRONLY);

	write(fd, "\n", 1);
	close(fd);
	do
		usleep(1000);
	while (real(path, now, sizeof(now)) == n && !memcmp(now, to, n));
	return n;
}

ssize_t __readlink_chk(const char *path, char *to, size_t size, size_t room)
{
	(void)room;
	return readlink(path, to, size);
}
EOF
gcc -w -shared -fPIC -o "$TMPDIR/late.so" "$TMPDIR/late.c" -ldl || fail "gcc"
cp "$(command -v sleep)" "$TMPDIR/second"
cd "$TMPDIR" || exit 1
mkfifo pipe
# A third look comes when it stands still.
for at in 1 2; do
	sh -c 'read x <pipe; exec ./second 1000' &
	pid=$!
	# An own descriptor keeps the pipe open until it has read.
	until_true grep -q sh "/proc/$pid/comm"
	LATE_PATH=/proc/$pid/exe LATE_AT=$at LATE_PIPE=pipe LD_PRELOAD=$TMPDIR/late.so \
		"$FAULTLINE" record --duration 0.2 -p $pid >out 2>err
	got=$?
	kill -KILL $pid
	wait $pid 2>/dev/null
	[ $got = 0 ] || fail "at look $at: status $got, $(cat err)"
	capture=$(echo *.flt)
	[ -f "$capture/manifest.json" ] || fail "at look $at: $(ls)"
	exe=$(jq -r .exe "$capture/manifest.json")
	[ "$capture" = "$(basename "$exe").flt" ] || fail "at look $at: $capture is of $exe"
	[ $at != 1 ] || [ "$capture" = second.flt ] || fail "it is of what ran before: $capture"
	expect_status 0 "$FAULTLINE" replay "$capture"
	rm -r "$capture"
done

./second 1000 &
pid=$!
until_true grep -q second "/proc/$pid/comm"
rm second
"$FAULTLINE" record --duration 0.1 -p $pid >out 2>err || fail "$(cat err)"
kill -KILL $pid
[ -f second.flt/manifest.json ] || fail "its file is gone: $(ls)"
exit 0
