#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# ls -lR of a tree: directories, times, owners, the locale (all of /usr/share is in bench).
# time limit: 300
. tests/lib.sh

record_and_replay ls -lR /usr/share/perl5 /usr/share/bash-completion /usr/share/zoneinfo
