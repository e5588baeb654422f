build-san/decode/past/recover_set.o: decode/past/recover_set.c \
 decode/past/recover_set.h
decode/past/recover_set.h:
