// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// The page of `faultline bench --html`, up to where its results go.

	.section .rodata
	.global report_bench_page_html, report_bench_page_html_end
report_bench_page_html:
	.incbin "report/bench_page.html"
report_bench_page_html_end:
	.section .note.GNU-stack,"",@progbits
