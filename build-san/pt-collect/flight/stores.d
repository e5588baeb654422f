build-san/pt-collect/flight/stores.o: pt-collect/flight/stores.c \
 pt-collect/flight/flight.h pt-collect/inputs/process.h base/base.h \
 base/arena.h base/cleanup.h base/clock.h base/err.h base/log.h \
 base/map.h base/new_file.h base/vec.h capture/capture.h \
 capture/cap_cpu.h pt-collect/kernel/bpf.h bpf/record.h \
 pt-collect/log/log.h pt-collect/log/private.h pt-collect/tracee/pages.h \
 pt-collect/tracee/tracee.h pt-collect/log/writes.h \
 pt-collect/probes/chance.h pt-collect/probes/probes.h \
 pt-collect/pt/record.h pt-collect/start/attach.h
pt-collect/flight/flight.h:
pt-collect/inputs/process.h:
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
pt-collect/log/private.h:
pt-collect/tracee/pages.h:
pt-collect/tracee/tracee.h:
pt-collect/log/writes.h:
pt-collect/probes/chance.h:
pt-collect/probes/probes.h:
pt-collect/pt/record.h:
pt-collect/start/attach.h:
