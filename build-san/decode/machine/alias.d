build-san/decode/machine/alias.o: decode/machine/alias.c \
 decode/machine/alias.h decode/machine/guest.h base/base.h base/arena.h \
 base/cleanup.h base/clock.h base/err.h base/log.h base/map.h \
 base/new_file.h base/vec.h capture/capture.h capture/cap_cpu.h \
 decode/translator/engine.h decode/translator/ctx.h \
 decode/translator/slots.h decode/x86/insn.h
decode/machine/alias.h:
decode/machine/guest.h:
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
decode/translator/engine.h:
decode/translator/ctx.h:
decode/translator/slots.h:
decode/x86/insn.h:
