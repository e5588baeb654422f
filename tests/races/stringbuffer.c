// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Bug: after java.lang.StringBuffer.append(StringBuffer). Length and characters of the
 * other buffer are fetched by two calls, each of which locks (atomicity violation).
 * Races: `buffer_length(from)` in append() against `b->length = 0` in buffer_truncate().
 * Failure: the "index out of bounds" that Java throws is an abort.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 300

struct buffer {
	pthread_mutex_t lock;
	size_t length;
	char text[256];
};

static struct buffer shared = { .lock = PTHREAD_MUTEX_INITIALIZER };

static size_t buffer_length(struct buffer *b)
{
	size_t length;

	pthread_mutex_lock(&b->lock);
	length = b->length;
	pthread_mutex_unlock(&b->lock);
	return length;
}

static void buffer_get(struct buffer *b, size_t length, char *to)
{
	pthread_mutex_lock(&b->lock);
	if (length > b->length)
		abort();
	memcpy(to, b->text, length);
	pthread_mutex_unlock(&b->lock);
}

static void buffer_truncate(struct buffer *b)
{
	pthread_mutex_lock(&b->lock);
	b->length = 0;
	pthread_mutex_unlock(&b->lock);
}

static void buffer_add(struct buffer *b, const char *text)
{
	pthread_mutex_lock(&b->lock);
	memcpy(b->text + b->length, text, strlen(text));
	b->length += strlen(text);
	pthread_mutex_unlock(&b->lock);
}

static void append(struct buffer *to, struct buffer *from)
{
	size_t length = buffer_length(from);

	buffer_get(from, length, to->text);
	to->length = length;
}

static void *read_it(void *arg)
{
	struct buffer copy = { .length = 0 };

	(void)arg;
	for (int i = 0; i < ROUNDS; i++)
		append(&copy, &shared);
	return NULL;
}

static void *write_it(void *arg)
{
	(void)arg;
	for (int i = 0; i < ROUNDS; i++) {
		buffer_add(&shared, "abc");
		buffer_add(&shared, "defghi");
		buffer_truncate(&shared);
	}
	return NULL;
}

int main(void)
{
	pthread_t reader, writer;

	pthread_create(&writer, NULL, write_it, NULL);
	pthread_create(&reader, NULL, read_it, NULL);
	pthread_join(writer, NULL);
	pthread_join(reader, NULL);
	puts("appended");
	return 0;
}
