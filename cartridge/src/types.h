/* Fixed-width names used everywhere in the cartridge. */
#ifndef TYPES_H
#define TYPES_H

typedef unsigned char u8;
typedef signed char s8;
typedef unsigned short u16;
typedef signed short s16;
typedef unsigned int u32;
typedef signed int s32;

/* Positions are 16.16 with the lowest 8 bits zero (16.8 in use), so that the pixel is an aligned
 * word: for a shift by 8 the compiler would read a word at an odd address, which a 68000 cannot.
 * Speeds are s16 in pixels / 256 a frame. */
#define POSITION(pixels) ((s32)((u32)(pixels) << 16))
#define PIXEL(position) ((s16)((position) >> 16))
#define STEP(speed) ((s32)((u32)(speed) << 8))

#endif
