// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What system calls write although their result does not say so: calls that fail, or that
 * return 0, and writes through other doors. All of it is printed. `outputs command` makes a call
 * that writes where nobody knows.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/ethtool.h>
#include <linux/if_bridge.h>
#include <linux/perf_event.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096

static char *edge; // behind it nothing can be written

static void print(const char *what, long result, const void *data, size_t size)
{
	const unsigned char *p = data;
	int error = errno;

	printf("%s: %ld %s:", what, result, result < 0 ? strerror(error) : "");
	for (size_t i = 0; i < size; i++)
		printf(" %02x", p[i]);
	printf("\n");
}

static void do_empty_datagram(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_storage from = {};
	struct msghdr message = { .msg_name = &from, .msg_namelen = sizeof(from) };
	int to = socket(AF_INET, SOCK_DGRAM, 0), by = socket(AF_INET, SOCK_DGRAM, 0);
	socklen_t size = sizeof(at);

	if (bind(to, (struct sockaddr *)&at, size) ||
	    getsockname(to, (struct sockaddr *)&at, &size) ||
	    sendto(by, "", 0, 0, (struct sockaddr *)&at, size))
		return;
	print("empty datagram", recvmsg(to, &message, 0), &from, 8);
	printf("name of %u bytes\n", message.msg_namelen);
	// Too much for the memory there is: none of it counts, and some is there.
	memset(edge - 16, 1, 16);
	sendto(by, "0123456789abcdefghijklmn", 24, 0, (struct sockaddr *)&at, size);
	print("bad address", recv(to, edge - 16, 24, 0), edge - 16, 16);
}

static void do_passed_descriptor(void)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { .head = { .cmsg_len = CMSG_LEN(sizeof(int)),
				.cmsg_level = SOL_SOCKET,
				.cmsg_type = SCM_RIGHTS } };
	struct msghdr message = { .msg_control = &control,
				  .msg_controllen = sizeof(control) };
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) || sendmsg(pair[0], &message, 0))
		return;
	memset(&control, 0, sizeof(control));
	print("descriptor", recvmsg(pair[1], &message, 0), &control, sizeof(control));
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		return;
	close(pair[0]);
	message.msg_namelen = 77;
	print("end of stream", recvmsg(pair[1], &message, 0), &message, 0);
	printf("control %zu flags %x name %u\n", message.msg_controllen,
	       message.msg_flags, message.msg_namelen);
}

static void do_failing(void)
{
	clockid_t nobodys = ~(unsigned)0x1ffffff << 3 | 2;
	int pair[2] = { -5, -5 }, status[2] = { -7, -7 };
	int nodes[2] = { 0, 1 << 20 };
	void *pages[2] = { edge - PAGE, edge - PAGE };
	siginfo_t info;
	struct {
		struct perf_event_attr attr;
		char more[PAGE];
	} large = { .attr.size = sizeof(large), .more = { [PAGE - 1] = 1 } };
	timer_t timer = (timer_t)-9l;
	long result;

	result = socketpair(AF_INET, SOCK_STREAM, 0, pair);
	print("no pair", result, pair, sizeof(pair));
	memset(&info, 1, sizeof(info));
	result = waitid(P_PID, getpid(), &info, WEXITED);
	print("no child", result, &info, 32);
	result = syscall(SYS_timer_create, nobodys, NULL, &timer);
	print("no timer", result, &timer, 4);
	result = syscall(SYS_perf_event_open, &large, 0, -1, -1, 0);
	print("too large", result, &large, 8);
	result = syscall(SYS_move_pages, 0, 2, pages, nodes, status, 2);
	print("no node", result, status, sizeof(status));
}

static void do_short(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_1 };
	const gid_t some[] = { 3, 4, 5 };
	gid_t groups[1];
	socklen_t size = 0;
	int pair[2];
	long result;

	memset(edge - 12, 1, 12);
	result = syscall(SYS_capget, &head, edge - 12);
	print("capabilities", result, edge - 12, 12);
	head.version = 0; // the kernel writes its own
	result = syscall(SYS_capset, &head, edge - 12);
	print("version", result, &head, sizeof(head));
	if (setgroups(3, some) || socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		return;
	result = getsockopt(pair[0], SOL_SOCKET, 59 /* SO_PEERGROUPS */, groups, &size);
	print("groups", result, &size, sizeof(size));
}

static void do_other_doors(void)
{
	char from[8] = "written", to[2][8] = { "", "" };
	struct iovec local = { from, 8 }, remote[2] = { { to[1], 3 }, { to[0], 5 } };
	long result = process_vm_writev(getpid(), &local, 1, remote, 2, 0);

	print("by process_vm_writev", result, to, sizeof(to));
}

/** Lists elsewhere than in the structure that an ioctl is given: of bridges; and what a driver says. */
static void do_lists(void)
{
	unsigned long args[3] = { BRCTL_ADD_BRIDGE, (unsigned long)"flt0" };
	struct ethtool_value link = { .cmd = ETHTOOL_GLINK };
	static struct ifreq lo = { .ifr_name = "lo" }; // far from what it points to
	struct ifreq up = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	int bridges[16], fd;

	if (unshare(CLONE_NEWNET))
		return; // a bridge is not for the machine
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	print("a bridge", ioctl(fd, SIOCSIFBR, args), "", 0);
	args[0] = BRCTL_GET_BRIDGES;
	args[1] = (unsigned long)bridges;
	args[2] = 16;
	memset(bridges, 1, sizeof(bridges));
	print("bridges", ioctl(fd, SIOCGIFBR, args), bridges, 8);
	ioctl(fd, SIOCSIFFLAGS, &up);
	lo.ifr_data = (void *)&link;
	lo.ifr_name[IFNAMSIZ - 1] = 'x'; // the kernel ends the name, and gives it back
	print("link", ioctl(fd, SIOCETHTOOL, &lo), &link, sizeof(link));
	print("of", 0, lo.ifr_name, IFNAMSIZ);
}

/** A command of KVM's, which writes more than it says. @return whether it could be made. */
static int do_unknown_command(void)
{
	unsigned list[1001] = { 1000 };
	int fd = open("/dev/kvm", O_RDWR);

	return fd >= 0 && !ioctl(fd, _IOWR(0xae, 2, int), list);
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "command"))
		return do_unknown_command() ? 0 : 77;
	edge = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		    -1, 0);
	if (edge == MAP_FAILED)
		return 1;
	edge += PAGE;
	if (mprotect(edge, PAGE, PROT_NONE))
		return 1;
	do_empty_datagram();
	do_passed_descriptor();
	do_failing();
	do_short();
	do_other_doors();
	do_lists();
	return 0;
}
