// floating point, through vector registers
int main(int argc, char **argv)
{
	volatile double a = argc, b = argc + 1.5, c; // in
	volatile int r;

	(void)argv;
	c = a * b; // in
	a = c + 1; // out
	b = a / 3; // out
	r = c * 2; // in
	a = r; // out
	return r; // at r
}
