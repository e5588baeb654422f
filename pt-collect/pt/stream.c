// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The events of one thread, or of one CPU, and their ring. Two events a thread: PT, which has
 * the ring and its AUX area, and one that counts nothing but collects what else happens
 * (the kernel's "dummy"), which writes into the same ring.
 */
#define LOG_ROOM "record"
#include <errno.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "capture/perf_data.h"
#include "pt-collect/tracee/privilege.h"
#include "pt-collect/pt/pt.h"
#include "pt-collect/tracee/tracee.h"

#define PAGE 4096u
#define AUX_DEFAULT (4u << 20)
#define AUX_LEAST (64u << 10) ///< less would be full all the time

#define FORMAT_LOST (1u << 4) ///< PERF_FORMAT_LOST, newer than Debian 12's headers

/** An older kernel knows less, and says only that something is wrong: it is asked for less
 * and less. */
static int open_event(struct perf_event_attr *attr, pid_t tid, int cpu)
{
	int fd = -1;

	for (int step = 0; fd < 0 && step < 4; step++) {
		if (step == 1)
			attr->read_format &= ~FORMAT_LOST; // before Linux 6.0
		if (step == 2)
			attr->inherit_thread = 0; // 5.13
		if (step == 3)
			attr->build_id = 0; // 5.12
		fd = syscall(SYS_perf_event_open, attr, tid, cpu, -1,
			     PERF_FLAG_FD_CLOEXEC);
		if (fd < 0 && errno != EINVAL)
			break;
	}
	return fd;
}

static struct perf_event_attr common_attr(int cpu)
{
	return (struct perf_event_attr){
		.size = sizeof(struct perf_event_attr),
		.sample_type = PERF_DATA_SAMPLE_TYPE,
		.read_format = PERF_FORMAT_ID | FORMAT_LOST,
		.sample_id_all = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.disabled = 1,
		.watermark = 1,
		.wakeup_watermark = PTC_PT_DATA_BYTES / 2,
		// A thread's own event cannot be inherited: its ring is of one thread.
		.inherit = cpu >= 0,
		.inherit_thread = cpu >= 0,
	};
}

static int open_pt(const struct ptc_pt_setup *s, pid_t tid, int cpu)
{
	struct perf_event_attr attr = common_attr(cpu);

	attr.type = s->pmu.type;
	attr.config = s->config[0];
	attr.config1 = s->config[1];
	attr.config2 = s->config[2];
	attr.sample_period = 1; // perf's, and ignored
	return open_event(&attr, tid, cpu);
}

static int open_sideband(pid_t tid, int cpu)
{
	struct perf_event_attr attr = common_attr(cpu);

	attr.type = PERF_TYPE_SOFTWARE;
	attr.config = PERF_COUNT_SW_DUMMY;
	attr.mmap = attr.mmap2 = attr.build_id = 1;
	attr.comm = attr.comm_exec = attr.task = attr.context_switch = 1;
	return open_event(&attr, tid, cpu);
}

static bool keep(struct ptc_pt_stream *st, int fd)
{
	int *slot = vec_push(&st->fds);
	uint64_t *id = slot ? vec_push(&st->ids) : NULL;

	if (!id) {
		close(fd);
		st->fds.size = st->ids.size;
		return false;
	}
	*slot = fd;
	return !ioctl(fd, PERF_EVENT_IOC_ID, id);
}

/** Both events of a thread; with @p filter on PT. */
static struct err *open_both(const struct ptc_pt_setup *s, struct ptc_pt_stream *st,
			     pid_t tid, const char *filter)
{
	int fd = open_pt(s, tid, st->cpu);

	if (fd < 0)
		return ptc_pt_explain(&s->machine, "cannot open Intel PT", errno);
	if (!keep(st, fd))
		return &err_nomem;
	if (filter && ioctl(fd, PERF_EVENT_IOC_SET_FILTER, filter))
		return ptc_pt_explain(&s->machine, "cannot set the address filter",
				      errno);
	fd = open_sideband(tid, st->cpu);
	if (fd < 0)
		return ptc_pt_explain(&s->machine, "cannot open what happens beside PT",
				      errno);
	return keep(st, fd) ? NULL : &err_nomem;
}

/** All events from number @p first on write into the ring of the first of all. */
static struct err *share_ring(const struct ptc_pt_setup *s, struct ptc_pt_stream *st,
			      size_t first)
{
	for (size_t i = first; i < st->fds.size; i++)
		if (ioctl(st->fds.data[i], PERF_EVENT_IOC_SET_OUTPUT, st->fds.data[0]))
			return ptc_pt_explain(&s->machine, "cannot share PT's ring",
					      errno);
	for (size_t i = first; i < st->fds.size; i++)
		ioctl(st->fds.data[i], PERF_EVENT_IOC_ENABLE, 0);
	return NULL;
}

static uint64_t power_of_two(uint64_t bytes)
{
	uint64_t ret = PAGE;

	while (ret < bytes)
		ret *= 2;
	return ret;
}

/** Map the AUX area, smaller when it may not be as large as that. */
static bool map_aux(const struct ptc_pt_setup *s, struct ptc_pt_stream *st)
{
	uint64_t want = power_of_two(s->o->aux_bytes ?: AUX_DEFAULT), bytes = want;
	struct perf_event_mmap_page *page = st->ring.page;
	void *aux = MAP_FAILED;

	for (; aux == MAP_FAILED; bytes /= 2) {
		page->aux_offset = PAGE + PTC_PT_DATA_BYTES;
		page->aux_size = bytes;
		aux = mmap(NULL, bytes, PROT_READ | (s->o->is_snapshot ? 0 : PROT_WRITE),
			   MAP_SHARED, st->fds.data[0], page->aux_offset);
		if (aux != MAP_FAILED)
			break;
		if ((errno != EPERM && errno != ENOMEM) || bytes / 2 < AUX_LEAST)
			return false;
	}
	if (bytes < want)
		log_warn("a PT ring has %llu KiB instead of %llu: more is not allowed "
			 "(kernel.perf_event_mlock_kb, RLIMIT_MEMLOCK)",
			 (unsigned long long)bytes >> 10, (unsigned long long)want >> 10);
	st->ring.aux = aux;
	st->ring.aux_bytes = bytes;
	st->ring.is_overwriting = s->o->is_snapshot;
	return true;
}

static struct err *map_ring(const struct ptc_pt_setup *s, struct ptc_pt_stream *st)
{
	void *page = mmap(NULL, PAGE + PTC_PT_DATA_BYTES, PROT_READ | PROT_WRITE,
			  MAP_SHARED, st->fds.data[0], 0);

	if (page == MAP_FAILED)
		return ptc_pt_explain(&s->machine, "cannot map the ring of PT's events",
				      errno);
	st->ring.page = page;
	st->ring.data = (uint8_t *)page + PAGE;
	st->ring.data_bytes = PTC_PT_DATA_BYTES;
	if (!s->pmu.has_output || map_aux(s, st))
		return NULL;
	return ptc_pt_explain(&s->machine, "cannot map PT's AUX area", errno);
}

struct err *ptc_pt_stream_join(const struct ptc_pt_setup *s, struct ptc_pt_stream *to,
			       pid_t tid, const char *filter)
{
	size_t before = to->fds.size;
	struct err *err;

	ptc_privilege_use(true);
	err = open_both(s, to, tid, filter);
	if (!err)
		err = share_ring(s, to, before);
	ptc_privilege_use(false);
	return err;
}

struct err *ptc_pt_stream_open(const struct ptc_pt_setup *s, pid_t tid, int cpu,
			       const char *filter, struct ptc_pt_stream **ret)
{
	struct ptc_pt_stream *st = calloc(1, sizeof(*st));
	struct err *err;

	if (!st)
		return &err_nomem;
	st->cpu = cpu;
	st->tid = cpu < 0 ? tid : 0;
	ptc_privilege_use(true);
	err = open_both(s, st, tid, filter);
	if (!err)
		err = map_ring(s, st);
	if (!err)
		err = share_ring(s, st, 1);
	ptc_privilege_use(false);
	if (err) {
		ptc_pt_stream_close(st);
		return err;
	}
	ioctl(st->fds.data[0], PERF_EVENT_IOC_ENABLE, 0);
	*ret = st;
	return NULL;
}

void ptc_pt_stream_close(struct ptc_pt_stream *st)
{
	if (!st)
		return;
	if (st->ring.aux)
		munmap(st->ring.aux, st->ring.aux_bytes);
	if (st->ring.page)
		munmap(st->ring.page, PAGE + PTC_PT_DATA_BYTES);
	for (size_t i = 0; i < st->fds.size; i++)
		close(st->fds.data[i]);
	vec_deinit(&st->fds);
	vec_deinit(&st->ids);
	free(st);
}

uint64_t ptc_pt_stream_lost(const struct ptc_pt_stream *st)
{
	struct {
		uint64_t value, id, lost;
	} v;
	uint64_t n = 0;

	for (size_t i = 0; i < st->fds.size; i++)
		if (read(st->fds.data[i], &v, sizeof(v)) == sizeof(v))
			n += v.lost;
	return n;
}

void ptc_pt_stream_enable(struct ptc_pt_stream *st, bool is_enabled)
{
	// PT's are those with even numbers.
	for (size_t i = 0; i < st->fds.size; i += 2)
		ioctl(st->fds.data[i],
		      is_enabled ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
}

struct cap_instant ptc_pt_instant_now(void)
{
	struct cap_instant best = {};
	uint64_t least = UINT64_MAX;

	// Interrupted in between, they would be two instants: the closest of some tries.
	for (int i = 0; i < 5; i++) {
		uint64_t before = __builtin_ia32_rdtsc(), at_ns = ptc_now_ns();
		uint64_t after = __builtin_ia32_rdtsc();

		if (after - before < least) {
			least = after - before;
			best = (struct cap_instant){ before + least / 2, at_ns };
		}
	}
	return best;
}

struct perf_clock ptc_pt_stream_clock(const struct ptc_pt_stream *st)
{
	const volatile struct perf_event_mmap_page *page = st->ring.page;
	struct perf_clock c;
	uint32_t lock;

	// The kernel makes the number odd while it changes them.
	do {
		lock = __atomic_load_n(&page->lock, __ATOMIC_ACQUIRE);
		c = (struct perf_clock){ .mult = page->time_mult,
					 .shift = page->time_shift,
					 .zero = page->time_zero,
					 .is_known = page->cap_user_time_zero };
		// The CPU keeps the order of loads; so must the compiler. (No fence:
		// ThreadSanitizer knows none.)
		__asm__ volatile("" ::: "memory");
	} while (lock & 1 || lock != page->lock);
	return c;
}
