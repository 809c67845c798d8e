#include "hud.h"
#include "level.h"
#include "ram.h"
#include "sprites.h"
#include "vdp.h"

/* The display's own copy of its tiles, so that few large sprites show it: every sprite costs an
 * emulator time on each line. Tiles of the 4x2 block run down, then right. */
#define VRAM_HUD_TILES 1504
#define ICON(tile) (TILE_PRIORITY | (tile))

#define ICONS 5
#define ZONE_TENS_TILE 11    /* left blank before 10 */

enum Cell { RING_TENS, RING_ONES, MINUTES, TENS, SECONDS, LIVES, ZONE_TENS, ZONE_ONES, ACT, CELLS };

static const u8 cell_tile[CELLS] = {2, 4, 3, 7, 8, 10, ZONE_TENS_TILE, 12, 14};
static const u16 icons[ICONS][2] = {
    {0, SPRITE_HUD_RING}, {1, SPRITE_HUD_CLOCK}, {5, SPRITE_HUD_COLON}, {9, SPRITE_HUD_LIFE},
    {13, SPRITE_HUD_DASH}};

static u8 wanted[CELLS], shown[CELLS];
static u16 rings, lives, ticks;

static void copy_tile(u16 offset, u16 to)
{
    vdp_copy(sprite_tiles + (offset << 3), (VRAM_HUD_TILES + to) << 5, 8);
}

/* Two cells, tens and ones, of a number up to 99. */
static void show_number(u16 cell, u16 number)
{
    u8 ones = number > 99 ? 99 : (u8)number, tens = 0;
    for (; ones >= 10; ones -= 10)
        tens++;
    wanted[cell] = tens;
    wanted[cell + 1] = ones;
}

static void count_second(void)
{
    ticks = 0;
    if (++wanted[SECONDS] < 10)
        return;
    wanted[SECONDS] = 0;
    if (++wanted[TENS] < 6)
        return;
    wanted[TENS] = 0;
    if (wanted[MINUTES] < 9)
        wanted[MINUTES]++;
}

void hud_reset(void)
{
    u16 i;
    for (i = 0; i < CELLS; i++) {
        wanted[i] = 0;
        shown[i] = 0xFF;
    }
    for (i = 0; i < ICONS; i++)
        copy_tile(icons[i][1], icons[i][0]);
    show_number(ZONE_TENS, ram.zone);
    wanted[ACT] = (u8)ram.act;
    rings = lives = 0xFFFF;
    ticks = 0;
    hud_update();
    hud_upload();
    if (ram.zone < 10)
        vdp_fill((VRAM_HUD_TILES + ZONE_TENS_TILE) << 5, 16, 0);
    sprites_begin(0);
    sprites_put(16, 12, SPRITE_SIZE(4, 2), ICON(VRAM_HUD_TILES));
    sprites_put(48, 20, SPRITE_SIZE(1, 1), ICON(VRAM_HUD_TILES + 8));
    sprites_put(288, 12, SPRITE_SIZE(2, 1), ICON(VRAM_HUD_TILES + 9));
    sprites_put(272, 22, SPRITE_SIZE(4, 1), ICON(VRAM_HUD_TILES + 11));
}

void hud_update(void)
{
    if (ram.rings != rings) {
        rings = ram.rings;
        show_number(RING_TENS, rings);
    }
    if (ram.lives != lives) {
        lives = ram.lives;
        wanted[LIVES] = lives > 9 ? 9 : (u8)lives;
    }
    if (ram.mode == MODE_PLAY && ++ticks == 60)
        count_second();
}

void hud_upload(void)
{
    u16 i;
    for (i = 0; i < CELLS; i++)
        if (shown[i] != wanted[i]) {
            shown[i] = wanted[i];
            copy_tile(SPRITE_DIGITS + wanted[i], cell_tile[i]);
        }
}

void text_put(const char *text, s16 x, s16 y)
{
    for (; *text; text++, x += 8)
        if (*text >= 'A' && *text <= 'Z')
            sprites_put(x, y, SPRITE_SIZE(1, 1),
                        ICON(VRAM_SPRITE_TILES + SPRITE_LETTERS + *text - 'A'));
}
