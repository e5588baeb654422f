// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Lists whose heads are variables as C++ has them: in namespaces, one without a name, static in
 * classes, templates and functions, an object on the stack. The argument makes it do what is
 * marked.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>

struct Node {
	int key;
	Node *next;
};

namespace shop
{
struct Pool {
	static Node *spare;
	inline static long pushed = 0;
	Node *head = nullptr;
	long count = 0;
	void push(int key);
};
Node *Pool::spare;

namespace
{
Node *shelf;
}

void stock(int key)
{
	Node *n = new Node{ key, shelf };

	shelf = n;
}

void spoil()
{
	shelf = shelf->next->next; // BUG shelf
}
} // namespace shop

__attribute__((noinline)) void shop::Pool::push(int key)
{
	static Node *last;
	Node *n = new Node{ key, head };

	if (last && last->key == 12345)
		std::puts("again");
	head = n;
	last = n;
	count++;
	pushed++;
}

template <class T> struct Box {
	static T *all;
};
template <class T> T *Box<T>::all;

__attribute__((noinline)) void check()
{
	asm volatile("" ::: "memory");
}

__attribute__((noinline)) int work(const char *bug)
{
	shop::Pool pool;

	for (int i = 1; i < 6; i++) {
		pool.push(i);
		shop::stock(i);
	}
	Box<Node>::all = pool.head;
	shop::Pool::spare = new Node{ 7, nullptr };
	check();
	if (!std::strcmp(bug, "pool"))
		pool.count += 2; // BUG pool
	if (!std::strcmp(bug, "shelf"))
		shop::spoil();
	if (!std::strcmp(bug, "spare"))
		delete shop::Pool::spare; // BUG spare
	if (!std::strcmp(bug, "pushed"))
		shop::Pool::pushed = 2; // BUG pushed
	if (!std::strcmp(bug, "all"))
		Box<Node>::all = shop::shelf; // BUG all
	check();
	pool.push(100);
	shop::stock(100);
	return pool.head->key;
}

int main(int argc, char **argv)
{
	std::printf("%d\n", work(argc > 1 ? argv[1] : ""));
	return 0;
}
