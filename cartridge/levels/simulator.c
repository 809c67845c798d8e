/* The engine on the host, for searching: the same C, without pictures and sound.
 *
 * main.c is included whole, so that its static functions can be called; what draws is empty. The
 * acts come from Python at run time (tables.c). All that changes while playing lies in one section
 * of the library, which saving and restoring copy. */
#define main game_main
#include "main.c"
#undef main

#include <string.h>

extern char __start_engine_state[], __stop_engine_state[];

enum { VALUES = 16, STEP_FRAMES = 4 };

static const u16 pads[7] = {PAD_LEFT, PAD_RIGHT, PAD_LEFT | PAD_DOWN, PAD_RIGHT | PAD_DOWN,
                            PAD_DOWN, PAD_DOWN | PAD_B, PAD_B};
static u16 last_action = 7;
static u16 furthest;             /* x in the episode so far */

u32 sim_size(void)
{
    return (u32)(__stop_engine_state - __start_engine_state);
}

void sim_save(char *to)
{
    memcpy(to, __start_engine_state, sim_size());
}

void sim_restore(const char *from)
{
    memcpy(__start_engine_state, from, sim_size());
}

static u16 over(void)
{
    return ram.lives < START_LIVES || ram.level_end_bonus;
}

/* One frame, as the main loop does it. */
static void frame(u16 pad)
{
    world_upload();
    play(pad);
}

/* An act from its start, as a state and a reset leave it: `idle` frames have passed. */
void sim_start(u16 index, u16 idle)
{
    ram.lives = START_LIVES;
    ram.request_x = 0;
    start_act(index, 0);
    while (idle--)
        frame(0);
    last_action = 7;
    furthest = ram.x;
}

/* Play actions of four frames each; where stuck, the first frame still holds the action before.
 * Stops when the episode is over. Returns how many were played. */
u16 sim_play(const u8 *actions, const u8 *stuck, u16 count)
{
    u16 i, j;
    for (i = 0; i < count && !over(); i++) {
        for (j = 0; j < STEP_FRAMES && !over(); j++)
            frame(pads[j == 0 && stuck && stuck[i] && last_action < 7 ? last_action : actions[i]]);
        last_action = actions[i];
        if (ram.x > furthest)
            furthest = ram.x;
    }
    return i;
}

void sim_view(s32 *values)
{
    values[0] = ram.x;
    values[1] = ram.y;
    values[2] = ram.progress;
    values[3] = ram.end_x - ram.start_x;
    values[4] = ram.frame_counter;
    values[5] = ram.speed_x;
    values[6] = ram.speed_y;
    values[7] = ram.flags;
    values[8] = ram.rings;
    values[9] = ram.lives;
    values[10] = ram.level_end_bonus;
    values[11] = ram.contest_score;
    values[12] = ram.switches;
    values[13] = furthest;
}

/* What draws and sounds. */
volatile u16 vblank_count;
void vdp_init(void) {}
void vdp_display(u16 on) { (void)on; }
void vdp_upload(const void *s, u16 a, u16 w, u16 d) { (void)s; (void)a; (void)w; (void)d; }
void vdp_copy(const u32 *s, u16 a, u16 n) { (void)s; (void)a; (void)n; }
void vdp_fill(u16 a, u16 n, u16 v) { (void)a; (void)n; (void)v; }
void vdp_palette(const u16 *c) { (void)c; }
void vdp_scroll(s16 a, s16 b, s16 c, s16 d) { (void)a; (void)b; (void)c; (void)d; }
u16 vdp_line(void) { return 0; }
void sprites_begin(u16 f) { (void)f; }
void sprites_put(s16 x, s16 y, u8 s, u16 t) { (void)x; (void)y; (void)s; (void)t; }
void sprites_end(void) {}
void sprites_upload(void) {}
u16 wait_vblank(void) { return 1; }
u16 read_pad(void) { return 0; }
u8 sound_request;
void sound_update(void) {}
void hud_reset(void) {}
void hud_update(void) {}
void hud_upload(void) {}
void text_put(const char *text, s16 x, s16 y) { (void)text; (void)x; (void)y; }
