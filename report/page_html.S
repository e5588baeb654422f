// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// The page of `faultline graph --html`, up to where its data goes.

	.section .rodata
	.global report_page_html, report_page_html_end
report_page_html:
	.incbin "report/page.html"
	.incbin "report/page_log.js"
	.incbin "report/page_tree.js"
	.incbin "report/page_draw.js"
	.incbin "report/page.js"
report_page_html_end:
	.section .note.GNU-stack,"",@progbits
