// where a string move has got to in one place: it runs only with both pointers
#include <stdint.h>
int main(int argc, char **argv)
{
	uint64_t from[4], to[4];
	uint64_t *volatile s = from, *volatile d = to;
	void *source, *target;
	volatile uintptr_t r;

	(void)argv;
	from[1] = argc; // out
	s = s + argc; // in
	d = d + argc; // in
	source = s; // in
	target = d; // in
	__asm__ volatile("movsq" : "+S"(source), "+D"(target) : : "memory"); // in
	r = (uintptr_t)target; // in
	return r >> 3 & 63; // at r
}
