// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
// FLAGS: -O0

/**
 * @file
 * indexes MODE [ROUNDS]: a parser of JSON that asks for a member that is not there, a skip
 * list with a node that was freed. Not optimised: all goes through frames.
 */
#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t seed = 77;

static uint32_t next_random(void)
{
	seed = seed * 1103515245 + 12345;
	return seed >> 16;
}

/* ---- json ---------------------------------------------------------------------------------- */

struct value {
	char *text, *name;
	struct value *first, *next;
	double number;
	int size;
};

static const char *at;

static void skip_space(void)
{
	while (isspace((unsigned char)*at))
		at++;
}

static char *spec_parse_text(void)
{
	size_t size = 8, n = 0;
	char *text = malloc(size);

	for (at++; *at && *at != '"'; at++) {
		if (n + 2 > size)
			text = realloc(text, size *= 2);
		text[n++] = *at;
	}
	at++;
	text[n] = 0;
	return text;
}

static struct value *parse(void);

static void parse_members(struct value *v, char end)
{
	struct value **last = &v->first;

	for (at++, skip_space(); *at != end; skip_space()) {
		char *name = end == '}' ? spec_parse_text() : NULL;

		skip_space();
		at += *at == ':';
		*last = parse();
		(*last)->name = name;
		last = &(*last)->next;
		v->size++;
		skip_space();
		at += *at == ',';
	}
	at++;
}

static struct value *parse(void)
{
	struct value *v = calloc(1, sizeof(*v));
	char *end;

	skip_space();
	if (*at == '{' || *at == '[') {
		parse_members(v, *at + 2);
	} else if (*at == '"') {
		v->text = spec_parse_text();
	} else {
		v->number = strtod(at, &end);
		at = end;
	}
	return v;
}

static void value_free(struct value *v)
{
	while (v) {
		struct value *next = v->next;

		value_free(v->first);
		free(v->text);
		free(v->name);
		free(v);
		v = next;
	}
}

static struct value *member(struct value *of, const char *name)
{
	struct value *v = of->first;

	while (v && strcmp(v->name, name) != 0)
		v = v->next;
	return v;
}

static int write_value(char *to, int depth)
{
	int n = 0, kind = depth ? next_random() % 4 : 2;

	if (kind == 0 || depth > 3)
		return sprintf(to, "%u.%u", next_random() % 1000, next_random() % 10);
	if (kind == 1)
		return sprintf(to, "\"a text, the %uth\"", next_random());
	n = sprintf(to, kind == 2 ? "{ \"id\": %u" : "[%u", next_random());
	for (int i = 0; i < 3; i++) {
		n += sprintf(to + n, kind == 2 ? ", \"m%d\": " : ", ", i);
		n += write_value(to + n, depth + 1);
	}
	return n + sprintf(to + n, kind == 2 ? " }" : "]");
}

static void run_json(int rounds)
{
	static char text[8][4096];
	double sum = 0;

	for (int i = 0; i < 8; i++)
		write_value(text[i], 0);
	for (int i = 0; i < rounds; i++) {
		struct value *v;

		at = text[i % 8];
		v = parse();
		sum += member(v, "id")->number + member(v, "m1")->size;
		value_free(v);
	}
	at = "{ \"a\": [1, 2] }";
	printf("%f\n", sum + member(member(parse(), "a"), "b")->number);
}

/* ---- skip: a list with express lanes ----------------------------------------------------------- */

enum { LANES = 8 };

struct stop {
	int key, n_lanes;
	int *data;
	struct stop *next[];
};

static struct stop *stops;

static struct stop *stop_new(int key, int n_lanes)
{
	struct stop *s = calloc(1, sizeof(*s) + n_lanes * sizeof(s->next[0]));

	s->key = key;
	s->n_lanes = n_lanes;
	s->data = malloc(key % 40 + 8);
	*s->data = key;
	return s;
}

static struct stop *stop_find(int key, struct stop **before)
{
	struct stop *s = stops;

	for (int lane = LANES - 1; lane >= 0; lane--) {
		while (s->next[lane] && s->next[lane]->key < key)
			s = s->next[lane];
		before[lane] = s;
	}
	return s->next[0];
}

static void stop_add(int key)
{
	struct stop *before[LANES], *s = stop_find(key, before);
	int n = 1;

	if (s && s->key == key) {
		++*s->data;
		return;
	}
	while (n < LANES && next_random() % 4 == 0)
		n++;
	s = stop_new(key, n);
	for (int lane = 0; lane < n; lane++) {
		s->next[lane] = before[lane]->next[lane];
		before[lane]->next[lane] = s;
	}
}

static void stop_drop(int key)
{
	struct stop *before[LANES], *s = stop_find(key, before);

	if (!s || s->key != key)
		return;
	for (int lane = 0; lane < s->n_lanes; lane++)
		before[lane]->next[lane] = s->next[lane];
	free(s->data);
	free(s);
}

static void run_skip(int rounds)
{
	long sum = 0;

	stops = stop_new(0, LANES);
	for (int i = 0; i < rounds; i++) {
		stop_add(next_random() % 200 + 1);
		if (next_random() % 2)
			stop_drop(next_random() % 200 + 1);
	}
	free(stops->next[0]->data);
	stops->next[0]->data = NULL;
	for (struct stop *s = stops; s; s = s->next[0])
		sum += *s->data;
	printf("%ld\n", sum);
}

int main(int argc, char **argv)
{
	int rounds = argc > 2 ? atoi(argv[2]) : 1000;

	if (argc > 1 && strcmp(argv[1], "json") == 0)
		run_json(rounds / 10);
	else if (argc > 1 && strcmp(argv[1], "skip") == 0)
		run_skip(rounds);
	return 0;
}
