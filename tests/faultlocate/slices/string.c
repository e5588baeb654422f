// a character of a string that printf made
#include <stdio.h>
int main(int argc, char **argv)
{
	char text[32];
	volatile int r, a = argc + 41, b = argc + 6;

	(void)argv;
	a = a + 1; // in
	b = b + 1; // out -O9
	snprintf(text, sizeof(text), "%d-%d", a, b); // in
	a = 0; // out
	r = text[1]; // in
	return r & 1; // at r
}
