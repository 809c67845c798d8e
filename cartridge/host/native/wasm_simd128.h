/* WebAssembly's vector instructions that picture.c uses, in plain C: for the build with sanitizers
 * (../sanitized.c). Lanes are little-endian. */
#ifndef WASM_SIMD128_H
#define WASM_SIMD128_H

#include <string.h>

typedef int v128_t __attribute__((vector_size(16)));
typedef signed char wasm_s8 __attribute__((vector_size(16)));
typedef unsigned char wasm_u8 __attribute__((vector_size(16)));
typedef short wasm_s16 __attribute__((vector_size(16)));
typedef unsigned short wasm_u16 __attribute__((vector_size(16)));
typedef unsigned wasm_u32 __attribute__((vector_size(16)));
typedef unsigned long long wasm_u64 __attribute__((vector_size(16)));

static inline v128_t wasm_v128_load(const void *from) { v128_t v; memcpy(&v, from, 16); return v; }
static inline void wasm_v128_store(void *to, v128_t v) { memcpy(to, &v, 16); }
static inline v128_t wasm_v128_load64_zero(const void *from) { v128_t v = {0}; memcpy(&v, from, 8); return v; }
static inline v128_t wasm_v128_bitselect(v128_t a, v128_t b, v128_t mask) { return (a & mask) | (b & ~mask); }
static inline v128_t wasm_i8x16_eq(v128_t a, v128_t b) { return (v128_t)((wasm_s8)a == (wasm_s8)b); }
static inline v128_t wasm_i8x16_splat(signed char n) { return (v128_t)((wasm_s8){0} + n); }
static inline v128_t wasm_i32x4_splat(int n) { return (v128_t){n, n, n, n}; }
static inline v128_t wasm_i32x4_add(v128_t a, v128_t b) { return (v128_t)((wasm_u32)a + (wasm_u32)b); }
static inline v128_t wasm_i32x4_mul(v128_t a, v128_t b) { return (v128_t)((wasm_u32)a * (wasm_u32)b); }
static inline v128_t wasm_u32x4_shr(v128_t v, unsigned n) { return (v128_t)((wasm_u32)v >> n); }
#define wasm_v128_load64_lane(from, v, lane) ({ wasm_u64 w_ = (wasm_u64)(v); memcpy((char *)&w_ + 8 * (lane), from, 8); (v128_t)w_; })
#define wasm_v128_store64_lane(to, v, lane) ({ v128_t w_ = (v); memcpy(to, (char *)&w_ + 8 * (lane), 8); })
#define wasm_v128_store32_lane(to, v, lane) ({ v128_t w_ = (v); memcpy(to, (char *)&w_ + 4 * (lane), 4); })
#define wasm_i32x4_shuffle(a, b, i, j, k, l) __builtin_shufflevector(a, b, i, j, k, l)

static inline v128_t wasm_i32x4_dot_i16x8(v128_t a, v128_t b)
{
    wasm_s16 x = (wasm_s16)a, y = (wasm_s16)b;
    v128_t sum;
    for (int i = 0; i < 4; i++)
        sum[i] = (int)((unsigned)(x[2 * i] * y[2 * i]) + (unsigned)(x[2 * i + 1] * y[2 * i + 1]));
    return sum;
}

static inline v128_t wasm_i16x8_narrow_i32x4(v128_t a, v128_t b)
{
    wasm_s16 v;
    for (int i = 0; i < 8; i++) {
        int n = i < 4 ? a[i] : b[i - 4];
        v[i] = (short)(n < -32768 ? -32768 : n > 32767 ? 32767 : n);
    }
    return (v128_t)v;
}

static inline v128_t wasm_u8x16_narrow_i16x8(v128_t a, v128_t b)
{
    wasm_s16 x = (wasm_s16)a, y = (wasm_s16)b;
    wasm_u8 v;
    for (int i = 0; i < 16; i++) {
        int n = i < 8 ? x[i] : y[i - 8];
        v[i] = (unsigned char)(n < 0 ? 0 : n > 255 ? 255 : n);
    }
    return (v128_t)v;
}

static inline v128_t wasm_u16x8_load8x8(const void *from)
{
    unsigned char bytes[8];
    wasm_u16 v;
    memcpy(bytes, from, 8);
    for (int i = 0; i < 8; i++)
        v[i] = bytes[i];
    return (v128_t)v;
}

#endif
