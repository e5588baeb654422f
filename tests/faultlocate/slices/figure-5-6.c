// paper 002, Figure 5.6: a case depends on its switch, through a table of jumps
#include <stdio.h>
static int step(int c, int d)
{
	int w = 0;

	switch (c) { // in -O0
	case 'a':
		w = d + 2; // in -O0
		break;
	case 'b':
		w = d - 2; // out
		break;
	case 'c':
		w = d * 3; // out
		break;
	case 'd':
		w = d / 3; // out
		break;
	case 'e':
		w = d ^ 3; // out
		break;
	case 'f':
		w = d | 3; // out
		break;
	}
	return w; // in -O0
}

int main(int argc, char **argv)
{
	int c = "ab"[argc - 1]; // in -O0
	int unused = argc * 7; // out
	int w = step(c, 40); // in -O0

	(void)argv;
	printf("%d\n", unused);
	return w; // at w -O0
}
