// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Probes in files that programs map: placing them, many at once where the kernel can, and
 * closing them.
 */
#define LOG_ROOM "record"
#include <asm/unistd.h>
#include <assert.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pt-collect/kernel/bpf_int.h"
#include "pt-collect/tracee/privilege.h"

#define STALE_MAX 16 ///< processes gone whose probes are not closed yet

/** The part of union bpf_attr that attaches to many places of a file at once; newer than
 * the headers of Debian 12. */
struct multi_attr {
	uint32_t prog_fd, target_fd, attach_type, flags;
	uint64_t path, offsets, ref_ctr_offsets, cookies;
	uint32_t cnt, multi_flags, pid, unused;
};

#define MULTI_RETURN 1 ///< BPF_F_UPROBE_MULTI_RETURN

/** A program, as newer and as older kernels have it. */
struct probe_prog {
	const char *multi, *single;
	bool is_return; ///< runs when the function that was probed at its beginning returns
};

/** Where it goes. */
struct places {
	pid_t pid;
	const char *path;
	const uint64_t *offsets, *cookies;
	size_t n;
};

/** Note which places @p l is of. */
static void note_places(struct probe_link *l, const struct places *p, size_t first,
			size_t n)
{
	l->pid = p->pid;
	l->path = strdup(p->path);
	l->offsets = calloc(n, sizeof(*l->offsets));
	l->n = n;
	if (l->offsets)
		memcpy(l->offsets, p->offsets + first, n * sizeof(*l->offsets));
}

/** @return whether all are probed; not on an older kernel, nor when it refuses one. */
static bool probe_at_once(struct ptc_bpf *b, const struct probe_prog *prog,
			  const struct places *p)
{
	const struct bpf_program *multi = ptc_programs_get(&b->programs, prog->multi);
	struct multi_attr attr = {
		.prog_fd = multi ? bpf_program__fd(multi) : -1,
		.attach_type = PTC_UPROBE_MULTI,
		.path = (uintptr_t)p->path,
		.offsets = (uintptr_t)p->offsets,
		.cookies = (uintptr_t)p->cookies,
		.cnt = p->n,
		.multi_flags = prog->is_return ? MULTI_RETURN : 0,
		.pid = p->pid,
	};
	int link = syscall(__NR_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));
	struct probe_link *slot = link >= 0 ? vec_push(&b->links) : NULL;

	if (slot) {
		slot->fd = link;
		note_places(slot, p, 0, p->n);
	} else if (link >= 0) {
		close(link);
	}
	return slot;
}

/** One perf event a site, as older kernels have it. Costs 0.1 s a site at the end: the
 * kernel waits until nobody can be inside, one after the other. */
static struct err *probe_each(struct ptc_bpf *b, const struct probe_prog *prog,
			      const struct places *p)
{
	struct bpf_program *single = ptc_programs_get(&b->programs, prog->single);
	size_t before = b->links.size;

	if (!single)
		return err_errno("cannot load the BPF programs of probes");
	for (size_t i = 0; i < p->n; i++) {
		LIBBPF_OPTS(bpf_uprobe_opts, opts, .bpf_cookie = p->cookies[i],
			    .retprobe = prog->is_return);
		struct probe_link *slot = vec_push(&b->links);

		if (!slot)
			return &err_nomem;
		slot->fd = -1;
		slot->link = bpf_program__attach_uprobe_opts(single, p->pid, p->path,
							     p->offsets[i], &opts);
		if (slot->link) {
			note_places(slot, p, i, 1);
			continue;
		}
		while (--b->links.size > before) {
			slot = &b->links.data[b->links.size - 1];
			bpf_link__destroy(slot->link);
			free(slot->path);
			free(slot->offsets);
		}
		return err_errno("cannot probe %s at 0x%llx (this kernel may want "
				 "CAP_SYS_ADMIN for it)",
				 p->path, (unsigned long long)p->offsets[i]);
	}
	return NULL;
}

static struct err *probe(struct ptc_bpf *b, const struct probe_prog *prog,
			 const struct places *p)
{
	struct err *err;

	ptc_privilege_use(true);
	err = probe_at_once(b, prog, p) ? NULL : probe_each(b, prog, p);
	ptc_privilege_use(false);
	return err;
}

static struct err *probe_functions(struct ptc_bpf *b, const struct probe_prog *prog,
				   pid_t pid, const char *path,
				   const struct cap_heap_site *sites, size_t n)
{
	uint64_t offsets[CAP_HEAP_FNS], cookies[CAP_HEAP_FNS];
	struct places p = { pid, path, offsets, cookies, n };

	assert(n <= CAP_HEAP_FNS);
	for (size_t i = 0; i < n; i++) {
		offsets[i] = sites[i].file_offset;
		cookies[i] = sites[i].fn;
	}
	return probe(b, prog, &p);
}

struct err *ptc_bpf_probe(struct ptc_bpf *b, pid_t pid, const char *path,
			  const struct cap_heap_site *sites, size_t n)
{
	const struct probe_prog prog = { "record_heap_multi", "record_heap", false };

	return probe_functions(b, &prog, pid, path, sites, n);
}

struct err *ptc_bpf_probe_done(struct ptc_bpf *b, pid_t pid, const char *path,
			       const struct cap_heap_site *sites, size_t n)
{
	const struct probe_prog prog = { "record_heap_done_multi", "record_heap_done",
					 true };

	return probe_functions(b, &prog, pid, path, sites, n);
}

struct err *ptc_bpf_probe_trigger(struct ptc_bpf *b, pid_t pid, const char *path,
				  uint64_t offset)
{
	const struct probe_prog prog = { "record_trigger_multi", "record_trigger",
					 false };
	const uint64_t cookie = 0;
	const struct places p = { pid, path, &offset, &cookie, 1 };

	return probe(b, &prog, &p);
}

struct err *ptc_bpf_probe_chance(struct ptc_bpf *b, pid_t pid, const char *path,
				 const uint64_t *offsets, const uint64_t *insns, size_t n)
{
	const struct probe_prog prog = { "record_chance_multi", "record_chance", false };
	const struct places p = { pid, path, offsets, insns, n };

	return probe(b, &prog, &p);
}

struct err *ptc_bpf_store_reads(struct ptc_bpf *b, uint64_t site,
				const struct rec_store_site *reads)
{
	int fd;

	ptc_privilege_use(true);
	ptc_programs_get(&b->programs, "record_store_multi");
	ptc_privilege_use(false);
	fd = ptc_programs_map(&b->programs, "store_sites");
	return bpf_map_update_elem(fd, &site, reads, BPF_ANY) ?
		       err_errno("cannot tell the kernel what a probe reads") :
		       NULL;
}

bool ptc_bpf_probes_at_once(const struct ptc_bpf *b)
{
	return !vec_find(&b->links, l, l->link);
}

/** Halves, so that one which the kernel refuses is found among thousands. */
static void probe_halves(struct ptc_bpf *b, const struct probe_prog *prog,
			 const struct places *p, bool *is_refused)
{
	struct places first = *p, second = *p;
	struct err *err;

	if (!p->n || probe_at_once(b, prog, p))
		return;
	if (p->n == 1) {
		err = probe_each(b, prog, p);
		if (err)
			log_info("%s", err->message);
		*is_refused = err;
		err_destroy(err);
		return;
	}
	first.n = p->n / 2;
	second.n = p->n - first.n;
	second.offsets += first.n;
	second.cookies += first.n;
	probe_halves(b, prog, &first, is_refused);
	probe_halves(b, prog, &second, is_refused + first.n);
}

void ptc_bpf_probe_stores(struct ptc_bpf *b, pid_t pid, const char *path,
			  const uint64_t *offsets, const uint64_t *sites, size_t n,
			  bool *is_refused)
{
	const struct probe_prog prog = { "record_store_multi", "record_store", false };
	const struct places p = { pid, path, offsets, sites, n };

	ptc_privilege_use(true);
	probe_halves(b, &prog, &p, is_refused);
	ptc_privilege_use(false);
}

/* ---- closing ------------------------------------------------------------------------------ */

/**
 * Who closes a probe last waits 0.1 s until nobody can be inside it. Nobody is waiting for
 * this child: it inherits them, and its end is their last close. Nothing is left of what
 * they did once is_recorded is 0.
 */
static void leave_probes_to_child(void)
{
	pid_t pid = fork();

	if (!pid) {
		// Somebody may wait for the end of our output.
		for (int fd = 0; fd < 3; fd++)
			close(fd);
		usleep(1000); // until the parent has closed its own
		_exit(0);
	}
}

void ptc_bpf_close_probes(struct ptc_bpf *b, bool all)
{
	bool has_child = false;
	size_t kept = 0;

	for (size_t i = 0; i < b->links.size; i++) {
		struct probe_link *l = &b->links.data[i];

		if (l->pid && !all) {
			b->links.data[kept++] = *l;
			continue;
		}
		free(l->path);
		free(l->offsets);
		if (l->link) {
			bpf_link__destroy(l->link);
			continue;
		}
		if (!has_child)
			leave_probes_to_child();
		has_child = true;
		close(l->fd);
	}
	b->links.size = kept;
	b->n_stale = 0;
}

void ptc_bpf_placed(const struct ptc_bpf *b, pid_t pid,
		    void (*fn)(void *ctx, const char *path, const uint64_t *offsets,
			       size_t n),
		    void *ctx)
{
	for (size_t i = 0; i < b->links.size; i++) {
		const struct probe_link *l = &b->links.data[i];

		if (l->pid == pid && l->path && l->offsets)
			fn(ctx, l->path, l->offsets, l->n);
	}
}

void ptc_bpf_unprobe(struct ptc_bpf *b, pid_t pid)
{
	bool has_any = false;

	for (size_t i = 0; i < b->links.size; i++)
		if (b->links.data[i].pid == pid) {
			b->links.data[i].pid = 0;
			has_any = true;
		}
	b->n_stale += has_any;
	if (b->n_stale >= STALE_MAX)
		ptc_bpf_close_probes(b, false);
}
