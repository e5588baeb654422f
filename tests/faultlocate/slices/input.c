// what was read from a file ends there
#include <stdio.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	char buf[8];
	volatile int r, n;

	(void)argv;
	n = argc; // out
	if (pipe((int *)buf)) // out -O9
		return 1;
	if (write(((int *)buf)[1], "abcd", 4) != 4) // out -O9
		return 1;
	if (read(((int *)buf)[0], buf, 4) != 4) // in
		return 1;
	r = buf[2]; // in
	n = r; // out
	return r & 1; // at r
}
