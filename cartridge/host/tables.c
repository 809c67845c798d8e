/* The tables that the cartridge has in its ROM, filled from a pack (levels/pack.py). */
#define acts const_acts
#define act_count const_act_count
#define metatile_shape const_metatile_shape
#define zones const_zones
#define sprite_tiles const_sprite_tiles
#define sprite_tile_count const_sprite_tile_count
#define logo_tiles const_logo_tiles
#define logo_tile_count const_logo_tile_count
#define logo_map const_logo_map
#include "level.h"
#undef acts
#undef act_count
#undef metatile_shape
#undef zones
#undef sprite_tiles
#undef sprite_tile_count
#undef logo_tiles
#undef logo_tile_count
#undef logo_map
#include "host.h"

#define MAGIC 0x32504442 /* BDP2 */
#define MAX_ACTS 255
#define MAX_ZONES 15
#define SPRITE_TILES (SHARED_TILES - VRAM_SPRITE_TILES)
#define LOGO_TILES 280

/* This file comes first in the link and has no other .data. */
u8 state_begin[16] = {1};

KEPT Act acts[MAX_ACTS];
KEPT u8 act_count;
KEPT u8 metatile_shape[256];
KEPT Zone zones[MAX_ZONES];
KEPT u32 sprite_tiles[SPRITE_TILES * 8];
KEPT u16 sprite_tile_count;
KEPT u32 logo_tiles[LOGO_TILES * 8];
KEPT u16 logo_tile_count;
KEPT u16 logo_map[LOGO_ROWS * LOGO_COLUMNS];

/* Places are bytes from the pack's start. */
typedef struct {
    u32 magic, acts, zones, sprite_tiles, logo_tiles;
    u32 act_at, zone_at, shape_at, sprite_at, logo_at, logo_map_at, names_at, names_bytes;
} Head;
typedef struct { u32 zone, number, width, map, spawns, count, start_x, start_y, end_x, water_y; } ActRow;
typedef struct { u32 palette, tiles, tile_count, metatiles, metatile_count, back, back_count, map; } ZoneRow;

/* The pack stays where it is. Returns how many acts it has; 0: it is none. */
EXPORT(load) u32 load(const u8 *pack)
{
    const Head *head = (const Head *)pack;
    const ActRow *a = (const ActRow *)(pack + head->act_at);
    const ZoneRow *z = (const ZoneRow *)(pack + head->zone_at);
    u32 i;
    if (head->magic != MAGIC || head->acts > MAX_ACTS || head->zones > MAX_ZONES
        || head->sprite_tiles > SPRITE_TILES || head->logo_tiles > LOGO_TILES)
        return 0;
    act_count = (u8)head->acts;
    sprite_tile_count = (u16)head->sprite_tiles;
    logo_tile_count = (u16)head->logo_tiles;
    memcpy(metatile_shape, pack + head->shape_at, sizeof metatile_shape);
    memcpy(sprite_tiles, pack + head->sprite_at, head->sprite_tiles * 32);
    memcpy(logo_tiles, pack + head->logo_at, head->logo_tiles * 32);
    memcpy(logo_map, pack + head->logo_map_at, sizeof logo_map);
    for (i = 0; i < head->acts; i++, a++)
        acts[i] = (Act){(u8)a->zone, (u8)a->number, (u16)a->width, 32, pack + a->map,
                        (const Spawn *)(pack + a->spawns), (u16)a->count, (u16)a->start_x,
                        (u16)a->start_y, (u16)a->end_x, (u16)a->water_y};
    for (i = 0; i < head->zones; i++, z++)
        zones[i] = (Zone){(const u16 *)(pack + z->palette), (const u32 *)(pack + z->tiles),
                          (u16)z->tile_count, (const u16 *)(pack + z->metatiles),
                          (u16)z->metatile_count, (const u32 *)(pack + z->back),
                          (u16)z->back_count, (const u16 *)(pack + z->map)};
    return act_count;
}
