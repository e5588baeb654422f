// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * shapes [ROUNDS]: a C++ program that keeps objects by name, and calls one that it has
 * deleted. For the flight recorder: crashes.c in another language.
 */
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

struct shape {
	virtual ~shape() = default;
	virtual long area() const = 0;
};

struct box : shape {
	long width, height;
	box(long w, long h) : width(w), height(h) {}
	long area() const override { return width * height; }
};

struct group : shape {
	std::vector<shape *> parts;
	long area() const override
	{
		long sum = 0;

		for (auto *p : parts)
			sum += p->area();
		return sum;
	}
};

static unsigned seed = 1;

static unsigned next_random()
{
	seed = seed * 1103515245 + 12345;
	return seed >> 8;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 3000;
	std::map<std::string, std::unique_ptr<shape>> all;
	group some;
	long total = 0;

	for (int i = 0; i < rounds; i++) {
		std::string name = "shape-" + std::to_string(next_random() % 200);

		if (next_random() % 4 == 0)
			all.erase(name);
		else
			all[name] = std::make_unique<box>(i % 50, next_random() % 9);
		if (auto it = all.lower_bound(name); it != all.end())
			total += it->second->area();
	}
	for (auto &entry : all)
		some.parts.push_back(entry.second.get());
	for (int i = 0; i < 5 && !all.empty(); i++)
		all.erase(all.begin());
	// Other data where the deleted ones were.
	for (int i = 0; i < 20; i++)
		memset(malloc(sizeof(box)), 'x', 12);
	return (total + some.area()) & 1;
}
