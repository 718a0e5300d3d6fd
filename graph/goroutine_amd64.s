#include "textflag.h"

// func goroutineID() uint64
TEXT ·goroutineID(SB), NOSPLIT, $0-8
	MOVQ (TLS), AX
	MOVQ AX, ret+0(FP)
	RET
