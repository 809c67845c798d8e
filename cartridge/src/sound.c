#include "sound.h"

#define PSG (*(volatile u8 *)0xC00011)
#define NOTE_FRAMES 3
#define VOLUME 6             /* 0 is the loudest, 15 silence */

/* Periods of the tone: 111,861 Hz / period. */
static const u16 jump[] = {400, 340, 290, 250, 0};
static const u16 ring[] = {85, 64, 64, 0};
static const u16 spring[] = {300, 200, 280, 180, 150, 0};
static const u16 hit[] = {500, 800, 0};
static const u16 touched[] = {170, 127, 170, 127, 0};
static const u16 hurt[] = {250, 300, 360, 430, 520, 620, 0};
static const u16 end[] = {214, 214, 170, 170, 143, 143, 107, 107, 107, 107, 0};
static const u16 *const tunes[] = {0, jump, ring, spring, hit, touched, hurt, end};

static const u16 *tune;      /* its next note; 0 in silence */
static u16 wait;

/* In silence the period is the longest: an emulator computes each swing of a wave, even mute. */
static void play_note(u16 period, u8 volume)
{
    PSG = 0x80 | (period & 15);
    PSG = (u8)(period >> 4);
    PSG = 0x90 | volume;
}

void sound_update(void)
{
    if (sound_request) {
        tune = tunes[sound_request];
        wait = 0;
        sound_request = SOUND_NONE;
    }
    if (!tune)
        return;
    if (wait) {
        wait--;
        return;
    }
    wait = NOTE_FRAMES - 1;
    if (*tune)
        play_note(*tune++, VOLUME);
    else {
        play_note(1023, 15);
        tune = 0;
    }
}
