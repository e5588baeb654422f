#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Where cpuid cannot trap it is probed: captures are as complete, what programs see is the
# same, rdrand and its kin are hidden as well. In code of no file it is not seen; the table in
# the manifest answers, and a question for the number of the CPU is told unless it is known.
. tests/lib.sh

need gojq gcc taskset
make_capture "$TMPDIR/t" "$BUILD/tests/programs/cpu"
asked() {
	"$FAULTLINE" dump -k cpuid "$1" | sed 's/.* CPUID/CPUID/; s/ at .*//' | sort
}

without_cpuid_traps
record_and_replay "$BUILD/tests/programs/cpu"
jq -e '.cpu.trapped == false' "$TMPDIR/c/manifest.json" >"$TMPDIR/is" || fail "it trapped"
[ "$(asked "$TMPDIR/c" | wc -l)" -ge 20 ] || fail "$(asked "$TMPDIR/c" | wc -l) questions seen"
# Subleaves of leaves that have none are whatever ecx held, and the APIC id is the CPU's.
plain() {
	asked "$1" | sed -E 's/^CPUID ([^.]*)\.[^ ]*/\1/' | grep -Ev '^(1|b|1f|8000001e|80000026) ' |
		cut -d ' ' -f 1,3- | sort
}
diff <(plain "$TMPDIR/t") <(plain "$TMPDIR/c") || fail "probed cpuid says something else"
"$FAULTLINE" dump -k cpuid "$TMPDIR/c" | grep 'CPUID 1\.' | awk '{ print $6 }' | grep -q . ||
	fail "leaf 1 was not asked"
rm -r "$TMPDIR"/c "$TMPDIR"/c.*

# Threads (the kernel may take the CPU away in the middle of the probe), processes, programs
# that end in one another, one that runs already.
for program in threads\ create crowd\ calls; do
	# shellcheck disable=SC2086 # program and argument
	record_and_replay "$BUILD"/tests/programs/$program
	rm -r "$TMPDIR"/c "$TMPDIR"/c.*
done
make_followed "$TMPDIR/c" sh -c 'openssl version | cat; exec ls /'
all_match "$TMPDIR/c"
[ "$n_matched" -ge 3 ] || fail "$n_matched processes"
rm -r "$TMPDIR"/c "$TMPDIR"/c.*

# A running one, again and again: the probes of the recording before may still be there.
cat >"$TMPDIR/serves.c" <<'EOF'
#include <cpuid.h>
#include <unistd.h>

int main(void)
{
	unsigned a, b, c, d;

	for (;;) {
		__cpuid_count(7, 0, a, b, c, d);
		usleep(1000 + (b & 1) + (a & 0) + (c & 0) + (d & 0));
	}
}
EOF
gcc -O1 -o "$TMPDIR/serves" "$TMPDIR/serves.c" || fail gcc
"$TMPDIR/serves" &
pid=$!
trap 'kill -KILL $pid 2>/dev/null' EXIT
for i in 1 2 3; do
	expect_status 0 "${RECORD[@]}" --duration 0.2 -o "$TMPDIR/a$i" -p $pid
	[ "$(id -u)" = 0 ] || sudo -n chown -R "$(id -u)" "$TMPDIR/a$i"
done
kill -KILL $pid
for i in 1 2 3; do
	expect_status 0 "$FAULTLINE" replay "$TMPDIR/a$i"
	[ "$("$FAULTLINE" dump -k cpuid "$TMPDIR/a$i" | wc -l)" -ge 5 ] || fail "none was seen"
done

cat >"$TMPDIR/asks.c" <<'EOF'
#include <cpuid.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

static void *ask(void *code)
{
	unsigned (*leaf)(unsigned) = code;

	printf("%08x %08x %08x\n", leaf(7), leaf(0xb), leaf(1));
	return NULL;
}

static void *ask_in_loop(void *unused)
{
	unsigned a, b, c, d, sum = 0;

	for (int i = 0; i < 2000; i++) {
		__cpuid_count(7, 0, a, b, c, d);
		sum += b;
	}
	(void)a, (void)c, (void)d, (void)unused;
	printf("%u\n", sum);
	return NULL;
}

int main(int argc, char **argv)
{
	// mov eax, edi; push rbx; xor ecx, ecx; cpuid; lea eax, [rbx + rdx]; pop rbx; ret
	static const unsigned char text[] = { 0x89, 0xf8, 0x53, 0x31, 0xc9, 0x0f, 0xa2,
					      0x8d, 0x04, 0x13, 0x5b, 0xc3 };
	void *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_t t[5];
	int n = argc > 1 ? argv[1][0] - '0' : 0;

	memcpy(code, text, sizeof(text));
	for (int i = 0; i < n; i++)
		pthread_create(&t[i], NULL, ask_in_loop, NULL);
	if (n)
		pthread_create(&t[n++], NULL, ask, code);
	else
		ask(code);
	for (int i = 0; i < n; i++)
		pthread_join(t[i], NULL);
	return 0;
}
EOF
gcc -O1 -pthread -o "$TMPDIR/asks" "$TMPDIR/asks.c" || fail gcc
last=$(($(nproc --all) - 1))
anywhere=("${RECORD[@]}")
RECORD=(taskset -c 0 "${anywhere[@]}")
record_and_replay "$TMPDIR/asks"
grep 'which CPU' "$TMPDIR/c.replay.err" && fail "one CPU alone is known"
cp "$TMPDIR/c.out" "$TMPDIR/on0"
rm -r "$TMPDIR"/c "$TMPDIR"/c.*
RECORD=(taskset -c $last "${anywhere[@]}")
record_and_replay "$TMPDIR/asks"
RECORD=("${anywhere[@]}")
if [ $last -gt 0 ]; then
	cp "$TMPDIR/c.out" "$TMPDIR/on_last"
	cmp -s "$TMPDIR/on0" "$TMPDIR/on_last" && fail "CPUs do not differ: nothing was tested"
	rm -r "$TMPDIR"/c "$TMPDIR"/c.*
	make_capture "$TMPDIR/c" "$TMPDIR/asks"
	"$FAULTLINE" replay "$TMPDIR/c" --stdout >"$TMPDIR/out" 2>"$TMPDIR/err"
	# Some virtual ones say nothing of their topology.
	differ=$(paste <(tr ' ' '\n' <"$TMPDIR/on0") <(tr ' ' '\n' <"$TMPDIR/on_last") | awk '$1 != $2' | wc -l)
	[ "$(grep -c 'note: cpuid at .* asked which CPU' "$TMPDIR/err")" = "$differ" ] ||
		fail "not told, or not once for each: $(cat "$TMPDIR/err")"
fi
rm -r "$TMPDIR"/c "$TMPDIR"/c.*
record_and_replay "$TMPDIR/asks" 4
grep 'which CPU' "$TMPDIR/c.replay.err" && fail "threads share one CPU, which is known"
exit 0
