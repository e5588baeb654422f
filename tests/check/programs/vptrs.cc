// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * One thread deletes an object whose virtual function another calls. Until the destructor of the class that it is of has
 * waited for that, its vtable pointer is stored, but no other one; with RACY the class's base waits instead, too late.
 * Lines with a comment that says `race' are one side of a race then.
 */
#include <pthread.h>
#include <unistd.h>

struct base {
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	bool is_done = false;

	virtual void work()
	{
	}
	void done()
	{
		pthread_mutex_lock(&lock);
		is_done = true;
		pthread_mutex_unlock(&lock);
	}
	void wait()
	{
		for (bool has_ended = false; !has_ended; usleep(1000)) {
			pthread_mutex_lock(&lock);
			has_ended = is_done;
			pthread_mutex_unlock(&lock);
		}
	}
	virtual ~base()
	{ // race
#ifdef RACY
		wait();
#endif
	}
};

struct derived : base {
	void work() override
	{
	}
	~derived() override
	{
#ifndef RACY
		wait();
#endif
	}
};

static void *use(void *arg)
{
	base *b = static_cast<base *>(arg);

	usleep(20000);
	b->work(); // race
	b->done();
	return nullptr;
}

static void *remove(void *arg)
{
	delete static_cast<base *>(arg);
	return nullptr;
}

int main()
{
	base *b = new derived;
	pthread_t t, u;

	pthread_create(&t, nullptr, use, b);
	pthread_create(&u, nullptr, remove, b);
	pthread_join(t, nullptr);
	pthread_join(u, nullptr);
	return 0;
}
