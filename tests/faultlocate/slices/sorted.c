// a callback from a library: what qsort moved about
#include <stdlib.h>
static volatile int compared;
static int by_value(const void *a, const void *b)
{
	compared++; // out
	return *(const int *)a - *(const int *)b; // in
}

int main(int argc, char **argv)
{
	int v[4];
	volatile int least, noise;

	(void)argv;
	v[0] = argc + 5; // in -O0
	v[1] = argc + 2; // in -O0
	v[2] = argc + 7; // in -O0
	v[3] = argc + 4; // in -O0
	qsort(v, 4, sizeof(*v), by_value); // in
	noise = v[3]; // out
	least = v[0]; // in
	(void)noise;
	return least; // at least
}
