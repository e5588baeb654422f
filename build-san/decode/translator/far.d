build-san/decode/translator/far.o: decode/translator/far.c \
 decode/translator/translation.h decode/translator/emit.h \
 decode/translator/ctx.h decode/x86/insn.h capture/capture.h base/base.h \
 base/arena.h base/cleanup.h base/clock.h base/err.h base/log.h \
 base/map.h base/new_file.h base/vec.h capture/cap_cpu.h \
 decode/translator/engine.h decode/translator/slots.h
decode/translator/translation.h:
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
decode/translator/engine.h:
decode/translator/slots.h:
