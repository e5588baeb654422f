// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
// FLAGS: -w
//
// What blocks do as they end: they destroy their variables, the last one first, while those before are still there. With
// argument `wrong' each line that says `expect:' uses a variable of a block that has ended; that says `expect by clang:', too,
// where the block's end is not the last variable's. Without optimization.
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

static volatile int sum;
static std::mutex mutex;

static void quiet() noexcept
{
	sum++;
}

struct Lender {
	int *to;
	Lender(int *p) : to(p) { ++*to; }
	~Lender() { --*to; }
};
struct Quiet {
	int *to;
	Quiet(int *p) noexcept : to(p) { ++*to; }
	~Quiet() noexcept { --*to; }
};
struct Inlined {
	int *to;
	__attribute__((always_inline)) Inlined(int *p) : to(p) { ++*to; }
	__attribute__((always_inline)) ~Inlined() { --*to; }
};
struct List {
	int a[4];
	List() { a[0] = 1; }
	~List() { a[1] = a[0]; }
};
template <class F> struct Exit {
	F f;
	Exit(F g) : f(g) {}
	~Exit() { f(); }
};
static void lower(int **p)
{
	--**p;
}

static int right(int n)
{
	for (int i = 0; i < n; i++) {
		{
			int k = i;
			Quiet l(&k);

			quiet();
		}
		{
			int k = i;
			Lender l(&k);
			Quiet m(&k);

			quiet();
		}
		{
			int k = i;
			Inlined l(&k), m(l.to);

			quiet();
		}
		{
			int k = i;
			const Quiet &l = Quiet(&k);

			quiet();
			sum += *l.to;
		}
		{
			int k = i;
			int *p __attribute__((cleanup(lower))) = &k;
			int **q = &p;

			quiet();
			sum += **q;
		}
		{
			int k = i;
			Exit e([&] { sum += k++; });

			quiet();
		}
		{
			int k = i;
			std::function<void()> f = [&k] { k++; };
			Exit<std::function<void()>> e(f);

			f();
		}
		{
			List a[3], *p = a;

			quiet();
			sum += p->a[0];
		}
		{
			List a, &b = a;
			{
				Quiet l(&b.a[0]);

				quiet();
			}
			b.a[1]++;
		}
		{
			std::lock_guard<std::mutex> g(mutex), *p = &g;

			quiet();
			sum += p != nullptr;
		}
		{
			int k = i;
			auto u = std::make_unique<Lender>(&k);
			auto &r = u;

			quiet();
			sum += *r->to;
		}
		{
			int k = i;
			std::map<int, std::shared_ptr<Lender>> m;

			m[3] = std::make_shared<Lender>(&k);
			quiet();
		}
		{
			int k = i;
			std::optional<Lender> o;

			o.emplace(&k);
			quiet();
		}
		{
			std::string text = "x", *p = &text;

			quiet();
			if (i == 2)
				continue;
			*p += "a string too long for what is in the object";
			sum += text.size();
		}
		{
			List d, *p = &d;

			if (i == 4)
				break;
			p->a[1] = 3;
			try {
				List e, *q = &e;
				Lender l(&q->a[1]);

				if (i == 1)
					throw 4;
				sum++;
			} catch (int &thrown) {
				int k = thrown, *q = &k;
				Quiet r(q);

				sum += *q;
			}
		}
		switch (i) {
		case 0: {
			List q, *p = &q;

			p->a[3] = 1;
			goto out;
		}
		default: {
			List r, *p = &r;

			p->a[2] = 2;
		}
		}
	out:
		if (List d; d.a[0]) {
			List *p = &d;
			Lender l(&p->a[3]);

			quiet();
		}
		for (auto &x : std::vector<List>(3)) {
			Lender l(&x.a[1]);

			sum += x.a[0];
		}
	}
	return sum;
}
static int early(int n)
{
	for (int i = 0;; i++) {
		List d, *p = &d;
		int k = n;
		Lender l(&k);

		if (i == n)
			return p->a[0];
	}
}
static void thrown(bool is_thrown)
{
	try {
		int k = 1;
		Lender l(&k);
		List d, *p = &d;
		Quiet q(&p->a[0]);

		if (is_thrown)
			throw std::string("ab");
		sum++;
	} catch (std::string &text) {
		std::string *p = &text;

		sum += p->size();
	}
}

struct Early {
	int *to = nullptr;
	~Early() { sum += *to; } // expect by clang: DEAD-SCOPE
};
struct Outer {
	int *to = nullptr;
	~Outer() { sum += *to; } // expect: DEAD-SCOPE
};
struct Kept {
	int *to = nullptr;
	~Kept() { sum += *to; } // expect: DEAD-SCOPE
};
struct Later {
	int *to;
	Later(int *p) : to(p) { ++*to; } // expect: DEAD-SCOPE
	~Later() { --*to; }		 // expect: DEAD-SCOPE
};
static void outer()
{
	Outer o;
	{
		int k = 5;

		o.to = &k;
	}
	sum++;
}
static void wrong()
{
	List *list;
	int *p;

	{
		Early e;
		int k = 5;

		e.to = &k;
	}
	sum--;
	outer();
	Kept *kept = new Kept;
	{
		int k = 5;

		kept->to = &k;
	}
	delete kept;
	{
		List d;

		list = &d;
		quiet();
	}
	list->a[0] = 3; // expect: DEAD-SCOPE
	{ // whose code for exceptions lies elsewhere
		List d;
		Lender l(&d.a[2]);

		list = &d;
		quiet();
	}
	list->a[0] = 3; // expect: DEAD-SCOPE
	std::function<void()> f;
	{
		int k = 5;

		f = [&] {
			sum += k; // expect: DEAD-SCOPE
		};
	}
	f();
	{
		int k = 5;

		p = &k;
	}
	Later l(p);
}

int main(int argc, char **argv)
{
	right(6);
	early(3);
	thrown(false);
	thrown(true);
	if (argc > 1 && !strcmp(argv[1], "wrong"))
		wrong();
	return 0;
}
