// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * A machine whose process is an enemy: this program is its own machine's process, and instead of
 * replaying it does what a guest could that has taken its process over. Whatever it does, its
 * owner's calls return, with one line if they fail; nobody else's process is touched, and
 * nothing of it is left when the machine is destroyed. Under the sanitizers: nor is our memory.
 * time limit: 240
 */

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "capture/capture.h"
#include "confine/confine.h"
#include "decode/machine/child.h"
#include "decode/machine/machine.h"
#include "decode/machine/trace.h"
#include "tests/unit.h"

/* ---- the enemy ---------------------------------------------------------------------------- */

// This definition keeps the real one, and the process that it stands for, out of the program.
char dec_child_name[] = CONFINE_NAME;

static struct child_shared *shared;
static pid_t victim;
static uint64_t seed;

static uint64_t random_word(void)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return seed >> 29 ^ seed << 17;
}

static void ring(void)
{
	atomic_fetch_add(&shared->bell, 1);
	syscall(SYS_futex, &shared->bell, 1 /* FUTEX_WAKE */, 100, NULL, NULL, 0);
}

static void answer(uint32_t s)
{
	atomic_store(&shared->slot[s].request, CHILD_NONE);
	ring();
}

/* What an honest one would say: everything is fine. */
static void honest(uint32_t s)
{
	struct child_slot *slot = &shared->slot[s];

	slot->result = CHILD_OK;
	slot->where = (struct dec_where){ .at = DEC_AT_END, .position = 1000 };
	slot->parted = (struct dec_divergence){};
}

static pid_t split(uint64_t flags)
{
	return syscall(SYS_clone, flags, 0, NULL, NULL, NULL);
}

static void scribble(void *at, size_t bytes)
{
	uint64_t *word = at;

	for (size_t i = 0; i < bytes / 8; i++)
		word[i] = random_word() % 3 ? random_word() : random_word() % 4;
}

static void records(uint8_t *log)
{
	static const uint32_t ids[] = { DEC_REC_BLOCK,	 DEC_REC_PARTIAL, DEC_REC_STATE,
					DEC_REC_SYSCALL, DEC_REC_WRITE,	  DEC_REC_HEAP,
					DEC_REC_SLOW,	 DEC_REC_THREAD,  DEC_REC_ACCESS,
					DEC_REC_LOOK };

	scribble(log, 4096);
	for (size_t at = 0; at + 512 < 4096;) {
		struct dec_rec *rec = (struct dec_rec *)(log + at);

		rec->id = random_word() % 8 ? ids[random_word() % 10] : random_word() % 4;
		rec->size = random_word() % 16 ? 8 * (2 + random_word() % 60) :
						 (uint32_t)random_word();
		if (rec->id == DEC_REC_SLOW) {
			struct dec_rec_slow *slow = (struct dec_rec_slow *)rec;

			slow->len = random_word() % 16;
			slow->n_refs = random_word() % 4;
			memcpy(slow->bytes, "\x48\x8b\x03\x90", 4);
		}
		at += rec->size < 512 ? rec->size : 512;
	}
}

/* Write over all of the shared memory, on and on; requests are answered at some time. */
static void race(bool with_logs)
{
	for (;;) {
		for (uint32_t s = 0; s < 4; s++) {
			struct child_slot *slot = &shared->slot[s];

			scribble((char *)slot + 8, sizeof(*slot) / 16 * 8 - 8);
			slot->result = random_word() % 6;
			slot->where.at = random_word() % 6;
			slot->where.end = random_word() % 5;
			slot->where.instructions = slot->where.position = random_word() >>
									  20;
			slot->parted.parting = random_word() % 9;
			slot->parted.event = random_word() % 14;
			slot->parted.reg = random_word() % 17;
			slot->err_code = random_word() % 14;
			slot->reg_bytes = random_word() % 200;
		}
		for (int i = 0; i < 2 && with_logs; i++) {
			records(shared->log[i]);
			if (!atomic_load(&shared->log_bytes[i]))
				atomic_store(&shared->log_bytes[i],
					     random_word() % 50 ?
						     8 * (random_word() % 512) :
						     random_word());
		}
		for (uint32_t s = 0; s < CHILD_SLOTS; s++)
			atomic_store(&shared->slot[s].request, CHILD_NONE);
		ring();
	}
}

static void wrong(const char *what, long nr)
{
	char *text = shared->slot[0].notes;
	size_t n = strnlen(text, CHILD_TEXT_BYTES - 100);

	snprintf(text + n, 100, "%s %ld; ", what, nr);
}

struct
try {
	long nr, a[6];
};

/* @return the wait status of a process that makes the call. */
static int try_call(const struct try *t)
{
	pid_t pid = split(SIGCHLD);
	int status = -1;

	if (!pid) {
		long ret = syscall(t->nr, t->a[0], t->a[1], t->a[2], t->a[3], t->a[4],
				   t->a[5]);

		syscall(SYS_exit_group, ret == -1 ? errno : 0);
	}
	syscall(SYS_wait4, pid, &status, __WALL, NULL);
	return status;
}

/* Each system call there is, and some with the arguments that must not be. */
static void try_all(void)
{
	static const long allowed[] = {
		SYS_mmap,	  SYS_munmap,	   SYS_mprotect,      SYS_mremap,
		SYS_madvise,	  SYS_brk,	   SYS_mincore,	      SYS_sysinfo,
		SYS_memfd_create, SYS_ftruncate,   SYS_pread64,	      SYS_close,
		SYS_futex,	  SYS_sched_yield, SYS_clock_gettime, SYS_getrandom,
		SYS_getpid,	  SYS_gettid,	   SYS_rt_sigaction,  SYS_rt_sigprocmask,
		SYS_sigaltstack,  SYS_tgkill,	   SYS_wait4,	      SYS_exit,
		SYS_exit_group,
	};
	const struct try never[] = {
		{ SYS_write, { CHILD_SHARED, (long)"x", 1 } },
		{ SYS_write, { STDOUT_FILENO, (long)"x", 1 } },
		{ SYS_prctl, { PR_SET_DUMPABLE, 1 } },
		{ SYS_clone, { CLONE_NEWUSER | SIGCHLD } },
		{ SYS_clone, { CLONE_VM | CLONE_THREAD | CLONE_SIGHAND } },
		{ SYS_mmap,
		  { 0, 4096, PROT_EXEC | PROT_READ, MAP_SHARED, CHILD_SHARED } },
		{ SYS_mmap, { 0, 4096, 7, MAP_SHARED, CHILD_SHARED } },
		{ SYS_mmap, { 0, 4096, 7, MAP_PRIVATE, CHILD_SHARED } },
		{ SYS_mmap, { 0, 4096, 1, MAP_SHARED, CHILD_OUTPUT } },
		{ SYS_mmap, { 0, 4096, 1, MAP_SHARED, CHILD_OUTPUT | 1l << 32 } },
		{ SYS_mprotect, { (long)shared, 4096, PROT_EXEC } },
		{ SYS_pread64, { CHILD_OUTPUT, (long)shared, 1 } },
		{ SYS_ftruncate, { CHILD_OUTPUT, 0 } },
		{ SYS_ftruncate, { CHILD_OUTPUT | 1l << 40, 0 } },
		{ SYS_getpid | 0x40000000, {} },
	};
	int status;

	for (long nr = 0; nr < 600; nr++) {
		const struct try t = { nr, { victim, SIGKILL, SIGKILL, 0, 0, 0 } };
		bool may = false;

		for (size_t i = 0; i < sizeof(allowed) / sizeof(*allowed); i++)
			may |= allowed[i] == nr;
		// It wants a signal's frame; and two that no filter sees, only for the kernel's
		// own code (uretprobe, uprobe).
		if (nr == SYS_rt_sigreturn || nr == 335 || nr == 336)
			continue;
		status = try_call(&t);
		if ((WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS) == may)
			wrong(may ? "forbidden" : "allowed", nr);
	}
	for (size_t i = 0; i < sizeof(never) / sizeof(*never); i++) {
		status = try_call(&never[i]);
		if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGSYS)
			wrong("allowed, number", i);
	}
	status = try_call(&(struct try){ SYS_tgkill, { victim, victim, SIGKILL } });
	if (!WIFEXITED(status) || WEXITSTATUS(status) != EPERM)
		wrong("tgkill", status);
	status = try_call(&(struct try){ SYS_ftruncate, { CHILD_SHARED, 0 } });
	if (!WIFEXITED(status) || WEXITSTATUS(status) != EPERM)
		wrong("truncated what is shared", status);
}

static void stay(int n)
{
	sigset_t all;

	sigfillset(&all);
	while (n--) {
		if (split(n % 2 ? SIGCHLD : CLONE_PARENT | SIGCHLD))
			continue;
		syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, 8);
		for (uint32_t never = 7;;)
			syscall(SYS_futex, &never, 0 /* FUTEX_WAIT */, 7, NULL, NULL, 0);
	}
}

/* A fork was asked for: there is none, but somebody else. */
static void lie_of_fork(struct child_slot *from, uint64_t to)
{
	const pid_t lies[] = { victim, 1, -1, 0, INT32_MIN, victim, 2, getpid() };
	static unsigned n;

	from->forked = lies[n++ % 8];
	honest(to % CHILD_SLOTS);
	atomic_store(&shared->slot[to % CHILD_SLOTS].request, CHILD_NONE);
}

static void lie_of_branches(uint64_t n)
{
	for (uint64_t i = 0; i < n && i < CHILD_SLOTS; i++) {
		struct child_slot *slot = &shared->slot[shared->queue[i] % CHILD_SLOTS];

		scribble(slot->data, 1024);
		slot->result = CHILD_OK;
		slot->forked = victim;
		atomic_store(&slot->request, CHILD_NONE);
	}
}

/* Serve one request: everybody's, as the fork that was asked for is never there. */
static void enemy_serve(const char *how)
{
	static char escapes[4096];
	struct child_slot *slot = shared->slot;
	uint32_t command;

	while (!(command = atomic_load(&slot->request))) {
		slot = slot == &shared->slot[CHILD_SLOTS - 1] ? shared->slot : slot + 1;
		syscall(SYS_sched_yield);
	}
	honest(slot - shared->slot);
	if (!strcmp(how, "dies"))
		__builtin_trap();
	if (!strcmp(how, "leaves"))
		syscall(SYS_exit_group, 3);
	if (!strcmp(how, "forbidden"))
		syscall(SYS_socket, 1, 1, 0);
	if (!strcmp(how, "texts")) {
		memset(slot->text, '\x1b', sizeof(slot->text));
		memset(slot->notes, 'n', sizeof(slot->notes));
		slot->where.at = DEC_AT_DIVERGENCE;
	}
	if (!strcmp(how, "mute")) {
		slot->text[0] = 0;
		slot->where.at = DEC_AT_DIVERGENCE;
	}
	if (!strcmp(how, "messages")) {
		memset(escapes, '\x1b', sizeof(escapes));
		for (int i = 0; i < 300; i++)
			(void)!write(2, escapes, sizeof(escapes));
	}
	if (command == CHILD_FORK)
		lie_of_fork(slot, slot->arg[0]);
	if (command == CHILD_BRANCH)
		lie_of_branches(slot->arg[0]);
	answer(slot - shared->slot);
}

__attribute__((constructor)) static void enemy(int argc, char **argv)
{
	const char *how = getenv("HOSTILE");
	struct err *err;

	if (!argc || strcmp(argv[0], dec_child_name) || !how)
		return;
	victim = atoi(getenv("HOSTILE_VICTIM"));
	seed = atoi(getenv("HOSTILE_SEED"));
	confine_begin(CHILD_FDS);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED,
		      CHILD_SHARED, 0);
	err = dec_child_confine();
	if (err || shared == MAP_FAILED)
		_exit(99);
	honest(0);
	shared->slot[0].result = CHILD_OK;
	if (!strcmp(how, "calls"))
		try_all();
	if (!strcmp(how, "stays"))
		stay(300);
	if (!strncmp(how, "race", 4) && !split(SIGCHLD))
		race(!strcmp(how, "race logs"));
	answer(0);
	for (;;)
		enemy_serve(how);
}

/* ---- its owner ------------------------------------------------------------------------------ */

static struct capture *capture;

/* HOSTILE_CAPTURE: one that is there. */
static int record(void **state)
{
	_cleanup_free_ char *dir = NULL;
	const char *given = getenv("HOSTILE_CAPTURE");

	(void)state;
	if (asprintf(&dir, "%s%s", given ? given : unit_env("TMPDIR"),
		     given ? "" : "/capture") < 0 ||
	    (!given &&
	     unit_run("%s record -o %s -- true >/dev/null", unit_env("FAULTLINE"), dir)))
		return -1;
	ok(capture_open(dir, &capture));
	victim = fork();
	if (!victim) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	return victim < 0;
}

static int forget(void **state)
{
	(void)state;
	capture_close(capture);
	kill(victim, SIGKILL);
	waitpid(victim, NULL, 0);
	return 0;
}

/* A call that failed did so with one line. @return whether it went well. */
static bool went_well(struct err *err)
{
	bool is_ok = !err;

	if (err) {
		assert_true(err->message && *err->message);
		assert_null(strchr(err->message, '\n'));
	}
	err_destroy(err);
	return is_ok;
}

static struct err *step(void *ctx, const struct dec_step *s)
{
	*(uint64_t *)ctx += s->position & 1;
	return NULL;
}

/* Whatever the memory holds, a bool is one. */
static bool is_bool(const bool *b)
{
	return *(const unsigned char *)b <= 1;
}

static bool has_escapes(const char *text)
{
	while (*text && (*text < 0 || *text >= ' ' || *text == '\n'))
		text++;
	return *text;
}

/* Everything that a machine can be asked. @return how much of it went well. */
static unsigned ask_all(struct dec_machine *m)
{
	struct dec_alter skip = { .kind = DEC_ALTER_REG };
	const struct dec_branch branch = { .alters = &skip, .n = 1, .limit = 100 };
	struct dec_branch branches[3] = { branch, branch, branch };
	_cleanup_free_ uint8_t *buf = malloc(100000);
	struct dec_tracer *tracer = NULL;
	struct dec_thread thread;
	struct dec_range range;
	struct dec_where where;
	struct cap_regs regs;
	uint64_t odd = 0;
	size_t bytes;
	unsigned n = 0;

	if (went_well(dec_tracer_create(0, step, &odd, &tracer)))
		n += went_well(
			dec_machine_log(m, DEC_LOG_VALUES, dec_tracer_feed, tracer));
	n += went_well(dec_machine_run(m, 500, &where));
	n += went_well(dec_machine_checkpoint(m));
	n += went_well(dec_machine_log(m, DEC_LOG_NONE, NULL, NULL));
	dec_tracer_destroy(tracer);
	n += went_well(dec_machine_regs(m, &regs));
	if (went_well(dec_machine_reg(m, DEC_REG_X87, buf, &bytes))) {
		assert_true(bytes <= 160);
		n++;
	}
	n += went_well(dec_machine_read(m, 0x1000, buf, 100000));
	if (went_well(dec_machine_range(m, 0, &range))) {
		assert_true(range.start < range.end && is_bool(&range.is_shared));
		n++;
	}
	if (went_well(dec_machine_thread(m, 0, &thread))) {
		assert_true(is_bool(&thread.is_running) && is_bool(&thread.is_in_call));
		n++;
	}
	n += went_well(dec_machine_branches(m, branches, 3, 2));
	for (int i = 0; i < 3; i++)
		assert_false(has_escapes(branches[i].outcome.text));
	n += went_well(dec_machine_checkpoint(m));
	if (went_well(dec_machine_seek(m, 0, &where))) {
		assert_true(where.at != DEC_AT_DIVERGENCE || dec_machine_divergence(m));
		n++;
	}
	n += dec_machine_divergence(m) &&
	     strlen(dec_machine_divergence(m)) < CHILD_TEXT_BYTES;
	n += dec_machine_notes(m) && strlen(dec_machine_notes(m)) < CHILD_TEXT_BYTES;
	for (unsigned i = 0; dec_machine_isa(m, i); i++)
		n++;
	return n;
}

/* Bytes that the group printed: on its descriptor of output, until all of it were gone. */
static void nothing_is_left(int from)
{
	char text[256];
	ssize_t n;

	alarm(60);
	while ((n = read(from, text, sizeof(text))) > 0)
		;
	alarm(0);
	assert_int_equal(n, 0);
	assert_int_equal(waitpid(victim, NULL, WNOHANG), 0);
	assert_int_equal(kill(victim, 0), 0);
}

/* The enemy of a machine started from here on. */
static void choose(const char *how, unsigned number)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", victim);
	setenv("HOSTILE_VICTIM", text, 1);
	snprintf(text, sizeof(text), "%u", number);
	setenv("HOSTILE_SEED", text, 1);
	setenv("HOSTILE", how, 1);
}

/* @return how much went well of what a machine of this enemy was asked; 0: it did not start.
 * @p text gets what its first answer says. */
static unsigned meet(const char *how, unsigned number, char text[CHILD_TEXT_BYTES])
{
	struct dec_machine_options o = {};
	struct dec_machine *m = NULL;
	unsigned n = 0;
	int pipes[2];

	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	o.output_fd = pipes[1];
	choose(how, number);
	if (went_well(dec_machine_create(capture, &o, &m))) {
		const char *said = dec_machine_notes(m);

		snprintf(text, CHILD_TEXT_BYTES, "%s", said ? said : "");
		n = 1 + ask_all(m);
	}
	dec_machine_destroy(m);
	close(pipes[1]);
	nothing_is_left(pipes[0]);
	close(pipes[0]);
	return n;
}

static void it_races(void **state)
{
	char text[CHILD_TEXT_BYTES];
	unsigned n = 0;

	(void)state;
	for (unsigned i = 0; i < 20; i++)
		n += meet("race", i, text) + meet("race logs", i, text);
	assert_true(n > 40); // some answers can be
}

static void it_tries_each_call(void **state)
{
	char text[CHILD_TEXT_BYTES];

	(void)state;
	assert_true(meet("calls", 0, text));
	assert_string_equal(text, "");
}

static void it_lies_about_processes(void **state)
{
	char text[CHILD_TEXT_BYTES];

	(void)state;
	for (unsigned i = 0; i < 3; i++)
		assert_true(meet("lies", i, text) > 5);
}

static void it_stays(void **state)
{
	char text[CHILD_TEXT_BYTES];

	(void)state;
	assert_true(meet("stays", 0, text) > 5);
}

static void it_ends_with_its_owner(void **state)
{
	struct dec_machine_options o = {};
	struct dec_machine *m;
	int pipes[2], status;
	pid_t owner;

	(void)state;
	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	o.output_fd = pipes[1];
	choose("stays", 0);
	owner = fork();
	if (!owner) {
		if (!dec_machine_create(capture, &o, &m))
			kill(getpid(), SIGKILL);
		_exit(1);
	}
	assert_int_equal(waitpid(owner, &status, 0), owner);
	assert_true(WIFSIGNALED(status));
	close(pipes[1]);
	nothing_is_left(pipes[0]);
	close(pipes[0]);
}

static void it_dies(void **state)
{
	char text[CHILD_TEXT_BYTES];

	(void)state;
	assert_int_equal(meet("dies", 0, text), 1);
	assert_int_equal(meet("leaves", 0, text), 1);
	assert_int_equal(meet("forbidden", 0, text), 1);
}

static void its_texts_have_no_end(void **state)
{
	char text[CHILD_TEXT_BYTES];

	(void)state;
	assert_true(meet("texts", 0, text) > 5);
}

static void it_gives_no_reason(void **state)
{
	char text[CHILD_TEXT_BYTES];

	(void)state;
	assert_true(meet("mute", 0, text) > 5);
}

static void it_prints(void **state)
{
	_cleanup_free_ char *path = NULL;
	char text[CHILD_TEXT_BYTES], printed[8 * 4096];
	int before = dup(2), file;
	ssize_t n;

	(void)state;
	assert_true(asprintf(&path, "%s/printed", unit_env("TMPDIR")) > 0);
	file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	dup2(file, 2);
	meet("messages", 0, text);
	dup2(before, 2);
	close(before);
	n = pread(file, printed, sizeof(printed), 0);
	close(file);
	assert_in_range(n, 4096, 3 * 4096); // 4 KiB of each group
	assert_null(memchr(printed, '\x1b', n));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_races),
		cmocka_unit_test(it_tries_each_call),
		cmocka_unit_test(it_lies_about_processes),
		cmocka_unit_test(it_stays),
		cmocka_unit_test(it_ends_with_its_owner),
		cmocka_unit_test(it_dies),
		cmocka_unit_test(its_texts_have_no_end),
		cmocka_unit_test(it_gives_no_reason),
		cmocka_unit_test(it_prints),
	};

	return cmocka_run_group_tests(tests, record, forget);
}
