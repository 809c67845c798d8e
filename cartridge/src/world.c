#include "world.h"

const Act *act;
const Zone *zone;

/* The shape of every cell, column by column; walls that come and go are written into it. */
static u8 shapes[MAX_COLUMNS * ROWS];
static Ledge ledges[MAX_LEDGES];
static u16 ledge_count;

const s16 shape_cos[10] = {256, 256, 256, 256, 181, 181, 229, 229, 229, 229};
const s16 shape_sin[10] = {0, 0, 0, 0, -181, 181, -114, -114, 114, 114};

static const u8 heights[10][16] = {
    {0},
    {16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16},
    {16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16},
    {16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16},
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    {15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0},
    {0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7},
    {8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13, 14, 14, 15, 15},
    {15, 15, 14, 14, 13, 13, 12, 12, 11, 11, 10, 10, 9, 9, 8, 8},
    {7, 7, 6, 6, 5, 5, 4, 4, 3, 3, 2, 2, 1, 1, 0, 0},
};

/* Outside: walls left and right, air above, nothing below. */
static u8 shape_of(s16 column, s16 row)
{
    if ((u16)column >= act->width)
        return SHAPE_SOLID;
    if ((u16)row >= ROWS)
        return SHAPE_EMPTY;
    return shapes[((u16)column << 5) + row];
}

u8 world_shape(s16 x, s16 y)
{
    return shape_of(x >> 4, y >> 4);
}

void world_set(s16 x, s16 y, u16 rows, u8 shape)
{
    s16 row = (y >> 4) - 1;
    for (; rows--; row--)
        if ((u16)(x >> 4) < act->width && (u16)row < ROWS)
            shapes[((u16)(x >> 4) << 5) + row] = shape;
}

u16 is_block(u8 shape)
{
    return shape == SHAPE_SOLID || shape == SHAPE_HURT || shape == SHAPE_BREAKABLE;
}

u16 is_slope(u8 shape)
{
    return shape >= SHAPE_UP45 && shape <= SHAPE_DOWN22_LOW;
}

static u8 floor_shape(s16 column, s16 row)
{
    u8 shape = shape_of(column, row);
    return shape == SHAPE_BREAKABLE ? SHAPE_SOLID : shape;
}

static Floor map_floor(s16 x, s16 y, s16 previous_y)
{
    s16 column = x >> 4, row = y >> 4;
    s16 top = row << 4;
    Floor found;
    u8 height, above;

    found.shape = floor_shape(column, row);
    if (found.shape == SHAPE_TOP_ONLY && previous_y > top)
        found.shape = SHAPE_EMPTY;
    if (found.shape == SHAPE_EMPTY) {
        found.shape = floor_shape(column, row + 1);
        height = heights[found.shape][x & 15];
        found.y = found.shape == SHAPE_EMPTY ? NO_FLOOR : top + 32 - height;
        return found;
    }
    height = heights[found.shape][x & 15];
    if (height == 16 && found.shape != SHAPE_TOP_ONLY) {
        above = floor_shape(column, row - 1);
        if (above != SHAPE_EMPTY && above != SHAPE_TOP_ONLY) {
            found.shape = above;
            found.y = top - heights[above][x & 15];
            return found;
        }
    }
    found.y = top + 16 - height;
    return found;
}

Floor world_floor(s16 x, s16 y, s16 previous_y)
{
    Floor found = map_floor(x, y, previous_y);
    const Ledge *ledge = ledges;
    u16 count = ledge_count;
    for (; count--; ledge++)
        if (x >= ledge->left && x < ledge->right && previous_y <= ledge->top + ledge->rise
            && ledge->top < found.y) {
            found.y = ledge->top;
            found.shape = SHAPE_TOP_ONLY;
        }
    return found;
}

void ledges_clear(void)
{
    ledge_count = 0;
}

void ledge_add(s16 left, s16 right, s16 top, s16 rise)
{
    if (ledge_count < MAX_LEDGES)
        ledges[ledge_count++] = (Ledge){left, right, top, rise};
}

/* Only whole blocks are walls; one that carries a slope is ground. */
u16 is_wall(s16 x, s16 y)
{
    s16 column = x >> 4, row = y >> 4;
    return is_block(shape_of(column, row)) && !is_slope(shape_of(column, row - 1));
}

void world_load(const Act *loaded)
{
    const u8 *cell = loaded->map;
    u8 *shape = shapes;
    u16 count = (u16)(loaded->width << 5);
    act = loaded;
    zone = &zones[act->zone];
    while (count--)
        *shape++ = metatile_shape[*cell++];
    ledge_count = 0;
    camera_load();
}
