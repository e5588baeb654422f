build-san/heapgraph/hg_graph.o: heapgraph/hg_graph.c heapgraph/hg_int.h \
 heapgraph/heapgraph.h base/base.h base/arena.h base/cleanup.h \
 base/clock.h base/err.h base/log.h base/map.h base/new_file.h base/vec.h \
 heapgraph/hg_index.h heapgraph/hg_memory.h heapgraph/hg_pack.h
heapgraph/hg_int.h:
heapgraph/heapgraph.h:
base/base.h:
base/arena.h:
base/cleanup.h:
base/clock.h:
base/err.h:
base/log.h:
base/map.h:
base/new_file.h:
base/vec.h:
heapgraph/hg_index.h:
heapgraph/hg_memory.h:
heapgraph/hg_pack.h:
