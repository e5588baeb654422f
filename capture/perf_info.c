// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/* What is known of a file: how PT was set up, where its streams' pieces lie, counts. */
#include <string.h>

#include "capture/perf_format.h"

/* ---- AUXTRACE_INFO ------------------------------------------------------------------------ */

/* The filter of @p filter_bytes at @p at, of @p n_words words, and what is behind it. */
static const char *parse_rest(const uint8_t *at, size_t n_words, uint64_t filter_bytes,
			      struct perf_pt *pt)
{
	uint64_t words = filter_bytes ? filter_bytes / sizeof(uint64_t) + 1 : 0;
	uint64_t has_event_trace = 0;

	if (words > n_words || (words && at[words * sizeof(uint64_t) - 1]))
		return "the address filter is longer than its record";
	if (words) {
		pt->filter = strndup((const char *)at, filter_bytes);
		if (!pt->filter)
			return "out of memory";
	}
	if (n_words > words)
		memcpy(&has_event_trace, at + words * sizeof(uint64_t),
		       sizeof(has_event_trace));
	pt->has_event_trace = has_event_trace;
	return NULL;
}

static struct perf_pt describe_pt(const uint64_t w[PERF_INFO_WORDS])
{
	return (struct perf_pt){ .pmu_type = w[PERF_INFO_PMU_TYPE],
				 .tsc_bit = w[PERF_INFO_TSC_BIT],
				 .noretcomp_bit = w[PERF_INFO_NORETCOMP_BIT],
				 .mtc_bit = w[PERF_INFO_MTC_BIT],
				 .cyc_bit = w[PERF_INFO_CYC_BIT],
				 .mtc_freq_bits = w[PERF_INFO_MTC_FREQ_BITS],
				 .tsc_ctc_n = w[PERF_INFO_TSC_CTC_N],
				 .tsc_ctc_d = w[PERF_INFO_TSC_CTC_D],
				 .max_nonturbo_ratio = w[PERF_INFO_MAX_NONTURBO],
				 .has_switches = w[PERF_INFO_SWITCHES],
				 .is_snapshot = w[PERF_INFO_SNAPSHOT],
				 .is_per_cpu = w[PERF_INFO_PER_CPU],
				 .clock = { .mult = w[PERF_INFO_TIME_MULT],
					    .shift = w[PERF_INFO_TIME_SHIFT],
					    .zero = w[PERF_INFO_TIME_ZERO],
					    .is_known = w[PERF_INFO_HAS_TIME_ZERO] &&
							w[PERF_INFO_TIME_MULT] } };
}

/* @return NULL or what is wrong. */
static const char *parse_info(const uint8_t *rec, size_t bytes, struct perf_pt *pt)
{
	uint64_t w[PERF_INFO_WORDS] = {};
	struct perf_rec_info info;
	size_t n = bytes < sizeof(info) ? 0 : (bytes - sizeof(info)) / sizeof(w[0]);
	size_t n_known = n < PERF_INFO_WORDS ? n : PERF_INFO_WORDS;

	if (n <= PERF_INFO_SNAPSHOT)
		return "it is too short";
	memcpy(&info, rec, sizeof(info));
	memcpy(w, rec + sizeof(info), n_known * sizeof(w[0]));
	if (info.type != PERF_INFO_INTEL_PT)
		return "its trace is not Intel PT's";
	if (w[PERF_INFO_TIME_SHIFT] >= 64 || w[PERF_INFO_TIME_MULT] > UINT32_MAX)
		return "the clock's conversion makes no sense";
	*pt = describe_pt(w);
	return parse_rest(rec + sizeof(info) + n_known * sizeof(w[0]), n - n_known,
			  w[PERF_INFO_FILTER_BYTES], pt);
}

/* ---- what the records add -------------------------------------------------------------------- */

static struct err *note_piece(struct perf_info *info, const struct perf_piece *piece,
			      size_t *capacity)
{
	if (vec_reserve_((void **)&info->pieces, capacity, info->n_pieces + 1,
			 sizeof(*piece)))
		return &err_nomem;
	info->pieces[info->n_pieces++] = *piece;
	info->pt_bytes += piece->bytes;
	return NULL;
}

/* The first AUXTRACE_INFO says what the streams are. */
static struct err *note_info(struct perf_info *info, const uint8_t *rec, size_t bytes)
{
	const char *wrong;

	if (info->has_pt)
		return NULL;
	wrong = parse_info(rec, bytes, &info->pt);
	if (wrong)
		return err_new(ERR_FORMAT, "AUXTRACE_INFO: %s", wrong);
	info->has_pt = true;
	for (size_t i = 0; i < info->n_attrs; i++) {
		if (info->attrs[i].type != info->pt.pmu_type)
			continue;
		info->pt.config = info->attrs[i].config;
		info->pt.is_user_only = info->attrs[i].flags & PERF_ATTR_EXCLUDE_KERNEL;
		break;
	}
	return NULL;
}

static void note_time(struct perf_info *info, uint64_t ns)
{
	if (!ns || ns == UINT64_MAX)
		return;
	if (!info->first_ns || ns < info->first_ns)
		info->first_ns = ns;
	if (ns > info->last_ns)
		info->last_ns = ns;
}

struct err *perf_info_note(struct perf_info *info, const struct perf_record *r,
			   const uint8_t *rec, size_t bytes, size_t *capacity)
{
	struct err *err = NULL;

	if (r->type == PERF_TYPE_AUXTRACE_INFO)
		err = note_info(info, rec, bytes);
	else if (r->kind == PERF_AUXTRACE)
		err = note_piece(info, &r->piece, capacity);
	else if (r->kind == PERF_LOST || r->kind == PERF_LOST_SAMPLES)
		info->n_lost += r->lost.n;
	else
		info->n_other += r->kind == PERF_OTHER;
	info->n_records += !err;
	note_time(info, r->time_ns);
	return err;
}

/* ---- streams --------------------------------------------------------------------------------- */

static int by_stream(const void *a, const void *b)
{
	const struct perf_piece *x = a, *y = b;

	if (x->stream != y->stream)
		return x->stream < y->stream ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

struct err *perf_info_streams(struct perf_info *info)
{
	struct perf_stream *s = NULL;
	size_t n = 0;

	if (!info->n_pieces)
		return NULL;
	qsort(info->pieces, info->n_pieces, sizeof(*info->pieces), by_stream);
	for (size_t i = 0; i < info->n_pieces; i++)
		n += !i || info->pieces[i].stream != info->pieces[i - 1].stream;
	info->streams = calloc(n, sizeof(*info->streams));
	if (!info->streams)
		return &err_nomem;
	for (size_t i = 0; i < info->n_pieces; i++) {
		const struct perf_piece *p = &info->pieces[i];

		if (!s || s->number != p->stream) {
			s = &info->streams[info->n_streams++];
			*s = (struct perf_stream){ .number = p->stream,
						   .tid = p->tid,
						   .cpu = p->cpu,
						   .first_piece = i };
		}
		s->n_pieces++;
		s->bytes += p->bytes;
	}
	return NULL;
}

void perf_info_deinit(struct perf_info *info)
{
	for (size_t i = 0; i < info->n_attrs; i++) {
		free(info->attrs[i].ids);
		free(info->attrs[i].name);
	}
	free(info->attrs);
	for (size_t i = 0; i < info->n_cmdline; i++)
		free(info->cmdline[i]);
	free(info->cmdline);
	for (size_t i = 0; i < info->n_build_ids; i++)
		free(info->build_ids[i].path);
	free(info->build_ids);
	free(info->pt.filter);
	free(info->pieces);
	free(info->streams);
	perf_host_deinit(&info->host);
}
