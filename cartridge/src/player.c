#include "player.h"
#include "ram.h"
#include "sprites.h"
#include "vdp.h"
#include "world.h"

/* Pixels / 256 a frame, at 60 frames a second. */
#define ACCELERATION 12
#define BRAKING 128
#define FRICTION 12
#define TOP_SPEED (6 * 256)
#define MAX_SPEED (12 * 256)
#define JUMP_SPEED 1664              /* 6.5 */
#define JUMP_CUT (4 * 256)
#define GRAVITY 56
#define FALL_SPEED (15 * 256)        /* below a metatile a frame: nothing is passed through */
#define AIR_ACCELERATION 24
#define SLOPE_RUN 24
#define SLOPE_ROLL_DOWN 80
#define SLOPE_ROLL_UP 20
#define ROLL_FRICTION 6
#define ROLL_BRAKING 32
#define ROLL_START 256
#define ROLL_STOP 128
#define DASH_SPEED (8 * 256)
#define CHARGE_STEP (2 * 256)
#define CHARGE_MAX (8 * 256)
#define HURT_GRAVITY 48

#define HALF_WIDTH 8
#define FOOT 6                       /* side feet, that hold on at an edge */
#define SNAP 10                      /* how far the ground may lie above or below the feet */
#define BLINK_FRAMES 120

Hero hero;

/* a * b / 256, with the one-instruction 16-bit product. */
static s16 scale(s16 a, s16 b)
{
    s32 product = a;
    __asm__("muls.w %1, %0" : "+d"(product) : "dmi"(b));
    return (s16)(product >> 8);
}

static s16 towards_zero(s16 value, s16 amount)
{
    if (value > amount)
        return value - amount;
    return value < -amount ? value + amount : 0;
}

s16 hero_height(void)
{
    return hero.ball || hero.crouch ? 22 : 29;
}

void hero_reset(u16 x, u16 y)
{
    hero = (Hero){0};
    hero.x = POSITION(x);
    hero.y = POSITION(y);
    hero.state = HERO_GROUND;
    hero.shape = SHAPE_SOLID;
}

void hero_kill(void)
{
    if (hero.state == HERO_DEAD || ram.level_end)
        return;
    hero.state = HERO_DEAD;
    hero.ball = hero.crouch = hero.charging = 0;
    hero.speed_x = 0;
    hero.speed_y = -6 * 256;
    ram.lives--;
    ram.mode = MODE_DEAD;
}

void hero_hurt(s16 from_x)
{
    if (hero.blink || hero.state >= HERO_HURT || ram.level_end)
        return;
    if (ram.rings == 0) {
        hero_kill();
        return;
    }
    ram.rings = 0;
    hero.state = HERO_HURT;
    hero.ball = hero.crouch = hero.charging = hero.jumped = 0;
    hero.speed_x = HERO_X < from_x ? -2 * 256 : 2 * 256;
    hero.speed_y = -4 * 256;
    hero.blink = BLINK_FRAMES;
}

void hero_bounce(void)
{
    if (hero.state == HERO_AIR && hero.speed_y > 0)
        hero.speed_y = hero.speed_y > 4 * 256 ? -hero.speed_y : -4 * 256;
}

void hero_spring(s16 speed)
{
    if (hero.state == HERO_GROUND)
        hero.speed_x = hero.ground_speed;
    hero.state = HERO_AIR;
    hero.ball = hero.crouch = hero.charging = hero.jumped = 0;
    hero.speed_y = -speed;
}

/* ---- walls ---- */

/* Stop at a wall ahead. `low` is how far above the feet the lowest look is. */
static void stop_at_walls(s16 speed, s16 low)
{
    s16 ahead = speed < 0 ? HERO_X - HALF_WIDTH : HERO_X + HALF_WIDTH;
    s16 feet = HERO_Y, head = hero_height() - 2, look;
    for (look = low; ; look += 8) {
        if (look > head)
            look = head;
        if (is_wall(ahead, feet - look))
            break;
        if (look == head)
            return;
    }
    if (speed < 0)
        hero.x = POSITION((ahead & ~15) + 16 + HALF_WIDTH);
    else
        hero.x = POSITION((ahead & ~15) - 1 - HALF_WIDTH);
    hero.speed_x = 0;
    hero.ground_speed = 0;
}

/* ---- on the ground ---- */

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
    hero.speed_x += scale(JUMP_SPEED, shape_sin[shape]);
    hero.speed_y -= scale(JUMP_SPEED, shape_cos[shape]);
    hero.ball = 1;
    hero.jumped = 1;
}

static void stand_on(Floor ground)
{
    hero.y = POSITION(ground.y);
    hero.shape = ground.shape;
    if (ground.shape == SHAPE_HURT)
        hero_hurt(HERO_X + (hero.facing_left ? -1 : 1));
}

/* An edge holds while a side foot stands on a flat block. */
static u16 hold_edge(s16 side)
{
    Floor ground = world_floor(HERO_X + side, HERO_Y, HERO_Y);
    s16 away = ground.y - HERO_Y;
    if (ground.y == NO_FLOOR || away < -2 || away > 2 || ground.shape >= SHAPE_UP45)
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
    else if (speed < TOP_SPEED) {
        speed += ACCELERATION;
        if (speed > TOP_SPEED)
            speed = TOP_SPEED;
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

static void release_dash(void)
{
    s16 speed = DASH_SPEED + (hero.charge >> 1);
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

static void update_ground(s16 direction)
{
    u16 jumps = hero.pressed & PAD_JUMP;
    if (hero.charging && !(hero.pad & PAD_DOWN))
        release_dash();
    else if (hero.charging || (jumps && hero.crouch && (hero.pad & PAD_DOWN))) {
        charge_dash();
        follow_ground();
        return;
    } else if (jumps) {
        jump();
        return;
    }
    push_of_slope();
    control_ground(direction);
    if (hero.ground_speed > MAX_SPEED)
        hero.ground_speed = MAX_SPEED;
    if (hero.ground_speed < -MAX_SPEED)
        hero.ground_speed = -MAX_SPEED;
    hero.speed_x = scale(hero.ground_speed, shape_cos[hero.shape]);
    hero.speed_y = 0;
    move_on_ground();
}

/* ---- in the air ---- */

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
    if (ground.y > HERO_Y || (flat_only && ground.shape >= SHAPE_UP45))
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
    if (ground.y != NO_FLOOR && ground.shape >= SHAPE_UP45)
        return;
    if (!land_at(HERO_X - FOOT, previous_y, 1))
        land_at(HERO_X + FOOT, previous_y, 1);
}

static void meet_ceiling(void)
{
    s16 head = HERO_Y - hero_height();
    u8 left = world_shape(HERO_X - 5, head), right = world_shape(HERO_X + 5, head);
    if (left != SHAPE_SOLID && left != SHAPE_HURT && right != SHAPE_SOLID && right != SHAPE_HURT)
        return;
    hero.y = POSITION((head & ~15) + 16 + hero_height());
    hero.speed_y = 0;
}

static void steer_air(s16 direction)
{
    s16 speed = direction < 0 ? -hero.speed_x : hero.speed_x;
    if (direction && speed < TOP_SPEED) {
        speed += AIR_ACCELERATION;
        if (speed > TOP_SPEED)
            speed = TOP_SPEED;
        hero.speed_x = direction < 0 ? -speed : speed;
    }
    if (hero.jumped && hero.speed_y < -JUMP_CUT && !(hero.pad & PAD_JUMP))
        hero.speed_y = -JUMP_CUT;
}

static void update_air(s16 direction)
{
    s16 previous_y = HERO_Y;
    if (hero.state == HERO_AIR)
        steer_air(direction);
    hero.speed_y += hero.state == HERO_HURT ? HURT_GRAVITY : GRAVITY;
    if (hero.speed_y > FALL_SPEED)
        hero.speed_y = FALL_SPEED;
    hero.x += STEP(hero.speed_x);
    if (hero.speed_x)
        stop_at_walls(hero.speed_x, 10);
    hero.y += STEP(hero.speed_y);
    if (hero.speed_y < 0)
        meet_ceiling();
    else
        meet_ground(previous_y);
}

/* ---- each frame ---- */

static void stay_in_act(void)
{
    s16 right = (s16)(act->width << 4) - 12;
    if (HERO_X < 12)
        hero.x = POSITION(12);
    else if (HERO_X > right)
        hero.x = POSITION(right);
    else
        return;
    hero.speed_x = 0;
    hero.ground_speed = 0;
}

void hero_update(u16 pad)
{
    s16 direction = (pad & PAD_RIGHT ? 1 : 0) - (pad & PAD_LEFT ? 1 : 0);
    hero.pressed = pad & ~hero.pad;
    hero.pad = pad;
    if (hero.state == HERO_DEAD) {
        hero.speed_y += GRAVITY;
        hero.y += STEP(hero.speed_y);
        return;
    }
    if (hero.blink)
        hero.blink--;
    if (direction && hero.state != HERO_HURT)
        hero.facing_left = direction < 0;
    if (hero.state == HERO_GROUND)
        update_ground(direction);
    else
        update_air(direction);
    stay_in_act();
    if (HERO_Y > ROWS * METATILE + 32)
        hero_kill();
}

static u16 hero_frame(void)
{
    s16 speed = hero.state == HERO_GROUND ? hero.ground_speed : hero.speed_x;
    if (speed < 0)
        speed = -speed;
    if (hero.state >= HERO_HURT)
        return SPRITE_HERO_HURT;
    if (hero.ball) {
        hero.stride += hero.charging ? 512 : 128 + (speed >> 2);
        return SPRITE_HERO_BALL + ((hero.stride >> 6) & 0x30);
    }
    if (hero.crouch)
        return SPRITE_HERO_CROUCH;
    if (speed < 16)
        return SPRITE_HERO_STAND;
    hero.stride += 64 + (speed >> 3);
    return SPRITE_HERO_RUN + ((hero.stride >> 6) & 0x30);
}

void hero_draw(void)
{
    u16 tile = VRAM_SPRITE_TILES + hero_frame();
    if (hero.facing_left)
        tile |= TILE_FLIP_X;
    if (!(hero.blink & 4))
        sprites_put(HERO_X - camera_x - 16, HERO_Y - camera_y - 32, SPRITE_SIZE(4, 4), tile);
}
