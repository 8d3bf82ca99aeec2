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

#define PASTED(NAME, BYTES) NAME##_##BYTES
#define PASTE(NAME, BYTES) PASTED(NAME, BYTES)
#define NAMED(NAME) PASTE(NAME, BYTES)

/* Whether results of a function that may underflow have to be looked at, or only those that are not finite. */
#define ODD(OUT) ((M)((OUT) - (OUT) != NUMBER(0)))
#define ODD_OR_SMALL(OUT) (ODD(OUT) | ((M)((V)((U)(OUT) & BITS(0x7fffffffffffffff)) < least)))

#define BEGIN \
    const npy_intp item = sizeof(ITEM); \
    const V least = *(const double *)&limits->least - NUMBER(0); \
    int raised = 0; \
    (void)least;

#define LOOK(X, Y, ODD) \
    if (ANY(ODD(out[0]) | ODD(out[1]))) { \
        double some[3][MOST_LANES * WAYS]; \
        memcpy(some[0], X, WAYS * BYTES); \
        memcpy(some[1], Y, WAYS * BYTES); \
        memcpy(some[2], out, WAYS * BYTES); \
        raised |= complaints(some[0], some[1], some[2], WAYS * LANES, limits); \
    }

#define LOAD_d(PLACE) \
    ({ \
        V there; \
        memcpy(&there, PLACE, BYTES); \
        there; \
    })
/* Where the compiler takes the long way from floats to doubles, the width says the short one. */
#define LOAD_f(PLACE) WIDENED(PLACE)
#define STORE_d(PLACE, OUT) memcpy(PLACE, &OUT, BYTES);
#define STORE_f(PLACE, OUT) \
    NARROWED(PLACE, OUT); \
    OUT = WIDENED(PLACE);
#define ITEM_d npy_double
#define ITEM_f npy_float

#define STEP (WAYS * LANES * item)
#define KERNEL1(NAME, T, ODD) \
    TARGET static int NAMED(all_##NAME##_##T)(char *const *args, npy_intp count, const Limits *limits) \
    { \
        typedef ITEM_##T ITEM; \
        BEGIN \
        for (npy_intp at = 0; at < count * item; at += STEP) { \
            const V x[WAYS] = {LOAD_##T(args[0] + at), LOAD_##T(args[0] + at + LANES * item)}; \
            V out[WAYS]; \
            NAMED(NAME##_##T)(x, out); \
            STORE_##T(args[1] + at, out[0]) \
            STORE_##T(args[1] + at + LANES * item, out[1]) \
            LOOK(x, x, ODD) \
        } \
        return raised; \
    }
#define KERNEL2(NAME, T, ODD) \
    TARGET static int NAMED(all_##NAME##_##T)(char *const *args, npy_intp count, const Limits *limits) \
    { \
        typedef ITEM_##T ITEM; \
        BEGIN \
        for (npy_intp at = 0; at < count * item; at += STEP) { \
            const V x[WAYS] = {LOAD_##T(args[0] + at), LOAD_##T(args[0] + at + LANES * item)}; \
            const V y[WAYS] = {LOAD_##T(args[1] + at), LOAD_##T(args[1] + at + LANES * item)}; \
            V out[WAYS]; \
            NAMED(NAME##_##T)(x, y, out); \
            STORE_##T(args[2] + at, out[0]) \
            STORE_##T(args[2] + at + LANES * item, out[1]) \
            LOOK(x, y, ODD) \
        } \
        return raised; \
    }

#define V NAMED(Numbers)
#define U NAMED(Bits)
#define M NAMED(Masks)
#define HALF NAMED(Halves)
#define LANES (BYTES / 8)
#define NUMBER(X) ((V){0} + (X))
#define BITS(X) ((U){0} + (X##u))
#define INLINED TARGET INLINE
#define RARE TARGET static __attribute__((noinline))
#define TYPES \
    typedef double V __attribute__((vector_size(BYTES))); \
    typedef npy_uint64 U __attribute__((vector_size(BYTES))); \
    typedef npy_int64 M __attribute__((vector_size(BYTES))); \
    typedef float HALF __attribute__((vector_size(BYTES / 2)));

#if defined(__x86_64__)
#include <immintrin.h>

#define BYTES 16
#define TARGET
TYPES
#define WIDENED(PLACE) ((V)_mm_cvtps_pd(_mm_castsi128_ps(_mm_loadl_epi64((const __m128i *)(PLACE)))))
#define NARROWED(PLACE, X) _mm_storel_epi64((__m128i *)(PLACE), _mm_castps_si128(_mm_cvtpd_ps((__m128d)(X))))
#define SELECT(MASK, X, Y) ((V)(((U)(MASK) & (U)(X)) | (~(U)(MASK) & (U)(Y))))
#define LARGER(X, Y) ((V)_mm_max_pd((__m128d)(X), (__m128d)(Y)))
#define SMALLER(X, Y) ((V)_mm_min_pd((__m128d)(X), (__m128d)(Y)))
#define ROOT(X) ((V)_mm_sqrt_pd((__m128d)(X)))
#define ANY(MASK) _mm_movemask_pd((__m128d)(MASK))
#include <elementary_functions.h>
#undef BYTES
#undef TARGET
#undef WIDENED
#undef NARROWED
#undef SELECT
#undef LARGER
#undef SMALLER
#undef ROOT
#undef ANY

#define BYTES 32
#define TARGET __attribute__((target("avx2")))
TYPES
#define WIDENED(PLACE) ((V)_mm256_cvtps_pd(_mm_loadu_ps((const float *)(PLACE))))
#define NARROWED(PLACE, X) _mm_storeu_ps((float *)(PLACE), _mm256_cvtpd_ps((__m256d)(X)))
#define SELECT(MASK, X, Y) ((V)_mm256_blendv_pd((__m256d)(Y), (__m256d)(X), (__m256d)(MASK)))
#define LARGER(X, Y) ((V)_mm256_max_pd((__m256d)(X), (__m256d)(Y)))
#define SMALLER(X, Y) ((V)_mm256_min_pd((__m256d)(X), (__m256d)(Y)))
#define ROOT(X) ((V)_mm256_sqrt_pd((__m256d)(X)))
#define ANY(MASK) _mm256_movemask_pd((__m256d)(MASK))
#include <elementary_functions.h>
#undef BYTES
#undef TARGET
#undef WIDENED
#undef NARROWED
#undef SELECT
#undef LARGER
#undef SMALLER
#undef ROOT
#undef ANY

#define BYTES 64
#define TARGET __attribute__((target("avx512f,avx512dq")))
TYPES
#define WIDENED(PLACE) ((V)_mm512_cvtps_pd(_mm256_loadu_ps((const float *)(PLACE))))
#define NARROWED(PLACE, X) _mm256_storeu_ps((float *)(PLACE), _mm512_cvtpd_ps((__m512d)(X)))
#define SELECT(MASK, X, Y) ((V)_mm512_mask_blend_pd(_mm512_movepi64_mask((__m512i)(MASK)), (__m512d)(Y), (__m512d)(X)))
#define LARGER(X, Y) ((V)_mm512_max_pd((__m512d)(X), (__m512d)(Y)))
#define SMALLER(X, Y) ((V)_mm512_min_pd((__m512d)(X), (__m512d)(Y)))
#define ROOT(X) ((V)_mm512_sqrt_pd((__m512d)(X)))
#define ANY(MASK) _mm512_movepi64_mask((__m512i)(MASK))
#include <elementary_functions.h>
#else
#define BYTES 16
#define TARGET
TYPES
#define WIDENED(PLACE) \
    ({ \
        HALF there; \
        memcpy(&there, PLACE, BYTES / 2); \
        __builtin_convertvector(there, V); \
    })
#define NARROWED(PLACE, X) \
    ({ \
        const HALF there = __builtin_convertvector(X, HALF); \
        memcpy(PLACE, &there, BYTES / 2); \
    })
#define SELECT(MASK, X, Y) ((V)(((U)(MASK) & (U)(X)) | (~(U)(MASK) & (U)(Y))))
#define LARGER(X, Y) SELECT((X) > (Y), X, Y)
#define SMALLER(X, Y) SELECT((X) < (Y), X, Y)
#define ROOT(X) ((V){sqrt((X)[0]), sqrt((X)[1])})
#define ANY(MASK) (((MASK)[0] | (MASK)[1]) != 0)
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
    const npy_intp item = both ? 8 : 4, lanes = (npy_intp)(2 * WAYS) << width;
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

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "_elementary", "Elementary functions, with the same bits on every machine.", -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__elementary(void)
{
    import_array();
    import_umath();
    PyObject *made = PyModule_Create(&module), *umath = PyImport_ImportModule("numpy");
    if (umath == NULL) {
        Py_CLEAR(made);
    }
    for (int i = 0; made != NULL && i < FUNCTIONS; i++) {
        PyObject *ufunc = ufunc_of(&functions[i], umath);
        if (ufunc == NULL || PyModule_AddObjectRef(made, functions[i].name, ufunc) < 0) {
            Py_CLEAR(made);
        }
        Py_XDECREF(ufunc);
    }
    Py_XDECREF(umath);
    return made == NULL ? NULL : with_sources(made);
}
