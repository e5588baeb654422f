build-san/pt-collect/inputs/points.o: pt-collect/inputs/points.c \
 decode/x86/zydis.h decode/x86/insn.h capture/capture.h base/base.h \
 base/arena.h base/cleanup.h base/clock.h base/err.h base/log.h \
 base/map.h base/new_file.h base/vec.h capture/cap_cpu.h \
 pt-collect/inputs/points.h pt-collect/tracee/tracee.h \
 pt-collect/inputs/random.h pt-collect/probes/symbol.h
decode/x86/zydis.h:
decode/x86/insn.h:
capture/capture.h:
base/base.h:
base/arena.h:
base/cleanup.h:
base/clock.h:
base/err.h:
base/log.h:
base/map.h:
base/new_file.h:
base/vec.h:
capture/cap_cpu.h:
pt-collect/inputs/points.h:
pt-collect/tracee/tracee.h:
pt-collect/inputs/random.h:
pt-collect/probes/symbol.h:
