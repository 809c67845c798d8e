/* How the hero moves; shared by player.c, ground.c, air.c and loop.c only. */
#ifndef MOTION_H
#define MOTION_H

#include "arith.h"
#include "player.h"
#include "vdp.h"
#include "world.h"

/* Pixels / 256 a frame, at 60 frames a second. Those of the medium, in the air and under water: */
typedef struct {
    s16 acceleration, top_speed, air_acceleration;
    s16 jump, jump_cut, gravity, hurt_gravity, fall;
} Medium;

extern const Medium *medium;         /* the one that the hero is in */

#define BRAKING 128
#define FRICTION 12
#define MAX_SPEED (12 * 256)
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
#define WATER_DRAG 24                /* of what is faster than the top speed */
#define SMASH_SPEED (4 * 256)

#define HALF_WIDTH 8
#define FOOT 6                       /* side feet, that hold on at an edge */
#define SNAP 10                      /* how far the ground may lie above or below the feet */
#define BLINK_FRAMES 120

static inline s16 towards_zero(s16 value, s16 amount)
{
    if (value > amount)
        return value - amount;
    return value < -amount ? value + amount : 0;
}

/* Stop at a wall ahead. `low` is how far above the feet the lowest look is. */
void stop_at_walls(s16 speed, s16 low);
void stand_on(Floor ground);
void update_ground(s16 direction);
void update_air(s16 direction);
void update_loop(void);

#endif
