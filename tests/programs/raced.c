// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Threads that share memory: with `racy' as none should, with `right' in order, each in its own way. Lines with a
 * comment that says `race' are one side of a race, and no other line is.
 */
#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>
#include <unistd.h>

#define KEEP __attribute__((noinline))
#define N 50

static pthread_mutex_t lock_a = PTHREAD_MUTEX_INITIALIZER,
		       lock_b = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_spinlock_t spin;
static sem_t sem;
static __thread volatile long sink;

static pthread_barrier_t both_are_there;

struct body {
	void *(*run)(void *);
	void *arg;
};

static void *body_run(void *arg)
{
	const struct body *b = arg;

	pthread_barrier_wait(&both_are_there);
	return b->run(b->arg);
}

/* Neither begins when the other has ended: its stack would be used again, which libc puts in order by a lock. */
static void both(void *(*f)(void *), void *a, void *(*g)(void *), void *b)
{
	struct body one = { f, a }, other = { g, b };
	pthread_t t, u;

	pthread_barrier_init(&both_are_there, NULL, 2);
	pthread_create(&t, NULL, body_run, &one);
	pthread_create(&u, NULL, body_run, &other);
	pthread_join(t, NULL);
	pthread_join(u, NULL);
	pthread_barrier_destroy(&both_are_there);
}

/* ---- racy ---------------------------------------------------------------------------------------- */

static int plain, guarded, halves, read_locked, stopped;
static char bytes[64];
static struct {
	int ready;
	char text[32];
} message;

static KEEP void *count(void *arg)
{
	for (int i = 0; i < N; i++)
		plain++; // race
	return arg;
}

static KEEP void *publish(void *arg)
{
	strcpy(message.text, "longer than a word"); // race
	message.ready = 1;			    // race
	return arg;
}

static KEEP void *look(void *arg)
{
	if (message.ready)		 // race
		sink += message.text[3]; // may race: read when it was ready
	sink += message.text[4];	 // race
	return arg;
}

static KEEP void *with_a(void *arg)
{
	pthread_mutex_lock(&lock_a);
	guarded++; // race
	pthread_mutex_unlock(&lock_a);
	return arg;
}

static KEEP void *with_b(void *arg)
{
	pthread_mutex_lock(&lock_b);
	guarded++; // race
	pthread_mutex_unlock(&lock_b);
	return arg;
}

static KEEP void *as_reader(void *arg)
{
	pthread_rwlock_rdlock(&rwlock);
	read_locked++; // race
	pthread_rwlock_unlock(&rwlock);
	return arg;
}

static KEEP void *on_heap(void *arg)
{
	int *p = arg;

	p[3]++; // race
	return arg;
}

static KEEP void *copy(void *arg)
{
	memcpy(bytes, arg, strlen(arg)); // race
	return arg;
}

static KEEP void *copy_back(void *arg)
{
	char to[64];

	memmove(to, bytes + 2, 20); // race
	sink += to[3];
	return arg;
}

static KEEP void *overlap_long(void *arg)
{
	*(volatile long *)arg = 7; // race
	return arg;
}

static KEEP void *overlap_char(void *arg)
{
	((volatile char *)arg)[5] = 1; // race
	return arg;
}

static KEEP void *ends(void *arg)
{
	stopped = 1; // race
	return arg;
}

static KEEP void before_join(void)
{
	pthread_t t;

	pthread_create(&t, NULL, ends, NULL);
	sink += stopped; // race
	pthread_join(t, NULL);
}

static KEEP void *add_half(void *arg)
{
	for (int i = 0; i < N; i++) {
		if (i % 2 == 0)
			pthread_mutex_lock(&lock_a);
		halves++; // race
		if (i % 2 == 0)
			pthread_mutex_unlock(&lock_a);
	}
	return arg;
}

static KEEP void *to_stack(void *arg)
{
	++*(int *)arg; // race
	return arg;
}

static KEEP void *release_it(void *arg)
{
	free(arg); // race
	return NULL;
}

static KEEP void *use_it(void *arg)
{
	sink += ((volatile char *)arg)[9]; // race
	return NULL;
}

static KEEP void *use_it_late(void *arg)
{
	usleep(30000);
	sink += ((volatile char *)arg)[9]; // race
	return NULL;
}

static KEEP void *release_it_late(void *arg)
{
	usleep(30000);
	free(arg); // race
	return NULL;
}

static int left_behind;

static void *do_nothing(void *arg)
{
	return arg;
}

/* To make a thread takes a lock of the dynamic linker's. */
static KEEP void *leave_behind(void *arg)
{
	pthread_t t;

	left_behind++; // race
	pthread_create(&t, NULL, do_nothing, NULL);
	pthread_join(t, NULL);
	return arg;
}

/* Nobody waited for what the first did when the second was made. */
static void one_by_one(void)
{
	pthread_t t, u;

	pthread_create(&t, NULL, leave_behind, NULL);
	usleep(20000);
	pthread_create(&u, NULL, leave_behind, NULL);
	pthread_join(t, NULL);
	pthread_join(u, NULL);
}

static volatile int slept_on;

static KEEP void *write_and_sleep(void *arg)
{
	slept_on = 1; // race
	usleep(200000);
	return arg;
}

static KEEP void *write_meanwhile(void *arg)
{
	slept_on = 2; // race
	return arg;
}

/* Who is in a system call when a thread begins is not who made it. */
static void while_one_sleeps(void)
{
	pthread_t t, u;

	pthread_create(&t, NULL, write_and_sleep, NULL);
	usleep(20000);
	pthread_create(&u, NULL, write_meanwhile, NULL);
	pthread_join(t, NULL);
	pthread_join(u, NULL);
}

static int chosen, not_chosen;

/* gcc loads both, and drops one. */
static KEEP int choose(int is_one)
{
	return is_one ? chosen : 0; // race
}

static KEEP int choose_not(int is_one)
{
	return is_one ? not_chosen : 0;
}

static KEEP void *choices(void *arg)
{
	for (int i = 0; i < N; i++)
		sink += choose(arg != NULL) + choose_not(arg == NULL);
	return arg;
}

static KEEP void *set_choices(void *arg)
{
	*(volatile int *)&not_chosen = 3;
	*(volatile int *)&chosen = 3; // race
	return arg;
}

static void racy(void)
{
	int *heap = calloc(8, sizeof(*heap)), local = 0;
	static long word;

	both(count, NULL, count, NULL);
	both(publish, NULL, look, NULL);
	both(with_a, NULL, with_b, NULL);
	both(as_reader, NULL, as_reader, NULL);
	both(on_heap, heap, on_heap, heap);
	both(copy, "twenty-six bytes of a text", copy_back, NULL);
	both(overlap_long, &word, overlap_char, &word);
	before_join();
	one_by_one();
	while_one_sleeps();
	chosen = 2;
	both(choices, heap, set_choices, NULL);
	both(add_half, NULL, add_half, NULL);
	both(to_stack, &local, to_stack, &local);
	free(heap);
	heap = malloc(20);
	both(use_it, heap, release_it_late, heap);
	heap = malloc(20);
	both(use_it_late, heap, release_it, heap);
}

/* ---- right --------------------------------------------------------------------------------------- */

static int by_mutex, by_rwlock, by_cond, is_set, by_barrier[2], by_once, by_spin,
	by_own_spin, by_sem, by_exchange, by_order, by_both;
static _Atomic int flag, counter;
static int builtin;
static atomic_flag own_lock = ATOMIC_FLAG_INIT;
static int own_word;
static __thread int own;
static struct {
	_Atomic(int *) head;
	int value;
} box;

static KEEP void *locked(void *arg)
{
	for (int i = 0; i < N; i++) {
		if (pthread_mutex_trylock(&lock_a))
			pthread_mutex_lock(&lock_a);
		by_mutex++;
		pthread_mutex_unlock(&lock_a);
	}
	return arg;
}

static KEEP void *read_or_write(void *arg)
{
	for (int i = 0; i < N; i++) {
		if (i % 4 == 0) {
			pthread_rwlock_wrlock(&rwlock);
			by_rwlock++;
		} else {
			pthread_rwlock_rdlock(&rwlock);
			sink += by_rwlock;
		}
		pthread_rwlock_unlock(&rwlock);
	}
	return arg;
}

static KEEP void *wait_for(void *arg)
{
	pthread_mutex_lock(&lock_a);
	while (!is_set)
		pthread_cond_wait(&cond, &lock_a);
	by_cond++;
	pthread_mutex_unlock(&lock_a);
	return arg;
}

static KEEP void *set(void *arg)
{
	by_cond = 7;
	pthread_mutex_lock(&lock_a);
	is_set = 1;
	pthread_cond_broadcast(&cond);
	pthread_mutex_unlock(&lock_a);
	return arg;
}

static KEEP void *meet(void *arg)
{
	int me = *(int *)arg;

	for (int i = 0; i < 10; i++) {
		by_barrier[me] += i;
		pthread_barrier_wait(&barrier);
		sink += by_barrier[!me];
		pthread_barrier_wait(&barrier);
	}
	return arg;
}

static void begin_once(void)
{
	by_once = 42;
}

static KEEP void *use_once(void *arg)
{
	pthread_once(&once, begin_once);
	sink += by_once;
	return arg;
}

static KEEP void *spinning(void *arg)
{
	for (int i = 0; i < N; i++) {
		pthread_spin_lock(&spin);
		by_spin++;
		pthread_spin_unlock(&spin);
	}
	return arg;
}

static KEEP void *own_spinning(void *arg)
{
	for (int i = 0; i < N; i++) {
		while (atomic_flag_test_and_set(&own_lock))
			usleep(1);
		by_own_spin++;
		atomic_flag_clear(&own_lock);
		while (__sync_lock_test_and_set(&own_word, 1))
			usleep(1);
		by_both++;
		__sync_lock_release(&own_word);
	}
	return arg;
}

static KEEP void *post(void *arg)
{
	by_sem = 3;
	sem_post(&sem);
	return arg;
}

static KEEP void *wait_sem(void *arg)
{
	sem_wait(&sem);
	by_sem++;
	return arg;
}

static KEEP void *store_release(void *arg)
{
	by_order = 9;
	atomic_store_explicit(&flag, 1, memory_order_release);
	return arg;
}

static KEEP void *load_acquire(void *arg)
{
	while (!atomic_load_explicit(&flag, memory_order_acquire))
		usleep(1);
	sink += by_order;
	return arg;
}

static KEEP void *relaxed(void *arg)
{
	for (int i = 0; i < N; i++) {
		atomic_fetch_add_explicit(&counter, 1, memory_order_relaxed);
		sink += atomic_load_explicit(&counter, memory_order_relaxed);
	}
	return arg;
}

static KEEP void *by_builtin(void *arg)
{
	__atomic_store_n(&builtin, 4, __ATOMIC_RELAXED);
	sink += __atomic_load_n(&builtin, __ATOMIC_RELAXED);
	return arg;
}

static KEEP void *take(void *arg)
{
	int *p;

	while (!(p = atomic_exchange(&box.head, NULL)))
		usleep(1);
	sink += *p;
	by_exchange = 1;
	return arg;
}

static KEEP void *give(void *arg)
{
	box.value = 17;
	atomic_store(&box.head, &box.value);
	return arg;
}

static KEEP void *thread_local_one(void *arg)
{
	char mine[100];

	memset(mine, own, sizeof(mine));
	own += mine[5] + 1;
	free(memcpy(malloc(64), mine, 64));
	return arg;
}

static KEEP void *gives_back(void *arg)
{
	memset(arg, 1, 5000);
	free(arg);
	return NULL;
}

/* The allocator's locks are between: what was given back is somebody else's. */
static KEEP void *has_it_again(void *arg)
{
	void *p;

	usleep(30000);
	for (int i = 0; i < 3 && !posix_memalign(&p, 64, 3000); i++)
		memset(p, 3, 3000);
	return arg;
}

static KEEP int through_pipe(void *arg)
{
	int *ends = arg, n = 0;

	sink += read(ends[0], &n, sizeof(n));
	sink += by_order + n;
	return 0;
}

static void with_c_threads(void)
{
	int ends[2], n = 5;
	thrd_t t;

	if (pipe(ends))
		return;
	thrd_create(&t, through_pipe, ends);
	by_order = 11;
	sink += write(ends[1], &n, sizeof(n));
	thrd_join(t, NULL);
	by_order = 12;
}

static void right(void)
{
	int me[2] = { 0, 1 };

	mallopt(M_ARENA_MAX, 1);
	pthread_barrier_init(&barrier, NULL, 2);
	pthread_spin_init(&spin, 0);
	sem_init(&sem, 0, 0);
	both(locked, NULL, locked, NULL);
	both(read_or_write, NULL, read_or_write, NULL);
	both(wait_for, NULL, set, NULL);
	both(meet, &me[0], meet, &me[1]);
	both(use_once, NULL, use_once, NULL);
	both(spinning, NULL, spinning, NULL);
	both(own_spinning, NULL, own_spinning, NULL);
	both(wait_sem, NULL, post, NULL);
	both(load_acquire, NULL, store_release, NULL);
	both(relaxed, NULL, relaxed, NULL);
	both(by_builtin, NULL, by_builtin, NULL);
	both(take, NULL, give, NULL);
	both(thread_local_one, NULL, thread_local_one, NULL);
	both(gives_back, malloc(5000), has_it_again, NULL);
	with_c_threads();
	sink += by_mutex + by_rwlock + by_cond + by_spin + by_own_spin + by_sem +
		by_order;
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "racy"))
		racy();
	else
		right();
	return 0;
}
