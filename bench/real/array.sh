# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
# A picture as rows of pixels (gif2rgb of giflib): the pointer to a row becomes NULL.
package=giflib needs= need_packages= members=
file=gif2rgb.c
edit='s/if (DGifGetLine(GifFile, &ScreenBuffer\[Row++\]\[Col\],/if (Row == 90) ScreenBuffer[Row + 1] = NULL; &/'
mark='ScreenBuffer[Row + 1] = NULL'

build() {
	cp -R "$source"/*.c "$source"/*.h . &&
		gcc -g -"$1" -std=gnu99 -o "$program" gif2rgb.c dgif_lib.c egif_lib.c \
			gifalloc.c gif_err.c gif_hash.c getarg.c qprintf.c quantize.c \
			openbsd-reallocarray.c
}

invoke() {
	printf 'in=%s\narg=-o\narg=/dev/null\narg=pic/porsche.gif\n' "$source"
}
