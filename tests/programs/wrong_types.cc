// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What goes wrong in C++ with containers, owners, lambdas and objects, and what looks like it and is right; as wrong.c.
 * `wrong' or `right' says what to run.
 */
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wuse-after-free"
#endif
#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

// What is expected stands on the line itself.
// clang-format off

#ifdef __clang__
#define ALONE __attribute__((noinline))
#else
#define ALONE __attribute__((noipa))
#endif
#define KEEP static ALONE

static volatile long sum;
static volatile int zero;

template <class T> KEEP T *same(T *p)
{
	__asm__ volatile("" : "+r"(p) : : "memory");
	return p;
}

struct shape {
	virtual ~shape() {}
	virtual int corners() const { return corner; }
	int corner = 3;
};

struct square : shape {
	int corners() const override { return 4 + corner; }
};

struct holder {
	int *of;
	int number;
	long get() const { return number; } // expect: DANGLING-READ
	void set(int to) { number = to; } // expect: DANGLING-WRITE
};

/* ---- after it was freed --------------------------------------------------------------------- */

KEEP void dangling_reads()
{
	std::vector<int> v(10, 1);
	int *first = same(&v[0]);
	v.resize(10000);
	sum += *first; // expect: DANGLING-READ

	std::string s(40, 'x');
	const char *text = same(s.c_str());
	s.append(1000, 'y');
	sum += text[3]; // expect: DANGLING-READ

	auto owner = std::make_unique<long>(5);
	long *raw = same(owner.get());
	owner.reset();
	sum += *raw; // expect: DANGLING-READ

	std::map<int, std::pair<int, int>> m;
	m[1] = { 2, 3 };
	auto &entry = *same(&m[1]);
	m.erase(1);
	sum += entry.second; // expect: DANGLING-READ

	std::list<int> l = { 1, 2, 3 };
	int &element = *same(&l.front());
	l.pop_front();
	sum += element; // expect: DANGLING-READ

	auto shared = std::make_shared<std::array<int, 8>>();
	auto *inside = same(shared.get());
	shared = nullptr;
	sum += (*inside)[5]; // expect: DANGLING-READ

	shape *kind = same(new square);
	delete kind;
	sum += kind->corner; // expect: DANGLING-READ

	auto *h = same(new holder{ nullptr, 1 });
	delete h;
	sum += h->get();

	std::string_view view;
	{
		std::string long_one(100, 'z');
		view = long_one;
		same(&view);
	}
	sum += view[7]; // expect: DANGLING-READ

	int *many = same(new int[20]());
	delete[] many;
	for (int i = 0; i < 3; i++)
		sum += many[i * 2]; // expect: DANGLING-READ

	std::vector<std::string> names(2, std::string(50, 'n'));
	const std::string *name = same(&names[1]);
	names.clear();
	names.shrink_to_fit();
	sum += *same((const char *)name); // expect: DANGLING-READ

	std::optional<std::vector<int>> maybe = std::vector<int>(7, 7);
	const int *in_it = same(maybe->data());
	maybe.reset();
	sum += in_it[2]; // expect: DANGLING-READ
}

KEEP void dangling_writes()
{
	std::vector<int> v(10, 1);
	int *first = same(&v[0]);
	v.resize(10000);
	*first = 3; // expect: DANGLING-WRITE

	auto owner = std::make_unique<int[]>(50);
	int *raw = same(owner.get());
	owner.reset();
	raw[8] = 1; // expect: DANGLING-WRITE

	std::list<long> l = { 1, 2, 3 };
	long *element = same(&l.back());
	l.clear();
	*element = 5; // expect: DANGLING-WRITE

	auto *h = same(new holder{ nullptr, 1 });
	delete h;
	h->set(4);

	char *c = same(new char[100]);
	delete[] c;
	memset(c + 30, 0, 4); // expect: DANGLING-WRITE
	std::strcpy(c + 50, "abc"); // expect: DANGLING-WRITE

	std::unordered_map<int, double> u;
	u[4] = 1;
	double *of = same(&u[4]);
	u.clear();
	*of = 2; // expect: DANGLING-WRITE

	std::deque<int> d(1000, 1);
	int *last = same(&d.back());
	d.clear();
	d.shrink_to_fit();
	*last = 6; // expect: DANGLING-WRITE

	std::set<int> set = { 1, 2 };
	int *key = same(const_cast<int *>(&*set.begin()));
	set.clear();
	*key = 3; // expect: DANGLING-WRITE

	struct square *s = same(new square);
	delete s;
	s->corner = 3; // expect: DANGLING-WRITE

	std::function<void()> later;
	{
		auto p = std::make_shared<int>(3);
		later = [q = same(p.get())] { *q = 4; }; // expect: DANGLING-WRITE
	}
	later();
}

/* ---- beyond ---------------------------------------------------------------------------------------- */

KEEP void overflows()
{
	std::vector<int> v(11, 1);
	int *i = v.data();
	sum += i[same((char *)11) - (char *)0]; // expect: HEAP-OVERFLOW
	auto u = std::make_unique<short[]>(5);
	u.get()[5 + zero] = 2; // expect: HEAP-OVERFLOW
	int *n = same(new int[3]());
	for (int k = 0; k <= 3; k++)
		sum += *(volatile int *)&n[k]; // expect: HEAP-OVERFLOW
	char *c = same(new char[10]);
	std::memcpy(c, "0123456789a", 11); // expect: HEAP-OVERFLOW
	std::strcpy(same(c), "0123456789"); // expect: HEAP-OVERFLOW
	std::fill(n, n + 3, 1);
	struct { long a, b; } *pair = (decltype(pair))same(new long(4));
	sum += pair->b; // expect: HEAP-OVERFLOW
	holder *h = (holder *)same(::operator new(8));
	h[zero].number = 3; // expect: HEAP-OVERFLOW
	auto a = std::make_unique<std::array<int, 4>>();
	int *x = a->data();
	x[zero + 4] = 5; // expect: HEAP-OVERFLOW
	std::vector<char> w(33, 'w');
	sum += *same(&*w.begin() + 33); // expect: HEAP-OVERFLOW
	square *s = (square *)same(::operator new(8));
	s->corner = 1; // expect: HEAP-OVERFLOW
	sum += v[10] + u[4] + n[2] + c[9] + (*a)[3];
	delete[] n;
	delete[] c;
	delete (long *)pair;
	::operator delete(h);
	::operator delete(s);
}

KEEP void underflows()
{
	int minus = zero - 1;
	std::vector<int> v(5, 1);
	sum += v.data()[minus]; // expect: HEAP-UNDERFLOW
	int *n = same(new int[4]());
	sum += n[minus]; // expect: HEAP-UNDERFLOW
	for (int k = 3; k >= -1; k--)
		sum += *(volatile int *)&n[k]; // expect: HEAP-UNDERFLOW
	auto u = std::make_unique<double[]>(3);
	sum += u.get()[minus] > 0; // expect: HEAP-UNDERFLOW
	std::string s(40, 's');
	sum += s.data()[minus]; // expect: HEAP-UNDERFLOW
	char *c = same(new char[20]());
	sum += c[minus * 3]; // expect: HEAP-UNDERFLOW
	sum += *same((short *)c - 1); // expect: HEAP-UNDERFLOW
	holder *h = same(new holder[2]());
	sum += h[minus].number; // expect: HEAP-UNDERFLOW
	std::vector<long> w(7, 7);
	sum += *(same(w.data()) + minus); // expect: HEAP-UNDERFLOW
	long *e = same(w.data() + 7);
	sum += e[8 * minus]; // expect: HEAP-UNDERFLOW
	delete[] n;
	delete[] c;
	delete[] h;
}

/* ---- freed again ------------------------------------------------------------------------------------ */

// The allocator gives the same memory again, and notices nothing.
template <class T> KEEP T *reused()
{
	T *p = same(new T()), *q;
	delete p;
	q = same(new T());
	return same(p) == same(q) ? p : (T *)nullptr;
}

struct shallow {
	int *data = new int[6]();
	bool is_owner = true;
	~shallow()
	{
		if (is_owner)
			delete[] data; // expect: DOUBLE-FREE
	}
};

KEEP void double_frees()
{
	delete reused<int>(); // expect: DOUBLE-FREE
	delete reused<std::array<int, 9>>(); // expect: DOUBLE-FREE
	delete reused<std::array<int, 12>>(); // expect: DOUBLE-FREE
	::operator delete(reused<std::array<int, 20>>()); // expect: DOUBLE-FREE
	for (int i = 0; i < 2; i++)
		delete reused<std::array<long, 30>>(); // expect: DOUBLE-FREE
	{
		shallow one;
		delete[] one.data;
		int *again = same(new int[6]());
		one.is_owner = again == one.data;
	}
}

/* ---- lost -------------------------------------------------------------------------------------------- */

