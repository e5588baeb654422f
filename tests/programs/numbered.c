// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * numbered DIR: a file in DIR, a filesystem that numbers its inodes from 1 on, and a System V segment get the same
 * number; what is written by a call into the file, which is mapped, does not change the segment. With 77 it says that
 * none has the number.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <unistd.h>

#define BYTES 4096
#define NUMBER 5 ///< the first directory has one, too

int main(int argc, char **argv)
{
	char name[4096], *file, *segment;
	struct stat st = {};
	int fd = -1, id = -1;

	if (argc < 2)
		return 2;
	for (int i = 0; st.st_ino < NUMBER; i++) {
		snprintf(name, sizeof(name), "%s/%d", argv[1], i);
		fd = open(name, O_RDWR | O_CREAT, 0600);
		if (fd < 0 || fstat(fd, &st))
			return 2;
	}
	while (id < NUMBER) {
		id = shmget(IPC_PRIVATE, BYTES, 0600 | IPC_CREAT);
		if (id < 0)
			return 2;
	}
	if (st.st_ino != NUMBER || id != NUMBER || ftruncate(fd, BYTES))
		return 77;
	segment = shmat(id, NULL, 0);
	file = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (segment == (void *)-1 || file == MAP_FAILED)
		return 2;
	segment[0] = 's';
	if (write(fd, "file", 4) != 4)
		return 2;
	printf("%c%c\n", segment[0], file[0]);
	return 0;
}
