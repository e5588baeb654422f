// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/* The features: a section for each, in the order of their numbers, whose places and sizes
 * stand in a table right behind the data. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "capture/perf_format.h"

/* perf pads its texts to this. */
#define TEXT_ALIGN 64

static void write_u32(FILE *f, uint32_t v)
{
	fwrite(&v, sizeof(v), 1, f);
}

static void write_text(FILE *f, const char *text)
{
	size_t bytes = strlen(text) + 1;
	size_t padded = (bytes + TEXT_ALIGN - 1) / TEXT_ALIGN * TEXT_ALIGN;

	write_u32(f, padded);
	fwrite(text, 1, bytes, f);
	for (; bytes < padded; bytes++)
		putc('\0', f);
}

static void write_cmdline(FILE *f, const char *const *cmdline)
{
	uint32_t n = 0;

	while (cmdline[n])
		n++;
	write_u32(f, n);
	for (uint32_t i = 0; i < n; i++)
		write_text(f, cmdline[i]);
}

static void write_events(FILE *f, const struct perf_features *x)
{
	static const char *const name[] = { "intel_pt//u", "dummy:u" };

	write_u32(f, x->n_attrs);
	write_u32(f, sizeof(*x->attr));
	for (size_t i = 0; i < x->n_attrs; i++) {
		fwrite(&x->attr[i], sizeof(x->attr[i]), 1, f);
		write_u32(f, x->ids[i].size / sizeof(uint64_t));
		write_text(f, name[i % 2]);
		fwrite((const uint8_t *)x->id + x->ids[i].offset, 1, x->ids[i].size, f);
	}
}

static void write_index(FILE *f, const struct perf_features *x)
{
	uint64_t n = x->n_index;

	fwrite(&n, sizeof(n), 1, f);
	if (n)
		fwrite(x->index, sizeof(*x->index), n, f);
}

/* @return whether there is such a feature, which is then written. */
static bool write_feature(FILE *f, int feature, const struct perf_features *x)
{
	const struct perf_host *h = &x->o->host;
	const char *const text[] = { [PERF_FEATURE_HOSTNAME] = h->hostname,
				     [PERF_FEATURE_OSRELEASE] = h->os_release,
				     [PERF_FEATURE_VERSION] = h->version,
				     [PERF_FEATURE_ARCH] = h->arch,
				     [PERF_FEATURE_CPUDESC] = h->cpu_desc,
				     [PERF_FEATURE_CPUID] = h->cpu_id };

	switch (feature) {
	case PERF_FEATURE_BUILD_ID:
		if (x->build_id_bytes)
			fwrite(x->build_ids, 1, x->build_id_bytes, f);
		return x->build_id_bytes;
	case PERF_FEATURE_NRCPUS:
		write_u32(f, h->cpus_available);
		write_u32(f, h->cpus_online);
		return true;
	case PERF_FEATURE_CMDLINE:
		write_cmdline(f, x->o->cmdline);
		return true;
	case PERF_FEATURE_EVENT_DESC:
		write_events(f, x);
		return true;
	case PERF_FEATURE_AUXTRACE:
		write_index(f, x);
		return true;
	case PERF_FEATURE_SAMPLE_TIME:
		fwrite(&x->first_ns, sizeof(x->first_ns), 1, f);
		fwrite(&x->last_ns, sizeof(x->last_ns), 1, f);
		return true;
	default:
		if ((size_t)feature >= sizeof(text) / sizeof(text[0]) || !text[feature])
			return false;
		write_text(f, text[feature]);
		return true;
	}
}

/* @return what went wrong, as errno has it. */
static struct err *write_all(FILE *f, uint64_t at, const struct perf_features *x,
			     uint64_t bitmap[4], uint64_t *end)
{
	struct perf_section section[PERF_FEATURE_SAMPLE_TIME + 1] = {};
	// The table has room for all: sections need not follow it at once.
	uint64_t place = at + sizeof(section);
	size_t n = 0;

	if (fseeko(f, place, SEEK_SET))
		return err_errno("seek");
	for (int i = 0; i <= PERF_FEATURE_SAMPLE_TIME; i++) {
		off_t behind;

		if (!write_feature(f, i, x))
			continue;
		behind = ftello(f);
		section[n++] = (struct perf_section){ place, behind - place };
		place = behind;
		bitmap[i / 64] |= 1ull << (i % 64);
	}
	*end = place;
	if (fseeko(f, at, SEEK_SET))
		return err_errno("seek");
	fwrite(section, sizeof(section), 1, f);
	return fflush(f) || ferror(f) ? err_errno("features") : NULL;
}

struct err *perf_features_write(int fd, uint64_t at, const struct perf_features *x,
				uint64_t bitmap[4], uint64_t *end)
{
	int copy = dup(fd);
	FILE *f = copy >= 0 ? fdopen(copy, "w") : NULL;
	struct err *err;

	if (!f) {
		err = err_errno("features");
		if (copy >= 0)
			close(copy);
		return err;
	}
	err = write_all(f, at, x, bitmap, end);
	if (fclose(f) && !err)
		err = err_errno("features");
	return err;
}
