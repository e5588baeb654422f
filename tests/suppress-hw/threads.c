// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Seven errors after the kinds of paper 003, Table 6.1; argv[1] says which. Two threads each; where a
 * schedule is needed, they sleep. The line that is to be named has its kind behind it.
 */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LONG \
	"a text that is longer than what was set aside for it: 0123456789 0123456789 0123456789"

static pthread_barrier_t both;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* apache 2.0.48: a buffer's count is written behind the buffer, and nothing guards the two. */
static char log_buffer[64];
static int log_count;

static void *apache(void *second)
{
	memcpy(log_buffer + log_count, second ? "[two]" : "[one]", 5);
	usleep(second ? 300000 : 900000);
	log_count += 5; // apache
	usleep(600000);
	if (!second)
		assert(log_buffer[log_count - 1]);
	return NULL;
}

/* mysqld 3.23.56, 1: the order of a log is not that of what it tells of. */
static long table_last, log_last;

static long number(void *second)
{
	return second ? 2 : 1;
}

static void *mysql_order(void *second)
{
	usleep(second ? 300000 : 0);
	table_last = number(second);
	usleep(second ? 0 : 900000);
	log_last = number(second); // order
	usleep(second ? 1500000 : 0);
	if (second)
		assert(log_last == table_last);
	return NULL;
}

/* mysqld 3.23.56, 2: a log is closed and opened again, and another one looks meanwhile. */
static struct {
	int is_open;
} log_file = { 1 }, *the_log = &log_file;

static void *mysql_closed(void *second)
{
	if (second) {
		usleep(300000);
		assert(the_log->is_open);
		return NULL;
	}
	the_log->is_open = 0; // closed
	usleep(900000);
	the_log->is_open = 1;
	return NULL;
}

/* mysqld 3.23.56, 3: nobody chose a database. */
static char *database;

static void *mysql_none(void *second)
{
	char *chosen;

	pthread_mutex_lock(&lock);
	if (!second)
		database = NULL; // none
	pthread_mutex_unlock(&lock);
	usleep(second ? 300000 : 0);
	pthread_mutex_lock(&lock);
	chosen = database;
	pthread_mutex_unlock(&lock);
	if (second)
		printf("%zu\n", strlen(chosen));
	return NULL;
}

/* prozilla 1.3.5.1, 1: a text is copied into too small a place. */
static void parse(const char *text)
{
	char place[16];

	strncpy(place, text, strlen(text)); // strncpy
}

static void *prozilla_copy(void *second)
{
	if (second)
		parse(LONG);
	return NULL;
}

/* prozilla 1.3.5.1, 2: so is one that is printed. */
static void headers(const char *text)
{
	char *end = "";
	char place[16];

	sprintf(place, "GET %s", text); // sprintf
	*end;
}

static void *prozilla_print(void *second)
{
	if (second)
		headers(LONG);
	return NULL;
}

/* axel 1.0a: and one that is scanned. */
static void scan(const char *text)
{
	char place[16];

	sscanf(text, "%[^:]", place); // sscanf
}

static void *axel(void *second)
{
	if (second)
		scan(LONG);
	return NULL;
}

static const struct kind {
	const char *name;
	void *(*run)(void *second);
} kinds[] = { { "apache", apache },
	      { "order", mysql_order },
	      { "closed", mysql_closed },
	      { "none", mysql_none },
	      { "strncpy", prozilla_copy },
	      { "sprintf", prozilla_print },
	      { "sscanf", axel } };

static const struct kind *kind;

static void *start(void *second)
{
	pthread_barrier_wait(&both);
	return kind->run(second);
}

int main(int argc, char **argv)
{
	pthread_t thread[2];

	pthread_barrier_init(&both, NULL, 2);
	for (size_t i = 0; argc > 1 && i < sizeof(kinds) / sizeof(*kinds); i++) {
		if (strcmp(kinds[i].name, argv[1]))
			continue;
		kind = &kinds[i];
		for (long k = 0; k < 2; k++)
			pthread_create(&thread[k], NULL, start, (void *)k);
		for (int k = 0; k < 2; k++)
			pthread_join(thread[k], NULL);
	}
	return 0;
}
