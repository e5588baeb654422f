// a register has its own bytes and no more: what made them is all there is
#include <stdio.h>
__attribute__((noinline)) static int thrice(int n)
{
	return n * 3; // in
}

int main(int argc, char **argv)
{
	int r = thrice(argc); // in

	(void)argv;
	printf("%d\n", r); // out
	return r; // in
} // at rax -O0
