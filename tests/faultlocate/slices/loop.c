// each round depends on the one before, and on that the loop went on
// also -O2
int main(int argc, char **argv)
{
	volatile int n = argc + 4, sum = 0, other = 0; // in

	(void)argv;
	for (volatile int i = 0; i < n; i++) { // in
		if (i & 1) // in
			sum += i; // in
		else
			other += i; // out
	}
	other = 2; // out
	return sum; // at sum
}
