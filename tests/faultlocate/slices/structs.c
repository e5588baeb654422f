// structures passed and returned by value
// (not -O2: gcc may add both with one vector instruction, which is one line)
struct pair {
	int a, b;
	long c[3];
};

__attribute__((noinline)) static struct pair swap(struct pair p)
{
	struct pair q = p; // out -O0

	q.a = p.b; // in -O0
	q.b = p.a; // out
	q.c[0] = 4; // out
	return q; // in -O0
}

int main(int argc, char **argv)
{
	struct pair p = { 0 };
	volatile int r;

	(void)argv;
	p.a = argc + 1; // out
	p.b = argc + 2; // in
	p = swap(p); // in
	r = p.a; // in
	return r; // at r
}
