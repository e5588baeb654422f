#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# What is interrupted leaves what was there: a picture that is being drawn, a page, a trace. An
# interrupted recording is read as far as it goes.
. tests/lib.sh

need_bpf
make_capture "$TMPDIR/c" "$BUILD/tests/programs/rbtree" 300
cd "$TMPDIR" || exit 1

# ---- pictures: dot takes as long as it likes

mkdir bin
cat >bin/dot <<EOF
#!/bin/sh
echo "dot \$\$" >&2
exec sleep 1000
EOF
chmod +x bin/dot
for signal in INT TERM HUP KILL; do
	fresh
	echo old >picture.svg
	PATH=$TMPDIR/bin:$PATH env --default-signal=INT "$FAULTLINE" graph c --svg picture.svg 2>err &
	pid=$!
	until_true grep -q '^dot ' err || fail "$signal: dot is not run: $(cat err)"
	kill -$signal $pid
	wait $pid
	got=$?
	kill -KILL "$(sed -n 's/^dot //p' err)" 2>/dev/null
	[ $got = $((128 + $(kill -l $signal))) ] || fail "$signal: status $got"
	[ "$(cat picture.svg)" = old ] || fail "$signal: the old picture is gone"
	# By SIGKILL the name of nobody's file stays beside it.
	if [ $signal != KILL ]; then
		! ls -A | grep -q '\.part$' || fail "$signal: left behind: $(ls -A)"
	fi
	rm -f .*.part
done

# ---- pages and traces: whenever it comes

for kind in "graph c --html" "encode c -o"; do
	n=0
	for delay in 0.05 0.1 0.15 0.2 0.3 0.4 0.6; do
		"$FAULTLINE" $kind whole >out 2>err || fail "$kind: $(cat err)"
		mv whole first
		echo old >whole
		"$FAULTLINE" $kind whole >out 2>err &
		pid=$!
		sleep $delay
		kill -KILL $pid 2>/dev/null
		wait $pid 2>/dev/null
		rm -rf .*.part *.symfs
		[ "$(cat whole | tr -d '\0')" = old ] && n=$((n + 1)) && continue
		[ "$(wc -c <whole)" = "$(wc -c <first)" ] || fail "$kind: after $delay s half of it is there"
	done
	[ $n -gt 0 ] || echo "$kind was never interrupted"
done

# ---- recordings

need gojq
mine() {
	[ "$(id -u)" = 0 ] || sudo -n chown -R "$(id -u)" "$1"
}
# The recorder is asked to end, the program does: the capture is whole.
for signal in INT TERM; do
	fresh
	set -m
	"${RECORD[@]}" -o "end$signal" -- sh -c 'echo begun; while :; do :; done' >out 2>err &
	pid=$!
	set +m
	until_true grep -q begun out || fail "$(cat err)"
	kill -$signal -- -$pid
	wait $pid
	mine "end$signal"
	looks_whole "end$signal" || fail "$signal: the capture is not finished: $(cat err)"
	expect_status 0 "$FAULTLINE" replay "end$signal"
	grep -q "killed by SIG$signal" "$TMPDIR/out" || fail "$signal: $(cat "$TMPDIR/out")"
done
# The recorder is killed: what it has is read, and what is missing told.
[ "$(id -u)" = 0 ] || exit 0
"$FAULTLINE" record -o killed -- sh -c 'for i in 1 2 3 4 5 6 7 8 9; do /bin/true; done; while :; do :; done' \
	>out 2>err &
recorder=$!
child() { tr -d ' ' <"/proc/$1/task/$1/children"; }
until_true eval '[ -s killed/events.flt ] || [ "$(child "$(child $recorder)")" ]'
until_true eval 'grep -q "^State:.*R" "/proc/$(child "$(child $recorder)")/status"'
worker=$(child $recorder)
program=$(child "$worker")
sleep 0.5
kill -KILL "$worker"
until_true grep -q '^TracerPid:[[:space:]]*0$' "/proc/$program/status" || fail "it is still traced"
kill -KILL "$program"
wait $recorder
got=0
"$FAULTLINE" replay killed >out 2>err || got=$?
[ $got = 2 ] || fail "replay of what is not finished: status $got"
grep -Eq 'not finished.*matched up to there|not finished' err || fail "$(cat err)"
expect_status 0 "$FAULTLINE" dump killed
exit 0
