// why a pointer is NULL, without being told where
#include <stdlib.h>
static int *volatile pointers[4];
static volatile int noise;

__attribute__((noinline)) static void put(int i, int *p)
{
	noise = i; // out
	pointers[i] = p; // in
}

int main(int argc, char **argv)
{
	int x = 3;

	(void)argv;
	put(0, &x); // out
	put(1, &x); // out
	if (argc == 1) // in
		put(1, NULL); // in
	put(2, &x); // out
	noise = 0; // out
	return *pointers[1]; // at crash
}
