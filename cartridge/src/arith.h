/* 16-bit products and quotients in one instruction each, where C would call for 32 bits. */
#ifndef ARITH_H
#define ARITH_H

#include "types.h"

#ifdef __m68k__
static inline u32 multiply(u16 a, u16 b)
{
    u32 product = a;
    __asm__("mulu.w %1, %0" : "+d"(product) : "dmi"(b));
    return product;
}

/* Quotient in the low word, remainder in the high one; the quotient must fit 16 bits. */
static inline u32 divide_both(u32 value, u16 by)
{
    __asm__("divu.w %1, %0" : "+d"(value) : "dmi"(by));
    return value;
}

static inline s32 multiply_signed(s16 a, s16 b)
{
    s32 product = a;
    __asm__("muls.w %1, %0" : "+d"(product) : "dmi"(b));
    return product;
}
#else
static inline u32 multiply(u16 a, u16 b) { return (u32)a * b; }
static inline u32 divide_both(u32 value, u16 by) { return value % by << 16 | value / by; }
static inline s32 multiply_signed(s16 a, s16 b) { return (s32)a * b; }
#endif

static inline u16 divide(u32 value, u16 by)
{
    return (u16)divide_both(value, by);
}

static inline u16 remainder(u16 value, u16 by)
{
    return (u16)(divide_both(value, by) >> 16);
}

/* a * b / 256 */
static inline s16 scale(s16 a, s16 b)
{
    return (s16)(multiply_signed(a, b) >> 8);
}

#endif
