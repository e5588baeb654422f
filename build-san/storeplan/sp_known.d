build-san/storeplan/sp_known.o: storeplan/sp_known.c storeplan/sp_known.h \
 storeplan/sp_steps.h storeplan/sp_function.h storeplan/sp_image.h \
 base/base.h base/arena.h base/cleanup.h base/clock.h base/err.h \
 base/log.h base/map.h base/new_file.h base/vec.h storeplan/sp_insn.h \
 capture/capture.h capture/cap_cpu.h
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
