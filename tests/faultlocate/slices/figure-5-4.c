// paper 002, Figure 5.4: the other thread's write of x is in the slice of k
#include <assert.h>
#include <pthread.h>

static volatile int x, y, z, turn;

static void *first(void *arg)
{
	(void)arg;
	x = 5; // in
	z = x; // in
	turn = 1;
	while (turn != 2)
		;
	y = z + 2; // in
	x = y + 1; // in
	turn = 3;
	return arg;
}

int main(void)
{
	pthread_t thread;
	int k;

	pthread_create(&thread, 0, first, 0);
	while (turn != 1)
		;
	k = 10; // in
	y = 3; // out
	turn = 2;
	while (turn != 3)
		;
	k = k + x; // in
	assert(k != 1); // at k -O0
	return k;
}
