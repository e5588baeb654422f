// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Paths as SARIF has them: URIs (RFC 3986), those of files where they are absolute (RFC 8089).
 */
#ifndef REPORT_URI_H
#define REPORT_URI_H

/** @return @p path as a URI, "file:///src/a%20b.c" or, relative, "src/a.c": for free(); NULL: no
 * memory. */
char *report_uri(const char *path);

#endif
