// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "cmd/listen.h"

#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

struct err *cmd_listen(const char *host, const char *port, int *ret)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM,
					.ai_flags = AI_PASSIVE | AI_NUMERICSERV };
	struct addrinfo *found = NULL;
	const int yes = 1;
	_cleanup_close_ int listener = -1;
	int failed;

	// getaddrinfo() takes the lower bits of larger numbers.
	if (!*port || port[strspn(port, "0123456789")] ||
	    strtoul(port, NULL, 10) > UINT16_MAX)
		return err_new(
			ERR_USAGE,
			"cannot listen at port '%s': that is no number up to 65535",
			text_line(port));
	failed = getaddrinfo(host, port, &hints, &found);
	if (failed)
		return err_new(ERR_USAGE, "cannot listen at '%s', port '%s': %s",
			       text_line(host), text_line(port), gai_strerror(failed));
	listener = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (listener >= 0)
		setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	failed = listener < 0 || bind(listener, found->ai_addr, found->ai_addrlen) ||
		 listen(listener, 16);
	freeaddrinfo(found);
	if (failed)
		return err_errno("cannot listen at '%s', port '%s'", text_line(host),
				 text_line(port));
	*ret = take_fd(&listener);
	return NULL;
}

uint16_t cmd_listen_port(int listener)
{
	union {
		struct sockaddr any;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
	} at = {};
	socklen_t size = sizeof(at);

	if (getsockname(listener, &at.any, &size))
		return 0;
	return ntohs(at.any.sa_family == AF_INET6 ? at.in6.sin6_port : at.in.sin_port);
}
