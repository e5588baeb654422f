# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# The same everywhere: Debian's programs, no settings of the user's, no clock.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 TZ=UTC HOME=/nonexistent
export SOURCE_DATE_EPOCH=1580608922 PYTHONDONTWRITEBYTECODE=1 GIT_CONFIG_NOSYSTEM=1
export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@b GIT_AUTHOR_DATE='2020-02-02T02:02:02Z'
export GIT_COMMITTER_NAME=A GIT_COMMITTER_EMAIL=a@b
export GIT_COMMITTER_DATE='2020-02-02T02:02:02Z'
