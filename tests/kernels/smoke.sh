#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# smoke.sh BUILD TEST... - of each thing that recording can do one small test, for a machine
# that may be fifty times slower than this one; tools/kernels.sh runs them on other kernels and
# CPUs. TEST is the name of a test_ below. Last line: `N passed, N failed`.
#
# What a test that failed has left is kept in the directory FAULTLINE_SMOKE_KEEP, if that is set.
#
# all: ls signals floats cpu portable heap threads follow attach stores pressure snapshot chaos analyze user surroundings few
# old: ls signals floats cpu portable heap threads follow attach stores pressure snapshot chaos analyze old_user
# cpu: ls signals floats cpu portable heap threads follow stores analyze machine
set -u

cd "$(dirname "$0")/../.." || exit 2
BUILD=$(realpath "$1") || exit 2
shift
export BUILD FAULTLINE=$BUILD/faultline SOURCE=$PWD LC_ALL=C.UTF-8
limit=300
if [ -z "${FAULTLINE_SMOKE_ONE:-}" ]; then
	scratch=$(mktemp -d "${TMPDIR:-/tmp}/faultline-smoke.XXXXXX") || exit 2
	trap 'rm -rf "$scratch"' EXIT
fi
. tests/lib.sh
programs=$BUILD/tests/programs

# skip - here a test that cannot be run has failed.
skip() {
	fail "it would be skipped: $*"
}

# is_whole FILE - record said so.
is_whole() {
	tail -n 1 "$1" | grep -q ': complete$' || fail "not complete: $(tail -n 3 "$1")"
}

# record STATUS DIR ARG... - into $TMPDIR/DIR; output in DIR.out.
record() {
	local want=$1 dir=$TMPDIR/$2 got=0
	shift 2
	"${RECORD[@]}" -o "$dir" "$@" >"$dir.out" 2>"$dir.err" || got=$?
	[ $got = "$want" ] || fail "status $got, not $want, of record $*: $(tail -n 5 "$dir.err")"
	is_whole "$dir.err"
}

# replay DIR - it matches, with the same output.
replay() {
	local dir=$TMPDIR/$1
	"$FAULTLINE" replay --stdout "$dir" >"$dir.replayed" 2>"$dir.replay.err" ||
		fail "replay: $(cat "$dir.replay.err")"
	grep -q 'all matched' "$dir.replay.err" || fail "$(cat "$dir.replay.err")"
	cmp "$dir.out" "$dir.replayed" || fail "replay printed something else"
	grep 'all matched' "$dir.replay.err"
}

events() { # kinds dir
	"$FAULTLINE" dump -k "$1" "$TMPDIR/$2" | wc -l
}

test_ls() {
	FAULTLINE_LOG=record:1 record 0 c -- ls -l /usr/lib
	! grep record_sys_exit_typed "$TMPDIR/c.err" || fail "the kernel refuses the quicker program for the end of a call"
	ls -l /usr/lib | cmp - "$TMPDIR/c.out" || fail "ls printed something else"
	replay c
}

test_signals() {
	record 0 c -- "$programs/signals"
	replay c
}

test_floats() {
	record 0 c -- "$programs/floats"
	"$programs/floats" | cmp - "$TMPDIR/c.out" || fail "it computed something else"
	replay c
}

test_cpu() {
	record 0 c -- "$programs/cpu"
	replay c
	record 0 chance -- "$programs/chance"
	# qemu forgets where the last x87 instruction lay when the kernel saves registers.
	[ -z "${FAULTLINE_EMULATED:-}" ] || sed -i '/^x87 at/d' "$TMPDIR/chance.out"
	"$FAULTLINE" replay --stdout "$TMPDIR/chance" 2>"$TMPDIR/err" |
		if [ -n "${FAULTLINE_EMULATED:-}" ]; then sed '/^x87 at/d'; else cat; fi |
		cmp - "$TMPDIR/chance.out" || fail "chance: replay printed something else"
	grep 'all matched' "$TMPDIR/err" || fail "chance: $(cat "$TMPDIR/err")"
}

test_portable() {
	record 0 c --portable -- "$programs/floats"
	replay c
}

test_heap() {
	record 0 c -e heap -- gzip -kc "$SOURCE/LICENSE"
	gzip -dc "$TMPDIR/c.out" | cmp - "$SOURCE/LICENSE" || fail "gzip wrote something else"
	replay c
	record 0 tree -e heap -- "$programs/rbtree" 300
	[ "$(events heap tree)" -gt 300 ] || fail "only $(events heap tree) heap events"
	replay tree
}

test_threads() {
	local mode
	make_text 1 >"$TMPDIR/text"
	record 0 xz -- xz -T2 -1 --block-size=300000 -c "$TMPDIR/text"
	xz -dc "$TMPDIR/xz.out" | cmp - "$TMPDIR/text" || fail "xz wrote something else"
	replay xz
	for mode in ping sem signals; do
		record 0 $mode -- "$programs/crowd" $mode
		replay $mode
	done
}

test_follow() {
	record 0 c -f -- sh -c 'ls /usr/lib | sort | wc -l; (exit 3); echo "$?"'
	[ "$(tail -n 1 "$TMPDIR/c.out")" = 3 ] || fail "the shell printed $(cat "$TMPDIR/c.out")"
	all_match "$TMPDIR/c"
	[ "$n_matched" -ge 5 ] || fail "$n_matched processes"
	echo "$n_matched processes"
}

test_attach() {
	local threads
	. tests/pt-collect/attach.bash
	for threads in 0 2; do
		start_server $threads
		attach "$TMPDIR/c$threads" "$server" -e heap
		goes_on
		detach "$TMPDIR/c$threads" INT
		is_whole "$TMPDIR/c$threads.err"
		is_left_alone "$server" || fail "$(cat /proc/"$server"/status)"
		goes_on
		stop_server
		expect_status 0 "$FAULTLINE" replay "$TMPDIR/c$threads"
		grep -q 'all matched' "$TMPDIR/out" || fail "$(cat "$TMPDIR/out")"
		[ "$(events heap c$threads)" -gt 0 ] || fail "no heap events"
	done
}

test_stores() {
	record 139 c -e stores --stores-each -- "$BUILD/examples/list-O0"
	[ "$(events probe c)" -gt 300 ] || fail "only $(events probe c) hits"
	expect_status 0 "$FAULTLINE" replay "$TMPDIR/c"
	record 0 crowd -e stores -- "$programs/crowd" ping
	replay crowd
}

test_pressure() {
	local n
	record 0 c -- "$programs/pressure" calls 150000
	n=$("$FAULTLINE" dump "$TMPDIR/c" | grep -c 'SYSCALL getppid(')
	[ "calls $n" = "$(cat "$TMPDIR/c.out")" ] || fail "recorded calls: $n"
	replay c
	record 0 pipe -- "$programs/pressure" pipe 100000000
	replay pipe
}

test_snapshot() {
	record 134 c --snapshot -e heap -- "$programs/flight" corrupt 50
	grep -q 'snapshot at SIGABRT' "$TMPDIR/c.err" || fail "$(cat "$TMPDIR/c.err")"
	[ "$("$FAULTLINE" dump -k heap_done "$TMPDIR/c" | grep -c malloc)" -gt 20 ] ||
		fail "$(events heap_done c) results of allocator calls"
	readelf -h "$TMPDIR/c/end.core" | grep -q 'CORE (Core file)' || fail "no core of the end"
}

# What a few bytes of memory are is known by page tables, of as many levels as there are here.
test_few() {
	FAULTLINE_LOG=record:2 "${RECORD[@]}" -o "$TMPDIR/few" -- "$programs/few" >"$TMPDIR/few.out" 2>"$TMPDIR/few.err" ||
		fail "record: $(tail -n 5 "$TMPDIR/few.err")"
	grep -q 'a few bytes of memory are read by page tables' "$TMPDIR/few.err" || fail "$(tail -n 5 "$TMPDIR/few.err")"
	replay few
	echo "levels: $(grep -c la57 /proc/cpuinfo) of them have five; $(grep -c ^640/640 "$TMPDIR/few.out") kinds of memory"
}

test_chaos() {
	record 134 c --chaos --until-fail 500 -- "$BUILD/tests/races/lockorder"
	grep -E '^faultline: failed in run' "$TMPDIR/c.err" || fail "$(cat "$TMPDIR/c.err")"
	expect_status 0 "$FAULTLINE" replay "$TMPDIR/c"
}

test_analyze() {
	local example=$SOURCE/examples/quad
	"${RECORD[@]}" -o "$TMPDIR/c" -- "$BUILD/examples/quad-O0" >/dev/null 2>"$TMPDIR/c.err"
	is_whole "$TMPDIR/c.err"
	expect_status 1 "$FAULTLINE" analyze "$TMPDIR/c" --spec "$example/quad.spec"
	tail -n 3 "$TMPDIR/out"
}

# (Not unit_cpu: its judge is the processor, and an emulated one leaves other flags undefined.)
test_machine() {
	"$BUILD/tests/decode/unit_machine" || fail "unit_machine: status $?"
}

# ---- surroundings ---------------------------------------------------------------------

# refuse PATTERN COMMAND... - in one line, and the program does not run.
refuse() {
	local pattern=$1
	shift
	expect_status 125 "$@"
	expect_error "$pattern"
	[ ! -s "$TMPDIR/out" ] || fail "the program ran: $*"
	cat "$TMPDIR/err"
}

# as_user COMMAND... - with a faultline, $mine, that has the two capabilities.
nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all)
prepare_user() {
	chmod 755 "$TMPDIR" "$(dirname "$TMPDIR")"
	mkdir -m 777 "$TMPDIR/nobody"
	mine=$TMPDIR/nobody/faultline
	cp "$FAULTLINE" "$mine"
	setcap cap_bpf,cap_perfmon+p "$mine" || fail "this file system keeps no capabilities"
}

test_user() {
	prepare_user
	RECORD=("${nobody[@]}" "$mine" record)
	chmod 777 "$TMPDIR"
	record 0 c -e heap -- "$programs/rbtree" 300
	record 0 f -f -- sh -c 'ls / | wc -l'
}

# Before Linux 6.6 a probe is a perf event, and that kernel wants CAP_SYS_ADMIN for those: it is
# told, and the rest is recorded.
test_old_user() {
	prepare_user
	chmod 777 "$TMPDIR"
	expect_status 0 "${nobody[@]}" "$mine" record -e heap -o "$TMPDIR/c" -- "$programs/rbtree" 300
	grep -q 'gaps\?: cannot probe .* may want CAP_SYS_ADMIN' "$TMPDIR/err" ||
		fail "$(cat "$TMPDIR/err")"
	[ "$(events syscall c)" -gt 20 ] || fail "only $(events syscall c) system calls"
}

test_surroundings() {
	bash tests/pt-collect/310-surroundings.sh || fail "310-surroundings.sh: status $?"
}

test_too_old() {
	refuse 'this kernel is Linux .* \(needs Linux 5.17\)' "$FAULTLINE" record -- echo ran
	refuse 'this kernel is Linux' "$FAULTLINE" record --snapshot -- echo ran
}

# Where threads are not recorded reliably, each capture of them says so.
test_threads_told() {
	"${RECORD[@]}" -o "$TMPDIR/c" -- "$programs/threads" create >"$TMPDIR/out" 2>"$TMPDIR/err"
	tail -n 1 "$TMPDIR/err" | grep -q 'gap.*on this kernel system calls of threads may go unseen' ||
		fail "not told: $(cat "$TMPDIR/err")"
}

test_locked_down() {
	refuse 'locked down.*boot with lockdown=integrity' "$FAULTLINE" record -- echo ran
}

# Last in a guest: from 3 there is no way back.
test_yama() {
	local scope=/proc/sys/kernel/yama/ptrace_scope sleeper
	prepare_user
	cd "$TMPDIR/nobody" || fail "no directory"
	"${nobody[@]}" sleep 100 &
	sleeper=$!
	until_true grep -q '^sleep$' /proc/$sleeper/comm
	echo 1 >$scope || fail "no Yama"
	refuse 'ptrace_scope is 1: only root' "${nobody[@]}" "$mine" record -p $sleeper
	kill $sleeper
	expect_status 0 "${nobody[@]}" "$mine" record -- echo ran
	echo 2 >$scope
	refuse 'ptrace_scope is 2: only root' "${nobody[@]}" "$mine" record -- echo ran
	expect_status 0 "$FAULTLINE" record -- echo ran
	echo 3 >$scope
	refuse 'ptrace_scope is 3: nobody' "$FAULTLINE" record -- echo ran
}

# ---- running them -------------------------------------------------------------------

if [ -n "${FAULTLINE_SMOKE_ONE:-}" ]; then
	declare -F "test_$1" >/dev/null || fail "there is no test $1"
	"test_$1"
	exit
fi
passed=0 failed=0
for name; do
	export TMPDIR=$scratch/$name
	mkdir -p "$TMPDIR"
	start=$SECONDS log=$scratch/$name.log
	FAULTLINE_SMOKE_ONE=1 timeout -k 10 $limit bash tests/kernels/smoke.sh "$BUILD" "$name" \
		>"$log" 2>&1 </dev/null
	status=$?
	if [ $status = 0 ]; then
		passed=$((passed + 1))
		echo "ok    $name ($((SECONDS - start)) s) $(tail -n 1 "$log")"
	else
		failed=$((failed + 1))
		echo "FAIL  $name ($((SECONDS - start)) s, status $status)"
		tail -n 40 "$log" | sed 's/^/      | /'
		[ -z "${FAULTLINE_SMOKE_KEEP:-}" ] || cp -r "$TMPDIR" "$FAULTLINE_SMOKE_KEEP"
	fi
	rm -rf "$TMPDIR"
done
echo "$passed passed, $failed failed"
[ $failed = 0 ]
