// a loop in a loop, with a way out of both
int main(int argc, char **argv)
{
	volatile int found = -1, noise = 0; // out

	(void)argv;
	for (volatile int i = 0; i < 6; i++) { // in
		noise += 3; // out
		for (volatile int k = 0; k < 6; k++) { // in
			if (i * k != 12 * argc) // in
				continue;
			found = i + k; // in
			goto out;
		}
	}
out:
	noise++; // out
	return found; // at found -O0
}
