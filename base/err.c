// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

struct err err_nomem = { ERR_NOMEM, ENOMEM, "out of memory" };

static struct err *err_take(enum err_code code, int saved_errno, char *message)
{
	struct err *e = message ? malloc(sizeof(*e)) : NULL;

	if (!e) {
		free(message);
		return &err_nomem;
	}
	text_flatten(message); // names in it are of strangers
	*e = (struct err){ code, saved_errno, message };
	return e;
}

struct err *err_new(enum err_code code, const char *fmt, ...)
{
	char *message;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&message, fmt, ap) < 0)
		message = NULL;
	va_end(ap);
	return err_take(code, 0, message);
}

static enum err_code err_code_of_errno(int e)
{
	switch (e) {
	case EPERM:
	case EACCES:
		return ERR_PERMISSION;
	case ENOENT:
		return ERR_NOT_FOUND;
	case ENOMEM:
		return ERR_NOMEM;
	default:
		return ERR_OS;
	}
}

struct err *err_errno(const char *fmt, ...)
{
	int saved = errno;
	char *text, *message = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		text = NULL;
	va_end(ap);
	if (text && asprintf(&message, "%s: %s", text, strerror(saved)) < 0)
		message = NULL;
	free(text);
	return err_take(err_code_of_errno(saved), saved, message);
}

struct err *err_prefix(struct err *e, const char *fmt, ...)
{
	char *text, *message = NULL;
	va_list ap;

	if (e == &err_nomem)
		return e;
	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		text = NULL;
	va_end(ap);
	if (text && asprintf(&message, "%s: %s", text, e->message) < 0)
		message = NULL;
	free(text);
	if (!message) {
		err_destroy(e);
		return &err_nomem;
	}
	free(e->message);
	text_flatten(message);
	e->message = message;
	return e;
}

void err_destroy(struct err *e)
{
	if (!e || e == &err_nomem)
		return;
	free(e->message);
	free(e);
}

void err_destroyp(struct err **e)
{
	err_destroy(*e);
}
