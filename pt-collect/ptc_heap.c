// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
#define LOG_ROOM "record"
#include "pt-collect/ptc.h"
void ptc_heap_mapped(struct ptc_session *s, const char *path, uint32_t file, bool is_exe)
{ (void)s;(void)path;(void)file;(void)is_exe; }
const struct cap_heap_site *ptc_heap_sites(const struct ptc_session *s, size_t *n)
{ (void)s; *n = 0; return NULL; }
void ptc_heap_destroy(struct ptc_heap *h) { (void)h; }
