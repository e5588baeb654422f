#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# make with several jobs, git commit: trees of processes that people run every day.
. tests/lib.sh

need make cc ar git
mkdir "$TMPDIR/p"
for i in 1 2 3 4; do
	echo "int f$i(int x) { return x + $i; }" >"$TMPDIR/p/f$i.c"
done
cat >"$TMPDIR/p/Makefile" <<'MAKE'
all: lib.a
	@echo made $$(ls *.o | wc -l)
lib.a: f1.o f2.o f3.o f4.o
	ar rc $@ $^
%.o: %.c
	$(CC) -O1 -c -o $@ $<
MAKE
make_followed "$TMPDIR/m" make -s -C "$TMPDIR/p" -j3
[ "$(cat "$TMPDIR/m.out")" = "made 4" ] || fail "make: $(cat "$TMPDIR/m.out")"
all_match "$TMPDIR/m"
[ "$n_matched" -ge 15 ] || fail "only $n_matched histories"

export HOME=$TMPDIR GIT_CONFIG_NOSYSTEM=1
git -c init.defaultBranch=main init -q "$TMPDIR/repo"
echo text >"$TMPDIR/repo/file"
git -C "$TMPDIR/repo" add file
make_followed "$TMPDIR/g" git -C "$TMPDIR/repo" -c user.name=n -c user.email=n@example.org \
	commit -qm first
[ "$(git -C "$TMPDIR/repo" log --format=%s)" = first ] || fail "nothing was committed"
all_match "$TMPDIR/g"
