// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * raced.c's like with what the kernel orders: with `racy' it does not, with `right' it does, and nothing else. Lines
 * with a comment that says `race' are one side of a race, and no other line is.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <mqueue.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <unistd.h>

static volatile int value;
static volatile __thread int sink;
static pthread_t other;

/* One that is there already gets what @p give gives. */
static void pass(void *(*take)(void *), void (*give)(void))
{
	pthread_create(&other, NULL, take, NULL);
	usleep(20000);
	give();
	pthread_join(other, NULL);
}

/* ---- racy ---------------------------------------------------------------------------------------- */

static volatile int late, elsewhere;

static void look_late(int signo)
{
	sink += late + signo; // race
}

static void *raise_late(void *arg)
{
	usleep(60000);
	raise(SIGUSR1);
	return arg;
}

/* Behind sigaction(). */
static void set_late(void)
{
	signal(SIGUSR1, look_late);
	late = 1; // race
}

static void look_elsewhere(int signo)
{
	sink += elsewhere + signo; // race
}

static void *raise_elsewhere(void *arg)
{
	usleep(60000);
	raise(SIGUSR2);
	return arg;
}

/* To itself. */
static void set_elsewhere(void)
{
	elsewhere = 1; // race
	raise(SIGUSR2);
}

static void racy(void)
{
	pass(raise_late, set_late);
	signal(SIGUSR2, look_elsewhere);
	pass(raise_elsewhere, set_elsewhere);
}

/* ---- right --------------------------------------------------------------------------------------- */

static struct sockaddr_in address;
static int listener, pair[2], semaphores, messages;
static mqd_t queue;

static void *accepts(void *arg)
{
	int fd = accept(listener, NULL, NULL);

	value++;
	close(fd);
	return arg;
}

static void connects(void)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	value = 1;
	connect(fd, (struct sockaddr *)&address, sizeof(address));
	usleep(20000); // close() is one, too
	close(fd);
}

static void handler(int signo)
{
	sink += value + signo;
}

static void *waits_for_handler(void *arg)
{
	pause();
	return arg;
}

static void kills(void)
{
	value = 2;
	pthread_kill(other, SIGUSR1);
}

static void *raises(void *arg)
{
	usleep(60000);
	raise(SIGUSR2);
	return arg;
}

static void installs(void)
{
	value = 3;
	signal(SIGUSR2, handler);
}

static void *waits_for_signal(void *arg)
{
	siginfo_t info;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	for (int i = 0; i < 2; i++) {
		sigwaitinfo(&set, &info);
		value++;
		usleep(1000);
	}
	return arg;
}

static void queues(void)
{
	value = 4;
	pthread_sigqueue(other, SIGRTMIN, (union sigval){ 0 });
	usleep(20000);
	sigqueue(getpid(), SIGRTMIN, (union sigval){ 0 });
}

static void clean_up(void *arg)
{
	(void)arg;
	value++;
}

static void *is_cancelled(void *arg)
{
	pthread_cleanup_push(clean_up, NULL);
	for (;;)
		pause();
	pthread_cleanup_pop(1);
	return arg;
}

static void cancels(void)
{
	value = 5;
	pthread_cancel(other);
}

static struct mmsghdr *message(void)
{
	static __thread struct mmsghdr m;
	static __thread struct iovec v;
	static __thread char byte;

	v = (struct iovec){ &byte, 1 };
	m = (struct mmsghdr){ .msg_hdr = { .msg_iov = &v, .msg_iovlen = 1 } };
	return &m;
}

static void *receives(void *arg)
{
	recvmmsg(pair[1], message(), 1, 0, NULL);
	value++;
	return arg;
}

static void sends(void)
{
	value = 6;
	sendmmsg(pair[0], message(), 1, 0);
}

static char text[8] = "text";

static void *has_read(void *arg)
{
	char copy[8];

	recv(pair[1], copy, sizeof(copy), 0);
	text[0] = copy[1];
	return arg;
}

static void sends_text(void)
{
	send(pair[0], text, 4, 0);
}

static void *waits_for_queue(void *arg)
{
	char text[16];

	mq_receive(queue, text, sizeof(text), NULL);
	value++;
	return arg;
}

static void to_queue(void)
{
	value = 7;
	mq_send(queue, "x", 1, 0);
}

static void *waits_for_semaphore(void *arg)
{
	struct sembuf down = { .sem_op = -1 };

	semop(semaphores, &down, 1);
	value++;
	return arg;
}

static void posts(void)
{
	struct sembuf up = { .sem_op = 1 };

	value = 8;
	semop(semaphores, &up, 1);
}

struct text {
	long type;
	char byte;
};

static void *waits_for_message(void *arg)
{
	struct text t;

	msgrcv(messages, &t, 1, 0, 0);
	value++;
	return arg;
}

static void to_messages(void)
{
	struct text t = { 1, 'x' };

	value = 9;
	msgsnd(messages, &t, 1, 0);
}

static void listens(void)
{
	socklen_t size = sizeof(address);

	listener = socket(AF_INET, SOCK_STREAM, 0);
	address.sin_family = AF_INET;
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	bind(listener, (struct sockaddr *)&address, size);
	getsockname(listener, (struct sockaddr *)&address, &size);
	listen(listener, 1);
}

static void with_queues(void)
{
	struct mq_attr attributes = { .mq_maxmsg = 1, .mq_msgsize = 16 };
	char name[32] = "/faultline-XXXXXX";

	queue = mq_open(name, O_CREAT | O_RDWR, 0600, &attributes);
	mq_unlink(name);
	semaphores = semget(IPC_PRIVATE, 1, 0600);
	messages = msgget(IPC_PRIVATE, 0600);
	if (queue != (mqd_t)-1) // the kernel may have none
		pass(waits_for_queue, to_queue);
	if (semaphores >= 0)
		pass(waits_for_semaphore, posts);
	if (messages >= 0)
		pass(waits_for_message, to_messages);
	semctl(semaphores, 0, IPC_RMID);
	msgctl(messages, IPC_RMID, NULL);
}

static void right(void)
{
	sigset_t set;

	signal(SIGUSR1, handler);
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	listens();
	socketpair(AF_UNIX, SOCK_DGRAM, 0, pair);
	pass(accepts, connects);
	pass(waits_for_handler, kills);
	pass(raises, installs);
	pass(waits_for_signal, queues);
	pass(is_cancelled, cancels);
	pass(receives, sends);
	pass(has_read, sends_text);
	with_queues();
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "racy"))
		racy();
	else
		right();
	return 0;
}
