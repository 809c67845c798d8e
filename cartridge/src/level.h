/* The contract between the engine and the level generator (cartridge/levels), version 2.
 * Everything declared `extern` here is defined in the C files of src/generated. */
#ifndef LEVEL_H
#define LEVEL_H

#include "types.h"

/* Where things lie in video memory, in tiles of 32 bytes. The words in Zone.metatiles,
 * Zone.back_map and logo_map hold these absolute tile numbers (with palette, flip, priority). */
#define VRAM_LEVEL_TILES 1   /* Zone.tiles: 1..639; tile 0 stays blank; on the title: logo_tiles */
#define VRAM_BACK_TILES 640  /* Zone.back_tiles: 640..1023 */
#define VRAM_SPRITE_TILES 1024 /* sprite_tiles: 1024..1503, numbered by sprites.h */

#define METATILE 16          /* pixels */
#define MAX_COLUMNS 800      /* metatiles, the widest act */
#define LOGO_COLUMNS 28      /* tiles */
#define LOGO_ROWS 10

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

/* Solid objects (breakable, gate) stand in one column of metatiles: x % 16 == 8, y % 16 == 0.
 * A phase is in 1/256 of the period and a period in 8 frames; both count frame_counter. */
enum SpawnKind {
    SPAWN_WALKER = 1,        /* patrols; arg = half range in metatiles, 1..8 */
    SPAWN_SPRING_UP = 2,     /* arg = strength 0..2: 9, 11, 13 pixels a frame */
    SPAWN_RING = 3,
    SPAWN_HOPPER = 4,        /* jumps in place */
    SPAWN_END_POST = 5,
    SPAWN_SPRING_FORWARD = 6, /* to the right; arg = strength 0..2: 8, 10, 12 pixels a frame */
    SPAWN_SPRING_BACK = 7,   /* to the left, likewise */
    SPAWN_PLATFORM_X = 8,    /* arg = half range in 8 pixels, 1..16; arg2 = period; arg3 = phase */
    SPAWN_PLATFORM_Y = 9,    /* likewise, up and down; y = its top at the middle of its way */
    SPAWN_CRUMBLE = 10,      /* falls arg * 4 frames after being stood on; back 240 frames later */
    SPAWN_PISTON = 11,       /* arg = period, out for its second half; arg2 = phase;
                                arg3 = height in metatiles, 1..4 */
    SPAWN_BREAKABLE = 12,    /* wall, arg metatiles high, 2..6; a rolling hero breaks it */
    SPAWN_SWITCH = 13,       /* arg = id 0..7: touched, opens the gates of this id for good */
    SPAWN_GATE = 14,         /* arg = id; arg2 = height in metatiles, 2..8 */
    SPAWN_CHECKPOINT = 15,
    SPAWN_SHOOTER = 16,      /* stands; shoots towards the hero every arg * 8 frames */
    SPAWN_JUMPER = 17,       /* walks towards the hero and leaps; arg = half range in metatiles */
    SPAWN_BOOSTER = 18,      /* pad, 32 wide: 10 pixels a frame to the right */
    SPAWN_LOOP = 19,         /* x, y: foot, the lowest point of a circle of radius 48 */
    SPAWN_WIND = 20          /* from x to x + arg * 16, any y; arg2 = force, signed: pixels / 256 a
                                frame in the air, half of it on the ground; at most 16 an act */
};

/* Sorted by x; feet centre, pixels. Platforms and crumbles: centre of the top edge, 48 wide. */
typedef struct { u8 kind, arg; u16 x, y; u8 arg2, arg3; } Spawn;

typedef struct {
    u8 zone, number;         /* zone: index into zones; number: 1.. */
    u16 width, height;       /* metatiles; height is 32 */
    const u8 *map;           /* column-major: map[col * height + row] */
    const Spawn *spawns;
    u16 spawn_count;         /* at most 255 */
    u16 start_x, start_y;    /* feet centre, pixels */
    u16 end_x;               /* crossing it finishes the act */
    u16 water_y;             /* pixel row of the water's surface; 0xFFFF (or 0): no water */
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
extern const u32 logo_tiles[];       /* title.c: at most 280, from VRAM_LEVEL_TILES on */
extern const u16 logo_tile_count;
extern const u16 logo_map[];         /* [LOGO_ROWS][LOGO_COLUMNS], with zone 0's palette */

#endif
