// Tapes: programs of instructions over registers of lanes, one lane a member. See tape.c.
#ifndef XLARUN_TAPE_H
#define XLARUN_TAPE_H

#include <stddef.h>
#include <stdint.h>

// The instructions in the order of graph/scalars/tape.go, and the words that follow each: o the register of a result, x
// one that is read, n a number.
#define XB_TAPE_OPS(OP) \
  OP(ADD, "oxx") OP(SUB, "oxx") OP(MUL, "oxx") OP(DIV, "oxx") OP(MIN, "oxx") OP(MAX, "oxx") \
  OP(NEG, "ox") OP(ABS, "ox") OP(SQRT, "ox") OP(SIN, "ox") OP(COS, "ox") \
  OP(LT, "oxx") OP(LE, "oxx") OP(EQ, "oxx") OP(AND, "oxx") OP(OR, "oxx") OP(NOT, "ox") OP(SELECT, "oxxx") \
  OP(FMA, "oxxx") OP(FMS, "oxxx") OP(FNMA, "oxxx") OP(DOT, "on") OP(MOVE, "ox") OP(TRUE, "o") OP(ROW, "onn") \
  OP(LOOP, "n") OP(NEXT, "") OP(WHILE, "xnn") OP(SKIP, "xn")
#define XB_TAPE_OP(name, words) XB_##name,
enum { XB_TAPE_OPS(XB_TAPE_OP) XB_TAPE_COUNT };

enum { XB_TAPE_HEAD = 3, XB_TAPE_DEPTH = 8 };  // words before the instructions; blocks in each other

// Vectors of members: row-major [members, width].
typedef struct {
  void *data;
  int64_t width;
} xb_tape_vector;

typedef struct {
  const int32_t *code, *outs;  // instructions, and the registers of results
  int64_t words;               // of instructions
  int64_t values, constants;   // registers
  const double *numbers;       // constants, then the rows of scans
  int64_t ins, results;        // vectors
  const xb_tape_vector *in, *out;
  int64_t members;
  const int64_t *which;  // their rows in the vectors
} xb_tape;

// A loop that runs.
typedef struct {
  const int32_t *start;
  int32_t trips, done;
} xb_tape_loop;

// Runs a tape for the first members, as many as a register has lanes, and returns how many. Memory for its registers
// and for narrower ones is aligned to 64 bytes.
typedef int64_t xb_tape_run(const xb_tape *, void *registers);

// By type, vectors of a register and instruction set.
#define XB_TAPE_RUNS(type, set) \
  xb_tape_##type##_run1_##set, xb_tape_##type##_run2_##set, xb_tape_##type##_run4_##set, xb_tape_##type##_run8_##set
extern xb_tape_run XB_TAPE_RUNS(f32, plain), XB_TAPE_RUNS(f64, plain);
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
extern xb_tape_run XB_TAPE_RUNS(f32, avx2), XB_TAPE_RUNS(f64, avx2);
extern xb_tape_run XB_TAPE_RUNS(f32, avx512), XB_TAPE_RUNS(f64, avx512);
#endif

#endif
