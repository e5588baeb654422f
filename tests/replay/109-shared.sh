#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# A file mapped private and shared, written through the shared mapping: the private one
# sees it, and the capture is complete, because nobody else writes there.
. tests/lib.sh

record_and_replay "$BUILD/tests/programs/memory" shared
