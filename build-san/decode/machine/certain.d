build-san/decode/machine/certain.o: decode/machine/certain.c \
 decode/machine/certain.h decode/machine/replay.h capture/capture.h \
 base/base.h base/arena.h base/cleanup.h base/clock.h base/err.h \
 base/log.h base/map.h base/new_file.h base/vec.h capture/cap_cpu.h \
 decode/translator/engine.h decode/translator/ctx.h \
 decode/translator/slots.h decode/x86/insn.h decode/machine/guest.h \
 decode/machine/output.h decode/machine/interrupts.h \
 decode/machine/machine.h decode/machine/alias.h decode/machine/threads.h \
 decode/translator/touch.h
decode/machine/certain.h:
decode/machine/replay.h:
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
decode/translator/ctx.h:
decode/translator/slots.h:
decode/x86/insn.h:
decode/machine/guest.h:
decode/machine/output.h:
decode/machine/interrupts.h:
decode/machine/machine.h:
decode/machine/alias.h:
decode/machine/threads.h:
decode/translator/touch.h:
