build-san/pt-collect/explore.o: pt-collect/explore.c \
 pt-collect/kernel/bpf.h base/base.h base/arena.h base/cleanup.h \
 base/clock.h base/err.h base/log.h base/map.h base/new_file.h base/vec.h \
 bpf/record.h capture/capture.h capture/cap_cpu.h \
 pt-collect/inputs/points.h pt-collect/tracee/tracee.h \
 pt-collect/inputs/table.h pt-collect/log/writes.h pt-collect/record.h \
 pt-collect/log/private.h pt-collect/log/log.h pt-collect/tracee/pages.h \
 pt-collect/pt/pt.h pt-collect/pt/pmu.h capture/perf_data.h \
 pt-collect/pt/ring.h pt-collect/probes/stores.h \
 pt-collect/probes/probes.h storeplan/storeplan.h decode/x86/zydis.h \
 decode/x86/insn.h storeplan/sp_insn.h pt-collect/start/attach.h \
 pt-collect/inputs/process.h pt-collect/probes/chance.h \
 pt-collect/pt/record.h pt-collect/start/start.h
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
pt-collect/inputs/points.h:
pt-collect/tracee/tracee.h:
pt-collect/inputs/table.h:
pt-collect/log/writes.h:
pt-collect/record.h:
pt-collect/log/private.h:
pt-collect/log/log.h:
pt-collect/tracee/pages.h:
pt-collect/pt/pt.h:
pt-collect/pt/pmu.h:
capture/perf_data.h:
pt-collect/pt/ring.h:
pt-collect/probes/stores.h:
pt-collect/probes/probes.h:
storeplan/storeplan.h:
decode/x86/zydis.h:
decode/x86/insn.h:
storeplan/sp_insn.h:
pt-collect/start/attach.h:
pt-collect/inputs/process.h:
pt-collect/probes/chance.h:
pt-collect/pt/record.h:
pt-collect/start/start.h:
