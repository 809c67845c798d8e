#include "motion.h"
#include "ram.h"
#include "sprites.h"

Hero hero;

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

void stop_at_walls(s16 speed, s16 low)
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
