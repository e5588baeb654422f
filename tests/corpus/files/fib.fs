: fib ( n -- f ) dup 2 < if drop 1 else dup 1- recurse swap 2 - recurse + then ;
: squares ( n -- ) 0 do i dup * . loop cr ;
20 squares
limit fib . cr
bye
