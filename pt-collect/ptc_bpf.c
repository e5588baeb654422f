// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Loading record.bpf.c, telling it what system calls write, and reading its ring.
 */
#define LOG_ROOM "record"
#include <asm/unistd.h>
#include <assert.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "pt-collect/ptc.h"
#include "pt-collect/ptc_bpf.h"
#include "pt-collect/ptc_privilege.h"
#include "pt-collect/ptc_programs.h"
#include "pt-collect/ptc_table.h"

#include "bpf/record.skel.h"

#define STALE_MAX 16 ///< processes gone whose probes are not closed yet

/** Probes of one process: many at once, or (link not NULL) one as older kernels have it. */
struct probe_link {
	int fd;
	struct bpf_link *link;
	pid_t pid;  ///< 0: it is gone
	char *path; ///< NULL: memory was out
	uint64_t *offsets; ///< n
	size_t n;
};

struct ptc_bpf {
	struct ptc_programs programs;
	struct record_bpf__bss *globals; ///< of record.bpf.c
	struct bpf_link *sys_exit, *sys_enter, *sched_switch;
	struct ring_buffer *ring;
	struct rec_tasks *tasks; ///< the map, shared with the kernel side
	void (*consumer)(void *ctx, void *rec, size_t size);
	void *ctx;
	VEC(struct probe_link) links;
	size_t n_stale; ///< of links, whose process is gone
};

/** Fill the maps by which the kernel side knows what calls write. */
static int fill_tables(const struct ptc_bpf *b)
{
	int fd = ptc_programs_map(&b->programs, "descs");

	for (uint32_t nr = 0; nr < REC_SYSCALLS; nr++) {
		const struct rec_desc *d = ptc_table_syscall(nr);

		if (d->state != DESC_UNLISTED && bpf_map_update_elem(fd, &nr, d, BPF_ANY))
			return -1;
	}
	fd = ptc_programs_map(&b->programs, "commands");
	for (size_t i = 0; i < ptc_table_commands(); i++) {
		uint64_t key;
		const struct rec_desc *d = ptc_table_command(i, &key);

		if (bpf_map_update_elem(fd, &key, d, BPF_ANY))
			return -1;
	}
	return 0;
}

static int on_record(void *ctx, void *rec, size_t size)
{
	struct ptc_bpf *b = ctx;

	if (b->consumer)
		b->consumer(b->ctx, rec, size);
	return 0;
}

static void bpf_destroyp(struct ptc_bpf **b)
{
	ptc_bpf_destroy(*b);
}

static struct err *map_tasks(struct ptc_bpf *b)
{
	void *at = mmap(NULL, sizeof(*b->tasks), PROT_READ | PROT_WRITE, MAP_SHARED,
			ptc_programs_map(&b->programs, "tasks"), 0);

	if (at == MAP_FAILED)
		return err_errno("cannot map the table of tasks");
	b->tasks = at;
	return NULL;
}

static struct err *attach_syscalls(struct ptc_bpf *b)
{
	b->sys_exit = bpf_program__attach(
		ptc_programs_get(&b->programs, "record_sys_exit"));
	return b->sys_exit ? NULL : err_errno("cannot attach to the sys_exit tracepoint");
}

static struct err *load_parts(struct ptc_bpf *b, unsigned parts)
{
	static const struct {
		unsigned part;
		const char *name;
	} programs[] = { { PTC_BPF_CALLS, "record_sys_exit" },
			 { PTC_BPF_THREADS, "record_sys_enter" },
			 { PTC_BPF_THREADS, "record_sched_switch" },
			 { PTC_BPF_HEAP, "record_heap_multi" },
			 { PTC_BPF_RESULTS, "record_heap_done_multi" },
			 { PTC_BPF_STORES, "record_store_multi" } };
	const char *names[sizeof(programs) / sizeof(programs[0]) + 1] = {};
	size_t n = 0;

	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
		if (parts & programs[i].part)
			names[n++] = programs[i].name;
	return ptc_programs_load(&b->programs, names);
}

static struct err *create(unsigned parts, struct ptc_bpf **ret)
{
	_cleanup_(bpf_destroyp) struct ptc_bpf *b = calloc(1, sizeof(*b));
	struct err *err;

	if (!b)
		return &err_nomem;
	err = load_parts(b, parts);
	if (err)
		return err;
	b->globals = b->programs.objects.data[0]->bss;
	if (parts & PTC_BPF_CALLS && fill_tables(b))
		return err_errno("cannot fill the table of system calls");
	b->ring = ring_buffer__new(ptc_programs_map(&b->programs, "ring"), on_record, b,
				   NULL);
	if (!b->ring)
		return err_errno("cannot map the BPF ring");
	err = map_tasks(b);
	if (!err && parts & PTC_BPF_CALLS)
		err = attach_syscalls(b);
	if (!err)
		*ret = take_ptr(&b);
	return err;
}

struct err *ptc_bpf_create(unsigned parts, struct ptc_bpf **ret)
{
	struct err *err;

	ptc_privilege_use(true);
	err = create(parts, ret);
	ptc_privilege_use(false);
	return err;
}

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

/** Close the probes of processes that are gone, or all. */
static void unprobe(struct ptc_bpf *b, bool all)
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
		unprobe(b, false);
}

void ptc_bpf_end_session(struct ptc_bpf *b)
{
	unprobe(b, true);
	ptc_bpf_set_chance(b, 0, 0);
	b->consumer = NULL;
	ring_buffer__consume(b->ring);
}

void ptc_bpf_destroy(struct ptc_bpf *b)
{
	if (!b)
		return;
	unprobe(b, true);
	vec_deinit(&b->links);
	ring_buffer__free(b->ring);
	if (b->tasks)
		munmap(b->tasks, sizeof(*b->tasks));
	bpf_link__destroy(b->sys_exit);
	bpf_link__destroy(b->sys_enter);
	bpf_link__destroy(b->sched_switch);
	ptc_programs_deinit(&b->programs);
	free(b);
}

static uint8_t *bits_of(struct ptc_bpf *b, pid_t tgid)
{
	return &b->tasks->process[tgid & (REC_TASKS - 1)];
}

void ptc_bpf_set_in_flight(struct ptc_bpf *b, pid_t tgid, bool is_in_flight)
{
	*bits_of(b, tgid) = is_in_flight ? REC_IN_FLIGHT : 0;
}

void ptc_bpf_set_recorded(struct ptc_bpf *b, pid_t tgid, bool is_recorded)
{
	uint8_t *bits = bits_of(b, tgid);

	*bits = is_recorded ? *bits | REC_RECORDED : 0;
}

static uint8_t *state_of(struct ptc_bpf *b, pid_t tid)
{
	return &b->tasks->call[tid & (REC_TASKS - 1)];
}

void ptc_bpf_forget_thread(struct ptc_bpf *b, pid_t tid)
{
	uint8_t *state = state_of(b, tid);

	// Off its CPU it may not yet be. Who gets the number begins with the end of a call.
	if (*state != REC_CALL_GONE)
		*state = REC_CALL_NONE;
}

static struct err *attach_once(struct ptc_bpf *b, struct bpf_link **link,
			       const char *name)
{
	struct bpf_program *prog = *link ? NULL : ptc_programs_get(&b->programs, name);

	if (prog)
		*link = bpf_program__attach(prog);
	return *link ? NULL : err_errno("cannot attach %s to its tracepoint", name);
}

/** Both programs for threads: most programs have none. */
static struct err *attach_enter(struct ptc_bpf *b)
{
	struct err *err = NULL;

	if (b->sys_enter)
		return NULL;
	ptc_privilege_use(true);
	if (!ptc_programs_has(&b->programs, "record_sys_enter"))
		err = load_parts(b, PTC_BPF_THREADS);
	if (!err)
		err = attach_once(b, &b->sys_enter, "record_sys_enter");
	ptc_privilege_use(false);
	return err;
}

struct err *ptc_bpf_watch_threads(struct ptc_bpf *b, const struct rec_switch *last)
{
	int fd = ptc_programs_map(&b->programs, "last_threads");
	uint32_t tgid = last->head.tgid;
	struct err *err = attach_enter(b);

	if (err)
		return err;
	if (last->flags & REC_SWITCH_IN_CALL)
		*state_of(b, last->head.tid) = REC_CALL_INSIDE;
	if (bpf_map_update_elem(fd, &tgid, last, BPF_ANY))
		return err_errno("cannot watch the program's threads");
	ptc_privilege_use(true);
	err = attach_once(b, &b->sched_switch, "record_sched_switch");
	ptc_privilege_use(false);
	if (err)
		return err;
	*bits_of(b, tgid) |= REC_THREADED;
	return NULL;
}

void ptc_bpf_unwatch_threads(struct ptc_bpf *b, pid_t tgid)
{
	uint32_t key = tgid;

	*bits_of(b, tgid) &= ~REC_THREADED;
	bpf_map_delete_elem(ptc_programs_map(&b->programs, "last_threads"), &key);
}

void ptc_bpf_set_restarting(struct ptc_bpf *b, pid_t tid, uint32_t nr)
{
	uint32_t key = tid;

	bpf_map_update_elem(ptc_programs_map(&b->programs, "restarting"), &key, &nr, BPF_ANY);
}

void ptc_bpf_set_chance(struct ptc_bpf *b, uint32_t below, uint64_t seed)
{
	b->globals->chance_state = seed | 1;
	b->globals->chance_below = below;
}

void ptc_bpf_set_consumer(struct ptc_bpf *b,
			  void (*fn)(void *ctx, void *rec, size_t size), void *ctx)
{
	b->consumer = fn;
	b->ctx = ctx;
}

void ptc_bpf_drain(struct ptc_bpf *b)
{
	ring_buffer__consume(b->ring);
}

int ptc_bpf_fd(const struct ptc_bpf *b)
{
	return ring_buffer__epoll_fd(b->ring);
}

uint64_t ptc_bpf_lost(const struct ptc_bpf *b)
{
	return b->globals->lost_events;
}

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
		slot->link = bpf_program__attach_uprobe_opts(
			single, p->pid, p->path, p->offsets[i], &opts);
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
	const struct probe_prog prog = { "record_heap_multi",
					 "record_heap", false };

	return probe_functions(b, &prog, pid, path, sites, n);
}

struct err *ptc_bpf_probe_done(struct ptc_bpf *b, pid_t pid, const char *path,
			       const struct cap_heap_site *sites, size_t n)
{
	const struct probe_prog prog = { "record_heap_done_multi",
					 "record_heap_done", true };

	return probe_functions(b, &prog, pid, path, sites, n);
}

struct err *ptc_bpf_probe_trigger(struct ptc_bpf *b, pid_t pid, const char *path,
				  uint64_t offset)
{
	const struct probe_prog prog = { "record_trigger_multi",
					 "record_trigger", false };
	const uint64_t cookie = 0;
	const struct places p = { pid, path, &offset, &cookie, 1 };

	return probe(b, &prog, &p);
}

struct err *ptc_bpf_probe_chance(struct ptc_bpf *b, pid_t pid, const char *path,
				 uint64_t offset)
{
	const struct probe_prog prog = { "record_chance_multi",
					 "record_chance", false };
	const uint64_t cookie = 0;
	const struct places p = { pid, path, &offset, &cookie, 1 };

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
	const struct probe_prog prog = { "record_store_multi",
					 "record_store", false };
	const struct places p = { pid, path, offsets, sites, n };

	ptc_privilege_use(true);
	probe_halves(b, &prog, &p, is_refused);
	ptc_privilege_use(false);
}
