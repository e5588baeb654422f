// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// The page of `faultline repair --html'.

	.section .rodata
	.global report_repair_html, report_repair_html_end
report_repair_html:
	.incbin "report/repair.html"
report_repair_html_end:
	.section .note.GNU-stack,"",@progbits
