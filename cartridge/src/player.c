#include "motion.h"
#include "objects.h"
#include "ram.h"
#include "sound.h"
#include "sprites.h"

Hero hero;

static const Medium air = {
    .acceleration = 12, .top_speed = 6 * 256, .air_acceleration = 24,
    .jump = 1664, .jump_cut = 4 * 256, .gravity = 56, .hurt_gravity = 48,
    .fall = 15 * 256,                /* below a metatile a frame: nothing is passed through */
};
static const Medium water = {
    .acceleration = 6, .top_speed = 896, .air_acceleration = 12,
    .jump = 1408, .jump_cut = 3 * 256, .gravity = 28, .hurt_gravity = 24, .fall = 5 * 256,
};
const Medium *medium = &air;

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
    hero.previous_x = (s16)x;
    medium = &air;
}

void hero_kill(void)
{
    if (hero.state == HERO_DEAD || ram.level_end_bonus)
        return;
    hero.state = HERO_DEAD;
    hero.ball = hero.crouch = hero.charging = 0;
    hero.speed_x = 0;
    hero.speed_y = -6 * 256;
    sound_request = SOUND_HURT;
    ram.lives--;
    ram.mode = MODE_DEAD;
}

void hero_hurt(s16 from_x)
{
    if (hero.blink || hero.state >= HERO_HURT || ram.level_end_bonus)
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
    hero.lock = 0;
    sound_request = SOUND_HURT;
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
    sound_request = SOUND_SPRING;
}

void hero_launch(s16 speed, u8 frames)
{
    hero.speed_x = hero.ground_speed = speed;
    hero.facing_left = speed < 0;
    hero.charging = hero.crouch = 0;
    hero.lock = frames;
}

void hero_carry(s16 by_x, s16 by_y)
{
    hero.x += POSITION(by_x);
    hero.y += POSITION(by_y);
    if (by_x)
        stop_at_walls(by_x, 15);
}

void hero_stop_at(s16 x)
{
    hero.x = POSITION(x - HALF_WIDTH);
    hero.speed_x = hero.ground_speed = 0;
}

/* Whether a roll breaks through the wall at (x, y). */
static u16 smashes(s16 x, s16 y)
{
    s16 speed = hero.ground_speed < 0 ? -hero.ground_speed : hero.ground_speed;
    if (!hero.ball || hero.state != HERO_GROUND || speed < SMASH_SPEED
        || world_shape(x, y) != SHAPE_BREAKABLE)
        return 0;
    objects_smash(x);
    return 1;
}

void stop_at_walls(s16 speed, s16 low)
{
    s16 ahead = speed < 0 ? HERO_X - HALF_WIDTH : HERO_X + HALF_WIDTH;
    s16 feet = HERO_Y, head = hero_height() - 2, look;
    for (look = low; ; look += 8) {
        if (look > head)
            look = head;
        if (is_wall(ahead, feet - look) && !smashes(ahead, feet - look))
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

void stand_on(Floor ground)
{
    hero.y = POSITION(ground.y);
    hero.shape = ground.shape;
    if (ground.shape == SHAPE_HURT)
        hero_hurt(HERO_X + (hero.facing_left ? -1 : 1));
}

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

/* Water slows what falls into it. */
static void choose_medium(void)
{
    u16 surface = act->water_y;
    u8 wet = surface - 1U < ROWS * METATILE && HERO_Y - 12 > (s16)surface;
    if (wet && !hero.wet) {
        hero.speed_x >>= 1;
        hero.ground_speed >>= 1;
        if (hero.speed_y > 0)
            hero.speed_y >>= 2;
    }
    hero.wet = wet;
    medium = wet ? &water : &air;
}

/* The buttons that count, and where they point: a spring takes the direction for a while. */
static s16 read_buttons(u16 pad)
{
    if (hero.lock) {
        hero.lock--;
        pad = (pad & PAD_JUMP) | (hero.facing_left ? PAD_LEFT : PAD_RIGHT);
    }
    hero.pressed = pad & ~hero.pad;
    hero.pad = pad;
    return (pad & PAD_RIGHT ? 1 : 0) - (pad & PAD_LEFT ? 1 : 0);
}

void hero_update(u16 pad)
{
    s16 direction = read_buttons(pad);
    hero.previous_x = HERO_X;
    if (hero.state == HERO_DEAD) {
        hero.speed_y += air.gravity;
        hero.y += STEP(hero.speed_y);
        return;
    }
    if (hero.blink)
        hero.blink--;
    choose_medium();
    if (direction && hero.state < HERO_LOOP)
        hero.facing_left = direction < 0;
    if (hero.state == HERO_GROUND)
        update_ground(direction);
    else if (hero.state == HERO_LOOP)
        update_loop();
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
    if (hero.state == HERO_AIR)
        return SPRITE_HERO_FALL;
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
