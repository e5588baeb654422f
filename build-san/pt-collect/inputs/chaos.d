build-san/pt-collect/inputs/chaos.o: pt-collect/inputs/chaos.c \
 pt-collect/kernel/bpf.h base/base.h base/arena.h base/cleanup.h \
 base/clock.h base/err.h base/log.h base/map.h base/new_file.h base/vec.h \
 bpf/record.h capture/capture.h capture/cap_cpu.h \
 pt-collect/inputs/chaos.h pt-collect/tracee/tracee.h \
 pt-collect/inputs/points.h pt-collect/inputs/random.h
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
pt-collect/inputs/chaos.h:
pt-collect/tracee/tracee.h:
pt-collect/inputs/points.h:
pt-collect/inputs/random.h:
