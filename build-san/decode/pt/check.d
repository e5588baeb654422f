build-san/decode/pt/check.o: decode/pt/check.c decode/pt/check.h \
 base/base.h base/arena.h base/cleanup.h base/clock.h base/err.h \
 base/log.h base/map.h base/new_file.h base/vec.h decode/pt/stream.h \
 decode/pt/image.h capture/capture.h capture/cap_cpu.h decode/x86/insn.h \
 decode/machine/log.h decode/translator/slots.h decode/pt/runs.h \
 decode/pt/decode.h
decode/pt/check.h:
base/base.h:
base/arena.h:
base/cleanup.h:
base/clock.h:
base/err.h:
base/log.h:
base/map.h:
base/new_file.h:
base/vec.h:
decode/pt/stream.h:
decode/pt/image.h:
capture/capture.h:
capture/cap_cpu.h:
decode/x86/insn.h:
decode/machine/log.h:
decode/translator/slots.h:
decode/pt/runs.h:
decode/pt/decode.h:
