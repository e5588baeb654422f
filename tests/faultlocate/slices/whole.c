// a word made of bytes, all of it
int main(int argc, char **argv)
{
	volatile union {
		unsigned word;
		unsigned char byte[4];
	} u;
	volatile unsigned r;

	(void)argv;
	u.word = 0; // out
	u.byte[0] = argc; // in
	u.byte[1] = argc + 1; // in
	u.byte[2] = argc + 2; // in
	u.byte[3] = argc + 3; // in
	r = u.word; // in
	return r & 1; // at r
}
