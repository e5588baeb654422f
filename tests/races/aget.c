// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Bug: after aget, which downloads a file in parts and saves its state on Ctrl-C. Where
 * a part stands and how much is there in all change one after the other, and the saver
 * reads both without the lock (atomicity violation, two variables).
 * Races: `part->offset += n; total += n` against the sums in save_state().
 * Failure: the saved state contradicts itself: assertion.
 */
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#define PARTS 2
#define BLOCKS 150
#define BLOCK 64

struct part {
	long first;
	volatile long offset;
};

static pthread_mutex_t total_lock = PTHREAD_MUTEX_INITIALIZER;
static volatile long total;
static struct part parts[PARTS];
static int file;

static void *download(void *arg)
{
	struct part *part = arg;
	char block[BLOCK] = "data";

	for (int i = 0; i < BLOCKS; i++) {
		long n = pwrite(file, block, BLOCK, part->first + part->offset);

		part->offset += n;
		pthread_mutex_lock(&total_lock);
		total += n;
		pthread_mutex_unlock(&total_lock);
	}
	return NULL;
}

static void *save_state(void *set)
{
	long sum = 0;
	int signo;

	sigwait(set, &signo);
	for (int i = 0; i < PARTS; i++)
		sum += parts[i].offset;
	assert(sum == total);
	return NULL;
}

int main(void)
{
	pthread_t saver, loader[PARTS];
	sigset_t set;

	file = memfd_create("download", 0);
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	for (int i = 0; i < PARTS; i++) {
		parts[i].first = i * BLOCKS * BLOCK;
		pthread_create(&loader[i], NULL, download, &parts[i]);
	}
	pthread_create(&saver, NULL, save_state, &set);
	kill(getpid(), SIGINT); // the user has seen enough
	for (int i = 0; i < PARTS; i++)
		pthread_join(loader[i], NULL);
	pthread_join(saver, NULL);
	printf("%ld bytes\n", total);
	return 0;
}
