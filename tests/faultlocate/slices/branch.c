// the branch that was taken decides, what is behind its join does not
int main(int argc, char **argv)
{
	volatile int p = argc, x = 3, y = 4, z; // in
	volatile int w;

	(void)argv;
	if (p) // in
		z = x; // in
	else
		z = y; // out
	w = y + 1; // out
	if (w == 5) // out
		y = 0; // out
	return z; // at z
}
