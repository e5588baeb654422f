// a handler set it, the instruction it interrupted is another's
#include <signal.h>
static volatile int got, noise;

static void handle(int signo)
{
	noise = 4; // out
	got = signo + 1; // in
}

int main(int argc, char **argv)
{
	volatile int r, n = argc;

	(void)argv;
	signal(SIGUSR1, handle);
	n = n + 4; // out
	raise(SIGUSR1); // out -O9
	noise = n; // out
	r = got; // in
	return r; // at r
}
