// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * crashes MODE [ROUNDS]: works as such programs do, then crashes as they do. What the
 * flight recorder is measured with; crashes-O0.c is the same without optimisation.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t seed = 12345;
static int rounds = 3000;

static void *volatile nowhere; ///< NULL, which no compiler knows
static void *volatile hidden;  ///< takes a pointer out of the compiler's sight

static uint32_t next_random(void)
{
	seed = seed * 1103515245 + 12345;
	return seed >> 8;
}

/* ---- list: a name is copied without its length being looked at ------------------------- */

struct job {
	struct job *next, *prev;
	char name[16];
	int priority;
};

static struct job jobs = { &jobs, &jobs, "", 0 };

static void job_add(const char *name, int priority)
{
	struct job *j = malloc(sizeof(*j)), *at = jobs.next;

	while (at != &jobs && at->priority > priority)
		at = at->next;
	j->priority = priority;
	j->next = at;
	j->prev = at->prev;
	at->prev->next = j;
	at->prev = j;
	strcpy(j->name, name);
}

static void job_done(struct job *j)
{
	j->next->prev = j->prev;
	j->prev->next = j->next;
	free(j);
}

static void run_list(void)
{
	static const char *const long_name =
		"a-name-that-is-far-too-long-for-its-job-to-hold";
	char name[64];

	for (int i = 0; i < rounds; i++) {
		snprintf(name, sizeof(name), "job-%d", i);
		job_add(name, next_random() % 100);
		if (i > 50)
			job_done(next_random() & 1 ? jobs.next : jobs.prev);
	}
	job_add(long_name, 50);
	while (jobs.next != &jobs)
		job_done(jobs.next);
}

/* ---- tree: a node is freed that is still a child ------------------------------------------ */

struct leaf {
	struct leaf *left, *right;
	uint64_t key;
	char *text;
};

static struct leaf *tree;

static struct leaf **leaf_find(uint64_t key)
{
	struct leaf **at = &tree;

	while (*at && (*at)->key != key)
		at = key < (*at)->key ? &(*at)->left : &(*at)->right;
	return at;
}

static void leaf_add(uint64_t key)
{
	struct leaf **at = leaf_find(key);

	if (*at)
		return;
	*at = calloc(1, sizeof(**at));
	(*at)->key = key;
	(*at)->text = strdup("a leaf");
}

static void leaf_drop(uint64_t key, int is_wrong)
{
	struct leaf **at = leaf_find(key), *l = *at;

	if (!l || (l->left && l->right && !is_wrong))
		return;
	if (!is_wrong)
		*at = l->left ? l->left : l->right;
	free(l->text);
	free(l);
}

static int leaf_count(const struct leaf *l)
{
	return l ? 1 + leaf_count(l->left) + leaf_count(l->right) : 0;
}

static void run_tree(void)
{
	for (int i = 0; i < rounds; i++) {
		leaf_add(next_random() % 500);
		leaf_drop(next_random() % 500, 0);
	}
	leaf_drop(tree->left->right->left->key, 1);
	printf("%d leaves\n", leaf_count(tree));
	for (int i = 0; i < 100; i++)
		leaf_add(i * 7);
	abort();
}

/* ---- hash: a negative hash becomes a negative index --------------------------------------- */

struct entry {
	struct entry *next;
	char *key;
	long value;
};

static struct {
	struct entry *guard[4];
	struct entry *bucket[64];
} table;

static int hash_of(const char *key)
{
	int h = 5381;

	while (*key)
		h = h * 33 + (unsigned char)*key++;
	return h;
}

static struct entry *entry_get(const char *key, int is_checked)
{
	int h = hash_of(key), at = is_checked ? h & 63 : h % 64;
	struct entry *e = table.bucket[at];

	while (e && strcmp(e->key, key) != 0)
		e = e->next;
	if (!e) {
		e = malloc(sizeof(*e));
		e->key = strdup(key);
		e->value = 0;
		e->next = table.bucket[at];
		table.bucket[at] = e;
	}
	return e;
}

static void run_hash(void)
{
	static const char *const words[] = { "alpha", "beta", "gamma", "delta",
					     "epsilon" };
	char key[48];

	for (int i = 0; i < rounds; i++) {
		snprintf(key, sizeof(key), "%s-%u", words[i % 5], next_random() % 300);
		entry_get(key, 1)->value += i;
	}
	memset(table.guard, 0x5a, sizeof(table.guard));
	for (int i = 0; i < rounds; i++) {
		snprintf(key, sizeof(key), "wrong-%d", i);
		entry_get(key, 0)->value++;
	}
	abort();
}

/* ---- uaf: a handler is called after its owner is gone --------------------------------------- */

struct session {
	void (*on_data)(struct session *s, int n);
	long total;
	int id;
};

static void session_count(struct session *s, int n)
{
	s->total += n;
}

static void run_uaf(void)
{
	struct session *all[32] = {};
	char *other;

	for (int i = 0; i < rounds * 4; i++) {
		struct session **s = &all[next_random() % 32];

		if (!*s) {
			*s = malloc(sizeof(**s));
			**s = (struct session){ session_count, 0, i };
		} else if (next_random() % 8 == 0) {
			free(*s);
			*s = NULL;
		} else {
			(*s)->on_data(*s, i & 15);
		}
	}
	for (int i = 0; i < 32; i++) {
		if (all[i])
			free(all[i]);
	}
	for (int i = 0; i < 32; i++) {
		other = malloc(sizeof(struct session));
		memset(other, 0, sizeof(struct session));
		strcpy(other, "AAA");
	}
	for (int i = 0; i < 32; i++) {
		if (all[i])
			all[i]->on_data(all[i], i);
	}
}

/* ---- overflow: a record that is longer than it says --------------------------------------- */

struct packet {
	uint32_t bytes;
	uint8_t *data;
	struct packet *next;
};

static void run_overflow(void)
{
	struct packet *all = NULL;
	uint8_t *wire = malloc(4096);
	uint64_t sum = 0;

	for (int i = 0; i < rounds; i++) {
		struct packet *p = malloc(sizeof(*p));

		p->bytes = 16 + next_random() % 100;
		p->data = malloc(p->bytes);
		for (uint32_t k = 0; k < p->bytes; k++)
			wire[k] = next_random();
		memcpy(p->data, wire, p->bytes);
		p->next = all;
		all = p;
		if (i % 16 == 15) {
			while (all) {
				struct packet *next = all->next;

				for (uint32_t k = 0; k < all->bytes; k++)
					sum = sum * 31 + all->data[k];
				free(all->data);
				free(all);
				all = next;
			}
		}
	}
	for (int i = 0; i < 8; i++) {
		struct packet *p = malloc(sizeof(*p));

		p->data = malloc(32);
		p->bytes = 32;
		p->next = all;
		all = p;
	}
	memset(wire, 0x77, 4096);
	for (struct packet *p = all; p; p = p->next)
		memcpy(p->data, wire, p->bytes + (p->next ? 0 : 200));
	for (struct packet *p = all; p; p = p->next) {
		p->data[0] = sum;
		memcpy(p->data, wire, 200);
	}
}

/* ---- recursion: brackets without an end ------------------------------------------------------ */

static long spec_parse_sum(const char **at);

static long parse_term(const char **at)
{
	long v = 0;

	if (**at == '(') {
		(*at)++;
		v = spec_parse_sum(at);
		(*at)++;
		return v;
	}
	while (**at >= '0' && **at <= '9')
		v = v * 10 + *(*at)++ - '0';
	return v;
}

static long spec_parse_sum(const char **at)
{
	char text[48];
	long v = parse_term(at);

	snprintf(text, 8, "%ld", v);
	while (**at == '+' || **at == '*') {
		if (*(*at)++ == '+')
			v += parse_term(at);
		else
			v *= parse_term(at);
	}
	return v + text[7] * 0;
}

