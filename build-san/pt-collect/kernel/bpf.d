build-san/pt-collect/kernel/bpf.o: pt-collect/kernel/bpf.c \
 pt-collect/kernel/bpf_int.h pt-collect/kernel/bpf.h base/base.h \
 base/arena.h base/cleanup.h base/clock.h base/err.h base/log.h \
 base/map.h base/new_file.h base/vec.h bpf/record.h capture/capture.h \
 capture/cap_cpu.h pt-collect/kernel/programs.h pt-collect/tracee/place.h \
 pt-collect/tracee/privilege.h pt-collect/tracee/tracee.h \
 build-san/bpf/record.skel.h
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
pt-collect/tracee/place.h:
pt-collect/tracee/privilege.h:
pt-collect/tracee/tracee.h:
build-san/bpf/record.skel.h:
