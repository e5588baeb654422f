build-san/decode/machine/machine.o: decode/machine/machine.c \
 decode/machine/wire.h decode/machine/branch.h decode/machine/machine.h \
 capture/capture.h base/base.h base/arena.h base/cleanup.h base/clock.h \
 base/err.h base/log.h base/map.h base/new_file.h base/vec.h \
 capture/cap_cpu.h decode/x86/insn.h decode/translator/slots.h \
 decode/machine/child.h
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
