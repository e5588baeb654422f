// paper 002, Figure 5.7: what keeps a register and gives it back has no part in it
#include <stdlib.h>
static volatile int sink;
__attribute__((noinline)) static void q(int n)
{
	// Takes the register that e is in.
	asm volatile("push %%rbx; mov %0, %%ebx; add %%ebx, %1; pop %%rbx" // out
		     : : "r"(n), "m"(sink) : "cc", "memory"); // out
}

__attribute__((noinline)) static int p(int c, int d)
{
	register int e asm("rbx") = d + d; // in

	asm volatile("" : "+r"(e));
	if (c == 't') // out
		q(c); // out
	asm volatile("" : "+r"(e));
	return e; // at -O0 e
}

int main(int argc, char **argv)
{
	(void)argv;
	return p('s' + argc, argc + 3);
}
