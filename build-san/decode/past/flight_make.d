build-san/decode/past/flight_make.o: decode/past/flight_make.c \
 decode/past/flight.h capture/capture.h base/base.h base/arena.h \
 base/cleanup.h base/clock.h base/err.h base/log.h base/map.h \
 base/new_file.h base/vec.h capture/cap_cpu.h decode/history/heap.h \
 decode/symbols/symbols.h decode/past/recover.h decode/machine/trace.h \
 decode/machine/machine.h decode/x86/insn.h decode/translator/slots.h \
 decode/pt/from_capture.h
decode/past/flight.h:
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
decode/history/heap.h:
decode/symbols/symbols.h:
decode/past/recover.h:
decode/machine/trace.h:
decode/machine/machine.h:
decode/x86/insn.h:
decode/translator/slots.h:
decode/pt/from_capture.h:
