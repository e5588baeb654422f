build-san/pt-collect/inputs/process.o: pt-collect/inputs/process.c \
 pt-collect/inputs/assemble.h pt-collect/inputs/process.h base/base.h \
 base/arena.h base/cleanup.h base/clock.h base/err.h base/log.h \
 base/map.h base/new_file.h base/vec.h capture/capture.h \
 capture/cap_cpu.h pt-collect/kernel/bpf.h bpf/record.h \
 pt-collect/log/log.h pt-collect/log/private.h pt-collect/tracee/pages.h \
 pt-collect/tracee/tracee.h pt-collect/log/writes.h \
 pt-collect/probes/chance.h pt-collect/probes/probes.h \
 pt-collect/pt/record.h pt-collect/inputs/threads.h \
 pt-collect/probes/heap.h pt-collect/probes/stores.h \
 storeplan/storeplan.h decode/x86/zydis.h decode/x86/insn.h \
 storeplan/sp_insn.h
pt-collect/inputs/assemble.h:
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
pt-collect/inputs/threads.h:
pt-collect/probes/heap.h:
pt-collect/probes/stores.h:
storeplan/storeplan.h:
decode/x86/zydis.h:
decode/x86/insn.h:
storeplan/sp_insn.h:
