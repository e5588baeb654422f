#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# x87, SSE, AVX, AVX-512 as the host executes them.
. tests/lib.sh

record_and_replay "$BUILD/tests/programs/floats"
