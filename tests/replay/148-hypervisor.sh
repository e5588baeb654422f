#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Under a hypervisor that lets neither cpuid nor rdtsc trap, nor a probe step over cpuid: what is in
# files is recorded all the same, whatever else threads do meanwhile; cpuid that is jumped to is answered by the
# manifest's table; and an rdtsc in code of no file ends the replay, which says why.
. tests/lib.sh

need cc gojq openssl
without_cpuid_traps
RECORD=(env NOSTEP=1 "${RECORD[@]}")
[ "${RECORD[2]}" != sudo ] || RECORD=(sudo -n env NOSTEP=1 "${RECORD[@]:4}")

cat >"$TMPDIR/asks.c" <<'EOF'
#include <cpuid.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <x86intrin.h>

// One byte, which is emulated: behind it is where a breakpoint at it has been hit.
static unsigned push_before_it(void)
{
	unsigned a = 7, c = 0;

	__asm__ volatile("lea -128(%%rsp), %%rsp\n\tpush %%rbx\n\tcpuid\n\tpop %%rbx\n\t"
			 "lea 128(%%rsp), %%rsp"
			 : "+a"(a), "+c"(c)
			 :
			 : "edx", "memory");
	return a + c;
}

static void *ask(void *unused)
{
	unsigned a, b, c, d, sum = 0, aux;
	unsigned long long first = __rdtsc(), last = first;

	for (int i = 0; i < 500; i++) {
		__cpuid_count(7, 0, a, b, c, d);
		sum += b + push_before_it();
		last = i % 2 ? __rdtsc() : __rdtscp(&aux);
	}
	(void)a, (void)c, (void)d, (void)unused;
	printf("%u %llu\n", sum, last - first);
	return NULL;
}

// Nothing leads to it but a jump.
static unsigned jump_to_it(void)
{
	unsigned a = 7, b = 0, c = 0, d = 0;

	__asm__ volatile("jmp 1f\n\tud2\n1:\tcpuid" : "+a"(a), "+b"(b), "+c"(c), "+d"(d));
	return b;
}

int main(int argc, char **argv)
{
	static const unsigned char text[] = { 0x0f, 0x31, 0xc3 }; // rdtsc; ret
	void *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned (*made)(void) = code;
	pthread_t t[3];

	memcpy(code, text, sizeof(text));
	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, ask, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	printf("%u\n", jump_to_it());
	fflush(stdout);
	if (argc > 1)
		printf("%s %u\n", argv[1], made());
	return 0;
}
EOF
cc -O1 -pthread -o "$TMPDIR/asks" "$TMPDIR/asks.c" || fail "cannot compile"
record_and_replay "$TMPDIR/asks"
jq -e '.cpu.trapped == false and .cpu.tsc_probed' "$TMPDIR/c/manifest.json" >"$TMPDIR/is" ||
	fail "something trapped"
[ "$("$FAULTLINE" dump -k tsc "$TMPDIR/c" | wc -l)" -ge 1503 ] || fail "rdtsc was not recorded"
[ "$("$FAULTLINE" dump -k cpuid "$TMPDIR/c" | grep -c 'CPUID 7\.')" -ge 1500 ] || fail "nor cpuid"
rm -r "$TMPDIR"/c "$TMPDIR"/c.*

make_capture "$TMPDIR/c" "$TMPDIR/asks" made
expect_status 1 "$FAULTLINE" replay "$TMPDIR/c"
grep -q 'rdtsc at .* could not trap where this was recorded, and was not found in a file' "$TMPDIR/out" ||
	fail "it does not say why: $(cat "$TMPDIR/out")"
rm -r "$TMPDIR"/c "$TMPDIR"/c.*

make_followed "$TMPDIR/c" sh -c 'openssl version | cat; exec ls /'
all_match "$TMPDIR/c"
[ "$n_matched" -ge 3 ] || fail "$n_matched processes"
rm -r "$TMPDIR"/c "$TMPDIR"/c.*

# What programs see is less by what is hidden, as where cpuid traps.
record_and_replay "$BUILD/tests/programs/cpu"
[ "$("$FAULTLINE" dump -k cpuid "$TMPDIR/c" | wc -l)" -ge 20 ] || fail "nothing was answered"
