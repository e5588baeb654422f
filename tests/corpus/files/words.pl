# Words of a text, most frequent first: hashes, regular expressions, sort, formats.
use strict;
use warnings;

my %count;
open(my $file, '<', $ARGV[0]) or die "$ARGV[0]: $!";
while (my $line = <$file>) {
	$count{lc $1}++ while $line =~ /([A-Za-z]+)(?=\d)/g;
}
printf "%8d %s\n", $count{$_}, $_
	for sort { $count{$b} <=> $count{$a} || $a cmp $b } keys %count;
