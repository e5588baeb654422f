build-san/decode/pt/show_forms.o: decode/pt/show_forms.c \
 decode/pt/show_int.h decode/pt/book.h base/base.h base/arena.h \
 base/cleanup.h base/clock.h base/err.h base/log.h base/map.h \
 base/new_file.h base/vec.h decode/x86/insn.h capture/capture.h \
 capture/cap_cpu.h decode/pt/image.h decode/pt/show.h decode/pt/decode.h \
 decode/pt/stream.h decode/pt/flow.h capture/perf_data.h
decode/pt/show_int.h:
decode/pt/book.h:
base/base.h:
base/arena.h:
base/cleanup.h:
base/clock.h:
base/err.h:
base/log.h:
base/map.h:
base/new_file.h:
base/vec.h:
decode/x86/insn.h:
capture/capture.h:
capture/cap_cpu.h:
decode/pt/image.h:
decode/pt/show.h:
decode/pt/decode.h:
decode/pt/stream.h:
decode/pt/flow.h:
capture/perf_data.h:
