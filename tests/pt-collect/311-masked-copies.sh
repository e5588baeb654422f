#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# --mask-env: a program has copies of the value in its arguments, on heap and stack, in files and
# a pipe, across the ends of reads and pages, in freed memory. None is in the capture, and the
# replay, which has x's in all of them, matches. What cannot be replaced is told of. --omit: what
# read() brought is not there either.
. tests/lib.sh

need cc zstd python3
need_bpf
cat >"$TMPDIR/p.c" <<'C'
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

static char page[3 * 4096] __attribute__((aligned(4096)));
static volatile int n_signals;

static void handler(int signo)
{
	(void)signo;
	n_signals++;
}

/* It loses the CPU with copies around its stack pointer. */
static void *spin(void *value)
{
	char mine[64];
	volatile int i;

	strcpy(mine, value);
	for (i = 0; i < 30000000; i++)
		mine[40] = i;
	return (void *)strlen(mine);
}

int main(int argc, char **argv)
{
	char *value = getenv("API_TOKEN"), *heap = strdup(value), on_stack[64], a[12], b[64], c = 0;
	struct iovec iov[] = { { b, 50 }, { a, 8 }, { page, 100 } };
	int fd = open(argv[1], O_RDONLY), pipes[2];
	pthread_t threads[2];
	char *freed = strdup(getenv("LONG_TOKEN"));

	strcpy(on_stack, value);
	strcpy(page + 4096 - 5, value);
	free(freed);
	// The file has it at 4096 - 9 and its end in the next read.
	if (read(fd, page + 4096, 4096) != 4096 || read(fd, page + 4096, 100) != 100 ||
	    lseek(fd, 4096 - 9 - 50, SEEK_SET) < 0 || readv(fd, iov, 3) < 100)
		return 1;
	if (mmap(NULL, 8192, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED || pipe(pipes) ||
	    write(pipes[1], argv[2], strlen(argv[2])) < 0 ||
	    read(pipes[0], page + 100, 100) <= 0)
		return 1;
	fd = open(argv[3], O_RDONLY);
	if (read(fd, &c, 1) != 1 || pread(fd, b, 20, 0) != 20)
		return 1;
	memset(b, 0, sizeof(b));
	signal(SIGUSR1, handler);
	raise(SIGUSR1);
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, spin, value);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	printf("%s %s %d %d %c\n", heap, on_stack, argc, n_signals, c ?: '0');
	fflush(stdout);
	if (argc > 4)
		abort();
	return 0;
}
C
cc -O1 -pthread -o "$TMPDIR/p" "$TMPDIR/p.c" || fail "cannot compile"
export API_TOKEN=hushhush-env-17 LONG_TOKEN=longlong-env-value-of-many-bytes TINY=zq7
export OTHER=plain-value
python3 - "$TMPDIR/data" <<'P'
import sys
open(sys.argv[1], "w").write("." * (4096 - 9) + "hushhush-env-17" + "." * 4000)
P
printf 'keepsake-file-text\n%.0s' 1 2 3 >"$TMPDIR/private.key"

# holds TEXT [DIR] - somewhere in the capture, logs unpacked, names of files included.
holds() {
	python3 - "${2:-$TMPDIR/c}" "$1" <<'P'
import os, struct, subprocess, sys
text, found = sys.argv[2].encode(), False
for dir, _, names in os.walk(sys.argv[1]):
    for name in names:
        d = open(os.path.join(dir, name), "rb").read() + name.encode()
        if name == "events.flt":
            at, raw = 16, b""
            while at + 16 <= len(d) - len(name):
                n = struct.unpack_from("<I", d, at)[0]
                raw += subprocess.run(["zstd", "-dcq"], input=d[at + 16:at + 16 + n],
                                      capture_output=True, check=True).stdout
                at += 16 + n
            d = raw
        if text in d:
            print("in", name)
            found = True
sys.exit(not found)
P
}

run=("$TMPDIR/p" "$TMPDIR/data" "arg-hushhush-env-17-end" "$TMPDIR/private.key")
want_status=134 make_capture "$TMPDIR/c" "${run[@]}" crash
for text in hushhush-env-17 of-many-bytes keepsake-file-text zq7; do
	holds $text >/dev/null || fail "the search does not find $text"
done
rm -rf "$TMPDIR/c"

record=("${RECORD[@]}" --mask-env='*_TOKEN' --mask-env=TINY --omit='*/private.key' -o "$TMPDIR/c")
expect_status 134 "${record[@]}" --end-core -- "${run[@]}" crash
grep -q '^hushhush-env-17 hushhush-env-17 5 1 k$' "$TMPDIR/out" ||
	fail "the program was harmed: $(cat "$TMPDIR/out")"
grep -q '[0-9]* gaps: left out on request' "$TMPDIR/err" || fail "$(cat "$TMPDIR/err")"
# The third is the middle of the long one, of which free() overwrites the beginning.
for text in hushhush-env-17 longlong-env of-many-bytes; do
	holds "$text" && fail "$text is in the capture"
done
holds plain-value >/dev/null || fail "another variable is gone"
grep -Eq 'copies of masked values, [1-9][0-9]* in start.core, [1-9][0-9]* in end.core, [1-9]' \
	"$TMPDIR/c/manifest.json" || fail "not told: $(cat "$TMPDIR/c/manifest.json")"
