// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The objects that are built in, and what their operations are called.
 */
#include <string.h>

#include "faultlocate/linear/machine.h"

static const char *const kinds[LIN_OBJECTS] = {
	[LIN_REGISTER] = "register",
	[LIN_COUNTER] = "counter",
	[LIN_SET] = "set",
	[LIN_MAP] = "map",
	[LIN_QUEUE] = "queue",
	[LIN_STACK] = "stack",
	[LIN_PRIORITY] = "priority-queue",
	[LIN_MUTEX] = "mutex",
	[LIN_MACHINE] = "machine",
};

/* The first name of what is done by an object is the one that is shown. */
static const struct operation {
	enum fl_lin_object_kind kind;
	const char *name;
	enum fl_lin_does does;
	unsigned args;
} operations[] = {
	{ LIN_REGISTER, "read", LIN_READ, 0 },
	{ LIN_REGISTER, "write", LIN_WRITE, 1 },
	{ LIN_REGISTER, "cas", LIN_CAS, 2 },
	{ LIN_REGISTER, "load", LIN_READ, 0 },
	{ LIN_REGISTER, "store", LIN_WRITE, 1 },
	{ LIN_COUNTER, "add", LIN_ADD, 1 },
	{ LIN_COUNTER, "read", LIN_READ, 0 },
	{ LIN_SET, "add", LIN_SET_ADD, 1 },
	{ LIN_SET, "remove", LIN_SET_REMOVE, 1 },
	{ LIN_SET, "contains", LIN_SET_CONTAINS, 1 },
	{ LIN_SET, "insert", LIN_SET_ADD, 1 },
	{ LIN_SET, "delete", LIN_SET_REMOVE, 1 },
	{ LIN_SET, "find", LIN_SET_CONTAINS, 1 },
	{ LIN_MAP, "put", LIN_PUT, 2 },
	{ LIN_MAP, "get", LIN_GET, 1 },
	{ LIN_MAP, "remove", LIN_REMOVE, 1 },
	{ LIN_MAP, "cas", LIN_CAS, 3 },
	{ LIN_MAP, "append", LIN_APPEND, 2 },
	{ LIN_MAP, "write", LIN_PUT, 2 },
	{ LIN_MAP, "read", LIN_GET, 1 },
	{ LIN_MAP, "delete", LIN_REMOVE, 1 },
	{ LIN_QUEUE, "enqueue", LIN_PUSH, 1 },
	{ LIN_QUEUE, "dequeue", LIN_POP, 0 },
	{ LIN_QUEUE, "peek", LIN_PEEK, 0 },
	{ LIN_QUEUE, "enq", LIN_PUSH, 1 },
	{ LIN_QUEUE, "deq", LIN_POP, 0 },
	{ LIN_STACK, "push", LIN_PUSH, 1 },
	{ LIN_STACK, "pop", LIN_POP, 0 },
	{ LIN_STACK, "peek", LIN_PEEK, 0 },
	{ LIN_STACK, "top", LIN_PEEK, 0 },
	{ LIN_PRIORITY, "insert", LIN_PUSH, 1 },
	{ LIN_PRIORITY, "delete-min", LIN_POP, 0 },
	{ LIN_PRIORITY, "peek", LIN_PEEK, 0 },
	{ LIN_PRIORITY, "delete_min", LIN_POP, 0 },
	{ LIN_PRIORITY, "push", LIN_PUSH, 1 },
	{ LIN_PRIORITY, "pop", LIN_POP, 0 },
	{ LIN_MUTEX, "lock", LIN_LOCK, 0 },
	{ LIN_MUTEX, "try-lock", LIN_TRY_LOCK, 0 },
	{ LIN_MUTEX, "unlock", LIN_UNLOCK, 0 },
	{ LIN_MUTEX, "try_lock", LIN_TRY_LOCK, 0 },
	{ LIN_MUTEX, "acquire", LIN_LOCK, 0 },
	{ LIN_MUTEX, "release", LIN_UNLOCK, 0 },
};

#define N_OPERATIONS (sizeof(operations) / sizeof(*operations))

