# Lists, strings, arithmetic, procedures.
proc quick {list} {
	if {[llength $list] < 2} { return $list }
	set pivot [lindex $list 0]
	set low {}
	set high {}
	foreach x [lrange $list 1 end] {
		if {$x < $pivot} { lappend low $x } else { lappend high $x }
	}
	concat [quick $low] $pivot [quick $high]
}
set x 12345
for {set i 0} {$i < [lindex $argv 0]} {incr i} {
	set x [expr {($x * 1103515245 + 12345) % 2147483648}]
	lappend list [expr {$x % 100000}]
}
set sorted [quick $list]
puts "[lrange $sorted 0 9] [string length [join $sorted]]"
puts [expr {$sorted eq [lsort -integer $list]}]
