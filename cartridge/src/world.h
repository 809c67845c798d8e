/* The act: its map, its surfaces, and the part of it that the video chip shows. */
#ifndef WORLD_H
#define WORLD_H

#include "level.h"

#define NO_FLOOR 0x7FFF
#define ROWS 32              /* every act is 32 metatiles high */
#define SCREEN_WIDTH 320
#define SCREEN_HEIGHT 224

typedef struct { s16 y; u8 shape; } Floor;

extern const Act *act;
extern const Zone *zone;
extern s16 camera_x, camera_y;
extern const s16 shape_cos[10], shape_sin[10]; /* of the surface, times 256; y grows downward */

void world_load(const Act *loaded);
u8 world_shape(s16 x, s16 y);
/* The surface nearest below or above y in its column; one-way platforms count from above only. */
Floor world_floor(s16 x, s16 y, s16 previous_y);
u16 is_wall(s16 x, s16 y);
void camera_reset(s16 x, s16 y);
void camera_follow(s16 x, s16 y, u16 on_ground);
void world_upload(void);

#endif
