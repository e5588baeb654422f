// a tail call: the callee's frame is its caller's
// also -O2
static volatile int noise;
__attribute__((noipa)) static int last(int n)
{
	return n + 1; // in
}

__attribute__((noipa)) static int first(int n)
{
	noise = n; // out
	if (n > 100) // in
		return 0; // out
	return last(n * 2); // in
}

int main(int argc, char **argv)
{
	volatile int r;

	(void)argv;
	r = first(argc + 3); // in
	noise = 0; // out
	return r; // at r
}
