// two threads, each its own sum; then one of both
#include <pthread.h>
static volatile int sums[2];

static void *work(void *arg)
{
	volatile int *sum = arg; // in -O0

	for (int i = 0; i < 3; i++) // in -O0
		*sum += i; // in
	return 0;
}

int main(int argc, char **argv)
{
	pthread_t t[2];
	volatile int r, noise;

	(void)argv;
	sums[0] = argc; // in
	sums[1] = argc * 2; // out
	pthread_create(&t[0], 0, work, (void *)&sums[0]); // in
	pthread_create(&t[1], 0, work, (void *)&sums[1]);
	pthread_join(t[0], 0);
	pthread_join(t[1], 0);
	noise = sums[1]; // out
	r = sums[0]; // in
	(void)noise;
	return r; // at r
}
