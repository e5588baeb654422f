// a word made of bytes, one of which is asked for
int main(int argc, char **argv)
{
	volatile union {
		unsigned word;
		unsigned char byte[4];
	} u;
	volatile int r;

	(void)argv;
	u.word = 0; // out
	u.byte[0] = argc; // out
	u.byte[1] = argc + 1; // in
	u.byte[2] = argc + 2; // out
	u.byte[3] = argc + 3; // out
	r = u.byte[1]; // in
	return r; // at r
}
