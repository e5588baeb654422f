build-san/decode/translator/ctx.o: decode/translator/ctx.c \
 decode/translator/ctx.h
decode/translator/ctx.h:
