build-san/pt-collect/kernel/probes.o: pt-collect/kernel/probes.c \
 pt-collect/kernel/bpf_int.h pt-collect/kernel/bpf.h base/base.h \
 base/arena.h base/cleanup.h base/clock.h base/err.h base/log.h \
 base/map.h base/new_file.h base/vec.h bpf/record.h capture/capture.h \
 capture/cap_cpu.h pt-collect/kernel/programs.h \
 pt-collect/tracee/privilege.h
pt-collect/kernel/bpf_int.h:
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
pt-collect/kernel/programs.h:
pt-collect/tracee/privilege.h:
