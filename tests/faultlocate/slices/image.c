// vector registers saved in an image and restored: each has what it had
int main(int argc, char **argv)
{
	static char image[512] __attribute__((aligned(16)));
	volatile double a, b, r;

	(void)argv;
	a = argc + 0.5; // in
	b = argc + 1.5; // out
	__asm__ volatile("movsd %0, %%xmm6" : : "m"(a) : "xmm6"); // in
	__asm__ volatile("movsd %0, %%xmm7" : : "m"(b) : "xmm7"); // out
	__asm__ volatile("fxsave %0" : "=m"(image)); // in
	__asm__ volatile("xorps %%xmm6, %%xmm6" : : : "xmm6"); // out
	__asm__ volatile("fxrstor %0" : : "m"(image) : "xmm6"); // in
	__asm__ volatile("movsd %%xmm6, %0" : "=m"(r)); // in
	return r; // at r
}
