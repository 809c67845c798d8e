#include "object.h"

#define MARGIN 64            /* pixels beyond the screen where objects still move */
#define REACH 192            /* more than anything leaves its home: bounds the search */

Checkpoint checkpoint;

static Object objects[MAX_OBJECTS];
static Object *first, *last, *end; /* the ones near the camera are first..last */

typedef struct {
    void (*update)(Object *);
    void (*draw)(const Object *, s16 x, s16 y);
} Behaviour;

/* A loop is drawn with the map, the wind by itself. */
static const Behaviour behaviours[KINDS] = {
    [SPAWN_WALKER] = {walk, draw_walker},
    [SPAWN_HOPPER] = {hop, draw_hopper},
    [SPAWN_SHOOTER] = {shoot, draw_shooter},
    [SPAWN_JUMPER] = {jump_about, draw_jumper},
    [PUFF] = {vanish, draw_puff},
    [SPAWN_SPRING_UP] = {push_up, draw_spring},
    [SPAWN_SPRING_FORWARD] = {push_aside, draw_side_spring},
    [SPAWN_SPRING_BACK] = {push_aside, draw_side_spring},
    [SPAWN_BOOSTER] = {boost, draw_booster},
    [SPAWN_LOOP] = {loop_round, 0},
    [SPAWN_RING] = {collect, draw_ring},
    [SPAWN_END_POST] = {pass_end, draw_end},
    [SPAWN_CHECKPOINT] = {pass_checkpoint, draw_checkpoint},
    [SPAWN_SWITCH] = {press_switch, draw_switch},
    [SPAWN_PLATFORM_X] = {move_platform, draw_platform},
    [SPAWN_PLATFORM_Y] = {move_platform, draw_platform},
    [SPAWN_CRUMBLE] = {crumble, draw_crumble},
    [SPAWN_PISTON] = {thrust, draw_piston},
    [SPAWN_BREAKABLE] = {0, draw_wall},
    [SPAWN_GATE] = {open_gate, draw_gate},
    [RUBBLE] = {vanish, draw_rubble},
};

void objects_load(void)
{
    const Spawn *spawn = act->spawns;
    u16 count = act->spawn_count;
    Object *object = objects;
    if (count > MAX_OBJECTS)
        count = MAX_OBJECTS;
    for (; count--; object++, spawn++) {
        *object = (Object){0};
        object->kind = spawn->kind < PUFF ? spawn->kind : GONE;
        object->arg = spawn->arg;
        object->arg2 = spawn->arg2;
        object->arg3 = spawn->arg3;
        object->left = 1;
        object->home_x = (s16)spawn->x;
        object->home_y = (s16)spawn->y;
        object->x = POSITION(spawn->x);
        object->y = POSITION(spawn->y);
        build_wall(object);
    }
    end = object;
    first = last = objects;
    shots_clear();
    winds_load();
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

u16 touches_hero(const Object *object, s16 half_width, s16 height)
{
    s16 away = PIXEL(object->x) - HERO_X;
    s16 above = PIXEL(object->y) - HERO_Y;
    s16 reach = half_width + 7;
    if (away > reach || away < -reach)
        return 0;
    return above < height && above > -hero_height();
}

u16 hero_is_in_play(void)
{
    return hero.state != HERO_DEAD && hero.state != HERO_HURT;
}

u16 phase_of(u16 period, u8 phase)
{
    u16 frame = ram.frame_counter + (u16)(multiply(period, phase) >> 8);
    return period ? remainder(frame, period) : 0;
}

void objects_smash(s16 x)
{
    Object *object;
    for (object = first; object < last; object++)
        if (object->kind == SPAWN_BREAKABLE && object->home_x >> 4 == x >> 4) {
            world_set(object->home_x, object->home_y, object->arg, SHAPE_EMPTY);
            object->kind = RUBBLE;
            object->timer = 32;
            ram.score += 50;
            sound_request = SOUND_HIT;
        }
}

/* Platforms move at all times, so that they are where the frame counter says when seen again. */
void objects_update(void)
{
    Object *object;
    s16 low = camera_x - MARGIN, high = camera_x + SCREEN_WIDTH + MARGIN;
    find_near();
    ledges_clear();
    for (object = first; object < last; object++) {
        s16 x = PIXEL(object->x);
        u8 kind = object->kind;
        if (((x > low && x < high) || kind == SPAWN_PLATFORM_X) && behaviours[kind].update)
            behaviours[kind].update(object);
    }
    shots_update();
    winds_update();
}

void objects_draw(void)
{
    const Object *object;
    for (object = first; object < last; object++) {
        s16 x = PIXEL(object->x) - camera_x;
        if (behaviours[object->kind].draw && x > -32 && x < SCREEN_WIDTH + 32)
            behaviours[object->kind].draw(object, x, PIXEL(object->y) - camera_y);
    }
    shots_draw();
    winds_draw();
}
