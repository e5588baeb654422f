#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# first-hour.sh [SYSTEM] - what a person meets in the first hour, in a bare Debian 12: the README's
# lines, the demo, a program of one's own that crashes, a specification of one's own, the page, and
# the mistakes that everybody makes. SYSTEM is a directory with such a system, which stays as it is
# (default: debootstrap makes one). As root. All that was typed and printed comes out, to be read;
# fails at the first step that does not end or say what it should.
set -euo pipefail

source=$(cd "$(dirname "$0")/.." && pwd)
mirror=${FAULTLINE_DEBIAN_MIRROR:-http://deb.debian.org/debian}

complain() {
	echo "first-hour: $*" >&2
	exit 1
}

# step STATUS PATTERN COMMAND - type it: it ends so, and prints a line that matches.
step() {
	local want=$1 pattern=$2 got=0
	printf '\n$ %s\n' "$3"
	bash -c "$3" >/tmp/said 2>&1 </dev/null || got=$?
	tail -n 40 /tmp/said
	[ $got = "$want" ] || complain "status $got, not $want, of: $3"
	[ -z "$pattern" ] || grep -qE -e "$pattern" /tmp/said || complain "no line like '$pattern' from: $3"
}

# ---- inside ------------------------------------------------------------------------------

inside() {
	local first
	cd /root
	first=$(sed -n 's/^    sudo apt-get update && sudo \(apt-get install .*\)/\1/p' /mnt/README.md)
	[ -n "$first" ] || complain "the README's first line is another"
	step 0 "" "apt-get -q update && DEBIAN_FRONTEND=noninteractive $first >log 2>&1 && tail -n 1 log"
	step 0 "" "git clone -q file:///mnt faultline"
	cd faultline
	step 0 "quad.c:[0-9]+" "make -s demo"
	PATH=$PWD/build:$PATH
	mkdir ../own
	cd ../own
	cat >jobs.c <<'EOF'
#include <stdio.h>
#include <stdlib.h>

struct job {
	struct job *next, *prev;
	int number;
};

static struct job *head;

static void add(int number)
{
	struct job *job = malloc(sizeof(*job));

	job->number = number;
	job->prev = NULL;
	job->next = head;
	if (head)
		head->prev = job;
	head = job;
}

static void drop(struct job *job)
{
	if (job->prev)
		job->prev->next = job->next;
	else
		head = job->next;
	if (job->next && job->number != 3)
		job->next->prev = job->prev;
	free(job);
}

int main(int argc, char **argv)
{
	struct job *job;
	int number;

	for (int i = 0; i < 8; i++)
		add(i);
	while (scanf("%d", &number) == 1) {
		for (job = head; job && job->number != number;)
			job = job->next;
		if (job)
			drop(job);
	}
	for (job = head; job; job = job->next)
		printf("%d\n", job->number);
	return 0;
}
EOF
	step 0 '' "gcc -g -O1 -o jobs jobs.c"
	step 0 "complete" "echo 1 5 6 | faultline record -o good.flt -- ./jobs"
	step 139 "complete" "echo 5 3 2 4 | faultline record -o bad.flt -- ./jobs"
	step 0 "analyze" "faultline bad.flt"
	step 0 "all matched" "faultline replay bad.flt"
	step 1 "jobs.c:2[0-9]" "faultline check bad.flt"
	step 1 "jobs.c:" "faultline analyze bad.flt"
	step 0 "prev" "faultline spec init good.flt >own.spec; cat own.spec"
	step 0 "" "faultline spec check own.spec --binary jobs"
	step 0 "" "faultline analyze good.flt --spec own.spec"
	step 1 "jobs.c:(2[0-9]|3[0-9])" "faultline analyze bad.flt --spec own.spec"
	step 0 "" "faultline report bad.flt --spec own.spec -o page.html; ls -l page.html"
	# What everybody does wrong once.
	step 127 "\(.*\)" "faultline record -o x.flt -- ./jop"
	step 125 "\(.*\)" "faultline record -o good.flt -- ./jobs"
	step 2 "\(.*\)" "faultline analyze jobs"
	step 2 "\(.*\)" "faultline analyze nowhere.flt"
	step 2 "help" "faultline analyse bad.flt"
	step 1 "job" "sed s/job/jov/ own.spec >wrong.spec; faultline spec check wrong.spec --binary jobs"
	step 2 "jov|struct" "faultline analyze bad.flt --spec wrong.spec"
	echo
	echo "first-hour: all as it should be"
}

if [ "${1:-}" = --inside ]; then
	inside
	exit
fi

# ---- outside -----------------------------------------------------------------------------

[ "$(id -u)" = 0 ] || complain "wants root (sudo tools/first-hour.sh)"
place=$(mktemp -d "${TMPDIR:-/tmp}/faultline-first-hour.XXXXXX")
trap 'rm -rf --one-file-system "$place"' EXIT
bare=${1:-}
if [ -z "$bare" ]; then
	command -v debootstrap >/dev/null || complain "wants debootstrap (apt-get install debootstrap)"
	bare=$place/bare
	echo "first-hour: making a bare system"
	debootstrap --variant=minbase bookworm "$bare" "$mirror" >"$place/log" 2>&1 ||
		complain "cannot make a bare system: $(tail -n 3 "$place/log")"
fi
# What is committed, as others get it; a worktree alone is no repository.
git clone -q "$source" "$place/source"
mkdir "$place/upper" "$place/work" "$place/root"
# All mounts are gone with the shell that makes them.
unshare --mount --propagation private bash -euc '
	mount -t overlay -o "lowerdir=$1,upperdir=$2/upper,workdir=$2/work" overlay "$2/root"
	for place in proc sys dev; do
		mount --rbind "/$place" "$2/root/$place"
	done
	mount --bind -o ro "$3" "$2/root/mnt"
	cp /etc/resolv.conf "$2/root/etc/resolv.conf"
	exec env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin TERM=dumb \
		chroot "$2/root" bash /mnt/tools/first-hour.sh --inside' \
	bash "$bare" "$place" "$place/source"
