#include "go_asm.h"
#include "textflag.h"

// func goroutineID() uint64
TEXT ·goroutineID(SB), NOSPLIT, $0-8
	MOVD g, R0
	MOVD R0, ret+0(FP)
	RET

// func returnAddresses(to *[stackDepth]uintptr)
TEXT ·returnAddresses(SB), NOSPLIT, $0-8
	MOVD to+0(FP), R0
	MOVD $const_stackDepth, R1
	MOVD 8(g), R2 // where the goroutine's stack ends
	SUB  $16, R2
	MOVD RSP, R3 // the last frame, whose record begins one word below its stack pointer
	SUB  $16, R3
	MOVD R29, R4 // the next one
next:
	CMP    R3, R4
	BLS    done
	CMP    R2, R4
	BHI    done
	MOVD   8(R4), R5
	MOVD.P R5, 8(R0)
	MOVD   R4, R3
	MOVD   (R4), R4
	SUBS   $1, R1
	BNE    next
done:
	RET
