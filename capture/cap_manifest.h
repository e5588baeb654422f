// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * manifest.json as JSON, of captures that share their files: members that are the same in all captures
 * of a program are in one of these files. Private to capture/.
 */
#ifndef CAPTURE_CAP_MANIFEST_H
#define CAPTURE_CAP_MANIFEST_H

#include <cjson/cJSON.h>
#include <stdbool.h>

#include "base/err.h"

/** Read the manifest of the bundle in @p dir_fd, with all of its members. @p ret: for cJSON_Delete(),
 * whatever the result. @return NULL; ERR_NOT_FOUND: there is no manifest.json; ERR_TRUNCATED,
 * ERR_FORMAT: the file with what others have is gone, or damaged. */
struct err *cap_manifest_load(int dir_fd, cJSON **ret);

/** @return the name in files/ of what manifest @p j has in common with others; NULL: it has all
 * members itself. */
const char *cap_manifest_common(const cJSON *j);

/** Take from @p j what captures of a program have in common. @return an object of these members, for
 * cJSON_Delete(); NULL: no memory. */
cJSON *cap_manifest_part(cJSON *j);

/** Say in @p j that file @p name of files/ has these members. @return false: no memory. */
bool cap_manifest_refer(cJSON *j, const char *name);

#endif
