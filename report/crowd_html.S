// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// The page of `faultline suite report', up to what is in it.

	.section .rodata
	.global report_crowd_html, report_crowd_html_end
report_crowd_html:
	.incbin "report/crowd.html"
report_crowd_html_end:
	.section .note.GNU-stack,"",@progbits
