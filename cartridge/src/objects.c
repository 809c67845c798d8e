#include "objects.h"
#include "player.h"
#include "ram.h"
#include "sprites.h"
#include "vdp.h"
#include "world.h"

#define MARGIN 64            /* pixels beyond the screen where objects still move */
#define REACH 128            /* more than the widest patrol: bounds the search */
#define WALKER_STEP 160      /* pixels / 256 a frame */
#define HOP_SPEED (5 * 256)
#define HOP_GRAVITY 48
#define HOP_WAIT 50
#define GONE 0
#define PUFF 255             /* kind of a destroyed enemy, for a moment */

typedef struct {
    u8 kind, arg;
    u8 timer, left;
    s32 x, y;                /* feet centre, see POSITION */
    s16 home_x, home_y;
    s16 speed;
} Object;

static Object objects[MAX_OBJECTS];
static Object *first, *last, *end; /* the ones near the camera are first..last */

void objects_load(void)
{
    const Spawn *spawn = act->spawns;
    u16 count = act->spawn_count;
    Object *object = objects;
    if (count > MAX_OBJECTS)
        count = MAX_OBJECTS;
    for (; count--; object++, spawn++) {
        object->kind = spawn->kind;
        object->arg = spawn->arg;
        object->timer = 0;
        object->left = 1;
        object->speed = 0;
        object->home_x = (s16)spawn->x;
        object->home_y = (s16)spawn->y;
        object->x = POSITION(spawn->x);
        object->y = POSITION(spawn->y);
    }
    end = object;
    first = last = objects;
}

static void find_near(void)
{
    s16 low = camera_x - REACH, high = camera_x + SCREEN_WIDTH + REACH;
    while (first < end && first->home_x < low)
        first++;
    while (first > objects && first[-1].home_x >= low)
        first--;
    while (last < end && last->home_x < high)
        last++;
    while (last > objects && last[-1].home_x >= high)
        last--;
}

/* The hero's box is 16 wide and stands on his feet; the object's likewise. */
static u16 touches_hero(const Object *object, s16 half_width, s16 height)
{
    s16 away = PIXEL(object->x) - HERO_X;
    s16 above = PIXEL(object->y) - HERO_Y;
    s16 reach = half_width + 7;
    if (away > reach || away < -reach)
        return 0;
    return above < height && above > -hero_height();
}

static void meet_enemy(Object *object)
{
    if (!touches_hero(object, 9, 20))
        return;
    if (!hero.ball) {
        hero_hurt(PIXEL(object->x));
        return;
    }
    hero_bounce();
    object->kind = PUFF;
    object->timer = 16;
}

static void walk(Object *object)
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

static void hop(Object *object)
{
    object->timer++;
    if (object->timer >= HOP_WAIT) {
        if (object->timer == HOP_WAIT)
            object->speed = -HOP_SPEED;
        object->speed += HOP_GRAVITY;
        object->y += STEP(object->speed);
        if (PIXEL(object->y) >= object->home_y) {
            object->y = POSITION(object->home_y);
            object->timer = 0;
        }
    }
    object->left = HERO_X < object->home_x;
    meet_enemy(object);
}

static void push_up(Object *object)
{
    static const s16 strengths[4] = {9 * 256, 11 * 256, 13 * 256, 13 * 256};
    if (object->timer)
        object->timer--;
    if (hero.state == HERO_DEAD || hero.speed_y < 0 || !touches_hero(object, 10, 14))
        return;
    hero_spring(strengths[object->arg & 3]);
    object->timer = 12;
}

static void collect(Object *object)
{
    if (hero.state == HERO_DEAD || !touches_hero(object, 8, 16))
        return;
    object->kind = GONE;
    ram.rings++;
}

static void update(Object *object)
{
    switch (object->kind) {
    case SPAWN_WALKER: walk(object); break;
    case SPAWN_HOPPER: hop(object); break;
    case SPAWN_SPRING_UP: push_up(object); break;
    case SPAWN_RING: collect(object); break;
    case SPAWN_END_POST: object->timer = (u8)ram.level_end; break;
    case PUFF:
        if (--object->timer == 0)
            object->kind = GONE;
        break;
    default: break;
    }
}

void objects_update(void)
{
    Object *object;
    s16 low = camera_x - MARGIN, high = camera_x + SCREEN_WIDTH + MARGIN;
    find_near();
    for (object = first; object < last; object++) {
        s16 x = PIXEL(object->x);
        if (object->kind != GONE && x > low && x < high)
            update(object);
    }
}

static void draw(const Object *object)
{
    s16 x = PIXEL(object->x) - camera_x, y = PIXEL(object->y) - camera_y;
    u16 base = VRAM_SPRITE_TILES | TILE_PALETTE(1);
    u16 flip = object->left ? TILE_FLIP_X : 0;
    switch (object->kind) {
    case SPAWN_WALKER:
        base += SPRITE_WALKER + (object->timer & 8 ? 9 : 0);
        sprites_put(x - 12, y - 24, SPRITE_SIZE(3, 3), base | flip);
        break;
    case SPAWN_HOPPER:
        base += SPRITE_HOPPER + (object->timer >= HOP_WAIT ? 9 : 0);
        sprites_put(x - 12, y - 24, SPRITE_SIZE(3, 3), base | flip);
        break;
    case SPAWN_SPRING_UP:
        base += SPRITE_SPRING + (object->timer ? 6 : 0);
        sprites_put(x - 12, y - 16, SPRITE_SIZE(3, 2), base);
        break;
    case SPAWN_RING:
        base += SPRITE_RING + (ram.frame_counter & 16 ? 4 : 0);
        sprites_put(x - 8, y - 16, SPRITE_SIZE(2, 2), base);
        break;
    case SPAWN_END_POST:
        base += SPRITE_POST + (object->timer ? 12 : 0);
        sprites_put(x - 12, y - 32, SPRITE_SIZE(3, 4), base);
        break;
    case PUFF:
        sprites_put(x - 12, y - 24, SPRITE_SIZE(3, 3), base + SPRITE_PUFF);
        break;
    default: break;
    }
}

void objects_draw(void)
{
    Object *object;
    for (object = first; object < last; object++)
        if (object->kind != GONE)
            draw(object);
}
