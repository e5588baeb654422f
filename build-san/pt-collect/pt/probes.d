build-san/pt-collect/pt/probes.o: pt-collect/pt/probes.c \
 pt-collect/pt/probes.h pt-collect/pt/record.h base/base.h base/arena.h \
 base/cleanup.h base/clock.h base/err.h base/log.h base/map.h \
 base/new_file.h base/vec.h capture/capture.h capture/cap_cpu.h \
 pt-collect/kernel/bpf.h bpf/record.h pt-collect/log/log.h \
 pt-collect/tracee/tracee.h
pt-collect/pt/probes.h:
pt-collect/pt/record.h:
base/base.h:
base/arena.h:
base/cleanup.h:
base/clock.h:
base/err.h:
base/log.h:
base/map.h:
base/new_file.h:
base/vec.h:
capture/capture.h:
capture/cap_cpu.h:
pt-collect/kernel/bpf.h:
bpf/record.h:
pt-collect/log/log.h:
pt-collect/tracee/tracee.h:
