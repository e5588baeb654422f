// the second time, not the last
static volatile int noise;
__attribute__((noinline)) static int seen(int n)
{
	volatile int copy = n; // in

	noise++; // out
	return copy + 1; // at copy #2
}

int main(int argc, char **argv)
{
	volatile int a = argc, b = argc + 1, c = argc + 2;

	(void)argv;
	a = a + 1; // out
	b = b + 2; // in
	c = c + 3; // out
	seen(a); // out
	seen(b); // in
	seen(c); // out
	return noise;
}
