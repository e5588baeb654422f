// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * endings FORM: ends.c, as C++ programs do it.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#define APART __attribute__((noinline, noclone))

static volatile int zero;

/* ---- thrown: and nobody catches it ----------------------------------------------------- */

struct Order {
	int number;
	std::string name;
	Order *next;
};

static APART void pay(const Order &order, int amount)
{
	if (amount > 100)
		throw std::runtime_error("too much for " + order.name); /* USE thrown */
	std::puts(order.name.c_str());
}

/* ---- range: thrown by the library ------------------------------------------------------- */

static APART int pick(const std::vector<int> &v, unsigned n)
{
	return v.at(n); /* USE range */
}

/* ---- nothrow: thrown out of a function that promised not to -------------------------------- */

static APART void complain(int n)
{
	if (n)
		throw n; /* USE nothrow */
}

static APART void promise(int n) noexcept
{
	complain(n);
	std::puts("kept");
}

/* ---- virtual: called in an object that was deleted ------------------------------------------ */

struct Shape {
	virtual ~Shape() {}
	virtual int area() const = 0;
	long filling[4];
};

struct Square : Shape { /* BAD virtual: with its destructor */
	int area() const override { return side * side; }
	int side = 3;
};

static APART void drop(Shape *s)
{
	delete s; /* PASS virtual */
}

static APART int area_of(const Shape *s)
{
	return s->area(); /* USE virtual */
}

/* ---- owner: a unique_ptr that gave its object away --------------------------------------------- */

static APART std::unique_ptr<Order> take(std::unique_ptr<Order> &from)
{
	return std::move(from); /* BAD owner */
}

static APART int number_of(const std::unique_ptr<Order> &o)
{
	return o->number; /* USE owner */
}

/* ---- lookup: operator[] made what was not there --------------------------------------------------- */

static APART int lookup(std::map<std::string, Order *> &all, const char *name)
{
	Order *o = all[name]; /* BAD lookup */

	return o->number; /* USE lookup */
}

/* ---- member: a field that the constructor forgot ---------------------------------------------------- */

struct Cart {
	int n;
	long filling[4];
	Order *first;

	explicit Cart(int count) : n(count) {} /* PASS member */
};

static APART Cart *cart_new(int n)
{
	return new Cart(n); /* BAD member */
}

static APART int total(const Cart *c)
{
	return c->first->number + c->n; /* USE member */
}

static APART void soil()
{
	void *p[4];

	for (auto &q : p) {
		q = std::malloc(sizeof(Cart));
		std::memset(q, 0x77, sizeof(Cart));
	}
	for (auto &q : p)
		std::free(q);
}

int main(int argc, char **argv)
{
	std::string form = argc > 1 ? argv[1] : "";
	Order order = { 1, "a book", nullptr };

	soil();
	if (form == "thrown")
		pay(order, 1000);
	if (form == "range")
		return pick(std::vector<int>(5), 7);
	if (form == "nothrow")
		promise(5);
	if (form == "virtual") {
		Shape *s = new Square;

		drop(s);
		return area_of(s);
	}
	if (form == "owner") {
		auto o = std::make_unique<Order>();
		auto taken = take(o);

		return number_of(o) + taken->number;
	}
	if (form == "lookup") {
		std::map<std::string, Order *> all;

		all["one"] = &order;
		return lookup(all, "two");
	}
	if (form == "member")
		return total(cart_new(zero));
	return 3;
}
