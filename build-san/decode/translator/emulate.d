build-san/decode/translator/emulate.o: decode/translator/emulate.c \
 decode/translator/emulate.h decode/translator/engine.h base/base.h \
 base/arena.h base/cleanup.h base/clock.h base/err.h base/log.h \
 base/map.h base/new_file.h base/vec.h decode/translator/ctx.h \
 decode/translator/slots.h decode/x86/insn.h capture/capture.h \
 capture/cap_cpu.h decode/x86/zydis.h
decode/translator/emulate.h:
decode/translator/engine.h:
base/base.h:
base/arena.h:
base/cleanup.h:
base/clock.h:
base/err.h:
base/log.h:
base/map.h:
base/new_file.h:
base/vec.h:
decode/translator/ctx.h:
decode/translator/slots.h:
decode/x86/insn.h:
capture/capture.h:
capture/cap_cpu.h:
decode/x86/zydis.h:
