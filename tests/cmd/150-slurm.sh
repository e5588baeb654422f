#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# A suite on three nodes of a real Slurm, each in namespaces of its own. A node dies in the middle,
# the controller is restarted, the command that waits is killed, and another goes on: each test is
# there once, and what became of it, and of a check of its capture, is as with --jobs 1 on this
# machine. The third node has another libc, the second another time. Then what else is done in pieces.
# FAULTLINE_FLEET=N: so many tests (15). FAULTLINE_FLEET_COST=1: tell what distribution costs in CPU time
# (of everything that runs, Slurm's own included; needs the controller cpuacct of cgroups, version 1).
# time limit: 3000
. tests/lib.sh

need slurmctld slurmd munged sbatch squeue scancel gojq unshare
need_bpf
[ "$(id -u)" = 0 ] || skip "nodes have namespaces of their own: needs root"
n=${FAULTLINE_FLEET:-15}
cluster=$TMPDIR/cluster
mkdir -p "$cluster"/{state,log,n1,n2,n3}
chmod 755 "$TMPDIR" "$cluster"
export SLURM_CONF=$cluster/slurm.conf
uts=() n_killed=0
port=$((20000 + $$ % 20000))

# ---- a cluster

cat >"$SLURM_CONF" <<END
ClusterName=three
SlurmctldHost=$(hostname -s)(127.0.0.1)
SlurmctldPort=$port
AuthType=auth/munge
AuthInfo=socket=$cluster/munge.sock,cred_expire=5
SlurmUser=root
StateSaveLocation=$cluster/state
SlurmdSpoolDir=$cluster/%n
SlurmctldPidFile=$cluster/slurmctld.pid
SlurmdPidFile=$cluster/%n.pid
SlurmctldLogFile=$cluster/log/slurmctld
SlurmdLogFile=$cluster/log/%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/builtin
SchedulerParameters=batch_sched_delay=0
MpiDefault=none
ReturnToService=2
SlurmdTimeout=4
KillWait=3
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SlurmdParameters=config_overrides
$(for i in 1 2 3; do
	echo "NodeName=n$i NodeHostname=n$i NodeAddr=127.0.0.1 Port=$((port + i)) CPUs=1" \
		"$([ $i != 3 ] || echo Feature=xop)"
done)
PartitionName=all Nodes=n1,n2,n3 Default=YES
PartitionName=closed Nodes=n1 AllowAccounts=others
END

start_node() { # number
	local setup="hostname n$1"
	[ "$1" != 3 ] || setup+="; mount --bind '$cluster/libc' '$libc'"
	[ "$1" != 2 ] || setup+="; mount --bind '$cluster/ahead' '$FAULTLINE'"
	unshare --uts --mount sh -c "$setup; exec slurmd -D -N n$1" >"$cluster/log/n$1.out" 2>&1 &
	disown
	uts[$1]=
	while [ -z "${uts[$1]}" ] || [ "${uts[$1]}" = "$(readlink /proc/self/ns/uts)" ]; do
		uts[$1]=$(readlink /proc/$!/ns/uts) || fail "node $1 ended: $(cat "$cluster/log/n$1.out")"
		sleep 0.1
	done
}

# kill_node NUMBER - all its processes, those that they start meanwhile, too.
kill_node() {
	local pids
	while pids=$(find /proc -maxdepth 3 -path '/proc/[0-9]*/ns/uts' -printf '%p %l\n' 2>/dev/null |
		awk -F'[/ ]' -v own="${uts[$1]:-none}" '$NF == own { print $3 }') && [ -n "$pids" ]; do
		kill -KILL $pids 2>/dev/null
		n_killed=$((n_killed + 1))
		sleep 0.1
	done
}

end_cluster() {
	local i
	for i in 1 2 3; do
		kill_node $i
	done
	kill -KILL $(cat "$cluster"/{slurmctld,munge}.pid 2>/dev/null) 2>/dev/null
	umount -l "$TMPDIR/tiny" 2>/dev/null
}
trap end_cluster EXIT

# Another libc, by its build-id, which is behind the note's header and name.
libc=$(realpath "$(ldd "$(command -v sh)" | sed -n 's/.*libc.so.6 => \([^ ]*\).*/\1/p')")
cp "$libc" "$cluster/libc"
at=$(grep -abom1 -P '\x14\0\0\0\x03\0\0\0GNU\0' "$libc" | cut -d: -f1)
[ -n "$at" ] || fail "no build-id in $libc"
printf 'another' | dd of="$cluster/libc" bs=1 seek=$((at + 12)) conv=notrunc 2>/dev/null
# To faultline on the second node it is tomorrow.
cp "$FAULTLINE" "$cluster/faultline"
cat >"$cluster/ahead.c" <<'END'
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t clock, struct timespec *t)
{
	int ret = syscall(SYS_clock_gettime, clock, t);
	t->tv_sec += 86400;
	return ret;
}
time_t time(time_t *ret)
{
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	return ret ? *ret = t.tv_sec : t.tv_sec;
}
END
${CC:-cc} -shared -fPIC -w -o "$cluster/ahead.so" "$cluster/ahead.c" || fail "no library"
preload=LD_PRELOAD=$cluster/ahead.so
grep -qs -e -fsanitize= "$BUILD/.flags" && preload= # theirs must be first
printf '#!/bin/sh\n%s exec %s "$@"\n' "$preload" "$cluster/faultline" >"$cluster/ahead"
chmod +x "$cluster/ahead"
mkdir "$TMPDIR/tiny"
mount -t tmpfs -o size=1m tmpfs "$TMPDIR/tiny" || fail "no tmpfs"

# cost WHAT COMMAND... - run it among what is counted as WHAT, and print the seconds of CPU.
accounts=/sys/fs/cgroup/cpuacct/faultline-$$
cost() {
	local group=$accounts.$1 before after
	shift
	before=$(cat "$group/cpuacct.usage")
	(echo $BASHPID >"$group/cgroup.procs" && exec "$@") >/dev/null 2>&1
	after=$(cat "$group/cpuacct.usage")
	echo "$(((after - before) / 10000000))" | sed 's/..$/.&/'
}
if [ -n "${FAULTLINE_FLEET_COST:-}" ]; then
	mkdir "$accounts.far" "$accounts.near" || fail "no cpuacct"
	echo $$ >"$accounts.far/cgroup.procs"
fi

head -c 128 /dev/urandom >"$cluster/munge.key"
chmod 400 "$cluster/munge.key"
munged --force --key-file="$cluster/munge.key" --socket="$cluster/munge.sock" \
	--pid-file="$cluster/munge.pid" --log-file="$cluster/log/munge" \
	--seed-file="$cluster/seed" >"$cluster/log/munged" 2>&1 || fail "munged: $(cat "$cluster"/log/munge*)"
slurmctld || fail "slurmctld: $(tail "$cluster/log/slurmctld")"
for i in 1 2 3; do
	start_node $i
done
for i in $(seq 60); do
	[ "$(sinfo -h -o %A 2>/dev/null)" = 0/3 ] && break
	sleep 0.5
done
[ "$(sinfo -h -o %A)" = 0/3 ] || fail "no three nodes: $(sinfo -R; tail -n 3 "$cluster"/log/*)"

# ---- a suite

cd "$TMPDIR" || exit 1
cat >prog.c <<'END'
#include <stdlib.h>
#include <unistd.h>
#include <stdio.h>
int main(int argc, char **argv)
{
	int n = atoi(argv[1]);
	char *volatile p = malloc(8);

	usleep(PAUSE_US);
	p[n % 10 == 3 ? 8 : 0] = argc;
	free(p);
	if (n % 10 == 5)
		free(p);
	printf("%d\n", n);
	return n % 7 == 0;
}
END
${CC:-cc} -g -O0 -w -DPAUSE_US=$((n > 100 ? 10000 : 400000)) -o prog prog.c || fail "no program"
for i in $(seq $n); do
	echo "{\"name\": \"t$i\", \"args\": [\"$i\"], \"status\": 0}"
done >tests.jsonl
SUITE=("${RECORD[@]:0:${#RECORD[@]}-1}" suite)
done_now() { find far/tests -mindepth 1 -maxdepth 1 2>/dev/null | wc -l; }

"${SUITE[@]}" record --slurm=--time=30 --tests tests.jsonl -o far -- ./prog >out 2>err &
submitter=$!
for i in $(seq 600); do
	[ "$(done_now)" -ge 4 ] && break
	sleep 0.1
done
[ "$(done_now)" -ge 4 ] || fail "nothing is recorded: $(cat err far/slurm/*.log)"
kill_node 2
[ $n_killed -ge 1 ] || fail "node 2 was not there"
kill -KILL "$(cat "$cluster/slurmctld.pid")"
kill -KILL $submitter
wait $submitter 2>/dev/null
before=$(done_now)
[ "$before" -lt $n ] || fail "all was done before anything was killed"
slurmctld || fail "no second slurmctld: $(tail "$cluster/log/slurmctld")"
"${SUITE[@]}" record --jobs 1 --tests tests.jsonl -o near -- ./prog >near.out 2>&1 &
near=$!
expect_status 1 "${SUITE[@]}" status far
grep -q "^record: [0-9]* of $n$" "$TMPDIR/out" || fail "status: $(cat "$TMPDIR/out")"
start_node 2
expect_status 1 "${SUITE[@]}" resume far
grep -q "^faultline: job [0-9]* for this suite goes on" "$TMPDIR/err" ||
	fail "it was not gone on with: $(cat "$TMPDIR/err")"
grep -q "^$n tests: " "$TMPDIR/out" || fail "$(cat "$TMPDIR/out")"

# ---- as here

wait $near
[ $? = 1 ] || fail "near: $(cat near.out)"
for suite in far near; do
	jq -c '.tests[] | [.name, .outcome, .status, .why, .capture]' $suite/suite.json >$suite.tests
	[ "$(wc -l <$suite.tests)" = $n ] || fail "$suite: not $n tests"
	[ "$(find $suite/tests -mindepth 1 -maxdepth 1 | wc -l)" = $n ] || fail "$suite: other tests, too"
done
cmp far.tests near.tests || fail "they differ: $(diff far.tests near.tests)"
[ -z "$(find far/slurm -mindepth 1 -type d)" ] || fail "left: $(find far/slurm)"
# Of what was recorded where libc is another one that one is in the capture, and is what runs.
n_another=$(cat far/tests/*/capture/manifest.json | grep -c '"build_id":.*"616e6f74686572')
cat far/tests/*/capture/manifest.json | grep -q "/ahead.so" || [ -z "$preload" ] || fail "the second node did nothing"
[ "$n_another" -ge 1 ] && [ "$n_another" -lt $n ] || fail "$n_another of $n have the third node's libc"
for i in 1 $n; do
	"$FAULTLINE" replay "far/tests/t$i/capture" >out 2>&1 || fail "t$i: $(cat out)"
done

only=(--only HEAP-OVERFLOW,DOUBLE-FREE)
"${SUITE[@]}" check --jobs 1 near "${only[@]}" >near.out 2>&1 &
near=$!
expect_status 1 "${SUITE[@]}" check --slurm far "${only[@]}"
cp "$TMPDIR/out" far.out
wait $near
cmp far.out near.out || fail "$(cat far.out near.out)"
for i in $(seq $n); do
	want=$(((i % 10 == 3) + (i % 10 == 5)))
	for suite in far near; do
		[ "$(head -n 1 $suite/tests/t$i/check.status)" = $want ] || fail "$suite: t$i is not $want"
		[ "$(jq '.findings | length' $suite/tests/t$i/check.json)" = $want ] ||
			fail "$suite: t$i: $(cat $suite/tests/t$i/check.json)"
	done
done
# Nothing is looked at twice,
expect_status 1 "${SUITE[@]}" check far "${only[@]}"
grep -q "($n looked at before)" "$TMPDIR/out" || fail "$(cat "$TMPDIR/out")"

if [ -n "${FAULTLINE_FLEET_COST:-}" ]; then
	for i in 1 2 3; do
		rm -f {near,far}/tests/*/check.status
		echo "check of $n captures: $(cost near "${SUITE[@]}" check --jobs 3 near "${only[@]}") s of CPU here," \
			"$(cost far "${SUITE[@]}" check --slurm far "${only[@]}") s on three nodes"
	done
	exit 0
fi

# ---- other work in pieces: as here

same() { # what: files, one each
	cmp near.$1 far.$1 || fail "$1: $(diff near.$1 far.$1)"
}

# A suite of which one test fails by a value.
cat >add.c <<'END'
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
	int n = atoi(argv[1]), step = n > 5 ? 3 : 1;

	printf("%d\n", n + step);
	return 0;
}
END
${CC:-cc} -g -O0 -w -o add add.c || fail "no program"
for i in 1 7; do
	echo $((i + 1)) >out$i
	echo "{\"name\": \"a$i\", \"args\": [\"$i\"], \"expected\": \"out$i\"}"
done >add.jsonl
expect_status 1 "${SUITE[@]}" record --tests add.jsonl -o added -- ./add
# and everything with other options.
for options in "--only HEAP-OVERFLOW" "--only DOUBLE-FREE"; do
	expect_status 0 "${SUITE[@]}" check added $options
	! grep -q "looked at before" "$TMPDIR/out" || fail "$(cat "$TMPDIR/out")"
done
# What was found is kept, and gone on from.
for how in near far; do
	slurm=()
	[ $how = near ] || slurm=(--slurm)
	for recalled in 0 1; do
		expect_status 1 "$FAULTLINE" rank --json --state $how.state "${slurm[@]}" added
		[ "$(jq .recalled "$TMPDIR/out")" = $recalled ] || fail "$how: not $recalled from before: $(cat "$TMPDIR/out")"
		jq 'del(.runs, .search_seconds)' "$TMPDIR/out" >>$how.rank
	done
	jq -e '.ivmps | length > 0' $how.rank >/dev/null || fail "nothing was found: $(cat $how.rank)"
	jq . $how.state >$how.kept
done
same kept
same rank
[ ! -e added.rank.work ] || fail "left: $(find added.rank.work)"

# What a processor had that no node has: the third is said to. The other test is done.
needing() { # bit of leaf 0x80000001's ecx: suite odd, whose test a7 was recorded with that
	local manifest=odd/tests/a7/capture/manifest.json row
	rm -rf odd
	cp -r added odd
	rm odd/tests/*/check.*
	row=$(grep -o '80000001\.0 [^"@]*"' $manifest | head -n 1)
	set -- "$1" $row
	sed -i "s/$row/$2 $3 $4 $(printf %x $((0x$5 | 1 << $1))) $6/" $manifest
}
needing 11
expect_status 2 "${SUITE[@]}" check --slurm odd
grep -q "^faultline: no node has .*xop.*; not these: n3: cannot submit to Slurm: " "$TMPDIR/err" || fail "$(cat "$TMPDIR/err")"
[ "$(wc -l <"$TMPDIR/err")" = 1 ] || fail "not one line: $(cat "$TMPDIR/err")"
grep -h "lacks" odd/slurm/*.log >lacks
[ "$(cat lacks)" = "faultline: note: n3 lacks xop: what was recorded with that is left to others (1)" ] ||
	fail "$(cat lacks)"
[ -s odd/tests/a1/check.status ] && [ ! -e odd/tests/a7/check.status ] || fail "$(ls odd/tests/*)"
needing 16
expect_status 2 "${SUITE[@]}" check --slurm odd
grep -q "^faultline: no node has .*fma4.*; not these: n[123], n[123], n[123]: cannot submit" "$TMPDIR/err" || fail "$(cat "$TMPDIR/err")"

# Which statement corrupted memory first, in each that crashes.
expect_status 1 "${SUITE[@]}" suppress --slurm far
grep -q "^$n captures: [0-9]* did not crash, $((n / 10 + (n % 10 >= 5))) crashed, 0 could not" "$TMPDIR/out" || fail "$(cat "$TMPDIR/out")"
expect_status 1 "$FAULTLINE" suppress --json far/tests/t5/capture
cmp "$TMPDIR/out" far/tests/t5/suppress.json || fail "another result: $(cat far/tests/t5/suppress.json)"

# The first of many runs that fails: those whose seed is 8 or 9 do.
cat >unlucky.c <<'END'
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <unistd.h>
int main(void)
{
	char path[64], line[4096];
	size_t n;
	FILE *f;

	sprintf(path, "/proc/%d/cmdline", getppid());
	f = fopen(path, "r");
	n = f ? fread(line, 1, sizeof(line), f) : 0;
	return memmem(line, n, "--chaos=8", 9) || memmem(line, n, "--chaos=9", 9);
}
END
${CC:-cc} -g -O0 -w -o unlucky unlucky.c || fail "no program"
for how in near far; do
	slurm=(--jobs 2)
	[ $how = near ] || slurm=(--slurm)
	expect_status 1 "${RECORD[@]}" --chaos=5 --until-fail 6 "${slurm[@]}" -o $how.hunt -- ./unlucky
	sed "s/$how.hunt/hunt/" "$TMPDIR/err" >$how.said
	"$FAULTLINE" replay $how.hunt >/dev/null || fail "no capture of it"
done
grep -q "^faultline: failed in run 4 of 6 (seed 8): exit status 1$" far.said || fail "$(cat far.said)"
same said
"${RECORD[@]}" --until-fail 9 --slurm -o none.hunt -- ./prog 1 >out 2>err &
submitter=$!
for i in $(seq 600); do
	[ -s none.hunt.work/slurm/job ] && break
	sleep 0.1
done
kill -TERM $submitter
wait $submitter
[ $? = 125 ] && grep -q "interrupted (the same command, or faultline suite resume none.hunt.work" err || fail "$(cat err)"
[ -z "$(squeue -h -j "$(cat none.hunt.work/slurm/job)" 2>/dev/null)" ] || fail "it goes on: $(squeue)"
expect_status 1 "${SUITE[@]}" status none.hunt.work
grep -q "^run: [1-8] of 9$" "$TMPDIR/out" || fail "status: $(cat "$TMPDIR/out")"
expect_status 0 "${SUITE[@]}" resume none.hunt.work
grep -q "^faultline: no failure in 9 runs; no capture is kept$" "$TMPDIR/err" || fail "$(cat "$TMPDIR/err")"
[ ! -e none.hunt ] && [ ! -e none.hunt.work ] || fail "left: $(find none.hunt*)"

# The smallest input that fails the same way.
cat >lines.c <<'END'
#include <stdio.h>
#include <stdlib.h>
int main(void)
{
	char line[100];

	while (fgets(line, sizeof(line), stdin))
		if (*line == 'b')
			abort();
	return 0;
}
END
${CC:-cc} -g -O0 -w -o lines lines.c || fail "no program"
printf 'a\nb\nc\nd\n' | "${RECORD[@]}" -o lines.flt -- ./lines 2>/dev/null
for how in near far; do
	slurm=(--jobs 2)
	[ $how = near ] || slurm=(--slurm)
	expect_status 0 "$FAULTLINE" reduce lines.flt --input stdin --method lines --no-record --json "${slurm[@]}" -o $how.reduced
	jq 'del(.seconds, .runs_ahead, .directory)' "$TMPDIR/out" >$how.reduction
	[ "$(cat $how.reduced/stdin)" = b ] || fail "$how: $(cat $how.reduced/stdin)"
done
same reduction
[ ! -e far.reduced.work ] || fail "left: $(find far.reduced.work)"

# Measuring: other times, and the same of everything else.
for how in near far; do
	slurm=()
	[ $how = near ] || slurm=(--slurm)
	expect_status 0 "$FAULTLINE" bench linear --quick --rounds 1 "${slurm[@]}" --json $how.json
	jq -c '.rows[], .series[] | [.suite, .work, .command, .metric, .skipped]' $how.json >$how.rows
	[ -s $how.rows ] || fail "nothing was measured: $(cat $how.json)"
done
same rows

# ---- ended as a whole, and what cannot be

"${SUITE[@]}" record --slurm --tests tests.jsonl -o off -- ./prog >out 2>err &
submitter=$!
for i in $(seq 600); do
	[ -s off/slurm/job ] && break
	sleep 0.1
done
kill -TERM $submitter
wait $submitter
[ $? = 2 ] && grep -q "^faultline: cannot finish suite 'off': interrupted" err || fail "$(cat err)"
[ -z "$(squeue -h -j "$(cat off/slurm/job)" 2>/dev/null)" ] || fail "it goes on: $(squeue)"

expect_status 2 "${SUITE[@]}" record --slurm=--partition=none --tests tests.jsonl -o none -- ./prog
grep -q "^faultline: cannot submit to Slurm: sbatch says: .*partition" "$TMPDIR/err" || fail "$(cat "$TMPDIR/err")"
[ "$(wc -l <"$TMPDIR/err")" = 1 ] || fail "not one line: $(cat "$TMPDIR/err")"
expect_status 2 "${SUITE[@]}" record --slurm=--partition=closed --tests tests.jsonl -o closed -- ./prog
grep -q "^faultline: cannot have it done by Slurm: job [0-9]* would never run (.*account" "$TMPDIR/err" || fail "$(cat "$TMPDIR/err")"
[ "$(wc -l <"$TMPDIR/err")" = 1 ] || fail "not one line: $(cat "$TMPDIR/err")"
expect_status 2 "${SUITE[@]}" record --slurm --tests tests.jsonl -o tiny/full -- ./prog
grep -q "^faultline: cannot record into 'tiny/full': .*No space left on device" "$TMPDIR/err" || fail "$(cat "$TMPDIR/err")"
[ "$(wc -l <"$TMPDIR/err")" = 1 ] || fail "not one line: $(cat "$TMPDIR/err")"
mkdir bin
ln -s "$(command -v sinfo)" bin
expect_status 2 env PATH="$PWD/bin" "${SUITE[@]}" record --slurm --tests tests.jsonl -o nobody -- ./prog
grep -q "^faultline: cannot submit to Slurm: there is no sbatch here" "$TMPDIR/err" || fail "$(cat "$TMPDIR/err")"
echo "result: $before of $n tests were done when a node, the controller and the command were killed"
