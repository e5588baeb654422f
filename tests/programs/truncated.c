// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Reads and writes behind the end of files that it has mapped, which a handler tells; then the file
 * grows, and it is memory as any other. With an argument there is no handler. A call of NULL, too.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static sigjmp_buf back;
static void (*volatile nothing)(void);

static void on_fault(int signo, siginfo_t *si, void *context)
{
	(void)context;
	printf("%d %d %lx\n", signo, si->si_code, (unsigned long)si->si_addr & 0xfff);
	siglongjmp(back, 1);
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };
	FILE *f = tmpfile();
	volatile char *p =
		mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(f), 0);

	if (argc == 1) {
		sigaction(SIGBUS, &action, NULL);
		sigaction(SIGSEGV, &action, NULL);
	}
	if (argc > 1 && !strcmp(argv[1], "null"))
		nothing();
	if (!sigsetjmp(back, 1))
		p[100] = 1;
	if (!sigsetjmp(back, 1))
		printf("%d\n", p[5000]);
	if (!sigsetjmp(back, 1))
		nothing();
	if (ftruncate(fileno(f), 8192))
		return 1;
	p[100] = 7;
	printf("%d %d\n", p[100], p[5000]);
	return 0;
}
