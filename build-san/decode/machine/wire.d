build-san/decode/machine/wire.o: decode/machine/wire.c \
 decode/machine/wire.h decode/machine/branch.h decode/machine/machine.h \
 capture/capture.h base/base.h base/arena.h base/cleanup.h base/clock.h \
 base/err.h base/log.h base/map.h base/new_file.h base/vec.h \
 capture/cap_cpu.h decode/x86/insn.h decode/translator/slots.h \
 decode/machine/child.h confine/confine.h decode/machine/interrupts.h
decode/machine/wire.h:
decode/machine/branch.h:
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
decode/machine/child.h:
confine/confine.h:
decode/machine/interrupts.h:
