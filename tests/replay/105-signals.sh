#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Signals raised, by timer, by fault, nested, on another stack, left by siglongjmp.
. tests/lib.sh

record_and_replay "$BUILD/tests/programs/signals"
