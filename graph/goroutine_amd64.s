#include "go_asm.h"
#include "textflag.h"

// func goroutineID() uint64
TEXT ·goroutineID(SB), NOSPLIT, $0-8
	MOVQ (TLS), AX
	MOVQ AX, ret+0(FP)
	RET

// func returnAddresses(to *[stackDepth]uintptr)
TEXT ·returnAddresses(SB), NOSPLIT, $0-8
	MOVQ to+0(FP), DI
	MOVQ $const_stackDepth, CX
	MOVQ (TLS), AX
	MOVQ 8(AX), BX // where the goroutine's stack ends
	SUBQ $16, BX
	MOVQ SP, DX // the last frame
	MOVQ BP, SI // the next one
next:
	CMPQ SI, DX
	JLS  done
	CMPQ SI, BX
	JHI  done
	MOVQ 8(SI), AX
	MOVQ AX, (DI)
	MOVQ SI, DX
	MOVQ (SI), SI
	ADDQ $8, DI
	DECQ CX
	JNZ  next
done:
	RET
