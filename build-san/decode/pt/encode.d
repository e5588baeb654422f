build-san/decode/pt/encode.o: decode/pt/encode.c decode/pt/encode.h \
 base/base.h base/arena.h base/cleanup.h base/clock.h base/err.h \
 base/log.h base/map.h base/new_file.h base/vec.h capture/capture.h \
 capture/cap_cpu.h decode/machine/log.h decode/translator/slots.h \
 decode/x86/insn.h decode/pt/encode_int.h decode/x86/zydis.h
decode/pt/encode.h:
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
decode/machine/log.h:
decode/translator/slots.h:
decode/x86/insn.h:
decode/pt/encode_int.h:
decode/x86/zydis.h:
