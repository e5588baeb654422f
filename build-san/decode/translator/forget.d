build-san/decode/translator/forget.o: decode/translator/forget.c \
 decode/translator/emit.h decode/translator/ctx.h decode/x86/insn.h \
 capture/capture.h base/base.h base/arena.h base/cleanup.h base/clock.h \
 base/err.h base/log.h base/map.h base/new_file.h base/vec.h \
 capture/cap_cpu.h decode/translator/emulate.h decode/translator/engine.h \
 decode/translator/slots.h
decode/translator/emit.h:
decode/translator/ctx.h:
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
decode/translator/emulate.h:
decode/translator/engine.h:
decode/translator/slots.h:
