// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Whole commands over a capture of which something was changed. An input is a command's number
 * and edits: a file's number, where, how many bytes go, and which come. So the recording in
 * bundle/ stays outside of the corpus, and each input says what it changes. The event log is
 * edited unpacked, and packed again with a right checksum. The mutator knows where in ELF files
 * headers, notes and DWARF lie, the records of a log, and the values of JSON.
 *
 * A command ends with a status of doc/exit-status.md, and with a line on stderr when it could
 * not. A machine's process may be killed, as it runs what it is given; it may not fail.
 */
#include <argp.h>
#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <zstd.h>

#include "capture/cap_format.h"
#include "capture/perf_format.h"
#include "tests/scratch.h"

#define BUNDLE "tests/fuzz/bundle"
#define SECONDS_MAX 8

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size,
			       unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

typedef int command_fn(int argc, char **argv);
command_fn cmd_replay, cmd_dump, cmd_analyze, cmd_graph, cmd_recover, cmd_encode,
	cmd_decode, cmd_sites, cmd_spec, cmd_linear;

static void expect(bool is_so)
{
	if (!is_so)
		abort();
}

/* ---- the files ---------------------------------------------------------------------------- */

enum kind { KIND_JSON, KIND_LOG, KIND_ELF, KIND_PERF, KIND_OTHER };

/* Part of a file that is a thing of its own. */
struct place {
	uint32_t at, bytes;
};

static struct file {
	const char *path;
	enum kind kind;
	uint8_t *data; ///< as recorded; of a log: its records
	size_t size;
	VEC(struct place) places;
} files[] = {
	{ .path = "replay/manifest.json", .kind = KIND_JSON },
	{ .path = "replay/events.flt", .kind = KIND_LOG },
	{ .path = "replay/start.core", .kind = KIND_ELF },
	{ .path = "replay/end.core", .kind = KIND_ELF },
	{ .path = "replay/files/program", .kind = KIND_ELF },
	{ .path = "flight/manifest.json", .kind = KIND_JSON },
	{ .path = "flight/events.flt", .kind = KIND_LOG },
	{ .path = "flight/end.core", .kind = KIND_ELF },
	{ .path = "flight/files/program", .kind = KIND_ELF },
	{ .path = "flight/perf.data", .kind = KIND_PERF },
	{ .path = "list.spec", .kind = KIND_OTHER },
	{ .path = "list.obj", .kind = KIND_OTHER },
};

#define FILES (sizeof(files) / sizeof(*files))

/* The commands, @ for the directory they work in, and the first and last of the files that they
 * read. No threads: where a stack of theirs was, ASan takes what is mapped later for one. */
static const struct {
	command_fn *run;
	const char *args[10];
	uint8_t first, last;
} commands[] = {
	{ cmd_replay, { "replay", "--explain", "@replay" }, 0, 4 },
	{ cmd_replay, { "replay", "--json", "--log", "values", "@replay" }, 0, 4 },
	{ cmd_dump, { "dump", "-m", "-r", "@replay" }, 0, 4 },
	{ cmd_dump, { "dump", "--json", "@replay" }, 0, 4 },
	{ cmd_dump, { "dump", "--processes", "@replay" }, 0, 0 },
	{ cmd_analyze, { "analyze", "--spec", "@list.spec", "@replay" }, 0, 4 },
	{ cmd_graph, { "graph", "--svg", "@out.svg", "@replay" }, 0, 4 },
	{ cmd_graph, { "graph", "--dot", "--allocator", "@replay" }, 0, 4 },
	{ cmd_encode, { "encode", "-o", "@out.data", "--timing", "@replay" }, 0, 4 },
	{ cmd_encode, { "encode", "--flight", "@out.fl", "@replay" }, 0, 4 },
	{ cmd_sites, { "sites", "--list", "@replay/files/program" }, 4, 4 },
	{ cmd_sites, { "sites", "--json", "@replay/files/program" }, 4, 4 },
	{ cmd_recover, { "recover", "@flight" }, 5, 9 },
	{ cmd_recover, { "recover", "--json", "@flight" }, 5, 9 },
	{ cmd_decode, { "decode", "--threads", "1", "--instructions", "@flight" }, 5, 9 },
	{ cmd_decode, { "decode", "--threads", "1", "--packets", "@flight" }, 5, 9 },
	{ cmd_decode,
	  { "decode", "--threads", "1", "--calls", "--json", "@flight" },
	  5,
	  9 },
	{ cmd_analyze,
	  { "analyze", "--json", "--spec", "@list.spec", "@flight" },
	  5,
	  10 },
	{ cmd_graph, { "graph", "--html", "@out.html", "@flight" }, 5, 9 },
	{ cmd_dump, { "dump", "-m", "@flight" }, 5, 9 },
	{ cmd_spec, { "spec", "check", "@list.spec" }, 10, 10 },
	{ cmd_decode, { "decode", "--threads", "1", "--calls", "@flight" }, 9, 9 },
	{ cmd_decode,
	  { "decode", "--threads", "1", "--branches", "@flight/perf.data" },
	  9,
	  9 },
	{ cmd_decode,
	  { "decode", "--threads", "1", "--calls", "--raw", "@flight/perf.data",
	    "--image", "@flight/files/program" },
	  8,
	  9 },
	{ cmd_recover, { "recover", "--window", "3", "@flight" }, 9, 9 },
	{ cmd_linear, { "linear", "--object", "@list.obj", "@replay" }, 0, 4 },
	{ cmd_linear,
	  { "linear", "--json", "--object", "@list.obj", "@replay" },
	  11,
	  11 },
};

#define COMMANDS (sizeof(commands) / sizeof(*commands))

static const char *in_scratch(const char *name, char path[128])
{
	snprintf(path, 128, "%s/%s", scratch, name);
	return path;
}

static void file_write(const struct file *f, const void *data, size_t size)
{
	char path[128];
	FILE *out = fopen(in_scratch(f->path, path), "w");

	expect(out && fwrite(data, 1, size, out) == size && !fclose(out));
}

static void records_write(const struct file *f, const uint8_t *records, size_t size)
{
	struct cap_log_head head = { .magic = CAP_LOG_MAGIC,
				     .version = CAP_LOG_VERSION,
				     .byte_order = CAP_LOG_BYTE_ORDER };
	size_t heads = sizeof(head) + sizeof(struct cap_frame_head);
	size_t max = ZSTD_compressBound(size), n;
	struct cap_frame_head frame = { .raw_bytes = size };
	ZSTD_CCtx *zstd = ZSTD_createCCtx();
	uint8_t *log = malloc(heads + max);

	expect(log && zstd);
	ZSTD_CCtx_setParameter(zstd, ZSTD_c_checksumFlag, 1);
	n = ZSTD_compress2(zstd, log + heads, max, records, size);
	expect(!ZSTD_isError(n));
	frame.packed_bytes = n;
	memcpy(log, &head, sizeof(head));
	memcpy(log + sizeof(head), &frame, sizeof(frame));
	file_write(f, log, heads + n);
	ZSTD_freeCCtx(zstd);
	free(log);
}

static void file_put(const struct file *f, const uint8_t *data, size_t size)
{
	if (f->kind == KIND_LOG)
		records_write(f, data, size);
	else
		file_write(f, data, size);
}

static void file_read(struct file *f)
{
	struct cap_frame_head frame;
	struct stat st;
	uint8_t *packed;
	char path[128];
	FILE *in = fopen(in_scratch(f->path, path), "r");

	expect(in && !fstat(fileno(in), &st));
	f->size = st.st_size;
	f->data = malloc(f->size);
	expect(f->data && fread(f->data, 1, f->size, in) == f->size);
	fclose(in);
	if (f->kind != KIND_LOG)
		return;
	packed = f->data;
	memcpy(&frame, packed + sizeof(struct cap_log_head), sizeof(frame));
	f->size = frame.raw_bytes;
	f->data = malloc(f->size);
	expect(f->data &&
	       ZSTD_decompress(f->data, f->size,
			       packed + sizeof(struct cap_log_head) + sizeof(frame),
			       frame.packed_bytes) == f->size);
	free(packed);
}

static void place_add(struct file *f, uint64_t at, uint64_t bytes)
{
	if (at < f->size && bytes && bytes <= f->size - at)
		expect(!vec_add(&f->places, (struct place){ at, bytes }));
}

static void elf_places(struct file *f)
{
	const Elf64_Ehdr *e = (const Elf64_Ehdr *)f->data;
	const Elf64_Phdr *p = (const Elf64_Phdr *)(f->data + e->e_phoff);
	const Elf64_Shdr *s = (const Elf64_Shdr *)(f->data + e->e_shoff);

	place_add(f, 0, sizeof(*e));
	for (int i = 0; i < e->e_phnum; i++) {
		place_add(f, e->e_phoff + i * sizeof(*p), sizeof(*p));
		if (p[i].p_type != PT_NOTE)
			continue;
		for (uint64_t at = 0; at < p[i].p_filesz;) {
			const Elf64_Nhdr *n =
				(const void *)(f->data + p[i].p_offset + at);
			uint64_t name = (n->n_namesz + 3) & ~3u,
				 bytes = (n->n_descsz + 3) & ~3u;

			place_add(f, p[i].p_offset + at, sizeof(*n) + name);
			place_add(f, p[i].p_offset + at + sizeof(*n) + name, bytes);
			at += sizeof(*n) + name + bytes;
		}
	}
	for (int i = 0; i < e->e_shnum; i++) {
		place_add(f, e->e_shoff + i * sizeof(*s), sizeof(*s));
		if (s[i].sh_type == SHT_PROGBITS && s[i].sh_flags & SHF_ALLOC)
			continue; // code may run for ever
		for (int weight = s[i].sh_flags & SHF_ALLOC ? 1 : 6; weight; weight--)
			place_add(f, s[i].sh_offset, s[i].sh_size);
	}
}

/* Values, between what separates them. */
static void json_places(struct file *f)
{
	static const char separators[] = " \t\n:,[]{}";
	size_t from = 0;

	for (size_t at = 0; at < f->size; at++) {
		if (!strchr(separators, f->data[at]))
			continue;
		place_add(f, from, at - from);
		from = at + 1;
	}
}

static void log_places(struct file *f)
{
	struct cap_rec rec;

	for (size_t at = 0; at + sizeof(rec) <= f->size; at += rec.bytes) {
		memcpy(&rec, f->data + at, sizeof(rec));
		place_add(f, at, sizeof(rec));
		place_add(f, at, rec.bytes);
		expect(rec.bytes);
	}
}

/* Records, and most of all the packets. */
static void perf_places(struct file *f)
{
	struct perf_rec_auxtrace rec = {};
	struct perf_head head;
	uint64_t end;

	memcpy(&head, f->data, sizeof(head));
	place_add(f, 0, sizeof(head));
	end = head.data.offset + head.data.size;
	for (uint64_t at = head.data.offset; at < end; at += rec.head.size) {
		memcpy(&rec, f->data + at, sizeof(rec));
		expect(rec.head.size);
		place_add(f, at, rec.head.size);
		if (rec.head.type != PERF_TYPE_AUXTRACE)
			continue;
		for (int weight = 16; weight; weight--)
			place_add(f, at + rec.head.size, rec.bytes);
		at += rec.bytes;
	}
	place_add(f, end, f->size - end);
}

static void places_find(struct file *f)
{
	switch (f->kind) {
	case KIND_JSON:
		json_places(f);
		break;
	case KIND_ELF:
		elf_places(f);
		break;
	case KIND_LOG:
		log_places(f);
		break;
	case KIND_PERF:
		perf_places(f);
		break;
	case KIND_OTHER:
		break;
	}
	if (!f->places.size)
		place_add(f, 0, f->size);
}

/* ---- edits -------------------------------------------------------------------------------- */

#define EDIT_HEAD 8
#define EDIT_MAX 255

/* In an input: file, offset (4 bytes), cut (2), bytes, and these. */
struct edit {
	uint8_t file;
	uint32_t at;
	uint16_t cut;
	uint8_t n;
	const uint8_t *bytes;
};

/* @return the bytes of the input that the edit takes; 0: there is none. */
static size_t edit_read(const uint8_t *data, size_t size, struct edit *ret)
{
	if (size < EDIT_HEAD)
		return 0;
	ret->file = data[0] % FILES;
	memcpy(&ret->at, data + 1, 4);
	memcpy(&ret->cut, data + 5, 2);
	ret->n = data[7] < size - EDIT_HEAD ? data[7] : size - EDIT_HEAD;
	ret->bytes = data + EDIT_HEAD;
	return EDIT_HEAD + ret->n;
}

static void edit_apply(const struct edit *e, uint8_t **data, size_t *size)
{
	size_t at = *size ? e->at % (*size + 1) : 0;
	size_t cut = e->cut < *size - at ? e->cut : *size - at;
	uint8_t *to = malloc(*size + e->n + 1);

	expect(to);
	memcpy(to, *data, at);
	memcpy(to + at, e->bytes, e->n);
	memcpy(to + at + e->n, *data + at + cut, *size - at - cut);
	*size += e->n - cut;
	free(*data);
	*data = to;
}

/* Write the file numbered @p i as the input wants it. @return whether it is another one. */
static bool edits_apply(const uint8_t *input, size_t input_size, size_t i)
{
	uint8_t *data = NULL;
	size_t size = files[i].size;
	struct edit e;

	for (size_t n; (n = edit_read(input, input_size, &e));
	     input += n, input_size -= n) {
		if (e.file != i)
			continue;
		if (!data) {
			data = malloc(size);
			expect(data);
			memcpy(data, files[i].data, size);
		}
		edit_apply(&e, &data, &size);
	}
	if (data)
		file_put(&files[i], data, size);
	free(data);
	return data;
}

/* ---- a command ---------------------------------------------------------------------------- */

static char children[64];

/* What a guest does may have no end: its process has one. Calls that a handler may make. */
static void on_time(int signo)
{
	static char list[256];
	int file = open(children, O_RDONLY | O_CLOEXEC);
	ssize_t n = read(file, list, sizeof(list));

	(void)signo;
	close(file);
	for (char *at = list, *end = list + (n > 0 ? n : 0); at < end; at++) {
		pid_t pid = 0;

		for (; at < end && *at != ' '; at++)
			pid = 10 * pid + *at - '0';
		if (pid > 0)
			kill(pid, SIGKILL);
	}
}

static timer_t timer;

static void timer_set(time_t seconds)
{
	timer_settime(timer, 0,
		      &(struct itimerspec){ .it_value.tv_sec = seconds,
					    .it_interval.tv_sec = seconds },
		      NULL);
}

static char said[1 << 16];

/* @p is_quoted: what is said may have text of the input. */
static void check(command_fn *run, int status, bool is_quoted)
{
	expect(status >= 0 && status <= 2);
	// What linear does not know it says on stdout; of the rest a note is told once a process.
	expect(status < 2 || run == cmd_linear || strchr(said, '\n'));
	expect(is_quoted || !strstr(said, "ended with status"));
	expect(is_quoted || !strstr(said, "killed by signal 6"));
}

static void command_run(size_t i, bool is_quoted)
{
	char *argv[11] = {}, paths[10][128];
	int argc = 0, status;
	FILE *before = stderr;

	for (; commands[i].args[argc]; argc++) {
		const char *arg = commands[i].args[argc];

		argv[argc] =
			(char *)(*arg == '@' ? in_scratch(arg + 1, paths[argc]) : arg);
	}
	memset(said, 0, sizeof(said));
	stderr = fmemopen(said, sizeof(said) - 1, "w");
	expect(stderr);
	setvbuf(stderr, NULL, _IONBF, 0);
	timer_set(SECONDS_MAX);
	status = commands[i].run(argc, argv);
	timer_set(0);
	fclose(stderr);
	stderr = before;
	check(commands[i].run, status, is_quoted);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *only = getenv("FAULTLINE_FUZZ"); // a command's name
	bool is_other[FILES], is_quoted = false;
	char path[128];

	if (size < 1 || (only && strcmp(commands[data[0] % COMMANDS].args[0], only) != 0))
		return 0;
	for (size_t i = 0; i < FILES; i++) {
		is_other[i] = edits_apply(data + 1, size - 1, i);
		is_quoted |= is_other[i] && files[i].kind == KIND_OTHER;
	}
	command_run(data[0] % COMMANDS, is_quoted);
	for (size_t i = 0; i < FILES; i++)
		if (is_other[i])
			file_put(&files[i], files[i].data, files[i].size);
	scratch_remove(in_scratch("out.fl", path));
	return 0;
}

/* Copy the bundle, whose kept file gets a name of ours, to where commands run. */
static void bundle_copy(void)
{
	char command[512];

	snprintf(
		command, sizeof(command),
		"cp -r %s/replay %s/flight %s/list.spec %s/list.obj %s && cd %s && chmod -R u+w . && "
		"mv replay/files/*-* replay/files/program && "
		"mv flight/files/*-* flight/files/program && "
		"sed -i 's/[0-9a-f]\\{40\\}-[0-9a-f]*/program/' */manifest.json "
		"*/files/index",
		BUNDLE, BUNDLE, BUNDLE, BUNDLE, scratch, scratch);
	expect(!system(command));
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN };

	(void)argc;
	(void)argv;
	expect(scratch_make());
	bundle_copy();
	for (size_t i = 0; i < FILES; i++) {
		file_read(&files[i]);
		places_find(&files[i]);
	}
	snprintf(children, sizeof(children), "/proc/self/task/%d/children", getpid());
	signal(SIGRTMIN, on_time);
	timer_create(CLOCK_MONOTONIC, &event, &timer);
	stdout = fopen("/dev/null", "w");
	expect(stdout);
	return 0;
}

/* ---- the mutator -------------------------------------------------------------------------- */

static unsigned random_below(unsigned *seed, unsigned n)
{
	return rand_r(seed) % n;
}

static const char *const json_values[] = {
	"-1",
	"null",
	"\"\"",
	"[]",
	"{}",
	"1e308",
	"\"18446744073709551615\"",
	"\"-1\"",
	"4294967296",
	"true",
	"\"../../program\"",
	"[[[[[[[[[[[[[[[[",
	"\"\\u001b[31m\"",
	"0.5",
	"\"0x10\"",
	"2",
	"\"heap\"",
	"\"flight\"",
};

/* Bytes for a number's place. @return how many. */
static uint8_t make_number(uint8_t *to, unsigned *seed, const struct file *f, size_t at)
{
	static const uint64_t some[] = {
		0,	     1,		 2,	     8,
		0x7f,	     0x80,	 0xff,	     0x7fff,
		0xffff,	     0x7fffffff, 0x80000000, 0xffffffff,
		0x100000000, INT64_MAX,	 UINT64_MAX, UINT64_MAX - 7,
		0x401000,    0x403070,	 4096,	     1u << 20
	};
	uint64_t v = some[random_below(seed, sizeof(some) / 8)];
	uint8_t n = 1 << random_below(seed, 4);

	if (random_below(seed, 3) == 0) { // near what it was
		v = 0;
		memcpy(&v, f->data + at, n < f->size - at ? n : f->size - at);
		v += random_below(seed, 17) - 8;
	} else if (random_below(seed, 3) == 0) {
		v = (uint64_t)rand_r(seed) << 31 ^ rand_r(seed);
	}
	memcpy(to, &v, n);
	return n;
}

/* @return the size of an edit made at @p to. */
static size_t make_edit(uint8_t *to, unsigned *seed, uint8_t command)
{
	unsigned first = commands[command].first, last = commands[command].last;
	uint8_t number = first + random_below(seed, last - first + 1);
	const struct file *f = &files[number];
	const struct place *p = &f->places.data[random_below(seed, f->places.size)];
	uint32_t at = p->at + random_below(seed, p->bytes);
	const char *value = json_values[random_below(seed, sizeof(json_values) / 8)];
	uint16_t cut;

	if (random_below(seed, 2) && f->kind != KIND_JSON)
		at &= ~7u;
	to[7] = make_number(to + EDIT_HEAD, seed, f, at);
	cut = to[7];
	if (f->kind == KIND_JSON && random_below(seed, 4)) {
		at = p->at;
		cut = p->bytes;
		to[7] = strlen(value);
		memcpy(to + EDIT_HEAD, value, to[7]);
	} else if (random_below(seed, 16) == 0) { // out, or in
		cut = random_below(seed, 2) ? random_below(seed, 200) : 0;
		to[7] = cut ? 0 : to[7];
	} else if (random_below(seed, 64) == 0) { // the file ends early
		cut = UINT16_MAX;
	}
	to[0] = number;
	memcpy(to + 1, &at, 4);
	memcpy(to + 5, &cut, 2);
	return EDIT_HEAD + to[7];
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
	struct edit e;
	size_t at = 1, n;
	uint8_t command;

	if (max_size < 100)
		return LLVMFuzzerMutate(data, size, max_size);
	if (size < 1 || random_below(&seed, 16) == 0)
		data[0] = random_below(&seed, COMMANDS);
	command = data[0] % COMMANDS;
	size = size < 1 ? 1 : size;
	switch (random_below(&seed, 8)) {
	case 0: // the first edit out
		n = edit_read(data + at, size - at, &e);
		memmove(data + at, data + at + n, size - at - n);
		return size - n;
	case 1: // the bytes of one
		do
			n = edit_read(data + at, size - at, &e);
		while (n && random_below(&seed, 2) && (at += n) < size);
		n = at < size ? edit_read(data + at, size - at, &e) : 0;
		if (n && e.n)
			LLVMFuzzerMutate(data + at + EDIT_HEAD, e.n, e.n);
		return size;
	case 2:
		return LLVMFuzzerMutate(data, size, max_size);
	default:
		for (unsigned k = 1 + random_below(&seed, 3); k; k--)
			if (size + EDIT_HEAD + EDIT_MAX <= max_size)
				size += make_edit(data + size, &seed, command);
		return size;
	}
}
