/* The steps of loops that go through several operations of arithmetic with what lies between them in registers. */
#ifndef DUALGRAD_STEPS_H
#define DUALGRAD_STEPS_H

#include <string.h>

#include "loops.h"

/* The steps: the letter, how many operands it takes, whether the first of these is a boolean, what it does, and its result.
 *
 * What it does is an operation, and where it finds what the steps before it gave (a) and the operand that it takes (b); or an
 * operation "of" another step, which gives the other operand. */
#define STEPS(X) \
    X('l', 1, 0, "load", b) \
    X('b', 1, 1, "cast_b", ONE_AT(at_part)) \
    X('n', 0, 0, "negative a", -a) \
    X('Q', 0, 0, "square a, multiply aa", a * a) \
    X('2', 0, 0, "add aa", a + a) \
    X('i', 0, 0, "reciprocal a", (NUMBER)1 / a) \
    X('a', 0, 0, "absolute a", (VEC)((MASK)a & ~(MASK)-(VEC){0})) \
    X('g', 0, 0, "sign a", SELECTED(a != a, a, SELECTED(a > 0, (VEC){0} + 1, SELECTED(a < 0, (VEC){0} - 1, (VEC){0})))) \
    X('+', 1, 0, "add ab, add ba", a + b) \
    X('-', 1, 0, "subtract ab", a - b) \
    X('r', 1, 0, "subtract ba", b - a) \
    X('*', 1, 0, "multiply ab, multiply ba", a * b) \
    X('/', 1, 0, "divide ab", a / b) \
    X('q', 1, 0, "divide ba", b / a) \
    X('s', 1, 0, "scale ab", SCALED(a, b)) \
    X('t', 1, 0, "scale ba", SCALED(b, a)) \
    X('e', 1, 0, "either ab, either ba", EITHER(a, b)) \
    X('M', 1, 0, "larger ab", SELECTED((a > b) | (a != a), a, b)) \
    X('N', 1, 0, "larger ba", SELECTED((b > a) | (b != b), b, a)) \
    X('m', 1, 0, "smaller ab", SELECTED((a < b) | (a != a), a, b)) \
    X('o', 1, 0, "smaller ba", SELECTED((b < a) | (b != b), b, a)) \
    X('k', 1, 0, "kept ab", KEPT(a, b)) \
    X('K', 1, 0, "kept ba", KEPT(b, a)) \
    X('X', 2, 1, "select ab", SELECTED(TRUE_AT(at_part), a, c)) \
    X('Y', 2, 1, "select ba", SELECTED(TRUE_AT(at_part), c, a)) \
    X('A', 2, 0, "+ of *", a + b * c) \
    X('B', 2, 0, "- of *", a - b * c) \
    X('C', 2, 0, "r of *", b * c - a) \
    X('D', 2, 0, "+ of s", a + SCALED(b, c)) \
    X('E', 2, 0, "- of s", a - SCALED(b, c)) \
    X('F', 2, 0, "r of s", SCALED(b, c) - a) \
    X('G', 1, 0, "s of 2", SCALED(a, b + b)) \
    X('H', 1, 0, "s of i", SCALED(a, (NUMBER)1 / b)) \
    X('I', 1, 1, "s of b", SCALED(a, ONE_AT(at_part))) \
    X('J', 1, 1, "e of b", EITHER(a, ONE_AT(at_part)))

#if defined(__GNUC__)
#define INLINED static inline __attribute__((always_inline))

#define TAKES(LETTER, COUNT, BOOLEAN, MEANING, RESULT) [LETTER] = 1 + (COUNT),
#define BOOLEANS(LETTER, COUNT, BOOLEAN, MEANING, RESULT) [LETTER] = BOOLEAN,
/* How many operands a letter takes, and one more; 0 if it is none. */
static const signed char takes[256] = {STEPS(TAKES)}, booleans[256] = {STEPS(BOOLEANS)};
#define TAKEN(LETTER) (takes[(unsigned char)(LETTER)] - 1)
#define FIRST_IS_BOOLEAN(LETTER) (booleans[(unsigned char)(LETTER)])

/* CAN_BE says of how many operands, and whether the first of them may be a boolean, a step can be where it is compiled.
 *
 * An array of vectors would be kept in memory. The operands of part I are FIRST(I) and SECOND(I), booleans at TRUTH(I). */
#define PART(I, RESULT) \
    if (I < count) { \
        const VEC a = x##I, b = FIRST(I), c = SECOND(I); \
        enum { at_part = I }; \
        x##I = RESULT; \
        (void)a, (void)b, (void)c; \
    }
#define EACH(RESULT) \
    PART(0, RESULT) PART(1, RESULT) PART(2, RESULT) PART(3, RESULT) PART(4, RESULT) PART(5, RESULT) PART(6, RESULT) PART(7, RESULT) \
    PART(8, RESULT) PART(9, RESULT) PART(10, RESULT) PART(11, RESULT) PART(12, RESULT) PART(13, RESULT) PART(14, RESULT) PART(15, RESULT)
#define CASE(LETTER, COUNT, BOOLEAN, MEANING, RESULT) \
    case LETTER: \
        if (CAN_BE(COUNT, BOOLEAN)) { \
            EACH(RESULT) \
        } \
        break;
#define VEC_AT(PLACE) \
    ({ \
        VEC there; \
        memcpy(&there, PLACE, bytes); \
        there; \
    })
#define STORE(I) \
    if (I < count) { \
        memcpy(out + I * bytes, &x##I, bytes); \
    }
/* the product with a partial derivative is zero where the cotangent is, and the product is no number */
#define SCALED(CT, PARTIAL) \
    ({ \
        VEC product = (CT) * (PARTIAL); \
        ONCE(product); \
        (VEC)((MASK)product & ~((product != product) & ((CT) == 0))); \
    })
/* and where either of them is zero */
#define EITHER(X, Y) \
    ({ \
        const VEC other = (Y); \
        VEC product = (X) * other; \
        ONCE(product); \
        (VEC)((MASK)product & ~((product != product) & (((X) == 0) | (other == 0)))); \
    })
/* what is no number is zero where nobody chose it */
#define KEPT(X, CHOSEN) ((VEC)((MASK)(X) & ~(((X) != (X)) & ((CHOSEN) == 0))))
#if defined(__x86_64__)
#define ONCE(X) __asm__("" : "+v"(X)) /* else it is computed once to be looked at, and again to be kept */
#else
#define ONCE(X) (void)0
#endif

#define SELECTED(CONDITION, X, Y) ((VEC)(((MASK)(X) & (CONDITION)) | ((MASK)(Y) & ~(CONDITION))))
/* Booleans as the mask of a vector, widened step by step: compilers take single elements for more than that. */
#define TRUE_AT(I) \
    ({ \
        BYTE_EACH some; \
        memcpy(&some, TRUTH(I), lanes); \
        __builtin_convertvector(__builtin_convertvector(__builtin_convertvector(some, SHORT_EACH), INT_EACH), MASK) != 0; \
    })
#define ONE_AT(I) SELECTED(TRUE_AT(I), (VEC){0} + 1, (VEC){0})

/* The loop for one line, of one for many. */
#define ONE_LINE(NAME, LINES) \
    static void NAME(char **args, npy_intp const *dimensions, npy_intp const *by, void *data) \
    { \
        static const npy_intp far[MAX_OPERANDS] = {0}; \
        LINES(args, dimensions, by, 1, far, data); \
    }

#if defined(__x86_64__)
#define AVX2 __attribute__((target("avx2")))
#define AVX512 __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl")))
#define HAS_AVX512 (__builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
/* Of machines with wide registers; others do without these loops, with the same results. */
#define CHOSEN(NAME) (HAS_AVX512 ? NAME##64 : NAME##32)
/* One type for one width of registers: vectors are made of what the machine has where they are compiled. */
#define FOR_EACH_WIDTH(X) \
    X(f, npy_float, npy_int32, 64, AVX512) \
    X(d, npy_double, npy_int64, 64, AVX512) \
    X(f, npy_float, npy_int32, 32, AVX2) \
    X(d, npy_double, npy_int64, 32, AVX2)
#define HAS_STEPS __builtin_cpu_supports("avx2")
#else
#define HAS_STEPS 1
#define CHOSEN(NAME) NAME##16
#define FOR_EACH_WIDTH(X) \
    X(f, npy_float, npy_int32, 16, ) \
    X(d, npy_double, npy_int64, 16, )
#endif
#endif
#endif
