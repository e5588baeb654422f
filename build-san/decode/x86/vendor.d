build-san/decode/x86/vendor.o: decode/x86/vendor.c decode/x86/vendor.h \
 decode/x86/insn.h capture/capture.h base/base.h base/arena.h \
 base/cleanup.h base/clock.h base/err.h base/log.h base/map.h \
 base/new_file.h base/vec.h capture/cap_cpu.h decode/x86/zydis.h
decode/x86/vendor.h:
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
decode/x86/zydis.h:
