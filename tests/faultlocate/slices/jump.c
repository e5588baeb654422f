// setjmp came back a second time, with what longjmp gave it
// also -O2
#include <setjmp.h>
static jmp_buf place;
static volatile int noise;

__attribute__((noinline)) static void fail(int n)
{
	noise = n; // out
	if (n > 3) // in
		longjmp(place, n + 1); // in
}

int main(int argc, char **argv)
{
	volatile int r, why; // 

	(void)argv;
	why = setjmp(place); // in
	if (!why) // in -O0
		fail(argc + 4); // in
	noise = 1; // out
	r = why; // in
	return r; // at r
}
