build-san/decode/machine/output.o: decode/machine/output.c \
 decode/machine/output.h base/vec.h base/err.h capture/capture.h \
 base/base.h base/arena.h base/cleanup.h base/clock.h base/log.h \
 base/map.h base/new_file.h capture/cap_cpu.h decode/machine/guest.h \
 decode/translator/engine.h decode/translator/ctx.h \
 decode/translator/slots.h decode/x86/insn.h
decode/machine/output.h:
base/vec.h:
base/err.h:
capture/capture.h:
base/base.h:
base/arena.h:
base/cleanup.h:
base/clock.h:
base/log.h:
base/map.h:
base/new_file.h:
capture/cap_cpu.h:
decode/machine/guest.h:
decode/translator/engine.h:
decode/translator/ctx.h:
decode/translator/slots.h:
decode/x86/insn.h:
