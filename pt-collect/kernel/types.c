// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Where this kernel has the fields that record.bpf.c reads.
 *
 * libbpf relocates by all of the kernel's types, some 150,000, of which it looks at each many
 * times. Our programs read the few below. They are copied into BTF of their own: with each of
 * their members, but of its type only what relocation compares, its kind and size.
 */
#define LOG_ROOM "record"
#include <bpf/btf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "pt-collect/kernel/types.h"

#define KERNEL_TYPES "/sys/kernel/btf/vmlinux"
#define CALL_END "btf_trace_sys_exit"
#define CAST "bpf_rdonly_cast"
#define WORDS "timespec64"

/** Others make loading fail: "no matching targets found". */
static const char *const wanted[] = {
	"task_struct",	  "thread_struct", "thread_info", "signal_struct",
	"sigpending",	  "pt_regs",	   "uprobe_task", "futex_sched_data",
	"files_struct",	  "fdtable",	   "file",	  "address_space",
	"rb_root_cached", "rb_root",	   "inode",	  "super_block",
	"vm_area_struct", "proc_inode",	   "pid",	  "upid",
	"sighand_struct", "k_sigaction",   "mm_struct"
};

/** Numbers of our types; then come the copies, then arrays. */
enum { TYPE_POINTER = 1, TYPE_OTHER, TYPE_INT, TYPE_FIRST = TYPE_INT + 5 };

struct array {
	uint32_t of, n;
};

struct types {
	const uint8_t *data; ///< the kernel's
	size_t size;
	const struct btf_header *head;
	struct ptc_numbers numbers;
	VEC(const struct btf_type *) all;    ///< by number
	VEC(const struct btf_type *) copied; ///< structures, by their numbers
	VEC(struct array) arrays;
	struct btf *made;
};

static const char *name_of(const struct types *t, uint32_t offset)
{
	const char *strings = (const char *)t->data + t->head->hdr_len + t->head->str_off;

	return offset < t->head->str_len ? strings + offset : "";
}

/** Bytes behind a type's head; -1: unknown to us. */
static int tail_bytes(const struct btf_type *t)
{
	int n = btf_vlen(t);

	switch (btf_kind(t)) {
	case BTF_KIND_INT:
	case BTF_KIND_VAR:
	case BTF_KIND_DECL_TAG:
		return 4;
	case BTF_KIND_ARRAY:
		return sizeof(struct btf_array);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		return n * sizeof(struct btf_member);
	case BTF_KIND_ENUM:
		return n * sizeof(struct btf_enum);
	case BTF_KIND_FUNC_PROTO:
		return n * sizeof(struct btf_param);
	case BTF_KIND_DATASEC:
		return n * sizeof(struct btf_var_secinfo);
	case BTF_KIND_ENUM64:
		return n * sizeof(struct btf_enum64);
	case BTF_KIND_PTR:
	case BTF_KIND_FWD:
	case BTF_KIND_TYPEDEF:
	case BTF_KIND_VOLATILE:
	case BTF_KIND_CONST:
	case BTF_KIND_RESTRICT:
	case BTF_KIND_FUNC:
	case BTF_KIND_FLOAT:
	case BTF_KIND_TYPE_TAG:
		return 0;
	}
	return -1;
}

static bool is_wanted(const struct types *t, const struct btf_type *type)
{
	const char *name = name_of(t, type->name_off);

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		if (!strcmp(name, wanted[i]))
			return true;
	return false;
}

/** What libbpf compares names with is what is behind typedefs and qualifiers. */
static const struct btf_type *resolve(const struct types *t, uint32_t number)
{
	for (int depth = 0; number && number < t->all.size && depth < 32; depth++) {
		const struct btf_type *type = t->all.data[number];

		if (!btf_is_mod(type) && !btf_is_typedef(type))
			return type;
		number = type->type;
	}
	return NULL;
}

/** @return its place among the copied, or -1. */
static long place_of(const struct types *t, const struct btf_type *type)
{
	for (size_t i = 0; i < t->copied.size; i++)
		if (t->copied.data[i] == type)
			return i;
	return -1;
}

static bool copy_later(struct types *t, const struct btf_type *type)
{
	const struct btf_type **slot = vec_push(&t->copied);

	if (slot)
		*slot = type;
	return slot;
}

/** It is the last of all so far. */
static void note_number(struct types *t, const struct btf_type *type)
{
	const char *name = name_of(t, type->name_off);
	uint32_t number = t->all.size - 1;

	if (btf_is_typedef(type) && !strcmp(name, CALL_END))
		t->numbers.call_end = number;
	else if (btf_is_func(type) && !strcmp(name, CAST))
		t->numbers.cast = number;
	else if (btf_is_struct(type) && !strcmp(name, WORDS))
		t->numbers.words = number;
}

/** Number all types; the wanted structures are to be copied. */
static bool read_types(struct types *t)
{
	const uint8_t *at = t->data + t->head->hdr_len + t->head->type_off;
	const uint8_t *end = at + t->head->type_len;
	const struct btf_type **slot = vec_push(&t->all); // void

	if (!slot)
		return false;
	*slot = NULL;
	while ((size_t)(end - at) >= sizeof(struct btf_type)) {
		const struct btf_type *type = (const struct btf_type *)at;
		int tail = tail_bytes(type);

		slot = vec_push(&t->all);
		if (tail < 0 || !slot)
			return false;
		*slot = type;
		if (btf_kind(type) == BTF_KIND_STRUCT && is_wanted(t, type) &&
		    !copy_later(t, type))
			return false;
		note_number(t, type);
		at += sizeof(*type) + tail;
	}
	return at == end;
}

/** Members without a name, or of a type without one, are part of their structure. */
static bool add_nameless(struct types *t)
{
	for (size_t i = 0; i < t->copied.size; i++) {
		const struct btf_type *type = t->copied.data[i];

		for (int k = 0; k < btf_vlen(type); k++) {
			const struct btf_type *of = resolve(t, btf_members(type)[k].type);

			if (of && btf_is_composite(of) && !of->name_off &&
			    place_of(t, of) < 0 && !copy_later(t, of))
				return false;
		}
	}
	return true;
}

/** The number that stands for the kernel's type @p number. */
static int stand_in(struct types *t, uint32_t number)
{
	const struct btf_type *type = resolve(t, number);
	struct array *array;
	long place;
	int element;

	if (!type)
		return TYPE_OTHER;
	switch (btf_kind(type)) {
	case BTF_KIND_PTR:
		return TYPE_POINTER;
	case BTF_KIND_INT:
	case BTF_KIND_ENUM:
		return type->size && type->size <= 16 ?
			       TYPE_INT + __builtin_ctz(type->size) :
			       TYPE_OTHER;
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		place = place_of(t, type);
		return place < 0 ? TYPE_OTHER : TYPE_FIRST + (int)place;
	case BTF_KIND_ARRAY:
		element = stand_in(t, btf_array(type)->type);
		array = vec_push(&t->arrays);
		if (!array)
			return TYPE_OTHER;
		*array = (struct array){ element, btf_array(type)->nelems };
		return TYPE_FIRST + (int)(t->copied.size + t->arrays.size - 1);
	}
	return TYPE_OTHER;
}

static bool make_copy(struct types *t, const struct btf_type *type)
{
	const char *name = name_of(t, type->name_off);
	int id = btf_is_union(type) ? btf__add_union(t->made, name, type->size) :
				      btf__add_struct(t->made, name, type->size);

	for (int i = 0; id > 0 && i < btf_vlen(type); i++) {
		const struct btf_member *m = &btf_members(type)[i];

		if (btf__add_field(t->made, name_of(t, m->name_off), stand_in(t, m->type),
				   btf_member_bit_offset(type, i),
				   btf_member_bitfield_size(type, i)))
			return false;
	}
	return id > 0;
}

static bool make(struct types *t)
{
	bool is_ok = btf__add_ptr(t->made, 0) == TYPE_POINTER &&
		     btf__add_struct(t->made, "other", 0) == TYPE_OTHER;

	for (int shift = 0; is_ok && shift < 5; shift++) {
		char name[8];

		snprintf(name, sizeof(name), "int%d", 8 << shift);
		is_ok = btf__add_int(t->made, name, 1 << shift, 0) == TYPE_INT + shift;
	}
	for (size_t i = 0; is_ok && i < t->copied.size; i++)
		is_ok = make_copy(t, t->copied.data[i]);
	for (size_t i = 0; is_ok && i < t->arrays.size; i++)
		is_ok = btf__add_array(t->made, TYPE_INT + 2, t->arrays.data[i].of,
				       t->arrays.data[i].n) > 0;
	return is_ok;
}

/** Since Linux 6.16 it can be mapped; else it is read, a page at a time. */
static const uint8_t *map_kernel_types(size_t *size)
{
	_cleanup_close_ int fd = open(KERNEL_TYPES, O_RDONLY | O_CLOEXEC);
	size_t done = 0;
	struct stat st;
	uint8_t *at;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) || !st.st_size)
		return NULL;
	*size = st.st_size;
	at = mmap(NULL, *size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (at != MAP_FAILED)
		return at;
	at = mmap(NULL, *size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		  0);
	if (at == MAP_FAILED)
		return NULL;
	while ((n = read(fd, at + done, *size - done)) > 0)
		done += n;
	if (done == *size)
		return at;
	munmap(at, *size);
	return NULL;
}

static bool has_sections(const struct types *t)
{
	const struct btf_header *h = t->head;

	return t->size >= sizeof(*h) && h->magic == BTF_MAGIC && h->version == 1 &&
	       (uint64_t)h->hdr_len + h->type_off + h->type_len <= t->size &&
	       (uint64_t)h->hdr_len + h->str_off + h->str_len <= t->size && h->str_len &&
	       !name_of(t, h->str_len - 1)[0];
}

static void types_deinit(struct types *t)
{
	if (t->data)
		munmap((void *)t->data, t->size);
	vec_deinit(&t->all);
	vec_deinit(&t->copied);
	vec_deinit(&t->arrays);
	btf__free(t->made);
}

int ptc_types_open(struct ptc_numbers *numbers)
{
	_cleanup_(types_deinit) struct types t = {};
	_cleanup_close_ int fd = -1;
	const void *raw;
	uint32_t size;

	*numbers = (struct ptc_numbers){};
	t.data = map_kernel_types(&t.size);
	t.head = (const struct btf_header *)t.data;
	if (!t.data || !has_sections(&t) || !read_types(&t) || !add_nameless(&t))
		return -1;
	t.made = btf__new_empty();
	raw = t.made && make(&t) ? btf__raw_data(t.made, &size) : NULL;
	fd = raw ? memfd_create("types", MFD_CLOEXEC) : -1;
	if (fd < 0 || write(fd, raw, size) != (ssize_t)size)
		return -1;
	*numbers = t.numbers;
	return take_fd(&fd);
}
