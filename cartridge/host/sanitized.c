/* Plays acts on this machine, for the sanitizers that it is built with: engine and pictures, one
 * game, without saving (which copies what lies between variables too).
 *
 * sanitized PACK EPISODES SEED. EPISODES, one after the other: act, kind, frames (u32 each), and the
 * pad of each frame. Then play goes on at random, but for episodes of LEARNED play: there the act
 * must be over with the last pad, as it was when they were recorded. */
#include <stdio.h>
#include <stdlib.h>
#include "host.h"
#define main console_main
#define acts act_table
#include "main.c"
#undef acts
#undef main

#define EPISODE 6000         /* frames after which random play ends */
#define IDLE_FRAMES 2        /* without buttons, before an episode begins: as in games.c */
#define PICTURE 40           /* frames from one picture to the next */

u32 load(const u8 *pack);

enum { RANDOM, PROOF, LEARNED, KINDS };

void *allocate(u32 bytes)
{
    return calloc(bytes, 1);
}

static u8 *contents(const char *path, long *size)
{
    FILE *file = fopen(path, "rb");
    u8 *bytes;
    if (!file || fseek(file, 0, SEEK_END) || (*size = ftell(file)) < 0)
        exit(2);
    rewind(file);
    bytes = malloc((size_t)*size);
    if (!bytes || fread(bytes, 1, (size_t)*size, file) != (size_t)*size)
        exit(2);
    fclose(file);
    return bytes;
}

static u32 word(const u8 *at)
{
    return at[0] | at[1] << 8 | at[2] << 16 | (u32)at[3] << 24;
}

static u32 seed;
static u32 draw_below(u32 count)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % count;
}

static void look(u32 picture)
{
    static const u16 sizes[4][2] = {{84, 84}, {64, 64}, {61, 100}, {240, 330}};
    static u8 to[224 * 320 * 3 + 330 * 240];
    u32 i = draw_below(4);
    if (picture % 8 == 0)
        picture_rgb(to);
    else
        picture_small((enum View)draw_below(VIEWS), to, sizes[i][0], sizes[i][1]);
}

static void frame(u8 pad)
{
    world_upload();
    hud_upload();
    sprites_upload();
    play(pad);
}

int main(int count, char **arguments)
{
    static const u8 pads[12] = {0, 4, 8, 8, 8, 8, 2, 6, 10, 18, 16, 24};
    unsigned frames = 0, pictures = 0, episodes = 0, ends = 0, losses = 0, of_kind[KINDS] = {0};
    static const u8 *at, *begin, *end;
    long size;
    u32 i;
    if (count != 4)
        return 2;
    load(contents(arguments[1], &size));
    begin = contents(arguments[2], &size);
    seed = (u32)atoi(arguments[3]);
    picture_init();
    vdp_init();
    title();
    for (at = begin, end = begin + size; at < end; episodes++) {
        u32 act_number = word(at), kind = word(at + 4), length = word(at + 8);
        const u8 *way = at + 12;
        u8 pad = 0;
        at = way + length;
        ram.lives = START_LIVES;
        start_act((u16)act_number, 0);
        for (i = 0; i < IDLE_FRAMES; i++)
            frame(0);
        for (i = 0; (i < length || i < EPISODE) && ram.lives == START_LIVES && !ram.level_end_bonus; i++) {
            if (i < length)
                pad = way[i];
            else if (draw_below(8) == 0)
                pad = pads[draw_below(12)];
            frame(pad);
            of_kind[i < length ? kind : RANDOM]++;
            if (frames++ % PICTURE == 0)
                look((u32)pictures++);
        }
        if (kind == LEARNED && i != length) {
            fprintf(stderr, "episode %u of learned play was over after %u frames, not %u\n", episodes, i, length);
            return 3;
        }
        ends += ram.level_end_bonus;
        losses += ram.lives < START_LIVES;
    }
    printf("{\"frames\": %u, \"learned_frames\": %u, \"proof_frames\": %u, \"random_frames\": %u, "
           "\"pictures\": %u, \"episodes\": %u, \"ends\": %u, \"losses\": %u}\n",
           frames, of_kind[LEARNED], of_kind[PROOF], of_kind[RANDOM], pictures, episodes, ends, losses);
    return 0;
}
