/* The act: its surfaces (world.c), and the part of it that the video chip shows (camera.c). */
#ifndef WORLD_H
#define WORLD_H

#include "level.h"

#define NO_FLOOR 0x7FFF
#define ROWS 32              /* every act is 32 metatiles high */
#define SCREEN_WIDTH 320
#define SCREEN_HEIGHT 224
#define SHAPE_BREAKABLE 10   /* a block that a rolling hero breaks; only objects make it */
#define MAX_LEDGES 8

typedef struct { s16 y; u8 shape; } Floor;

/* The top of a platform that moves: one-way. */
typedef struct { s16 left, right, top, rise; } Ledge;

extern const Act *act;
extern const Zone *zone;
extern s16 camera_x, camera_y;
extern const s16 shape_cos[10], shape_sin[10]; /* of the surface, times 256; y grows downward */

void world_load(const Act *loaded);
u8 world_shape(s16 x, s16 y);
/* Change `rows` metatiles from (x, y) upward: a wall that comes or goes. */
void world_set(s16 x, s16 y, u16 rows, u8 shape);
/* The surface nearest below or above y in its column; one-way platforms count from above only. */
Floor world_floor(s16 x, s16 y, s16 previous_y);
u16 is_block(u8 shape);
u16 is_slope(u8 shape);
u16 is_wall(s16 x, s16 y);
/* Platforms are told anew every frame; rise is how far this one has just moved up. */
void ledges_clear(void);
void ledge_add(s16 left, s16 right, s16 top, s16 rise);

void camera_load(void);
void camera_reset(s16 x, s16 y);
void camera_follow(s16 x, s16 y, u16 on_ground);
void world_upload(void);

#endif
