// a flag that one instruction leaves for another: the carry of 128 bits
// also -O2
int main(int argc, char **argv)
{
	volatile unsigned long low = ~0ul, high = argc; // in
	volatile unsigned long noise = argc, r;
	unsigned __int128 sum;

	(void)argv;
	noise = noise + high; // out
	sum = (unsigned __int128)high << 64 | low; // in
	sum += argc; // in
	r = sum >> 64; // in
	noise = sum; // out
	return r; // at r
}
