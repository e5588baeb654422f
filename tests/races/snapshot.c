// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Bug: after Mozilla's nsTextFrame (Lu et al. 2008, figure 4): a text's place and its
 * length belong together, and are written and read without a lock (atomicity violation,
 * two variables, window of one instruction).
 * Races: `text = ...; length = ...` in edit() against the two reads in paint().
 * Failure: a length that is not the text's: assertion.
 */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define EDITS 2000
#define PAINTS 500

static const char *volatile text = "short";
static volatile size_t length = 5;

static void *edit(void *arg)
{
	static const char *const versions[] = { "short", "a longer text" };

	(void)arg;
	for (int i = 0; i < EDITS; i++) {
		const char *t = versions[i & 1];
		size_t n = strlen(t);

		text = t;
		length = n;
	}
	return NULL;
}

static void *paint(void *arg)
{
	(void)arg;
	for (int i = 0; i < PAINTS; i++) {
		const char *t = text;
		size_t n = length;

		assert(strlen(t) == n);
	}
	return NULL;
}

int main(void)
{
	pthread_t editor, painter;

	pthread_create(&editor, NULL, edit, NULL);
	pthread_create(&painter, NULL, paint, NULL);
	pthread_join(editor, NULL);
	pthread_join(painter, NULL);
	printf("%s\n", text);
	return 0;
}
