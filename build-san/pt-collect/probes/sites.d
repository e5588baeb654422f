build-san/pt-collect/probes/sites.o: pt-collect/probes/sites.c \
 decode/x86/zydis.h decode/x86/insn.h capture/capture.h base/base.h \
 base/arena.h base/cleanup.h base/clock.h base/err.h base/log.h \
 base/map.h base/new_file.h base/vec.h capture/cap_cpu.h \
 pt-collect/probes/heap.h pt-collect/probes/probes.h \
 pt-collect/kernel/bpf.h bpf/record.h pt-collect/log/log.h \
 pt-collect/tracee/tracee.h storeplan/storeplan.h storeplan/sp_insn.h
decode/x86/zydis.h:
decode/x86/insn.h:
capture/capture.h:
base/base.h:
base/arena.h:
base/cleanup.h:
base/clock.h:
base/err.h:
base/log.h:
base/map.h:
base/new_file.h:
base/vec.h:
capture/cap_cpu.h:
pt-collect/probes/heap.h:
pt-collect/probes/probes.h:
pt-collect/kernel/bpf.h:
bpf/record.h:
pt-collect/log/log.h:
pt-collect/tracee/tracee.h:
storeplan/storeplan.h:
storeplan/sp_insn.h:
