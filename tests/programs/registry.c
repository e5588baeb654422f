// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * A library whose lists begin at variables of its own, one of which the program uses: without
 * CLIENT or LATE this is the library, without LIBRARY the program. With LATE it opens the
 * library, twice, when it runs.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct entry {
	int key;
	struct entry *next;
};

#if !defined(CLIENT) && !defined(LATE)
struct entry first = { 1, NULL };
struct entry *registry = &first; // a program without PIE has it, as a copy
static struct entry *hidden;

static struct entry *new_entry(int key, struct entry *next)
{
	struct entry *e = malloc(sizeof(*e));

	e->key = key;
	e->next = next;
	return e;
}

__attribute__((noinline)) void registry_add(int key)
{
	registry = new_entry(key, registry);
	hidden = new_entry(key, hidden);
}

__attribute__((noinline)) void registry_spoil(void)
{
	hidden = hidden->next->next; /* BUG hidden */
}
#else
extern struct entry *registry;
void registry_add(int key);
void registry_spoil(void);
#endif

#ifdef LATE
int main(int argc, char **argv)
{
	for (int round = 0; round < 2; round++) {
		void *library = dlopen(argv[1], RTLD_NOW);
		void (*add)(int) = (void (*)(int))dlsym(library, "registry_add");
		void (*spoil)(void) = (void (*)(void))dlsym(library, "registry_spoil");

		for (int i = 0; i < 4; i++)
			add(i);
		if (argc > 2 && round == 1)
			spoil();
		add(9);
		dlclose(library);
	}
	return 0;
}
#elif !defined(LIBRARY)
int main(int argc, char **argv)
{
	const char *bug = argc > 1 ? argv[1] : "";

	for (int i = 0; i < 4; i++)
		registry_add(i);
	if (!strcmp(bug, "registry"))
		registry = registry->next->next; /* BUG registry */
	if (!strcmp(bug, "hidden"))
		registry_spoil();
	registry_add(9);
	printf("%d\n", registry->key);
	return 0;
}
#endif
