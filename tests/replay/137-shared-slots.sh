#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Targets of indirect branches that share a slot of the translator's table.
. tests/lib.sh

record_and_replay "$BUILD/tests/programs/slots"
