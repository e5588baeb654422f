// a recursive function, whose calls are kept apart
// also -O2
static volatile int calls;

__attribute__((noinline)) static int factorial(int n)
{
	calls++; // out
	if (n <= 1) // in
		return 1; // in -O0
	return n * factorial(n - 1); // in
}

int main(int argc, char **argv)
{
	volatile int f, n = argc + 3; // in

	(void)argv;
	f = factorial(n); // in
	calls = 0; // out
	return f & 63; // at f
}
