/* The video chip: set-up, uploads, shadow sprite table. */
#ifndef VDP_H
#define VDP_H

#include "types.h"

#define PLANE_A 0xC000
#define PLANE_B 0xE000
#define SPRITE_TABLE 0xF800
#define SCROLL_TABLE 0xFC00
#define MAX_SPRITES 64

extern volatile u16 vblank_count;

typedef struct { u16 y; u8 size; u8 link; u16 tile; u16 x; } Sprite;

#define TILE_PRIORITY 0x8000
#define TILE_FLIP_X 0x0800
#define TILE_PALETTE(n) ((u16)((n) << 13))
#define SPRITE_SIZE(w, h) ((u8)(((w) - 1) << 2 | ((h) - 1)))

void vdp_init(void);
void vdp_display(u16 on);
/* DMA from RAM, in the vertical blank; `step` is the distance between two words, in bytes. */
void vdp_upload(const void *source, u16 address, u16 words, u16 step);
/* From ROM, with the display off: DMA would stop at every 128 KiB of ROM. */
void vdp_copy(const u32 *source, u16 address, u16 longs);
void vdp_fill(u16 address, u16 words, u16 value);
void vdp_palette(const u16 *colours);
void vdp_scroll(s16 a_x, s16 a_y, s16 b_x, s16 b_y);
u16 vdp_line(void);

void sprites_begin(u16 first);
void sprites_put(s16 x, s16 y, u8 size, u16 tile);
void sprites_end(void);
void sprites_upload(void);
/* Wait for the next vertical blank; returns how many passed since the last call. */
u16 wait_vblank(void);
u16 read_pad(void);

enum Pad { PAD_UP = 1, PAD_DOWN = 2, PAD_LEFT = 4, PAD_RIGHT = 8, PAD_B = 16, PAD_C = 32,
           PAD_A = 64, PAD_START = 128, PAD_JUMP = PAD_A | PAD_B | PAD_C };

#endif
