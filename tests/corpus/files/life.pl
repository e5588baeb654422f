# Life on a torus.
use strict;
use warnings;

my ($size, $turns) = @ARGV;
my $x = 12345;
my @cell;
for my $i (0 .. $size * $size - 1) {
	$x = ($x * 1103515245 + 12345) % 2147483648;
	$cell[$i] = ($x >> 16) % 3 == 0 ? 1 : 0;
}
for (1 .. $turns) {
	my @next;
	for my $r (0 .. $size - 1) {
		my ($up, $down) = (($r - 1) % $size * $size, ($r + 1) % $size * $size);
		my $here = $r * $size;
		for my $c (0 .. $size - 1) {
			my ($l, $n) = (($c - 1) % $size, ($c + 1) % $size);
			my $near = $cell[$up + $l] + $cell[$up + $c] + $cell[$up + $n] +
				$cell[$here + $l] + $cell[$here + $n] +
				$cell[$down + $l] + $cell[$down + $c] + $cell[$down + $n];
			$next[$here + $c] = $near == 3 || ($near == 2 && $cell[$here + $c]) ? 1 : 0;
		}
	}
	@cell = @next;
}
print join('', map { $_ ? '#' : '.' } @cell[$_ * $size .. ($_ + 1) * $size - 1]), "\n"
	for 0 .. $size - 1;
