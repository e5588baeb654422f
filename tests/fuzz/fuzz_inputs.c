// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Any calls with any outcome may stand in a log, and an altered run may ask for anything: what
 * the loose world knows stays in order, and tells only what it was told.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include "decode/machine/inputs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint16_t calls[] = {
	SYS_open,	 SYS_openat,	    SYS_close,	    SYS_read,
	SYS_pread64,	 SYS_readv,	    SYS_write,	    SYS_writev,
	SYS_pwrite64,	 SYS_lseek,	    SYS_dup,	    SYS_dup2,
	SYS_dup3,	 SYS_fcntl,	    SYS_pipe,	    SYS_pipe2,
	SYS_socketpair,	 SYS_fstat,	    SYS_newfstatat, SYS_ioctl,
	SYS_recvfrom,	 SYS_recvmsg,	    SYS_getrandom,  SYS_getpid,
	SYS_getcwd,	 SYS_uname,	    SYS_socket,	    SYS_accept4,
	SYS_close_range, SYS_clock_gettime, SYS_mmap,	    SYS_prlimit64,
	SYS_getgroups,	 SYS_truncate,	    SYS_ftruncate,  SYS_sendto,
	SYS_preadv,	 SYS_memfd_create,
};

struct bytes {
	const uint8_t *at;
	size_t left;
};

static uint64_t number(struct bytes *b, size_t n)
{
	uint64_t v = 0;

	n = n < b->left ? n : b->left;
	memcpy(&v, b->at, n);
	b->at += n;
	b->left -= n;
	return v;
}

/* A number as calls have them: mostly small, negative, or anything. */
static uint64_t argument(struct bytes *b)
{
	uint8_t kind = number(b, 1);

	if (kind < 200)
		return kind & 15;
	if (kind < 220)
		return -(uint64_t)(kind - 199);
	return kind < 240 ? 4096ull * (kind - 219) : number(b, 8);
}

static void event(struct bytes *b, struct cap_event *ev, struct cap_write writes[2])
{
	static const uint8_t regs[] = {
		CAP_RDI, CAP_RSI, CAP_RDX, CAP_R10, CAP_R8, CAP_R9
	};
	uint8_t nr = number(b, 1);

	*ev = (struct cap_event){ .kind = CAP_EV_SYSCALL, .tid = 1, .seq = ev->seq + 1 };
	ev->regs.gpr[CAP_RAX] = calls[nr % (sizeof(calls) / sizeof(*calls))];
	for (size_t i = 0; i < sizeof(regs); i++)
		ev->regs.gpr[regs[i]] = argument(b);
	if (ev->regs.gpr[CAP_RAX] == SYS_ioctl && nr & 64)
		ev->regs.gpr[CAP_RSI] = TCGETS;
	ev->ret = argument(b);
	ev->flags = nr & 128 ? CAP_SYS_PARTIAL : 0;
	ev->at_ns = number(b, 1);
	ev->writes = writes;
	ev->n_writes = number(b, 1) % 3;
	for (size_t i = 0; i < ev->n_writes; i++) {
		uint64_t n = number(b, 1);

		n = n < b->left ? n : b->left;
		writes[i] = (struct cap_write){ ev->regs.gpr[CAP_RSI], n, b->at };
		b->at += n;
		b->left -= n;
	}
}

static void expect(bool is_so)
{
	if (!is_so)
		abort();
}

static void check(const struct dec_inputs *in)
{
	for (size_t i = 0; i < in->fds.size; i++) {
		expect(!i || in->fds.data[i - 1].fd < in->fds.data[i].fd);
		expect(in->fds.data[i].open < in->opens.size);
	}
	for (size_t i = 0; i < in->opens.size; i++)
		expect(in->opens.data[i].file < in->files.size);
	for (size_t i = 0; i < in->files.size; i++) {
		const struct inputs_file *f = &in->files.data[i];
		uint64_t end = 0;

		for (size_t k = 0; k < f->extents.size; k++) {
			const struct inputs_extent *x = &f->extents.data[k];

			expect(x->size && x->offset >= end);
			expect(x->at <= in->bytes.size &&
			       x->size <= in->bytes.size - x->at);
			end = x->offset + x->size;
			expect(end > x->offset);
		}
	}
	for (size_t i = 0; i < in->constants.size; i++)
		expect(in->constants.data[i].at + in->constants.data[i].size <=
		       in->bytes.size);
}

static volatile uint8_t sink;

/* What an altered run may ask. */
static void ask(struct dec_inputs *in, struct bytes *b)
{
	struct inputs_open *o = dec_inputs_open(in, (int)argument(b));
	uint64_t args[3] = { argument(b), argument(b), argument(b) };
	uint64_t offset = argument(b), most = argument(b), n;
	const struct inputs_constant *k;
	const uint8_t *bytes;

	switch (number(b, 1) % 4) {
	case 0:
		if (o)
			expect(dec_inputs_new_fd(in, o - in->opens.data, 3) >= 3);
		break;
	case 1:
		dec_inputs_close(in, (int)argument(b));
		break;
	case 2:
		k = dec_inputs_constant(in, calls[number(b, 1) % 38], args);
		if (k && k->size)
			sink ^= in->bytes.data[k->at + k->size - 1];
		break;
	case 3:
		n = o ? dec_inputs_find(in, &in->files.data[o->file], offset, most,
					&bytes) :
			0;
		expect(n <= most);
		for (uint64_t i = 0; i < n; i++)
			sink ^= bytes[i];
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes b = { data, size };
	struct cap_write writes[2];
	struct cap_event ev = {};
	struct dec_inputs in;

	if (dec_inputs_init(&in))
		abort();
	while (b.left) {
		event(&b, &ev, writes);
		err_destroy(dec_inputs_learn(&in, &ev));
		check(&in);
	}
	// The same calls, and others, as an altered run would have them.
	b = (struct bytes){ data, size };
	while (b.left) {
		event(&b, &ev, writes);
		err_destroy(dec_inputs_follow(&in, &ev));
		ask(&in, &b);
		check(&in);
	}
	dec_inputs_deinit(&in);
	return 0;
}
