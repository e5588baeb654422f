build-san/pt-collect/probes/stores.o: pt-collect/probes/stores.c \
 pt-collect/probes/stores.h pt-collect/log/writes.h base/base.h \
 base/arena.h base/cleanup.h base/clock.h base/err.h base/log.h \
 base/map.h base/new_file.h base/vec.h capture/capture.h \
 capture/cap_cpu.h pt-collect/probes/probes.h pt-collect/kernel/bpf.h \
 bpf/record.h pt-collect/log/log.h pt-collect/tracee/tracee.h \
 storeplan/storeplan.h decode/x86/zydis.h decode/x86/insn.h \
 storeplan/sp_insn.h
pt-collect/probes/stores.h:
pt-collect/log/writes.h:
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
pt-collect/probes/probes.h:
pt-collect/kernel/bpf.h:
bpf/record.h:
pt-collect/log/log.h:
pt-collect/tracee/tracee.h:
storeplan/storeplan.h:
decode/x86/zydis.h:
decode/x86/insn.h:
storeplan/sp_insn.h:
