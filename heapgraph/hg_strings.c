// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "heapgraph/hg_strings.h"

#include <string.h>

/* Where reading from a pointer ends. */
enum extent {
	NONE,
	ALL,	    ///< at the limit
	COUNTED,    ///< at element number rax
	FOUND,	    ///< where rax points to; when that is NULL, as TEXT, or at the limit
	TEXT,	    ///< at the terminator
	ORDER,	    ///< at the first difference from the other, or the terminator
	DIFFERENCE, ///< at the first difference from the other
};

/* What is read. */
enum unit { BYTES, CASELESS, WIDE };

enum { ANY = 0 };

struct function {
	const char *name;
	enum extent extent[HG_STRING_READS]; ///< of the first and second argument
	uint8_t limit; ///< register with the most elements that may be read, or ANY
	enum unit unit;
};

/* Whatever it calls for that, it deals with so many bytes; or with text, which may be shorter than it
 * is told that there is room for. */
struct filler {
	const char *name;
	uint8_t limit; ///< register with how many elements, or ANY: text
	uint8_t times; ///< register with the bytes of an element, or ANY
};

static const struct function functions[] = {
	{ "memcpy", { NONE, ALL }, CAP_RDX, BYTES },
	{ "__memcpy_chk", { NONE, ALL }, CAP_RDX, BYTES },
	{ "memmove", { NONE, ALL }, CAP_RDX, BYTES },
	{ "__memmove_chk", { NONE, ALL }, CAP_RDX, BYTES },
	{ "mempcpy", { NONE, ALL }, CAP_RDX, BYTES },
	{ "__mempcpy", { NONE, ALL }, CAP_RDX, BYTES },
	{ "__mempcpy_chk", { NONE, ALL }, CAP_RDX, BYTES },
	{ "memcmp", { DIFFERENCE, DIFFERENCE }, CAP_RDX, BYTES },
	{ "bcmp", { DIFFERENCE, DIFFERENCE }, CAP_RDX, BYTES },
	{ "__memcmpeq", { DIFFERENCE, DIFFERENCE }, CAP_RDX, BYTES },
	{ "memchr", { FOUND, NONE }, CAP_RDX, BYTES },
	{ "memrchr", { ALL, NONE }, CAP_RDX, BYTES },
	{ "rawmemchr", { FOUND, NONE }, ANY, BYTES },
	{ "__rawmemchr", { FOUND, NONE }, ANY, BYTES },
	{ "strlen", { COUNTED, NONE }, ANY, BYTES },
	{ "strnlen", { COUNTED, NONE }, CAP_RSI, BYTES },
	{ "strcpy", { NONE, TEXT }, ANY, BYTES },
	{ "stpcpy", { NONE, TEXT }, ANY, BYTES },
	{ "__stpcpy", { NONE, TEXT }, ANY, BYTES },
	{ "strncpy", { NONE, TEXT }, CAP_RDX, BYTES },
	{ "stpncpy", { NONE, TEXT }, CAP_RDX, BYTES },
	{ "__stpncpy", { NONE, TEXT }, CAP_RDX, BYTES },
	{ "__strcpy_chk", { NONE, TEXT }, ANY, BYTES },
	{ "__stpcpy_chk", { NONE, TEXT }, ANY, BYTES },
	{ "__strncpy_chk", { NONE, TEXT }, CAP_RDX, BYTES },
	{ "__stpncpy_chk", { NONE, TEXT }, CAP_RDX, BYTES },
	{ "strcat", { TEXT, TEXT }, ANY, BYTES },
	{ "strncat", { TEXT, TEXT }, CAP_RDX, BYTES },
	{ "__strcat_chk", { TEXT, TEXT }, ANY, BYTES },
	{ "__strncat_chk", { TEXT, TEXT }, CAP_RDX, BYTES },
	{ "strcmp", { ORDER, ORDER }, ANY, BYTES },
	{ "strncmp", { ORDER, ORDER }, CAP_RDX, BYTES },
	{ "strcasecmp", { ORDER, ORDER }, ANY, CASELESS },
	{ "__strcasecmp", { ORDER, ORDER }, ANY, CASELESS },
	{ "strcasecmp_l", { ORDER, ORDER }, ANY, CASELESS },
	{ "__strcasecmp_l", { ORDER, ORDER }, ANY, CASELESS },
	{ "strncasecmp", { ORDER, ORDER }, CAP_RDX, CASELESS },
	{ "strncasecmp_l", { ORDER, ORDER }, CAP_RDX, CASELESS },
	{ "__strncasecmp_l", { ORDER, ORDER }, CAP_RDX, CASELESS },
	{ "strchr", { FOUND, NONE }, ANY, BYTES },
	{ "index", { FOUND, NONE }, ANY, BYTES },
	{ "strchrnul", { FOUND, NONE }, ANY, BYTES },
	{ "strrchr", { TEXT, NONE }, ANY, BYTES },
	{ "rindex", { TEXT, NONE }, ANY, BYTES },
	{ "strspn", { COUNTED, TEXT }, ANY, BYTES },
	{ "strcspn", { COUNTED, TEXT }, ANY, BYTES },
	{ "strpbrk", { FOUND, TEXT }, ANY, BYTES },
	{ "strstr", { FOUND, TEXT }, ANY, BYTES },
	{ "wcslen", { COUNTED, NONE }, ANY, WIDE },
	{ "wcsnlen", { COUNTED, NONE }, CAP_RSI, WIDE },
	{ "wcschr", { FOUND, NONE }, ANY, WIDE },
	{ "wcsrchr", { TEXT, NONE }, ANY, WIDE },
	{ "wcscpy", { NONE, TEXT }, ANY, WIDE },
	{ "wcscmp", { ORDER, ORDER }, ANY, WIDE },
	{ "wcsncmp", { ORDER, ORDER }, CAP_RDX, WIDE },
	{ "wmemchr", { FOUND, NONE }, CAP_RDX, WIDE },
	{ "wmemcmp", { DIFFERENCE, DIFFERENCE }, CAP_RDX, WIDE },
};

static const struct filler fillers[] = {
	{ "memset", CAP_RDX, ANY },
	{ "__memset_chk", CAP_RDX, ANY },
	{ "fread", CAP_RDX, CAP_RSI },
	{ "fread_unlocked", CAP_RDX, CAP_RSI },
	{ "__fread_chk", CAP_RCX, CAP_RDX },
	{ "fwrite", CAP_RDX, CAP_RSI },
	{ "fwrite_unlocked", CAP_RDX, CAP_RSI },
	{ "read", CAP_RDX, ANY },
	{ "__read_chk", CAP_RDX, ANY },
	{ "pread", CAP_RDX, ANY },
	{ "pread64", CAP_RDX, ANY },
	{ "recv", CAP_RDX, ANY },
	{ "recvfrom", CAP_RDX, ANY },
	{ "fgets", ANY, ANY },
	{ "fgets_unlocked", ANY, ANY },
	{ "__fgets_chk", ANY, ANY },
	{ "gets", ANY, ANY },
	{ "getcwd", ANY, ANY },
	{ "strftime", ANY, ANY },
	{ "sprintf", ANY, ANY },
	{ "vsprintf", ANY, ANY },
	{ "snprintf", ANY, ANY },
	{ "vsnprintf", ANY, ANY },
	{ "__sprintf_chk", ANY, ANY },
	{ "__vsprintf_chk", ANY, ANY },
	{ "__snprintf_chk", ANY, ANY },
	{ "__vsnprintf_chk", ANY, ANY },
	{ "scanf", ANY, ANY },
	{ "fscanf", ANY, ANY },
	{ "sscanf", ANY, ANY },
	{ "vfscanf", ANY, ANY },
	{ "vsscanf", ANY, ANY },
	{ "__isoc99_scanf", ANY, ANY },
	{ "__isoc99_fscanf", ANY, ANY },
	{ "__isoc99_sscanf", ANY, ANY },
	{ "__isoc99_vfscanf", ANY, ANY },
	{ "__isoc99_vsscanf", ANY, ANY },
};

#define N_FUNCTIONS (sizeof(functions) / sizeof(*functions))
#define N_FILLERS (sizeof(fillers) / sizeof(*fillers))

/* ---- names and entries ------------------------------------------------------------------ */

typedef size_t (*find_fn)(struct dec_symbols *s, const char *name, uint64_t *ret,
			  size_t max);

/* What @p find knows of function @p number, unless it is something already. */
static struct err *add_entries(struct hg_strings *st, struct dec_symbols *symbols,
			       uint32_t number, find_fn find, bool is_resolver)
{
	const char *name = number < N_FUNCTIONS ? functions[number].name :
						  fillers[number - N_FUNCTIONS].name;
	uint64_t entry[16];
	size_t n = find(symbols, name, entry, 16);

	for (size_t i = 0; i < n && i < 16; i++)
		if (!map_get(&st->entries, entry[i]) &&
		    map_put(&st->entries, entry[i], number << 1 | is_resolver))
			return &err_nomem;
	return NULL;
}

struct err *hg_strings_add(struct hg_strings *st, struct dec_symbols *symbols)
{
	struct err *err = NULL;

	for (uint32_t i = 0; i < N_FUNCTIONS + N_FILLERS && !err; i++) {
		err = add_entries(st, symbols, i, dec_symbols_resolvers, true);
		if (!err)
			err = add_entries(st, symbols, i, dec_symbols_entries, false);
	}
	return err;
}

/* What a guard looks for, where the reading ends: it may be later, then it doubts. */
static enum dec_hook_extent hook_extent(const struct function *f, size_t i)
{
	switch (f->extent[i]) {
	case NONE:
		return DEC_EXTENT_NONE;
	case ALL:
		return DEC_EXTENT_ALL;
	case FOUND:
		if (f->limit && f->unit == WIDE)
			return DEC_EXTENT_UNKNOWN;
		return f->limit || strstr(f->name, "rawmemchr") ? DEC_EXTENT_VALUE :
								  DEC_EXTENT_TEXT;
	case ORDER:
		return DEC_EXTENT_ORDER;
	case DIFFERENCE:
		return DEC_EXTENT_DIFFERENCE;
	default:
		return DEC_EXTENT_TEXT;
	}
}

/* Where does function @p f put the text that it reads? */
static enum dec_hook_copies copies_of(const struct function *f)
{
	if (strstr(f->name, "mempcpy"))
		return DEC_COPIES_ALL;
	if (f->extent[1] != TEXT || (f->extent[0] != NONE && f->extent[0] != TEXT))
		return DEC_COPIES_NONE;
	return f->extent[0] == TEXT ? DEC_COPIES_BEHIND : DEC_COPIES_TEXT;
}

static struct err *add_hooks(struct dec_symbols *symbols, const struct function *f,
			     uint8_t times, find_fn find, bool is_resolver, hg_hooks *ret)
{
	uint64_t entry[16];
	size_t n = find(symbols, f->name, entry, 16);
	struct err *err = NULL;

	for (size_t i = 0; i < n && i < 16 && !err; i++)
		err = vec_add(ret, (struct dec_hook){ .rip = entry[i],
						      .kind = DEC_HOOK_STRING,
						      .which = f->unit == CASELESS,
						      .extent = { hook_extent(f, 0),
								  hook_extent(f, 1) },
						      .limit = f->limit,
						      .times = times,
						      .copies = copies_of(f),
						      .width = f->unit == WIDE ? 4 : 1,
						      .is_resolver = is_resolver });
	return err;
}

static struct err *add_both(struct dec_symbols *symbols, const struct function *f,
			    uint8_t times, hg_hooks *ret)
{
	struct err *err = add_hooks(symbols, f, times, dec_symbols_resolvers, true, ret);

	return err ?: add_hooks(symbols, f, times, dec_symbols_entries, false, ret);
}

struct err *hg_strings_hooks(struct dec_symbols *symbols, hg_hooks *ret)
{
	struct err *err = NULL;

	for (uint32_t i = 0; i < N_FUNCTIONS && !err; i++)
		err = add_both(symbols, &functions[i], ANY, ret);
	for (uint32_t i = 0; i < N_FILLERS && !err; i++) {
		const struct function f = { .name = fillers[i].name,
					    .limit = fillers[i].limit };

		err = add_both(symbols, &f, fillers[i].times, ret);
	}
	return err;
}

void hg_strings_deinit(struct hg_strings *st)
{
	map_deinit(&st->entries);
}

void hg_string_call_deinit(struct hg_string_call *c)
{
	for (size_t i = 0; i < HG_STRING_READS; i++)
		vec_deinit(&c->read[i].bytes);
}

/* ---- one call --------------------------------------------------------------------------- */

static void enter_filler(struct hg_string_call *c, const struct filler *f,
			 const uint64_t regs[DEC_GPRS])
{
	uint64_t n = f->limit ? regs[f->limit] : 0;

	if (c->outer_rsp && regs[CAP_RSP] <= c->outer_rsp)
		return;
	c->outer_rsp = regs[CAP_RSP];
	c->outer_intent = n;
	c->outer_sets = strstr(f->name, "memset");
	if (f->times && __builtin_mul_overflow(n, regs[f->times], &c->outer_intent))
		c->outer_intent = UINT64_MAX;
}

bool hg_strings_enter(const struct hg_strings *st, struct hg_string_call *c, uint64_t rip,
		      const uint64_t regs[DEC_GPRS])
{
	const uint64_t *entry = map_get(&st->entries, rip);
	const struct function *f;

	if (!entry)
		return false;
	if (*entry >> 1 >= N_FUNCTIONS && !(*entry & 1)) {
		enter_filler(c, &fillers[(*entry >> 1) - N_FUNCTIONS], regs);
		return false;
	}
	c->rsp = regs[CAP_RSP];
	c->function = *entry >> 1;
	c->is_resolver = *entry & 1;
	c->pc = rip;
	c->watched = 0;
	f = &functions[c->is_resolver ? 0 : c->function];
	c->limit = f->limit ? regs[f->limit] : UINT64_MAX;
	c->intent = f->limit && f->extent[1] != TEXT ? c->limit : 0;
	for (size_t i = 0; i < HG_STRING_READS; i++) {
		c->read[i].start = i ? regs[CAP_RSI] : regs[CAP_RDI];
		c->read[i].derivation = 0;
		c->read[i].room = 0;
		c->read[i].bytes.size = 0;
	}
	return true;
}

/* Does it depend on what is read, where the reading of a call ends? */
static bool is_scanned(const struct function *f)
{
	for (size_t i = 0; i < HG_STRING_READS; i++)
		if (f->extent[i] > COUNTED && (f->extent[i] != FOUND || !f->limit))
			return true;
	return false;
}

void hg_string_call_read(struct hg_string_call *c, size_t i, uint32_t derivation,
			 uint64_t room)
{
	if (c->is_resolver || functions[c->function].extent[i] == NONE)
		return;
	c->read[i].derivation = derivation;
	c->read[i].room = room;
	if (room > c->watched && is_scanned(&functions[c->function]))
		c->watched = room;
}

bool hg_string_call_copies(const struct hg_string_call *c)
{
	const struct function *f = &functions[c->function];

	return !c->is_resolver && f->extent[0] == NONE && f->extent[1] == ALL;
}

/* Bytes @p at to @p at + @p n of the pointer's were loaded. */
static struct err *keep(struct hg_string_read *read, uint64_t at, const uint8_t *value,
			uint64_t n)
{
	if (at + n > read->bytes.size) {
		if (vec_reserve(&read->bytes, at + n))
			return &err_nomem;
		memset(read->bytes.data + read->bytes.size, 0,
		       (at + n - read->bytes.size) * sizeof(*read->bytes.data));
		read->bytes.size = at + n;
	}
	for (uint64_t i = 0; i < n; i++)
		if (!read->bytes.data[at + i]) // strcat writes behind what it has read
			read->bytes.data[at + i] = value[i] + 1;
	return NULL;
}

struct err *hg_string_call_load(struct hg_string_call *c, const struct dec_ref *r)
{
	struct err *err = NULL;

	for (size_t i = 0; i < HG_STRING_READS && !err && r->has_value; i++) {
		uint64_t start = c->read[i].start, end = start + c->watched;
		uint64_t from = r->addr > start ? r->addr : start;
		uint64_t to = r->addr + r->size < end ? r->addr + r->size : end;

		if (from < to)
			err = keep(&c->read[i], from - start, r->value + (from - r->addr),
				   to - from);
	}
	return err;
}

struct err *hg_strings_leave(struct hg_strings *st, struct hg_string_call *c,
			     uint64_t rax)
{
	c->rsp = 0;
	if (c->is_resolver && map_put(&st->entries, rax, c->function << 1))
		return &err_nomem;
	return NULL;
}

/* ---- where its reading ends ------------------------------------------------------------- */

/* @return element @p at of read @p i, of @p width bytes, + 1; 0: it was not loaded. */
static uint64_t element(const struct hg_string_read *read, uint64_t at, uint32_t width)
{
	uint64_t value = 0;

	for (uint32_t i = 0; i < width; i++) {
		uint64_t k = at * width + i;

		if (k >= read->bytes.size || !read->bytes.data[k])
			return 0;
		value |= (uint64_t)(read->bytes.data[k] - 1) << 8 * i;
	}
	return value + 1;
}

/* Letters of either case are the same. So may be other bytes, in some language: they are
 * taken as different, which ends the reading earlier. */
static uint64_t fold(uint64_t element)
{
	return element > 'A' && element <= 'Z' + 1 ? element + 'a' - 'A' : element;
}

/* Does reading end at element @p at, which is @p value, of read @p i? */
static bool is_last(const struct hg_string_call *c, size_t i, uint64_t at, uint64_t value,
		    uint32_t width)
{
	const struct function *f = &functions[c->function];
	enum extent extent = f->extent[i];
	uint64_t other;

	if (value == 1 && extent != DIFFERENCE)
		return true;
	if (extent != ORDER && extent != DIFFERENCE)
		return false;
	other = element(&c->read[!i], at, width);
	if (f->unit == CASELESS)
		return fold(value) != fold(other);
	return value != other;
}

/* How far read @p i went, element by element. What it did not load it did not mean to
 * read, and what it loaded counts up to the end. */
static uint64_t scan(const struct hg_string_call *c, size_t i, uint32_t width)
{
	for (uint64_t at = 0; at < c->limit; at++) {
		uint64_t value;

		if ((at + 1) * width > c->watched)
			return (at + 1) * width;
		value = element(&c->read[i], at, width);
		if (!value)
			return at * width;
		if (is_last(c, i, at, value, width))
			return (at + 1) * width;
	}
	return c->limit * width;
}

/* .. text alone, before the terminator, whatever the limit is. */
static uint64_t length_of(const struct hg_string_call *c, size_t i, uint32_t width)
{
	uint64_t at = 0;

	while ((at + 1) * width <= c->watched && element(&c->read[i], at, width) > 1)
		at++;
	return at * width;
}

static uint64_t bytes_of(uint64_t elements, uint32_t width)
{
	return elements > UINT64_MAX / width ? UINT64_MAX : elements * width;
}

uint64_t hg_string_call_reach(const struct hg_string_call *c, size_t i, uint64_t rax)
{
	const struct function *f = &functions[c->function];
	uint32_t width = f->unit == WIDE ? 4 : 1;

	switch (f->extent[i]) {
	case ALL:
		return bytes_of(c->limit, width);
	case COUNTED:
		return bytes_of(rax < c->limit ? rax + 1 : c->limit, width);
	case FOUND:
		if (rax)
			return rax - c->read[i].start + width;
		if (f->limit)
			return bytes_of(c->limit, width);
		return scan(c, i, width);
	case NONE:
		return 0;
	default:
		return scan(c, i, width);
	}
}

/* ---- what it copies --------------------------------------------------------------------- */

const char *hg_string_call_copies_text(const struct hg_string_call *c)
{
	const struct function *f = &functions[c->function];

	return !c->is_resolver && copies_of(f) ? f->name : NULL;
}

#define APART_MOST (UINT64_C(1) << 24) // text that long is not followed

/* How far are its arguments from one another? */
static uint64_t apart_of(const struct hg_string_call *c)
{
	uint64_t to = c->read[0].start, from = c->read[1].start;

	return to > from ? to - from : from - to;
}

void hg_string_call_watch_copy(struct hg_string_call *c)
{
	uint64_t apart = apart_of(c);

	if (hg_string_call_copies_text(c) && apart > c->watched && apart <= APART_MOST)
		c->watched = apart;
}

bool hg_string_call_copied(const struct hg_string_call *c, uint64_t *reads,
			   uint64_t *writes)
{
	const struct function *f = &functions[c->function];
	uint32_t width = f->unit == WIDE ? 4 : 1;

	if (apart_of(c) > APART_MOST)
		return false;
	*reads = *writes = bytes_of(c->limit, width);
	if (copies_of(f) == DEC_COPIES_ALL)
		return apart_of(c) > 0;
	*reads = scan(c, 1, width);
	if (copies_of(f) == DEC_COPIES_BEHIND)
		*writes = *reads + length_of(c, 0, width);
	else if (!f->limit)
		*writes = *reads;
	return *reads > 0;
}
