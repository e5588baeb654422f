// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// Memory of operator new and of malloc, released as it was allocated; one of a dozen mistakes by number.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

struct alignas(64) line {
	char bytes[64];
};

struct named {
	std::string name;
	long value = 0;
	virtual ~named() { value = -1; }
};

struct pooled {
	long v[3];
	static void *operator new(size_t n) { return malloc(n); }
	static void operator delete(void *p) { free(p); }
};

void delete_sized(void *, size_t) __asm__("_ZdlPvm");

typedef void (*release_fn)(void *);

// One instruction calls both kinds.
__attribute__((noinline)) static void release(release_fn fn, void *p)
{
	fn(p);
}

// What lies on the stack where operator delete returned to.
__attribute__((noinline)) static void *deep(size_t n)
{
	volatile char hole[2048];

	hole[0] = 1;
	return malloc(n + hole[0]);
}

static long containers(int n)
{
	std::map<std::string, std::vector<std::shared_ptr<named>>> m;
	long sum = 0;

	for (int i = 0; i < n; i++) {
		auto p = std::make_shared<named>();
		p->name = "a name that is too long for the object itself " + std::to_string(i);
		m["key that is long enough, too " + std::to_string(i % 7)].push_back(p);
		if (i % 10 == 0)
			try {
				throw std::runtime_error(p->name);
			} catch (const std::exception &e) {
				sum += e.what()[5];
			}
	}
	for (auto &one : m)
		sum += one.second.size() + one.second[0]->name.size();
	return sum;
}

static void right()
{
	void *(*volatile get)(size_t) = malloc;
	volatile size_t huge = SIZE_MAX / 4;
	char *none = new (std::nothrow) char[huge];
	char *some = (char *)get(10);

	delete[] none;
	free(some);
	delete new long(1);
	delete[] new named[5];
	delete new line;
	delete[] new line[3];
	delete new (std::nothrow) named;
	delete new pooled;
	operator delete(operator new(100));
	operator delete[](operator new[](100));
	free(realloc(get(10), 100));
	for (int i = 0; i < 20; i++) {
		release(i % 2 ? (release_fn)free : (release_fn)operator delete,
			i % 2 ? get(24) : operator new(24));
		free(deep(100));
	}
	std::thread t([] { printf("%ld\n", containers(30)); });
	t.join();
	printf("%ld\n", containers(60));
}

int main(int argc, char **argv)
{
	int wrong = argc > 1 ? atoi(argv[1]) : 0;
	long *volatile p = new long[4]{ 1, 2, 3, 4 };
	named *volatile n = new named;

	right();
	switch (wrong) {
	case 1:
		free(new long(3));
		break;
	case 2:
		delete (long *)malloc(8);
		break;
	case 3:
		delete[](long *) malloc(8);
		break;
	case 4:
		delete new long[4];
		break;
	case 5:
		delete[](new long(4));
		break;
	case 6:
		free(realloc(new long(4), 100));
		break;
	case 7:
		operator delete(operator new[](10));
		break;
	case 8:
		release(free, operator new(24));
		break;
	case 9:
		release(operator delete, deep(24));
		break;
	case 10:
		printf("%ld\n", p[4]);
		break;
	case 11:
		delete n;
		printf("%ld\n", ((volatile named *)n)->value);
		n = nullptr;
		break;
	case 12: {
		named *volatile again = n;
		delete n;
		operator delete(again);
		n = nullptr;
		break;
	}
	case 13:
		delete_sized(operator new(24), 16);
		break;
	}
	delete_sized(operator new(24), 24);
	delete[] p;
	delete n;
	return 0;
}
