#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Work of many tests, planned and accounted for by what does so with Slurm; Slurm and the work are made
# up: some pieces die, and each test is done once all the same.
# FAULTLINE_PIECES=N: so many tests (2000); what that takes of memory is told.
# time limit: 3000
. tests/lib.sh

need perl
n=${FAULTLINE_PIECES:-2000}
cd "$TMPDIR" || exit 1
mkdir -p s/tests bin
perl -e '
	my $n = shift;
	print "{\"format\": \"faultline-suite\", \"version\": 1, \"command\": [\"true\"], \"tests\": [";
	for (1 .. $n) {
		mkdir "s/tests/t$_";
		print $_ > 1 ? "," : "", "\n{\"name\": \"t$_\", \"args\": [], \"stdin\": null, \"expected\": null, ",
			"\"oracle\": null, \"expected_status\": -1, \"capture\": \"tests/t$_/capture\", ",
			"\"outcome\": \"passed\", \"status\": 0, \"why\": null}"
	}
	print "]}\n"' "$n" >s/suite.json

cat >bin/sbatch <<'END'
#!/usr/bin/perl
# Each piece leaves a result for each of its tests, but every 50th of the first array, which dies.
my ($last) = "@ARGV" =~ /--array=0-(\d+)/;
open(my $jobs, ">>", "jobs");
print $jobs "x";
close $jobs;
my $job = -s "jobs";
open(my $left, ">", "left");
close $left;
print "$job\n";
exit 0 if fork;
close $_ for *STDIN, *STDOUT, *STDERR;
open(my $pending, "<", "s/slurm/pending");
chomp(my @tests = <$pending>);
open(my $done, ">>", "done");
for my $k (0 .. $last) {
	next if $k % 50 == 7 && $job == 1;
	for my $i (int(@tests * $k / ($last + 1)) .. int(@tests * ($k + 1) / ($last + 1)) - 1) {
		my $result = "s/tests/$tests[$i]/check.status";
		open(my $f, ">", "$result.new");
		print $f "0\n\n";
		close $f;
		rename "$result.new", $result;
		print $done "$tests[$i]\n";
	}
}
close $done;
unlink "left";
END
printf '#!/bin/sh\n[ ! -e left ] || echo RUNNING None\n' >bin/squeue
printf '#!/bin/sh\ncase "$*" in *%%C*) echo 0/300/0/300 ;; esac\n' >bin/sinfo
printf '#!/bin/sh\n' >bin/scancel
chmod +x bin/*

# The first is tried here, and has no capture.
(
	export PATH=$PWD/bin:$PATH
	exec "$FAULTLINE" suite check --slurm s >out 2>err
) &
while most_now=$(sed -n 's/^VmHWM:[\t ]*//p' /proc/$!/status 2>/dev/null) && [ -n "$most_now" ]; do
	most=$most_now
	sleep 0.1
done
wait $!
[ $? = 2 ] || fail "$(cat out err)"
grep -q "^$n captures: $((n - 1)) clean, 0 with errors, 1 could not be looked at$" out || fail "$(cat out err)"
[ "$(sort done | uniq -d | wc -l)" = 0 ] && [ "$(wc -l <done)" = $((n - 1)) ] ||
	fail "$(wc -l <done) were done, $(sort done | uniq -d | wc -l) of them twice"
[ "$(wc -c <jobs)" = 2 ] || fail "$(wc -c <jobs) arrays"
echo "result: $n tests in two arrays, $most of memory at most"
