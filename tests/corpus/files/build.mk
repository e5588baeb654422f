# Functions, patterns, variables; recipes that are only printed (make -n).
names := $(foreach n,$(shell seq 1 40),item$(n))
objects := $(names:%=out/%.o)
.PHONY: all
all: program
program: $(objects)
	cc -o $@ $(sort $^)
out/%.o: %.c
	cc $(if $(filter item1%,$*),-O3,-O2) -c -o $@ $<
%.c: ;
$(info $(words $(objects)) $(firstword $(objects)) $(subst item,x,$(lastword $(names))))