const char *fl_lin_object_name(const struct fl_lin_object *o)
{
	return o->kind == LIN_MACHINE ? o->machine->name : kinds[o->kind];
}

bool fl_lin_object_find(const char *name, struct fl_lin_object *ret)
{
	for (int i = 0; i < LIN_MACHINE; i++) {
		if (strcmp(name, kinds[i]))
			continue;
		*ret = (struct fl_lin_object){ .kind = i, .initial = LIN_ANY };
		return true;
	}
	return false;
}

bool fl_lin_object_take(const struct spec_object *written, struct fl_lin_object *ret)
{
	if (written->is_machine) {
		*ret = (struct fl_lin_object){ .kind = LIN_MACHINE, .machine = written };
		return true;
	}
	if (!fl_lin_object_find(written->name, ret))
		return false;
	if (written->has_initial)
		ret->initial = written->initial;
	return true;
}

static const struct operation *first_of(const struct fl_lin_object *o, int does)
{
	for (size_t i = 0; i < N_OPERATIONS; i++)
		if (operations[i].kind == o->kind && (int)operations[i].does == does)
			return &operations[i];
	return NULL;
}

int fl_lin_object_operation(const struct fl_lin_object *o, const char *name, size_t n)
{
	if (o->kind == LIN_MACHINE) {
		int i = fl_lin_machine_operation(o->machine, name, n);

		return i < 0 ? -1 : LIN_STEP + i;
	}
	for (size_t i = 0; i < N_OPERATIONS; i++)
		if (operations[i].kind == o->kind && strlen(operations[i].name) == n &&
		    !memcmp(operations[i].name, name, n))
			return operations[i].does;
	return -1;
}

const char *fl_lin_does_name(const struct fl_lin_object *o, int does)
{
	return does >= LIN_STEP ? fl_lin_machine_name(o->machine, does - LIN_STEP) :
				  first_of(o, does)->name;
}

unsigned fl_lin_does_args(const struct fl_lin_object *o, int does)
{
	return does >= LIN_STEP ? fl_lin_machine_args(o->machine, does - LIN_STEP) :
				  first_of(o, does)->args;
}

void fl_lin_object_operations(const struct fl_lin_object *o, char *buf, size_t size)
{
	FILE *f = fmemopen(buf, size, "w");
	int last = -1;

	buf[0] = 0;
	if (!f)
		return;
	if (o->kind == LIN_MACHINE) {
		const char *name;

		for (int i = 0; (name = fl_lin_machine_name(o->machine, i)); i++)
			fprintf(f, "%s%s", i ? ", " : "", name);
	}
	for (size_t i = 0; i < N_OPERATIONS; i++) {
		if (operations[i].kind != o->kind ||
		    &operations[i] != first_of(o, operations[i].does))
			continue;
		fprintf(f, "%s%s", last < 0 ? "" : ", ", operations[i].name);
		last = i;
	}
	fclose(f);
	buf[size - 1] = 0;
}

int64_t fl_lin_op_key(const struct fl_lin_object *o, const struct fl_lin_op *op)
{
	if (o->kind == LIN_MACHINE)
		return fl_lin_machine_key(o->machine, op);
	return o->kind == LIN_SET || o->kind == LIN_MAP ? op->arg[0] : LIN_NONE;
}

const char *fl_lin_op_text(const struct fl_lin_object *o, const struct fl_lin_values *v,
			   const struct fl_lin_op *op, char *buf, size_t size)
{
	char value[64];
	int n = snprintf(buf, size, "%s(", fl_lin_does_name(o, op->does));

	for (unsigned i = 0; i < fl_lin_does_args(o, op->does) && n < (int)size; i++)
		n += snprintf(buf + n, size - n, "%s%s", i ? ", " : "",
			      fl_lin_value_name(v, op->arg[i], value, sizeof(value)));
	if (n < (int)size)
		n += snprintf(buf + n, size - n, ")");
	if (n < (int)size && op->ret != LIN_NONE)
		snprintf(buf + n, size - n, " = %s",
			 op->ret == LIN_EMPTY ?
				 "empty" :
				 fl_lin_value_name(v, op->ret, value, sizeof(value)));
	return buf;
}
