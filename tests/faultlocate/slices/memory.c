// through memcpy: one element, not its neighbours
// also -O2
#include <string.h>
int main(int argc, char **argv)
{
	volatile long from[3], r;
	long to[3];

	(void)argv;
	from[0] = argc + 1; // out
	from[1] = argc + 2; // in
	from[2] = argc + 3; // out
	memcpy(to, (void *)from, sizeof(to)); // in
	from[1] = 0; // out
	r = to[1]; // in
	return r; // at r
}
