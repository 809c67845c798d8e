/* The hero: 16.8 fixed point, one update a frame. */
#ifndef PLAYER_H
#define PLAYER_H

#include "types.h"

enum HeroState { HERO_GROUND, HERO_AIR, HERO_LOOP, HERO_HURT, HERO_DEAD };

typedef struct {
    s32 x, y;            /* feet centre, see POSITION */
    s16 speed_x, speed_y;
    s16 ground_speed;    /* along the surface */
    u8 state;            /* enum HeroState */
    u8 shape;            /* of the surface under the feet */
    u8 ball;             /* rolling or jumping: attacks */
    u8 crouch;
    u8 charging;
    u8 facing_left;
    u8 jumped;           /* in a jump that letting go cuts short */
    u8 blink;            /* frames of safety after a hurt */
    u8 lock;             /* frames that a spring or pad steers */
    u8 wet;
    u8 loop_fast;        /* comes round */
    s16 loop_x, loop_y;  /* foot of the loop he is in */
    s32 loop_way;        /* along it, pixels * 256 */
    s16 previous_x;      /* pixels, before this frame */
    s16 wind;            /* pixels / 256 a frame^2 */
    s16 charge;          /* spin dash, pixels / 256 a frame */
    u16 stride;          /* animation phase */
    u16 pad, pressed;    /* buttons held, and newly held */
} Hero;

extern Hero hero;

#define HERO_X PIXEL(hero.x)
#define HERO_Y PIXEL(hero.y)

void hero_reset(u16 x, u16 y);
void hero_update(u16 pad);
void hero_hurt(s16 from_x);
void hero_kill(void);
void hero_bounce(void);
void hero_spring(s16 speed);
/* Thrown along the ground or sideways in the air: speed with its sign. */
void hero_launch(s16 speed, u8 frames);
/* Moved by what he stands on. */
void hero_carry(s16 by_x, s16 by_y);
void hero_enter_loop(s16 x, s16 y);
/* Stand still with the right side at a wall. */
void hero_stop_at(s16 x);
s16 hero_height(void);
void hero_draw(void);

#endif
