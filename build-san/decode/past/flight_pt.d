build-san/decode/past/flight_pt.o: decode/past/flight_pt.c \
 decode/past/flight_int.h decode/past/flight.h capture/capture.h \
 base/base.h base/arena.h base/cleanup.h base/clock.h base/err.h \
 base/log.h base/map.h base/new_file.h base/vec.h capture/cap_cpu.h \
 decode/history/heap.h decode/symbols/symbols.h decode/past/recover.h \
 decode/machine/trace.h decode/machine/machine.h decode/x86/insn.h \
 decode/translator/slots.h decode/pt/decode.h decode/pt/image.h \
 decode/pt/stream.h decode/pt/flow.h capture/perf_data.h
decode/past/flight_int.h:
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
decode/pt/decode.h:
decode/pt/image.h:
decode/pt/stream.h:
decode/pt/flow.h:
capture/perf_data.h:
