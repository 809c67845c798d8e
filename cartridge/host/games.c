/* Many games in slots, under the contest's rules: retro_agents/games/retro calls it.
 *
 * Python writes settings, actions and starts into this memory and reads results there, so that one
 * call steps any number of games. */
#include "host.h"
#define main console_main
#define acts act_table
#include "main.c"
#undef acts
#undef main

#define IDLE_FRAMES 2        /* that have passed when an episode begins: a state's own, the reset's */
#define MULTIPLIER_HIGH 0x2360ED051FC65DA4ULL
#define MULTIPLIER_LOW 0x4385DF649FCCF645ULL

/* The layout is part of the interface (engine.py). Scores are in quarter points. */
typedef struct {
    u64 random_low, random_high, increment_low, increment_high; /* PCG64, as NumPy's */
    s32 score, total, furthest, gain;
    u32 steps, level_steps;
    u16 held;                /* pad of the frame before; NOTHING at an episode's start */
    u16 act;                 /* of the next start */
    u8 action;               /* of the next step */
    u8 rotates;              /* whether it plays several levels in turn */
    u8 terminated, truncated, rotated;
    u8 stuck, frames;        /* of the last step: whether its first frame held the buttons before */
    Published variables;
} Game;
#define NOTHING 0xFFFF

typedef struct {
    double stick_probability;
    u32 games, frame_skip, episode_steps, rotate_every, backtracking;
    u32 height, width, depth, colours;
    u32 from, to;            /* which games to step or start */
    u16 pads[64];            /* buttons of each action */
    Game *game;
    u8 *observations, *states, *rgb; /* [games][depth * colours][height][width]; [games]; a screen */
    u32 state_bytes, observation_bytes;
} Settings;

extern u8 __data_end[], __heap_base[];

KEPT static Settings settings;
KEPT static u8 *heap, *fresh;

/* What a search plays, and where it came; see cartridge/levels/simulator.py. */
typedef struct {
    u32 count;
    u8 actions[8192], stuck[8192]; /* stuck: whether the first frame holds the buttons before */
    s32 played, seen[14];
} Line;
KEPT static Line line;
static u16 line_held = NOTHING, line_furthest; /* pad of the step before, largest x; of the state */

EXPORT(allocate) void *allocate(u32 bytes)
{
    u8 *found = heap ? heap : (u8 *)(((u32)__heap_base + 63) & ~63u);
    u32 top = (u32)__builtin_wasm_memory_size(0) << 16;
    heap = found + ((bytes + 63) & ~63u);
    if ((u32)heap > top && __builtin_wasm_memory_grow(0, ((u32)heap - top + 0xFFFF) >> 16) == (__SIZE_TYPE__)-1)
        __builtin_trap();
    return found;
}

EXPORT(settings_at) Settings *settings_at(void)
{
    return &settings;
}

static u32 state_bytes(void)
{
    return (u32)(__data_end - state_begin);
}

/* A single game lives where the engine has it, and is never copied. */
static u8 *state_of(u32 index)
{
    return settings.games == 1 ? state_begin : settings.states + index * settings.state_bytes;
}

static void enter(u32 index)
{
    if (settings.games > 1)
        memcpy(state_begin, state_of(index), state_bytes());
}

static void leave(u32 index)
{
    if (settings.games > 1)
        memcpy(state_of(index), state_begin, state_bytes());
}

/* After `load`, and when the settings say how many games and which pictures. */
EXPORT(prepare) void prepare(void)
{
    u32 small = settings.height * settings.width;
    picture_init();
    vdp_init();
    title();
    fresh = allocate(state_bytes());
    memcpy(fresh, state_begin, state_bytes());
    settings.state_bytes = state_bytes();
    settings.observation_bytes = settings.depth * settings.colours * small;
    settings.game = allocate(settings.games * sizeof(Game));
    settings.observations = allocate(settings.games * settings.observation_bytes + 16);
    settings.states = settings.games == 1 ? state_begin : allocate(settings.games * state_bytes());
    settings.rgb = allocate(320 * 224 * 3);
}

/* The main loop's way through a frame. */
static void frame(u16 pad)
{
    if (ram.mode != MODE_TITLE) {
        world_upload();
        hud_upload();
    }
    sprites_upload();
    if (ram.mode != MODE_TITLE)
        play(pad);
    else
        update_title();
    change_act((pad & ~last_pad & PAD_START) != 0);
    last_pad = pad;
}

static u16 over(void)
{
    return ram.lives < START_LIVES || ram.level_end_bonus;
}

/* The upper 64 bits of a product. */
static u64 multiply_high(u64 a, u64 b)
{
    u64 low = (a & 0xFFFFFFFF) * (b & 0xFFFFFFFF), one = (a >> 32) * (b & 0xFFFFFFFF);
    u64 two = (a & 0xFFFFFFFF) * (b >> 32);
    u64 middle = (low >> 32) + (one & 0xFFFFFFFF) + (two & 0xFFFFFFFF);
    return (a >> 32) * (b >> 32) + (one >> 32) + (two >> 32) + (middle >> 32);
}

