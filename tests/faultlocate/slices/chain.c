// paper 001, chapter 5: a definition kills what was there before
int main(int argc, char **argv)
{
	volatile int a = argc, b, c;

	(void)argv;
	b = a + 1; // in
	c = a + 2; // out
	a = c * 2; // out
	c = b + b; // in
	b = 9; // out
	return c + 1; // at c
}
