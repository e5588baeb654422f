// state that functions share
static volatile int depth, high, noise;

__attribute__((noinline)) static void enter(void)
{
	depth++; // in
	noise = depth; // out
	if (depth > high) // in
		high = depth; // in
}

__attribute__((noinline)) static void leave(void)
{
	depth--; // out
}

int main(int argc, char **argv)
{
	(void)argv;
	for (volatile int i = 0; i < argc + 2; i++) // in
		enter(); // in
	leave(); // out
	leave(); // out
	return high; // at high
}
