// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// What a browser shows until the page of `report --serve` is there.

	.section .rodata
	.global report_wait_html, report_wait_html_end
report_wait_html:
	.incbin "report/wait.html"
report_wait_html_end:
	.section .note.GNU-stack,"",@progbits
