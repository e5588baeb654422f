#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# A program that executes rdtsc often is probed, and does not trap any more: with signals, threads, children
# and libraries that come later each time stamp is recorded, once. Where memory becomes code of its own, it traps
# again.
. tests/lib.sh

need_bpf
cat >"$TMPDIR/later.c" <<'EOS'
#include <x86intrin.h>
unsigned long later(void)
{
	return __rdtsc();
}
EOS
gcc -O1 -shared -fPIC -o "$TMPDIR/later.so" "$TMPDIR/later.c" || fail gcc
cat >"$TMPDIR/a.c" <<'EOS'
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include <x86intrin.h>

static volatile unsigned long sum, in_handler;
static unsigned long last;

static void on_timer(int signo)
{
	(void)signo;
	in_handler++;
	sum += __rdtsc();
}

// Time stamps grow, and are not the same twice; the instruction behind the last is a branch's target, and
// one of the others behind that an rdtsc.
static void many(int n)
{
	unsigned aux;

	for (int i = 0; i < n; i++) {
		unsigned long a = __rdtsc(), b, c, d;

		b = __rdtscp(&aux);
		__asm__ volatile("rdtsc; rdtsc; shl $32, %%rdx; or %%rdx, %%rax" : "=a"(c) : : "rdx");
		__asm__ volatile("mov %1, %%ecx\n\t"
				 "xor %%eax, %%eax\n\t"
				 "xor %%edx, %%edx\n\t"
				 "test $1, %%ecx\n\t"
				 "jz 1f\n\t"
				 "rdtsc\n"
				 "1: shl $32, %%rdx\n\t"
				 "or %%rdx, %%rax"
				 : "=a"(d) : "r"(i) : "rdx", "rcx");
		sum += a ^ b ^ c ^ d ^ aux;
	}
}

static void *thread(void *n)
{
	many(*(int *)n);
	return NULL;
}

static void made(void)
{
	static const unsigned char code[] = { 0x0f, 0x31, 0xc3 };
	unsigned char *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memcpy(p, code, sizeof(code));
	mprotect(p, 4096, PROT_READ | PROT_EXEC);
	for (int i = 0; i < 50; i++) {
		__asm__ volatile("call *%0" : : "r"(p) : "rax", "rdx");
		many(1);
	}
}

int main(int argc, char **argv)
{
	int n = 2000;

	(void)argc;
	if (!strcmp(argv[1], "signals")) {
		const struct itimerval often = { { 0, 300 }, { 0, 300 } };

		signal(SIGALRM, on_timer);
		setitimer(ITIMER_REAL, &often, NULL);
	}
	many(n);
	if (!strcmp(argv[1], "signals"))
		while (in_handler < 50)
			many(1);
	if (!strcmp(argv[1], "threads")) {
		pthread_t t[3];

		for (int i = 0; i < 3; i++)
			pthread_create(&t[i], NULL, thread, &n);
		for (int i = 0; i < 3; i++)
			pthread_join(t[i], NULL);
	}
	if (!strcmp(argv[1], "forks")) {
		fflush(stdout);
		if (!fork()) {
			many(1000);
			return sum == 42;
		}
		wait(NULL);
	}
	if (!strcmp(argv[1], "library")) {
		unsigned long (*later)(void) =
			(unsigned long (*)(void))dlsym(dlopen(argv[2], RTLD_NOW), "later");

		for (int i = 0; i < 100; i++)
			last = later();
		sum += last;
	}
	if (!strcmp(argv[1], "made")) {
		pthread_t t;

		pthread_create(&t, NULL, thread, &n);
		made();
		pthread_join(t, NULL);
		pthread_create(&t, NULL, thread, &n);
		pthread_join(t, NULL);
	}
	if (!strcmp(argv[1], "executes") && argv[2])
		execl(argv[0], argv[0], "executes", (char *)NULL);
	printf("%lx\n", sum);
	return 0;
}
EOS
gcc -O1 -pthread -o "$TMPDIR/a" "$TMPDIR/a.c" || fail gcc

# often ARG... - record that, followed, and replay it.
often() {
	expect_status 0 env FAULTLINE_LOG=record:1 "${RECORD[@]}" -f -o "$TMPDIR/c" "$TMPDIR/a" "$@"
	grep -q ': complete' "$TMPDIR/err" || fail "$*: $(cat "$TMPDIR/err")"
	cp "$TMPDIR/err" "$TMPDIR/said"
	cp "$TMPDIR/out" "$TMPDIR/printed"
	[ "$(id -u)" = 0 ] || sudo -n chown -R "$(id -u)" "$TMPDIR/c"
	all_match "$TMPDIR/c"
	expect_status 0 "$FAULTLINE" replay --stdout "$TMPDIR/c"
	cmp "$TMPDIR/out" "$TMPDIR/printed" || fail "$*: replay printed something else"
	n_stamps=$("$FAULTLINE" dump -k tsc "$TMPDIR/c" | wc -l)
	rm -r "$TMPDIR/c"
}

is_probed='executes rdtsc often: it is probed'
often plain
# The program's own are 9000; the loader has some.
[ "$n_stamps" -ge 9000 ] && [ "$n_stamps" -lt 9100 ] || fail "$n_stamps time stamps"
if grep -q 'executes rdtsc often' "$TMPDIR/said"; then
	grep -q "$is_probed" "$TMPDIR/said" || fail "it traps: $(cat "$TMPDIR/said")"
	for way in signals threads; do
		often $way
		grep -q "$is_probed" "$TMPDIR/said" || fail "$way: it traps"
	done
	often forks
	[ "$n_matched" = 2 ] || fail "$n_matched processes"
	[ "$(grep -c "$is_probed" "$TMPDIR/said")" = 2 ] || fail "the child is not probed"
	often library "$TMPDIR/later.so"
	grep -q 'behind rdtsc at .*later.so' "$TMPDIR/said" || fail "library: $(cat "$TMPDIR/said")"
	often executes once
	[ "$(grep -c "$is_probed" "$TMPDIR/said")" = 2 ] || fail "what it executed is not probed"
	often made
	grep -q 'makes code of its own: rdtsc traps' "$TMPDIR/said" || fail "made: $(cat "$TMPDIR/said")"
fi
# Where nothing traps it is probed from the beginning.
without_cpuid_traps
for way in signals threads forks executes; do
	often $way once
done
