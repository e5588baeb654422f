build-san/decode/machine/trace.o: decode/machine/trace.c \
 decode/machine/trace.h decode/machine/machine.h capture/capture.h \
 base/base.h base/arena.h base/cleanup.h base/clock.h base/err.h \
 base/log.h base/map.h base/new_file.h base/vec.h capture/cap_cpu.h \
 decode/x86/insn.h decode/translator/slots.h decode/machine/log.h \
 decode/x86/zydis.h
decode/machine/trace.h:
decode/machine/machine.h:
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
decode/x86/insn.h:
decode/translator/slots.h:
decode/machine/log.h:
decode/x86/zydis.h:
