// conditions joined by && and ||
int main(int argc, char **argv)
{
	volatile int a = argc, b = argc + 1, c = argc + 2, r = 0;

	(void)argv;
	a = a + 1; // in
	b = b + 1; // in
	c = c + 1; // out
	if ((a == 2 && b == 3) || c == 9) // in
		r = 5; // in
	c = r; // out
	return r; // at r
}
