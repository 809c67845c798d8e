/* Layout of sprite_tiles: every frame is a run of tiles, column-major (down, then right), as the
 * video chip wants. The numbers are offsets in tiles; add VRAM_SPRITE_TILES for the tile number.
 * All sprites face right; the engine flips them. Sizes in tiles, width x height. */
#ifndef SPRITES_H
#define SPRITES_H

/* Hero, 4x4 (32x32 px), palette line 0. Feet centre = bottom row, between columns 15 and 16.
 * The ball fills about 28x28 and touches the bottom row. */
#define SPRITE_HERO_STAND 0
#define SPRITE_HERO_RUN 16       /* 4 frames: 16, 32, 48, 64 */
#define SPRITE_HERO_BALL 80      /* 4 frames: 80, 96, 112, 128 */
#define SPRITE_HERO_CROUCH 144
#define SPRITE_HERO_HURT 160     /* hurt and death */

/* Palette line 1 from here to the end post. */
#define SPRITE_WALKER 176        /* 2 frames of 3x3 (24x24 px): 176, 185 */
#define SPRITE_HOPPER 194        /* 2 frames of 3x3 (24x24 px): 194 on the ground, 203 in the air */
#define SPRITE_SPRING 212        /* 2 frames of 3x2 (24x16 px): 212 at rest, 218 pressed out */
#define SPRITE_RING 224          /* 2 frames of 2x2 (16x16 px): 224, 228 */
#define SPRITE_POST 232          /* 2 frames of 3x4 (24x32 px): 232 before, 244 after passing */
#define SPRITE_PUFF 256          /* 3x3 (24x24 px): smoke where an enemy was */

/* Heads-up display, 1x1 (8x8 px), palette line 0. */
#define SPRITE_DIGITS 265        /* 0..9: 265..274 */
#define SPRITE_HUD_RING 275
#define SPRITE_HUD_CLOCK 276
#define SPRITE_HUD_LIFE 277
#define SPRITE_HUD_COLON 278

/* Title: 1x1 letters A..Z, palette line 0. */
#define SPRITE_LETTERS 279       /* 279..304 */
#define SPRITE_TILE_COUNT 305

#endif
