/* Plays all acts on this machine, for the sanitizers that it is built with: engine and pictures, one
 * game, without saving (which copies what lies between variables too).
 *
 * sanitized PACK MOVES FRAMES SEED. MOVES: for each act in order a length (u32) and so many pads. */
#include <stdio.h>
#include <stdlib.h>
#include "host.h"
#define main console_main
#define acts act_table
#include "main.c"
#undef acts
#undef main

#define EPISODE 6000
#define PICTURE 40           /* frames from one picture to the next */

u32 load(const u8 *pack);

void *allocate(u32 bytes)
{
    return calloc(bytes, 1);
}

static u8 *contents(const char *path)
{
    FILE *file = fopen(path, "rb");
    long size;
    u8 *bytes;
    if (!file || fseek(file, 0, SEEK_END) || (size = ftell(file)) < 0)
        exit(2);
    rewind(file);
    bytes = malloc((size_t)size);
    if (!bytes || fread(bytes, 1, (size_t)size, file) != (size_t)size)
        exit(2);
    fclose(file);
    return bytes;
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

int main(int count, char **arguments)
{
    static const u8 pads[12] = {0, 4, 8, 8, 8, 8, 2, 6, 10, 18, 16, 24};
    unsigned long long frames, frame = 0, pictures = 0, episodes = 0, ends = 0, losses = 0;
    u32 number, i;
    const u8 *moves;
    if (count != 5)
        return 2;
    number = load(contents(arguments[1]));
    moves = contents(arguments[2]);
    frames = strtoull(arguments[3], 0, 10);
    seed = (u32)atoi(arguments[4]);
    picture_init();
    vdp_init();
    title();
    while (frame < frames) {
        const u8 *way = moves;
        u32 act_number = (u32)(episodes % number), length, proof = (u32)(episodes / number % 4) == 0;
        u32 cut = draw_below(4) ? EPISODE : draw_below(EPISODE);
        u8 pad = 0;
        for (i = 0; i < act_number; i++)
            way += 4 + (way[0] | way[1] << 8 | way[2] << 16 | (u32)way[3] << 24);
        length = way[0] | way[1] << 8 | way[2] << 16 | (u32)way[3] << 24;
        ram.lives = START_LIVES;
        start_act((u16)act_number, 0);
        for (i = 0; i < EPISODE && ram.lives == START_LIVES && !ram.level_end_bonus; i++, frame++) {
            if (proof && i < length && i < cut)
                pad = way[4 + i]; /* a part of the proof, then at random */
            else if (draw_below(8) == 0)
                pad = pads[draw_below(12)];
            world_upload();
            hud_upload();
            sprites_upload();
            play(pad);
            if (frame % PICTURE == 0)
                look((u32)pictures++);
        }
        episodes++;
        ends += ram.level_end_bonus;
        losses += ram.lives < START_LIVES;
    }
    printf("{\"frames\": %llu, \"pictures\": %llu, \"episodes\": %llu, \"ends\": %llu, \"losses\": %llu}\n",
           frame, pictures, episodes, ends, losses);
    return 0;
}
