// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// Does whoever records it keep what it needs no more? Many processes (with a thread each) or
// threads, one after the other; a line now and then about its tracer: descriptors, memory of its
// own, and kernel memory of its BPF maps, in KiB. "once" is one process, for many runs.
#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SAMPLES 10

/* The number behind @name in /proc/PID/FILE, 0 without. */
static long number(int pid, const char *file, const char *name)
{
	char path[300], line[256];
	long n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, file);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, name, strlen(name)))
			n = atol(line + strlen(name));
	if (f)
		fclose(f);
	return n;
}

static void tell(long i)
{
	int tracer = number(getpid(), "status", "TracerPid:");
	char path[300];
	long descriptors = 0, kernel_bytes = 0;
	struct dirent *e;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/fdinfo", tracer);
	d = opendir(path);
	while (d && (e = readdir(d)))
		if (e->d_name[0] != '.') {
			snprintf(path, sizeof(path), "fdinfo/%s", e->d_name);
			descriptors++;
			kernel_bytes += number(tracer, path, "memlock:");
		}
	if (d)
		closedir(d);
	printf("%ld: %ld descriptors, %ld KiB, maps %ld KiB\n", i, descriptors,
	       number(tracer, "status", "RssAnon:"), kernel_bytes / 1024);
	fflush(stdout);
}

static void *nothing(void *arg)
{
	return arg;
}

static void one_thread(void)
{
	pthread_t t;

	if (pthread_create(&t, NULL, nothing, NULL) || pthread_join(t, NULL))
		exit(1);
}

static void one_process(void)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		one_thread();
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		exit(1);
}

int main(int argc, char **argv)
{
	long n = argc > 2 ? atol(argv[2]) : 0;

	if (argc > 1 && !strcmp(argv[1], "once")) {
		one_thread();
		tell(0);
		return 0;
	}
	for (long i = 1; i <= n; i++) {
		if (!strcmp(argv[1], "processes"))
			one_process();
		else
			one_thread();
		if (i % (n / SAMPLES ?: 1) == 0)
			tell(i);
	}
	return 0;
}