struct link {
	std::shared_ptr<link> next;
	char name[20];
};

static std::vector<int *> *volatile kept;

KEEP void leaks()
{
	same(new int); // expect: DEFINITE-LEAK
	same(new char[21]); // expect: DEFINITE-LEAK
	same(new square); // expect: DEFINITE-LEAK
	same(new std::string(50, 'l')); // expect: DEFINITE-LEAK INDIRECT-LEAK
	same(new (std::nothrow) double); // expect: DEFINITE-LEAK
	same(::operator new(77)); // expect: DEFINITE-LEAK
	same(std::make_unique<int[]>(30).release()); // expect: DEFINITE-LEAK
	auto *v = same(new std::vector<int *>); // expect: DEFINITE-LEAK
	for (int i = 0; i < 3; i++)
		v->push_back(same(new int(i))); // expect: INDIRECT-LEAK
	v = nullptr;
	{
		auto a = std::make_shared<link>(); // expect: DEFINITE-LEAK
		auto b = std::make_shared<link>(); // expect: INDIRECT-LEAK
		a->next = b;
		b->next = a;
	}
	same(new holder[4]); // expect: DEFINITE-LEAK
	kept = same(new std::vector<int *>);
	kept->push_back(new int(3));
}

/* ---- variables ---------------------------------------------------------------------------------------- */

static std::array<int, 6> table = { 1, 2, 3, 4, 5, 6 };
static struct { int in[4]; } fixed = { { 1, 2, 3, 4 } };
static char after[256];

template <class T> KEEP void over(volatile T *p, int i) { sum += p[i]; } // expect: STACK-OVERFLOW
template <class T> KEEP void under(volatile T *p, int i) { sum += p[i]; } // expect: STACK-UNDERFLOW
KEEP void over_static(volatile int *p, int i) { sum += p[i]; } // expect: GLOBAL-OVERFLOW
KEEP void under_static(volatile int *p, int i) { sum += p[i]; } // expect: GLOBAL-UNDERFLOW

struct walker {
	volatile int *at;
	int n;
	ALONE void walk() const
	{
		for (int i = 0; i <= n; i++)
			sum += at[i]; // expect: STACK-OVERFLOW
	}
};

KEEP void variables()
{
	std::array<int, 8> a = {};
	double d[3] = {};
	char text[16] = "fifteen charact";
	int few[4] = {};

	same(&a), same(d), same(text), same(few);
	over<int>(a.data(), 500 + zero);
	over<double>(d, 200 + zero);
	over<char>(text, 1000 + zero);
	walker{ few, 400 + zero }.walk();
	under<int>(a.data() + 2, -300 + zero);
	under<double>(d + 1, -200 + zero);
	auto each = [&](int i) ALONE { sum += *same(few + i); }; // expect: STACK-OVERFLOW
	each(600 + zero);
	over_static(table.data(), 6 + zero);
	over_static(fixed.in, 4 + zero);
	under_static(table.data() + 2, -3 + zero);
	under_static(fixed.in + 1, -2 + zero);
	sum += after[3];
}

static int *held;

KEEP std::function<int()> by_reference(int x)
{
	int local[4] = { x, 2, 3, 4 };
	return [p = same(local)]() ALONE { return *(volatile int *)&p[1]; }; // expect: DEAD-FRAME
}

KEEP const int &reference(int x)
{
	int here = x;
	return *same(&here);
}

struct keeper {
	int in[4] = { 1, 2, 3, 4 };
	keeper() { held = same(in); }
};

KEEP void keep()
{
	keeper k;
	same(&k);
}

KEEP void gone()
{
	sum += by_reference(1 + zero)();
	sum += reference(3 + zero); // expect: DEAD-FRAME
	keep();
	sum += held[2]; // expect: DEAD-FRAME
}

/* ---- without a value ------------------------------------------------------------------------------------ */

struct partly {
	int set = 1, unset;
	bool flag;
	double d;
	partly() {}
	ALONE void look() const { if (flag) sum++; } // expect: UNINIT-USE
};

KEEP void v1(const partly *p) { if (p->unset > 3) sum++; } // expect: UNINIT-USE
KEEP void v2(const int *p) { if (p[1] == 2) sum++; } // expect: UNINIT-USE
KEEP void v3(const std::array<short, 4> &a) { if (a[2] < 0) sum++; } // expect: UNINIT-USE
KEEP void v4(const double *p) { if (*p > 1) sum++; } // expect: UNINIT-USE
KEEP void v5(const unsigned *p) { sum += table[*p % 5]; } // expect: UNINIT-USE
KEEP void v6(const int *p) { switch (*p) { case 1: sum++; break; case 7: sum += 2; break; case 900: sum += 3; } } // expect: UNINIT-USE
KEEP void v7(const partly *p) { partly copy = *p; if (copy.d > 4) sum++; } // expect: UNINIT-USE
KEEP void v8(const int *p) { int t = std::accumulate(p, p + 4, 0); if (t == 6) sum++; } // expect: UNINIT-USE
KEEP void v9(const char *p) { sum += std::strlen(p) > 3; } // expect: UNINIT-USE

KEEP void unset()
{
	partly p;
	int *n = same(new int[4]);
	std::array<short, 4> a;
	double d;
	unsigned u;
	int i;
	char *c = same(new char[4]);

	same(&p), same(&a), same(&d), same(&u), same(&i);
	p.look();
	v1(&p);
	v2(n);
	v3(a);
	v4(&d);
	v5(&u);
	v6(&i);
	v7(&p);
	v8(n);
	c[3] = 0;
	v9(c);
	delete[] n;
	delete[] c;
}

/* ---- right --------------------------------------------------------------------------------------------- */

struct base_a { virtual ~base_a() {} long a = 1; };
struct base_b { virtual ~base_b() {} long b = 2; };
struct both : base_a, virtual base_b { long c = 3; };

KEEP std::string made(int n)
{
	return std::string(n, 'q') + std::to_string(n);
}

KEEP void thrower(int n)
{
	std::vector<int> v(n);
	if (n > 3)
		throw std::string(50, 't');
}

KEEP void right()
{
	std::vector<std::string> v;
	for (int i = 0; i < 100; i++)
		v.push_back(made(i));
	std::sort(v.begin(), v.end());
	v.erase(v.begin() + 3, v.begin() + 50);
	std::map<std::string, std::vector<int>> m;
	for (auto &s : v)
		m[s].assign(s.size(), 3);
	for (auto it = m.begin(); it != m.end();)
		it = it->first.size() % 2 ? m.erase(it) : std::next(it);
	std::unordered_map<std::string, std::unique_ptr<shape>> u;
	for (auto &s : v)
		u[s] = s.size() % 3 ? std::make_unique<shape>() : std::make_unique<square>();
	for (auto &e : u)
		sum += e.second->corners();
	std::deque<long> d;
	for (int i = 0; i < 500; i++) {
		d.push_back(i);
		if (i % 3 == 0)
			d.pop_front();
	}
	std::list<std::shared_ptr<both>> l;
	for (int i = 0; i < 20; i++)
		l.push_back(std::make_shared<both>());
	base_b *second = l.front().get();
	sum += second->b;
	std::unique_ptr<base_b> as_base(new both);
	as_base.reset();
	std::weak_ptr<both> weak = l.back();
	l.clear();
	sum += weak.expired();
	try {
		thrower(5);
	} catch (const std::string &s) {
		sum += s.size();
	}
	std::array<int, 5> a;
	std::iota(a.begin(), a.end(), 1);
	sum += std::accumulate(a.begin(), a.end(), 0);
	std::function<int(int)> f = [&](int i) { return a[i]; };
	sum += f(4);
	std::string small = "small", big(100, 'b');
	std::swap(small, big);
	small += big;
	big = small.substr(3, 20);
	std::optional<std::string> o = big;
	o.reset();
	shallow once;
	partly p;
	p.unset = 4;
	p.flag = true;
	p.d = 5;
	v1(&p);
	v7(&p);
	p.look();
	holder *array = new holder[7]();
	sum += array[6].number;
	delete[] array;
	square *squares = new square[3];
	sum += squares[2].corners();
	delete[] squares;
	std::vector<bool> bits(77);
	bits[70] = true;
	sum += std::count(bits.begin(), bits.end(), true);
	alignas(square) char place[sizeof(square)];
	square *in_place = new (place) square;
	sum += in_place->corners();
	in_place->~square();
}

int main(int argc, char **argv)
{
	if (argc > 1 && !std::strcmp(argv[1], "right")) {
		right();
		return 0;
	}
	char room[8192] = ""; // what is read astray has a value
	same(room);
	dangling_reads();
	dangling_writes();
	overflows();
	underflows();
	double_frees();
	leaks();
	variables();
	gone();
	unset();
	return 0;
}
