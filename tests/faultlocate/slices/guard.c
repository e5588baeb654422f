// what a guard lets by depends on it, though it never led to exit()
// also -O2
#include <stdlib.h>

int main(int argc, char **argv)
{
	volatile int left = argc + 8, other = argc + 3, r;

	(void)argv;
	other++; // out
	if (left != 9) // in
		exit(other);
	r = left + 1; // in
	return r; // at r
}
