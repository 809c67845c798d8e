/* The variables that the integration reads, at 0xFF0000 (see integration/.../data.json).
 * All are big-endian. The names are those of stable-retro's Sonic integrations where they mean
 * the same. The offsets are part of the interface: only append. */
#ifndef RAM_H
#define RAM_H

#include "types.h"

enum Mode { MODE_TITLE = 0, MODE_PLAY = 1, MODE_DEAD = 2, MODE_END = 3 };

enum HeroFlag { FLAG_AIR = 1, FLAG_BALL = 2, FLAG_CHARGE = 4, FLAG_CROUCH = 8, FLAG_HURT = 16,
                FLAG_LEFT = 32, FLAG_WATER = 64, FLAG_LOOP = 128 };

typedef struct {
    u16 x;             /* 00 feet centre, pixels */
    s16 y;             /* 02 */
    u16 progress;      /* 04 clip(x - start_x, 0, end_x - start_x) */
    u16 contest_score; /* 06 contest return so far, in quarter points: 36000 * progress, + bonus */
    u16 start_x;       /* 08 */
    u16 end_x;         /* 0A */
    u16 rings;         /* 0C */
    u16 lives;         /* 0E 3 at the start; each death takes one */
    u16 frame_counter; /* 10 frames since the act began, stops at its end */
    s16 speed_x;       /* 12 pixels / 256 a frame */
    s16 speed_y;       /* 14 */
    u16 zone;          /* 16 from 1 */
    u16 act;           /* 18 from 1 */
    u16 level_end_bonus; /* 1A 1 once end_x was crossed */
    u16 lag;           /* 1C vertical blanks that the main loop missed in play */
    u16 request_act;   /* 1E poke n: the game starts act n (from 1, over all zones) */
    u16 mode;          /* 20 enum Mode */
    u16 flags;         /* 22 enum HeroFlag */
    u16 screen_x;      /* 24 top left of the screen */
    u16 screen_y;      /* 26 */
    u16 work_line;     /* 28 raster line when the last frame's work was done */
    u16 request_x;     /* 2A with request_act: begin on the lowest ground of this column */
    u32 score;         /* 2C points: 10 a ring, 100 an enemy, 50 a broken wall */
    u16 screen_x_end;  /* 30 the largest screen_x of the act */
    u16 switches;      /* 32 bit i: the switch with id i was touched */
} Published;

extern volatile Published ram;

#endif
