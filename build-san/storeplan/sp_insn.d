build-san/storeplan/sp_insn.o: storeplan/sp_insn.c storeplan/sp_insn.h \
 capture/capture.h base/base.h base/arena.h base/cleanup.h base/clock.h \
 base/err.h base/log.h base/map.h base/new_file.h base/vec.h \
 capture/cap_cpu.h decode/x86/zydis.h decode/x86/insn.h \
 storeplan/storeplan.h
storeplan/sp_insn.h:
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
decode/x86/zydis.h:
decode/x86/insn.h:
storeplan/storeplan.h:
