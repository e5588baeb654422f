build-san/storeplan/sp_sites.o: storeplan/sp_sites.c \
 storeplan/sp_sites_int.h storeplan/sp_sites.h storeplan/sp_known.h \
 storeplan/sp_steps.h storeplan/sp_function.h storeplan/sp_image.h \
 base/base.h base/arena.h base/cleanup.h base/clock.h base/err.h \
 base/log.h base/map.h base/new_file.h base/vec.h storeplan/sp_insn.h \
 capture/capture.h capture/cap_cpu.h storeplan/storeplan.h \
 decode/x86/zydis.h decode/x86/insn.h
storeplan/sp_sites_int.h:
storeplan/sp_sites.h:
storeplan/sp_known.h:
storeplan/sp_steps.h:
storeplan/sp_function.h:
storeplan/sp_image.h:
base/base.h:
base/arena.h:
base/cleanup.h:
base/clock.h:
base/err.h:
base/log.h:
base/map.h:
base/new_file.h:
base/vec.h:
storeplan/sp_insn.h:
capture/capture.h:
capture/cap_cpu.h:
storeplan/storeplan.h:
decode/x86/zydis.h:
decode/x86/insn.h:
