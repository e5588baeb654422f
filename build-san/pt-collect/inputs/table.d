build-san/pt-collect/inputs/table.o: pt-collect/inputs/table.c \
 pt-collect/inputs/table.h pt-collect/kernel/bpf.h base/base.h \
 base/arena.h base/cleanup.h base/clock.h base/err.h base/log.h \
 base/map.h base/new_file.h base/vec.h bpf/record.h capture/capture.h \
 capture/cap_cpu.h pt-collect/log/writes.h pt-collect/tracee/tracee.h \
 pt-collect/inputs/syscalls.def
pt-collect/inputs/table.h:
pt-collect/kernel/bpf.h:
base/base.h:
base/arena.h:
base/cleanup.h:
base/clock.h:
base/err.h:
base/log.h:
base/map.h:
base/new_file.h:
base/vec.h:
bpf/record.h:
capture/capture.h:
capture/cap_cpu.h:
pt-collect/log/writes.h:
pt-collect/tracee/tracee.h:
pt-collect/inputs/syscalls.def:
