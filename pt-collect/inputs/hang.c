// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Is the program stuck? Either every thread waits for another without a time limit, which
 * no passing of time ends; or nothing has run for as long as the user is ready to wait.
 */
#define LOG_ROOM "record"
#include <asm/unistd.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <string.h>

#include "pt-collect/inputs/chaos.h"
#include "pt-collect/inputs/names.h"
#include "pt-collect/tracee/proc.h"
#include "pt-collect/tracee/tracee.h"

#define LOCKED_AND_WAITED_FOR 2 ///< a glibc mutex' first word
#define SURE_NS 300000000ull ///< waiting for each other for so long: a signal may end it

/** Bytes of /proc/PID/task/TID/@p name as a string; "" when the thread is gone. */
static void read_task(pid_t pid, pid_t tid, const char *name, char *buf, size_t size)
{
	_cleanup_close_ int fd = -1;
	char path[80];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", pid, tid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? 0 : read(fd, buf, size - 1);
	buf[n > 0 ? n : 0] = 0;
}

static bool is_endless(long nr, const unsigned long long args[6])
{
	int op = args[1] & FUTEX_CMD_MASK;

	switch (nr) {
	case __NR_futex:
		return !args[3] && (op == FUTEX_WAIT || op == FUTEX_WAIT_BITSET ||
				    op == FUTEX_LOCK_PI || op == FUTEX_LOCK_PI2);
	case __NR_rt_sigtimedwait:
		return !args[2];
	}
	return false;
}

enum ptc_wait ptc_wait_of(pid_t pid, pid_t tid, uint64_t *word)
{
	unsigned long long args[6] = {};
	char text[512], *state;
	long nr;

	*word = 0;
	read_task(pid, tid, "stat", text, sizeof(text));
	state = strrchr(text, ')');
	if (!state || strlen(state) < 3)
		return PTC_WAIT_GONE;
	switch (state[2]) {
	case 'R':
		return PTC_WAIT_NONE;
	case 'Z':
	case 'X':
		return PTC_WAIT_GONE;
	case 't':
	case 'T':
		return PTC_WAIT_STOPPED;
	}
	read_task(pid, tid, "syscall", text, sizeof(text));
	if (sscanf(text, "%ld 0x%llx 0x%llx 0x%llx 0x%llx", &nr, &args[0], &args[1],
		   &args[2], &args[3]) < 5 ||
	    !is_endless(nr, args))
		return PTC_WAIT_SOME;
	*word = nr == __NR_futex ? args[0] : 0;
	return PTC_WAIT_ENDLESS;
}

/** How often thread @p tid got a CPU. */
static uint64_t times_run(pid_t pid, pid_t tid)
{
	unsigned long long ns, waited_ns, n;
	char text[128];

	read_task(pid, tid, "schedstat", text, sizeof(text));
	return sscanf(text, "%llu %llu %llu", &ns, &waited_ns, &n) == 3 ? n : 0;
}

bool ptc_hang_look(struct ptc_hang *h, const struct ptc_tracee *t)
{
	bool is_idle = true, is_endless = true;
	uint64_t now_ns = ptc_now_ns(), n_run = 0;
	_cleanup_(ptc_tids_deinit) ptc_tids tids = {};

	ptc_tids_read(t->pid, &tids);
	for (size_t i = 0; i < tids.size; i++) {
		uint64_t word;
		enum ptc_wait wait = ptc_wait_of(t->pid, tids.data[i], &word);

		if (wait == PTC_WAIT_GONE)
			continue;
		is_idle &= wait == PTC_WAIT_ENDLESS || wait == PTC_WAIT_SOME;
		is_endless &= wait == PTC_WAIT_ENDLESS;
		n_run += times_run(t->pid, tids.data[i]);
	}
	if (!is_idle || n_run != h->n_run || !h->since_ns) {
		h->n_run = n_run;
		h->since_ns = now_ns;
		h->is_endless = is_endless;
		return false;
	}
	h->is_endless &= is_endless;
	return now_ns - h->since_ns >= (h->is_endless ? SURE_NS : h->limit_ns);
}

/** Is @p m the file of @p first, or the zeroed memory (.bss) right behind it? */
static bool is_of(const struct ptc_maps *maps, size_t i, const struct ptc_map *first)
{
	const struct ptc_map *m = maps->list.data[i];

	return !strcmp(m->name, first->name) ||
	       (!m->name[0] && i && maps->list.data[i - 1]->end == m->start &&
		!strcmp(maps->list.data[i - 1]->name, first->name));
}

/** Where @p word is in a file, so that `nm` names the variable. */
static void print_place(const struct ptc_maps *maps, uint64_t word)
{
	const struct ptc_map *first = NULL;

	fprintf(stderr, " at 0x%llx", (unsigned long long)word);
	for (size_t i = 0; i < maps->list.size; i++) {
		const struct ptc_map *m = maps->list.data[i];

		if (m->name[0] && (!first || strcmp(first->name, m->name)))
			first = m;
		if (word < m->start || word >= m->end)
			continue;
		if (first && first->name[0] == '/' && is_of(maps, i, first))
			fprintf(stderr, " (%s+0x%llx)", strrchr(first->name, '/') + 1,
				(unsigned long long)(word - first->start));
		else if (m->name[0])
			fprintf(stderr, " (%s)", m->name);
		break;
	}
}

/** What the futex at @p word is: glibc's mutexes hold their owner's number two words
 * further on, and a thread's number stands where others wait for its end. */
static void print_futex(const struct ptc_tracee *t, const struct ptc_maps *maps,
			const ptc_tids *tids, uint64_t word)
{
	int32_t value[3] = {};

	ptc_read_some(t, word, value, sizeof(value));
	for (size_t i = 0; i < tids->size; i++) {
		if (value[0] == tids->data[i]) {
			fprintf(stderr, "the end of thread %d\n", tids->data[i]);
			return;
		}
		if (value[0] == LOCKED_AND_WAITED_FOR && value[2] == tids->data[i]) {
			fputs("the mutex", stderr);
			print_place(maps, word);
			fprintf(stderr, ", which thread %d holds\n", tids->data[i]);
			return;
		}
	}
	fputs("the futex", stderr);
	print_place(maps, word);
	fputc('\n', stderr);
}

void ptc_hang_describe(const struct ptc_tracee *t)
{
	_cleanup_(ptc_maps_deinit) struct ptc_maps maps = {};
	_cleanup_err_ struct err *err = ptc_maps_read(t->pid, &maps);
	_cleanup_(ptc_tids_deinit) ptc_tids tids = {};

	ptc_tids_read(t->pid, &tids);
	for (size_t i = 0; i < tids.size; i++) {
		uint64_t word;
		char text[256];

		switch (ptc_wait_of(t->pid, tids.data[i], &word)) {
		case PTC_WAIT_ENDLESS:
			fprintf(stderr, "faultline: thread %d waits for ", tids.data[i]);
			if (word)
				print_futex(t, &maps, &tids, word);
			else
				fputs("a signal\n", stderr);
			break;
		case PTC_WAIT_SOME:
			read_task(t->pid, tids.data[i], "syscall", text, sizeof(text));
			fprintf(stderr, "faultline: thread %d waits in %s\n",
				tids.data[i], ptc_name_or_number(atol(text)));
			break;
		default:
			break;
		}
	}
}
