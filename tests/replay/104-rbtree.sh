#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# A red-black tree: pointers, branches, malloc.
. tests/lib.sh

record_and_replay "$BUILD/tests/programs/rbtree" 200000
