build-san/pt-collect/probes/heap.o: pt-collect/probes/heap.c \
 pt-collect/probes/chance.h pt-collect/probes/probes.h base/base.h \
 base/arena.h base/cleanup.h base/clock.h base/err.h base/log.h \
 base/map.h base/new_file.h base/vec.h pt-collect/kernel/bpf.h \
 bpf/record.h capture/capture.h capture/cap_cpu.h pt-collect/log/log.h \
 pt-collect/tracee/tracee.h pt-collect/probes/heap.h \
 pt-collect/probes/symbol.h
pt-collect/probes/chance.h:
pt-collect/probes/probes.h:
base/base.h:
base/arena.h:
base/cleanup.h:
base/clock.h:
base/err.h:
base/log.h:
base/map.h:
base/new_file.h:
base/vec.h:
pt-collect/kernel/bpf.h:
bpf/record.h:
capture/capture.h:
capture/cap_cpu.h:
pt-collect/log/log.h:
pt-collect/tracee/tracee.h:
pt-collect/probes/heap.h:
pt-collect/probes/symbol.h:
