/* Where the compiler can, a WIDE function is compiled for wider registers too, and the machine chooses: the bits are the same. */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
#define WIDE __attribute__((target_clones("avx2", "default")))
/* What is long to compile is compiled once, for these registers; a machine without them takes a shorter way. */
#define WIDE_ONLY __attribute__((target("avx2")))
#define HAS_WIDE __builtin_cpu_supports("avx2")
#else
#define WIDE
#define WIDE_ONLY
#define HAS_WIDE 1
#endif
