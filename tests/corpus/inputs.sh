#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# inputs.sh DIR small|large - make in DIR what the command lines of the corpus work on, the
# same on every machine: copies of files/ and generated texts. The number in a name is its
# size in MB (text: less than one).
set -eu

. "$(dirname "$0")/environment.sh"
dir=$1 size=$2
cp -r "$(dirname "$0")/files/." "$dir"
cd "$dir"

# words BYTES SEED - lines of words and numbers.
words() {
	awk -v bytes="$1" -v x="$2" 'BEGIN {
		split("list node tree edge heap fault store value graph time", word, " ")
		while (n < bytes) {
			line = ""
			for (i = 0; i < 8; i++) {
				x = x * 16807 % 2147483647 # stays exact in a double
				line = line word[1 + int(x / 65536) % 10] int(x / 4096) % 1000 " "
			}
			print line
			n += length(line) + 1
		}
	}'
}

words 300000 12345 >text
sed '100,200s/node/edge/; 900d; 1500a\
a line that is only here' text >text.new
awk '{ print $2, NR % 97, $1 }' text | head -n 2000 >rows
sort -u -k 1,1 rows | head -n 300 >left
sort -u -k 1,1 rows | awk 'NR % 3 { print $1, "right" NR }' | head -n 300 >right
awk 'BEGIN { for (i = 1; i <= 4000; i++) print i * 7919 % 100003 }' >numbers
awk '{ printf "%s,%d,\"%s, %s\",%.2f\n", $1, $2, $3, $1, $2 / 7 }' rows >table.csv
awk 'BEGIN {
	print "{\"items\": ["
	for (i = 0; i < 1500; i++)
		printf "%s{\"id\": %d, \"name\": \"node%d\", \"w\": %.3f, \"tags\": [\"a%d\", null]}\n",
			i ? "," : "", i, i * 7919 % 1009, i / 7, i % 5
	print "]}"
}' >items.json
awk 'BEGIN {
	print "<?xml version=\"1.0\"?>\n<items>"
	for (i = 0; i < 1500; i++)
		printf "<item id=\"%d\" kind=\"k%d\"><name>node &amp; %d</name><weight>%d</weight></item>\n",
			i, i % 7, i * 7919 % 1009, i % 13
	print "</items>"
}' >items.xml
awk 'BEGIN {
	print "%PDF-1.4"
	print "1 0 obj <</Type/Catalog/Pages 2 0 R>> endobj"
	print "2 0 obj <</Type/Pages/Kids[3 0 R]/Count 1>> endobj"
	print "3 0 obj <</Type/Page/Parent 2 0 R/MediaBox[0 0 300 300]/Contents 4 0 R" \
		"/Resources<</Font<</F 5 0 R>>>>>> endobj"
	s = "BT /F 12 Tf 20 250 Td (What broke the heap?) Tj 0 -20 Td (The store.) Tj ET"
	print "4 0 obj <</Length " length(s) ">> stream\n" s "\nendstream endobj"
	print "5 0 obj <</Type/Font/Subtype/Type1/BaseFont/Helvetica>> endobj"
	print "trailer <</Root 1 0 R>>\n%%EOF"
}' >page.pdf
mkdir -p tree/a/b tree/c
cp list.c tree/a
cp queens.py tree/a/b
head -n 50 text >tree/c/text
ln -s ../a/list.c tree/c/link
gzip -9nc text >text.gz
bzip2 -9c text >text.bz2
xz -6c text >text.xz
xz -T2 --block-size=64KiB -c text >blocks.xz
awk 'BEGIN { for (i = 1; i <= 300000; i++) print i * 7919 % 1000003 }' >numbers3
gcc -g -O1 -c -o list.o list.c
gcc -g -O1 -o list list.o
gcc -g -O1 -S -o list.s list.c
tar -cf tree.tar --owner=0 --group=0 --sort=name --mtime='2020-02-02 UTC' tree
find tree | sort >files
cpio -o --format=newc --reproducible --quiet <files >tree.cpio
zip -qrX made.zip tree list.c
mkdir repo
cp list.c text repo
(
	cd repo
	git init -q --template= --initial-branch=main
	git add list.c
	git commit -q -m first
	cp ../queens.py .
	git add queens.py
	git commit -q -m 'a program'
	sed -i 's/node/vertex/' list.c
)
# Text in one line, for what cares about lines.
tr '\n' ' ' <text >line

if [ "$size" = large ]; then
	words 4000000 777 >text4
	words 16000000 777 >text16
	words 1500000 999 >text1
	bzip2 -c text16 >text16.bz2
	echo 'scale=2500; 4*a(1)' >pi2500.bc
	for ((i = 0; i < 300; i++)); do
		sed "1,/^#include <string/d; s/main/main$i/; s/push/push$i/g; s/struct node/struct node$i/g" list.c
	done | sed '1i #include <stdio.h>\n#include <stdlib.h>\n#include <string.h>' >big.c
	awk 'BEGIN {
		print "["
		for (i = 0; i < 120000; i++)
			printf "%s{\"id\":%d,\"name\":\"node%d\",\"w\":%.3f}\n",
				i ? "," : "", i, i * 7919 % 1009, i / 7
		print "]"
	}' >items9.json
fi
find . -exec touch -h -d '2020-02-02 02:02:02' {} +
