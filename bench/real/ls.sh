# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
# ls -R and the list of directories still to do: what is appended leads to no node, as in
# paper 001, section 4.5; here it is so for long names alone.
package=coreutils needs= need_packages= members=
file=src/ls.c
edit='s/^  new->next = pending_dirs;/  new->next = name \&\& strlen (name) > 15 ? (struct pending *) 8 : pending_dirs;/'
mark='(struct pending *) 8'

build() {
	[ -e Makefile ] || FORCE_UNSAFE_CONFIGURE=1 "$source/configure" --disable-nls || return
	find . -name '*.o' -delete
	made=$(printf 'show:;@echo $(BUILT_SOURCES)\n' | make -s -f Makefile -f - show)
	make CFLAGS="-g -$1" $made src/ls && cp src/ls "$program"
}

invoke() {
	printf 'in=%s\narg=-R\n' "$source"
}
