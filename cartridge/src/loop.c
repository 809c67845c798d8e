#include "motion.h"

/* A loop is a scripted circle: fast enough, the hero comes round; slower, he rolls back out. */
#define RADIUS 48
#define BODY 34                      /* of the ball's middle: its rim is 14 away */
#define AROUND (302L << 8)           /* 2 pi RADIUS */
#define WAY_OUT (AROUND + (56L << 8))   /* and on to where no wall is */
#define TURN 217                     /* 65536 / 302: pixels to 1/256 of a turn, times 256 */
#define ENTRY_SPEED 1664             /* 6.5 px: just more than running */
#define SLOWEST (6 * 256)            /* of who comes round */
#define PULL_FAST 24
#define PULL_SLOW 112                /* at 6.5 px he would get a quarter of the way */

/* 256 sin of a quarter turn in 64 steps. */
static const s16 sines[65] = {
    0, 6, 13, 19, 25, 31, 38, 44, 50, 56, 62, 68, 74, 80, 86, 92, 98, 104, 109, 115, 121, 126,
    132, 137, 142, 147, 152, 157, 162, 167, 172, 177, 181, 185, 190, 194, 198, 202, 206, 209, 213,
    216, 220, 223, 226, 229, 231, 234, 237, 239, 241, 243, 245, 247, 248, 250, 251, 252, 253, 254,
    255, 255, 256, 256, 256};

static s16 sine(u8 angle)
{
    u8 step = angle & 63;
    s16 value = angle & 64 ? sines[64 - step] : sines[step];
    return angle & 128 ? -value : value;
}

void hero_enter_loop(s16 x, s16 y)
{
    hero.state = HERO_LOOP;
    hero.loop_x = x;
    hero.loop_y = y;
    hero.loop_way = POSITION(HERO_X - x) >> 8;
    hero.loop_fast = hero.ground_speed >= ENTRY_SPEED;
    hero.ball = 1;
    hero.crouch = hero.charging = 0;
    hero.lock = 0;
}

static void leave_loop(s16 x)
{
    hero.state = HERO_GROUND;
    hero.shape = SHAPE_SOLID;
    hero.x = POSITION(x);
    hero.y = POSITION(hero.loop_y);
    hero.previous_x = x;
}

void update_loop(void)
{
    u8 angle;
    hero.loop_way += hero.ground_speed;
    if (hero.loop_way <= 0) {
        leave_loop(hero.loop_x - 1);
        return;
    }
    if (hero.loop_way >= WAY_OUT) {
        leave_loop(hero.loop_x + 56);
        return;
    }
    angle = hero.loop_way >= AROUND ? 0 : (u8)(scale((s16)(hero.loop_way >> 8), TURN));
    hero.ground_speed -= scale(hero.loop_fast ? PULL_FAST : PULL_SLOW, sine(angle));
    if (hero.loop_fast && hero.ground_speed < SLOWEST)
        hero.ground_speed = SLOWEST;
    hero.speed_x = scale(hero.ground_speed, sine((u8)(angle + 64)));
    hero.speed_y = -scale(hero.ground_speed, sine(angle));
    hero.x = POSITION(hero.loop_x + scale(BODY, sine(angle)));
    hero.y = POSITION(hero.loop_y - BODY + scale(BODY, sine((u8)(angle + 64))));
    if (hero.loop_way >= AROUND)
        hero.x += STEP(hero.loop_way - AROUND);
}
