#include "motion.h"
#include "sound.h"

static void leave_ground(void)
{
    hero.state = HERO_AIR;
    hero.crouch = hero.charging = 0;
    hero.speed_x = scale(hero.ground_speed, shape_cos[hero.shape]);
    hero.speed_y = scale(hero.ground_speed, shape_sin[hero.shape]);
}

static void jump(void)
{
    u8 shape = hero.shape;
    leave_ground();
    hero.speed_x += scale(medium->jump, shape_sin[shape]);
    hero.speed_y -= scale(medium->jump, shape_cos[shape]);
    hero.ball = 1;
    hero.jumped = 1;
    sound_request = SOUND_JUMP;
}

/* An edge holds while a side foot stands on a flat block. */
static u16 hold_edge(s16 side)
{
    Floor ground = world_floor(HERO_X + side, HERO_Y, HERO_Y);
    s16 away = ground.y - HERO_Y;
    if (ground.y == NO_FLOOR || away < -2 || away > 2 || is_slope(ground.shape))
        return 0;
    stand_on(ground);
    return 1;
}

static void follow_ground(void)
{
    Floor ground = world_floor(HERO_X, HERO_Y, HERO_Y);
    s16 away = ground.y - HERO_Y;
    if (ground.y != NO_FLOOR && away >= -SNAP - 6 && away <= SNAP)
        stand_on(ground);
    else if (!hold_edge(-FOOT) && !hold_edge(FOOT))
        leave_ground();
}

/* Fast moves are made in two halves, so that slopes are followed closely. */
static void move_on_ground(void)
{
    u16 halves = hero.ground_speed > 6 * 256 || hero.ground_speed < -6 * 256;
    u16 i;
    for (i = 0; i <= halves && hero.state == HERO_GROUND; i++) {
        s16 step = scale(hero.ground_speed, shape_cos[hero.shape]);
        if (step == 0 && i == 0) {
            follow_ground();
            return;
        }
        hero.x += STEP(step) >> halves;
        stop_at_walls(step, 15);
        follow_ground();
    }
}

static void push_of_slope(void)
{
    s16 sine = shape_sin[hero.shape], factor = SLOPE_RUN;
    if (sine == 0)
        return;
    if (hero.ball)
        factor = (sine > 0) == (hero.ground_speed > 0) ? SLOPE_ROLL_DOWN : SLOPE_ROLL_UP;
    else if (hero.ground_speed == 0 && (sine == 114 || sine == -114))
        return;                      /* one may stand on a gentle slope */
    hero.ground_speed += scale(factor, sine);
}

static void run(s16 direction)
{
    s16 speed = hero.ground_speed;
    if (direction < 0)
        speed = -speed;
    if (speed < 0)
        speed += BRAKING;
    else if (speed < medium->top_speed) {
        speed += medium->acceleration;
        if (speed > medium->top_speed)
            speed = medium->top_speed;
    }
    hero.ground_speed = direction < 0 ? -speed : speed;
}

static void roll(s16 direction)
{
    s16 amount = ROLL_FRICTION;
    if (direction && (direction < 0) != (hero.ground_speed < 0))
        amount = ROLL_BRAKING;
    hero.ground_speed = towards_zero(hero.ground_speed, amount);
    if (hero.ground_speed < ROLL_STOP && hero.ground_speed > -ROLL_STOP)
        hero.ball = 0;
}

static void charge_dash(void)
{
    hero.charge = hero.charging ? hero.charge - (hero.charge >> 5) : 0;
    if (hero.pressed & PAD_JUMP)
        hero.charge += hero.charging ? CHARGE_STEP : 0;
    if (hero.charge > CHARGE_MAX)
        hero.charge = CHARGE_MAX;
    hero.charging = 1;
    hero.ball = 1;
    hero.ground_speed = 0;
}

/* DOWN and jump at rest; at speed they are a jump. */
static u16 may_charge(void)
{
    return (hero.pad & PAD_DOWN) && !hero.ball
           && hero.ground_speed < ROLL_START && hero.ground_speed > -ROLL_START;
}

static void release_dash(void)
{
    s16 speed = DASH_SPEED + hero.charge;
    hero.charging = 0;
    hero.crouch = 0;
    hero.ground_speed = hero.facing_left ? -speed : speed;
}

static void control_ground(s16 direction)
{
    s16 speed = hero.ground_speed < 0 ? -hero.ground_speed : hero.ground_speed;
    u16 down = hero.pad & PAD_DOWN;

    hero.crouch = 0;
    if (hero.ball)
        roll(direction);
    else if (down && speed >= ROLL_START)
        hero.ball = 1;
    else if (direction)
        run(direction);
    else {
        hero.ground_speed = towards_zero(hero.ground_speed, FRICTION);
        hero.crouch = down && speed < ROLL_START;
    }
}

static void limit_speed(void)
{
    s16 speed = hero.ground_speed < 0 ? -hero.ground_speed : hero.ground_speed;
    if (hero.wet && speed > medium->top_speed)
        hero.ground_speed = towards_zero(hero.ground_speed, WATER_DRAG);
    if (hero.ground_speed > MAX_SPEED)
        hero.ground_speed = MAX_SPEED;
    if (hero.ground_speed < -MAX_SPEED)
        hero.ground_speed = -MAX_SPEED;
}

void update_ground(s16 direction)
{
    u16 jumps = hero.pressed & PAD_JUMP;
    if (hero.charging && !(hero.pad & PAD_DOWN))
        release_dash();
    else if (hero.charging || (jumps && may_charge())) {
        charge_dash();
        follow_ground();
        return;
    } else if (jumps) {
        jump();
        return;
    }
    push_of_slope();
    hero.ground_speed += hero.wind >> 1;
    control_ground(direction);
    limit_speed();
    hero.speed_x = scale(hero.ground_speed, shape_cos[hero.shape]);
    hero.speed_y = 0;
    move_on_ground();
}
