#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# A program that maps all below 2 GiB, where the machine likes to have its context.
. tests/lib.sh

record_and_replay "$BUILD/tests/programs/lowmem"
