#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Whatever reads a stranger's files runs in a process that cannot write: a library that is loaded
# into it tries, at its end, to make a file. Its owner, who read nothing, can.
. tests/lib.sh

need cc
need_bpf
grep -qs -e -fsanitize= "$BUILD/.flags" && skip "not confined when it is built with sanitizers"
cat >"$TMPDIR/try.c" <<'C'
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((destructor)) static void try(void)
{
	char path[4096];
	int fd;

	if (!getenv("TRIES"))
		return;
	snprintf(path, sizeof(path), "%s.%d", getenv("TRIES"), getpid());
	fd = open(path, O_WRONLY | O_CREAT, 0600);
	dprintf(2, fd < 0 ? "TRIED confined\n" : "TRIED free\n");
}
C
cc -shared -fPIC -o "$TMPDIR/try.so" "$TMPDIR/try.c" || fail "cannot compile"

# tries WANT COMMAND... - each process that ends as one of its, in order.
tries() {
	local want=$1 got
	shift
	TRIES=$TMPDIR/made LD_PRELOAD=$TMPDIR/try.so "$FAULTLINE" "$@" >"$TMPDIR/out" 2>"$TMPDIR/err"
	got=$(sed -n 's/^TRIED //p' "$TMPDIR/err" | tr '\n' ' ')
	[ "$got" = "$want " ] || fail "$*: '$got', not '$want': $(cat "$TMPDIR/err")"
}

"${RECORD[@]}" --end-core -e heap -o "$TMPDIR/c" -- "$BUILD/examples/list-O2" >/dev/null 2>&1
[ "$(id -u)" = 0 ] || sudo -n chown -R "$(id -u)" "$TMPDIR/c"
echo '{ "name": "a", "args": ["a"], "status": 0 }' >"$TMPDIR/tests"
"$FAULTLINE" suite record --tests "$TMPDIR/tests" -o "$TMPDIR/s" -- /bin/echo >/dev/null ||
	fail "cannot record a suite"

tries "confined free" encode "$TMPDIR/c"
tries "confined free" encode -o "$TMPDIR/data" "$TMPDIR/c"
tries "confined free" encode --flight "$TMPDIR/flight" "$TMPDIR/c"
for command in "replay --explain" "analyze --accesses" graph decode dump; do
	tries "confined free" $command "$TMPDIR/c"
done
tries "confined free" debug --listen - "$TMPDIR/c"
tries "confined free" recover "$TMPDIR/flight"
tries "confined free" sites "$BUILD/examples/list-O2"
tries "confined free" spec check examples/list/list.spec --binary "$BUILD/examples/list-O2"
tries "confined free" check "$TMPDIR/c"
tries "confined free" info "$TMPDIR/c"
tries "confined free" "$TMPDIR/c"
tries "confined free" linear specs/concurrent/treiber-stack.steps
tries "confined free" linear --object queue tests/linear/histories/queue-right.txt
tries "confined free" repair --source tests/repair/figure4.c --function deleteMid --ir
tries "confined free" rank "$TMPDIR/s"
tries "confined free" fixes "$TMPDIR/s" --at x.c:1
"${RECORD[@]}" -o "$TMPDIR/d" -- "$BUILD/tests/programs/framesets" <<<SSNB/BP >/dev/null 2>&1
[ "$(id -u)" = 0 ] || sudo -n chown -R "$(id -u)" "$TMPDIR/d"
tries "confined free" reduce "$TMPDIR/d" --no-record
tries "confined free" slice "$TMPDIR/c" --at crash
tries "confined free" inputs "$TMPDIR/d"
tries "confined free" report "$TMPDIR/c" -o "$TMPDIR/page"
tries "confined free" suppress "$TMPDIR/c"
tries "confined free" suite list "$TMPDIR/s"
tries "confined free" suite --json list "$TMPDIR/s"

# And what they were to make is there.
for file in c/perf.data c/symfs data data.symfs flight/manifest.json flight/perf.data; do
	[ -e "$TMPDIR/$file" ] || fail "no $file"
done
[ ! -e "$TMPDIR/flight/symfs" ] || fail "links in a flight recorder's capture"
"$FAULTLINE" replay "$TMPDIR/c" >"$TMPDIR/out" || fail "the capture was changed"
# Nothing runs under the name of the machine's processes but these.
got=0
(exec -a faultline-machine "$FAULTLINE" --version) >"$TMPDIR/out" 2>&1 || got=$?
[ $got = 125 ] && [ ! -s "$TMPDIR/out" ] || fail "status $got as faultline-machine: $(cat "$TMPDIR/out")"
# A command of ours that is not in this list must be looked at.
n=$("$FAULTLINE" --help | sed -n '/^Commands:/,/^$/p' | grep -c '^  ')
[ "$n" = 24 ] || fail "$n commands: does each of them read in a confined process?"
exit 0
