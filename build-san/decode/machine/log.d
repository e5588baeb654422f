build-san/decode/machine/log.o: decode/machine/log.c decode/machine/log.h \
 base/base.h base/arena.h base/cleanup.h base/clock.h base/err.h \
 base/log.h base/map.h base/new_file.h base/vec.h \
 decode/translator/slots.h decode/x86/insn.h capture/capture.h \
 capture/cap_cpu.h decode/x86/zydis.h
decode/machine/log.h:
base/base.h:
base/arena.h:
base/cleanup.h:
base/clock.h:
base/err.h:
base/log.h:
base/map.h:
base/new_file.h:
base/vec.h:
decode/translator/slots.h:
decode/x86/insn.h:
capture/capture.h:
capture/cap_cpu.h:
decode/x86/zydis.h:
