// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/* The features at a file's end. Each is read whole, and only if it is one that someone
 * here wants; its parts are then taken from what was read. */
#include <string.h>

#include "capture/cap_format.h"
#include "capture/perf_format.h"

/* Features are a few kilobytes; the lists in them grow with the machine. */
#define FEATURE_MAX (64u << 20)

struct span {
	const uint8_t *at, *end;
	const char *wrong; ///< the first thing that was wrong
};

static const uint8_t *take(struct span *s, size_t n)
{
	const uint8_t *p = s->at;

	if (s->wrong || (size_t)(s->end - s->at) < n) {
		if (!s->wrong)
			s->wrong = "it ends early";
		return NULL;
	}
	s->at += n;
	return p;
}

static uint32_t take_u32(struct span *s)
{
	const uint8_t *p = take(s, sizeof(uint32_t));
	uint32_t v = 0;

	if (p)
		memcpy(&v, p, sizeof(v));
	return v;
}

static char *take_text(struct span *s)
{
	uint32_t bytes = take_u32(s);
	const uint8_t *p = take(s, bytes);
	char *text;

	if (!p)
		return NULL;
	text = strndup((const char *)p, bytes);
	if (text)
		text_flatten(text);
	else
		s->wrong = "out of memory";
	return text;
}

static void set_text(struct span *s, char **ret)
{
	free(*ret);
	*ret = take_text(s);
}

static void read_cmdline(struct span *s, struct perf_info *info)
{
	uint32_t n = take_u32(s);

	if (s->wrong || n > (size_t)(s->end - s->at) / sizeof(uint32_t)) {
		s->wrong = "it ends early";
		return;
	}
	info->cmdline = calloc(n + 1, sizeof(*info->cmdline));
	if (!info->cmdline) {
		s->wrong = "out of memory";
		return;
	}
	while (info->n_cmdline < n) {
		char *text = take_text(s);

		if (!text)
			return;
		info->cmdline[info->n_cmdline++] = text;
	}
}

/* Names for the attrs, which are listed in the same order. */
static void read_events(struct span *s, struct perf_info *info)
{
	uint32_t n = take_u32(s), attr_bytes = take_u32(s);

	for (uint32_t i = 0; i < n && !s->wrong; i++) {
		char *name;
		uint32_t n_ids;

		take(s, attr_bytes);
		n_ids = take_u32(s);
		name = take_text(s);
		take(s, (size_t)n_ids * sizeof(uint64_t));
		if (i < info->n_attrs && !info->attrs[i].name)
			info->attrs[i].name = name;
		else
			free(name);
	}
}

static struct perf_build_id *add_build_id(struct perf_info *info)
{
	struct perf_build_id *more =
		reallocarray(info->build_ids, info->n_build_ids + 1, sizeof(*more));

	if (!more)
		return NULL;
	info->build_ids = more;
	more[info->n_build_ids] = (struct perf_build_id){};
	return &more[info->n_build_ids];
}

static void read_build_id(struct span *s, struct perf_info *info)
{
	struct perf_rec_build_id b;
	const uint8_t *p = take(s, sizeof(b));
	struct perf_build_id *ret;
	size_t path_bytes;

	if (!p)
		return;
	memcpy(&b, p, sizeof(b));
	path_bytes = b.head.size - sizeof(b);
	if (b.head.size < sizeof(b) || !(p = take(s, path_bytes))) {
		s->wrong = "a build-id's record is too short";
		return;
	}
	ret = add_build_id(info);
	if (ret)
		ret->path = strndup((const char *)p, path_bytes);
	if (!ret || !ret->path) {
		s->wrong = "out of memory";
		return;
	}
	text_flatten(ret->path);
	ret->pid = b.pid;
	ret->is_kernel = (b.head.misc & PERF_MISC_CPUMODE) == PERF_MISC_KERNEL;
	// Files of older perfs do not tell the size: all build-ids were SHA-1.
	ret->bytes = b.head.misc & PERF_MISC_BUILD_ID_SIZE ? b.bytes : PERF_BUILD_ID_MAX;
	if (ret->bytes > PERF_BUILD_ID_MAX)
		ret->bytes = PERF_BUILD_ID_MAX;
	memcpy(ret->build_id, b.build_id, ret->bytes);
	info->n_build_ids++;
}

static bool is_wanted(int feature)
{
	switch (feature) {
	case PERF_FEATURE_BUILD_ID:
	case PERF_FEATURE_HOSTNAME:
	case PERF_FEATURE_OSRELEASE:
	case PERF_FEATURE_VERSION:
	case PERF_FEATURE_ARCH:
	case PERF_FEATURE_NRCPUS:
	case PERF_FEATURE_CPUDESC:
	case PERF_FEATURE_CPUID:
	case PERF_FEATURE_CMDLINE:
	case PERF_FEATURE_EVENT_DESC:
		return true;
	default:
		return false;
	}
}

static void parse(int feature, struct span *s, struct perf_info *info)
{
	struct perf_host *h = &info->host;

	switch (feature) {
	case PERF_FEATURE_BUILD_ID:
		while (s->at < s->end && !s->wrong)
			read_build_id(s, info);
		return;
	case PERF_FEATURE_NRCPUS:
		h->cpus_available = take_u32(s);
		h->cpus_online = take_u32(s);
		return;
	case PERF_FEATURE_CMDLINE:
		read_cmdline(s, info);
		return;
	case PERF_FEATURE_EVENT_DESC:
		read_events(s, info);
		return;
	case PERF_FEATURE_HOSTNAME:
		set_text(s, &h->hostname);
		return;
	case PERF_FEATURE_OSRELEASE:
		set_text(s, &h->os_release);
		return;
	case PERF_FEATURE_VERSION:
		set_text(s, &h->version);
		return;
	case PERF_FEATURE_ARCH:
		set_text(s, &h->arch);
		return;
	case PERF_FEATURE_CPUDESC:
		set_text(s, &h->cpu_desc);
		return;
	default:
		set_text(s, &h->cpu_id);
		return;
	}
}

static struct err *read_feature(int fd, int feature, const struct perf_section *at,
				struct perf_info *info)
{
	_cleanup_free_ uint8_t *bytes = NULL;
	struct err *err;
	struct span s;

	if (at->size > FEATURE_MAX)
		return err_new(ERR_FORMAT, "feature %d has %lu bytes", feature, at->size);
	bytes = malloc(at->size + 1);
	if (!bytes)
		return &err_nomem;
	err = cap_read_at(fd, at->offset, bytes, at->size, "a feature");
	if (err)
		return err;
	s = (struct span){ bytes, bytes + at->size, NULL };
	parse(feature, &s, info);
	return s.wrong ? err_new(ERR_FORMAT, "feature %d is damaged: %s", feature,
				 s.wrong) :
			 NULL;
}

struct err *perf_features_read(int fd, const struct perf_head *head, uint64_t end,
			       struct perf_info *info)
{
	uint64_t at = head->data.offset + head->data.size;

	for (int i = 0; i < PERF_FEATURES; i++) {
		struct perf_section section;
		struct err *err;

		if (!(head->features[i / 64] >> (i % 64) & 1))
			continue;
		err = cap_read_at(fd, at, &section, sizeof(section), "the features");
		if (err)
			return err;
		at += sizeof(section);
		if (section.offset > end || section.size > end - section.offset)
			return err_new(ERR_TRUNCATED,
				       "feature %d lies behind the end of the file", i);
		if (i == PERF_FEATURE_DIR_FORMAT)
			return err_new(ERR_UNSUPPORTED,
				       "its records are in a directory beside it "
				       "(record without --threads)");
		err = is_wanted(i) ? read_feature(fd, i, &section, info) : NULL;
		if (err)
			return err;
	}
	return NULL;
}
