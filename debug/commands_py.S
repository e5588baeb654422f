// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// The commands that `faultline debug' gives gdb.

	.section .rodata
	.global dbg_commands, dbg_commands_end
dbg_commands:
	.incbin "debug/commands.py"
	.incbin "debug/values.py"
	.incbin "debug/places.py"
	.incbin "debug/altering.py"
	.incbin "debug/slices.py"
	.incbin "debug/checks.py"
	.incbin "debug/repairing.py"
dbg_commands_end:
	.section .note.GNU-stack,"",@progbits
