// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// The page of `faultline graph --html`, up to where its data goes.

	.section .rodata
	.global fl_page_html, fl_page_html_end
fl_page_html:
	.incbin "report/page.html"
fl_page_html_end:
	.section .note.GNU-stack,"",@progbits
