// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// What lies behind a call that does not come back is code of other paths, where registers are other variables': room and bytes
// are no keys. Argument `wrong': what is one is left by an index.
#include <stdio.h>
#include <stdlib.h>

struct number {
	int room, n;
	unsigned long *limbs;
};

struct key {
	struct number p[1], q[1], g[1];
};

struct hash {
	unsigned room, size;
	void (*init)(void *);
	void (*digest)(void *, unsigned, unsigned char *);
};

#define MUST(x)                                                            \
	do {                                                               \
		if (!(x)) {                                                \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, \
				#x);                                       \
			abort();                                           \
		}                                                          \
	} while (0)

#ifdef OWN
__attribute__((noinline)) static _Noreturn void give_up(void)
{
	exit(1);
}
#else
#define give_up abort
#endif

static void *xalloc(size_t size)
{
	void *p = malloc(size);

	if (size && !p) {
		fprintf(stderr, "no memory\n");
		give_up();
	}
	return p;
}

static void fill(void *room)
{
	for (unsigned long *p = room, i = 0; i < 6; i++)
		*p++ = i;
}

static void digest(void *room, unsigned size, unsigned char *to)
{
	for (unsigned i = 0; i < size / 8; i++)
		((unsigned long *)to)[i] = i + *(unsigned char *)room;
}

__attribute__((noinline)) static void set(struct number *to, const struct number *from)
{
	to->n = from->n;
}

__attribute__((noinline)) static int verify(const struct key *a, const struct key *b, size_t n,
					    const unsigned char *bytes, const struct key *c)
{
	return a->p->n + b->p->n + c->p->n + bytes[n - 1] >= 0;
}

__attribute__((noinline)) static void test(const struct key *key, const struct key *pub,
					   const struct hash *hash, struct key *msg,
					   const struct key *ref)
{
	void *room = xalloc(hash->room);
	unsigned char *bytes = xalloc(hash->size);
	struct key sig = {};

	hash->init(room);
	hash->digest(room, hash->size, bytes);
	set(sig.p, ref->p);
	set(sig.q, ref->q);
	MUST(verify(key, pub, hash->size, bytes, &sig));
	set(sig.p, msg->p);
	MUST(verify(key, pub, hash->size, bytes, &sig));
	bytes[hash->size / 2 - 1] ^= 8;
	((unsigned char *)room)[hash->room / 2 - 1] ^= 8;
	MUST(verify(key, pub, hash->size, bytes, ref));
	free(room);
	free(bytes);
}

/* Of a key its p, which has one, as @p n. */
__attribute__((noinline)) static struct key *numbered(int n)
{
	struct key *k = xalloc(sizeof(*k));

	for (int i = 0; i < n; i++)
		k->p[i].n = i; // expect: FIELD-OVERFLOW
	return k;
}

int main(int argc, char **argv)
{
	struct key key = {};
	struct hash hash = { 48, 48, fill, digest };

	test(&key, &key, &hash, &key, &key);
	free(numbered(argc));
	return 0;
}
