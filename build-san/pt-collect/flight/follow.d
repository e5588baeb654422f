build-san/pt-collect/flight/follow.o: pt-collect/flight/follow.c \
 pt-collect/kernel/bpf.h base/base.h base/arena.h base/cleanup.h \
 base/clock.h base/err.h base/log.h base/map.h base/new_file.h base/vec.h \
 bpf/record.h capture/capture.h capture/cap_cpu.h \
 pt-collect/flight/flight_int.h pt-collect/flight/flight.h \
 pt-collect/inputs/process.h pt-collect/log/log.h \
 pt-collect/log/private.h pt-collect/tracee/pages.h \
 pt-collect/tracee/tracee.h pt-collect/log/writes.h \
 pt-collect/probes/chance.h pt-collect/probes/probes.h \
 pt-collect/pt/record.h pt-collect/start/attach.h \
 pt-collect/start/follow.h pt-collect/tracee/wards.h \
 pt-collect/tracee/proc.h
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
pt-collect/flight/flight_int.h:
pt-collect/flight/flight.h:
pt-collect/inputs/process.h:
pt-collect/log/log.h:
pt-collect/log/private.h:
pt-collect/tracee/pages.h:
pt-collect/tracee/tracee.h:
pt-collect/log/writes.h:
pt-collect/probes/chance.h:
pt-collect/probes/probes.h:
pt-collect/pt/record.h:
pt-collect/start/attach.h:
pt-collect/start/follow.h:
pt-collect/tracee/wards.h:
pt-collect/tracee/proc.h:
