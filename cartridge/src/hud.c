#include "hud.h"
#include "level.h"
#include "ram.h"
#include "sprites.h"
#include "vdp.h"

#define ICON(offset) (TILE_PRIORITY | (VRAM_SPRITE_TILES + (offset)))
#define DIGIT(n) ICON(SPRITE_DIGITS + (n))

static u16 shown_rings, shown_lives;
static u8 minutes, tens, seconds, ticks;

static void draw(void)
{
    u16 rings = ram.rings > 99 ? 99 : ram.rings;
    u16 ring_tens = 0;
    u8 size = SPRITE_SIZE(1, 1);
    while (rings >= 10) {
        rings -= 10;
        ring_tens++;
    }
    sprites_begin(0);
    sprites_put(16, 12, size, ICON(SPRITE_HUD_RING));
    sprites_put(28, 12, size, DIGIT(ring_tens));
    sprites_put(36, 12, size, DIGIT(rings));
    sprites_put(16, 24, size, ICON(SPRITE_HUD_CLOCK));
    sprites_put(28, 24, size, DIGIT(minutes));
    sprites_put(36, 24, size, ICON(SPRITE_HUD_COLON));
    sprites_put(44, 24, size, DIGIT(tens));
    sprites_put(52, 24, size, DIGIT(seconds));
    sprites_put(288, 12, size, ICON(SPRITE_HUD_LIFE));
    sprites_put(300, 12, size, DIGIT(ram.lives > 9 ? 9 : ram.lives));
    shown_rings = ram.rings;
    shown_lives = ram.lives;
}

void hud_reset(void)
{
    minutes = tens = seconds = ticks = 0;
    draw();
}

/* Draws only what changed since the last frame: at most once a second, as a rule. */
void hud_update(void)
{
    u16 changed = ram.rings != shown_rings || ram.lives != shown_lives;
    if (ram.mode == MODE_PLAY && ++ticks == 60) {
        ticks = 0;
        changed = 1;
        if (++seconds == 10) {
            seconds = 0;
            if (++tens == 6) {
                tens = 0;
                if (minutes < 9)
                    minutes++;
            }
        }
    }
    if (changed)
        draw();
}

void text_put(const char *text, s16 x, s16 y)
{
    for (; *text; text++, x += 8)
        if (*text >= 'A' && *text <= 'Z')
            sprites_put(x, y, SPRITE_SIZE(1, 1), ICON(SPRITE_LETTERS + *text - 'A'));
}
