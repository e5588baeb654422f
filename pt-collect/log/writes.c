// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Memory gathered for an event. Its bytes move while more is added, so a write holds an
 * offset until the event is complete.
 */
#define LOG_ROOM "record"
#include <string.h>

#include "pt-collect/log/writes.h"

bool ptc_writes_add(struct ptc_writes *w, uint64_t addr, const void *data, size_t size)
{
	size_t at = w->data.size;
	struct cap_write *one;

	if (vec_reserve(&w->data, at + size + 1))
		return false;
	memcpy(w->data.data + at, data, size);
	one = vec_push(&w->list);
	if (!one)
		return false;
	w->data.size += size;
	*one = (struct cap_write){ .addr = addr,
				   .size = size,
				   .data = (const uint8_t *)(uintptr_t)at };
	return true;
}

void ptc_writes_move(struct ptc_writes *w, struct ptc_writes *from)
{
	for (size_t i = 0; i < from->list.size; i++) {
		const struct cap_write *one = &from->list.data[i];

		ptc_writes_add(w, one->addr, from->data.data + (uintptr_t)one->data,
			       one->size);
	}
	ptc_writes_clear(from);
}

void ptc_writes_give(struct ptc_writes *w, struct cap_event *ev)
{
	for (size_t i = 0; i < w->list.size; i++)
		w->list.data[i].data = w->data.data + (uintptr_t)w->list.data[i].data;
	ev->writes = w->list.data;
	ev->n_writes = w->list.size;
}

void ptc_writes_clear(struct ptc_writes *w)
{
	w->data.size = w->list.size = 0;
}

void ptc_writes_deinit(struct ptc_writes *w)
{
	vec_deinit(&w->data);
	vec_deinit(&w->list);
}
