/* What the files about objects share: creatures.c, pads.c, solids.c, and objects.c above them. */
#ifndef OBJECT_H
#define OBJECT_H

#include "arith.h"
#include "level.h"
#include "objects.h"
#include "player.h"
#include "ram.h"
#include "sound.h"
#include "sprites.h"
#include "vdp.h"
#include "world.h"

#define GONE 0
#define PUFF 21              /* kind of a destroyed enemy, for a moment */
#define RUBBLE 22            /* kind of a broken wall, for a moment */
#define KINDS 23

typedef struct {
    u8 kind, arg, arg2, arg3;
    u8 timer, left, stage;
    s32 x, y;                /* feet centre, see POSITION */
    s16 home_x, home_y;
    s16 speed;
    u16 since;               /* frame_counter when the stage began */
} Object;

#define BASE (VRAM_SPRITE_TILES | TILE_PALETTE(1))

/* The hero's box is 16 wide and stands on his feet; the object's likewise. */
u16 touches_hero(const Object *object, s16 half_width, s16 height);
u16 hero_is_in_play(void);
/* 0..period - 1: where in its period an object is; phase in 1/256 of it. */
u16 phase_of(u16 period, u8 phase);

void walk(Object *object);
void hop(Object *object);
void shoot(Object *object);
void jump_about(Object *object);
void vanish(Object *object);
void draw_walker(const Object *object, s16 x, s16 y);
void draw_hopper(const Object *object, s16 x, s16 y);
void draw_shooter(const Object *object, s16 x, s16 y);
void draw_jumper(const Object *object, s16 x, s16 y);
void draw_puff(const Object *object, s16 x, s16 y);
void shots_clear(void);
void shots_update(void);
void shots_draw(void);

void push_up(Object *object);
void push_aside(Object *object);
void boost(Object *object);
void loop_round(Object *object);
void collect(Object *object);
void pass_end(Object *object);
void pass_checkpoint(Object *object);
void press_switch(Object *object);
void draw_spring(const Object *object, s16 x, s16 y);
void draw_side_spring(const Object *object, s16 x, s16 y);
void draw_booster(const Object *object, s16 x, s16 y);
void draw_ring(const Object *object, s16 x, s16 y);
void draw_end(const Object *object, s16 x, s16 y);
void draw_checkpoint(const Object *object, s16 x, s16 y);
void draw_switch(const Object *object, s16 x, s16 y);
void winds_load(void);
void winds_update(void);
void winds_draw(void);

void move_platform(Object *object);
void crumble(Object *object);
void thrust(Object *object);
void build_wall(Object *object);
void open_gate(Object *object);
void draw_platform(const Object *object, s16 x, s16 y);
void draw_crumble(const Object *object, s16 x, s16 y);
void draw_piston(const Object *object, s16 x, s16 y);
void draw_wall(const Object *object, s16 x, s16 y);
void draw_gate(const Object *object, s16 x, s16 y);
void draw_rubble(const Object *object, s16 x, s16 y);

#endif
