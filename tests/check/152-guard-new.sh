#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# What operator new was asked for a block has, though the library has asked malloc() for more: in both ways, as 150-guard.sh.
# time limit: 120
. tests/lib.sh
. tests/check/guard.sh
need gojq g++
need_bpf

g++ -std=c++17 -O1 -s -w -o "$TMPDIR/empty" tests/check/programs/empty.cc || fail "cannot compile"
numbered empty 19
exit 0
