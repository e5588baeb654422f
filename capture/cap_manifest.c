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
#include <string.h>

#include "capture/cap_delta.h"
#include "capture/cap_format.h"
#include "capture/cap_manifest.h"
#include "capture/cap_walk.h"

#define MANIFEST_FORMAT "faultline-capture"
#define NAMES(table) (table), sizeof(table) / sizeof(*(table))

static const char *const end_names[] = {
	[CAP_END_UNKNOWN] = "unknown", [CAP_END_EXIT] = "exit",
	[CAP_END_SIGNAL] = "signal",   [CAP_END_DETACHED] = "detached",
	[CAP_END_EXEC] = "exec",
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
	[CAP_CREATED_BEFORE] = "before",
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

const char *cap_end_name(enum cap_end end)
{
	assert(end <= CAP_END_EXEC);
	return end_names[end];
}

const char *cap_created_name(enum cap_created created)
{
	assert(created <= CAP_CREATED_BEFORE);
	return created_names[created];
}

const char *cap_heap_name(enum cap_heap_fn fn)
{
	assert(fn < CAP_HEAP_FNS);
	return heap_names[fn];
}

/* ---- what a manifest says ------------------------------------------------------------ */

bool cap_name_is_safe(const char *name)
{
	return name[0] && name[0] != '.' && !strchr(name, '/');
}

static size_t count_texts(char *const *texts)
{
	size_t n = 0;

	while (texts && texts[n])
		n++;
	return n;
}

/** A path, whose control characters are of no use to a reader: it is only shown, and compared
 * with others. */
static char *walk_name(struct cap_walk *w, const char *name, char *v)
{
	v = cap_walk_text(w, name, v);
	if (w->is_parse && v)
		text_flatten(v);
	return v;
}

static void walk_file(struct cap_walk *w, void *what)
{
	struct cap_file *f = what;

	f->path = walk_name(w, "path", f->path);
	f->stored = cap_walk_text(w, "stored", f->stored);
	f->build_id = cap_walk_text(w, "build_id", f->build_id);
	if (!w->is_parse || cap_walk_has(w, "hash")) // absent from older captures
		f->hash = cap_walk_u64(w, "hash", f->hash);
	if (!f->path || (f->stored && !cap_name_is_safe(f->stored)))
		cap_walk_wrong(w, "files");
}

static void walk_heap_site(struct cap_walk *w, void *what)
{
	struct cap_heap_site *s = what;

	s->fn = cap_walk_name(w, "function", s->fn, heap_names, CAP_HEAP_FNS);
	s->file = cap_walk_int(w, "file", s->file, 0, w->files);
	s->file_offset = cap_walk_u64(w, "file_offset", s->file_offset);
	s->entry_offset = cap_walk_u64(w, "entry_offset", s->entry_offset);
}

static void walk_store_site(struct cap_walk *w, void *what)
{
	struct cap_store_site *s = what;

	s->file = cap_walk_int(w, "file", s->file, 0, w->files);
	s->file_offset = cap_walk_u64(w, "file_offset", s->file_offset);
	s->is_emulated = cap_walk_bool(w, "emulated", s->is_emulated);
}

/** Of a followed process: which one it is. */
static void walk_place(struct cap_walk *w, void *what)
{
	struct cap_info *info = what;

	info->index = cap_walk_int(w, "index", info->index, 1, UINT32_MAX);
	info->parent = cap_walk_int(w, "parent", info->parent, 0, UINT32_MAX);
	info->created = cap_walk_name(w, "created", info->created, NAMES(created_names));
}

static void walk_process(struct cap_walk *w, void *what)
{
	struct cap_process *p = what;
	size_t n_argv = count_texts(p->argv);

	p->index = cap_walk_int(w, "index", p->index, 1, UINT32_MAX);
	p->parent = cap_walk_int(w, "parent", p->parent, 0, UINT32_MAX);
	p->pid = cap_walk_int(w, "pid", p->pid, 0, UINT32_MAX);
	p->created = cap_walk_name(w, "created", p->created, NAMES(created_names));
	p->dir = cap_walk_text(w, "dir", p->dir);
	p->exe = cap_walk_text(w, "exe", p->exe);
	p->argv = cap_walk_texts(w, "argv", p->argv, &n_argv);
	p->n_syscalls = cap_walk_u64(w, "syscalls", p->n_syscalls);
	p->end = cap_walk_name(w, "end", p->end, NAMES(end_names));
	p->end_value = cap_walk_int(w, "end_value", p->end_value, INT32_MIN, INT32_MAX);
	p->is_complete = cap_walk_bool(w, "complete", p->is_complete);
	if (p->dir && !cap_name_is_safe(p->dir))
		cap_walk_wrong(w, "processes");
}

static void walk_end_core(struct cap_walk *w, void *what)
{
	struct cap_end_core *e = what;

	e->reason = cap_walk_name(w, "reason", e->reason, NAMES(reason_names));
	e->at_ns = cap_walk_u64(w, "at_ns", e->at_ns);
	e->tid = cap_walk_int(w, "tid", e->tid, 0, UINT32_MAX);
	e->signo = cap_walk_int(w, "signal", e->signo, 0, INT32_MAX);
	e->address = cap_walk_u64(w, "address", e->address);
	e->function = cap_walk_text(w, "function", e->function);
}

/** What the flight recorder's rings do not hold any more. But for the first absent from
 * captures of before its store probes. */
static void walk_overwritten(struct cap_walk *w, struct cap_info *info)
{
	info->n_overwritten = cap_walk_u64(w, "overwritten", info->n_overwritten);
	if (w->is_parse && !cap_walk_has(w, "stores_overwritten"))
		return;
	info->heap_from_ns = cap_walk_u64(w, "heap_from_ns", info->heap_from_ns);
	info->n_stores_overwritten =
		cap_walk_u64(w, "stores_overwritten", info->n_stores_overwritten);
	info->stores_from_ns = cap_walk_u64(w, "stores_from_ns", info->stores_from_ns);
}

static void walk_instant(struct cap_walk *w, void *what)
{
	struct cap_instant *i = what;

	i->tsc = cap_walk_u64(w, "tsc", i->tsc);
	i->at_ns = cap_walk_u64(w, "at_ns", i->at_ns);
}

/** Two instants, or none where they are not known. */
static void walk_clock(struct cap_walk *w, struct cap_pt *pt)
{
	size_t n = pt->clock[1].tsc ? 2 : 0;
	struct cap_instant *clock =
		cap_walk_array(w, "clock", pt->clock, &n, sizeof(*clock), walk_instant);

	if (!w->is_parse)
		return;
	if (clock)
		memcpy(pt->clock, clock, (n < 2 ? n : 2) * sizeof(*clock));
	free(clock);
}

static void walk_breakpoints(struct cap_walk *w, void *what)
{
	struct cap_breakpoints *b = what;
	cJSON *offsets, *item;

	b->file = cap_walk_int(w, "file", b->file, 1, UINT32_MAX);
	if (!w->is_parse) {
		offsets = cJSON_CreateArray();
		cap_walk_put(w, "offsets", offsets);
		for (size_t i = 0; !w->no_memory && i < b->n; i++)
			w->no_memory = !cJSON_AddItemToArray(
				offsets, cJSON_CreateNumber(b->offsets[i]));
		return;
	}
	offsets = cap_walk_take(w, "offsets", cJSON_IsArray);
	b->offsets = calloc(cJSON_GetArraySize(offsets) + 1, sizeof(*b->offsets));
	w->no_memory |= !b->offsets;
	if (!b->offsets)
		return;
	cJSON_ArrayForEach(item, offsets)
	{
		if (!(item->valuedouble >= 0 && item->valuedouble < 1ull << 53))
			cap_walk_wrong(w, "offsets");
		else
			b->offsets[b->n++] = item->valuedouble;
	}
}

/** The bytes that probed functions return to, in hex. */
static void walk_back(struct cap_walk *w, struct cap_pt *pt)
{
	char text[2 * CAP_BACK_MAX + 1];
	char *back;
	unsigned byte;

	text_hex(text, pt->back, pt->n_back);
	back = cap_walk_text(w, "back", text);
	if (!w->is_parse)
		return;
	for (const char *at = back; at && at[0] && pt->n_back < CAP_BACK_MAX; at += 2) {
		if (!at[1] || sscanf(at, "%2x", &byte) != 1) {
			cap_walk_wrong(w, "back");
			break;
		}
		pt->back[pt->n_back++] = byte;
	}
	free(back);
}

static void walk_pt(struct cap_walk *w, void *what)
{
	struct cap_pt *pt = what;

	walk_clock(w, pt);
	if (w->is_parse ? cap_walk_has(w, "breakpoints") : pt->n_breakpoints) {
		pt->breakpoints = cap_walk_array(w, "breakpoints", pt->breakpoints,
						 &pt->n_breakpoints,
						 sizeof(*pt->breakpoints),
						 walk_breakpoints);
		pt->probe_page = cap_walk_u64(w, "probe_page", pt->probe_page);
		walk_back(w, pt);
	}
	pt->is_recorded = cap_walk_bool(w, "recorded", pt->is_recorded);
	pt->why_not = cap_walk_text(w, "why_not", pt->why_not);
	pt->bytes = cap_walk_u64(w, "bytes", pt->bytes);
	pt->n_gaps = cap_walk_u64(w, "gaps", pt->n_gaps);
	pt->n_lost = cap_walk_u64(w, "lost", pt->n_lost);
}

#define CPUID_ROWS_MAX 100000 ///< more is damage

/** A row of the table: `LEAF.SUBLEAF EAX EBX ECX EDX`, in hex, and ` @CPU` where only that CPU
 * answers so. */
static char *print_row(const struct cap_cpuid *row)
{
	const uint32_t *r = row->regs;
	char cpu[16] = "", *text;

	if (row->cpu != CAP_CPU_ANY)
		snprintf(cpu, sizeof(cpu), " @%d", row->cpu);
	return asprintf(&text, "%x.%x %x %x %x %x%s", row->leaf, row->subleaf, r[0], r[1],
			r[2], r[3], cpu) < 0 ?
		       NULL :
		       text;
}

static bool parse_row(const char *text, struct cap_cpuid *row)
{
	uint32_t *r = row->regs;
	int n = 0, m = 0;

	row->cpu = CAP_CPU_ANY;
	if (sscanf(text, "%x.%x %x %x %x %x%n", &row->leaf, &row->subleaf, &r[0], &r[1],
		   &r[2], &r[3], &n) != 6)
		return false;
	return !text[n] || (sscanf(text + n, " @%d%n", &row->cpu, &m) == 1 &&
			    !text[n + m] && row->cpu >= 0);
}

static void print_rows(struct cap_walk *w, const struct cap_cpu *c)
{
	cJSON *rows = cJSON_CreateArray();

	cap_walk_put(w, "cpuid", rows);
	for (size_t i = 0; !w->no_memory && i < c->n; i++) {
		_cleanup_free_ char *text = print_row(&c->rows[i]);
		cJSON *item = text ? cJSON_CreateString(text) : NULL;

		w->no_memory = !item || !cJSON_AddItemToArray(rows, item);
	}
}

static void walk_cpu(struct cap_walk *w, void *what)
{
	struct cap_cpu *c = what;
	cJSON *rows, *item;
	size_t n;

	c->is_trapped = cap_walk_bool(w, "trapped", c->is_trapped);
	if (!w->is_parse || cap_walk_has(w, "tsc_probed")) // absent from older captures
		c->is_tsc_probed = cap_walk_bool(w, "tsc_probed", c->is_tsc_probed);
	c->bound_to = cap_walk_int(w, "bound_to", c->bound_to, CAP_CPU_ANY, INT32_MAX);
	c->bound_from = cap_walk_u64(w, "bound_from", c->bound_from);
	if (!w->is_parse) {
		print_rows(w, c);
		return;
	}
	rows = cap_walk_take(w, "cpuid", cJSON_IsArray);
	n = cJSON_GetArraySize(rows);
	c->rows = calloc(n + 1, sizeof(*c->rows));
	w->no_memory |= !c->rows;
	if (!c->rows || n > CPUID_ROWS_MAX) {
		cap_walk_wrong(w, "cpuid");
		return;
	}
	cJSON_ArrayForEach(item, rows)
	{
		if (!cJSON_IsString(item) ||
		    !parse_row(item->valuestring, &c->rows[c->n++]))
			cap_walk_wrong(w, "cpuid");
	}
}

/** What only captures of some time or kind have. */
static void walk_kind(struct cap_walk *w, struct cap_info *info)
{
	if (!cap_walk_object(w, "cpu", info->cpu.n, walk_cpu, &info->cpu) && w->is_parse)
		info->cpu.bound_to = CAP_CPU_ANY;
	if (w->is_parse ? cap_walk_has(w, "masked") : info->has_masked)
		info->has_masked = cap_walk_bool(w, "masked", info->has_masked);
	if (w->is_parse ? cap_walk_has(w, "joint") : info->is_joint)
		info->is_joint = cap_walk_bool(w, "joint", info->is_joint);
	if (!w->is_parse || cap_walk_has(w, "mode"))
		info->mode = cap_walk_name(w, "mode", info->mode, NAMES(mode_names));
	cap_walk_object(w, "end_core", info->end_core.reason, walk_end_core,
			&info->end_core);
	if (w->is_parse ? cap_walk_has(w, "slice") : !!info->slice_of)
		info->slice_of = walk_name(w, "slice", info->slice_of);
	if (info->mode == CAP_MODE_FLIGHT)
		walk_overwritten(w, info);
	info->pt.is_wanted =
		cap_walk_object(w, "pt", info->pt.is_wanted, walk_pt, &info->pt);
	if (w->is_parse ? cap_walk_has(w, "store_sites") : info->n_store_sites)
		info->store_sites = cap_walk_array(w, "store_sites", info->store_sites,
						   &info->n_store_sites,
						   sizeof(*info->store_sites),
						   walk_store_site);
}

static void walk_info(struct cap_walk *w, struct cap_info *info)
{
	size_t n_argv = count_texts(info->argv);

	info->is_complete = cap_walk_bool(w, "complete", info->is_complete);
	info->missing = cap_walk_texts(w, "missing", info->missing, &info->n_missing);
	info->argv = cap_walk_texts(w, "argv", info->argv, &n_argv);
	info->cwd = cap_walk_text(w, "cwd", info->cwd);
	info->exe = walk_name(w, "exe", info->exe);
	info->pid = cap_walk_int(w, "pid", info->pid, 0, UINT32_MAX);
	info->n_events = cap_walk_u64(w, "events", info->n_events);
	info->n_syscalls = cap_walk_u64(w, "syscalls", info->n_syscalls);
	info->n_execs = cap_walk_u64(w, "execs", info->n_execs);
	info->end = cap_walk_name(w, "end", info->end, NAMES(end_names));
	info->end_value =
		cap_walk_int(w, "end_value", info->end_value, INT32_MIN, INT32_MAX);
	info->stack_limit = cap_walk_u64(w, "stack_limit", info->stack_limit);
	info->is_child = cap_walk_object(w, "process", info->is_child, walk_place, info);
	info->files = cap_walk_array(w, "files", info->files, &info->n_files,
				     sizeof(*info->files), walk_file);
	w->files = info->is_child ? CAP_WALK_ITEMS_MAX : (int64_t)info->n_files;
	info->has_heap = cap_walk_bool(w, "heap", info->has_heap);
	info->heap_sites = cap_walk_array(w, "heap_sites", info->heap_sites,
					  &info->n_heap_sites, sizeof(*info->heap_sites),
					  walk_heap_site);
	if (!w->is_parse ||
	    cap_walk_has(w, "processes")) // absent from before `record -f`
		info->processes = cap_walk_array(w, "processes", info->processes,
						 &info->n_processes,
						 sizeof(*info->processes), walk_process);
	walk_kind(w, info);
}

/** Mask all texts of @p j, which owns them. */
static void mask_texts(const struct cap_mask *mask, cJSON *j)
{
	if (cJSON_IsString(j))
		cap_mask_bytes(mask, j->valuestring, strlen(j->valuestring));
	for (cJSON *i = j ? j->child : NULL; i; i = i->next)
		mask_texts(mask, i);
}

struct err *cap_manifest_print(const struct cap_info *info, const struct cap_mask *mask,
			       char **ret)
{
	_cleanup_(cap_json_deletep) cJSON *j = cJSON_CreateObject();
	struct cap_walk w = { .at = j, .no_memory = !j };
	struct cap_info same = *info; // a walk that prints assigns what was there

	cap_walk_put(&w, "format", cJSON_CreateString(MANIFEST_FORMAT));
	cap_walk_int(&w, "version", info->version, 1, INT32_MAX);
	walk_info(&w, &same);
	mask_texts(mask, j);
	*ret = w.no_memory ? NULL : cJSON_Print(j);
	return *ret ? NULL : &err_nomem;
}

/* ---- members that captures have in common ---------------------------------------------- */

#define COMMON "common"

/** What is the same in all captures of a program. */
static const char *const common_names[] = { "files", "heap_sites", "store_sites", "cpu" };

const char *cap_manifest_common(const cJSON *j)
{
	return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(j, COMMON));
}

cJSON *cap_manifest_part(cJSON *j)
{
	cJSON *part = cJSON_CreateObject();

	for (size_t i = 0; part && i < sizeof(common_names) / sizeof(*common_names);
	     i++) {
		cJSON *m = cJSON_DetachItemFromObjectCaseSensitive(j, common_names[i]);

		if (m)
			cJSON_AddItemToObject(part, common_names[i], m);
	}
	return part;
}

bool cap_manifest_refer(cJSON *j, const char *name)
{
	return cJSON_ReplaceItemInObjectCaseSensitive(
		       j, "version", cJSON_CreateNumber(CAP_VERSION_SHARED)) &&
	       cJSON_AddStringToObject(j, COMMON, name);
}

/** Put the members that file @p name of files/ has into @p j. */
static struct err *take_common(int dir_fd, const char *name, cJSON *j)
{
	_cleanup_(cap_json_deletep) cJSON *part = NULL;
	_cleanup_free_ char *text = NULL, *is_called = NULL, *path = NULL;
	_cleanup_close_ int fd = -1;
	uint64_t bytes;
	struct err *err;

	if (!cap_name_is_safe(name))
		return err_new(ERR_FORMAT, "manifest.json: \"" COMMON "\" is wrong");
	if (asprintf(&path, "files/%s", name) < 0) {
		path = NULL;
		return &err_nomem;
	}
	err = file_open_input(dir_fd, path, path, CAP_LIST_MAX, &fd, &bytes);
	if (err && err->code == ERR_NOT_FOUND)
		err->code = ERR_TRUNCATED; // it was there
	if (!err)
		err = cap_delta_name(fd, bytes, &is_called);
	if (!err && strcmp(name, is_called))
		err = err_new(ERR_FORMAT,
			      "cannot read '%s', which other captures have, too: its "
			      "contents are others now: it is damaged",
			      path);
	text = err ? NULL : calloc(1, bytes + 1);
	if (!err)
		err = text ? cap_read_at(fd, 0, text, bytes, path) : &err_nomem;
	if (!err)
		err = cap_walk_parse(text, path, &part);
	while (!err && part->child) {
		cJSON *m = cJSON_DetachItemViaPointer(part, part->child);

		if (!cJSON_AddItemToObject(j, m->string, m)) {
			cJSON_Delete(m);
			err = &err_nomem;
		}
	}
	return err;
}

struct err *cap_manifest_load(int dir_fd, cJSON **ret)
{
	_cleanup_free_ char *text = NULL;
	uint64_t bytes;
	struct err *err = cap_read_list(dir_fd, "manifest.json", &text, &bytes);

	*ret = NULL;
	if (!err)
		err = cap_walk_parse(text, "manifest.json", ret);
	if (err || !cap_manifest_common(*ret))
		return err;
	return take_common(dir_fd, cap_manifest_common(*ret), *ret);
}

/* ---- parsing ---------------------------------------------------------------------------- */

static struct err *parse(cJSON *j, struct cap_info *info)
{
	const cJSON *format = cJSON_GetObjectItemCaseSensitive(j, "format");
	struct cap_walk w = { .at = j, .is_parse = true };

	if (!cJSON_IsString(format) || strcmp(format->valuestring, MANIFEST_FORMAT))
		return err_new(ERR_FORMAT, "manifest.json is not of a faultline capture");
	info->version = cap_walk_int(&w, "version", 0, 1, INT32_MAX);
	if (info->version > CAP_VERSION_SHARED)
		return err_new(
			ERR_VERSION,
			"the capture has version %d, this faultline reads up to %d",
			info->version, CAP_VERSION_SHARED);
	walk_info(&w, info);
	if (w.no_memory)
		return &err_nomem;
	if (w.wrong)
		return err_new(ERR_FORMAT, "manifest.json: \"%s\" is missing or wrong",
			       w.wrong);
	return NULL;
}

struct err *cap_manifest_parse(const char *text, struct cap_info *info)
{
	_cleanup_(cap_json_deletep) cJSON *j = NULL;
	struct err *err = cap_walk_parse(text, "manifest.json", &j);

	return err ?: parse(j, info);
}

struct err *cap_manifest_read(int dir_fd, struct cap_info *info)
{
	_cleanup_(cap_json_deletep) cJSON *j = NULL;
	struct err *err = cap_manifest_load(dir_fd, &j);

	return err ?: parse(j, info);
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
	free(info->slice_of);
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
	cap_cpu_deinit(&info->cpu);
	*info = (struct cap_info){};
}
