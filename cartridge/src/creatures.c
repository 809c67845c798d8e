#include "object.h"

#define WALKER_STEP 160      /* pixels / 256 a frame */
#define HOP_SPEED (5 * 256)
#define HOP_GRAVITY 48
#define HOP_WAIT 50
#define LEAP_SPEED (5 * 256)
#define LEAP_STEP 384
#define LEAP_WAIT 60
#define SHOT_SPEED 640       /* 2.5 px */
#define SHOT_HEIGHT 12       /* above the shooter's feet */
#define AIM_FRAMES 16        /* shown before a shot */
#define MAX_SHOTS 6

typedef struct { s32 x; s16 y, speed; } Shot; /* speed 0: none */

static Shot shots[MAX_SHOTS];

static void meet_enemy(Object *object)
{
    if (!touches_hero(object, 9, 20))
        return;
    if (!hero.ball) {
        hero_hurt(PIXEL(object->x));
        return;
    }
    if (hero.state == HERO_DEAD)
        return;
    hero_bounce();
    object->kind = PUFF;
    object->timer = 16;
    ram.score += 100;
    sound_request = SOUND_HIT;
}

void walk(Object *object)
{
    s16 away;
    object->x += object->left ? -STEP(WALKER_STEP) : STEP(WALKER_STEP);
    away = PIXEL(object->x) - object->home_x;
    if (away <= -(object->arg << 4))
        object->left = 0;
    else if (away >= object->arg << 4)
        object->left = 1;
    object->timer++;
    meet_enemy(object);
}

/* Fall by HOP_GRAVITY; 1 when the ground of its home is reached. */
static u16 fall_home(Object *object)
{
    object->speed += HOP_GRAVITY;
    object->y += STEP(object->speed);
    if (PIXEL(object->y) < object->home_y)
        return 0;
    object->y = POSITION(object->home_y);
    object->timer = 0;
    return 1;
}

void hop(Object *object)
{
    object->timer++;
    if (object->timer >= HOP_WAIT) {
        if (object->timer == HOP_WAIT)
            object->speed = -HOP_SPEED;
        fall_home(object);
    }
    object->left = HERO_X < object->home_x;
    meet_enemy(object);
}

/* Walks towards the hero, as far as its range goes; in a leap it keeps its way. */
void jump_about(Object *object)
{
    s16 away = PIXEL(object->x) - object->home_x, range = object->arg << 4;
    s16 step = object->stage ? LEAP_STEP : WALKER_STEP;
    if (!object->stage)
        object->left = HERO_X < PIXEL(object->x);
    if (object->left ? away > -range : away < range)
        object->x += object->left ? -STEP(step) : STEP(step);
    object->timer++;
    if (object->stage)
        object->stage = !fall_home(object);
    else if (object->timer >= LEAP_WAIT) {
        object->stage = 1;
        object->speed = -LEAP_SPEED;
    }
    meet_enemy(object);
}

void vanish(Object *object)
{
    if (--object->timer == 0)
        object->kind = GONE;
}

static void fire(const Object *object)
{
    Shot *shot;
    for (shot = shots; shot < shots + MAX_SHOTS; shot++)
        if (!shot->speed) {
            shot->speed = object->left ? -SHOT_SPEED : SHOT_SPEED;
            shot->x = object->x + STEP(shot->speed) * 4;
            shot->y = PIXEL(object->y) - SHOT_HEIGHT;
            return;
        }
}

void shoot(Object *object)
{
    u16 period = object->arg << 3;
    u16 phase = phase_of(period, 0);
    object->left = HERO_X < PIXEL(object->x);
    object->timer = phase + AIM_FRAMES >= period;
    if (phase == 0 && hero.state != HERO_DEAD)
        fire(object);
    meet_enemy(object);
}

void shots_clear(void)
{
    u16 i;
    for (i = 0; i < MAX_SHOTS; i++)
        shots[i].speed = 0;
}

void shots_update(void)
{
    Shot *shot;
    for (shot = shots; shot < shots + MAX_SHOTS; shot++) {
        s16 x, away, below;
        if (!shot->speed)
            continue;
        shot->x += STEP(shot->speed);
        x = PIXEL(shot->x);
        away = x - HERO_X;
        below = HERO_Y - shot->y;
        if (x < camera_x - 32 || x > camera_x + SCREEN_WIDTH + 32 || is_wall(x, shot->y))
            shot->speed = 0;
        else if (away <= 10 && away >= -10 && below >= -3 && below <= hero_height() + 3) {
            shot->speed = 0;
            hero_hurt(x);
        }
    }
}

static void draw_creature(const Object *object, s16 x, s16 y, u16 tile)
{
    u16 flip = object->left ? TILE_FLIP_X : 0;
    sprites_put(x - 12, y - 24, SPRITE_SIZE(3, 3), (BASE + tile) | flip);
}

void draw_walker(const Object *object, s16 x, s16 y)
{
    draw_creature(object, x, y, SPRITE_WALKER + (object->timer & 8 ? 9 : 0));
}

void draw_hopper(const Object *object, s16 x, s16 y)
{
    draw_creature(object, x, y, SPRITE_HOPPER + (object->timer >= HOP_WAIT ? 9 : 0));
}

void draw_jumper(const Object *object, s16 x, s16 y)
{
    draw_creature(object, x, y, SPRITE_JUMPER + (object->stage ? 9 : 0));
}

void draw_shooter(const Object *object, s16 x, s16 y)
{
    draw_creature(object, x, y, SPRITE_SHOOTER + (object->timer ? 9 : 0));
}

void draw_puff(const Object *object, s16 x, s16 y)
{
    (void)object;
    sprites_put(x - 12, y - 24, SPRITE_SIZE(3, 3), BASE + SPRITE_PUFF);
}

void shots_draw(void)
{
    const Shot *shot;
    for (shot = shots; shot < shots + MAX_SHOTS; shot++)
        if (shot->speed)
            sprites_put(PIXEL(shot->x) - camera_x - 4, shot->y - camera_y - 4, SPRITE_SIZE(1, 1),
                        BASE + SPRITE_SHOT);
}
