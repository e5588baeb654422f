// two functions that call each other
static volatile int odd_calls;
static int is_odd(int n);

__attribute__((noinline)) static int is_even(int n)
{
	if (!n) // in
		return 1; // in -O0
	return is_odd(n - 1); // in
}

__attribute__((noinline)) static int is_odd(int n)
{
	odd_calls += 2; // out
	if (!n) // in
		return 0; // out
	return is_even(n - 1); // in
}

int main(int argc, char **argv)
{
	volatile int n = argc + 5, even; // in

	(void)argv;
	even = is_even(n); // in
	return even; // at even
}
