// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// The page of `faultline report`, up to where its data goes.

	.section .rodata
	.global report_story_html, report_story_html_end
report_story_html:
	.incbin "report/story.html"
	.incbin "report/story.js"
report_story_html_end:
	.section .note.GNU-stack,"",@progbits