[ "$(grep -o 'value of environment variable API_TOKEN' "$TMPDIR/c/manifest.json" | wc -l)" = 1 ] ||
	fail "told twice: $(cat "$TMPDIR/c/manifest.json")"
grep -q 'may remain' "$TMPDIR/c/manifest.json" && fail "it was known from the beginning"
grep -q 'TINY, in the environment alone' "$TMPDIR/c/manifest.json" ||
	fail "a value too short to be looked for is not told of"
grep -q 'what was read from .*private.key, but not copies' "$TMPDIR/c/manifest.json" ||
	fail "what was read and left out is not told of"
rm "$TMPDIR/c/end.core"
holds keepsake-file-text && fail "what read() brought is in the capture"
expect_status 0 "$FAULTLINE" replay --stdout "$TMPDIR/c"
grep -q '^xxxxxxxxxxxxxxx xxxxxxxxxxxxxxx 5 1' "$TMPDIR/out" || fail "$(cat "$TMPDIR/out")"
grep -q 'left out on request' "$TMPDIR/err" || fail "the replay does not say it"
rm -rf "$TMPDIR/c"

# Followed processes share what is known: the child has the value from its parent's memory, and
# not in its environment.
expect_status 0 "${RECORD[@]}" -f --mask-env='*_TOKEN' -o "$TMPDIR/c" -- \
	sh -c 'v=$API_TOKEN; env -u API_TOKEN sh -c "cat; echo \$0" "$v" <"$1"; :' sh "$TMPDIR/data"
grep -q hushhush-env-17 "$TMPDIR/out" || fail "$(cat "$TMPDIR/out")"
holds hushhush-env-17 && fail "the value is in a followed process's capture"
expect_status 0 "$FAULTLINE" replay "$TMPDIR/c"
rm -rf "$TMPDIR/c"

# What comes byte by byte, as a shell reads from a pipe, remains, and that is told.
printf '%s\n' "a line before" "$API_TOKEN" >"$TMPDIR/lines"
cat "$TMPDIR/lines" | "${RECORD[@]}" --mask-env=API_TOKEN -o "$TMPDIR/c" -- \
	sh -c 'read a; read v; [ ${#v} = 15 ]' 2>"$TMPDIR/err" || fail "$(cat "$TMPDIR/err")"
grep -q 'remain where they were read in pieces of a few bytes: 1' "$TMPDIR/c/manifest.json" ||
	fail "not told: $(cat "$TMPDIR/c/manifest.json")"
rm -rf "$TMPDIR/c"

# What was written before the value was known is not looked through, and that is told.
echo 'hushhush-late-17' >"$TMPDIR/token"
expect_status 0 "${RECORD[@]}" -f --mask-env=LATE -o "$TMPDIR/c" -- \
	sh -c 'read v <"$0"; LATE=$v env >/dev/null; :' "$TMPDIR/token"
grep -q 'may remain in what was written before' "$TMPDIR/c/manifest.json" ||
	fail "not told: $(cat "$TMPDIR/c/manifest.json")"
rm -rf "$TMPDIR/c"

# The flight recorder knows it although the program has overwritten its environment.
cat >"$TMPDIR/f.c" <<'C'
#include <stdlib.h>
#include <string.h>

int main(void)
{
	char *value = getenv("API_TOKEN"), *heap = strdup(value);

	memset(value, '-', strlen(value));
	if (heap)
		abort();
	return 0;
}
C
cc -O1 -o "$TMPDIR/f" "$TMPDIR/f.c" || fail "cannot compile"
expect_status 134 "${RECORD[@]}" --snapshot --mask-env=API_TOKEN -o "$TMPDIR/c" -- "$TMPDIR/f"
holds hushhush-env-17 && fail "the value is in the snapshot"
rm -rf "$TMPDIR/c"

# One that looks into the value goes another way in the replay, and is told why.
cat >"$TMPDIR/l.c" <<'C'
#include <stdlib.h>
#include <unistd.h>

int main(void)
{
	return getenv("API_TOKEN")[0] == 'h' ? getppid() != 0 ? 0 : 1 : 1;
}
C
cc -o "$TMPDIR/l" "$TMPDIR/l.c" || fail "cannot compile"
expect_status 0 "${RECORD[@]}" --mask-env=API_TOKEN -o "$TMPDIR/c" -- "$TMPDIR/l"
expect_status 1 "$FAULTLINE" replay "$TMPDIR/c"
grep -q 'note: values were masked' "$TMPDIR/err" || fail "not told: $(cat "$TMPDIR/err")"
rm -rf "$TMPDIR/c"

# A program's own code is kept as it is.
cat >"$TMPDIR/k.c" <<'C'
#include <stdio.h>

int main(void)
{
	puts("hushhush-env-17");
	return 0;
}
C
cc -o "$TMPDIR/k" "$TMPDIR/k.c" || fail "cannot compile"
expect_status 0 "${RECORD[@]}" --mask-env=API_TOKEN -o "$TMPDIR/c" -- "$TMPDIR/k"
grep -q "masked values remain in the kept copy of $TMPDIR/k: 1" "$TMPDIR/c/manifest.json" ||
	fail "not told: $(cat "$TMPDIR/c/manifest.json")"
expect_status 0 "$FAULTLINE" replay "$TMPDIR/c"
