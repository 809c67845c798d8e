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

/* Version 2. Palette line 1, but for the dash (0) and the falling hero (0). "Half": the left half
 * of a picture that the engine draws twice, the second time flipped. */
#define SPRITE_SPRING_SIDE 305   /* 2 frames of 2x3 (16x24 px): 305 at rest, 311 pressed out */
#define SPRITE_PLATFORM 317      /* 3x2 (24x16 px), half; its top row is the surface */
#define SPRITE_CRUMBLE 323       /* 3x2 (24x16 px), half */
#define SPRITE_PISTON_TIP 329    /* 2x2 (16x16 px): spikes or flame, pointing up */
#define SPRITE_PISTON_SHAFT 333  /* 2x2 (16x16 px), repeats downward */
#define SPRITE_PISTON_BASE 337   /* 3x1 (24x8 px): the plate in the floor, always seen */
#define SPRITE_BREAKABLE 340     /* 2x2 (16x16 px), repeats: cracked stone */
#define SPRITE_RUBBLE 344        /* 1x1 */
#define SPRITE_SWITCH 345        /* 2 frames of 2x2 (16x16 px): 345 waiting, 349 touched */
#define SPRITE_GATE 353          /* 2x2 (16x16 px), repeats: bars */
#define SPRITE_CHECKPOINT 357    /* 2 frames of 2x4 (16x32 px): 357 before, 365 touched */
#define SPRITE_SHOOTER 373       /* 2 frames of 3x3 (24x24 px): 373, 382 about to shoot */
#define SPRITE_SHOT 391          /* 1x1 */
#define SPRITE_JUMPER 392        /* 2 frames of 3x3 (24x24 px): 392 on the ground, 401 in the air */
#define SPRITE_BOOSTER 410       /* 2 frames of 4x1 (32x8 px): 410, 414; arrows to the right */
#define SPRITE_WIND 418          /* 4x1 (32x8 px): a streak of blown air */
#define SPRITE_HUD_DASH 422      /* 1x1, as the digits */
#define SPRITE_HERO_FALL 423     /* 4x4, as the hero: thrown up or falling, not a ball */
#define SPRITE_TILE_COUNT 439

#endif
