#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Mutexes with priority inheritance: that somebody waits is in the mutex from then on.
. tests/lib.sh

record_and_replay "$BUILD/tests/programs/inherits"
