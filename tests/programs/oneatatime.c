// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// Eight concurrent objects, each right and with two mistakes: `oneatatime OBJECT 0|1|2 ROUNDS`. Three
// threads call the operations that tests/linear/*.obj name. The mistakes need an interleaving; ended
// or not, the program exits with 0: what is wrong only the history of its calls tells.
// FLAGS: -lpthread
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define CALLED __attribute__((noinline, noclone))

static int mistake, rounds;

/* What takes a while, so that others come in between. */
static void work(void)
{
	for (volatile int i = 0; i < 40; i++)
		;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The lock is what a mistake leaves out. */
static void enter(int is_locked)
{
	if (is_locked)
		pthread_mutex_lock(&lock);
}

static void leave(int is_locked)
{
	if (is_locked)
		pthread_mutex_unlock(&lock);
}

/* ---- Treiber's stack, and Michael and Scott's queue; nothing is freed -------------------------- */

struct node {
	long value;
	struct node *_Atomic next;
};

static struct node *_Atomic top;

CALLED void stack_push(long value)
{
	struct node *n = malloc(sizeof(*n)), *old = atomic_load(&top);

	n->value = value;
	do {
		atomic_store(&n->next, old);
		work();
		if (mistake == 1) { // somebody else's push is lost
			atomic_store(&top, n);
			return;
		}
	} while (!atomic_compare_exchange_weak(&top, &old, n));
}

CALLED long stack_pop(void)
{
	struct node *n = atomic_load(&top);

	do {
		if (!n)
			return 0;
		work();
		if (mistake == 2) { // two take the same
			atomic_store(&top, atomic_load(&n->next));
			break;
		}
	} while (!atomic_compare_exchange_weak(&top, &n, atomic_load(&n->next)));
	return n->value;
}

static struct node first;
static struct node *_Atomic head = &first, *_Atomic tail = &first;

CALLED void queue_put(long value)
{
	struct node *n = calloc(1, sizeof(*n)), *last, *next;

	n->value = mistake == 1 ? 0 : value;
	for (;;) {
		last = atomic_load(&tail);
		next = NULL;
		if (atomic_compare_exchange_strong(&last->next, &next, n))
			break;
		atomic_compare_exchange_strong(&tail, &last, next);
	}
	work();
	n->value = value; // 1: it is there before its value
	atomic_compare_exchange_strong(&tail, &last, n);
}

CALLED long queue_get(void)
{
	for (;;) {
		struct node *h = atomic_load(&head), *t = atomic_load(&tail);
		struct node *next = atomic_load(&h->next);
		long value;

		if (!next)
			return -1;
		if (h == t)
			atomic_compare_exchange_strong(&tail, &t, next);
		value = next->value;
		work();
		if (mistake == 2) { // two take the same
			atomic_store(&head, next);
			return value;
		}
		if (atomic_compare_exchange_strong(&head, &h, next))
			return value;
	}
}

/* ---- a set, a map ------------------------------------------------------------------------------- */

static volatile char is_in[64];

CALLED int set_add(int x)
{
	int was, is_locked = mistake != 1; // 1: two add the same

	enter(is_locked);
	was = is_in[x];
	work();
	is_in[x] = 1;
	leave(is_locked);
	return !was;
}

CALLED int set_remove(int x)
{
	int was, is_locked = mistake != 2;

	enter(is_locked);
	was = is_in[x];
	work();
	is_in[x] = 0;
	leave(is_locked);
	return was;
}

CALLED int set_contains(int x)
{
	return is_in[x];
}

static volatile long values[8], is_there[8];

CALLED void map_put(long key, long value)
{
	enter(1);
	if (mistake == 1) { // the key comes before its value
		is_there[key] = 1;
		work();
	}
	values[key] = value;
	is_there[key] = 1;
	leave(1);
}

CALLED int map_get(long key, long *value)
{
	int found, is_locked = !mistake;

	enter(is_locked);
	found = is_there[key];
	work();
	*value = values[key]; // 2: it may be gone
	leave(is_locked);
	return found;
}

CALLED void map_remove(long key)
{
	enter(1);
	values[key] = 0;
	work();
	is_there[key] = 0;
	leave(1);
}

/* ---- a register of two halves, a counter --------------------------------------------------------- */

static volatile unsigned low, high;

CALLED void register_write(long value)
{
	int is_locked = mistake != 1;

	enter(is_locked);
	low = value;
	work();
	high = value;
	leave(is_locked);
}

CALLED long register_read(void)
{
	int is_locked = mistake != 2;
	long value;

	enter(is_locked);
	value = low;
	work();
	value = value << 32 | high;
	leave(is_locked);
	return value;
}

static atomic_long shard[2];

CALLED long counter_add(int n)
{
	if (mistake == 1) { // one is lost
		long was = atomic_load(&shard[0]);

		work();
		atomic_store(&shard[0], was + n);
		return was;
	}
	if (mistake == 2) { // two shards: the sum that is read was perhaps never there
		atomic_fetch_add(&shard[n & 1], n);
		return -1;
	}
	return atomic_fetch_add(&shard[0], n);
}

CALLED long counter_read(void)
{
	long sum = atomic_load(&shard[0]);

	work();
	return mistake == 2 ? sum + atomic_load(&shard[1]) : sum;
}

/* ---- a priority queue, a lock ---------------------------------------------------------------------- */

static volatile long heap[256], n_heap;

CALLED void heap_insert(long key)
{
	int is_locked = mistake != 1;
	long at;

	enter(is_locked);
	at = n_heap;
	work();
	heap[at] = key;
	n_heap = at + 1;
	leave(is_locked);
}

CALLED long heap_delete(void)
{
	long best = -1, at = 0;

	enter(mistake != 2);
	for (long i = 0; i < n_heap; i++)
		if (best < 0 || heap[i] < best)
			best = heap[at = i];
	work();
	if (best >= 0)
		heap[at] = heap[--n_heap];
	leave(mistake != 2);
	return best;
}

static atomic_int held;

CALLED int spin_try(void)
{
	int free = 0;

	if (mistake == 1) { // two may see that it is free
		if (atomic_load(&held))
			return 0;
		work();
		atomic_store(&held, 1);
		return 1;
	}
	return atomic_compare_exchange_strong(&held, &free, 1);
}

CALLED void spin_unlock(void)
{
	atomic_store(&held, 0);
	if (mistake == 2) { // somebody else may have it again
		work();
		atomic_store(&held, 0);
	}
}

/* ---- who calls -------------------------------------------------------------------------------------- */

static void call_stack(long me, int i)
{
	i % 2 ? (void)stack_pop() : stack_push(me * rounds + i);
}

static void call_queue(long me, int i)
{
	i % 2 ? (void)queue_get() : queue_put(me * rounds + i);
}

static void call_set(long me, int i)
{
	(me + i) % 3 == 0 ? set_add(i / 4 % 8) :
	(me + i) % 3 == 1 ? set_remove(i / 4 % 8) :
			    set_contains(i / 4 % 8);
}

static void call_map(long me, int i)
{
	long value;

	if ((me + i) % 3 == 0)
		map_put(i % 3, me * rounds + i);
	else if ((me + i) % 3 == 1)
		map_get(i % 3, &value);
	else
		map_remove(i % 3);
}

static void call_register(long me, int i)
{
	(me + i) % 2 ? (void)register_read() : register_write(me * rounds + i + 1);
}

static void call_counter(long me, int i)
{
	(me + i) % 3 ? counter_add(1 + (int)((me + i) & 1)) : counter_read();
}

static void call_heap(long me, int i)
{
	i % 2 ? (void)heap_delete() : heap_insert((i * 37 + me * 11) % 97 * 10 + me);
}

static void call_lock(long me, int i)
{
	(void)me;
	(void)i;
	if (!spin_try())
		return;
	work();
	spin_unlock();
}

static const struct {
	const char *name;
	void (*call)(long me, int i);
} objects[] = { { "stack", call_stack },       { "queue", call_queue },
		{ "set", call_set },	       { "map", call_map },
		{ "register", call_register }, { "counter", call_counter },
		{ "priority", call_heap },     { "mutex", call_lock } };

static void (*call)(long me, int i);

static void *run(void *me)
{
	for (int i = 0; i < rounds; i++)
		call((long)me, i);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[3];

	if (argc < 4)
		return 2;
	for (unsigned i = 0; i < sizeof(objects) / sizeof(*objects); i++)
		if (!strcmp(objects[i].name, argv[1]))
			call = objects[i].call;
	mistake = atoi(argv[2]);
	rounds = atoi(argv[3]);
	for (long i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, run, (void *)(i + 1));
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
