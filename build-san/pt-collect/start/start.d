build-san/pt-collect/start/start.o: pt-collect/start/start.c \
 pt-collect/probes/chance.h pt-collect/probes/probes.h base/base.h \
 base/arena.h base/cleanup.h base/clock.h base/err.h base/log.h \
 base/map.h base/new_file.h base/vec.h pt-collect/kernel/bpf.h \
 bpf/record.h capture/capture.h capture/cap_cpu.h pt-collect/log/log.h \
 pt-collect/tracee/tracee.h pt-collect/tracee/cpuid.h \
 pt-collect/inputs/files.h pt-collect/inputs/process.h \
 pt-collect/log/private.h pt-collect/tracee/pages.h \
 pt-collect/log/writes.h pt-collect/pt/record.h pt-collect/probes/heap.h \
 pt-collect/probes/stores.h storeplan/storeplan.h decode/x86/zydis.h \
 decode/x86/insn.h storeplan/sp_insn.h pt-collect/tracee/wards.h \
 pt-collect/tracee/proc.h pt-collect/start/start.h \
 pt-collect/probes/unprobed.h
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
pt-collect/tracee/cpuid.h:
pt-collect/inputs/files.h:
pt-collect/inputs/process.h:
pt-collect/log/private.h:
pt-collect/tracee/pages.h:
pt-collect/log/writes.h:
pt-collect/pt/record.h:
pt-collect/probes/heap.h:
pt-collect/probes/stores.h:
storeplan/storeplan.h:
decode/x86/zydis.h:
decode/x86/insn.h:
storeplan/sp_insn.h:
pt-collect/tracee/wards.h:
pt-collect/tracee/proc.h:
pt-collect/start/start.h:
pt-collect/probes/unprobed.h:
