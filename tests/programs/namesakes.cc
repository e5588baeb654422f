// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// Methods that have names of the C library's functions, and what they do is right; with an argument one element
// behind the pool's block is written.
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <string>
struct File {
	int fd;
	__attribute__((noinline)) void open(const char *name) { fd = ::open(name, O_RDONLY); }
	__attribute__((noinline)) long read(char *to, long n) { return ::read(fd, to, n); }
	__attribute__((noinline)) void close() { ::close(fd); }
	__attribute__((noinline)) int fclose(int a) { return a + fd; }
};
struct Text {
	char *s;
	long n;
	__attribute__((noinline)) long strlen() { return n; }
	__attribute__((noinline)) void memcpy(const Text &o) { ::memcpy(s, o.s, n); }
	__attribute__((noinline)) void strcpy(const char *from, int upto) { for (int i = 0; i < upto; i++) s[i] = from[i]; }
	__attribute__((noinline)) Text *strcat(long by) { n += by; return this; }
};
struct Pool {
	struct Node { Node *next; long value[3]; };
	Node *unused = nullptr, *all = nullptr;
	long n = 0;
	__attribute__((noinline)) Node *malloc() {
		if (!unused) {
			unused = (Node *)::malloc(8 * sizeof(Node));
			all = unused;
			for (int i = 0; i < 8; i++) unused[i].next = i < 7 ? &unused[i + 1] : nullptr;
		}
		Node *to = unused; unused = to->next; n++;
		for (long &v : to->value) v = n;
		return to;
	}
	__attribute__((noinline)) void free(Node *node) { node->next = unused; unused = node; n--; }
	__attribute__((noinline)) Node *realloc(Node *node, long) { node->value[0]++; return node; }
	__attribute__((noinline)) Node *calloc(long a, long b) { Node *x = malloc(); x->value[0] = a; x->value[1] = b; return x; }
	~Pool() { ::free(all); }
};
namespace mine { __attribute__((noinline)) long free(long *p) { return *p; } __attribute__((noinline)) long exit(long a) { return a + 1; } __attribute__((noinline)) long *malloc(long *p, long) { return p; } }
struct Lock { int held = 0; __attribute__((noinline)) void pthread_mutex_lock() { held++; } __attribute__((noinline)) void abort() { held--; } };
int main(int argc, char **argv)
{
	char to[64];
	long got = 0, sum = 0;
	File f; f.open(argv[0]); got = f.read(to, sizeof(to)); sum += f.fclose(3); f.close(); f.fd = -1; f.close();
	Text a{ (char *)::malloc(40), 16 }, b{ (char *)::malloc(16), 16 };
	b.strcpy("abcdefghijklmno", 16); a.memcpy(b); sum += a.strlen() + a.strcat(8)->n;
	Pool p; Pool::Node *n[6];
	for (int r = 0; r < 3; r++) { for (auto &x : n) { x = p.malloc(); sum += x->value[2]; } n[2] = p.realloc(n[2], 7); p.free(n[1]); p.free(n[3]); n[1] = p.calloc(1, 2); n[3] = p.malloc(); for (auto &x : n) p.free(x); }
	long own = 5; sum += mine::free(&own) + mine::free(&own) + mine::exit(2) + *mine::malloc(&own, 100);
	Lock l; l.pthread_mutex_lock(); l.abort();
	if (argc > 1)
		p.all[8].next = nullptr; // expect: HEAP-OVERFLOW-WRITE
	::free(a.s); ::free(b.s);
	std::string s(40, 'x'); sum += s.size();
	return sum == 12345 ? got : 0;
}
