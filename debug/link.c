// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "debug/link.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#define INTERRUPT 3    ///< what gdb sends for Ctrl-C
#define LEAVING_MS 200 ///< until who comes second is sure to be it

void dbg_link_init(struct dbg_link *l, int in, int out, int listener)
{
	*l = (struct dbg_link){ .in = in, .out = out, .listener = listener };
	l->reader.checks = true;
}

void dbg_link_deinit(struct dbg_link *l)
{
	dbg_link_close(l);
	dbg_text_deinit(&l->sent);
}

void dbg_link_close(struct dbg_link *l)
{
	if (l->listener >= 0 && l->in >= 0)
		close(l->in);
	l->in = l->out = -1;
}

/* ---- those who come -------------------------------------------------------------------------- */

/* Somebody comes while another one is here, or has just gone: a kernel under load may tell of who
 * comes before it tells of who left earlier. */
static void turn_away(struct dbg_link *l)
{
	struct pollfd here = { .fd = l->in, .events = POLLRDHUP };
	int fd;

	if (poll(&here, 1, LEAVING_MS))
		return;
	fd = accept4(l->listener, NULL, NULL, SOCK_CLOEXEC);
	if (fd < 0)
		return;
	close(fd);
	log_note("a second gdb was turned away: one debugs a replay");
}

bool dbg_link_accept(struct dbg_link *l)
{
	const int yes = 1;
	int fd;

	if (l->listener < 0)
		return false;
	do
		fd = accept4(l->listener, NULL, NULL, SOCK_CLOEXEC);
	while (fd < 0 && (errno == EINTR || errno == ECONNABORTED));
	if (fd < 0)
		return false;
	// Packets are short, and each waits for an answer.
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
	l->in = l->out = fd;
	l->reader.state = DBG_IDLE;
	l->reader.checks = true;
	l->has_no_acks = l->is_gone = l->is_interrupted = l->has_packet = false;
	l->arrived_at = l->arrived_n = 0;
	return true;
}

/* ---- sending --------------------------------------------------------------------------------- */

static void send_bytes(struct dbg_link *l, const char *bytes, size_t n)
{
	while (n && !l->is_gone) {
		ssize_t some = write(l->out, bytes, n);

		if (some < 0 && errno == EINTR)
			continue;
		if (some <= 0)
			l->is_gone = true;
		else
			bytes += some, n -= some;
	}
}

void dbg_link_send(struct dbg_link *l, const char *data, size_t n)
{
	l->sent.bytes.size = 0;
	dbg_frame(&l->sent, data, n);
	if (l->sent.is_out_of_memory)
		l->is_gone = true; // it would wait for ever
	send_bytes(l, l->sent.bytes.data, l->sent.bytes.size);
}

/* ---- receiving ------------------------------------------------------------------------------- */

/* Look at what has arrived, up to a packet. */
static void look(struct dbg_link *l)
{
	while (l->arrived_at < l->arrived_n && !l->has_packet) {
		switch (dbg_reader_take(&l->reader, l->arrived[l->arrived_at++])) {
		case DBG_TOKEN_PACKET:
			l->has_packet = true;
			if (!l->has_no_acks)
				send_bytes(l, "+", 1);
			break;
		case DBG_TOKEN_DAMAGED:
			send_bytes(l, "-", 1);
			break;
		case DBG_TOKEN_TOO_LONG:
			if (!l->has_no_acks)
				send_bytes(l, "+", 1);
			dbg_link_send(l, "E.the packet is too long", 24);
			break;
		case DBG_TOKEN_NAK:
			if (!l->has_no_acks)
				send_bytes(l, l->sent.bytes.data, l->sent.bytes.size);
			break;
		case DBG_TOKEN_INTERRUPT:
			l->is_interrupted = true;
			break;
		case DBG_TOKEN_ACK:
		case DBG_TOKEN_NONE:
			break;
		}
	}
}

/* Take what arrives within @p timeout_ms (-1: wait). */
static void fetch(struct dbg_link *l, int timeout_ms)
{
	struct pollfd fds[] = { { .fd = l->in, .events = POLLIN | POLLRDHUP },
				{ .fd = l->listener, .events = POLLIN } };
	ssize_t n;

	if (poll(fds, 2, timeout_ms) <= 0)
		return;
	if (fds[1].revents)
		turn_away(l);
	if (!fds[0].revents)
		return;
	n = read(l->in, l->arrived, sizeof(l->arrived));
	if (n < 0 && errno == EINTR)
		return;
	l->is_gone |= n <= 0;
	l->arrived_at = 0;
	l->arrived_n = n > 0 ? n : 0;
}

bool dbg_link_receive(struct dbg_link *l)
{
	l->has_packet = false;
	for (;;) {
		look(l);
		if (l->has_packet || l->is_gone)
			return l->has_packet;
		fetch(l, -1);
	}
}

bool dbg_link_poll(struct dbg_link *l)
{
	if (l->arrived_at == l->arrived_n)
		fetch(l, 0);
	// Acknowledgements of what was told meanwhile.
	for (; l->arrived_at < l->arrived_n; l->arrived_at++)
		if (l->arrived[l->arrived_at] == INTERRUPT)
			l->is_interrupted = true;
		else if (l->arrived[l->arrived_at] != '+')
			break;
	return l->is_interrupted || l->is_gone || l->arrived_at < l->arrived_n;
}
