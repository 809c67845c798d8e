#include "object.h"

#define SPRING_FRAMES 12
#define LAUNCH_LOCK 16
#define BOOST_SPEED (10 * 256)
#define LOOP_WALL 40         /* to the right of the foot */
#define LOOP_HEIGHT 128
#define MAX_WINDS 16
#define STREAKS 7            /* one in 28 pixels of height */

typedef struct { s16 from, to, force; } Wind;

static Wind winds[MAX_WINDS];
static u16 wind_count;

void push_up(Object *object)
{
    static const s16 strengths[4] = {9 * 256, 11 * 256, 13 * 256, 13 * 256};
    if (object->timer)
        object->timer--;
    if (!hero_is_in_play() || hero.speed_y < 0 || !touches_hero(object, 10, 14))
        return;
    hero_spring(strengths[object->arg & 3]);
    object->timer = SPRING_FRAMES;
}

/* Both ways: who comes from behind is thrown as well. */
void push_aside(Object *object)
{
    static const s16 strengths[4] = {8 * 256, 10 * 256, 12 * 256, 12 * 256};
    s16 speed = strengths[object->arg & 3];
    if (object->timer)
        object->timer--;
    if (hero.state > HERO_AIR || hero.speed_y < 0 || !touches_hero(object, 8, 22))
        return;
    hero.ball = 0;
    hero_launch(object->kind == SPAWN_SPRING_BACK ? -speed : speed, LAUNCH_LOCK);
    object->timer = SPRING_FRAMES;
    sound_request = SOUND_SPRING;
}

void boost(Object *object)
{
    if (hero.state != HERO_GROUND || !touches_hero(object, 9, 8))
        return;
    hero_launch(BOOST_SPEED, LAUNCH_LOCK / 2);
    sound_request = SOUND_SPRING;
}

/* The foot takes who runs over it to the right; behind it a wall, for who did not go round. */
void loop_round(Object *object)
{
    s16 x = object->home_x, wall = x + LOOP_WALL, above = object->home_y - HERO_Y;
    if (above < -8 || above > LOOP_HEIGHT || hero.state == HERO_LOOP || hero.state == HERO_DEAD)
        return;
    if (hero.state == HERO_GROUND && hero.previous_x < x && HERO_X >= x && above <= 4)
        hero_enter_loop(x, object->home_y);
    else if (hero.previous_x + 8 <= wall && HERO_X + 8 > wall)
        hero_stop_at(wall);
}

void collect(Object *object)
{
    if (!hero_is_in_play() || !touches_hero(object, 8, 16))
        return;
    object->kind = GONE;
    ram.rings++;
    ram.score += 10;
    sound_request = SOUND_RING;
}

void pass_end(Object *object)
{
    object->timer = (u8)ram.level_end_bonus;
}

void pass_checkpoint(Object *object)
{
    if (checkpoint.set && checkpoint.x == (u16)object->home_x)
        object->timer = 1;
    if (object->timer || !hero_is_in_play() || !touches_hero(object, 8, 32))
        return;
    object->timer = 1;
    if (checkpoint.set && checkpoint.x > (u16)object->home_x)
        return;
    checkpoint = (Checkpoint){1, (u16)object->home_x, (u16)object->home_y};
    sound_request = SOUND_SWITCH;
}

void press_switch(Object *object)
{
    u16 bit = 1 << (object->arg & 7);
    if (!(ram.switches & bit) && hero.state != HERO_DEAD && touches_hero(object, 8, 16)) {
        ram.switches |= bit;
        sound_request = SOUND_SWITCH;
    }
    object->timer = (ram.switches & bit) != 0;
}

void draw_spring(const Object *object, s16 x, s16 y)
{
    u16 tile = BASE + SPRITE_SPRING + (object->timer ? 6 : 0);
    sprites_put(x - 12, y - 16, SPRITE_SIZE(3, 2), tile);
}

void draw_side_spring(const Object *object, s16 x, s16 y)
{
    u16 tile = BASE + SPRITE_SPRING_SIDE + (object->timer ? 6 : 0);
    if (object->kind == SPAWN_SPRING_BACK)
        tile |= TILE_FLIP_X;
    sprites_put(x - 8, y - 24, SPRITE_SIZE(2, 3), tile);
}

void draw_booster(const Object *object, s16 x, s16 y)
{
    (void)object;
    sprites_put(x - 16, y - 8, SPRITE_SIZE(4, 1),
                BASE + SPRITE_BOOSTER + (ram.frame_counter & 8 ? 4 : 0));
}

void draw_ring(const Object *object, s16 x, s16 y)
{
    (void)object;
    sprites_put(x - 8, y - 16, SPRITE_SIZE(2, 2),
                BASE + SPRITE_RING + (ram.frame_counter & 16 ? 4 : 0));
}

void draw_end(const Object *object, s16 x, s16 y)
{
    sprites_put(x - 12, y - 32, SPRITE_SIZE(3, 4), BASE + SPRITE_POST + (object->timer ? 12 : 0));
}

void draw_checkpoint(const Object *object, s16 x, s16 y)
{
    u16 tile = BASE + SPRITE_CHECKPOINT + (object->timer ? 8 : 0);
    sprites_put(x - 8, y - 32, SPRITE_SIZE(2, 4), tile);
}

void draw_switch(const Object *object, s16 x, s16 y)
{
    u16 tile = BASE + SPRITE_SWITCH + (object->timer ? 4 : 0);
    sprites_put(x - 8, y - 16, SPRITE_SIZE(2, 2), tile);
}

void winds_load(void)
{
    const Spawn *spawn = act->spawns;
    u16 count = act->spawn_count;
    wind_count = 0;
    for (; count--; spawn++)
        if (spawn->kind == SPAWN_WIND && wind_count < MAX_WINDS)
            winds[wind_count++] = (Wind){(s16)spawn->x, (s16)(spawn->x + (spawn->arg << 4)),
                                         (s8)spawn->arg2};
}

void winds_update(void)
{
    const Wind *wind = winds;
    u16 count = wind_count;
    hero.wind = 0;
    for (; count--; wind++)
        if (HERO_X >= wind->from && HERO_X < wind->to)
            hero.wind += wind->force;
}

/* Streaks drift over the part of the screen where it blows. */
void winds_draw(void)
{
    const Wind *wind = winds;
    u16 count = wind_count, i;
    for (; count--; wind++) {
        s16 from = wind->from - camera_x, to = wind->to - camera_x;
        u16 drift = (u16)(ram.frame_counter * 5);
        if (from >= SCREEN_WIDTH || to <= 0)
            continue;
        for (i = 0; i < STREAKS; i++) {
            s16 x = (s16)((drift + i * 157) & 511) - 64;
            if (wind->force < 0)
                x = 383 - x;
            if (x >= from && x < to - 32)
                sprites_put(x, (s16)(16 + i * 28), SPRITE_SIZE(4, 1),
                            (BASE + SPRITE_WIND) | (wind->force < 0 ? TILE_FLIP_X : 0));
        }
    }
}
