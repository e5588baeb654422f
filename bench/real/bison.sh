# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
# The symbols of bison and what they are: two nonterminals get one number.
package=bison needs=m4 need_packages=m4 members=
file=src/symtab.c
edit='s/s->number = s->class == token_sym ? ntokens++ : nnterms++;/s->number = s->class == token_sym ? ntokens++ : nnterms; \/* fault *\//'
mark='/* fault */'

build() {
	[ -e Makefile ] || "$source/configure" --disable-nls || return
	find . -name '*.o' -delete
	made=$(printf 'show:;@echo $(BUILT_SOURCES)\n' | make -s -f Makefile -f - show |
		tr ' ' '\n' | grep '^lib/')
	make CFLAGS="-g -$1" $made src/bison && cp src/bison "$program"
}

invoke() {
	printf 'in=%s\narg=-o\narg=%s\narg=src/parse-gram.y\n' "$source" "$cache/bison.c"
}
