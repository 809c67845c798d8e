/* The video chip in software, for the engine: in place of src/vdp.c and src/sound.c. */
#include "host.h"
#include "level.h"
#include "sound.h"

#define HUD_TILES SHARED_TILES

KEPT Art *arts;

u8 art_index;
u16 plane_a[64 * 32], alias[OWN_TILES];
s16 scroll_a_x, scroll_a_y, scroll_b_x, scroll_b_y;
Sprite sprite_table[MAX_SPRITES];
volatile u16 vblank_count;

static Sprite shadow[MAX_SPRITES];
static Sprite *next_sprite;
static u16 sprite_words, last_sprite;

/* Three bits of a colour as the emulator shows them: five of red and blue, six of green. */
static const u8 levels[8] = {0, 32, 64, 96, 136, 168, 200, 232};
static const u8 levels_green[8] = {0, 32, 68, 100, 136, 168, 204, 236};

void vdp_init(void)
{
    u16 i;
    arts = allocate(sizeof(Art) * ARTS);
    for (i = 0; i < MAX_SPRITES; i++)
        shadow[i].link = (u8)(i + 1);
}

/* Eight colours of four bits, the leftmost highest, to bytes, the leftmost lowest. */
static u64 row_of(u32 word)
{
    u64 row = __builtin_bswap32(word);
    row = (row | row << 16) & 0x0000FFFF0000FFFFULL;
    row = (row | row << 8) & 0x00FF00FF00FF00FFULL;
    return (row >> 4 & 0x000F000F000F000FULL) | (row & 0x000F000F000F000FULL) << 8;
}

/* The art whose level tiles these are; a new one takes all else from the one before. */
static void choose_art(const void *tiles)
{
    u8 i, view;
    for (i = 0; i < ARTS && arts[i].source[LEVEL] && arts[i].source[LEVEL] != tiles; i++)
        ;
    if (i == ARTS)
        __builtin_trap();
    if (!arts[i].source[LEVEL]) {
        memcpy(arts + i, arts + art_index, __builtin_offsetof(Art, view));
        for (view = 0; view < VIEWS; view++)
            memcpy(arts[i].view[view].look, arts[art_index].view[view].look, 64);
        arts[i].source[LEVEL] = 0;
    }
    art_index = i;
}

/* Whether this part of the art has to be loaded; then what was made of the old one is void. */
static u16 is_new(u16 part, const void *source)
{
    Art *art = arts + art_index;
    u16 i;
    if (art->source[part] == source)
        return 0;
    art->source[part] = source;
    for (i = 0; i < VIEWS; i++) {
        memset(art->view[i].baked, 255, SHARED_TILES);
        art->view[i].back_made = 0;
    }
    return 1;
}

void vdp_copy(const u32 *source, u16 address, u16 longs)
{
    u16 tile = address >> 5, i;
    u64 *to;
    if (address >= PLANE_B) {
        if (is_new(MAP, source))
            memcpy(arts[art_index].back_map + ((address - PLANE_B) >> 1), source, longs * 4u);
    } else if (address >= PLANE_A)
        memcpy(plane_a + ((address - PLANE_A) >> 1), source, longs * 4u);
    else if (tile >= HUD_TILES) {
        u32 first = (u32)(source - sprite_tiles) >> 3;
        if (first + (longs >> 3) > sprite_tile_count || tile + (longs >> 3) > HUD_TILES + OWN_TILES)
            __builtin_trap(); /* tiles of the display are copies of sprites' */
        for (i = 0; i < longs >> 3; i++)
            alias[tile - HUD_TILES + i] = (u16)(VRAM_SPRITE_TILES + first + i);
    } else {
        if (tile == VRAM_LEVEL_TILES)
            choose_art(source);
        if (!is_new(tile == VRAM_LEVEL_TILES ? LEVEL : tile == VRAM_BACK_TILES ? BACK : SPRITES, source))
            return;
        for (to = arts[art_index].tile + (tile << 3); longs--;)
            *to++ = row_of(*source++);
    }
}

void vdp_upload(const void *source, u16 address, u16 words, u16 step)
{
    const u16 *from = source;
    for (; words--; address += step)
        if (address < PLANE_A || address >= PLANE_A + sizeof plane_a)
            __builtin_trap();
        else
            plane_a[(address - PLANE_A) >> 1] = *from++;
}

/* Tile 0 is blank anyway. */
void vdp_fill(u16 address, u16 words, u16 value)
{
    u16 i;
    for (i = 0; address >= PLANE_A && i < words; i++)
        plane_a[(u16)(((address - PLANE_A) >> 1) + i) & 2047] = value;
    for (i = 0; address < PLANE_A && address >> 5 >= HUD_TILES && i < words >> 4; i++)
        alias[(address >> 5) - HUD_TILES + i] = 0;
}

void vdp_palette(const u16 *colours)
{
    u16 i;
    if (!is_new(PALETTE, colours))
        return;
    for (i = 0; i < 64; i++) {
        Baked *view = arts[art_index].view;
        u32 red = levels[colours[i] >> 1 & 7], green = levels_green[colours[i] >> 5 & 7];
        u32 blue = levels[colours[i] >> 9 & 7];
        view[RED].look[i] = (u8)red;
        view[GREEN].look[i] = (u8)green;
        view[BLUE].look[i] = (u8)blue;
        view[GREY].look[i] = (u8)((red * 9798 + green * 19235 + blue * 3735 + 16384) >> 15);
    }
}

void vdp_scroll(s16 a_x, s16 a_y, s16 b_x, s16 b_y)
{
    scroll_a_x = a_x;
    scroll_a_y = a_y;
    scroll_b_x = b_x;
    scroll_b_y = b_y;
}

void sprites_begin(u16 first)
{
    next_sprite = shadow + first;
}

void sprites_put(s16 x, s16 y, u8 size, u16 tile)
{
    Sprite *sprite = next_sprite;
    if (sprite == shadow + MAX_SPRITES || x <= -32 || x >= 320 || y <= -32 || y >= 224)
        return;
    *sprite = (Sprite){(u16)(y + 128), size, sprite->link, tile, (u16)(x + 128)};
    next_sprite = sprite + 1;
}

void sprites_end(void)
{
    if (next_sprite == shadow) {
        shadow[0].x = shadow[0].y = 0;
        next_sprite = shadow + 1;
    }
    shadow[last_sprite].link = (u8)(last_sprite + 1);
    last_sprite = (u16)(next_sprite - shadow) - 1;
    shadow[last_sprite].link = 0;
    sprite_words = (u16)((last_sprite + 1) << 2);
}

void sprites_upload(void)
{
    memcpy(sprite_table, shadow, sprite_words * 2u);
}

/* What takes time or makes noise. */
void vdp_display(u16 on) { (void)on; }
u16 vdp_line(void) { return 0; }
u16 wait_vblank(void) { return 1; }
u16 read_pad(void) { return 0; }
void sound_update(void) {}
