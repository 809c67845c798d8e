#include "vdp.h"

#define VDP_DATA (*(volatile u16 *)0xC00000)
#define VDP_DATA32 (*(volatile u32 *)0xC00000)
#define VDP_CTRL (*(volatile u16 *)0xC00004)
#define VDP_CTRL32 (*(volatile u32 *)0xC00004)
#define VDP_HV (*(volatile u16 *)0xC00008)
#define PSG (*(volatile u8 *)0xC00011)
#define PAD_DATA (*(volatile u8 *)0xA10003)
#define PAD_CTRL (*(volatile u8 *)0xA10009)

#define CMD_VRAM 0x40000000UL
#define CMD_CRAM 0xC0000000UL
#define CMD_VSRAM 0x40000010UL
#define CMD_DMA 0x80UL
#define REG(n, v) (VDP_CTRL = (u16)(0x8000 | (n) << 8 | (v)))

volatile u16 vblank_count;
static u16 vblank_seen;
static Sprite shadow[MAX_SPRITES];
static Sprite *next_sprite;
static u16 sprite_words;

static u32 at(u16 address)
{
    return ((u32)(u16)(address & 0x3FFF) << 16) | (u16)(address >> 14);
}

void vdp_init(void)
{
    static const u8 registers[] = {
        0x04, /* 0: no horizontal interrupt */
        0x14, /* 1: display off, no interrupt, DMA on */
        PLANE_A >> 10, 0x00, PLANE_B >> 13, SPRITE_TABLE >> 9,
        0x00, 0x00, 0x00, 0x00,
        0xFF, /* 10: horizontal interrupt counter */
        0x00, /* 11: whole-screen scrolling, the cheapest */
        0x81, /* 12: 320 pixels wide, no shadows */
        SCROLL_TABLE >> 10, 0x00,
        0x02, /* 15: step */
        0x01, /* 16: planes of 64x32 tiles */
        0x00, 0x00,
    };
    static const u8 silence[] = {0x9F, 0xBF, 0xDF, 0xFF, 0x8F, 0x3F, 0xAF, 0x3F, 0xCF, 0x3F, 0xE3};
    u16 i;
    for (i = 0; i < sizeof registers; i++)
        REG(i, registers[i]);
    /* Silence, with the longest periods: an emulator computes each swing of a wave, even mute. */
    for (i = 0; i < sizeof silence; i++)
        PSG = silence[i];
    vdp_fill(0, 0x8000, 0);
    for (i = 0; i < MAX_SPRITES; i++)
        shadow[i].link = (u8)(i + 1);
    PAD_CTRL = 0x40;
}

void vdp_display(u16 on)
{
    REG(1, on ? 0x74 : 0x14);
}

void vdp_upload(const void *source, u16 address, u16 words, u16 step)
{
    u32 from = (u32)source >> 1;
    volatile u32 command = CMD_VRAM | CMD_DMA | at(address);
    REG(15, step);
    REG(19, words & 0xFF);
    REG(20, words >> 8);
    REG(21, from & 0xFF);
    REG(22, (from >> 8) & 0xFF);
    REG(23, (from >> 16) & 0x7F);
    VDP_CTRL32 = command;
}

void vdp_copy(const u32 *source, u16 address, u16 longs)
{
    REG(15, 2);
    VDP_CTRL32 = CMD_VRAM | at(address);
    while (longs--)
        VDP_DATA32 = *source++;
}

void vdp_fill(u16 address, u16 words, u16 value)
{
    REG(15, 2);
    VDP_CTRL32 = CMD_VRAM | at(address);
    while (words--)
        VDP_DATA = value;
}

void vdp_palette(const u16 *colours)
{
    u16 i;
    REG(15, 2);
    VDP_CTRL32 = CMD_CRAM;
    for (i = 0; i < 64; i++)
        VDP_DATA = colours[i];
}

void vdp_scroll(s16 a_x, s16 a_y, s16 b_x, s16 b_y)
{
    REG(15, 2);
    VDP_CTRL32 = CMD_VRAM | at(SCROLL_TABLE);
    VDP_DATA = (u16)-a_x;
    VDP_DATA = (u16)-b_x;
    VDP_CTRL32 = CMD_VSRAM;
    VDP_DATA = (u16)a_y;
    VDP_DATA = (u16)b_y;
}

u16 vdp_line(void)
{
    return VDP_HV >> 8;
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
    sprite->y = (u16)(y + 128);
    sprite->size = size;
    sprite->tile = tile;
    sprite->x = (u16)(x + 128);
    next_sprite = sprite + 1;
}

/* End the chain at the last sprite; with none at all, one lies outside the screen. */
void sprites_end(void)
{
    static u16 last;
    if (next_sprite == shadow) {
        shadow[0].y = 0;
        shadow[0].x = 0;
        next_sprite = shadow + 1;
    }
    shadow[last].link = (u8)(last + 1);
    last = (u16)(next_sprite - shadow) - 1;
    shadow[last].link = 0;
    sprite_words = (u16)((last + 1) << 2);
}

void sprites_upload(void)
{
    vdp_upload(shadow, SPRITE_TABLE, sprite_words, 2);
}

/* Interrupts stay masked between the look and the stop, so none slips in between. */
u16 wait_vblank(void)
{
    u16 passed;
    __asm__ volatile("move.w #0x2700, %%sr" ::: "memory");
    while (vblank_count == vblank_seen)
        __asm__ volatile("stop #0x2000\n\tmove.w #0x2700, %%sr" ::: "memory");
    passed = vblank_count - vblank_seen;
    vblank_seen += passed;
    __asm__ volatile("move.w #0x2000, %%sr" ::: "memory");
    return passed;
}

u16 read_pad(void)
{
    u8 high, low;
    PAD_DATA = 0x40;
    __asm__ volatile("nop\n\tnop");
    high = PAD_DATA;
    PAD_DATA = 0x00;
    __asm__ volatile("nop\n\tnop");
    low = PAD_DATA;
    return (u16)(~((high & 0x3F) | (low & 0x30) << 2) & 0xFF);
}