/* NumPy's Generator(PCG64).random(). */
static double uniform(Game *game)
{
    u64 low = game->random_low * MULTIPLIER_LOW, value;
    u64 high = game->random_high * MULTIPLIER_LOW + game->random_low * MULTIPLIER_HIGH
               + multiply_high(game->random_low, MULTIPLIER_LOW);
    u32 turn;
    game->random_low = low + game->increment_low;
    game->random_high = high + game->increment_high + (game->random_low < low);
    value = game->random_high ^ game->random_low;
    turn = (u32)(game->random_high >> 58);
    value = value >> turn | value << (-turn & 63);
    return (double)(value >> 11) * (1.0 / 9007199254740992.0);
}

/* The newest picture at the end of the stack, or in all of its places. */
static void look(u32 index, u16 first)
{
    u32 picture = settings.height * settings.width, newest = settings.colours * picture, i;
    u8 *stack = settings.observations + index * settings.observation_bytes;
    u8 *to = stack + settings.observation_bytes - newest;
    if (!settings.depth)
        return;
    memmove(stack, stack + newest, settings.observation_bytes - newest);
    for (i = 0; i < settings.colours; i++)
        picture_small(settings.colours == 1 ? GREY : RED + i, to + i * picture, settings.height,
                      settings.width);
    for (i = 0; first && i + 1 < settings.depth; i++)
        memcpy(stack + i * newest, to, newest);
}

/* Begin the act `game->act`. */
EXPORT(start) void start(u32 index)
{
    Game *game = settings.game + index;
    u32 i;
    memcpy(state_begin, fresh, state_bytes());
    start_act(game->act, 0);
    for (i = 0; i < IDLE_FRAMES; i++)
        frame(0);
    line_furthest = ram.x;
    game->held = NOTHING;
    game->score = ram.contest_score;
    game->total = game->furthest = game->gain = 0;
    game->steps = 0;
    game->terminated = game->truncated = game->rotated = 0;
    memcpy(&game->variables, (const void *)&ram, sizeof ram);
    look(index, 1);
    leave(index);
}

/* Source of the sticky rule: openai/retro-contest, StochasticFrameSkip. */
static void play_frames(Game *game)
{
    u16 pad = settings.pads[game->action & 63];
    u32 i;
    game->stuck = game->frames = 0;
    for (i = 0; i < settings.frame_skip && !over(); i++) {
        u16 sticks = i == 0 && game->held != NOTHING && uniform(game) <= settings.stick_probability;
        if (game->held == NOTHING || (i <= 1 && !sticks))
            game->held = pad;
        game->stuck |= (u8)sticks;
        frame(game->held);
        game->frames++;
    }
}

static void step_game(u32 index)
{
    Game *game = settings.game + index;
    s32 reward;
    enter(index);
    play_frames(game);
    reward = ram.contest_score - game->score;
    game->score = ram.contest_score;
    game->total += reward;
    game->gain = !settings.backtracking           ? reward
                 : game->total > game->furthest ? game->total - game->furthest
                                                : 0;
    if (game->total > game->furthest)
        game->furthest = game->total;
    game->steps++;
    game->level_steps++;
    game->terminated = (u8)over();
    game->truncated = settings.episode_steps && game->steps >= settings.episode_steps;
    game->rotated = game->rotates && settings.rotate_every && game->level_steps >= settings.rotate_every
                    && !game->terminated && !game->truncated;
    game->truncated |= game->rotated;
    memcpy(&game->variables, (const void *)&ram, sizeof ram);
    look(index, 0);
    leave(index);
}

EXPORT(step) void step(void)
{
    u32 i;
    for (i = settings.from; i < settings.to; i++)
        step_game(i);
}

EXPORT(line_at) Line *line_at(void)
{
    return &line;
}

/* Where the only game stands. */
EXPORT(see) void see(void)
{
    const s32 seen[14] = {ram.x, ram.y, ram.progress, ram.end_x - ram.start_x, ram.frame_counter,
                          ram.speed_x, ram.speed_y, ram.flags, ram.rings, ram.lives,
                          ram.level_end_bonus, ram.contest_score, ram.switches, line_furthest};
    memcpy(line.seen, seen, sizeof seen);
}

/* Play a line of actions in the only game, without pictures, until its episode is over. */
EXPORT(search) void search(void)
{
    u32 i, j;
    for (i = 0; i < line.count && !over(); i++) {
        u16 pad = settings.pads[line.actions[i] & 63];
        for (j = 0; j < settings.frame_skip && !over(); j++)
            frame(j == 0 && line.stuck[i] && line_held != NOTHING ? line_held : pad);
        line_held = pad;
        if (ram.x > line_furthest)
            line_furthest = ram.x;
    }
    line.played = (s32)i;
    see();
}

/* A game's screen, at settings.rgb. */
EXPORT(rgb) void rgb(u32 index)
{
    enter(index);
    picture_rgb(settings.rgb);
}

void *memcpy(void *to, const void *from, __SIZE_TYPE__ count) { return __builtin_memcpy(to, from, count); }
void *memmove(void *to, const void *from, __SIZE_TYPE__ count) { return __builtin_memmove(to, from, count); }
void *memset(void *to, int value, __SIZE_TYPE__ count) { return __builtin_memset(to, value, count); }
