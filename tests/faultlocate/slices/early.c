// an early return decides on all that follows it
__attribute__((noinline)) static int check(int n, volatile int *log)
{
	*log = n; // out
	if (n < 0) // in
		return -1; // out
	*log = n + 1; // out
	if (n > 10) // in
		return -2; // out
	return n * 3; // in
}

int main(int argc, char **argv)
{
	volatile int log, r;

	(void)argv;
	r = check(argc + 1, &log); // in
	log = 0; // out
	return r; // at r
}
