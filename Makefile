# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Builds everything into $(O). A room is a folder of C files that becomes one archive, so
# that a program pulls in only what it uses.

VERSION := 0.1.0
O ?= build
B := $(patsubst %/,%,$(O))
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 600
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
# One more than two cores have: many tests wait. Not more: recorders beside each other disturb
# threads' stacks (doc/threads.md), rarely.
TEST_JOBS ?= $(if $(filter-out 1,$(JOBS)),3,1)
VMLINUX_BTF ?= /sys/kernel/btf/vmlinux
CXX := $(if $(filter default undefined,$(origin CXX)),g++,$(CXX))
CLANG ?= clang
LLVM_STRIP ?= llvm-strip
BPFTOOL ?= $(or $(shell command -v bpftool),/usr/sbin/bpftool)
# Each uses those before it (doc/INTERNALS.md).
ROOMS ?= base smt csource confine capture decode/x86 storeplan pt-collect/tracee pt-collect/log \
	pt-collect/kernel pt-collect/probes pt-collect/pt pt-collect/inputs pt-collect/start \
	pt-collect/flight pt-collect decode/translator decode/machine decode/symbols api decode/pt \
	decode/history decode/past faultlocate/slice faultlocate/race decode/explain debug \
	heapgraph specdsl faultlocate/bytes faultlocate \
	faultlocate/linear faultlocate/inputs faultlocate/reduce faultlocate/repair suppress-hw/suppress suppress-hw/rank suppress-hw/fixes suppress-hw bench report cmd

.DEFAULT_GOAL := all
.SECONDARY:
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules --no-print-directory
ifeq ($(V),1)
Q :=
say = @:
else
Q := @
say = @printf '  %-8s %s\n'
endif

CFLAGS_OPT := $(if $(DEBUG),-Og -g3,-O2 -g)
CFLAGS_SAN := $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer \
	-fno-sanitize-recover=undefined)
# What takes capabilities, and reads what strangers wrote, is hardened. Level 3 of fortify is
# for compilers that know sizes at run time; sanitizers have checks of their own. Of the doors
# between C and the guest none says that it supports shadow stacks (doc/privilege.md).
FORTIFY := $(strip $(shell printf '\043if __has_builtin(__builtin_dynamic_object_size)\n3\n\043else\n2\n\043endif\n' | \
	$(CC) -E -P -x c - 2>/dev/null || echo 2))
CFLAGS_HARD := -fPIE -fstack-protector-strong -fstack-clash-protection -fcf-protection=full \
	-U_FORTIFY_SOURCE $(if $(SAN),,-D_FORTIFY_SOURCE=$(FORTIFY))
ALL_CFLAGS := -std=gnu11 -D_GNU_SOURCE -DFAULTLINE_VERSION='"$(VERSION)"' -Wall -Wextra \
	-Wstrict-prototypes -Wmissing-prototypes $(CFLAGS_OPT) $(CFLAGS_HARD) $(CFLAGS_SAN) \
	$(if $(COVERAGE),--coverage) $(if $(WERROR),-Werror) -I. -I$(B) $(CFLAGS)
# Bound at once: a fork of the machine would bind again what it calls first, and the table
# of what is bound is read-only then.
ALL_LDFLAGS := -pie -Wl,-z,relro,-z,now,-z,noexecstack $(CFLAGS_SAN) $(if $(COVERAGE),--coverage) $(LDFLAGS)
LIBS := -lbpf -lelf -ldw -lzstd -lcjson -lZydis -lipt -lseccomp -lcap -liberty -lm -lpthread

sources = $(wildcard $(1)/*.c $(1)/*.S)
object_of = $(addprefix $(B)/,$(addsuffix .o,$(basename $(1))))
ARCHIVES := $(foreach r,$(ROOMS),$(if $(call sources,$r),$(B)/$r.a))
COMMANDS := $(shell grep -l '^// COMMAND ' cmd/*.c)
SKELETONS := $(patsubst %.bpf.c,$(B)/%.skel.h,$(wildcard bpf/*.bpf.c))
UNITS := $(patsubst %.c,$(B)/%,$(wildcard tests/*/unit_*.c tests/*/tool_*.c))
PROGRAMS := $(patsubst %.c,$(B)/%,$(wildcard tests/programs/*.c tests/races/*.c))
PROGRAMS_CC := $(patsubst %.cc,$(B)/%,$(wildcard tests/programs/*.cc))
FUZZERS := $(patsubst %.c,$(B)/%,$(wildcard tests/fuzz/fuzz_*.c))
EXAMPLES := $(foreach d,$(wildcard examples/*/),$(if $(wildcard $d$(notdir $(d:/=)).c),\
	$(notdir $(d:/=))))
EXAMPLE_BINS := $(foreach e,$(EXAMPLES),$(B)/examples/$e-O0 $(B)/examples/$e-O2)
LIBRARY := $(B)/libfaultline.so.0
LIBRARY_ROOMS := base confine capture decode/x86 decode/translator decode/machine decode/symbols api
LIBRARY_CFLAGS := -fPIC -fno-semantic-interposition
BENCH_PROGRAMS := $(patsubst %.c,$(B)/%,$(wildcard bench/programs/*.c))
SUBJECTS := $(foreach c,$(wildcard specs/*.c),$(B)/$(c:.c=-O0) $(B)/$(c:.c=-O2))


.PHONY: all tests examples check check-kernels first-hour sanitize demo screenshots fuzz fuzz-bins bench benchmarks bench-peers deps man \
	install deb clean house rooms format format-check help FORCE
all: $(B)/faultline $(LIBRARY) ## build faultline and its library (the default)
tests: $(B)/tests/nofault.so $(B)/tests/untyped.so $(UNITS) $(subst /fuzz_,/seeds_,$(FUZZERS)) $(PROGRAMS) $(PROGRAMS_CC) $(BENCH_PROGRAMS) $(SUBJECTS) examples
examples: $(EXAMPLE_BINS) ## build the example programs at -O0 and -O2
	@:

help: ## this list
	@echo 'Usage: make [TARGET] [KNOB=VALUE...]'; echo; echo 'Targets:'
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1|\2/p' Makefile | \
		while IFS='|' read -r t d; do printf '  %-17s %s\n' "$$t" "$$d"; done
	@echo; echo 'Knobs:'
	@printf '  %-17s %s\n' V=1 'show the commands' O=DIR 'output directory (build)' \
		CC=clang 'compiler' DEBUG=1 '-Og -g3 instead of -O2 -g' \
		SAN=LIST 'sanitizers: address,undefined or thread' COVERAGE=1 'gcov counters' \
		WERROR=1 'warnings are errors' JOBS=N 'parallel jobs of the build' TEST_JOBS=N 'tests at a time (3)' \
		T=PATTERN 'check: only tests whose name contains it' \
		FUZZ_SECONDS=N 'run each fuzz target so long (600)' \
		PREFIX=DIR 'where install puts things (/usr/local)' \
		DESTDIR=DIR 'prefix of all installed paths' \
		LIBDIR=DIR PYTHONDIR=DIR 'where install puts the library and the Python module' \
		VMLINUX_BTF=FILE 'kernel BTF to build the BPF objects against'

# ---- programs --------------------------------------------------------------------

# Rewritten at each change of flags: objects of other flags are not reused.
FLAGS_NOW := $(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS); $(LIBRARY_CFLAGS): $(LIBRARY_ROOMS)
$(B)/.flags: FORCE
	@mkdir -p $(B); echo '$(subst ','\'',$(FLAGS_NOW))' | cmp -s - $@ || \
		echo '$(subst ','\'',$(FLAGS_NOW))' >$@

$(B)/commands.inc: FORCE
	@mkdir -p $(B); for f in $(COMMANDS); do \
		n=cmd_$$(basename $$f .c); \
		sed -n "s|^// COMMAND \([a-z]*\)/\([a-z-]*\): *\(.*\)|COMMAND(\1, \"\2\", $$n, \"\3\")|p" \
			$$f | grep . || { echo "$$f: not \`// COMMAND GROUP/NAME: summary'" >&2; exit 1; }; \
	done >$@.new; cmp -s $@.new $@ || cp $@.new $@; rm -f $@.new

$(B)/%.o: %.c $(B)/.flags
	@mkdir -p $(@D)
	$(say) CC $<
	$(Q)$(CC) $(ALL_CFLAGS) $(ROOM_CFLAGS) -MMD -MP -c -o $@ $<

$(B)/%.o: %.S $(B)/.flags
	@mkdir -p $(@D)
	$(say) AS $<
	$(Q)$(CC) $(ALL_CFLAGS) $(ROOM_CFLAGS) -MMD -MP -c -o $@ $<

# What results of benchmarks say they are of.
$(B)/bench/commit.inc: FORCE
	@mkdir -p $(@D); echo "#define BENCH_COMMIT \"$$(git describe --always --dirty \
		--exclude '*' 2>/dev/null || echo unknown)\"" >$@.new; \
		cmp -s $@.new $@ || cp $@.new $@; rm -f $@.new
$(B)/bench/bench_machine.o: $(B)/bench/commit.inc

$(B)/faultline.o: $(B)/commands.inc
$(B)/report/page_html.o: report/page.html $(wildcard report/page*.js)
$(B)/report/crowd_html.o: report/crowd.html
$(B)/report/story_html.o: report/story.html report/story.js
$(B)/faultlocate/fl_rules_text.o: $(wildcard specs/rules/*.rules)
$(B)/suppress-hw/fixes/fix_shipped.o: suppress-hw/fixes/shipped.json
$(B)/debug/commands_py.o: $(wildcard debug/*.py)
$(B)/report/report_bench_page_html.o: report/bench_page.html
$(call object_of,$(call sources,pt-collect/kernel)): | $(SKELETONS)

# libclang's headers and library, which only rooms that read C know: of the release that llvm-config names.
LLVM_CONFIG ?= $(firstword $(shell command -v llvm-config llvm-config-14) llvm-config)
$(foreach r,csource faultlocate/repair suppress-hw/fixes,$(call object_of,$(call sources,$r))): ROOM_CFLAGS += \
	-isystem $(shell $(LLVM_CONFIG) --includedir 2>/dev/null) \
	-DCSRC_LIBCLANG_DIR='"$(shell $(LLVM_CONFIG) --libdir 2>/dev/null)"'

# What runs while vector registers are the guest's (decode/translator/guard_door.c, stop_door.c).
DOOR := base/map $(addprefix decode/translator/,guard guard_calls guard_door guard_nodes guard_parts blank stop_door) \
	$(addprefix decode/machine/,guest passes replay signature)
$(DOOR:%=$(B)/%.o): ROOM_CFLAGS += -mgeneral-regs-only -fno-stack-protector
# .. unless what the compiler makes of a copy may call the C library, as clang's may.
$(B)/decode/translator/stop_door.o: ROOM_CFLAGS += $(if $(SAN)$(DEBUG),-DHAS_NO_DOOR)

# Compiled more often than they run for long: a third of the time.
$(B)/tests/%.o: ROOM_CFLAGS += $(if $(DEBUG),,-O1)

# The command table declares them.
$(call object_of,$(COMMANDS)): ROOM_CFLAGS += -Wno-missing-prototypes

# A changed list of files (one removed) makes the archive anew.
define archive_rule
$(B)/$(1).list: FORCE
	@mkdir -p $(B); echo '$(call sources,$(1))' | cmp -s - $$@ || \
		echo '$(call sources,$(1))' >$$@
$(B)/$(1).a: $(call object_of,$(call sources,$(1))) $(B)/$(1).list
	$$(say) AR $$@
	$$(Q)rm -f $$@; $(AR) rcsD $$@ $$(filter %.o,$$^)
endef
$(foreach r,$(ROOMS),$(eval $(call archive_rule,$r)))

# Archives stand behind those that use them: an arrow that points back does not link.
reverse = $(if $(1),$(call reverse,$(wordlist 2,$(words $(1)),$(1))) $(firstword $(1)))
link = $(CC) $(ALL_LDFLAGS) -o $@ $(filter %.o,$^) $(call reverse,$(filter %.a,$^)) $(LIBS)

$(B)/faultline: $(B)/faultline.o $(ARCHIVES)
	$(say) LD $@
	$(Q)$(link)

# What others link with: only what the header publishes leaves it.
$(foreach r,$(LIBRARY_ROOMS),$(call object_of,$(call sources,$r))): \
	ROOM_CFLAGS += $(LIBRARY_CFLAGS)
$(LIBRARY): api/faultline.map $(foreach r,$(LIBRARY_ROOMS),$(B)/$r.a)
	$(say) LD $@
	$(Q)$(CC) -shared $(filter-out -pie,$(ALL_LDFLAGS)) -Wl,-soname,$(@F) -Wl,--version-script=$< \
		-Wl,--as-needed -o $@ -Wl,--whole-archive $(B)/api.a -Wl,--no-whole-archive \
		$(call reverse,$(filter %.a,$^)) $(LIBS)
	$(Q)ln -sf $(@F) $(B)/libfaultline.so

$(UNITS): $(B)/%: $(B)/%.o $(ARCHIVES)
	$(say) LD $@
	$(Q)$(link) -lcmocka

# What the tests record: plain programs, never with faultline's own flags. A program asks
# for more by a line `// FLAGS: -mavx2 -lpthread`.
program_flags = $(shell sed -n 's|^// FLAGS: ||p' $<)
$(PROGRAMS) $(BENCH_PROGRAMS): $(B)/%: %.c
	@mkdir -p $(@D)
	$(say) CC $@
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -O2 -g -I. -o $@ $< $(program_flags)

$(PROGRAMS_CC): $(B)/%: %.cc
	@mkdir -p $(@D)
	$(say) CXX $@
	$(Q)$(CXX) -std=c++17 -Wall -Wextra -O2 -g -o $@ $<

$(B)/tests/nofault.so $(B)/tests/untyped.so: $(B)/%.so: %.c
	@mkdir -p $(@D)
	$(say) CC $@
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -O2 -g -shared -fPIC -o $@ $<

$(BENCH_PROGRAMS): bench/programs/program.h bench/programs/graph.h
$(B)/tests/programs/crashes-O0: tests/programs/crashes.c

define example_rule
$(B)/examples/$(1)-$(2): $(wildcard examples/$(1)/*.c examples/$(1)/*.h)
	@mkdir -p $$(@D)
	$$(say) CC $$@
	$$(Q)$$(CC) -std=gnu11 -D_GNU_SOURCE -Wall -g -$(2) -o $$@ examples/$(1)/$(1).c
endef
$(foreach e,$(EXAMPLES),$(foreach l,O0 O2,$(eval $(call example_rule,$e,$l))))

# The programs of the specifications: specs/NAME-O0, specs/NAME-O2.
$(SUBJECTS): $(B)/specs/%: specs/subject.h
	@mkdir -p $(@D)
	$(say) CC $@
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -g $(lastword $(subst -, -,$*)) -I. -o $@ specs/$(firstword $(subst -, ,$*)).c
$(foreach s,$(SUBJECTS),$(eval $s: specs/$(firstword $(subst -, ,$(notdir $s))).c))

# ---- BPF -------------------------------------------------------------------------

$(B)/bpf/vmlinux.h:
	@mkdir -p $(@D)
	@test -r $(VMLINUX_BTF) || { echo "make: cannot build the BPF objects: no kernel \
	type information at $(VMLINUX_BTF) (needs a kernel with CONFIG_DEBUG_INFO_BTF, or \
	VMLINUX_BTF=FILE naming a vmlinux that has it)" >&2; exit 1; }
	$(say) BTF $@
	$(Q)$(BPFTOOL) btf dump file $(VMLINUX_BTF) format c >$@

# bpf/NAME.bpf.c -> NAME.bpf.o with BTF but without DWARF -> NAME.skel.h
$(B)/bpf/%.bpf.o: bpf/%.bpf.c $(B)/bpf/vmlinux.h
	$(say) BPF $<
	$(Q)$(CLANG) -g -O2 -target bpf -D__TARGET_ARCH_x86 -Wall -Wextra -Wno-unused-parameter -I. -I$(B) \
		-I$(B)/bpf -MMD -MP -c -o $@ $<
	$(Q)$(LLVM_STRIP) -g $@

$(B)/bpf/%.skel.h: $(B)/bpf/%.bpf.o
	$(say) SKEL $@
	$(Q)$(BPFTOOL) gen skeleton $< name $(subst -,_,$*)_bpf >$@

# ---- proof -----------------------------------------------------------------------

deps: ## install what is missing (Debian packages of tools/packages.txt)
	@tools/deps.sh

# The dependencies come before the rest is even looked at, hence a second make.
again = $(MAKE) $(if $(findstring -j,$(MAKEFLAGS)),,-j$(JOBS))
check: ## deps, build, run all tests
	@tools/deps.sh
	+@$(again) all tests
	@tests/run -j $(TEST_JOBS) $(B) $(T)

check-kernels: ## smoke tests on other kernels and CPU models, under qemu (T: only these rows)
	@tools/deps.sh tools/packages.txt tools/packages-kernels.txt
	+@$(again) all tests
	@tools/kernels.sh $(B) $(T)

first-hour: ## what a person meets first, in a bare Debian: README, demo, own program, page (root)
	@tools/first-hour.sh

# Both run, whatever the first finds.
sanitize: ## all tests under ASan and UBSan, then under TSan (T as for check)
	@tools/deps.sh
	+@$(again) O=$(B)/asan SAN=address,undefined all tests
	+@$(again) O=$(B)/tsan SAN=thread all tests
	@tests/run -j $(TEST_JOBS) $(B)/asan $(T); asan=$$?; tests/run -j $(TEST_JOBS) $(B)/tsan $(T) && exit $$asan

demo: ## deps, build, record and analyze a buggy quad tree, draw it
	@tools/deps.sh
	+@$(again) all examples
	@tools/demo.sh $(B)

screenshots: ## pictures of the pages that are made, to be looked at (with chromium)
	+@$(again) all examples $(B)/specs/hash-O0
	@tools/screenshots.sh $(B)

# No pointer-overflow: no bytes at a null pointer are fine everywhere.
FUZZ_CFLAGS := $(strip $(CFLAGS) -fno-sanitize=pointer-overflow)
fuzz: ## run every fuzz target FUZZ_SECONDS seconds
	@tools/deps.sh tools/packages.txt tools/packages-fuzz.txt
	+@$(again) O=$(B)/fuzz CC=$(CLANG) SAN=fuzzer-no-link,address,undefined \
		CFLAGS='$(FUZZ_CFLAGS)' fuzz-bins
	@tools/fuzz.sh $(B)/fuzz/tests/fuzz $(FUZZ_SECONDS)
fuzz-bins: $(FUZZERS)
$(FUZZERS): $(B)/%: $(B)/%.o $(ARCHIVES)
	$(say) LD $@
	$(Q)$(subst fuzzer-no-link,fuzzer,$(link))
$(B)/tests/fuzz/seeds_%: $(B)/tests/fuzz/fuzz_%.o $(B)/tests/fuzz/seeds.o $(ARCHIVES)
	$(say) LD $@
	$(Q)$(link)

bench: all examples $(PROGRAMS) $(BENCH_PROGRAMS) $(SUBJECTS) ## measure cost, quick form (no test; minutes)
	$(Q)$(B)/faultline bench --quick --json $(B)/bench.json --html $(B)/bench.html

benchmarks: all examples $(PROGRAMS) $(BENCH_PROGRAMS) $(SUBJECTS) ## measure all on a quiet machine, for doc/benchmarks.md
	$(Q)$(B)/faultline bench all --json doc/benchmarks.json --markdown doc/benchmarks.md \
		--html $(B)/bench.html

bench-peers: ## install the tools that bench compares with (Debian packages)
	@tools/deps.sh tools/bench-packages.txt

# ---- the rest --------------------------------------------------------------------

man: $(B)/man/faultline.1 ## make the man pages from --help
$(B)/man/faultline.1: $(B)/faultline tools/man.sh doc/spec-language.md doc/rules.md \
		$(wildcard doc/man/*.h2m)
	$(say) MAN $(B)/man
	$(Q)tools/man.sh $(B)/faultline $(B)/man

# Where Python looks: Debian has its own modules without the release's number.
LIBDIR ?= $(PREFIX)/lib
PYTHONDIR ?= $(PREFIX)/lib/python$(shell python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')/dist-packages
install: all man ## install into PREFIX
	install -Dm755 $(B)/faultline $(DESTDIR)$(PREFIX)/bin/faultline
	install -d $(DESTDIR)$(PREFIX)/share/man/man1 $(DESTDIR)$(PREFIX)/share/man/man5
	install -m644 $(B)/man/*.1 $(DESTDIR)$(PREFIX)/share/man/man1
	install -m644 $(B)/man/*.5 $(DESTDIR)$(PREFIX)/share/man/man5
	install -d $(DESTDIR)$(PREFIX)/share/faultline/specs
	install -m644 specs/*.spec specs/rules/*.rules $(DESTDIR)$(PREFIX)/share/faultline/specs
	install -Dm644 doc/faultline.bash-completion \
		$(DESTDIR)$(PREFIX)/share/bash-completion/completions/faultline
	install -Dm644 -t $(DESTDIR)$(PREFIX)/share/doc/faultline doc/*.md doc/*.svg \
		examples/library/whowrote.c examples/library/whowrote.py
	install -Dm644 -t $(DESTDIR)$(PREFIX)/include api/faultline.h
	install -Dm644 -t $(DESTDIR)$(LIBDIR) $(LIBRARY)
	ln -sf $(notdir $(LIBRARY)) $(DESTDIR)$(LIBDIR)/libfaultline.so
	install -d $(DESTDIR)$(LIBDIR)/pkgconfig
	sed 's|@PREFIX@|$(PREFIX)|; s|@LIBDIR@|$(LIBDIR)|; s|@VERSION@|$(VERSION)|' api/faultline.pc.in \
		>$(DESTDIR)$(LIBDIR)/pkgconfig/faultline.pc
	install -Dm644 -t $(DESTDIR)$(PYTHONDIR) api/faultline.py
	$(if $(DESTDIR),,-ldconfig)

deb: all man ## make Debian packages into build/deb
	$(Q)rm -rf $(B)/deb && mkdir -p $(B)/deb/src && cp -a debian $(B)/deb/src
	$(Q)cd $(B)/deb/src && debian/rules binary SOURCE=$(CURDIR) O=$(O) DEBS=.. \
		KEPT='-o $(B)/faultline -o $(LIBRARY)' \
		>../log 2>&1 || { tail -n 20 ../log >&2; exit 1; }
	$(Q)ls $(B)/deb/*.deb

house: ## draw the rooms and who uses whom, for doc/INTERNALS.md
	$(Q)tools/house.sh $(ROOMS) >doc/house.dot && dot -Tsvg -o doc/house.svg doc/house.dot

rooms:
	@echo $(ROOMS)

clean: ## remove the output directory
	$(Q)rm -rf $(B)

FORMATTED = $(foreach r,. $(ROOMS) bpf specs tests/* examples/*,$(wildcard $r/*.[ch]))
format: ## rewrite the sources in the house's format
	$(Q)clang-format -i $(FORMATTED)
format-check: ## fail when a source is not in the house's format
	$(Q)clang-format --dry-run -Werror $(FORMATTED)

-include $(wildcard $(foreach r,$(ROOMS) bpf tests/*,$(B)/$r/*.d) $(B)/faultline.d)
