// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// What faultline knows of fixes at first.

	.section .rodata
	.global fix_shipped, fix_shipped_end
fix_shipped:
	.incbin "suppress-hw/fixes/shipped.json"
fix_shipped_end:
	.section .note.GNU-stack,"",@progbits