static void run_recursion(void)
{
	char *text = malloc(4 << 20);
	long total = 0;

	for (int i = 0; i < rounds; i++) {
		const char *at = text;

		sprintf(text, "(%d+%u)*3+((%d*2)+%u)", i, next_random() % 50, i,
			next_random() % 9);
		total += spec_parse_sum(&at);
	}
	memset(text, '(', 4 << 20);
	text[(4 << 20) - 1] = 0;
	const char *at = text;
	printf("%ld\n", total + spec_parse_sum(&at));
}

/* ---- strings: a field that is not there ------------------------------------------------------- */

static void run_strings(void)
{
	char line[256], copy[256], *field[8];
	size_t total = 0;

	for (int i = 0; i <= rounds; i++) {
		int n = 0;
		char *p = copy;

		snprintf(line, sizeof(line), "user%d:x:%d:%d:User Number %d%s", i, i * 3,
			 i % 7, i, i == rounds ? "" : ":/home/somewhere:/bin/sh");
		strcpy(copy, line);
		while (p && n < 8) {
			field[n++] = p;
			p = strchr(p, ':');
			if (p)
				*p++ = 0;
		}
		while (n < 8)
			field[n++] = NULL;
		total += strlen(field[4]) + strlen(field[5]);
		if (strstr(line, "17:") || strcmp(field[6], "/bin/sh") != 0)
			total++;
		memmove(copy + 1, copy, strlen(copy) + 1);
		total += memchr(copy, 'r', sizeof(copy)) != NULL;
	}
	printf("%zu\n", total);
}

/* ---- matrix: an index beyond the rows ---------------------------------------------------------- */

enum { MATRIX_ROWS = 24 };

static double **matrix_new(void)
{
	double **a = malloc(MATRIX_ROWS * sizeof(*a));

	for (int i = 0; i < MATRIX_ROWS; i++) {
		a[i] = malloc(MATRIX_ROWS * sizeof(**a));
		for (int k = 0; k < MATRIX_ROWS; k++)
			a[i][k] = (next_random() % 100) / 10.0;
	}
	return a;
}

static double matrix_product(double **a, double **b, double **to)
{
	double trace = 0;

	for (int i = 0; i < MATRIX_ROWS; i++) {
		for (int k = 0; k < MATRIX_ROWS; k++) {
			double sum = 0;

			for (int n = 0; n < MATRIX_ROWS; n++)
				sum += a[i][n] * b[n][k];
			to[i][k] = sum;
		}
		trace += to[i][i];
	}
	return trace;
}

static void run_matrix(void)
{
	double **a = matrix_new(), **b = matrix_new(), **c = matrix_new(), sum = 0;

	for (int n = 0; n < 1 + rounds / 100; n++)
		sum += matrix_product(n & 1 ? b : a, n & 2 ? a : b, c);
	for (int i = 0; i < MATRIX_ROWS * 4; i++)
		sum += a[i * i * i][0];
	printf("%f\n", sum);
}

/* ---- sort: a hole in the array ------------------------------------------------------------------ */

struct item {
	int key;
	char label[12];
};

static int item_compare(const void *a, const void *b)
{
	const struct item *x = *(struct item *const *)a, *y = *(struct item *const *)b;

	return x->key < y->key ? -1 : x->key > y->key;
}

static void run_sort(void)
{
	enum { N = 200 };
	struct item *all[N];

	for (int n = 0; n < 1 + rounds / 200; n++) {
		for (int i = 0; i < N; i++) {
			all[i] = malloc(sizeof(**all));
			all[i]->key = next_random() % 10000;
			snprintf(all[i]->label, sizeof(all[i]->label), "i%d", i);
		}
		if (n == rounds / 200)
			all[N / 2] = NULL;
		qsort(all, N, sizeof(*all), item_compare);
		for (int i = 0; i < N; i++)
			free(all[i]);
	}
}

/* ---- machine: an operation that nobody checked ----------------------------------------------- */

static void run_machine(void)
{
	int64_t stack[32] = {}, *sp = stack, memory[64] = {};
	uint8_t code[256];

	for (size_t i = 0; i < sizeof(code); i++)
		code[i] = next_random() % 8;
	code[255] = 8;
	for (int n = 0; n < rounds * 10; n++) {
		int op = code[n & 255], at = n & 63;

		switch (op) {
		case 0:
			*sp = n;
			break;
		case 1:
			*sp += memory[at];
			break;
		case 2:
			memory[at] = *sp;
			break;
		case 3:
			*sp ^= (uint64_t)*sp << 7;
			break;
		case 4:
			if (sp < stack + 31)
				*++sp = memory[(at * 5) & 63];
			break;
		case 5:
			if (sp > stack)
				sp--;
			break;
		case 6:
			*sp = -*sp;
			break;
		case 7:
			memory[*sp & 63]++;
			break;
		case 8:
			if (n > rounds * 10 - 300)
				((int64_t *)nowhere)[*sp & 0xff]++;
			break;
		}
	}
	*(volatile int64_t *)nowhere = *sp;
}

/* ---- graph: an array has moved ------------------------------------------------------------------ */

struct vertex {
	int *edges;
	int n_edges, distance;
};

static void run_graph(void)
{
	int n = 64, *queue = malloc(4096 * sizeof(*queue)), *stale;
	struct vertex *v = calloc(n, sizeof(*v));

	for (int round = 0; round < 1 + rounds / 100; round++) {
		int head = 0, tail = 0;

		for (int i = 0; i < n; i++) {
			int to = next_random() % n;

			v[i].edges =
				realloc(v[i].edges, (v[i].n_edges + 1) * sizeof(int));
			v[i].edges[v[i].n_edges++] = to;
			v[i].distance = -1;
		}
		queue[tail++] = 0;
		v[0].distance = 0;
		while (head < tail) {
			struct vertex *a = &v[queue[head++]];

			for (int k = 0; k < a->n_edges; k++) {
				struct vertex *b = &v[a->edges[k]];

				if (b->distance >= 0)
					continue;
				b->distance = a->distance + 1;
				queue[tail++] = b - v;
			}
		}
	}
	hidden = v[3].edges;
	v[3].edges = realloc(v[3].edges, 1000);
	stale = hidden;
	memset(stale, 0x41, 64);
	for (int i = 0; i < 64; i++)
		v[i].distance = v[(stale[0] / (i + 1)) * 4].n_edges;
}

/* ---- double: what glibc notices ------------------------------------------------------------------ */

static void run_double(void)
{
	char *held[16] = {};

	for (int i = 0; i < rounds * 2; i++) {
		int at = next_random() % 16;

		free(held[at]);
		held[at] = malloc(16 + next_random() % 200);
		memset(held[at], i, 16);
	}
	hidden = held[3];
	free(held[3]);
	free(hidden);
}

/* ---- buffer: large copies, and one that is too large ------------------------------------------- */

static void run_buffer(void)
{
	enum { BYTES = 20000 };
	uint8_t *a = malloc(BYTES), *b = malloc(BYTES);
	static uint32_t sum = 1;

	for (int i = 0; i < 1 + rounds / 30; i++) {
		memset(a, i, BYTES);
		memcpy(b, a, BYTES - i);
		for (int k = 0; k < 200; k++)
			sum = (sum << 5 | sum >> 27) ^ b[k * 90];
		a[sum % BYTES] = sum;
	}
	memcpy(nowhere, a, 1 + sum % 100);
}

static const struct {
	const char *name;
	void (*run)(void);
} modes[] = {
	{ "list", run_list },	      { "tree", run_tree },
	{ "hash", run_hash },	      { "uaf", run_uaf },
	{ "overflow", run_overflow }, { "recursion", run_recursion },
	{ "strings", run_strings },   { "matrix", run_matrix },
	{ "sort", run_sort },	      { "machine", run_machine },
	{ "graph", run_graph },	      { "double", run_double },
	{ "buffer", run_buffer },
};

int main(int argc, char **argv)
{
	if (argc > 2)
		rounds = atoi(argv[2]);
	for (size_t i = 0; argc > 1 && i < sizeof(modes) / sizeof(*modes); i++) {
		if (strcmp(argv[1], modes[i].name) == 0)
			modes[i].run();
	}
	return 0;
}
