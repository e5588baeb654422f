// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// The rules of specs/rules/.

	.section .rodata
	.global fl_rules_heap, fl_rules_heap_end, fl_rules_leaks, fl_rules_leaks_end
	.global fl_rules_calls, fl_rules_calls_end
	.global fl_rules_threads, fl_rules_threads_end
	.global fl_rules_bytes, fl_rules_bytes_end
fl_rules_heap:
	.incbin "specs/rules/heap.rules"
fl_rules_heap_end:
fl_rules_leaks:
	.incbin "specs/rules/leaks.rules"
fl_rules_leaks_end:
fl_rules_calls:
	.incbin "specs/rules/calls.rules"
fl_rules_calls_end:
fl_rules_threads:
	.incbin "specs/rules/threads.rules"
fl_rules_threads_end:
fl_rules_bytes:
	.incbin "specs/rules/bytes.rules"
fl_rules_bytes_end:
	.section .note.GNU-stack,"",@progbits
