build-san/pt-collect/pt/ring.o: pt-collect/pt/ring.c pt-collect/pt/ring.h
pt-collect/pt/ring.h:
