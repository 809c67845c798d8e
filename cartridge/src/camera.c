#include "vdp.h"
#include "world.h"

#define PLANE_COLUMNS 32     /* metatiles in plane A */
#define PLANE_ROWS 16
#define LEFT_MARGIN 5        /* metatiles kept ready to the left of the screen */
#define CAMERA_STEP 15       /* at most one new column and row a frame */

s16 camera_x, camera_y;

static u16 column_words[2][PLANE_ROWS * 2], row_words[2][PLANE_COLUMNS * 2];
static s16 column_pending, row_pending;  /* index in the plane, or -1 */
static s16 drawn_column, drawn_row;      /* metatile of the camera's corner when last drawn */

static void put_metatile(u16 *left, u16 *right, u16 down, s16 column, s16 row)
{
    const u16 *words = zone->metatiles;
    if ((u16)column < act->width && (u16)row < ROWS)
        words += (u16)act->map[((u16)column << 5) + row] << 2;
    left[0] = words[0];
    right[0] = words[1];
    left[down] = words[2];
    right[down] = words[3];
}

static void prepare_column(s16 column, s16 first_row)
{
    s16 i, row;
    for (i = 0, row = first_row; i < PLANE_ROWS; i++, row++) {
        u16 place = (u16)(row & (PLANE_ROWS - 1)) << 1;
        put_metatile(&column_words[0][place], &column_words[1][place], 1, column, row);
    }
    column_pending = column & (PLANE_COLUMNS - 1);
}

static void prepare_row(s16 row, s16 first_column)
{
    s16 i, column;
    for (i = 0, column = first_column; i < PLANE_COLUMNS; i++, column++) {
        u16 *place = row_words[0] + ((u16)(column & (PLANE_COLUMNS - 1)) << 1);
        put_metatile(place, place + 1, PLANE_COLUMNS * 2, column, row);
    }
    row_pending = row & (PLANE_ROWS - 1);
}

static void upload_column(void)
{
    u16 address = PLANE_A + ((u16)column_pending << 2);
    if (column_pending < 0)
        return;
    vdp_upload(column_words[0], address, PLANE_ROWS * 2, 128);
    vdp_upload(column_words[1], address + 2, PLANE_ROWS * 2, 128);
    column_pending = -1;
}

static void upload_row(void)
{
    if (row_pending < 0)
        return;
    vdp_upload(row_words[0], PLANE_A + (u16)(row_pending << 8), PLANE_COLUMNS * 4, 2);
    row_pending = -1;
}

void world_upload(void)
{
    s16 back_y = camera_y >> 3;
    upload_column();
    upload_row();
    vdp_scroll(camera_x, camera_y, camera_x >> 2, back_y > 32 ? 32 : back_y);
}

static s16 clamp(s16 value, s16 low, s16 high)
{
    return value < low ? low : value > high ? high : value;
}

static s16 limit_camera_x(s16 x)
{
    return clamp(x, 0, (s16)(act->width << 4) - SCREEN_WIDTH);
}

static s16 limit_camera_y(s16 y)
{
    return clamp(y, 0, ROWS * METATILE - SCREEN_HEIGHT);
}

void camera_reset(s16 x, s16 y)
{
    s16 i;
    camera_x = limit_camera_x(x - 152);
    camera_y = limit_camera_y(y - 136);
    drawn_column = camera_x >> 4;
    drawn_row = camera_y >> 4;
    for (i = 0; i < PLANE_COLUMNS; i++) {
        prepare_column(drawn_column - LEFT_MARGIN + i, drawn_row);
        upload_column();
    }
    row_pending = -1;
}

/* The hero moves freely in a small window before the camera moves, more so in the air. */
void camera_follow(s16 x, s16 y, u16 on_ground)
{
    s16 slack = on_ground ? 4 : 32;
    s16 away, column, row;

    away = x - camera_x - 152;
    away = away > 8 ? away - 8 : away < -8 ? away + 8 : 0;
    camera_x = limit_camera_x(camera_x + clamp(away, -CAMERA_STEP, CAMERA_STEP));
    away = y - camera_y - 136;
    away = away > slack ? away - slack : away < -slack ? away + slack : 0;
    if (on_ground)
        away = clamp(away, -8, 8);
    camera_y = limit_camera_y(camera_y + clamp(away, -CAMERA_STEP, CAMERA_STEP));

    column = camera_x >> 4;
    row = camera_y >> 4;
    if (column != drawn_column)
        prepare_column(column > drawn_column ? column + PLANE_COLUMNS - LEFT_MARGIN - 1
                                             : column - LEFT_MARGIN, row);
    drawn_column = column;
    if (row != drawn_row)
        prepare_row(row > drawn_row ? row + PLANE_ROWS - 1 : row, column - LEFT_MARGIN);
    drawn_row = row;
}

/* The pictures of the act's zone. */
void camera_load(void)
{
    vdp_fill(0, 16, 0);
    vdp_copy(zone->tiles, VRAM_LEVEL_TILES * 32, zone->tile_count << 3);
    vdp_copy(zone->back_tiles, VRAM_BACK_TILES * 32, zone->back_tile_count << 3);
    vdp_copy(sprite_tiles, VRAM_SPRITE_TILES * 32, sprite_tile_count << 3);
    vdp_copy((const u32 *)zone->back_map, PLANE_B, 64 * 32 / 2);
    vdp_palette(zone->palette);
    column_pending = row_pending = -1;
}
