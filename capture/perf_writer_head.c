// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/* What of a file is not records: its head, the events (attrs and their ids), how PT was set
 * up, and the features at its end. */
#include <stdio.h>
#include <string.h>

#include "capture/cap_format.h"
#include "capture/perf_writer_int.h"

struct err *perf_write_head(struct perf_writer *w)
{
	w->head.data.size = w->at - w->head.data.offset;
	return perf_write_at(w, &w->head, sizeof(w->head), 0);
}

/* The ids and attrs at @p at; the attrs are where the head says. @p end: behind the ids. */
static struct err *write_attrs(struct perf_writer *w, uint64_t at, uint64_t *end)
{
	struct perf_section ids = { .offset = at };
	struct err *err = NULL;

	for (int i = 0; i < PERF_ATTRS && !err; i++) {
		uint64_t attr_at = w->head.attrs.offset + i * w->head.attr_size;

		ids.size = w->ids[i].size * sizeof(uint64_t);
		err = perf_write_at(w, w->ids[i].data, ids.size, ids.offset);
		if (!err)
			err = perf_write_at(w, &w->attr[i], sizeof(w->attr[i]), attr_at);
		if (!err)
			err = perf_write_at(w, &ids, sizeof(ids),
					    attr_at + sizeof(w->attr[i]));
		ids.offset += ids.size;
	}
	*end = ids.offset;
	return err;
}

static struct err *write_features(struct perf_writer *w, uint64_t *end)
{
	struct perf_section ids[PERF_ATTRS];
	VEC(uint64_t) all = {};
	struct perf_features f = { .o = &w->o,
				   .attr = w->attr,
				   .ids = ids,
				   .n_attrs = PERF_ATTRS,
				   .build_ids = w->build_ids.data,
				   .build_id_bytes = w->build_ids.size,
				   .index = w->index.data,
				   .n_index = w->index.size,
				   .first_ns = w->first_ns,
				   .last_ns = w->last_ns };
	struct err *err = &err_nomem;

	for (int i = 0; i < PERF_ATTRS; i++) {
		size_t n = w->ids[i].size;

		ids[i] = (struct perf_section){ all.size * 8, n * 8 };
		if (vec_reserve(&all, all.size + n))
			goto out;
		memcpy(all.data + all.size, w->ids[i].data, n * 8);
		all.size += n;
	}
	f.id = all.data;
	err = perf_features_write(w->fd, w->at, &f, w->head.features, end);
out:
	vec_deinit(&all);
	w->has_failed |= !!err;
	return err ? err_prefix(err, "cannot write '%s'", w->path) : NULL;
}

struct err *perf_put_end(struct perf_writer *w, uint64_t *end)
{
	struct err *err = write_features(w, end);

	// Ids that came since the beginning have no room there.
	if (!err && w->has_more_ids)
		err = write_attrs(w, *end, end);
	return err ? err : perf_write_head(w);
}

static struct err *put_info(struct perf_writer *w)
{
	const struct perf_pt *pt = &w->o.pt;
	struct perf_rec_info info = { .head.type = PERF_TYPE_AUXTRACE_INFO,
				      .type = PERF_INFO_INTEL_PT };
	size_t filter = pt->filter ? strlen(pt->filter) : 0, n = PERF_INFO_WORDS;
	size_t filter_words = filter ? cap_pad8(filter + 1) / PERF_WORD : 0;
	uint64_t word[PERF_INFO_WORDS + 4096 / PERF_WORD + 1] = {
		[PERF_INFO_PMU_TYPE] = pt->pmu_type,
		[PERF_INFO_TIME_SHIFT] = pt->clock.shift,
		[PERF_INFO_TIME_MULT] = pt->clock.mult,
		[PERF_INFO_TIME_ZERO] = pt->clock.zero,
		[PERF_INFO_HAS_TIME_ZERO] = pt->clock.is_known,
		[PERF_INFO_TSC_BIT] = pt->tsc_bit,
		[PERF_INFO_NORETCOMP_BIT] = pt->noretcomp_bit,
		[PERF_INFO_SWITCHES] = pt->has_switches,
		[PERF_INFO_SNAPSHOT] = pt->is_snapshot,
		[PERF_INFO_PER_CPU] = pt->is_per_cpu,
		[PERF_INFO_MTC_BIT] = pt->mtc_bit,
		[PERF_INFO_MTC_FREQ_BITS] = pt->mtc_freq_bits,
		[PERF_INFO_TSC_CTC_N] = pt->tsc_ctc_n,
		[PERF_INFO_TSC_CTC_D] = pt->tsc_ctc_d,
		[PERF_INFO_CYC_BIT] = pt->cyc_bit,
		[PERF_INFO_MAX_NONTURBO] = pt->max_nonturbo_ratio,
		[PERF_INFO_FILTER_BYTES] = filter,
	};

	if (filter >= 4096)
		return err_new(ERR_USAGE, "the address filter is too long: %zu bytes",
			       filter);
	if (filter)
		memcpy(&word[n], pt->filter, filter);
	n += filter_words;
	word[n++] = pt->has_event_trace;
	return perf_put_record(w, &info, sizeof(info), word, n * PERF_WORD, NULL);
}

/* Which CPUs the events were of: those of the machine, or "any" for a thread's. */
static struct err *put_cpus(struct perf_writer *w)
{
	bool is_per_cpu = w->o.pt.is_per_cpu;
	uint32_t n = is_per_cpu ? w->o.host.cpus_online : 1;
	struct perf_rec head = { .type = PERF_TYPE_CPU_MAP };
	uint16_t map[2 + 4096] = { 0 };

	if (n > 4096)
		n = 4096;
	map[1] = n;
	for (uint32_t i = 0; i < n; i++)
		map[2 + i] = is_per_cpu ? i : UINT16_MAX;
	return perf_put_record(w, &head, sizeof(head), map, (2 + n) * sizeof(map[0]),
			       NULL);
}

struct err *perf_put_beginning(struct perf_writer *w)
{
	struct err *err;
	struct perf_record clock = { .kind = PERF_TIME_CONV, .clock = w->o.pt.clock };
	uint64_t end;

	w->head = (struct perf_head){ .magic = PERF_MAGIC,
				      .size = sizeof(w->head),
				      .attr_size = sizeof(struct perf_attr_disk) +
						   sizeof(struct perf_section) };
	w->head.attrs =
		(struct perf_section){ sizeof(w->head), PERF_ATTRS * w->head.attr_size };
	err = write_attrs(w, w->head.attrs.offset + w->head.attrs.size, &end);
	w->at = w->head.data.offset = end;
	if (!err)
		err = put_info(w);
	if (!err)
		err = put_cpus(w);
	if (!err && w->o.pt.clock.is_known)
		err = perf_writer_record(w, &clock);
	return err ? err : perf_writer_flush(w);
}
