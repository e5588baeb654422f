// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The kernel side: telling it what system calls write and whom to record, reading its ring.
 */
#define LOG_ROOM "record"
#include <asm/unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "pt-collect/kernel/bpf_int.h"
#include "pt-collect/tracee/place.h"
#include "pt-collect/tracee/privilege.h"
#include "pt-collect/tracee/tracee.h"

#include "bpf/record.skel.h"

#define DRAIN_NS 5000000000ull ///< nobody is kept from the CPU for so long
#define DRAIN_NAP_US 50

static bool is_plain(const struct rec_desc *d)
{
	return d->state == DESC_LISTED && !(d->flags & DESC_MMAP) &&
	       d->use <= USE_WRITE2 &&
	       (d->out[0].kind == OUT_END || d->out[0].kind == OUT_FIXED ||
		d->out[0].kind == OUT_RET) &&
	       !d->out[0].flags && d->out[1].kind == OUT_END;
}

/** Calls with OUT_IOVEC make the program wait until user space has seen it at their end: so
 * does what is made to look like one. */
static struct rec_desc describe(const struct ptc_calls *calls, uint32_t nr,
				unsigned parts)
{
	struct rec_desc d = calls->calls[nr];

	if (parts & PTC_BPF_READS && (nr == __NR_read || nr == __NR_pread64))
		d.out[0].kind = OUT_IOVEC;
	if (is_plain(&d) && nr != __NR_rt_sigreturn && nr != __NR_restart_syscall &&
	    nr != __NR_sched_setaffinity)
		d.flags |= DESC_PLAIN;
	return d;
}

/** Fill the maps by which the kernel side knows what calls write. */
static int fill_tables(const struct ptc_bpf *b, const struct ptc_calls *calls,
		       unsigned parts)
{
	int fd = ptc_programs_map(&b->programs, "descs");

	for (uint32_t nr = 0; nr < REC_SYSCALLS; nr++) {
		struct rec_desc d = describe(calls, nr, parts);

		if (d.state != DESC_UNLISTED && bpf_map_update_elem(fd, &nr, &d, BPF_ANY))
			return -1;
	}
	fd = ptc_programs_map(&b->programs, "commands");
	for (size_t i = 0; i < calls->n_commands; i++)
		if (bpf_map_update_elem(fd, &calls->commands[i].key,
					&calls->commands[i].desc, BPF_ANY))
			return -1;
	return 0;
}

/** What comes through the bell says nothing. */
static int on_bell(void *ctx __attribute__((unused)), void *rec __attribute__((unused)),
		   size_t size __attribute__((unused)))
{
	return 0;
}

/** Take what the ring has. The bell first: what comes in behind rings again. */
static void consume(struct ptc_bpf *b)
{
	ring_buffer__consume(b->bell);
	ptc_records_take(&b->records, b->consumer, b->ctx);
}

static void take_nothing(void *ctx __attribute__((unused)),
			 void *rec __attribute__((unused)),
			 size_t size __attribute__((unused)))
{
}

static void bpf_destroyp(struct ptc_bpf **b)
{
	ptc_bpf_destroy(*b);
}

/** @return the first @p bytes of the BPF map @p name, shared with the kernel; NULL: refused. */
static void *map_shared(const struct ptc_bpf *b, const char *name, size_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
			ptc_programs_map(&b->programs, name), 0);

	return at == MAP_FAILED ? NULL : at;
}

static struct err *attach_once(struct ptc_bpf *b, struct bpf_link **link,
			       const char *name)
{
	if (!*link)
		*link = ptc_programs_attach(&b->programs, name);
	return *link ? NULL : err_errno("cannot attach %s to its tracepoint", name);
}

#define CALL_END_TYPED "record_sys_exit_typed"
#define CALL_END "record_sys_exit"

static struct err *load_with(struct ptc_bpf *b, unsigned parts, const char *call_end)
{
	static const struct {
		unsigned part;
		const char *name;
	} programs[] = { { PTC_BPF_CALLS, "record_vsyscall" },
			 { PTC_BPF_THREADS, "record_sys_enter" },
			 { PTC_BPF_THREADS, "record_sched_switch" },
			 { PTC_BPF_HEAP, "record_heap_multi" },
			 { PTC_BPF_RESULTS, "record_heap_done_multi" },
			 { PTC_BPF_STORES, "record_store_multi" } };
	const char *names[sizeof(programs) / sizeof(programs[0]) + 2] = {};
	size_t n = 0;

	if (parts & PTC_BPF_CALLS)
		names[n++] = call_end;
	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
		if (parts & programs[i].part)
			names[n++] = programs[i].name;
	return ptc_programs_load(&b->programs, names);
}

/** Of the programs for the end of a call, the quicker one if the kernel takes it. */
static struct err *load_parts(struct ptc_bpf *b, unsigned parts)
{
	struct err *err = load_with(b, parts, CALL_END_TYPED);

	if (!err || !(parts & PTC_BPF_CALLS))
		return err;
	log_info("%s: %s", CALL_END_TYPED, err->message);
	err_destroy(err);
	return load_with(b, parts, CALL_END);
}

static struct err *attach_call_end(struct ptc_bpf *b)
{
	if (ptc_programs_has(&b->programs, CALL_END_TYPED) &&
	    (b->sys_exit = ptc_programs_attach(&b->programs, CALL_END_TYPED)))
		return NULL;
	return attach_once(b, &b->sys_exit, CALL_END);
}

static struct err *open_ring(struct ptc_bpf *b)
{
	struct rec_ring *ring = map_shared(b, "ring", sizeof(*ring));

	b->consumer = take_nothing;
	b->records.ring = ring;
	b->bell = ring_buffer__new(ptc_programs_map(&b->programs, "bell"), on_bell, NULL,
				   NULL);
	if (!ring || !b->bell ||
	    getrandom(&ring->secret, sizeof(ring->secret), 0) != sizeof(ring->secret))
		return err_errno("cannot map the BPF ring");
	return NULL;
}

static struct err *create(unsigned parts, const struct ptc_calls *calls,
			  struct ptc_bpf **ret)
{
	_cleanup_(bpf_destroyp) struct ptc_bpf *b = calloc(1, sizeof(*b));
	struct err *err;

	if (!b)
		return &err_nomem;
	err = load_parts(b, parts);
	if (err)
		return err;
	b->globals = b->programs.objects.data[0]->bss;
	if (parts & PTC_BPF_CALLS && fill_tables(b, calls, parts))
		return err_errno("cannot fill the table of system calls");
	err = open_ring(b);
	if (err)
		return err;
	b->tasks = map_shared(b, "tasks", sizeof(*b->tasks));
	if (!b->tasks)
		return err_errno("cannot map the tables of the kernel side");
	if (parts & PTC_BPF_CALLS)
		err = attach_call_end(b);
	// Kernels without that page have no such tracepoint.
	if (!err && parts & PTC_BPF_CALLS)
		err_destroy(attach_once(b, &b->vsyscall, "record_vsyscall"));
	if (!err)
		*ret = take_ptr(&b);
	return err;
}

struct err *ptc_bpf_create(unsigned parts, const struct ptc_calls *calls,
			   struct ptc_bpf **ret)
{
	struct err *err = ptc_place_check();

	if (err)
		return err;
	ptc_privilege_use(true);
	err = create(parts, calls, ret);
	ptc_privilege_use(false);
	return err ? ptc_place_explain_bpf(err) : NULL;
}

void ptc_bpf_end_session(struct ptc_bpf *b)
{
	ptc_bpf_close_probes(b, true);
	ptc_bpf_set_chance(b, 0, 0);
	b->consumer = take_nothing;
	consume(b);
	log_debug("a few bytes of memory are read by %s",
		  b->globals->pages.proofs < REC_PROOFS ? "the kernel" : "page tables");
}

void ptc_bpf_destroy(struct ptc_bpf *b)
{
	if (!b)
		return;
	ptc_bpf_close_probes(b, true);
	vec_deinit(&b->links);
	ring_buffer__free(b->bell);
	if (b->tasks)
		munmap(b->tasks, sizeof(*b->tasks));
	if (b->records.ring)
		munmap(b->records.ring, sizeof(*b->records.ring));
	bpf_link__destroy(b->sys_exit);
	bpf_link__destroy(b->vsyscall);
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

void ptc_bpf_unwatch_threads(struct ptc_bpf *b, pid_t tgid)
{
	uint32_t key = tgid;

	*bits_of(b, tgid) &= ~(REC_THREADED | REC_JOINED);
	bpf_map_delete_elem(ptc_programs_map(&b->programs, "last_threads"), &key);
}

void ptc_bpf_set_recorded(struct ptc_bpf *b, pid_t tgid, bool is_recorded)
{
	uint8_t *bits = bits_of(b, tgid);

	if (!is_recorded && *bits & REC_THREADED)
		ptc_bpf_unwatch_threads(b, tgid);
	*bits = is_recorded ? *bits | REC_RECORDED : 0;
}

void ptc_bpf_set_mapping(struct ptc_bpf *b, pid_t tgid, bool is_written)
{
	*bits_of(b, tgid) |= REC_MAPPING | (is_written ? REC_WRITING : 0);
}

void ptc_bpf_set_sharing(struct ptc_bpf *b, pid_t tgid)
{
	*bits_of(b, tgid) |= REC_SHARING;
}

void ptc_bpf_watch_code(struct ptc_bpf *b, pid_t tgid, bool is_watched)
{
	if (is_watched)
		*bits_of(b, tgid) |= REC_WATCHES_CODE;
	else
		*bits_of(b, tgid) &= ~REC_WATCHES_CODE;
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

uint64_t ptc_bpf_last_ran_ns(struct ptc_bpf *b, pid_t tgid)
{
	struct rec_switch last = {};
	uint32_t key = tgid;

	bpf_map_lookup_elem(ptc_programs_map(&b->programs, "last_threads"), &key, &last);
	return last.out_ns;
}

void ptc_bpf_join(struct ptc_bpf *b, pid_t tgid)
{
	// Who had this number before is not to be taken for it.
	if (b->globals->joined_runs == (uint32_t)tgid)
		b->globals->joined_runs = 0;
	*bits_of(b, tgid) |= REC_JOINED;
}

void ptc_bpf_set_restarting(struct ptc_bpf *b, pid_t tid, uint32_t nr)
{
	uint32_t key = tid;

	bpf_map_update_elem(ptc_programs_map(&b->programs, "restarting"), &key, &nr,
			    BPF_ANY);
}

void ptc_bpf_set_chance(struct ptc_bpf *b, uint32_t below, uint64_t seed)
{
	b->globals->chance_state = seed | 1;
	b->globals->chance_below = below;
}

void ptc_bpf_set_consumer(struct ptc_bpf *b,
			  void (*fn)(void *ctx, void *rec, size_t size), void *ctx)
{
	b->consumer = fn ?: take_nothing;
	b->ctx = ctx;
}

/**
 * Probes (and since Linux 7 system calls) run with preemption on, where the kernel has that: a
 * thread can lose the CPU between claiming a record and filling it, and nothing behind that can
 * be read. It is in the kernel, and goes on whatever we do to it: it needs the CPU only.
 */
void ptc_bpf_drain(struct ptc_bpf *b)
{
	uint64_t end = __atomic_load_n(&b->records.ring->claimed, __ATOMIC_ACQUIRE);
	uint64_t until_ns = 0;

	consume(b);
	while ((int64_t)(b->records.at - end) < 0) {
		if (!until_ns)
			until_ns = ptc_now_ns() + DRAIN_NS;
		if (ptc_now_ns() > until_ns) {
			log_warn("a record of the kernel's is not finished: the order of "
				 "events may not be theirs");
			return;
		}
		usleep(DRAIN_NAP_US);
		consume(b);
	}
}

int ptc_bpf_fd(const struct ptc_bpf *b)
{
	return ring_buffer__epoll_fd(b->bell);
}

/** How often the kernel did not run the program, because another thread was in the middle of it
 * on the same CPU. */
static uint64_t misses(struct bpf_program *prog)
{
	struct bpf_prog_info info = {};
	uint32_t size = sizeof(info);

	if (bpf_program__fd(prog) < 0 ||
	    bpf_obj_get_info_by_fd(bpf_program__fd(prog), &info, &size))
		return 0;
	return info.recursion_misses;
}

uint64_t ptc_bpf_lost(const struct ptc_bpf *b)
{
	uint64_t n = b->globals->lost_events;
	struct bpf_program *prog;

	for (size_t i = 0; i < b->programs.objects.size; i++)
		bpf_object__for_each_program(prog, b->programs.objects.data[i]->obj)
			n += misses(prog);
	return n;
}
