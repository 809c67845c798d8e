/* How the hero moves; shared by player.c, ground.c and air.c only. */
#ifndef MOTION_H
#define MOTION_H

#include "player.h"
#include "vdp.h"
#include "world.h"

/* Pixels / 256 a frame, at 60 frames a second. */
#define ACCELERATION 12
#define BRAKING 128
#define FRICTION 12
#define TOP_SPEED (6 * 256)
#define MAX_SPEED (12 * 256)
#define JUMP_SPEED 1664              /* 6.5 */
#define JUMP_CUT (4 * 256)
#define GRAVITY 56
#define FALL_SPEED (15 * 256)        /* below a metatile a frame: nothing is passed through */
#define AIR_ACCELERATION 24
#define SLOPE_RUN 24
#define SLOPE_ROLL_DOWN 80
#define SLOPE_ROLL_UP 20
#define ROLL_FRICTION 6
#define ROLL_BRAKING 32
#define ROLL_START 256
#define ROLL_STOP 128
#define DASH_SPEED (6 * 256)
#define CHARGE_STEP (2 * 256)
#define CHARGE_MAX (6 * 256)
#define HURT_GRAVITY 48

#define HALF_WIDTH 8
#define FOOT 6                       /* side feet, that hold on at an edge */
#define SNAP 10                      /* how far the ground may lie above or below the feet */
#define BLINK_FRAMES 120

/* a * b / 256, with the one-instruction 16-bit product. */
static inline s16 scale(s16 a, s16 b)
{
    s32 product = a;
    __asm__("muls.w %1, %0" : "+d"(product) : "dmi"(b));
    return (s16)(product >> 8);
}

/* Stop at a wall ahead. `low` is how far above the feet the lowest look is. */
void stop_at_walls(s16 speed, s16 low);
void stand_on(Floor ground);
void update_ground(s16 direction);
void update_air(s16 direction);

#endif
