// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "report/uri.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *report_uri(const char *path)
{
	static const char scheme[] = "file://", hex[] = "0123456789ABCDEF";
	// What stands for itself in a path; a colon would end a scheme.
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				    "0123456789-._~/+@,=!$&'()*;";
	char *ret = malloc(sizeof(scheme) + 3 * strlen(path)), *to = ret;

	if (!ret)
		return NULL;
	if (*path == '/')
		to = stpcpy(to, scheme);
	for (const char *at = path; *at; at++) {
		unsigned char c = *at;

		if (strchr(plain, c)) {
			*to++ = c;
			continue;
		}
		*to++ = '%';
		*to++ = hex[c >> 4];
		*to++ = hex[c & 15];
	}
	*to = 0;
	return ret;
}
