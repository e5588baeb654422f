// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Opening and making files where others may have laid out something else. There are two kinds
 * of names. One below a directory that is open, a bundle's: nothing on its way may be a link.
 * And one that the user named: its last part may be a link of his own, or of the owner of the
 * directory that the link is in, as fs.protected_symlinks has it for sticky directories.
 *
 * A new file is there whole or not at all: it is written beside its place under a name that
 * nobody can guess, then moved there.
 */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/err.h"

/** Open @p path below directory @p dir_fd, close-on-exec. No part of it is followed if it is a
 * link, and none may be "..".
 *
 * @param flags  as of open(2). With O_CREAT the file must not be there (O_EXCL is added); it
 *		 is its owner's alone (mode 0600), and where there is a maker, only written.
 * @return a descriptor; -1 with errno, ELOOP or ENOTDIR for a link. */
int file_open_below(int dir_fd, const char *path, int flags);

/** What is done to a name in a directory. */
enum file_act {
	FILE_NEW,      ///< a file to be written, mode 0600
	FILE_NEW_DIR,  ///< mode 0700
	FILE_NEW_LINK, ///< to @p other, which may be anything
	FILE_RENAME,   ///< to @p other, over what has that name
	FILE_REMOVE,
	FILE_REMOVE_DIR,
};

/**
 * Do @p act to @p name in directory @p dir_fd. New is what was not there before.
 *
 * @param name   one part of a path.
 * @param other  for LINK and RENAME; else NULL.
 * @return 0, or of NEW a descriptor, close-on-exec, the caller's; -1 with errno.
 */
int file_act(int dir_fd, enum file_act act, const char *name, const char *other);

/** Give file @p name of directory @p from_fd to directory @p to_fd, over what has that name
 * there. Not where there is a maker. @return 0, or -1 with errno. */
int file_move(int from_fd, int to_fd, const char *name);

/**
 * Open the regular file @p path for reading; anything else is not opened. Below @p dir_fd it
 * is found as by file_open_below(); with AT_FDCWD it is a path whose links are followed.
 *
 * @param shown  what messages call it.
 * @param most   bytes that it may have; UINT64_MAX where its reader needs no memory for them.
 * @param fd     Set on success, the caller's to close.
 * @param bytes  Set on success unless NULL: its size.
 * @return NULL; ERR_NOT_FOUND; ERR_FORMAT when it is no regular file, or larger; ERR_OS.
 */
struct err *file_open_input(int dir_fd, const char *path, const char *shown,
			    uint64_t most, int *fd, uint64_t *bytes);

/**
 * Read regular file @p path, whole; as file_open_input() of AT_FDCWD.
 *
 * @param text   Set on success, the caller's to free: with a 0 behind it.
 * @param bytes  Set on success: how many there were.
 * @return as that, or ERR_NOMEM; ERR_OS when it became shorter meanwhile.
 */
struct err *file_read_input(const char *path, uint64_t most, char **text, size_t *bytes);

/**
 * Make directory @p path of the user's, or take one that is there, if it is his and no other
 * may write to it (unless it is sticky). "-" is none.
 *
 * @param fd      Set on success: the directory.
 * @param is_new  Set on success: whether it was made, with mode 0700.
 * @return NULL, ERR_PERMISSION, or what err_errno() says.
 */
struct err *file_make_dir(const char *path, int *fd, bool *is_new);

/** @return 1 when nothing is in directory @p dir_fd, 0 when something is, -1 with errno. */
int file_dir_is_empty(int dir_fd);

struct new_file {
	FILE *stream; ///< to be written to; its errors are told by new_file_commit()
	char *path;   ///< for messages
	int dir_fd;   ///< in which it gets its name; valid while name is set
	char *name;   ///< NULL: it is written where it is, a device or a pipe
	char partial[32];
	uint32_t handle; ///< of the maker's; 0: we made it
	bool is_as_is; ///< a device or a pipe, or what /proc leads to: there was no place to take
	FILE *spooled; ///< where it goes when it is whole; NULL: it is written there at once
};

/** Makes files for a process that may not: the owner of a confined one (confine/). */
struct file_maker {
	/** As new_file_open(). @return a descriptor in *@p fd, a handle above 0. */
	struct err *(*open)(const char *path, mode_t mode, int *fd, uint32_t *handle,
			    bool *is_as_is);
	/** As new_file_commit(), or to drop it. */
	struct err *(*end)(uint32_t handle, bool commits);
	/** As file_act(). */
	int (*act)(int dir_fd, enum file_act act, const char *name, const char *other);
	/** As file_make_dir(). What is new and empty in the end, it removes. */
	struct err *(*make_dir)(const char *path, int *fd, bool *is_new);
};

/** From here on all files of this process are made by @p maker. */
void file_set_maker(const struct file_maker *maker);

/** @return whether @p path, which the user named for a file to be written (or NULL), is "-". */
bool file_is_stdout(const char *path);

/**
 * Start to write @p path, which the user named. A device or pipe is written as it is, and "-" is
 * our stdout.
 *
 * @param mode  of a new file before the umask: 0666 for what anybody may read. One that is
 *		replaced leaves nothing of its mode.
 * @return NULL, ERR_NOMEM, ERR_PERMISSION for a stranger's link or pipe, or what err_errno()
 *	   says; new_file_deinit() in any case.
 */
struct err *new_file_open(struct new_file *f, const char *path, mode_t mode);

/** The same of @p name in the bundle's directory @p dir_fd (borrowed until the file is
 * committed), that messages call @p shown. Whatever has the name is replaced, mode 0600. */
struct err *new_file_open_in(struct new_file *f, int dir_fd, const char *name,
			     const char *shown);

/** Could new_file_open() begin with @p path, for all that can be seen without touching what is
 * there? Who asks before long work does not hear of a wrong name after it. @return NULL, or what it
 * would fail with. */
struct err *new_file_check(const char *path);

/** From here on what is written to @p f's stream waits in memory, and can be written anywhere and by
 * other processes; new_file_commit() brings it to its place. @return ERR_OS. */
struct err *new_file_spool(struct new_file *f);

/** Move it to its place, over what may be there. @return NULL, or ERR_OS when something
 * could not be written. */
struct err *new_file_commit(struct new_file *f);

/** Remove what was not committed. A zeroed @p f is fine. */
void new_file_deinit(struct new_file *f);

#endif
