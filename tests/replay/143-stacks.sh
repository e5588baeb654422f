#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Stacks overflow where they did, whatever their limit was then; a signal lands where it did in a
# loop in which only vector registers change.
. tests/lib.sh

record_and_replay "$BUILD/tests/programs/stacks"
