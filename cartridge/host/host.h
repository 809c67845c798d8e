/* The game without a console: its own C, with a video chip, tables and memory in software.
 *
 * All that a game changes lies in .data and .bss, from state_begin to the end of the linked data:
 * a copy of that range is a game. What is the same for all games lies before it, marked KEPT, or on
 * the heap behind it. `make native` checks this in the link map. */
#ifndef HOST_H
#define HOST_H

#include "vdp.h"

typedef unsigned long long u64;

#define KEPT __attribute__((section(".rodata.kept")))
#define EXPORT(name) __attribute__((export_name(#name)))

extern u8 state_begin[];

void *memcpy(void *to, const void *from, __SIZE_TYPE__ count);
void *memmove(void *to, const void *from, __SIZE_TYPE__ count);
void *memset(void *to, int value, __SIZE_TYPE__ count);
void *allocate(u32 bytes); /* zeros, for good */

/* One byte a pixel, for each of the pictures that a screen can be drawn as. */
enum View { GREY, RED, GREEN, BLUE, VIEWS };
#define CLEAR 255            /* of a pixel that lets through what is behind it; no colour is as light */

#define SHARED_TILES 1504    /* tiles below are a zone's; those above show one of them: alias */
#define OWN_TILES 32
#define BACK_STRIDE 832      /* the 512 pixels of plane B, and the first 320 of them again */
#define ARTS 16              /* zones, and the title */

typedef struct {
    u8 look[64];             /* value of each colour */
    u8 baked[SHARED_TILES];  /* palette line that `rows` holds, or 255 */
    u64 rows[2][SHARED_TILES * 8]; /* of each tile, and of its mirror image */
    u8 back[256 * BACK_STRIDE], back_made;
} Baked;

enum { LEVEL, BACK, SPRITES, MAP, PALETTE, SOURCES };

/* What is the same for all games in a zone, made at its first start. */
typedef struct {
    const void *source[SOURCES];
    u64 tile[SHARED_TILES * 8]; /* a row: a colour 0..15 a byte, the leftmost lowest */
    u16 back_map[64 * 32];
    Baked view[VIEWS];
} Art;

/* Video memory as the picture sees it (vdp.c). */
extern Art *arts;
extern u8 art_index;
extern u16 plane_a[64 * 32], alias[OWN_TILES];
extern s16 scroll_a_x, scroll_a_y, scroll_b_x, scroll_b_y;
extern Sprite sprite_table[MAX_SPRITES];

/* picture.c. The small picture is `height` times `width` at `to`, by area averaging. */
void picture_init(void);
void picture_small(enum View view, u8 *to, u32 height, u32 width);
void picture_rgb(u8 *to);

#endif
