/* The tables that the game has in its ROM, here filled from Python. */
#define acts const_acts
#define act_count const_act_count
#define metatile_shape const_metatile_shape
#define zones const_zones
#include "level.h"
#undef acts
#undef act_count
#undef metatile_shape
#undef zones

static const u16 blank[256 * 4];
Act acts[256];
u8 act_count = 255;
u8 metatile_shape[256];
Zone zones[64];
const u32 sprite_tiles[1], logo_tiles[1];
const u16 sprite_tile_count, logo_tile_count, logo_map[LOGO_ROWS * LOGO_COLUMNS];

void sim_shapes(const u8 *shapes)
{
    u16 i;
    for (i = 0; i < 256; i++)
        metatile_shape[i] = shapes[i];
}

void sim_act(u16 index, const u16 *numbers, const u8 *map, const Spawn *spawns)
{
    Act *act = &acts[index];
    act->zone = (u8)numbers[0];
    act->number = (u8)numbers[1];
    act->width = numbers[2];
    act->height = numbers[3];
    act->map = map;
    act->spawns = spawns;
    act->spawn_count = numbers[4];
    act->start_x = numbers[5];
    act->start_y = numbers[6];
    act->end_x = numbers[7];
    act->water_y = numbers[8];
    zones[act->zone].metatiles = blank;
    zones[act->zone].metatile_count = 256;
}
