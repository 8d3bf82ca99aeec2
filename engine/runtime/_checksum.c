/* CRC-32C, as `dualgrad.files.crc32c` computes it without this. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <string.h>

#include "built_from.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <nmmintrin.h>
#define HAS_INSTRUCTION __builtin_cpu_supports("sse4.2")

/* The processor's own instruction takes eight bytes at once. */
__attribute__((target("sse4.2"))) static uint32_t by_instruction(const unsigned char *at, Py_ssize_t count, uint32_t crc)
{
    uint64_t wide = crc;
    for (; count >= 8; count -= 8, at += 8) {
        uint64_t word;
        memcpy(&word, at, 8);
        wide = _mm_crc32_u64(wide, word);
    }
    crc = (uint32_t)wide;
    while (count-- > 0) {
        crc = _mm_crc32_u8(crc, *at++);
    }
    return crc;
}
#else
#define HAS_INSTRUCTION 0
#define by_instruction by_tables
#endif

static uint32_t tables[8][256]; /* of what a byte becomes after as many more bytes */

static void make_tables(void)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t crc = i;
        for (int bit = 0; bit < 8; bit++) {
            crc = crc & 1 ? crc >> 1 ^ 0x82F63B78u : crc >> 1;
        }
        tables[0][i] = crc;
    }
    for (int more = 1; more < 8; more++) {
        for (int i = 0; i < 256; i++) {
            const uint32_t crc = tables[more - 1][i];
            tables[more][i] = crc >> 8 ^ tables[0][crc & 255];
        }
    }
}

static uint32_t by_tables(const unsigned char *at, Py_ssize_t count, uint32_t crc)
{
    for (; count >= 8; count -= 8, at += 8) {
        const uint32_t low = crc ^ (at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24);
        crc = tables[7][low & 255] ^ tables[6][low >> 8 & 255] ^ tables[5][low >> 16 & 255] ^ tables[4][low >> 24]
            ^ tables[3][at[4]] ^ tables[2][at[5]] ^ tables[1][at[6]] ^ tables[0][at[7]];
    }
    while (count-- > 0) {
        crc = crc >> 8 ^ tables[0][(crc ^ *at++) & 255];
    }
    return crc;
}

static PyObject *crc32c(PyObject *module, PyObject *args)
{
    (void)module;
    Py_buffer data;
    unsigned int before = 0;
    int portable = 0;
    if (!PyArg_ParseTuple(args, "y*|Ip", &data, &before, &portable)) {
        return NULL;
    }
    uint32_t crc = ~(uint32_t)before;
    Py_BEGIN_ALLOW_THREADS
    crc = HAS_INSTRUCTION && !portable ? by_instruction(data.buf, data.len, crc) : by_tables(data.buf, data.len, crc);
    Py_END_ALLOW_THREADS
    PyBuffer_Release(&data);
    return PyLong_FromUnsignedLong(~crc & 0xFFFFFFFFu);
}

static PyMethodDef methods[] = {
    {"crc32c", crc32c, METH_VARARGS, "crc32c(data, before=0, portable=False): the checksum of a buffer."},
    {NULL, NULL, 0, NULL},
};

PyMODINIT_FUNC PyInit__checksum(void)
{
    make_tables();
    return new_module("_checksum", "Checksums of files.", methods);
}
