#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Many kinds of system calls: each answer is in the output, so equal output is equal answers.
. tests/lib.sh

record_and_replay "$BUILD/tests/programs/syscalls"
