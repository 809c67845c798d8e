#include "object.h"

#define HALF 24              /* of a platform's width */
#define PLATFORM_EDGE 5      /* the side feet hold on, so it carries a little beyond */
#define LEDGE_REACH 80       /* more than hero and platform come closer in a frame */
#define SHAKING 1            /* stages of a crumbling platform */
#define FALLING 2
#define AWAY 3
#define CRUMBLE_GRAVITY 40
#define CRUMBLE_BACK 240
#define PISTON_STEP 6        /* pixels a frame */
#define PISTON_WARNING 24    /* frames in which the tip shows */
#define GATE_FRAMES 16

static u16 carries_hero(const Object *object)
{
    s16 away = HERO_X - PIXEL(object->x);
    return hero.state == HERO_GROUND && hero.shape == SHAPE_TOP_ONLY
           && HERO_Y == PIXEL(object->y) && away >= -HALF - PLATFORM_EDGE
           && away <= HALF + PLATFORM_EDGE;
}

/* Only near the hero: the fewer, the cheaper. */
static void add_ledge(const Object *object, s16 rise)
{
    s16 x = PIXEL(object->x);
    if (x - HERO_X < -LEDGE_REACH || x - HERO_X > LEDGE_REACH)
        return;
    ledge_add(x - HALF, x + HALF, PIXEL(object->y), rise > 0 ? rise : 0);
}

/* A triangle wave, -range..range: a pure function of the frame counter. */
static s16 swing(const Object *object)
{
    u16 range = object->arg << 3, period = object->arg2 << 3;
    u16 way = phase_of(period, object->arg3);
    way = period ? divide(multiply(way, range << 2), period) : 0;
    if (way < range)
        return (s16)way;
    if (way < 3 * range)
        return (s16)(2 * range - way);
    return (s16)(way - 4 * range);
}

void move_platform(Object *object)
{
    u16 carried = carries_hero(object);
    s16 x = object->home_x, y = object->home_y, by_x, by_y;
    if (object->kind == SPAWN_PLATFORM_X)
        x += swing(object);
    else
        y += swing(object);
    by_x = x - PIXEL(object->x);
    by_y = y - PIXEL(object->y);
    object->x = POSITION(x);
    object->y = POSITION(y);
    add_ledge(object, -by_y);
    if (carried)
        hero_carry(by_x, by_y);
}

void crumble(Object *object)
{
    u16 passed = ram.frame_counter - object->since;
    u16 carried = carries_hero(object);
    if (object->stage == 0 && carried) {
        object->stage = SHAKING;
        object->since = ram.frame_counter;
    } else if (object->stage == SHAKING && passed >= object->arg << 2) {
        object->stage = FALLING;
        object->since = ram.frame_counter;
        object->speed = 0;
        if (carried) {
            hero.state = HERO_AIR;
            hero.crouch = hero.charging = 0;
        }
    } else if (object->stage >= FALLING && passed >= CRUMBLE_BACK) {
        object->stage = 0;
        object->y = POSITION(object->home_y);
    } else if (object->stage == FALLING) {
        object->speed += CRUMBLE_GRAVITY;
        object->y += STEP(object->speed);
        if (PIXEL(object->y) > ROWS * METATILE + 32)
            object->stage = AWAY;
    }
    if (object->stage <= SHAKING)
        add_ledge(object, 0);
}

/* How far a piston stands out of the floor, pixels. */
static s16 piston_height(const Object *object)
{
    u16 period = object->arg << 3, half = period >> 1;
    u16 phase = phase_of(period, object->arg2);
    s16 out, back, full = object->arg3 << 4;
    if (phase < half)
        return phase + PISTON_WARNING >= half ? 8 : 0;
    out = (s16)((phase - half + 1) * PISTON_STEP);
    back = (s16)((period - phase) * PISTON_STEP);
    out = out < back ? out : back;
    return out < full ? out : full;
}

void thrust(Object *object)
{
    object->speed = piston_height(object);
    if (object->speed > 8 && hero_is_in_play() && touches_hero(object, 6, object->speed - 2))
        hero_hurt(object->home_x);
}

/* The cells of a breakable wall or a gate that is shut. */
void build_wall(Object *object)
{
    if (object->kind == SPAWN_BREAKABLE)
        world_set(object->home_x, object->home_y, object->arg, SHAPE_BREAKABLE);
    else if (object->kind == SPAWN_GATE)
        world_set(object->home_x, object->home_y, object->arg2, SHAPE_SOLID);
}

void open_gate(Object *object)
{
    if (object->stage == 0 && (ram.switches & 1 << (object->arg & 7))) {
        world_set(object->home_x, object->home_y, object->arg2, SHAPE_EMPTY);
        object->stage = 1;
        object->timer = GATE_FRAMES;
    } else if (object->stage)
        vanish(object);
}

static void draw_column(s16 x, s16 y, u16 count, u16 tile)
{
    for (; count--; y -= 16)
        sprites_put(x - 8, y - 16, SPRITE_SIZE(2, 2), tile);
}

static void draw_halves(s16 x, s16 y, u16 tile)
{
    sprites_put(x - 24, y, SPRITE_SIZE(3, 2), tile);
    sprites_put(x, y, SPRITE_SIZE(3, 2), tile | TILE_FLIP_X);
}

void draw_platform(const Object *object, s16 x, s16 y)
{
    (void)object;
    draw_halves(x, y, BASE + SPRITE_PLATFORM);
}

void draw_crumble(const Object *object, s16 x, s16 y)
{
    if (object->stage == AWAY)
        return;
    if (object->stage == SHAKING)
        x += ram.frame_counter & 2 ? 1 : -1;
    draw_halves(x, y, BASE + SPRITE_CRUMBLE);
}

/* The plate comes first and so lies before the tip, which rises from behind it. */
void draw_piston(const Object *object, s16 x, s16 y)
{
    s16 top = y - object->speed, at;
    sprites_put(x - 12, y, SPRITE_SIZE(3, 1), BASE + SPRITE_PISTON_BASE);
    if (object->speed == 0)
        return;
    sprites_put(x - 8, top, SPRITE_SIZE(2, 2), BASE + SPRITE_PISTON_TIP);
    for (at = top + 16; at < y; at += 16)
        sprites_put(x - 8, at, SPRITE_SIZE(2, 2), BASE + SPRITE_PISTON_SHAFT);
}

void draw_wall(const Object *object, s16 x, s16 y)
{
    draw_column(x, y, object->arg, BASE + SPRITE_BREAKABLE);
}

void draw_gate(const Object *object, s16 x, s16 y)
{
    u16 count = object->arg2;
    if (object->stage)
        y -= (GATE_FRAMES - object->timer) << 2;
    draw_column(x, y, count, BASE + SPRITE_GATE);
}

void draw_rubble(const Object *object, s16 x, s16 y)
{
    s16 away = 32 - object->timer;
    s16 fall = away * away >> 3;
    u16 i;
    for (i = 0; i < object->arg; i++, y -= 16) {
        sprites_put(x + away, y - 12 - away + fall, SPRITE_SIZE(1, 1), BASE + SPRITE_RUBBLE);
        sprites_put(x - 8 - away, y - 12 + fall, SPRITE_SIZE(1, 1), BASE + SPRITE_RUBBLE);
    }
}
