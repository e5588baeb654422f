build-san/heapgraph/hg_derive.o: heapgraph/hg_derive.c \
 heapgraph/hg_derive.h base/base.h base/arena.h base/cleanup.h \
 base/clock.h base/err.h base/log.h base/map.h base/new_file.h base/vec.h \
 decode/machine/trace.h decode/machine/machine.h capture/capture.h \
 capture/cap_cpu.h decode/x86/insn.h decode/translator/slots.h \
 heapgraph/hg_int.h heapgraph/heapgraph.h heapgraph/hg_index.h \
 heapgraph/hg_memory.h heapgraph/hg_pack.h decode/translator/emit.h \
 decode/translator/ctx.h decode/x86/zydis.h
heapgraph/hg_derive.h:
base/base.h:
base/arena.h:
base/cleanup.h:
base/clock.h:
base/err.h:
base/log.h:
base/map.h:
base/new_file.h:
base/vec.h:
decode/machine/trace.h:
decode/machine/machine.h:
capture/capture.h:
capture/cap_cpu.h:
decode/x86/insn.h:
decode/translator/slots.h:
heapgraph/hg_int.h:
heapgraph/heapgraph.h:
heapgraph/hg_index.h:
heapgraph/hg_memory.h:
heapgraph/hg_pack.h:
decode/translator/emit.h:
decode/translator/ctx.h:
decode/x86/zydis.h:
