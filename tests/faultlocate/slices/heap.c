// memory given back and given again: the old contents have no part in it
#include <stdlib.h>
int main(int argc, char **argv)
{
	volatile int *p, r;

	(void)argv;
	p = malloc(64);
	p[8] = argc; // out
	free((void *)p);
	p = malloc(64); // in
	p[8] = argc + 1; // in
	r = p[8]; // in
	p[8] = 0; // out
	return r; // at r
}
