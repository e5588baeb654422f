// which function a pointer leads to was decided somewhere
// also -O2
typedef int function(int);
__attribute__((noinline)) static int twice(int n)
{
	return n * 2; // in
}

__attribute__((noinline)) static int square(int n)
{
	return n * n; // out
}

int main(int argc, char **argv)
{
	function *volatile f = square; // out
	volatile int r, n = argc + 6; // in

	(void)argv;
	if (argc == 1) // in
		f = twice; // in
	r = f(n); // in
	n = 0; // out
	return r; // at r
}
