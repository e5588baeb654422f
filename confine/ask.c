// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#define LOG_ROOM "confine"

#include "confine/ask.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

union passed {
	struct cmsghdr head;
	char bytes[CMSG_SPACE(CONFINE_FDS * sizeof(int))];
};

bool confine_send(int sock, const void *data, size_t bytes, const int *fds, size_t n)
{
	union passed passed = {};
	struct iovec v = { (void *)data, bytes };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };

	if (n) {
		m.msg_control = passed.bytes;
		m.msg_controllen = CMSG_SPACE(n * sizeof(*fds));
		passed.head = (struct cmsghdr){ .cmsg_level = SOL_SOCKET,
						.cmsg_type = SCM_RIGHTS,
						.cmsg_len = CMSG_LEN(n * sizeof(*fds)) };
		memcpy(CMSG_DATA(&passed.head), fds, n * sizeof(*fds));
	}
	return sendmsg(sock, &m, MSG_NOSIGNAL) == (ssize_t)bytes;
}

bool confine_receive(int sock, void *data, size_t bytes, int fds[CONFINE_FDS],
		     size_t *ret_n)
{
	union passed passed = {};
	struct iovec v = { data, bytes };
	struct msghdr m = { .msg_iov = &v,
			    .msg_iovlen = 1,
			    .msg_control = passed.bytes,
			    .msg_controllen = sizeof(passed.bytes) };
	ssize_t n;

	while ((n = recvmsg(sock, &m, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR)
		;
	*ret_n = 0;
	if (n > 0 && CMSG_FIRSTHDR(&m) && passed.head.cmsg_type == SCM_RIGHTS) {
		*ret_n = (passed.head.cmsg_len - CMSG_LEN(0)) / sizeof(*fds);
		memcpy(fds, CMSG_DATA(&passed.head), *ret_n * sizeof(*fds));
	}
	return n == (ssize_t)bytes;
}

void confine_close(const int *fds, size_t n)
{
	for (size_t i = 0; i < n; i++)
		close(fds[i]);
}
