build-san/bpf/record.bpf.o: bpf/record.bpf.c build-san/bpf/vmlinux.h \
  bpf/record.h bpf/record_calls.h bpf/record_ring.h bpf/record_probes.h \
  bpf/record_threads.h

build-san/bpf/vmlinux.h:

bpf/record.h:

bpf/record_calls.h:

bpf/record_ring.h:

bpf/record_probes.h:

bpf/record_threads.h:
