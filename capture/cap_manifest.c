// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * manifest.json, both ways. Numbers that may exceed 2^53 are decimal strings: JSON
 * readers keep no more than a double. A member that this version does not know is
 * ignored; one that is missing or of another type is an error.
 */
#define LOG_ROOM "capture"
#include <assert.h>
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <string.h>

#include "capture/cap_format.h"

#define MANIFEST_FORMAT "faultline-capture"
#define FILES_MAX 100000 ///< more kept files, sites or processes than this is damage

static const char *const end_names[] = {
	[CAP_END_UNKNOWN] = "unknown",
	[CAP_END_EXIT] = "exit",
	[CAP_END_SIGNAL] = "signal",
	[CAP_END_DETACHED] = "detached",
};

static const char *const heap_names[] = {
	[CAP_HEAP_MALLOC] = "malloc",
	[CAP_HEAP_CALLOC] = "calloc",
	[CAP_HEAP_REALLOC] = "realloc",
	[CAP_HEAP_FREE] = "free",
	[CAP_HEAP_POSIX_MEMALIGN] = "posix_memalign",
	[CAP_HEAP_ALIGNED_ALLOC] = "aligned_alloc",
};

static const char *const created_names[] = {
	[CAP_CREATED_FORK] = "fork",
	[CAP_CREATED_VFORK] = "vfork",
	[CAP_CREATED_CLONE] = "clone",
};

static const char *const mode_names[] = {
	[CAP_MODE_REPLAY] = "replay",
	[CAP_MODE_FLIGHT] = "flight",
};

static const char *const reason_names[] = {
	[CAP_END_CORE_NONE] = "none",
	[CAP_END_CORE_CRASH] = "crash",
	[CAP_END_CORE_REQUEST] = "request",
	[CAP_END_CORE_TRIGGER] = "trigger",
};

const char *cap_end_reason_name(enum cap_end_reason reason)
{
	assert(reason <= CAP_END_CORE_TRIGGER);
	return reason_names[reason];
}

const char *cap_created_name(enum cap_created created)
{
	assert(created <= CAP_CREATED_CLONE);
	return created_names[created];
}

const char *cap_heap_name(enum cap_heap_fn fn)
{
	assert(fn < CAP_HEAP_FNS);
	return heap_names[fn];
}

static void json_deletep(cJSON **j)
{
	cJSON_Delete(*j);
}

/* ---- printing ---------------------------------------------------------------------- */

static bool add_u64(cJSON *to, const char *name, uint64_t v)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, v);
	return cJSON_AddStringToObject(to, name, text);
}

static bool add_text(cJSON *to, const char *name, const char *text)
{
	return text ? !!cJSON_AddStringToObject(to, name, text) :
		      !!cJSON_AddNullToObject(to, name);
}

static bool add_texts(cJSON *to, const char *name, char *const *texts, size_t n)
{
	cJSON *array = cJSON_AddArrayToObject(to, name);

	for (size_t i = 0; array && i < n; i++) {
		cJSON *s = cJSON_CreateString(texts[i]);

		if (!s || !cJSON_AddItemToArray(array, s))
			return false;
	}
	return array;
}

static bool add_files(cJSON *to, const struct cap_info *info)
{
	cJSON *array = cJSON_AddArrayToObject(to, "files");

	for (size_t i = 0; array && i < info->n_files; i++) {
		const struct cap_file *f = &info->files[i];
		cJSON *o = cJSON_CreateObject();

		if (!o || !cJSON_AddItemToArray(array, o) ||
		    !add_text(o, "path", f->path) || !add_text(o, "stored", f->stored) ||
		    !add_text(o, "build_id", f->build_id))
			return false;
	}
	return array;
}

/** Absent where there are none: as of before there were any. */
static bool add_store_sites(cJSON *to, const struct cap_info *info)
{
	cJSON *array = info->n_store_sites ? cJSON_AddArrayToObject(to, "store_sites") :
					     NULL;

	for (size_t i = 0; array && i < info->n_store_sites; i++) {
		const struct cap_store_site *s = &info->store_sites[i];
		cJSON *o = cJSON_CreateObject();

		if (!o || !cJSON_AddItemToArray(array, o) ||
		    !cJSON_AddNumberToObject(o, "file", s->file) ||
		    !add_u64(o, "file_offset", s->file_offset) ||
		    !cJSON_AddBoolToObject(o, "emulated", s->is_emulated))
			return false;
	}
	return array || !info->n_store_sites;
}

static bool add_sites(cJSON *to, const struct cap_info *info)
{
	cJSON *array = cJSON_AddArrayToObject(to, "heap_sites");

	for (size_t i = 0; array && i < info->n_heap_sites; i++) {
		const struct cap_heap_site *s = &info->heap_sites[i];
		cJSON *o = cJSON_CreateObject();

		if (!o || !cJSON_AddItemToArray(array, o) ||
		    !add_text(o, "function", cap_heap_name(s->fn)) ||
		    !cJSON_AddNumberToObject(o, "file", s->file) ||
		    !add_u64(o, "file_offset", s->file_offset) ||
		    !add_u64(o, "entry_offset", s->entry_offset))
			return false;
	}
	return array;
}

static size_t count_texts(char *const *texts)
{
	size_t n = 0;

	while (texts && texts[n])
		n++;
	return n;
}

/** Of a followed process: which one it is. */
static bool add_place(cJSON *to, const struct cap_info *info)
{
	cJSON *o;

	if (!info->is_child)
		return true;
	o = cJSON_AddObjectToObject(to, "process");
	return o && cJSON_AddNumberToObject(o, "index", info->index) &&
	       cJSON_AddNumberToObject(o, "parent", info->parent) &&
	       add_text(o, "created", created_names[info->created]);
}

/** What only some captures have. */
static bool add_end_core(cJSON *to, const struct cap_end_core *e)
{
	cJSON *o;

	if (!e->reason)
		return true;
	o = cJSON_AddObjectToObject(to, "end_core");
	return o && add_text(o, "reason", reason_names[e->reason]) &&
	       add_u64(o, "at_ns", e->at_ns) &&
	       cJSON_AddNumberToObject(o, "tid", e->tid) &&
	       cJSON_AddNumberToObject(o, "signal", e->signo) &&
	       add_u64(o, "address", e->address) && add_text(o, "function", e->function);
}

static bool add_clock(cJSON *to, const struct cap_pt *pt)
{
	cJSON *array = cJSON_AddArrayToObject(to, "clock");

	for (int i = 0; array && i < 2 && pt->clock[1].tsc; i++) {
		cJSON *o = cJSON_CreateObject();

		if (!o || !cJSON_AddItemToArray(array, o) ||
		    !add_u64(o, "tsc", pt->clock[i].tsc) ||
		    !add_u64(o, "at_ns", pt->clock[i].at_ns))
			return false;
	}
	return array;
}

/** What the flight recorder's rings do not hold any more. */
static bool add_overwritten(cJSON *to, const struct cap_info *info)
{
	return add_u64(to, "overwritten", info->n_overwritten) &&
	       add_u64(to, "heap_from_ns", info->heap_from_ns) &&
	       add_u64(to, "stores_overwritten", info->n_stores_overwritten) &&
	       add_u64(to, "stores_from_ns", info->stores_from_ns);
}

/** Absent where there was no probe. */
static bool add_probes(cJSON *to, const struct cap_pt *pt)
{
	char back[2 * CAP_BACK_MAX + 1] = "";
	cJSON *array, *o, *offsets;

	if (!pt->n_breakpoints)
		return true;
	for (size_t i = 0; i < pt->n_back; i++)
		sprintf(back + 2 * i, "%02x", pt->back[i]);
	array = cJSON_AddArrayToObject(to, "breakpoints");
	for (size_t i = 0; array && i < pt->n_breakpoints; i++) {
		o = cJSON_CreateObject();
		if (!o || !cJSON_AddItemToArray(array, o) ||
		    !cJSON_AddNumberToObject(o, "file", pt->breakpoints[i].file))
			return false;
		offsets = cJSON_AddArrayToObject(o, "offsets");
		for (size_t k = 0; offsets && k < pt->breakpoints[i].n; k++) {
			double at = pt->breakpoints[i].offsets[k];

			if (!cJSON_AddItemToArray(offsets, cJSON_CreateNumber(at)))
				return false;
		}
	}
	return array && add_u64(to, "probe_page", pt->probe_page) &&
	       add_text(to, "back", back);
}

static bool add_mode(cJSON *to, const struct cap_info *info)
{
	cJSON *o;

	if (!add_text(to, "mode", mode_names[info->mode]) ||
	    !add_end_core(to, &info->end_core) ||
	    (info->mode == CAP_MODE_FLIGHT && !add_overwritten(to, info)))
		return false;
	if (!info->pt.is_wanted)
		return true;
	o = cJSON_AddObjectToObject(to, "pt");
	return o && add_clock(o, &info->pt) && add_probes(o, &info->pt) &&
	       cJSON_AddBoolToObject(o, "recorded", info->pt.is_recorded) &&
	       add_text(o, "why_not", info->pt.why_not) &&
	       add_u64(o, "bytes", info->pt.bytes) &&
	       add_u64(o, "gaps", info->pt.n_gaps) && add_u64(o, "lost", info->pt.n_lost);
}

static bool add_process(cJSON *o, const struct cap_process *p)
{
	return cJSON_AddNumberToObject(o, "index", p->index) &&
	       cJSON_AddNumberToObject(o, "parent", p->parent) &&
	       cJSON_AddNumberToObject(o, "pid", p->pid) &&
	       add_text(o, "created", created_names[p->created]) &&
	       add_text(o, "dir", p->dir) && add_text(o, "exe", p->exe) &&
	       add_texts(o, "argv", p->argv, count_texts(p->argv)) &&
	       add_u64(o, "syscalls", p->n_syscalls) &&
	       add_text(o, "end", end_names[p->end]) &&
	       cJSON_AddNumberToObject(o, "end_value", p->end_value) &&
	       cJSON_AddBoolToObject(o, "complete", p->is_complete);
}

static bool add_processes(cJSON *to, const struct cap_info *info)
{
	cJSON *array = cJSON_AddArrayToObject(to, "processes");

	for (size_t i = 0; array && i < info->n_processes; i++) {
		cJSON *o = cJSON_CreateObject();

		if (!o || !cJSON_AddItemToArray(array, o) ||
		    !add_process(o, &info->processes[i]))
			return false;
	}
	return array;
}

struct err *cap_manifest_print(const struct cap_info *info, char **ret)
{
	_cleanup_(json_deletep) cJSON *j = cJSON_CreateObject();

	if (!j || !add_text(j, "format", MANIFEST_FORMAT) ||
	    !cJSON_AddNumberToObject(j, "version", info->version) ||
	    !cJSON_AddBoolToObject(j, "complete", info->is_complete) ||
	    !add_texts(j, "missing", info->missing, info->n_missing) ||
	    !add_texts(j, "argv", info->argv, count_texts(info->argv)) ||
	    !add_text(j, "cwd", info->cwd) || !add_text(j, "exe", info->exe) ||
	    !cJSON_AddNumberToObject(j, "pid", info->pid) ||
	    !add_u64(j, "events", info->n_events) ||
	    !add_u64(j, "syscalls", info->n_syscalls) ||
	    !add_u64(j, "execs", info->n_execs) ||
	    !add_text(j, "end", end_names[info->end]) ||
	    !cJSON_AddNumberToObject(j, "end_value", info->end_value) ||
	    !add_u64(j, "stack_limit", info->stack_limit) || !add_files(j, info) ||
	    !cJSON_AddBoolToObject(j, "heap", info->has_heap) || !add_sites(j, info) ||
	    !add_place(j, info) || !add_processes(j, info) || !add_mode(j, info) ||
	    !add_store_sites(j, info))
		return &err_nomem;
	*ret = cJSON_Print(j);
	return *ret ? NULL : &err_nomem;
}

/* ---- parsing ----------------------------------------------------------------------- */

/** The first member that was wrong ends the parse; `why` names it. */
struct parse {
	const char *why;
};

static const cJSON *member(struct parse *p, const cJSON *j, const char *name)
{
	const cJSON *m = cJSON_GetObjectItemCaseSensitive(j, name);

	if (!m && !p->why)
		p->why = name;
	return m;
}

static bool get_bool(struct parse *p, const cJSON *j, const char *name)
{
	const cJSON *m = member(p, j, name);

	if (!cJSON_IsBool(m) && !p->why)
		p->why = name;
	return cJSON_IsTrue(m);
}

static int64_t get_int(struct parse *p, const cJSON *j, const char *name, int64_t min,
		       int64_t max)
{
	const cJSON *m = member(p, j, name);

	if (!cJSON_IsNumber(m) || !(m->valuedouble >= min && m->valuedouble <= max)) {
		p->why = p->why ?: name;
		return 0;
	}
	return m->valuedouble;
}

static uint64_t get_u64(struct parse *p, const cJSON *j, const char *name)
{
	const cJSON *m = member(p, j, name);
	uint64_t v;
	char extra;

	if (!cJSON_IsString(m) || m->valuestring[0] < '0' || m->valuestring[0] > '9' ||
	    sscanf(m->valuestring, "%" SCNu64 "%c", &v, &extra) != 1) {
		p->why = p->why ?: name;
		return 0;
	}
	return v;
}

/** A text that may be null. */
static char *get_text(struct parse *p, const cJSON *j, const char *name)
{
	const cJSON *m = member(p, j, name);
	char *copy;

	if (cJSON_IsNull(m))
		return NULL;
	copy = cJSON_IsString(m) ? strdup(m->valuestring) : NULL;
	if (!copy && !p->why)
		p->why = name;
	return copy;
}

/** @return an array of copies with a NULL behind the last; NULL on a mistake. */
static char **get_texts(struct parse *p, const cJSON *j, const char *name, size_t *n)
{
	const cJSON *m = member(p, j, name), *item;
	int size = cJSON_IsArray(m) ? cJSON_GetArraySize(m) : -1;
	char **texts = size >= 0 ? calloc(size + 1, sizeof(*texts)) : NULL;

	*n = 0;
	if (!texts) {
		p->why = p->why ?: name;
		return NULL;
	}
	cJSON_ArrayForEach(item, m)
	{
		if (!cJSON_IsString(item)) {
			p->why = p->why ?: name;
			break;
		}
		texts[*n] = strdup(item->valuestring);
		if (!texts[*n])
			break;
		(*n)++;
	}
	return texts;
}

static int find_name(const char *const *names, size_t n, const char *name)
{
	for (size_t i = 0; name && i < n; i++)
		if (!strcmp(names[i], name))
			return i;
	return -1;
}

static int get_name(struct parse *p, const cJSON *j, const char *name,
		    const char *const *names, size_t n)
{
	_cleanup_free_ char *text = get_text(p, j, name);
	int v = find_name(names, n, text);

	if (v < 0 && !p->why)
		p->why = name;
	return v < 0 ? 0 : v;
}

bool cap_name_is_safe(const char *name)
{
	return name[0] && name[0] != '.' && !strchr(name, '/');
}

static void get_files(struct parse *p, const cJSON *j, struct cap_info *info)
{
	const cJSON *m = member(p, j, "files"), *item;
	int size = cJSON_IsArray(m) ? cJSON_GetArraySize(m) : -1;

	if (size < 0 || size > FILES_MAX) {
		p->why = p->why ?: "files";
		return;
	}
	info->files = calloc(size + 1, sizeof(*info->files));
	if (!info->files)
		return;
	cJSON_ArrayForEach(item, m)
	{
		struct cap_file *f = &info->files[info->n_files++];

		f->path = get_text(p, item, "path");
		f->stored = get_text(p, item, "stored");
		f->build_id = get_text(p, item, "build_id");
		if (!p->why && (!f->path || (f->stored && !cap_name_is_safe(f->stored))))
			p->why = "files";
	}
}

static void get_sites(struct parse *p, const cJSON *j, struct cap_info *info)
{
	const cJSON *m = member(p, j, "heap_sites"), *item;
	int size = cJSON_IsArray(m) ? cJSON_GetArraySize(m) : -1;

	if (size < 0 || size > FILES_MAX) {
		p->why = p->why ?: "heap_sites";
		return;
	}
	info->heap_sites = calloc(size + 1, sizeof(*info->heap_sites));
	if (!info->heap_sites)
		return;
	cJSON_ArrayForEach(item, m)
	{
		struct cap_heap_site *s = &info->heap_sites[info->n_heap_sites++];

		s->fn = get_name(p, item, "function", heap_names, CAP_HEAP_FNS);
		s->file = get_int(p, item, "file", 0,
				  info->is_child ? FILES_MAX : (int64_t)info->n_files);
		s->file_offset = get_u64(p, item, "file_offset");
		s->entry_offset = get_u64(p, item, "entry_offset");
	}
}

static void get_store_sites(struct parse *p, const cJSON *j, struct cap_info *info)
{
	const cJSON *m = cJSON_GetObjectItemCaseSensitive(j, "store_sites"), *item;
	int size = cJSON_IsArray(m) ? cJSON_GetArraySize(m) : -1;

	if (!m)
		return;
	if (size < 0 || size > FILES_MAX) {
		p->why = p->why ?: "store_sites";
		return;
	}
	info->store_sites = calloc(size + 1, sizeof(*info->store_sites));
	if (!info->store_sites) {
		p->why = p->why ?: "store_sites";
		return;
	}
	cJSON_ArrayForEach(item, m)
	{
		struct cap_store_site *s = &info->store_sites[info->n_store_sites++];

		s->file = get_int(p, item, "file", 0,
				  info->is_child ? FILES_MAX : (int64_t)info->n_files);
		s->file_offset = get_u64(p, item, "file_offset");
		s->is_emulated = get_bool(p, item, "emulated");
	}
}

static void get_place(struct parse *p, const cJSON *j, struct cap_info *info)
{
	const cJSON *m = cJSON_GetObjectItemCaseSensitive(j, "process");

	if (!m)
		return;
	info->is_child = true;
	info->index = get_int(p, m, "index", 1, UINT32_MAX);
	info->parent = get_int(p, m, "parent", 0, UINT32_MAX);
	info->created = get_name(p, m, "created", created_names, 3);
}

static void get_end_core(struct parse *p, const cJSON *j, struct cap_end_core *e)
{
	const cJSON *m = cJSON_GetObjectItemCaseSensitive(j, "end_core");

	if (!m)
		return;
	e->reason = get_name(p, m, "reason", reason_names, 4);
	e->at_ns = get_u64(p, m, "at_ns");
	e->tid = get_int(p, m, "tid", 0, UINT32_MAX);
	e->signo = get_int(p, m, "signal", 0, INT32_MAX);
	e->address = get_u64(p, m, "address");
	e->function = get_text(p, m, "function");
}

static void get_offsets(struct parse *p, const cJSON *j, struct cap_breakpoints *b)
{
	const cJSON *m = member(p, j, "offsets"), *item;
	int size = cJSON_IsArray(m) ? cJSON_GetArraySize(m) : -1;

	b->file = get_int(p, j, "file", 1, UINT32_MAX);
	b->offsets = size < 0 ? NULL : calloc(size + 1, sizeof(*b->offsets));
	if (!b->offsets) {
		p->why = p->why ?: "offsets";
		return;
	}
	cJSON_ArrayForEach(item, m) {
		if (!cJSON_IsNumber(item) ||
		    !(item->valuedouble >= 0 && item->valuedouble < 1ull << 53)) {
			p->why = p->why ?: "offsets";
			return;
		}
		b->offsets[b->n++] = item->valuedouble;
	}
}

/** Absent where there was no probe. */
static void get_probes(struct parse *p, const cJSON *j, struct cap_pt *pt)
{
	const cJSON *m = cJSON_GetObjectItemCaseSensitive(j, "breakpoints"), *item;
	_cleanup_free_ char *back = NULL;
	int size = cJSON_IsArray(m) ? cJSON_GetArraySize(m) : 0;

	if (!m)
		return;
	pt->breakpoints = calloc(size + 1, sizeof(*pt->breakpoints));
	if (!pt->breakpoints || size > FILES_MAX) {
		p->why = p->why ?: "breakpoints";
		return;
	}
	cJSON_ArrayForEach(item, m)
		get_offsets(p, item, &pt->breakpoints[pt->n_breakpoints++]);
	pt->probe_page = get_u64(p, j, "probe_page");
	back = get_text(p, j, "back");
	for (const char *at = back; at && at[0] && pt->n_back < CAP_BACK_MAX; at += 2) {
		unsigned byte;

		if (sscanf(at, "%2x", &byte) != 1 || !at[1]) {
			p->why = p->why ?: "back";
			return;
		}
		pt->back[pt->n_back++] = byte;
	}
}

/** But for the first absent from captures of before the flight recorder's store probes. */
static void get_overwritten(struct parse *p, const cJSON *j, struct cap_info *info)
{
	info->n_overwritten = get_u64(p, j, "overwritten");
	if (!cJSON_GetObjectItemCaseSensitive(j, "stores_overwritten"))
		return;
	info->heap_from_ns = get_u64(p, j, "heap_from_ns");
	info->n_stores_overwritten = get_u64(p, j, "stores_overwritten");
	info->stores_from_ns = get_u64(p, j, "stores_from_ns");
}

/** Absent from captures of before the flight recorder. */
static void get_mode(struct parse *p, const cJSON *j, struct cap_info *info)
{
	const cJSON *m = cJSON_GetObjectItemCaseSensitive(j, "pt");

	if (cJSON_GetObjectItemCaseSensitive(j, "mode"))
		info->mode = get_name(p, j, "mode", mode_names, 2);
	get_end_core(p, j, &info->end_core);
	if (info->mode == CAP_MODE_FLIGHT)
		get_overwritten(p, j, info);
	if (!m)
		return;
	info->pt.is_wanted = true;
	info->pt.is_recorded = get_bool(p, m, "recorded");
	info->pt.why_not = get_text(p, m, "why_not");
	info->pt.bytes = get_u64(p, m, "bytes");
	info->pt.n_gaps = get_u64(p, m, "gaps");
	info->pt.n_lost = get_u64(p, m, "lost");
	get_probes(p, m, &info->pt);
	m = member(p, m, "clock");
	for (int i = 0; i < 2 && i < cJSON_GetArraySize(m); i++) {
		info->pt.clock[i].tsc = get_u64(p, cJSON_GetArrayItem(m, i), "tsc");
		info->pt.clock[i].at_ns = get_u64(p, cJSON_GetArrayItem(m, i), "at_ns");
	}
}

static void get_process(struct parse *p, const cJSON *j, struct cap_process *to)
{
	size_t n;

	to->index = get_int(p, j, "index", 1, UINT32_MAX);
	to->parent = get_int(p, j, "parent", 0, UINT32_MAX);
	to->pid = get_int(p, j, "pid", 0, UINT32_MAX);
	to->created = get_name(p, j, "created", created_names, 3);
	to->dir = get_text(p, j, "dir");
	to->exe = get_text(p, j, "exe");
	to->argv = get_texts(p, j, "argv", &n);
	to->n_syscalls = get_u64(p, j, "syscalls");
	to->end = get_name(p, j, "end", end_names, 4);
	to->end_value = get_int(p, j, "end_value", INT32_MIN, INT32_MAX);
	to->is_complete = get_bool(p, j, "complete");
	if (!p->why && to->dir && !cap_name_is_safe(to->dir))
		p->why = "processes";
}

/** Absent from captures of before `record -f`. */
static void get_processes(struct parse *p, const cJSON *j, struct cap_info *info)
{
	const cJSON *m = cJSON_GetObjectItemCaseSensitive(j, "processes"), *item;
	int size = m ? cJSON_IsArray(m) ? cJSON_GetArraySize(m) : -1 : 0;

	if (size < 0 || size > FILES_MAX) {
		p->why = p->why ?: "processes";
		return;
	}
	info->processes = calloc(size + 1, sizeof(*info->processes));
	if (!info->processes)
		return;
	cJSON_ArrayForEach(item, m)
		get_process(p, item, &info->processes[info->n_processes++]);
}

struct err *cap_manifest_parse(const char *text, struct cap_info *info)
{
	_cleanup_(json_deletep) cJSON *j = cJSON_ParseWithOpts(text, NULL, true);
	const cJSON *format = cJSON_GetObjectItemCaseSensitive(j, "format");
	struct parse p = {};
	size_t n_argv;

	if (!j)
		return err_new(ERR_FORMAT, "manifest.json is not valid JSON");
	if (!cJSON_IsString(format) || strcmp(format->valuestring, MANIFEST_FORMAT))
		return err_new(ERR_FORMAT, "manifest.json is not of a faultline capture");
	info->version = get_int(&p, j, "version", 1, INT32_MAX);
	if (!p.why && info->version > CAP_VERSION)
		return err_new(
			ERR_VERSION,
			"the capture has version %d, this faultline reads up to %d",
			info->version, CAP_VERSION);
	info->is_complete = get_bool(&p, j, "complete");
	info->missing = get_texts(&p, j, "missing", &info->n_missing);
	info->argv = get_texts(&p, j, "argv", &n_argv);
	info->cwd = get_text(&p, j, "cwd");
	info->exe = get_text(&p, j, "exe");
	info->pid = get_int(&p, j, "pid", 0, UINT32_MAX);
	info->n_events = get_u64(&p, j, "events");
	info->n_syscalls = get_u64(&p, j, "syscalls");
	info->n_execs = get_u64(&p, j, "execs");
	info->end = get_name(&p, j, "end", end_names, 4);
	info->end_value = get_int(&p, j, "end_value", INT32_MIN, INT32_MAX);
	info->stack_limit = get_u64(&p, j, "stack_limit");
	get_place(&p, j, info);
	get_files(&p, j, info);
	info->has_heap = get_bool(&p, j, "heap");
	get_sites(&p, j, info);
	get_processes(&p, j, info);
	get_mode(&p, j, info);
	get_store_sites(&p, j, info);
	if (p.why)
		return err_new(ERR_FORMAT, "manifest.json: \"%s\" is missing or wrong",
			       p.why);
	if (!info->files || !info->heap_sites || !info->argv || !info->missing ||
	    !info->processes)
		return &err_nomem;
	return NULL;
}

void cap_process_deinit(struct cap_process *p)
{
	for (size_t i = 0; p->argv && p->argv[i]; i++)
		free(p->argv[i]);
	free(p->argv);
	free(p->dir);
	free(p->exe);
	*p = (struct cap_process){};
}

void cap_pt_deinit(struct cap_pt *pt)
{
	for (size_t i = 0; i < pt->n_breakpoints; i++)
		free(pt->breakpoints[i].offsets);
	free(pt->breakpoints);
	free(pt->why_not);
	*pt = (struct cap_pt){};
}

void cap_info_deinit(struct cap_info *info)
{
	for (size_t i = 0; i < info->n_missing; i++)
		free(info->missing[i]);
	free(info->missing);
	for (size_t i = 0; info->argv && info->argv[i]; i++)
		free(info->argv[i]);
	free(info->argv);
	free(info->cwd);
	free(info->exe);
	for (size_t i = 0; i < info->n_files; i++) {
		free(info->files[i].path);
		free(info->files[i].stored);
		free(info->files[i].build_id);
	}
	free(info->files);
	free(info->heap_sites);
	free(info->store_sites);
	for (size_t i = 0; i < info->n_processes; i++)
		cap_process_deinit(&info->processes[i]);
	free(info->processes);
	free(info->end_core.function);
	cap_pt_deinit(&info->pt);
	*info = (struct cap_info){};
}
