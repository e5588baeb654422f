/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Copyright 2026 The Faultline authors */

/**
 * @file
 * What record.bpf.c and pt-collect/ say to each other: the records in the ring, and the
 * descriptors by which the kernel side knows what memory a system call writes. Needs
 * __u8..__u64 from the includer (vmlinux.h or linux/types.h).
 *
 * One system call is zero or more REC_CHUNKs of its thread, then one REC_SYSCALL.
 */
#ifndef BPF_RECORD_H
#define BPF_RECORD_H

#define REC_RING_BYTES (8u << 20) /* each MiB costs 0.2 ms at the start */
#define REC_WAKE_BYTES (1u << 20) /* user space is woken once per so many bytes */
#define REC_BELL_BYTES 4096u	  /* of the map that wakes it: a page */
#define REC_INLINE_MAX 32768u	  /* memory bytes inside a rec_syscall */
#define REC_CHUNK_MAX 32768u	  /* memory bytes inside a rec_chunk */
/* Behind the ring's end; and claimed at most so much less than there is, for those who claim at
 * the same time (the most that they can: above 3/4 there is no memory in records). */
#define REC_RING_SPARE (64u << 10)
#define REC_EVENT_MAX (1u << 20) /* more memory than this is read by user space */
#define REC_SYSCALLS 512	 /* numbers from here on are not listed */
#define REC_OUTS 5

/* What calls that we have a recorded thread make have as sixth argument, which they ignore. */
#define REC_OURS 0x6972656b61656874ull

/* Stand in instructions for numbers of the kernel's, until it is loaded: of a call, and of a type (record_pages.h). */
#define REC_CAST_CALL 0x7a570001
#define REC_CAST_TYPE 0x7a570002
#define REC_PROOFS \
	4u /* times that both ways to memory give the same, before one is taken */

enum rec_kind {
	REC_SYSCALL = 1,
	REC_CHUNK,
	REC_HEAP,
	REC_SWITCH,
	REC_CHANCE,
	REC_HEAP_DONE,
	REC_TRIGGER,
	REC_STORE,
	REC_VSYSCALL, /* a rec_head alone: the page of old answers a call */
	REC_OTHERS,
};

enum rec_flags {
	REC_UNLISTED = 1 << 0, /* no descriptor: what it wrote is not known */
	REC_REREAD = 1 << 1,   /* the target is stopping: user space reads all outputs */
	REC_STOPPING = 1 << 2, /* SIGSTOP is on its way, for whatever reason */
	REC_MAPPED_FILE = 1 << 3, /* mmap of a descriptor succeeded; stopping */
	REC_CHOSE_CPUS = 1 << 4,  /* sched_setaffinity succeeded; stopping */
	/* SIGCONT was pending, for the thread or the process: our SIGSTOP discards it. */
	REC_DROPS_CONT = 1 << 5,
	REC_DROPS_SHARED_CONT = 1 << 6,
	REC_THROUGH_FILE =
		1 << 7, /* memory or mappings changed: record_files.h; stopping */
	REC_WRITTEN_FILE = 1 << 8, /* the mapped file is open for writing */
	REC_SEGV_BLOCKED = 1 << 9, /* of USE_MASK: SIGSEGV is blocked behind it */
	REC_SEE_SHARED = 1 << 10,  /* others write memory of the program; stopping */
	REC_OTHER_WAITS = 1 << 12, /* whose memory the call wrote slept just then */
	REC_32_BIT = 1 << 11,	   /* by int 0x80: numbers of other calls; unlisted */
	REC_MADE_CODE = 1 << 13,   /* of REC_WATCHES_CODE: memory became code; stopping */
};

struct rec_head {
	__u32 kind; /* enum rec_kind */
	__u32 tgid, tid;
	/* REC_SYSCALL: by which number it is listed: restart_syscall is that call again. */
	__u32 listed_as;
	__u64 at_ns;
};

/* What comes before each record in the ring. */
struct rec_frame {
	__u64 mark; /* REC_MARK() once the record is whole */
	__u64 size; /* of the record, which follows, padded to 8 */
};

/*
 * Where the records are: memory that both sides see. A record at position p (bytes since the
 * beginning) is at data[p % REC_RING_BYTES], in one piece: behind the ring's end there is room
 * for the longest. Whoever writes one adds its size to claimed, fills its place, then marks it.
 * What lies in a place from the last time round is no mark: that depends on the position, and
 * on a number that nobody else knows.
 *
 * The kernel's own ring buffer does the same for more than twice the time: by a function that
 * takes a lock, out of memory that was filled before.
 */
struct rec_ring {
	__u64 claimed;	/* bytes; written by the kernel side */
	__u64 pad[7];	/* a cache line each */
	__u64 consumed; /* by user space, now and then */
	__u64 pad_too[7];
	__u64 secret;
	__u64 pad_three[7];
	__u8 data[REC_RING_BYTES + REC_RING_SPARE];
};

#define REC_MARK(secret, position) ((position) ^ (secret))

/* Bytes that a record of @size takes. */
#define REC_FRAMED(size) (sizeof(struct rec_frame) + (((size) + 7) & ~7ull))

/* What both sides know of each task: a byte for every number that PID_MAX_LIMIT allows. */
#define REC_TASKS (1u << 22)

enum rec_process_bits {
	REC_RECORDED = 1 << 0,
	REC_THREADED = 1 << 1,	/* it is in last_threads */
	REC_IN_FLIGHT = 1 << 2, /* the flight recorder's: allocator calls only */
	REC_MAPPING = 1 << 3,	/* it has mapped files that do not stay as they are */
	REC_WRITING =
		1 << 4, /* and one is open for writing, or its memory is, as a file */
	REC_SHARING = 1 << 5, /* others write its memory: REC_SEE_SHARED for each call */
	REC_JOINED =
		1 << 6, /* it takes turns with those that share its memory; THREADED */
	REC_WATCHES_CODE = 1 << 7, /* its rdtscs may be probed, instead of trapping */
};

/* What user space writes but for the states of threads whose process is recorded. */
struct rec_tasks {
	__u8 process[REC_TASKS]; /* enum rec_process_bits */
	__u8 call[REC_TASKS];	 /* by thread: enum rec_call_state */
};

/* The same layout as struct cap_regs. */
struct rec_regs {
	__u64 gpr[16];
	__u64 rip, rflags;
	__u64 fs_base, gs_base;
};

struct rec_syscall {
	struct rec_head head;
	__s64 nr; /* -1: rt_sigreturn, whose entry registers are gone */
	__s64 ret;
	struct rec_regs regs;
	__u32 flags;
	__u32 inline_bytes; /* of rec_parts that follow */
};

/* Memory inside a rec_syscall; the bytes follow, padded to 8. */
struct rec_part {
	__u64 addr;
	__u64 size;
};

struct rec_chunk {
	struct rec_head head;
	__u64 addr;
	__u64 size; /* bytes that follow */
};

/* The cookie of a probe on an instruction whose result is not the program's own. */
enum rec_chance_insn {
	REC_CHANCE_RANDOM, /* rdrand, rdseed, rdpid */
	REC_CHANCE_CPUID,
	REC_CHANCE_BEFORE_CPUID, /* the one before it: the thread stops at cpuid */
	REC_CHANCE_TSC,
	REC_CHANCE_TSCP,
	/* What is behind rdtsc or rdtscp, and reached from there alone: nothing stops. */
	REC_CHANCE_BEHIND_TSC,
	REC_CHANCE_BEHIND_TSCP,
	REC_CHANCES
};

/* Such an instruction is about to be executed; the thread stops behind it, or has executed rdtsc. */
struct rec_chance {
	struct rec_head head;
	__u64 rip, sp;
	__u64 insn;   /* enum rec_chance_insn */
	__u64 gpr[4]; /* rax, rcx, rdx, rbx */
};

/* An allocator function was entered; or returned, then args[0] is its result. */
struct rec_heap {
	struct rec_head head;
	__u64 fn;
	__u64 args[3];
	__u64 rip, sp;
	__u64 return_to; /* REC_IN_FLIGHT, at entry: what sp points to */
};

/* The function of --trigger was entered; the thread is stopping. */
struct rec_trigger {
	struct rec_head head;
	__u64 rip;
};

/* Process head.tgid, which is not recorded, has written memory of another process, or may do so
 * from now on. */
struct rec_others {
	struct rec_head head;
	__u32 pid;   /* whose memory, or a thread of it */
	__u32 level; /* of the name space in which that is its number; 0: the first */
	__u64 nr;    /* the call */
};

/* A store probe was hit. The memory that it reads comes before it, in REC_CHUNKs. */
struct rec_store {
	struct rec_head head;
	__u64 rip;
	__u64 site; /* the cookie */
	__u64 gpr[16];
};

#define REC_STORE_SITES (1u << 18)	    /* at most */
#define REC_STORE_READS_MEMORY (1ull << 32) /* in the cookie: it is in store_sites */
#define REC_STORE_READS 4
#define REC_STORE_READ_MAX 64u /* bytes of one */
#define REC_NO_GPR 255

enum rec_store_read_flags {
	REC_READ_RIP = 1 << 0, /* the address is relative to the probed instruction */
	REC_READ_FS = 1 << 1,  /* to the thread's fs base */
};

/* Memory that a store probe reads: base + index * scale + disp. */
struct rec_store_read {
	__u8 base, index; /* general register or REC_NO_GPR */
	__u8 scale, flags;
	__u32 size; /* 0: none */
	__s64 disp;
};

struct rec_store_site {
	struct rec_store_read reads[REC_STORE_READS];
};

/* The same layout as struct cap_signature. */
struct rec_signature {
	__u64 stack_hash, pointer_hash;
	__u32 stack_bytes, pointers;
};

/* As enum cap_switch_flags. */
enum rec_switch_flags {
	REC_SWITCH_IN_CALL = 1 << 0,
	REC_SWITCH_TID_CLEARED = 1 << 1,
	REC_SWITCH_ROBUST_LEFT = 1 << 2,
	REC_SWITCH_TURN = 1 << 3,
	/* Not of those: rip is behind a breakpoint, which the thread has just hit, or whose
	 * instruction of one byte it has executed. */
	REC_SWITCH_BEHIND_INT3 = 1 << 8,
};

/* Of a thread. */
enum rec_call_state {
	REC_CALL_NONE,
	REC_CALL_INSIDE, /* between sys_enter and sys_exit */
	REC_CALL_ENOSYS, /* it is behind one that ended in -ENOSYS */
	/* Never again: it ends, and what that does to memory is done and told. It does not
	 * matter any more when it runs. */
	REC_CALL_GONE,
};

/* Thread head.tid of the process ran until now and stands at regs; next_tid runs now. */
struct rec_switch {
	struct rec_head head;
	struct rec_regs regs;
	struct rec_signature signature;
	__u32 next_tid; /* as long as it runs, for the kernel side; 0: nobody does */
	__u32 flags;	/* enum rec_switch_flags */
	__u64 out_ns;	/* when head.tid lost the CPU */
	__u32 status; /* REC_SWITCH_TID_CLEARED: what head.tid ended with, as for wait(2) */
	/* What the call that it is in has written before it began to wait; 0: it does not. */
	__u32 word;
	__u64 word_at;
};

#define REC_PROCESSES 4096 /* with threads, at a time */

/* ---- descriptors ---------------------------------------------------------------- */

enum rec_out_kind {
	OUT_END,
	OUT_FIXED,     /* size bytes at arg */
	OUT_RET,       /* min(ret, args[count]) * size bytes at arg */
	OUT_ARG_TIMES, /* args[count] * size bytes at arg */
	OUT_VALUE,     /* *(u32 *)args[count] bytes at arg, at most size */
	OUT_RET_PLUS,  /* ret + size bytes at arg; ret is at most args[count] */
	OUT_BITS,      /* an fd_set of args[count] bits at arg */
	OUT_PAGES,     /* a byte for each page of args[count] bytes at arg */
	OUT_CLONE3,    /* what the struct clone_args at arg points to */
	OUT_UNKNOWN,   /* nobody knows, if args[arg] << 16 | args[count] is size */
	/* From here on user space reads them, while the target is stopped: */
	OUT_IOVEC,    /* ret bytes into the args[count] iovecs at arg */
	OUT_MSGHDR,   /* recvmsg: ret bytes, name, control and the header itself */
	OUT_MMSGHDR,  /* recvmmsg: ret of them */
	OUT_COUNTERS, /* setsockopt: what the old table of netfilter's has counted */
	OUT_SOME,     /* at most size bytes at arg, as far as there is memory */
	OUT_POINTERS, /* pt-collect/inputs/pointers.c knows */
	OUT_KINDS
};

enum rec_out_flags {
	OUT_ALWAYS = 1 << 0, /* written even when the call fails */
	OUT_MAYBE = 1 << 1,  /* not readable = not written */
};

struct rec_out {
	__u8 kind; /* enum rec_out_kind */
	__u8 arg;
	__u8 count;
	__u8 flags; /* enum rec_out_flags */
	__u32 size;
};

enum rec_desc_state { DESC_UNLISTED, DESC_LISTED, DESC_BY_COMMAND };

enum rec_desc_flags {
	DESC_MMAP = 1 << 0,  /* stop when a file was mapped */
	DESC_IOCTL = 1 << 1, /* an unlisted command says its size itself */
	/* Its only output, if any, is out[0]: OUT_FIXED or OUT_RET, without flags; and user
	 * space need not see anything at its end. */
	DESC_PLAIN = 1 << 2,
};

/* What files have to do with a call that may change memory without being given its address. */
enum rec_file_use {
	USE_NONE,
	USE_WRITE0,  /* writes to the file that is args[0], or changes its size */
	USE_WRITE2,  /* writes to the file that is args[2] */
	USE_PATH,    /* changes the size of a file of that name */
	USE_CREAT,   /* opens one, and empties it */
	USE_OPEN1,   /* opens one, with flags args[1] */
	USE_OPEN2,   /* opens one, with flags args[2] */
	USE_PROTECT, /* mprotect: may fail half done */
	USE_ADVISE,  /* madvise */
	USE_MOVE,    /* mremap */
	USE_TRUTH,   /* not a file's: it tells of the recorder */
	USE_TRACE,   /* nor this: who wants to trace is refused where the recorder does */
	USE_ACTION,  /* rt_sigaction: what becomes of SIGSEGV? */
	USE_MASK,    /* blocks signals, or not any more */
};

struct rec_desc {
	__u8 state;   /* enum rec_desc_state */
	__u8 command; /* DESC_BY_COMMAND: the argument that chooses */
	__u8 flags;   /* enum rec_desc_flags */
	__u8 use;     /* enum rec_file_use */
	struct rec_out out[REC_OUTS];
};

/* Key of the map of command descriptors. */
#define REC_COMMAND_KEY(nr, command) ((__u64)(nr) << 32 | (__u32)(command))
/* And of a type of ioctl commands that say their size. */
#define REC_TYPE_KEY(type) (1ull << 63 | (__u32)(type))
#define REC_COMMANDS 1024

_Static_assert(sizeof(struct rec_regs) == 160, "layout");
_Static_assert(sizeof(struct rec_syscall) == 208, "layout");
_Static_assert(sizeof(struct rec_chunk) == 40, "layout");
_Static_assert(REC_FRAMED(sizeof(struct rec_syscall) + REC_INLINE_MAX) <= REC_RING_SPARE,
	       "room for the longest");
_Static_assert(sizeof(struct rec_heap) == 80, "layout");
_Static_assert(sizeof(struct rec_chance) == 80, "layout");
_Static_assert(sizeof(struct rec_store) == 168, "layout");
_Static_assert(sizeof(struct rec_store_site) == 64, "layout");
_Static_assert(sizeof(struct rec_signature) == 24, "layout");
_Static_assert(sizeof(struct rec_switch) == 240, "layout");
_Static_assert(sizeof(struct rec_desc) == 44, "layout");

#endif
