build-san/pt-collect/start/launch.o: pt-collect/start/launch.c \
 pt-collect/tracee/wards.h base/base.h base/arena.h base/cleanup.h \
 base/clock.h base/err.h base/log.h base/map.h base/new_file.h base/vec.h \
 pt-collect/tracee/place.h pt-collect/tracee/privilege.h \
 pt-collect/tracee/proc.h pt-collect/start/start.h \
 pt-collect/inputs/process.h capture/capture.h capture/cap_cpu.h \
 pt-collect/kernel/bpf.h bpf/record.h pt-collect/log/log.h \
 pt-collect/log/private.h pt-collect/tracee/pages.h \
 pt-collect/tracee/tracee.h pt-collect/log/writes.h \
 pt-collect/probes/chance.h pt-collect/probes/probes.h \
 pt-collect/pt/record.h
pt-collect/tracee/wards.h:
base/base.h:
base/arena.h:
base/cleanup.h:
base/clock.h:
base/err.h:
base/log.h:
base/map.h:
base/new_file.h:
base/vec.h:
pt-collect/tracee/place.h:
pt-collect/tracee/privilege.h:
pt-collect/tracee/proc.h:
pt-collect/start/start.h:
pt-collect/inputs/process.h:
capture/capture.h:
capture/cap_cpu.h:
pt-collect/kernel/bpf.h:
bpf/record.h:
pt-collect/log/log.h:
pt-collect/log/private.h:
pt-collect/tracee/pages.h:
pt-collect/tracee/tracee.h:
pt-collect/log/writes.h:
pt-collect/probes/chance.h:
pt-collect/probes/probes.h:
pt-collect/pt/record.h:
