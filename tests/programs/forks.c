// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Processes in all the ways that they come to be, each working with memory of its own.
 *
 *   forks tree DEPTH     a binary tree of processes; prints how many there were
 *   forks many N         N short children at once; prints the sum of what they computed
 *   forks ways           fork in a signal handler, time stamps and cpuid in a child, a
 *                        moved break, spawn, a double fork, children that signals end
 *   forks restart        two children inside calls that being stopped cuts short
 *   forks threads        a process with threads forks, and its children start threads
 *   forks shared         parent and child talk through shared memory
 *   forks daemon FILE    leaves a daemon behind that writes FILE once told to by SIGUSR1
 *   forks filter         a child that the kernel kills for prctl executes
 *                        this program again
 *   forks holes          a child whose memory is touched in 2000 places apart
 *   forks group SIGNAL   sends the signal to its process group, itself among it; prints how often
 *                        it came, and in a child how often that got it
 *   forks seize          prints how many of 20 children it may not trace as soon as they are there
 *   forks ids            prints real and effective user id, and its tracer
 */
#include <cpuid.h>
#include <asm/unistd.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#include <x86intrin.h>

extern char **environ;

/** Something whose result depends on memory from before a fork and from after it. */
static unsigned *inherited;

static unsigned work(unsigned seed)
{
	unsigned *p[64], sum = seed;

	for (unsigned i = 0; i < 64; i++) {
		p[i] = malloc(512 + 64 * (i % 5));
		for (unsigned k = 0; k < 128; k++)
			p[i][k] = inherited[(i * 128 + k) % 4096] ^ (seed * k);
	}
	for (unsigned i = 0; i < 64; i++) {
		for (unsigned k = 0; k < 128; k++)
			sum = sum * 31 + p[i][k];
		free(p[i]);
	}
	return sum;
}

static int wait_status(void)
{
	int status = 0;

	wait(&status);
	return status;
}

/** @return how many processes the tree below has, itself included. */
static int tree(int depth)
{
	int n = 1;

	inherited[depth] += work(depth);
	if (!depth)
		return n;
	for (int i = 0; i < 2; i++)
		if (!fork())
			_exit(tree(depth - 1));
	for (int i = 0; i < 2; i++)
		n += WEXITSTATUS(wait_status());
	return n;
}

static int many(unsigned n)
{
	unsigned sum = 0;

	for (unsigned i = 0; i < n; i++)
		if (!fork())
			_exit(work(i) & 0x7f);
	for (unsigned i = 0; i < n; i++)
		sum += WEXITSTATUS(wait_status());
	printf("%u\n", sum);
	return 0;
}

static void fork_here(int signo)
{
	inherited[0] += signo;
	if (fork())
		return;
	inherited[1]++;
	// The child leaves the handler, too.
}

static void fork_in_handler(void)
{
	pid_t self = getpid();

	signal(SIGUSR1, fork_here);
	raise(SIGUSR1);
	if (getpid() != self)
		_exit((work(inherited[1]) & 0x3f) | 1);
	printf("handler %d\n", !!WEXITSTATUS(wait_status()));
}

static void use_chance(void)
{
	unsigned a = 0, b, c, d;

	if (!fork()) {
		uint64_t tsc = __rdtsc();
		char *end = sbrk(200000);

		memset(end, 7, 200000);
		sbrk(-100000);
		_exit(tsc && __get_cpuid(0, &a, &b, &c, &d) && a ? 9 + end[99999] : 0);
	}
	printf("chance %d\n", WEXITSTATUS(wait_status()));
}

static void spawn(void)
{
	char *argv[] = { "sh", "-c", "exit 4", NULL };
	char *none[] = { "/nonexistent/program", NULL };
	pid_t pid;
	int failed = 0;

	if (posix_spawn(&pid, "/bin/sh", NULL, NULL, argv, environ))
		exit(1);
	printf("spawn %d\n", WEXITSTATUS(wait_status()));
	failed = posix_spawn(&pid, none[0], NULL, NULL, none, environ);
	printf("spawn fails %d\n", !!failed);
	if (!vfork())
		_exit(6);
	printf("vfork %d\n", WEXITSTATUS(wait_status()));
}

static void double_fork(void)
{
	char text[32] = "";
	int ends[2], status;

	if (pipe(ends))
		exit(1);
	if (!fork()) {
		if (fork())
			_exit(3);
		setsid();
		usleep(20000);
		dprintf(ends[1], "orphan %u", work(5) % 10);
		_exit(0);
	}
	close(ends[1]);
	status = wait_status();
	printf("double %d %zd\n", WEXITSTATUS(status), read(ends[0], text, sizeof(text)));
	printf("%s\n", text);
}

static void ended_by_signals(void)
{
	pid_t pid = fork();

	if (!pid)
		*(volatile int *)0 = 1;
	printf("signal %d\n", WTERMSIG(wait_status()));
	pid = fork();
	if (!pid)
		for (;;)
			pause();
	usleep(10000);
	kill(pid, SIGKILL);
	printf("signal %d\n", WTERMSIG(wait_status()));
}

static int ways(void)
{
	fork_in_handler();
	use_chance();
	spawn();
	double_fork();
	ended_by_signals();
	return 0;
}

static pid_t sleeper(void)
{
	struct timespec t = { .tv_nsec = 300000000 };
	pid_t pid = fork();

	if (!pid)
		_exit(nanosleep(&t, NULL) ? 1 : 7);
	return pid;
}

static pid_t poller(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	pid_t pid = fork();

	if (!pid)
		_exit(poll(&p, 1, 5000) == 1 && p.revents == POLLIN ? 8 : 2);
	return pid;
}

/** Both are in a call that goes on as restart_syscall; each must go on with its own. */
static int restart(void)
{
	int ends[2], status, sum = 0;
	pid_t pids[2];

	if (pipe(ends))
		return 1;
	pids[0] = poller(ends[0]);
	pids[1] = sleeper();
	usleep(30000);
	for (int i = 0; i < 2; i++) {
		kill(pids[i], SIGSTOP);
		waitpid(pids[i], &status, WUNTRACED);
	}
	kill(pids[0], SIGCONT);
	kill(pids[1], SIGCONT);
	usleep(30000);
	if (write(ends[1], "x", 1) != 1)
		return 1;
	for (int i = 0; i < 2; i++)
		sum += WEXITSTATUS(wait_status());
	printf("%d\n", sum);
	return 0;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned counted;

static void *count(void *step)
{
	for (int i = 0; i < 1000; i++) {
		pthread_mutex_lock(&lock);
		counted += (uintptr_t)step;
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

static void count_together(void)
{
	pthread_t threads[3];

	for (uintptr_t i = 0; i < 3; i++)
		if (pthread_create(&threads[i], NULL, count, (void *)(i + 1)))
			exit(1);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
}

static int threads(void)
{
	unsigned sum = 0;

	count_together();
	for (int i = 0; i < 3; i++) {
		if (fork())
			continue;
		if (i)
			count_together();
		_exit((counted / 1000 + work(i) % 2) & 0x7f);
	}
	for (int i = 0; i < 3; i++)
		sum += WEXITSTATUS(wait_status());
	printf("%u %u\n", counted, sum);
	return 0;
}

static int shared(void)
{
	int *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);

	if (p == MAP_FAILED)
		return 1;
	if (!fork()) {
		p[0] = 42;
		_exit(0);
	}
	wait_status();
	printf("%d\n", p[0]);
	return 0;
}

static volatile sig_atomic_t is_told;

static void told(int signo)
{
	(void)signo;
	is_told = 1;
}

static int leave_daemon(const char *path)
{
	if (fork())
		return 0;
	setsid();
	signal(SIGUSR1, told);
	printf("%d\n", getpid());
	fclose(stdout);
	while (!is_told)
		usleep(10000);
	if (freopen(path, "w", stdout)) {
		unsigned a, b, c, d;

		printf("%d %u\n", __rdtsc() && __get_cpuid(0, &a, &b, &c, &d), work(3));
		fclose(stdout);
	}
	return 0;
}

#define KILL_FOR(nr)                                     \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (nr), 0, 1), \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)

/** As a sandbox would: what this program has no use for ends it. The C library calls
 * arch_prctl at its start; that one is allowed (ARCH_SET_FS). */
static int filter(const char *self)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		KILL_FOR(__NR_prctl),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_arch_prctl, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x1011, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		return 1;
	if (!fork()) {
		if (!fork())
			_exit((__rdtsc() && work(1)) ? 4 : 5);
		if (WEXITSTATUS(wait_status()) == 4)
			execl(self, self, "many", "2", NULL);
		_exit(1);
	}
	printf("%d\n", wait_status());
	return 0;
}

/** Some places near each other, some far. */
static int holes(void)
{
	const size_t pages[] = { 8, 20 };
	unsigned *p[2];

	for (int k = 0; k < 2; k++) {
		p[k] = mmap(NULL, pages[k] * 1000 * 4096, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		for (size_t i = 0; i < 1000; i++)
			p[k][i * pages[k] * 1024] = work(i);
	}
	if (!fork()) {
		unsigned sum = 0;

		for (size_t i = 0; i < 1000; i++)
			sum = sum * 31 + p[0][i * pages[0] * 1024] +
			      p[1][i * pages[1] * 1024];
		printf("%u\n", sum);
		fclose(stdout);
		_exit(0);
	}
	printf("%d\n", wait_status());
	return 0;
}

static volatile sig_atomic_t n_group;

static void count_group(int signo)
{
	(void)signo;
	n_group++;
}

static int signal_group(int signo)
{
	struct timespec nap = { .tv_nsec = 100000000 };
	int status;
	pid_t pid;

	signal(signo, count_group);
	pid = fork();
	if (pid && kill(0, signo))
		return 1;
	// Whatever else comes of it comes now.
	for (int i = 0; i < 2 || !n_group; i++)
		nanosleep(&nap, NULL);
	if (!pid)
		_exit(n_group);
	printf("%d times, ", (int)n_group);
	while (waitpid(pid, &status, 0) != pid)
		;
	printf("%d in the child\n", WEXITSTATUS(status));
	return 0;
}

static int seize_children(void)
{
	int refused = 0;

	for (int i = 0; i < 20; i++) {
		pid_t pid = fork();

		if (!pid)
			for (;;)
				pause();
		refused += ptrace(PTRACE_SEIZE, pid, NULL, NULL) != 0;
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	printf("refused %d\n", refused);
	return 0;
}

static int print_ids(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[256];

	printf("%d %d\n", getuid(), geteuid());
	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, "TracerPid:", 10))
			printf("traced %d\n", atoi(line + 10) != 0);
	return 0;
}

static int idle_pipe[2];

static void *idle(void *unused)
{
	char c;

	return read(idle_pipe[0], &c, 1) == 1 ? unused : NULL;
}

/** A child in the memory of a program with another thread, which sleeps, writes into its heap, and
 * has it allocate (as debuggers do before they execute). */
static int borrow(void)
{
	char *heap = calloc(1, 1 << 20), *more;
	sigset_t sigchld;
	pthread_t t;
	pid_t pid;
	int status;

	if (!heap || pipe(idle_pipe) || pthread_create(&t, NULL, idle, NULL))
		return 2;
	usleep(50000);
	// The other thread is woken for the child's end, and goes on to sleep.
	sigemptyset(&sigchld);
	sigaddset(&sigchld, SIGCHLD);
	pthread_sigmask(SIG_BLOCK, &sigchld, NULL);
	pid = vfork();
	if (!pid) {
		for (int i = 0; i < 1 << 20; i += 5000)
			heap[i] = (char)getpid();
		for (int i = 0; i < 100; i++)
			inherited[i] = (unsigned)(uintptr_t)malloc(100 + i % 7);
		_exit(0);
	}
	more = malloc(100);
	waitpid(pid, &status, 0);
	printf("%d %x %p\n", heap[5000] == (char)pid, inherited[99], more);
	// What a program does with what it finds.
	for (int i = 0; i < heap[10000]; i++)
		getppid();
	if (write(idle_pipe[1], "x", 1) != 1)
		return 2;
	pthread_join(t, NULL);
	return heap[5000] != (char)pid;
}

static int asked_pipe[2], served_pipe[2];
static volatile long n_served, last_child;

static void *serve(void *unused)
{
	char c;

	while (read(asked_pipe[0], &c, 1) == 1 && c == 'x') {
		n_served++;
		if (write(served_pipe[1], "y", 1) != 1)
			break;
	}
	return unused;
}

static bool is_served(void)
{
	char c;

	return write(asked_pipe[1], "x", 1) == 1 && read(served_pipe[0], &c, 1) == 1;
}

/** .. which another thread works for meanwhile, and then sleeps again. */
static int served(void)
{
	enum { CHILDREN = 20 };
	long *heap = calloc(CHILDREN, 800);
	volatile long n = 0;
	pthread_t t;

	if (!heap || pipe(asked_pipe) || pipe(served_pipe) ||
	    pthread_create(&t, NULL, serve, NULL))
		return 2;
	usleep(1000);
	// Not the child: what it binds the other thread would use.
	if (!is_served())
		return 2;
	for (last_child = -1; last_child < CHILDREN - 1;) {
		long i = last_child + 1;

		if (!vfork()) {
			last_child++;
			heap[last_child * 100] = last_child;
			if (!is_served())
				_exit(1);
			usleep(1000);
			_exit(0);
		}
		wait(NULL);
		n += last_child == i && heap[i * 100] == i && n_served == i + 2;
		for (long k = 0; k < last_child; k++)
			getppid();
	}
	if (write(asked_pipe[1], "z", 1) != 1)
		return 2;
	pthread_join(t, NULL);
	printf("%ld\n", n);
	return n != CHILDREN;
}

enum { ARENA = 1 << 20, OWN_STACK = 64 << 10 };
static long *arena;
static atomic_bool is_over;
static ucontext_t outside, inside;

static void *count_there(void *unused)
{
	while (!is_over)
		for (int i = 0; i < ARENA / 2 / 4096; i++)
			arena[i * 512]++;
	return unused;
}

static void vfork_inside(void)
{
	int status = 0;
	pid_t pid = vfork();

	if (!pid) {
		usleep(500);
		_exit(3);
	}
	waitpid(pid, &status, 0);
	arena[1] += WEXITSTATUS(status);
}

/** Children are made on a stack of the program's own making, as of coroutines, beside which another thread writes
 * while they run. */
static int lent(void)
{
	pthread_t t;
	volatile long sum = 0;

	arena = mmap(NULL, ARENA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		     0);
	if (arena == MAP_FAILED || pthread_create(&t, NULL, count_there, NULL))
		return 2;
	setpriority(PRIO_PROCESS, 0, 10); // the other one runs first when a child is done
	for (int i = 0; i < 60; i++) {
		getcontext(&inside);
		inside.uc_link = &outside;
		inside.uc_stack.ss_sp = (char *)arena + ARENA / 2;
		inside.uc_stack.ss_size = OWN_STACK;
		makecontext(&inside, vfork_inside, 0);
		swapcontext(&outside, &inside);
	}
	is_over = true;
	pthread_join(t, NULL);
	for (int i = 0; i < ARENA / 2 / 4096; i++)
		sum += arena[i * 512] * (i + 1);
	printf("%ld %ld\n", arena[1], sum);
	return arena[1] != 180;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	int n = argc > 2 ? atoi(argv[2]) : 4;

	inherited = calloc(4096, sizeof(*inherited));
	for (unsigned i = 0; i < 4096; i++)
		inherited[i] = i * 2654435761u;
	setlinebuf(stdout);
	if (!strcmp(what, "tree"))
		return printf("%d\n", tree(n)) < 0;
	if (!strcmp(what, "many"))
		return many(n);
	if (!strcmp(what, "ways"))
		return ways();
	if (!strcmp(what, "restart"))
		return restart();
	if (!strcmp(what, "borrow"))
		return borrow();
	if (!strcmp(what, "served"))
		return served();
	if (!strcmp(what, "lent"))
		return lent();
	if (!strcmp(what, "threads"))
		return threads();
	if (!strcmp(what, "shared"))
		return shared();
	if (!strcmp(what, "daemon") && argc > 2)
		return leave_daemon(argv[2]);
	if (!strcmp(what, "filter"))
		return filter(argv[0]);
	if (!strcmp(what, "holes"))
		return holes();
	if (!strcmp(what, "group") && argc > 2)
		return signal_group(atoi(argv[2]));
	if (!strcmp(what, "seize"))
		return seize_children();
	if (!strcmp(what, "ids"))
		return print_ids();
	return 2;
}
