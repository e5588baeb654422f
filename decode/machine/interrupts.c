// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * The file: for each thread its tid, how far its interruptions are known, how many they are, and
 * they themselves, in 64-bit words.
 */

#include "decode/machine/interrupts.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { INTERRUPTS_HEAD = 3 };

struct dec_interrupts {
	VEC(uint64_t) words;
	size_t head; ///< of the thread at hand
	int fd;
};

struct err *dec_interrupts_create(struct dec_interrupts **ret)
{
	struct dec_interrupts *p = calloc(1, sizeof(*p));

	if (!p)
		return &err_nomem;
	p->fd = -1;
	*ret = p;
	return NULL;
}

void dec_interrupts_destroy(struct dec_interrupts *p)
{
	if (!p)
		return;
	if (p->fd >= 0)
		close(p->fd);
	vec_deinit(&p->words);
	free(p);
}

struct err *dec_interrupts_thread(struct dec_interrupts *p, uint32_t tid)
{
	if (vec_reserve(&p->words, p->words.size + INTERRUPTS_HEAD))
		return &err_nomem;
	p->head = p->words.size;
	p->words.size += INTERRUPTS_HEAD;
	p->words.data[p->head] = tid;
	p->words.data[p->head + 1] = 0;
	p->words.data[p->head + 2] = 0;
	return NULL;
}

struct err *dec_interrupts_add(struct dec_interrupts *p, uint64_t at)
{
	if (vec_add(&p->words, at))
		return &err_nomem;
	p->words.data[p->head + 2]++;
	return NULL;
}

void dec_interrupts_know(struct dec_interrupts *p, uint64_t at)
{
	p->words.data[p->head + 1] = at;
}

struct err *dec_interrupts_finish(struct dec_interrupts *p)
{
	size_t bytes = p->words.size * sizeof(*p->words.data), at = 0;

	p->fd = memfd_create("faultline-interrupts", 0);
	if (p->fd < 0)
		return err_errno("cannot make a file in memory");
	while (at < bytes) {
		ssize_t n = write(p->fd, (const char *)p->words.data + at, bytes - at);

		if (n <= 0)
			return err_errno("cannot write a file in memory");
		at += n;
	}
	vec_deinit(&p->words);
	return NULL;
}

int dec_interrupts_fd(const struct dec_interrupts *p)
{
	return p ? p->fd : -1;
}

/* ---- reading --------------------------------------------------------------------------- */

struct err *dec_interrupts_open(int fd, struct dec_interrupts_map *ret)
{
	struct stat st;
	void *p;

	*ret = (struct dec_interrupts_map){};
	if (fstat(fd, &st))
		return err_errno("cannot read the interruptions");
	if (!st.st_size)
		return NULL;
	p = mmap(NULL, st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		return err_errno("cannot map the interruptions");
	*ret = (struct dec_interrupts_map){ p, st.st_size / sizeof(uint64_t) };
	return NULL;
}

enum dec_interrupts_answer dec_interrupts_look(const struct dec_interrupts_map *m,
					       uint32_t tid, uint64_t at,
					       uint64_t *n_used)
{
	for (size_t i = 0; i + INTERRUPTS_HEAD <= m->n;) {
		const uint64_t *head = m->words + i, *at_each = head + INTERRUPTS_HEAD;
		size_t rank;

		i += INTERRUPTS_HEAD + head[2];
		if (head[0] != tid)
			continue;
		if (at > head[1] || *n_used > head[2])
			return DEC_INTERRUPTS_UNKNOWN;
		at_each += *n_used;
		rank = vec_rank(head[2] - *n_used, k, at_each[k] < at);
		if (*n_used + rank == head[2] || at_each[rank] != at)
			return DEC_INTERRUPTS_NO;
		*n_used += rank + 1;
		return DEC_INTERRUPTS_YES;
	}
	return DEC_INTERRUPTS_UNKNOWN;
}
