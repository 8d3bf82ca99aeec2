/* The elementary functions as NumPy's ufuncs: their steps are written by c_source.py, for each width of vectors.
 *
 * No step is fused with another, none looks into a table, and all elements of a vector take the same steps: so the bits are the
 * same for every width, and on every machine that rounds as IEEE says. What a step meets on the way (an infinity that is not
 * chosen) is nobody's business: the processor's flags are put back, and what is to be said follows from operands and results. */
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <Python.h>
#include <fenv.h>
#include <math.h>
#include <string.h>
#include <numpy/arrayobject.h>
#include <numpy/ufuncobject.h>

#include "../built_from.h"

#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wunused-variable" /* of a step with two results one may do */
#pragma GCC diagnostic ignored "-Wpsabi"
#endif

#define INLINE static inline __attribute__((always_inline))
#define MOST_LANES 8
#define WAYS 2 /* vectors side by side, as c_source.py writes the steps */
#define FEW 64 /* elements at a time where they lie with gaps */

/* What may have to be said of a function's results. */
typedef struct {
    int has_pole;
    double least, most; /* results beyond these underflow, overflow */
} Limits;

/* The exceptions that numbers and their results call for. */
static __attribute__((noinline)) int complaints(const double *x, const double *y, const double *out, int count, const Limits *limits)
{
    int raised = 0;
    for (int i = 0; i < count; i++) {
        const double a = x[i], b = y[i], size = fabs(out[i]);
        if (isnan(a) || isnan(b)) {
            continue;
        }
        if (isnan(size)) {
            raised |= FE_INVALID;
        }
        else if (size > limits->most) {
            const int endless = isinf(a) || isinf(b);
            raised |= limits->has_pole && (a == 0 || (a == b && !endless)) ? FE_DIVBYZERO : endless ? 0 : FE_OVERFLOW;
        }
        else if (size < limits->least) {
            raised |= isinf(a) || isinf(b) ? 0 : FE_UNDERFLOW;
        }
    }
    return raised;
}

typedef int Kernel(char *const *args, npy_intp count, const Limits *limits);

/* In double precision what a function of single precision does not do, of a few numbers. */
static __attribute__((noinline)) int widely(
    Kernel *kernel, int operands, const float *xs, const float *ys, const npy_int32 *odd, float *outs, int count, const Limits *limits)
{
    double some[3][2 * MOST_LANES * WAYS];
    char *args[3] = {(char *)some[0], (char *)some[operands - 1], (char *)some[2]};
    int places[2 * MOST_LANES * WAYS], found = 0;
    for (int i = 0; i < count; i++) {
        places[found] = i;
        found += odd[i] != 0;
    }
    for (int i = 0; i < count; i++) {
        const int place = places[i < found ? i : 0];
        some[0][i] = xs[place];
        some[1][i] = ys[place];
    }
    args[operands] = (char *)some[2];
    const int half = count / 2;
    const Limits none = {0, 0, INFINITY};
    kernel(args, found > half ? count : half, &none);
    for (int i = 0; i < found; i++) {
        outs[places[i]] = (float)some[2][i];
        some[2][i] = outs[places[i]];
    }
    return complaints(some[0], some[1], some[2], found, limits);
}

/* Names of a width of vectors, and of their elements: d or f. */
#define PASTED(NAME, KIND, BYTES) NAME##_##KIND##_##BYTES
#define PASTE(NAME, KIND, BYTES) PASTED(NAME, KIND, BYTES)
#define NAMED(NAME) PASTE(NAME, KIND, BYTES)
#define KERNEL(NAME, T) PASTE(all_##NAME, T, BYTES)
#define V NAMED(Numbers)
#define U NAMED(Bits)
#define M NAMED(Masks)
#define SELECT NAMED(select)
#define LARGER NAMED(larger)
#define SMALLER NAMED(smaller)
#define ROOT NAMED(root)
#define ANY NAMED(any)
#define LANES ((int)(BYTES / sizeof((V){0}[0])))
#define NUMBER(X) ((V){0} + (X))
#define BITS(X) ((U){0} + (X##u))
#define INLINED TARGET INLINE
#define RARE TARGET static __attribute__((noinline))

/* Whether results of a function that may underflow have to be looked at, or only those that are not finite. */
#define ODD(OUT) ((M)((OUT) - (OUT) != NUMBER(0)))
#define ODD_OR_SMALL(OUT) (ODD(OUT) | ((M)((V)((U)(OUT) & BITS(0x7fffffffffffffff)) < least)))

#define LOAD_d(PLACE) (*(const Loose_d *)(PLACE))
/* Where the compiler takes the long way from floats to doubles, the width says the short one. */
#define LOAD_f(PLACE) WIDENED(PLACE)
#define STORE_d(PLACE, OUT) *(Loose_d *)(PLACE) = OUT;
#define STORE_f(PLACE, OUT) \
    NARROWED(PLACE, OUT); \
    OUT = WIDENED(PLACE);
#define ITEM_d npy_double
#define ITEM_f npy_float
#define FROM(LOAD, J) {LOAD(args[J] + at), LOAD(args[J] + at + LANES * item)}
#define GIVEN2 x, y

#define LOOPED(NAME, T, OPERANDS, LAST, GIVEN, ODD) \
    TARGET static int KERNEL(NAME, T)(char *const *args, npy_intp count, const Limits *limits) \
    { \
        const npy_intp item = sizeof(ITEM_##T); \
        const V least = limits->least - NUMBER(0); \
        int raised = 0; \
        (void)least; \
        for (npy_intp at = 0; at < count * item; at += WAYS * LANES * item) { \
            const V x[WAYS] = FROM(LOAD_##T, 0); \
            const V y[WAYS] = FROM(LOAD_##T, LAST); \
            V out[WAYS]; \
            NAMED(NAME##_##T)(GIVEN, out); \
            STORE_##T(args[OPERANDS] + at, out[0]) \
            STORE_##T(args[OPERANDS] + at + LANES * item, out[1]) \
            if (ANY(ODD(out[0]) | ODD(out[1]))) { \
                double some[3][MOST_LANES * WAYS]; \
                memcpy(some[0], x, WAYS * BYTES); \
                memcpy(some[1], y, WAYS * BYTES); \
                memcpy(some[2], out, WAYS * BYTES); \
                raised |= complaints(some[0], some[1], some[2], WAYS * LANES, limits); \
            } \
        } \
        return raised; \
    }
#define KERNEL1(NAME, T, ODD) LOOPED(NAME, T, 1, 0, x, ODD)
#define KERNEL2(NAME, T, ODD) LOOPED(NAME, T, 2, 1, GIVEN2, ODD)

#define SHORT_LOOP(NAME, OPERANDS, LAST, GIVEN) \
    TARGET static int KERNEL(NAME, f)(char *const *args, npy_intp count, const Limits *limits) \
    { \
        const npy_intp item = sizeof(float); \
        M small = {0}; \
        int raised = 0; \
        for (npy_intp at = 0; at < count * item; at += WAYS * BYTES) { \
            const V x[WAYS] = FROM(LOAD_d, 0); \
            const V y[WAYS] = FROM(LOAD_d, LAST); \
            V out[WAYS]; \
            M odd[WAYS], gone[WAYS]; \
            NAMED(NAME##_short)(GIVEN, out, odd, gone); \
            small |= gone[0] | gone[1]; \
            if (ANY(odd[0] | odd[1])) { \
                float xs[WAYS * LANES], ys[WAYS * LANES], outs[WAYS * LANES]; \
                npy_int32 odds[WAYS * LANES]; \
                memcpy(xs, x, sizeof(xs)); \
                memcpy(ys, y, sizeof(ys)); \
                memcpy(outs, out, sizeof(outs)); \
                memcpy(odds, odd, sizeof(odds)); \
                raised |= widely(KERNEL(NAME, d), OPERANDS, xs, ys, odds, outs, WAYS * LANES, limits); \
                memcpy(out, outs, sizeof(outs)); \
            } \
            STORE_d(args[OPERANDS] + at, out[0]) \
            STORE_d(args[OPERANDS] + at + BYTES, out[1]) \
        } \
        return ANY(small) ? raised | FE_UNDERFLOW : raised; \
    }
#define SHORT1(NAME) SHORT_LOOP(NAME, 1, 0, x)
#define SHORT2(NAME) SHORT_LOOP(NAME, 2, 1, GIVEN2)

#define TYPES(NUMBER_, KIND_, BITS_) \
    typedef NUMBER_ PASTE(Numbers, KIND_, BYTES) __attribute__((vector_size(BYTES))); \
    typedef NUMBER_ PASTE(Loose, KIND_, BYTES) __attribute__((vector_size(BYTES), aligned(1), may_alias)); \
    typedef npy_uint##BITS_ PASTE(Bits, KIND_, BYTES) __attribute__((vector_size(BYTES))); \
    typedef npy_int##BITS_ PASTE(Masks, KIND_, BYTES) __attribute__((vector_size(BYTES)));
#define Loose_d NAMED(Loose)
#define BOTH_TYPES TYPES(double, d, 64) TYPES(float, f, 32)

/* What a machine has for a vector of its own type, R, of which the instructions end in S. */
#define DONE(NAME, RESULT, GIVEN, K, ...) \
    INLINED PASTE(RESULT, K, BYTES) PASTE(NAME, K, BYTES) GIVEN { return (PASTE(RESULT, K, BYTES))(__VA_ARGS__); }
#define PAIR(TYPE, K) (const PASTE(TYPE, K, BYTES) x, const PASTE(TYPE, K, BYTES) y)
#define CHOICE(K) (const PASTE(Masks, K, BYTES) mask, const PASTE(Numbers, K, BYTES) x, const PASTE(Numbers, K, BYTES) y)
#define ONE_OF(TYPE, K) (const PASTE(TYPE, K, BYTES) x)
#define BITWISE(K) \
    ((PASTE(Bits, K, BYTES))mask & (PASTE(Bits, K, BYTES))x) | (~(PASTE(Bits, K, BYTES))mask & (PASTE(Bits, K, BYTES))y)
#define INSTRUCTIONS(K, P, S, R) \
    DONE(larger, Numbers, PAIR(Numbers, K), K, P##_max_##S((R)x, (R)y)) \
    DONE(smaller, Numbers, PAIR(Numbers, K), K, P##_min_##S((R)x, (R)y)) \
    DONE(root, Numbers, ONE_OF(Numbers, K), K, P##_sqrt_##S((R)x))
#define WHETHER(K, FOUND) \
    INLINED int PASTE(any, K, BYTES) ONE_OF(Masks, K) { return (FOUND) != 0; }

#if defined(__x86_64__)
#include <immintrin.h>

#define BYTES 16
#define TARGET
BOTH_TYPES
DONE(select, Numbers, CHOICE(d), d, BITWISE(d))
DONE(select, Numbers, CHOICE(f), f, BITWISE(f))
INSTRUCTIONS(d, _mm, pd, __m128d)
INSTRUCTIONS(f, _mm, ps, __m128)
WHETHER(d, _mm_movemask_pd((__m128d)x))
WHETHER(f, _mm_movemask_ps((__m128)x))
#define WIDENED(PLACE) ((V)_mm_cvtps_pd(_mm_castsi128_ps(_mm_loadl_epi64((const __m128i *)(PLACE)))))
#define NARROWED(PLACE, X) _mm_storel_epi64((__m128i *)(PLACE), _mm_castps_si128(_mm_cvtpd_ps((__m128d)(X))))
#include <elementary_functions.h>
#undef BYTES
#undef TARGET
#undef WIDENED
#undef NARROWED

#define BYTES 32
#define TARGET __attribute__((target("avx2")))
BOTH_TYPES
DONE(select, Numbers, CHOICE(d), d, _mm256_blendv_pd((__m256d)y, (__m256d)x, (__m256d)mask))
DONE(select, Numbers, CHOICE(f), f, _mm256_blendv_ps((__m256)y, (__m256)x, (__m256)mask))
INSTRUCTIONS(d, _mm256, pd, __m256d)
INSTRUCTIONS(f, _mm256, ps, __m256)
WHETHER(d, _mm256_movemask_pd((__m256d)x))
WHETHER(f, _mm256_movemask_ps((__m256)x))
#define WIDENED(PLACE) ((V)_mm256_cvtps_pd(_mm_loadu_ps((const float *)(PLACE))))
#define NARROWED(PLACE, X) _mm_storeu_ps((float *)(PLACE), _mm256_cvtpd_ps((__m256d)(X)))
#include <elementary_functions.h>
#undef BYTES
#undef TARGET
#undef WIDENED
#undef NARROWED

#define BYTES 64
#define TARGET __attribute__((target("avx512f,avx512dq")))
BOTH_TYPES
DONE(select, Numbers, CHOICE(d), d, _mm512_mask_blend_pd(_mm512_movepi64_mask((__m512i)mask), (__m512d)y, (__m512d)x))
DONE(select, Numbers, CHOICE(f), f, _mm512_mask_blend_ps(_mm512_movepi32_mask((__m512i)mask), (__m512)y, (__m512)x))
INSTRUCTIONS(d, _mm512, pd, __m512d)
INSTRUCTIONS(f, _mm512, ps, __m512)
WHETHER(d, _mm512_movepi64_mask((__m512i)x))
WHETHER(f, _mm512_movepi32_mask((__m512i)x))
#define WIDENED(PLACE) ((V)_mm512_cvtps_pd(_mm256_loadu_ps((const float *)(PLACE))))
#define NARROWED(PLACE, X) _mm256_storeu_ps((float *)(PLACE), _mm512_cvtpd_ps((__m512d)(X)))
#include <elementary_functions.h>
#else
#define BYTES 16
#define TARGET
BOTH_TYPES
typedef float Halves __attribute__((vector_size(BYTES / 2)));
#define PLAIN(K, ROOTS, FOUND) \
    DONE(select, Numbers, CHOICE(K), K, BITWISE(K)) \
    DONE(larger, Numbers, PAIR(Numbers, K), K, PASTE(select, K, BYTES)(x > y, x, y)) \
    DONE(smaller, Numbers, PAIR(Numbers, K), K, PASTE(select, K, BYTES)(x < y, x, y)) \
    INLINED PASTE(Numbers, K, BYTES) PASTE(root, K, BYTES) ONE_OF(Numbers, K) { return (PASTE(Numbers, K, BYTES))ROOTS; } \
    WHETHER(K, FOUND)
#define ROOTS_d {sqrt(x[0]), sqrt(x[1])}
#define ROOTS_f {sqrtf(x[0]), sqrtf(x[1]), sqrtf(x[2]), sqrtf(x[3])}
PLAIN(d, ROOTS_d, x[0] | x[1])
PLAIN(f, ROOTS_f, x[0] | x[1] | x[2] | x[3])
#define WIDENED(PLACE) \
    ({ \
        Halves there; \
        memcpy(&there, PLACE, BYTES / 2); \
        __builtin_convertvector(there, V); \
    })
#define NARROWED(PLACE, X) \
    ({ \
        const Halves there = __builtin_convertvector(X, Halves); \
        memcpy(PLACE, &there, BYTES / 2); \
    })
#include <elementary_functions.h>
#endif

/* ---- inner loops ------------------------------------------------------------------------------------------------- */

typedef struct {
    const char *name, *numpy, *doc;
    int operands;
    Kernel *kernels[2][3]; /* by precision, float32 first, and by width */
    Limits limits[2];
} Function;

#if defined(__x86_64__)
#define WIDTHS(NAME, T) {all_##NAME##_##T##_16, all_##NAME##_##T##_32, all_##NAME##_##T##_64}
#else
#define WIDTHS(NAME, T) {all_##NAME##_##T##_16, all_##NAME##_##T##_16, all_##NAME##_##T##_16}
#endif
#define ROW(NAME, OPERANDS, NUMPY, HAS_POLE, UNDERFLOWS, DOC) \
    {#NAME, NUMPY, DOC, OPERANDS, {WIDTHS(NAME, f), WIDTHS(NAME, d)}, \
     {{HAS_POLE, (UNDERFLOWS) ? 0x1p-126 : 0, 0x1.fffffep+127}, {HAS_POLE, (UNDERFLOWS) ? 0x1p-1022 : 0, 0x1.fffffffffffffp+1023}}},
static Function functions[] = {EACH_FUNCTION(ROW)};
enum { FUNCTIONS = sizeof(functions) / sizeof(functions[0]) };
static int width; /* of vectors: 16, 32 or 64 bytes, as 0, 1, 2 */

/* The processor's flags, as they were before. */
#if defined(__x86_64__)
#define FLAGS_BEFORE const unsigned before = _mm_getcsr();
#define FLAGS_AFTER _mm_setcsr(before);
#else
#define FLAGS_BEFORE \
    fexcept_t before; \
    fegetexceptflag(&before, FE_ALL_EXCEPT);
#define FLAGS_AFTER fesetexceptflag(&before, FE_ALL_EXCEPT);
#endif

INLINE void loop_of(const Function *self, int both, char **args, npy_intp n, npy_intp const *steps)
{
    Kernel *kernel = self->kernels[both][width];
    const Limits *limits = &self->limits[both];
    const npy_intp item = both ? 8 : 4, lanes = (npy_intp)(both ? 2 * WAYS : 4 * WAYS) << width;
    const int nin = self->operands;
    int raised = 0, together = 1;
    npy_intp done = 0;
    char *at[3];
    FLAGS_BEFORE
    for (int j = 0; j <= nin; j++) {
        together &= steps[j] == item;
    }
    if (together) {
        done = n - n % lanes;
        raised |= kernel(args, done, limits);
    }
    double buffers[3][FEW]; /* of elements with gaps, and of the last few */
    for (int j = 0; j < 3; j++) {
        at[j] = (char *)buffers[j];
    }
    for (npy_intp i = done, few; i < n; i += few) {
        few = n - i < FEW ? n - i : FEW;
        const npy_intp whole = (few + lanes - 1) / lanes * lanes;
        for (int j = 0; j < nin; j++) {
            const char *from = args[j] + i * steps[j];
            for (npy_intp k = 0; k < whole; k++) {
                const char *each = from + (k < few ? k : 0) * steps[j];
                if (both) {
                    buffers[j][k] = *(const double *)each;
                }
                else {
                    ((float *)buffers[j])[k] = *(const float *)each;
                }
            }
        }
        raised |= kernel(at, whole, limits);
        char *to = args[nin] + i * steps[nin];
        for (npy_intp k = 0; k < few; k++) {
            memcpy(to + k * steps[nin], at[nin] + k * item, (size_t)item);
        }
    }
    FLAGS_AFTER
    if (raised) {
        feraiseexcept(raised);
    }
}

static void loop_f(char **args, npy_intp const *dimensions, npy_intp const *steps, void *data)
{
    loop_of(data, 0, args, dimensions[0], steps);
}

static void loop_d(char **args, npy_intp const *dimensions, npy_intp const *steps, void *data)
{
    loop_of(data, 1, args, dimensions[0], steps);
}

/* ---- ufuncs ------------------------------------------------------------------------------------------------------ */

/* A ufunc that has NumPy's loops for the types that are not written here, which NumPy finds by the same rules. */
static PyObject *ufunc_of(Function *self, PyObject *umath)
{
    PyUFuncObject *model = NULL;
    if (*self->numpy && (model = (PyUFuncObject *)PyObject_GetAttrString(umath, self->numpy)) == NULL) {
        return NULL;
    }
    const int count = model == NULL ? 2 : model->ntypes, nargs = self->operands + 1;
    /* kept as long as the module is */
    PyUFuncGenericFunction *loops = PyMem_Calloc((size_t)count, sizeof(*loops));
    void **data = PyMem_Calloc((size_t)count, sizeof(*data));
    char *types = PyMem_Calloc((size_t)(count * nargs), 1);
    if (loops == NULL || data == NULL || types == NULL) {
        return PyErr_NoMemory();
    }
    for (int i = 0; i < count; i++) {
        const int type = model == NULL ? i ? NPY_DOUBLE : NPY_FLOAT : model->types[i * nargs];
        int alike = 1;
        for (int j = 0; j < nargs; j++) {
            types[i * nargs + j] = model == NULL ? (char)type : model->types[i * nargs + j];
            alike &= types[i * nargs + j] == type;
        }
        if (alike && (type == NPY_FLOAT || type == NPY_DOUBLE)) {
            loops[i] = type == NPY_FLOAT ? loop_f : loop_d;
            data[i] = self;
        }
        else {
            loops[i] = model->functions[i];
            data[i] = model->data == NULL ? NULL : (void *)model->data[i];
        }
    }
    PyObject *made = PyUFunc_FromFuncAndData(loops, data, types, count, self->operands, 1, PyUFunc_None, self->name, self->doc, 0);
    Py_XDECREF(model);
    return made;
}

/* use(bytes): compute with vectors of so many bytes, at most as many as the processor has; the bits are the same. */
static PyObject *use(PyObject *NPY_UNUSED(module), PyObject *bytes)
{
    const long most = PyLong_AsLong(bytes);
    if (most == -1 && PyErr_Occurred()) {
        return NULL;
    }
    width = 0;
#if defined(__x86_64__)
    if (most >= 32 && __builtin_cpu_supports("avx2")) {
        width = 1;
    }
    if (most >= 64 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")) {
        width = 2;
    }
#endif
    return PyLong_FromLong(16L << width);
}

static PyMethodDef methods[] = {
    {"use", use, METH_O, "use(bytes): compute with vectors of at most so many bytes; how many these are."},
    {NULL, NULL, 0, NULL},
};

PyMODINIT_FUNC PyInit__elementary(void)
{
    import_array();
    import_umath();
    PyObject *umath = PyImport_ImportModule("numpy");
    PyObject *made = umath == NULL ? NULL : new_module("_elementary", "Elementary functions: the same bits everywhere.", methods);
    for (int i = 0; made != NULL && i < FUNCTIONS; i++) {
        made = with(made, functions[i].name, ufunc_of(&functions[i], umath));
    }
    Py_XDECREF(umath);
    return made;
}
