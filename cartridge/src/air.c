#include "motion.h"

static void land(Floor ground)
{
    hero.ground_speed = scale(hero.speed_x, shape_cos[ground.shape])
                        + scale(hero.speed_y, shape_sin[ground.shape]);
    hero.state = HERO_GROUND;
    hero.jumped = 0;
    hero.ball = 0;
    if ((hero.pad & PAD_DOWN)
        && (hero.ground_speed >= ROLL_START || hero.ground_speed <= -ROLL_START))
        hero.ball = 1;
    hero.speed_y = 0;
    stand_on(ground);
}

static u16 land_at(s16 x, s16 previous_y, u16 flat_only)
{
    Floor ground = world_floor(x, HERO_Y, previous_y);
    if (ground.y > HERO_Y || (flat_only && is_slope(ground.shape)))
        return 0;
    if (ground.y < HERO_Y - 17)
        return 0;
    land(ground);
    return 1;
}

/* The side feet count only where the middle has nothing near under it. */
static void meet_ground(s16 previous_y)
{
    Floor ground;
    if (land_at(HERO_X, previous_y, 0))
        return;
    ground = world_floor(HERO_X, HERO_Y, previous_y);
    if (ground.y != NO_FLOOR && is_slope(ground.shape))
        return;
    if (!land_at(HERO_X - FOOT, previous_y, 1))
        land_at(HERO_X + FOOT, previous_y, 1);
}

/* Who flies into a slope faster than he rises runs on up it: its cells are no walls. */
static u16 meet_slope(void)
{
    Floor ground = world_floor(HERO_X, HERO_Y, HERO_Y);
    if (!is_slope(ground.shape) || ground.y >= HERO_Y)
        return 0;
    land(ground);
    return 1;
}

static void meet_ceiling(void)
{
    s16 head = HERO_Y - hero_height();
    if (!is_block(world_shape(HERO_X - 5, head)) && !is_block(world_shape(HERO_X + 5, head)))
        return;
    hero.y = POSITION((head & ~15) + 16 + hero_height());
    hero.speed_y = 0;
}

static void steer_air(s16 direction)
{
    s16 speed = direction < 0 ? -hero.speed_x : hero.speed_x;
    if (direction && speed < medium->top_speed) {
        speed += medium->air_acceleration;
        if (speed > medium->top_speed)
            speed = medium->top_speed;
        hero.speed_x = direction < 0 ? -speed : speed;
    }
    if (hero.jumped && hero.speed_y < -medium->jump_cut && !(hero.pad & PAD_JUMP))
        hero.speed_y = -medium->jump_cut;
}

/* What wind and water do. */
static void drift(void)
{
    if (hero.wet && (hero.speed_x > medium->top_speed || hero.speed_x < -medium->top_speed))
        hero.speed_x = towards_zero(hero.speed_x, WATER_DRAG);
    hero.speed_x += hero.wind;
    if (hero.speed_x > MAX_SPEED)
        hero.speed_x = MAX_SPEED;
    if (hero.speed_x < -MAX_SPEED)
        hero.speed_x = -MAX_SPEED;
}

void update_air(s16 direction)
{
    s16 previous_y = HERO_Y;
    if (hero.state == HERO_AIR)
        steer_air(direction);
    drift();
    hero.speed_y += hero.state == HERO_HURT ? medium->hurt_gravity : medium->gravity;
    if (hero.speed_y > medium->fall)
        hero.speed_y = medium->fall;
    hero.x += STEP(hero.speed_x);
    if (hero.speed_x)
        stop_at_walls(hero.speed_x, 10);
    hero.y += STEP(hero.speed_y);
    if (hero.speed_y >= 0)
        meet_ground(previous_y);
    else if (!meet_slope())
        meet_ceiling();
}
