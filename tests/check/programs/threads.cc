// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * C++ threads in order, as the library has means for it; but for one line where RACY is defined.
 */
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <queue>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>

struct text {
	std::string s = "long enough to be on the heap";
	int n = 0;
	~text() { n = -1; }
};

static std::mutex mutex;
static std::condition_variable cond;
static std::queue<std::string> jobs;
static bool done;
static std::atomic<bool> flag{ false };
static std::atomic<text *> handed{ nullptr };
static int payload, once_value;
static volatile int racy;
#ifdef RACY
static std::atomic<int> begun;
#endif
static std::shared_mutex shared;
static std::map<int, std::string> table;
static std::once_flag once;
static struct {
	std::atomic<int> head{ 0 };
	int data[16];
} ring;

static void require(bool is_so)
{
	if (!is_so)
		std::abort();
}

static text &only_one()
{
	static text t;
	return t;
}

static void produce()
{
	for (int i = 0; i < 20; i++) {
		std::unique_lock<std::mutex> l(mutex);
		jobs.push(std::to_string(i) + " and more text than fits");
		cond.notify_one();
	}
	std::lock_guard<std::mutex> l(mutex);
	done = true;
	cond.notify_all();
}

static void consume()
{
	for (;;) {
		std::unique_lock<std::mutex> l(mutex);
		cond.wait(l, [] { return done || !jobs.empty(); });
		if (jobs.empty())
			return;
		auto job = std::move(jobs.front());
		jobs.pop();
		l.unlock();
		require(job.size() > 3);
	}
}

static void share(int me)
{
	require(!only_one().s.empty());
	std::call_once(once, [] { once_value = 3; });
	require(once_value == 3);
	for (int i = 0; i < 10; i++) {
		if (me == 0) {
			std::unique_lock<std::shared_mutex> l(shared);
			table[i] = "a text that is on the heap, too";
		} else {
			std::shared_lock<std::shared_mutex> l(shared);
			auto it = table.find(i);
			require(it == table.end() || !it->second.empty());
		}
	}
}

static void count()
{
#ifdef RACY
	// Both have begun: else the one may have ended before the other is made, which is an order.
	begun++;
	while (begun < 2)
		std::this_thread::yield();
	for (int i = 0; i < 10; i++)
		racy = racy + 1; // race
#endif
}

int main()
{
	std::vector<std::thread> all;
	auto counted = std::make_shared<text>();
	std::promise<std::string> promise;
	auto promised = promise.get_future();

	all.emplace_back(produce);
	all.emplace_back(consume);
	all.emplace_back(consume);
	all.emplace_back([] {
		payload = 42;
		flag.store(true, std::memory_order_release);
	});
	all.emplace_back([] {
		while (!flag.load(std::memory_order_acquire))
			std::this_thread::yield();
		require(payload == 42);
	});
	all.emplace_back([] {
		text *t = new text;
		t->n = 5;
		handed.store(t, std::memory_order_release);
	});
	all.emplace_back([] {
		text *t;
		while (!(t = handed.load(std::memory_order_acquire)))
			std::this_thread::yield();
		require(t->n == 5);
		delete t;
	});
	for (int k = 0; k < 3; k++)
		all.emplace_back(share, k);
	for (int k = 0; k < 3; k++)
		all.emplace_back([counted] {
			std::weak_ptr<text> weak = counted;
			if (auto strong = weak.lock())
				require(!strong->s.empty());
		});
	counted.reset();
	auto later = std::async(std::launch::async, [] { return std::vector<int>(100, 7); });
	all.emplace_back([&promise] { promise.set_value("promised, and on the heap as well"); });
	require(promised.get().size() > 5 && later.get()[5] == 7);
	all.emplace_back([] {
		for (int i = 0; i < 16; i++) {
			ring.data[i] = i;
			ring.head.store(i + 1, std::memory_order_release);
		}
	});
	all.emplace_back([] {
		for (int i = 0; i < 16;)
			for (int h = ring.head.load(std::memory_order_acquire); i < h; i++)
				require(ring.data[i] == i);
	});
	all.emplace_back(count);
	all.emplace_back(count);
	for (auto &t : all)
		t.join();
	return 0;
}
