#include "arith.h"
#include "hud.h"
#include "level.h"
#include "objects.h"
#include "player.h"
#include "ram.h"
#include "sound.h"
#include "vdp.h"
#include "world.h"

#define START_LIVES 3
#define DEATH_FRAMES 90
#define LOGO_PLACE (PLANE_A + 4 * 128 + 12) /* row 4, column 6 */
#define BONUS 4000           /* quarter points: 1000 for finishing at once, 0 after 18,000 frames */

volatile Published ram __attribute__((section(".published")));

u8 sound_request;

static u16 act_index, timer, last_pad;

static void publish_score(void)
{
    u16 length = ram.end_x - ram.start_x;
    s16 done = (s16)(HERO_X - (s16)ram.start_x);
    u16 contest;
    if (done < 0)
        done = 0;
    if ((u16)done > length || ram.level_end_bonus)
        done = (s16)length;
    ram.progress = (u16)done;
    contest = divide(multiply((u16)done, 36000U), length);
    if (ram.level_end_bonus && ram.frame_counter < 18000)
        contest += divide(multiply(18000 - ram.frame_counter, BONUS), 18000);
    ram.contest_score = contest;
}

static void publish(void)
{
    ram.x = (u16)HERO_X;
    ram.y = HERO_Y;
    ram.speed_x = hero.speed_x;
    ram.speed_y = hero.speed_y;
    ram.screen_x = (u16)camera_x;
    ram.screen_y = (u16)camera_y;
    ram.flags = (hero.state != HERO_GROUND ? FLAG_AIR : 0) | (hero.ball ? FLAG_BALL : 0)
                | (hero.charging ? FLAG_CHARGE : 0) | (hero.crouch ? FLAG_CROUCH : 0)
                | (hero.state >= HERO_HURT || hero.blink ? FLAG_HURT : 0)
                | (hero.facing_left ? FLAG_LEFT : 0) | (hero.wet ? FLAG_WATER : 0)
                | (hero.state == HERO_LOOP ? FLAG_LOOP : 0);
    if (ram.mode != MODE_DEAD)
        publish_score();
}

static void draw(void)
{
    hud_update();
    sprites_begin(HUD_SPRITES);
    hero_draw();
    objects_draw();
    sprites_end();
}

/* The top of the lowest ground of a column: under a roof, too. */
static u16 ground_of(u16 x)
{
    s16 row = ROWS - 1;
    while (row > 0 && world_shape((s16)x, row << 4) == SHAPE_EMPTY)
        row--;
    while (row > 0 && world_shape((s16)x, (row - 1) << 4) != SHAPE_EMPTY)
        row--;
    return (u16)row << 4;
}

/* Feet on the start of the act, or, on request, on the ground at request_x. */
static void place_hero(void)
{
    u16 x = act->start_x, y = act->start_y;
    if (ram.request_x) {
        x = ram.request_x;
        y = ground_of(x);
        ram.request_x = 0;
    }
    if (checkpoint.set) {
        x = checkpoint.x;
        y = checkpoint.y;
    }
    hero_reset(x, y);
    camera_reset((s16)x, (s16)y);
}

/* Begin an act; after a death, at its checkpoint, with its gates as they are. */
static void start_act(u16 index, u16 again)
{
    act_index = index;
    if (!again)
        checkpoint.set = ram.switches = 0;
    vdp_display(0);
    world_load(&acts[index]);
    place_hero();
    objects_load();
    ram.start_x = act->start_x;
    ram.end_x = act->end_x;
    ram.screen_x_end = (act->width << 4) - SCREEN_WIDTH;
    ram.rings = 0;
    ram.score = again ? ram.score : 0;
    ram.frame_counter = 0;
    ram.zone = act->zone + 1;
    ram.act = act->number;
    ram.level_end_bonus = 0;
    ram.lag = 0;
    ram.mode = MODE_PLAY;
    timer = 0;
    hud_reset();
    publish();
    draw();
    vdp_display(1);
    wait_vblank();
}

/* The logo stands on plane A, where the act's map would be. */
static void title(void)
{
    u16 row;
    ram.mode = MODE_TITLE;
    ram.lives = START_LIVES;
    vdp_display(0);
    world_load(&acts[0]);
    vdp_fill(PLANE_A, 64 * 32, 0);
    vdp_copy(logo_tiles, VRAM_LEVEL_TILES * 32, logo_tile_count << 3);
    for (row = 0; row < LOGO_ROWS; row++)
        vdp_copy((const u32 *)(logo_map + row * LOGO_COLUMNS), LOGO_PLACE + (row << 7),
                 LOGO_COLUMNS / 2);
    timer = 0;
    sprites_begin(0);
    sprites_end();
    vdp_display(1);
    wait_vblank();
}

/* The background drifts by and the invitation blinks. */
static void update_title(void)
{
    timer++;
    vdp_scroll(0, 0, (s16)(timer >> 1), 32);
    sprites_begin(0);
    if (timer & 32)
        text_put("PRESS START", 116, 144);
    sprites_end();
}

static void play(u16 pad)
{
    if (ram.level_end_bonus)
        pad = PAD_RIGHT;
    hero_update(pad);
    if (ram.mode == MODE_PLAY) {
        if (ram.frame_counter != 0xFFFF)
            ram.frame_counter++;
        if (HERO_X >= (s16)ram.end_x) {
            ram.level_end_bonus = 1;
            sound_request = SOUND_END;
            ram.mode = MODE_END;
        }
    }
    objects_update();
    if (hero.state != HERO_DEAD)
        camera_follow(HERO_X, HERO_Y, hero.state == HERO_GROUND);
    publish();
    draw();
}

/* Leave play: to the same act after a death, to the next one by START after its end. */
static void change_act(u16 started)
{
    if (ram.request_act) {
        u16 index = ram.request_act - 1;
        ram.request_act = 0;
        ram.lives = START_LIVES;
        if (index < act_count)
            start_act(index, 0);
    } else if (ram.mode == MODE_DEAD && ++timer == DEATH_FRAMES) {
        if (ram.lives)
            start_act(act_index, 1);
        else
            title();
    } else if (started && ram.mode == MODE_TITLE)
        start_act(0, 0);
    else if (started && ram.mode == MODE_END)
        start_act(act_index + 1 < act_count ? act_index + 1 : 0, 0);
}

int main(void)
{
    vdp_init();
    title();
    for (;;) {
        u16 passed = wait_vblank();
        u16 pad = read_pad();
        if (ram.mode != MODE_TITLE) {
            world_upload();
            hud_upload();
        }
        sprites_upload();
        sound_update();
        if (passed > 1)
            ram.lag += passed - 1;
        if (ram.mode != MODE_TITLE)
            play(pad);
        else
            update_title();
        change_act((pad & ~last_pad & PAD_START) != 0);
        last_pad = pad;
        ram.work_line = vdp_line();
    }
}
