#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# A capture replays to the same end whichever CPU replays it: programs of all kinds, on each
# CPU of the machine, recorded with cpuid trapped where it can be and with cpuid probed.
. tests/lib.sh

need taskset gojq
# The processor's last CPU differs from the first in what cpuid says of itself.
cpus=$(taskset -pc $$ | sed 's/.*: //' | tr , '\n' | sed 's/-/ /' |
	while read -r from to; do seq "$from" "${to:-$from}"; done | sed -n '1p;$p' | sort -u)
make_text 1 >"$TMPDIR/text"
export GODEBUG=

programs=(
	"ls -l /" "sort $TMPDIR/text" "gzip -c $TMPDIR/text" "xz -0 -T2 -c $TMPDIR/text"
	"sha256sum $TMPDIR/text" "openssl sha512 $TMPDIR/text" "openssl rand -hex 16"
	"bc -l" "sqlite3 :memory: select(1+1)" "python3 -c print(hash('x'))"
	"perl -e print(42)" "luajit -e print(1)" "node -e console.log(1)" "gawk BEGIN{print(rand())}"
	"age-keygen" "git --version" "tidy --version" "zstd -T2 -c $TMPDIR/text"
	"openssl genrsa 1024" "$BUILD/tests/programs/threads create"
	"$BUILD/tests/programs/crowd idle" "$BUILD/tests/programs/cpu"
)
n=0

# replays_alike DIR - on each CPU.
replays_alike() {
	local cpu want='' got
	for cpu in $cpus; do
		taskset -c "$cpu" "$FAULTLINE" replay --json "$1" >"$1.json" 2>"$1.err" ||
			fail "$program, on CPU $cpu: $(cat "$1.err" "$1.json")"
		got=$(jq -c '[.matched, .instructions, .syscalls]' "$1.json")
		[ -z "$want" ] || [ "$want" = "$got" ] ||
			fail "$program: $want, but on CPU $cpu $got"
		want=$got
	done
	case $want in '[true,'*) ;; *) fail "$program: $want" ;; esac
}

for program in "${programs[@]}"; do
	command -v "${program%% *}" >/dev/null || continue
	case ${program%% *} in
	node | age-keygen) ! lacks_low_addresses || continue ;;
	esac
	# shellcheck disable=SC2086 # program and arguments
	make_capture "$TMPDIR/c" $program
	replays_alike "$TMPDIR/c"
	rm -r "$TMPDIR"/c "$TMPDIR"/c.*
	n=$((n + 1))
done
[ $n -ge 20 ] || fail "only $n programs"
without_cpuid_traps
for program in "openssl rand -hex 16" "python3 -c print(hash('x'))" "node -e console.log(1)" \
	age-keygen "zstd -T2 -c $TMPDIR/text" "$BUILD/tests/programs/threads create"; do
	case ${program%% *} in
	node | age-keygen) ! lacks_low_addresses || continue ;;
	esac
	# shellcheck disable=SC2086
	make_capture "$TMPDIR/c" $program
	replays_alike "$TMPDIR/c"
	rm -r "$TMPDIR"/c "$TMPDIR"/c.*
done
echo "result: $n programs on CPUs $(echo $cpus)"
