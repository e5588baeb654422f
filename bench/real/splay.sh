# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
# The splay tree of gcc, as in paper 001, section 4.5, with a right rotation that stores like a
# left one; its user is addr2line, which keeps the compile units in it. A program built with
# -flto refers from unit to unit all the time.
package=binutils needs= need_packages=zlib1g-dev
members='*/bfd/* */libctf/* */include/* */libiberty/* */libsframe/* */config/* */binutils/* */opcodes/* */configure */config.* */config-ml.in */install-sh */missing */move-if-change */ltmain.sh */symlink-tree */depcomp */mkinstalldirs */mkdep */ylwrap'
file=libiberty/splay-tree.c
edit='/^rotate_right (splay_tree_node \*pp/,/^}/s|  p->right = tmp;|  p->left = tmp; /* fault */|'
mark='/* fault */'

build() {
	for part in libiberty libsframe bfd binutils; do
		mkdir -p $part && cd $part || return
		[ -e Makefile ] || "$source/$part/configure" --disable-nls --disable-werror \
			--disable-shared --with-system-zlib || return
		target=
		[ $part != binutils ] || target=addr2line
		[ $part != libiberty ] && [ $part != binutils ] || find . -name '*.o' -delete
		make MAKEINFO=true CFLAGS="-g -$1" $target || return
		cd ..
	done
	cp binutils/addr2line "$program"
	[ -e "$cache/units/many" ] || make_units
}

# Forty units that are called in no order.
make_units() {
	mkdir -p "$cache/units" && cd "$cache/units" || return
	order='7 3 31 12 40 1 22 18 5 36 9 27 14 2 33 20 11 38 6 25 16 29 4 35 8 13 39 23 10 30 17 37 21 34 15 28 19 32 24 26'
	for i in $order; do
		echo "int s$i; static int h(int a) { return a * $i + s$i; }"
		echo "int f$i(int a) { s$i += a; return h(a) + h(a + s$i); }"
	done | awk '{ print > "f" int((NR + 1) / 2) ".c" }'
	{
		for i in $order; do echo "int f$i(int);"; done
		echo 'volatile int x; int main(void) { int a = x;'
		for i in $order; do echo "a = f$i(a);"; done
		echo 'return a; }'
	} >main.c
	gcc -g -O2 -flto=1 -o many main.c f*.c
}

invoke() {
	printf 'in=%s\narg=-fie\narg=many\n' "$cache/units"
	start=$(nm "$cache/units/many" | sed -n 's/ T main$//p')
	i=0
	while [ $i -lt 200 ]; do
		printf 'arg=0x%x\n' $((0x$start + i * 4))
		i=$((i + 1))
	done
}
