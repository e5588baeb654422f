build-san/heapgraph/hg_heads.o: heapgraph/hg_heads.c \
 heapgraph/hg_pieces_int.h heapgraph/hg_forest.h base/base.h base/arena.h \
 base/cleanup.h base/clock.h base/err.h base/log.h base/map.h \
 base/new_file.h base/vec.h heapgraph/hg_index.h heapgraph/hg_pieces.h \
 heapgraph/hg_plan.h
heapgraph/hg_pieces_int.h:
heapgraph/hg_forest.h:
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
heapgraph/hg_pieces.h:
heapgraph/hg_plan.h:
