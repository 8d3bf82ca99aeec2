/* Where the compiler can, a WIDE function is compiled for wider registers too, and the machine chooses: the bits are the same. */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
#define WIDE __attribute__((target_clones("avx2", "default")))
#else
#define WIDE
#endif
