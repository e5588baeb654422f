// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * What software PT can be asked for: the packets are there, those that user-only tracing
 * does not have are not, and the same instructions decode from all of them. Time decodes
 * to the time of the capture's events.
 */

#include <intel-pt.h>

#include "tests/decode/pt_bytes.h"
#include "tests/decode/pt_program.h"

enum { TYPES = ppt_ptw + 1, PTWRITES = 3 };

static struct program sort;
static uint64_t ptwrites[PTWRITES]; ///< places that the program comes by

static int record(void **state)
{
	(void)state;
	program_record(&sort, "sort", "sort -r /usr/share/common-licenses/GPL-3", 1);
	program_encode(&sort);
	for (size_t i = 0; i < PTWRITES; i++)
		ptwrites[i] = sort.truth.pool.data[(i + 1) * sort.truth.pool.size / 5];
	return 0;
}

static int forget(void **state)
{
	(void)state;
	program_deinit(&sort);
	return 0;
}

/* ---- a run with wishes ---------------------------------------------------------------------- */

/* Encode the program anew with @p o; at three places in its middle everything that
 * @p extras asks for is added (bit n: enum dec_pt_extra n). */
static void encode(struct encoding *e, const struct dec_pt_options *o,
		   unsigned int extras)
{
	struct dec_machine *m;
	struct dec_where w;

	encoding_start(e, sort.capture, &sort.truth, o);
	ok(dec_machine_create(sort.capture, NULL, &m));
	ok(dec_machine_log(m, DEC_LOG_FLOW, dec_pt_encoder_feed, e->encoder));
	for (int i = 1; i < 5; i++) {
		ok(dec_machine_run(m, sort.truth.total * i / 5, &w));
		for (int k = 0; i < 4 && k <= DEC_PT_EXTRA_TSX_END; k++)
			if (extras >> k & 1 && (k < DEC_PT_EXTRA_TSX_BEGIN || i & 1))
				dec_pt_encoder_add(e->encoder, k);
	}
	ok(dec_machine_run(m, UINT64_MAX >> 1, &w));
	ok(dec_machine_log(m, DEC_LOG_NONE, NULL, NULL));
	encoding_end(e, w.rip);
	dec_machine_destroy(m);
}

/* Count packets by type; ppt_mode counts MODE.Exec, the last place MODE.TSX. */
static void count(const struct stream *s, uint64_t n[TYPES + 1])
{
	struct pt_packet_decoder *d;
	struct pt_config config;
	struct pt_packet p;
	int status;

	pt_config_init(&config);
	config.begin = s->bytes.data;
	config.end = s->bytes.data + s->bytes.size;
	d = pt_pkt_alloc_decoder(&config);
	assert_non_null(d);
	assert_int_equal(pt_pkt_sync_set(d, 0), 0);
	memset(n, 0, (TYPES + 1) * sizeof(*n));
	while ((status = pt_pkt_next(d, &p, sizeof(p))) > 0)
		n[p.type == ppt_mode && p.payload.mode.leaf == pt_mol_tsx ? TYPES :
									    p.type]++;
	assert_int_equal(status, -pte_eos);
	pt_pkt_free_decoder(d);
}

/* ---- decoding ------------------------------------------------------------------------------- */

struct hearer {
	struct judge judge;
	uint64_t n_ptwrites, wrong_ptwrites;
	uint64_t tsc, goes_back, early, n_times;
	uint64_t slack; ///< ns that a time may be early
	struct cap_events *events;
	struct cap_event next;
};

static struct err *hear_run(void *ctx, const struct dec_pt_run *run)
{
	struct hearer *h = ctx;

	h->goes_back += run->tsc < h->tsc;
	h->tsc = run->tsc;
	return judge_run(&h->judge, run);
}

/* What a PTWRITE at @p rip would write: any value will do, of 4 bytes and of 8. */
static uint64_t value_of(uint64_t rip)
{
	return rip & 1 ? rip * 0x9e3779b97f4a7c15ull : (uint32_t)(rip * 77);
}

static void hear_ptwrite(struct hearer *h, const struct dec_pt_event *e)
{
	h->n_ptwrites++;
	h->wrong_ptwrites += e->value != value_of(e->ip);
}

/* Tracing goes on behind the next system call or in the next handler: that was its time,
 * which may be told a bit too early. */
static void hear_enabled(struct hearer *h, const struct dec_pt_event *e)
{
	bool is_end = false;

	while (h->n_times && !is_end && h->next.kind != CAP_EV_SYSCALL)
		ok(cap_events_next(h->events, &h->next, &is_end));
	if (h->n_times++) {
		h->early += e->tsc + h->slack < h->next.at_ns;
		h->goes_back += e->tsc < h->tsc;
		ok(cap_events_next(h->events, &h->next, &is_end));
	}
	h->tsc = e->tsc;
}

static struct err *hear_event(void *ctx, const struct dec_pt_event *e)
{
	struct hearer *h = ctx;

	if (e->kind == DEC_PT_EV_PTWRITE)
		hear_ptwrite(h, e);
	if (e->kind == DEC_PT_EV_ENABLED && h->events)
		hear_enabled(h, e);
	return NULL;
}

static void decode(struct encoding *e, struct hearer *h)
{
	struct dec_pt_clock clock = { .nominal_ratio = DEC_PT_NOMINAL_RATIO,
				      .tsc_num = DEC_PT_TSC_NUM,
				      .tsc_den = DEC_PT_TSC_DEN,
				      .mtc_shift = e->options.mtc_shift,
				      .has_ticks = e->options.has_mtc ||
						   e->options.has_cyc };
	struct dec_pt_sink sink = {
		.ctx = h, .run = hear_run, .gap = judge_gap, .event = hear_event
	};
	struct stream *s = &e->streams.data[0];
	struct dec_pt_decode_options o = { .n_threads = 1 };
	struct dec_pt_stream stream;

	h->judge = (struct judge){ .truth = &sort.truth,
				   .thread = sort.truth.threads.data,
				   .image = &s->image };
	ok(dec_pt_stream_init(&stream, s->tid, &s->image));
	stream.clock = clock;
	ok(dec_pt_stream_add(&stream, s->bytes.data, s->bytes.size, NULL));
	ok(dec_pt_decode(&stream, &o, &sink, NULL));
	assert_int_equal(h->judge.n_insns, sort.truth.total);
	assert_int_equal(h->goes_back, 0);
	dec_pt_stream_deinit(&stream);
}

/* ---- tests ---------------------------------------------------------------------------------- */

static void few_by_default(void **state)
{
	const struct dec_pt_options o = { .psb_bytes = 4096, .compresses_returns = true };
	static const enum pt_packet_type want[] = { ppt_psb,   ppt_psbend,  ppt_fup,
						    ppt_tip,   ppt_tip_pge, ppt_tip_pgd,
						    ppt_tnt_8, ppt_tnt_64,  ppt_mode };
	uint64_t n[TYPES + 1];
	struct hearer h = {};
	struct encoding e;

	(void)state;
	encode(&e, &o, 0);
	count(e.streams.data, n);
	for (size_t i = 0; i < sizeof(want) / sizeof(*want); i++) {
		assert_true(n[want[i]] > 0);
		n[want[i]] = 0;
	}
	for (int i = 0; i <= TYPES; i++)
		assert_int_equal(n[i], 0);
	decode(&e, &h);
	encoding_deinit(&e);
}

static void old_cpus(void **state)
{
	const struct dec_pt_options o = { .psb_bytes = 4096,
					  .is_tnt_short = true,
					  .is_ip_whole = true };
	uint64_t n[TYPES + 1];
	struct hearer h = {};
	struct encoding e;

	(void)state;
	encode(&e, &o, 0);
	count(e.streams.data, n);
	assert_int_equal(n[ppt_tnt_64], 0);
	assert_true(n[ppt_tnt_8] * 6 >= e.streams.data[0].stats.tnt_bits);
	decode(&e, &h);
	encoding_deinit(&e);
}

static bool tell(void *ctx, uint32_t tid, uint64_t position, uint64_t rip, uint64_t *ret)
{
	(void)ctx, (void)tid, (void)position;
	*ret = value_of(rip);
	return true;
}

static void all_that_there_is(void **state)
{
	const struct dec_pt_options o = { .psb_bytes = 4096,
					  .compresses_returns = true,
					  .has_tsc = true,
					  .has_mtc = true,
					  .mtc_shift = 3,
					  .has_cyc = true,
					  .has_tsx = true,
					  .ptwrites = ptwrites,
					  .n_ptwrites = PTWRITES,
					  .ptwrite = tell };
	uint64_t n[TYPES + 1];
	struct hearer h = {};
	struct encoding e;

	(void)state;
	encode(&e, &o, ~0u);
	count(e.streams.data, n);
	for (int i = ppt_psb; i <= TYPES; i++) {
		// Not for users: address spaces, virtual machines, address filters.
		bool is_for_users = i != ppt_pip && i != ppt_vmcs && i != ppt_stop;

		if (is_for_users != (n[i] > 0) && i != ppt_ovf)
			fail_msg("%lu packets of type %d", n[i], i);
	}
	decode(&e, &h);
	assert_int_equal(h.n_ptwrites, n[ppt_ptw]);
	assert_int_equal(h.wrong_ptwrites, 0);
	assert_int_equal(e.streams.data[0].stats.mtc, n[ppt_mtc]);
	assert_int_equal(e.streams.data[0].stats.cyc, n[ppt_cyc]);
	encoding_deinit(&e);
}

/* ---- a program that writes itself ----------------------------------------------------------- */

static uint64_t n_told;

static bool tell_next(void *ctx, uint32_t tid, uint64_t position, uint64_t rip,
		      uint64_t *ret)
{
	(void)ctx, (void)tid, (void)position, (void)rip;
	*ret = n_told++ * 1000;
	return true;
}

struct written {
	uint64_t n, wrong, ip;
};

static struct err *on_written(void *ctx, const struct dec_pt_event *e)
{
	struct written *w = ctx;

	if (e->kind != DEC_PT_EV_PTWRITE)
		return NULL;
	w->wrong += e->value != w->n * 1000 || e->ip < w->ip;
	w->ip = e->ip;
	w->n++;
	return NULL;
}

static void the_program_writes(void **state)
{
	const struct dec_pt_options o = { .psb_bytes = 4096, .ptwrite = tell_next };
	struct written w = {};
	struct dec_pt_sink sink = { .ctx = &w, .event = on_written };
	struct encoding e;
	struct program p;
	struct stream *s;

	(void)state;
	if (unit_run("%s/tests/programs/ptwrite", unit_env("BUILD"))) {
		puts("this CPU has no PTWRITE");
		return;
	}
	program_record(&p, "ptwrite", "\"$BUILD/tests/programs/ptwrite\"", 1);
	program_encode(&p);
	encoding_make(&e, p.capture, &p.truth, &o);
	s = &e.streams.data[0];
	ok(pt_decode_bytes(s->bytes.data, s->bytes.size, &s->image, &sink, NULL));
	assert_int_equal(w.n, 5);
	assert_int_equal(w.wrong, 0);
	encoding_deinit(&e);
	program_deinit(&p);
}

static void time_is_that_of_events(void **state)
{
	static const struct {
		struct dec_pt_options o;
		uint64_t slack;
	} ways[] = {
		{ { .psb_bytes = 4096, .has_tsc = true, .has_mtc = true }, 40 },
		{ { .psb_bytes = 4096, .has_tsc = true, .has_mtc = true, .mtc_shift = 6 },
		  40 << 6 },
		{ { .psb_bytes = 4096,
		    .has_tsc = true,
		    .has_mtc = true,
		    .mtc_shift = 3,
		    .has_cyc = true },
		  40 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		struct hearer h = { .slack = ways[i].slack };
		struct encoding e;

		ok(cap_events_open(sort.capture, &h.events));
		encode(&e, &ways[i].o, 0);
		decode(&e, &h);
		cap_events_close(h.events);
		printf("MTC each %lu ns, %s CYC: %lu times, %lu early\n",
		       40ul << ways[i].o.mtc_shift, ways[i].o.has_cyc ? "with" : "no",
		       h.n_times, h.early);
		assert_true(h.n_times > 50);
		assert_int_equal(h.early, 0);
		encoding_deinit(&e);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(few_by_default),
		cmocka_unit_test(old_cpus),
		cmocka_unit_test(all_that_there_is),
		cmocka_unit_test(the_program_writes),
		cmocka_unit_test(time_is_that_of_events),
	};

	return cmocka_run_group_tests(tests, record, forget);
}
