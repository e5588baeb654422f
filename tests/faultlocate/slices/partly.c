// a store that covers a part kills that part only
#include <stdint.h>
int main(int argc, char **argv)
{
	volatile union {
		uint64_t all;
		uint32_t half[2];
	} u;
	volatile uint64_t r;

	(void)argv;
	u.all = argc; // in
	u.half[0] = argc + 2; // in
	r = u.all; // in
	u.half[1] = 0; // out
	return r & 63; // at r
}
