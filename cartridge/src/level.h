/* The contract between the engine and the level generator (cartridge/levels).
 * Everything declared `extern` here is defined in the C files of src/generated. */
#ifndef LEVEL_H
#define LEVEL_H

#include "types.h"

/* Where things lie in video memory, in tiles of 32 bytes. The words in Zone.metatiles and
 * Zone.back_map hold these absolute tile numbers (palette, flip and priority bits included). */
#define VRAM_LEVEL_TILES 1   /* Zone.tiles: 1..639; tile 0 stays blank */
#define VRAM_BACK_TILES 640  /* Zone.back_tiles: 640..1023 */
#define VRAM_SPRITE_TILES 1024 /* sprite_tiles: 1024..1503, numbered by sprites.h */

#define METATILE 16          /* pixels */

enum Shape {
    SHAPE_EMPTY = 0,
    SHAPE_SOLID = 1,
    SHAPE_TOP_ONLY = 2,      /* one-way platform */
    SHAPE_HURT = 3,          /* solid; its top hurts */
    SHAPE_UP45 = 4,          /* "/" : surface height h(x) = x, from the metatile's bottom */
    SHAPE_DOWN45 = 5,        /* "\" : h = 15 - x */
    SHAPE_UP22_LOW = 6,      /* h = x / 2 */
    SHAPE_UP22_HIGH = 7,     /* h = 8 + x / 2 */
    SHAPE_DOWN22_HIGH = 8,   /* h = 15 - x / 2 */
    SHAPE_DOWN22_LOW = 9     /* h = 7 - x / 2 */
};

enum SpawnKind {
    SPAWN_WALKER = 1,        /* patrols; arg = half range in metatiles */
    SPAWN_SPRING_UP = 2,     /* arg = strength 0..2 */
    SPAWN_RING = 3,
    SPAWN_HOPPER = 4,        /* jumps in place */
    SPAWN_END_POST = 5
};

typedef struct { u8 kind; u8 arg; u16 x; u16 y; } Spawn; /* sorted by x; feet centre, pixels */

typedef struct {
    u8 zone, number;         /* zone: index into zones; number: 1.. */
    u16 width, height;       /* metatiles; height is 32 */
    const u8 *map;           /* column-major: map[col * height + row] */
    const Spawn *spawns;
    u16 spawn_count;
    u16 start_x, start_y;    /* feet centre, pixels */
    u16 end_x;               /* crossing it finishes the act */
} Act;

typedef struct {
    const u16 *palette;      /* 4 lines x 16 colours, 0000BBB0GGG0RRR0 */
    const u32 *tiles;        /* 8 u32 a tile, 4 bits a pixel */
    u16 tile_count;
    const u16 *metatiles;    /* [metatile_count][4] words TL, TR, BL, BR */
    u16 metatile_count;
    const u32 *back_tiles;
    u16 back_tile_count;
    const u16 *back_map;     /* [32 rows][64 columns] */
} Zone;

extern const Zone zones[];
extern const u8 zone_count;
extern const Act acts[];
extern const u8 act_count;
extern const u8 metatile_shape[256]; /* metatile id -> enum Shape, the same ids in all zones */
extern const u32 sprite_tiles[];     /* laid out as sprites.h says */
extern const u16 sprite_tile_count;

#endif
