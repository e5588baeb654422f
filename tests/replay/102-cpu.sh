#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# rdtsc, rdtscp and cpuid in user code.
. tests/lib.sh

record_and_replay "$BUILD/tests/programs/cpu"
