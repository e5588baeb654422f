// where it was read is an address; what was there a value
int main(int argc, char **argv)
{
	volatile int v[4], i, r;

	(void)argv;
	v[0] = argc; // out
	v[1] = argc * 2; // out -O0
	v[2] = argc * 3; // in
	v[3] = argc * 4; // out
	i = argc + 1; // in
	r = v[i]; // in
	i = 0; // out
	return r; // at r
}
