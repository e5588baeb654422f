// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Reading what sysfs tells of Intel PT, and making a configuration of it.
 */
#define LOG_ROOM "record"
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pt-collect/pt/pmu.h"

#define TEXT_MAX 256 ///< bytes; no file of a PMU is longer

/* ---- sysfs ------------------------------------------------------------------------------ */

/** First line of ROOT/NAME. @return false when there is no such file. */
static bool read_text(const char *root, const char *name, char text[TEXT_MAX])
{
	_cleanup_fclose_ FILE *f = NULL;
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", root, name);
	f = fopen(path, "re");
	if (!f || !fgets(text, TEXT_MAX, f))
		return false;
	text[strcspn(text, "\n")] = 0;
	return true;
}

/** A number, or @p absent. */
static uint64_t read_number(const char *root, const char *name, int base, uint64_t absent)
{
	char text[TEXT_MAX], *end;
	uint64_t v;

	if (!read_text(root, name, text))
		return absent;
	v = strtoull(text, &end, base);
	return *text && !*end ? v : absent;
}

/** "config1:0-3,7": which bits. @return whether it is that. */
static bool parse_format(const char *text, struct ptc_pt_term *t)
{
	if (strncmp(text, "config", 6))
		return false;
	text += 6;
	if (*text >= '1' && *text < '0' + PTC_PT_WORDS)
		t->word = *text++ - '0';
	if (*text++ != ':')
		return false;
	do {
		char *end;
		unsigned long first = strtoul(text, &end, 10), last = first;

		if (end == text)
			return false;
		if (*end == '-') {
			text = end + 1;
			last = strtoul(text, &end, 10);
			if (end == text)
				return false;
		}
		if (last > 63 || first > last)
			return false;
		t->bits |= (last == 63 ? 0 : 1ull << (last + 1)) - (1ull << first);
		text = end;
	} while (*text++ == ',');
	return !text[-1];
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct ptc_pt_term *)a)->name,
		      ((const struct ptc_pt_term *)b)->name);
}

static void closedirp(DIR **d)
{
	if (*d)
		closedir(*d);
}

static struct err *read_terms(const char *root, struct ptc_pt_pmu *pmu)
{
	_cleanup_(closedirp) DIR *d = NULL;
	char path[4096], text[TEXT_MAX];
	struct dirent *e;

	snprintf(path, sizeof(path), "%s/format", root);
	d = opendir(path);
	if (!d)
		return err_errno("cannot read %s", path);
	while ((e = readdir(d))) {
		struct ptc_pt_term *t;

		if (e->d_name[0] == '.' || strlen(e->d_name) >= sizeof(t->name))
			continue;
		t = vec_push(&pmu->terms);
		if (!t)
			return &err_nomem;
		strcpy(t->name, e->d_name);
		if (!read_text(path, e->d_name, text) || !parse_format(text, t))
			return err_new(ERR_FORMAT, "%s/%s does not name bits of an event",
				       path, e->d_name);
	}
	vec_sort(&pmu->terms, by_name);
	return NULL;
}

static void read_caps(const char *root, struct ptc_pt_pmu *pmu)
{
	char text[TEXT_MAX];

	pmu->has_output = read_number(root, "caps/topa_output", 16, 0) ||
			  read_number(root, "caps/single_range_output", 16, 0);
	pmu->has_psb_cyc = read_number(root, "caps/psb_cyc", 16, 0);
	pmu->has_mtc = read_number(root, "caps/mtc", 16, 0);
	pmu->has_ptwrite = read_number(root, "caps/ptwrite", 16, 0);
	pmu->has_power_events = read_number(root, "caps/power_event_trace", 16, 0);
	pmu->has_event_trace = read_number(root, "caps/event_trace", 16, 0);
	pmu->psb_periods = read_number(root, "caps/psb_periods", 16, 0);
	pmu->mtc_periods = read_number(root, "caps/mtc_periods", 16, 0);
	pmu->cycle_thresholds = read_number(root, "caps/cycle_thresholds", 16, 0);
	pmu->n_filters = read_number(root, "nr_addr_filters", 10,
				     read_number(root, "caps/num_address_ranges", 16, 0));
	pmu->max_nonturbo_ratio = read_number(root, "max_nonturbo_ratio", 10, 0);
	if (!read_text(root, "tsc_art_ratio", text) ||
	    sscanf(text, "%u:%u", &pmu->tsc_ctc_n, &pmu->tsc_ctc_d) != 2)
		pmu->tsc_ctc_n = pmu->tsc_ctc_d = 0;
}

struct err *ptc_pt_pmu_read(const char *root, struct ptc_pt_pmu *ret)
{
	char text[TEXT_MAX], *end;
	struct err *err;

	*ret = (struct ptc_pt_pmu){};
	if (!read_text(root, "type", text))
		return err_errno("cannot read %s/type", root);
	ret->type = strtoul(text, &end, 10);
	if (!*text || *end)
		return err_new(ERR_FORMAT, "%s/type is not a number: '%s'", root, text);
	err = read_terms(root, ret);
	if (err)
		ptc_pt_pmu_deinit(ret);
	else
		read_caps(root, ret);
	return err;
}

void ptc_pt_pmu_deinit(struct ptc_pt_pmu *pmu)
{
	vec_deinit(&pmu->terms);
}

/* ---- configurations ------------------------------------------------------------------------ */

static const struct ptc_pt_term *find(const struct ptc_pt_pmu *pmu, const char *name)
{
	return vec_find(&pmu->terms, t, !strcmp(t->name, name));
}

/** Spread the low bits of @p value over @p bits. */
static uint64_t deposit(uint64_t bits, uint64_t value)
{
	uint64_t ret = 0;

	for (; bits; bits &= bits - 1, value >>= 1)
		if (value & 1)
			ret |= bits & -bits;
	return ret;
}

static uint64_t extract(uint64_t bits, uint64_t word)
{
	uint64_t ret = 0;

	for (unsigned n = 0; bits; bits &= bits - 1, n++)
		if (word & bits & -bits)
			ret |= 1ull << n;
	return ret;
}

uint64_t ptc_pt_pmu_value(const struct ptc_pt_pmu *pmu,
			  const uint64_t config[PTC_PT_WORDS], const char *name)
{
	const struct ptc_pt_term *t = find(pmu, name);

	return t ? extract(t->bits, config[t->word]) : 0;
}

static void set(const struct ptc_pt_pmu *pmu, uint64_t config[PTC_PT_WORDS],
		const char *name, uint64_t value)
{
	const struct ptc_pt_term *t = find(pmu, name);

	if (t)
		config[t->word] = (config[t->word] & ~t->bits) | deposit(t->bits, value);
}

/** The greatest value in @p valid that is not above @p want, or else the least. */
static unsigned pick(uint64_t valid, unsigned want)
{
	unsigned ret = 0;

	for (unsigned v = 0; v < 64; v++)
		if (valid >> v & 1 && (v <= want || !(valid & ((1ull << v) - 1))))
			ret = v;
	return ret;
}

/** As perf has them: times to some microseconds, a PSB every 16 KiB. */
static void set_defaults(const struct ptc_pt_pmu *pmu, uint64_t config[PTC_PT_WORDS])
{
	set(pmu, config, "tsc", 1);
	if (pmu->has_mtc && pmu->mtc_periods) {
		set(pmu, config, "mtc", 1);
		set(pmu, config, "mtc_period", pick(pmu->mtc_periods, 3));
	}
	if (pmu->has_psb_cyc && pmu->psb_periods)
		set(pmu, config, "psb_period", pick(pmu->psb_periods, 3));
	// Older kernels have neither: then branches are traced always.
	if (find(pmu, "pt") && find(pmu, "branch")) {
		set(pmu, config, "pt", 1);
		set(pmu, config, "branch", 1);
	}
}

static struct err *unknown_term(const struct ptc_pt_pmu *pmu, const char *name)
{
	char known[1024] = "";
	size_t n = 0;

	for (size_t i = 0; i < pmu->terms.size && n < sizeof(known); i++)
		n += snprintf(known + n, sizeof(known) - n, "%s%s", i ? ", " : "",
			      pmu->terms.data[i].name);
	return err_new(ERR_USAGE, "Intel PT has no '%s' on this machine (there are: %s)",
		       name, known);
}

/** One NAME or NAME=VALUE, which is changed. */
static struct err *take_term(const struct ptc_pt_pmu *pmu, char *text,
			     uint64_t config[PTC_PT_WORDS])
{
	char *equals = strchr(text, '=');
	const struct ptc_pt_term *t;
	unsigned long long value = 1;
	char *end = NULL;

	if (equals)
		*equals++ = 0;
	t = find(pmu, text);
	if (!t)
		return unknown_term(pmu, text);
	errno = 0;
	if (equals)
		value = strtoull(equals, &end, 0);
	if (errno || (end && (end == equals || *end || *equals == '-')))
		return err_new(ERR_USAGE, "'%s' of Intel PT must be a number, not '%s'",
			       text, equals);
	if (extract(t->bits, deposit(t->bits, value)) != value)
		return err_new(ERR_USAGE, "'%s' of Intel PT is at most %llu, not %llu",
			       text, (unsigned long long)extract(t->bits, UINT64_MAX),
			       value);
	set(pmu, config, text, value);
	return NULL;
}

static struct err *check_values(const struct ptc_pt_pmu *pmu, const uint64_t *config,
				const char *name, uint64_t valid)
{
	uint64_t value = ptc_pt_pmu_value(pmu, config, name);
	char list[512] = "";
	size_t n = 0;

	if (value < 64 && valid >> value & 1)
		return NULL;
	for (unsigned v = 0; v < 64; v++)
		if (valid >> v & 1)
			n += snprintf(list + n, sizeof(list) - n, "%s%u", n ? ", " : "",
				      v);
	return err_new(ERR_USAGE, "this CPU does not take %s=%llu (it takes: %s)", name,
		       (unsigned long long)value, list);
}

static struct err *check_flag(const struct ptc_pt_pmu *pmu, const uint64_t *config,
			      const char *name, bool has)
{
	if (has || !ptc_pt_pmu_value(pmu, config, name))
		return NULL;
	return err_new(ERR_USAGE, "this CPU's Intel PT has no %s", name);
}

/** What the driver would refuse with nothing but EINVAL. */
static struct err *check(const struct ptc_pt_pmu *pmu, const uint64_t *config)
{
	struct err *err = check_flag(pmu, config, "cyc", pmu->has_psb_cyc);

	if (!err)
		err = check_flag(pmu, config, "mtc", pmu->has_mtc && pmu->mtc_periods);
	if (!err)
		err = check_flag(pmu, config, "ptw", pmu->has_ptwrite);
	if (!err)
		err = check_flag(pmu, config, "pwr_evt", pmu->has_power_events);
	if (!err)
		err = check_values(pmu, config, "psb_period",
				   pmu->has_psb_cyc ? pmu->psb_periods | 1 : 1);
	if (!err)
		err = check_values(pmu, config, "cyc_thresh",
				   pmu->has_psb_cyc ? pmu->cycle_thresholds | 1 : 1);
	if (!err && ptc_pt_pmu_value(pmu, config, "mtc"))
		err = check_values(pmu, config, "mtc_period", pmu->mtc_periods);
	if (!err && ptc_pt_pmu_value(pmu, config, "fup_on_ptw") &&
	    !ptc_pt_pmu_value(pmu, config, "ptw"))
		err = err_new(ERR_USAGE, "fup_on_ptw makes sense with ptw only");
	if (!err && find(pmu, "pt") && !ptc_pt_pmu_value(pmu, config, "pt"))
		err = err_new(ERR_USAGE, "pt=0 makes no sense: nothing would be traced");
	return err;
}

struct err *ptc_pt_pmu_configure(const struct ptc_pt_pmu *pmu, const char *text,
				 uint64_t config[PTC_PT_WORDS])
{
	_cleanup_free_ char *copy = strdup(text ?: "");
	char *rest = copy, *term;
	struct err *err = copy ? NULL : &err_nomem;

	memset(config, 0, PTC_PT_WORDS * sizeof(*config));
	set_defaults(pmu, config);
	while (!err && (term = strsep(&rest, ",")))
		if (*term)
			err = take_term(pmu, term, config);
	// Its period without it is refused by the driver, on every CPU.
	if (!err && !ptc_pt_pmu_value(pmu, config, "mtc"))
		set(pmu, config, "mtc_period", 0);
	return err ?: check(pmu, config);
}

static uint64_t bits_of(const struct ptc_pt_pmu *pmu, const char *name)
{
	const struct ptc_pt_term *t = find(pmu, name);

	return t && !t->word ? t->bits : 0;
}

void ptc_pt_pmu_describe(const struct ptc_pt_pmu *pmu,
			 const uint64_t config[PTC_PT_WORDS], struct perf_pt *ret)
{
	*ret = (struct perf_pt){
		.pmu_type = pmu->type,
		.config = config[0],
		.tsc_bit = bits_of(pmu, "tsc"),
		.noretcomp_bit = bits_of(pmu, "noretcomp"),
		.mtc_bit = bits_of(pmu, "mtc"),
		.cyc_bit = bits_of(pmu, "cyc"),
		.mtc_freq_bits = bits_of(pmu, "mtc_period"),
		.tsc_ctc_n = pmu->tsc_ctc_n,
		.tsc_ctc_d = pmu->tsc_ctc_d,
		.max_nonturbo_ratio = pmu->max_nonturbo_ratio,
		.is_user_only = true,
		.has_event_trace = pmu->has_event_trace,
	};
}
