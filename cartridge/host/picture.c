/* The picture: what the video chip makes of its memory, drawn in grey or in one colour at a time.
 *
 * Back to front: plane B, plane A, sprites, plane A's tiles with priority, sprites with priority.
 * Sprites are painted from the last to the first; that is exact because those with priority (the
 * display, text) come first in their chain. A line shows 20 sprites and 320 pixels of them. */
#include "host.h"
#include <wasm_simd128.h>

#define STRIDE 384
#define MARGIN 32            /* pixels around the screen, for what is partly outside */
#define WIDTH 320
#define HEIGHT 224
#define LINE_SPRITES 20
#define FRONT_ROWS 29        /* tiles of plane A, of which the screen may show a part */
#define FRONT_COLUMNS 42
#define INLINE static inline __attribute__((always_inline))

typedef u16 v8u16 __attribute__((vector_size(16)));

KEPT static u8 *screen;      /* [HEIGHT + 2 * MARGIN][STRIDE] */
KEPT static v8u16 taps[84];  /* weights of the pixels from tap_at on */
KEPT static u16 tap_at[84];

INLINE u8 *pixel(s16 x, s16 y)
{
    return screen + (y + MARGIN) * STRIDE + MARGIN + x;
}

static __attribute__((noinline)) void bake(const Art *art, Baked *view, u16 tile, u8 line)
{
    const u8 *from = (const u8 *)(art->tile + (tile << 3)), *look = view->look + (line << 4);
    u8 *to = (u8 *)(view->rows[0] + (tile << 3)), *mirrored = (u8 *)(view->rows[1] + (tile << 3));
    u16 i;
    view->baked[tile] = line;
    for (i = 0; i < 64; i++)
        to[i] = mirrored[i ^ 7] = from[i] ? look[from[i]] : CLEAR;
}

/* The eight rows of a tile as a name or a sprite shows it, but for its flip upside down. */
INLINE const u64 *rows_of(const Art *art, Baked *view, u16 word)
{
    u16 tile = word & 0x7FF;
    u8 line = word >> 13 & 3;
    if (tile >= SHARED_TILES)
        tile = alias[(tile - SHARED_TILES) & (OWN_TILES - 1)];
    if (__builtin_expect(view->baked[tile] != line, 0))
        bake(art, view, tile, line);
    return view->rows[word >> 11 & 1] + (tile << 3);
}

/* Sixteen or eight pixels over what is there. */
INLINE void put_16(u8 *to, v128_t over)
{
    v128_t under = wasm_v128_load(to);
    wasm_v128_store(to, wasm_v128_bitselect(under, over, wasm_i8x16_eq(over, wasm_i8x16_splat(-1))));
}
INLINE void put_8(u8 *to, const u64 *row)
{
    v128_t over = wasm_v128_load64_zero(row), under = wasm_v128_load64_zero(to);
    over = wasm_v128_bitselect(under, over, wasm_i8x16_eq(over, wasm_i8x16_splat(-1)));
    wasm_v128_store64_lane(to, over, 0);
}

/* Rows `from` to `end` of a tile over the picture. */
INLINE void put_tile(u8 *to, const u64 *rows, u16 word, s16 from, s16 end)
{
    u16 flip = word & 0x1000 ? 7 : 0;
    s16 i;
    for (i = from; i < end; i++)
        put_8(to + i * STRIDE, rows + (i ^ flip));
}

static __attribute__((noinline)) void make_back(const Art *art, Baked *view)
{
    u16 place, i, k;
    for (place = 0; place < 64 * 32; place++) {
        u16 word = art->back_map[place];
        const u64 *rows = rows_of(art, view, word);
        for (i = 0; i < 8; i++) {
            u8 *to = view->back + ((place >> 6) * 8 + i) * BACK_STRIDE + (place & 63) * 8;
            memcpy(to, rows + (word & 0x1000 ? 7 - i : i), 8);
            for (k = 0; k < 8; k++)
                if (to[k] == CLEAR)
                    to[k] = view->look[0];
            if ((place & 63) < 40)
                memcpy(to + 512, to, 8);
        }
    }
    view->back_made = 1;
}

static void draw_back(const Art *art, Baked *view)
{
    s16 y, x;
    if (!view->back_made)
        make_back(art, view);
    for (y = 0; y < HEIGHT; y++) {
        const u8 *from = view->back + ((y + scroll_b_y) & 255) * BACK_STRIDE + (scroll_b_x & 511);
        u8 *to = pixel(0, y);
        for (x = 0; x < WIDTH; x += 16)
            wasm_v128_store(to + x, wasm_v128_load(from + x));
    }
}

/* Plane A. Returns how many of its pairs of tiles have one with priority: `high`, by row and column. */
static __attribute__((noinline)) u16 draw_front(const Art *art, Baked *view, u16 *high)
{
    u16 column = scroll_a_x >> 3 & 63, row = scroll_a_y >> 3 & 31, found = 0, r, c, i;
    for (r = 0; r < FRONT_ROWS; r++) {
        const u16 *names = plane_a + (((row + r) & 31) << 6);
        u8 *to = pixel(-(scroll_a_x & 7), (s16)(r * 8 - (scroll_a_y & 7)));
        for (c = 0; c < FRONT_COLUMNS; c += 2, to += 16) {
            u16 one = names[(column + c) & 63], two = names[(column + c + 1) & 63];
            const u64 *left, *right;
            u16 flip_left, flip_right;
            if (!((one | two) & 0x7FF))
                continue;
            if ((one | two) & TILE_PRIORITY)
                high[found++] = (u16)(r << 6 | c);
            left = rows_of(art, view, one);
            right = rows_of(art, view, two);
            flip_left = one & 0x1000 ? 7 : 0;
            flip_right = two & 0x1000 ? 7 : 0;
            for (i = 0; i < 8; i++)
                put_16(to + i * STRIDE, wasm_v128_load64_lane(right + (i ^ flip_right),
                                                              wasm_v128_load64_zero(left + (i ^ flip_left)), 1));
        }
    }
    return found;
}

/* Its tiles with priority once more. */
static void draw_high(const Art *art, Baked *view, const u16 *high, u16 count)
{
    u16 column = scroll_a_x >> 3 & 63, row = scroll_a_y >> 3 & 31, i, c;
    for (; count--; high++)
        for (i = 0; i < 2; i++) {
            u16 word = plane_a[((row + (*high >> 6)) & 31) << 6 | ((column + (c = (*high & 63) + i)) & 63)];
            u8 *to = pixel((s16)(c * 8 - (scroll_a_x & 7)), (s16)((*high >> 6) * 8 - (scroll_a_y & 7)));
            if (word & TILE_PRIORITY)
                put_tile(to, rows_of(art, view, word), word, 0, 8);
        }
}

/* Lines `from` to `end` of a sprite, its first `columns` of tiles. */
static void draw_sprite(const Art *art, Baked *view, const Sprite *sprite, s16 from, s16 end, u16 columns)
{
    u16 width = (sprite->size >> 2) + 1, height = (sprite->size & 3) + 1, c, r;
    s16 x = (s16)(sprite->x & 511) - 128, y = (s16)(sprite->y & 511) - 128;
    if (x <= -MARGIN || x >= WIDTH || y <= -MARGIN || y >= HEIGHT)
        return;
    for (c = 0; c < columns; c++)
        for (r = 0; r < height; r++) {
            u16 column = sprite->tile & TILE_FLIP_X ? width - 1 - c : c;
            u16 row = sprite->tile & 0x1000 ? height - 1 - r : r;
            u16 word = (sprite->tile & 0xF800) | ((sprite->tile + column * height + row) & 0x7FF);
            s16 first = (s16)(from - r * 8), last = (s16)(end - r * 8);
            put_tile(pixel((s16)(x + c * 8), (s16)(y + r * 8)), rows_of(art, view, word), word,
                     first < 0 ? 0 : first, last > 8 ? 8 : last);
        }
}

/* How many columns of tiles each line of each sprite still shows; returns whether all do. */
static u16 share_lines(const u8 *chain, u16 count, u8 shown[][32])
{
    u8 sprites[HEIGHT], columns[HEIGHT];
    u16 i, all = 1;
    s16 j;
    memset(sprites, 0, sizeof sprites);
    memset(columns, 0, sizeof columns);
    for (i = 0; i < count; i++) {
        const Sprite *sprite = sprite_table + chain[i];
        u8 width = (u8)((sprite->size >> 2) + 1);
        s16 y = (s16)(sprite->y & 511) - 128, height = (s16)((sprite->size & 3) * 8 + 8);
        for (j = 0; j < height; j++) {
            s16 line = y + j;
            u8 left;
            shown[i][j] = 0;
            if (line < 0 || line >= HEIGHT)
                continue;
            left = sprites[line] == LINE_SPRITES ? 0 : WIDTH / 8 - columns[line];
            shown[i][j] = width < left ? width : left;
            all &= width <= left;
            if (left)
                sprites[line]++;
            columns[line] += shown[i][j];
        }
    }
    return all;
}

/* The sprites of one priority, the first of the chain on top. */
static void draw_sprites(const Art *art, Baked *view, const u8 *chain, u16 count, u16 priority,
                        u8 shown[][32], u16 all)
{
    u16 i;
    s16 j;
    for (i = count; i--;) {
        const Sprite *sprite = sprite_table + chain[i];
        s16 height = (s16)((sprite->size & 3) * 8 + 8);
        if ((sprite->tile & TILE_PRIORITY) != priority)
            continue;
        if (all)
            draw_sprite(art, view, sprite, 0, height, (sprite->size >> 2) + 1);
        else
            for (j = 0; j < height; j++)
                draw_sprite(art, view, sprite, j, j + 1, shown[i][j]);
    }
}

static void draw(enum View which)
{
    const Art *art = arts + art_index;
    Baked *view = arts[art_index].view + which;
    u8 chain[MAX_SPRITES], shown[MAX_SPRITES][32], next = 0;
    u16 count = 0, all, high[FRONT_ROWS * FRONT_COLUMNS / 2], found;
    do {
        chain[count++] = next;
        next = sprite_table[next].link & 127;
    } while (next && next < MAX_SPRITES && count < MAX_SPRITES);
    all = share_lines(chain, count, shown);
    draw_back(art, view);
    found = draw_front(art, view, high);
    draw_sprites(art, view, chain, count, 0, shown, all);
    draw_high(art, view, high, found);
    draw_sprites(art, view, chain, count, TILE_PRIORITY, shown, all);
}

/* Eight lines make three and 80 columns 21: the weights are whole numbers, 640 for each pixel. */
static void make_taps(void)
{
    u16 j, k;
    for (j = 0; j < 84; j++) {
        s16 from = (s16)(j * 80), end = from + 80, at = from / 21;
        tap_at[j] = (u16)at;
        for (k = 0; k < 8; k++, at++) {
            s16 first = at * 21 > from ? at * 21 : from, last = at * 21 + 21 < end ? at * 21 + 21 : end;
            taps[j][k] = last > first ? (u16)(last - first) : 0;
        }
    }
}

INLINE v128_t tap(const u16 *line, u16 j)
{
    return wasm_i32x4_dot_i16x8(wasm_v128_load(line + tap_at[j]), (v128_t)taps[j]);
}

/* 84 pixels from a line of 320, weighted by 8 already. */
static __attribute__((noinline)) void across(const u16 *line, u8 *to)
{
    u16 j;
    for (j = 0; j < 84; j += 4) {
        v128_t a = tap(line, j), b = tap(line, j + 1), c = tap(line, j + 2), d = tap(line, j + 3);
        v128_t ab = wasm_i32x4_add(wasm_i32x4_shuffle(a, b, 0, 4, 1, 5), wasm_i32x4_shuffle(a, b, 2, 6, 3, 7));
        v128_t cd = wasm_i32x4_add(wasm_i32x4_shuffle(c, d, 0, 4, 1, 5), wasm_i32x4_shuffle(c, d, 2, 6, 3, 7));
        v128_t sum = wasm_i32x4_add(wasm_i32x4_shuffle(ab, cd, 0, 1, 4, 5), wasm_i32x4_shuffle(ab, cd, 2, 3, 6, 7));
        /* (sum + 320) / 640; the division by 5 is exact below 1,280. */
        sum = wasm_u32x4_shr(wasm_i32x4_add(sum, wasm_i32x4_splat(320)), 7);
        sum = wasm_u32x4_shr(wasm_i32x4_mul(sum, wasm_i32x4_splat(13108)), 16);
        sum = wasm_i16x8_narrow_i32x4(sum, sum);
        wasm_v128_store32_lane(to + j, wasm_u8x16_narrow_i16x8(sum, sum), 0);
    }
}

INLINE v8u16 wide(const u8 *from)
{
    return (v8u16)wasm_u16x8_load8x8(from);
}

/* To 84 x 84. */
static void shrink_to_84(u8 *to)
{
    u16 lines[3][WIDTH + 8] __attribute__((aligned(16)));
    u16 i, k, x;
    for (k = 0; k < 3; k++)
        memset(lines[k] + WIDTH, 0, 16);
    for (i = 0; i < HEIGHT; i += 8) {
        const u8 *from = pixel(0, (s16)i);
        for (x = 0; x < WIDTH; x += 8, from += 8) {
            v8u16 two = wide(from + 2 * STRIDE), five = wide(from + 5 * STRIDE);
            v8u16 first = wide(from) + wide(from + STRIDE);
            v8u16 middle = wide(from + 3 * STRIDE) + wide(from + 4 * STRIDE);
            v8u16 last = wide(from + 6 * STRIDE) + wide(from + 7 * STRIDE);
            *(v8u16 *)(lines[0] + x) = first * 3 + two + two;
            *(v8u16 *)(lines[1] + x) = middle * 3 + two + five;
            *(v8u16 *)(lines[2] + x) = last * 3 + five + five;
        }
        for (k = 0; k < 3; k++, to += 84)
            across(lines[k], to);
    }
}

/* To any size: on an axis a source pixel has the length of the target, and the other way round. */
static void shrink(u8 *to, u32 height, u32 width)
{
    u32 sums[WIDTH], i, j, x, y;
    for (i = 0; i < height; i++) {
        for (x = 0; x < WIDTH; x++)
            sums[x] = 0;
        for (y = i * HEIGHT / height; y * height < (i + 1) * HEIGHT; y++) {
            u32 top = y * height > i * HEIGHT ? y * height : i * HEIGHT;
            u32 end = (y + 1) * height < (i + 1) * HEIGHT ? (y + 1) * height : (i + 1) * HEIGHT;
            const u8 *from = pixel(0, (s16)y);
            for (x = 0; x < WIDTH; x++)
                sums[x] += from[x] * (end - top);
        }
        for (j = 0; j < width; j++) {
            u32 sum = WIDTH * HEIGHT / 2;
            for (x = j * WIDTH / width; x * width < (j + 1) * WIDTH; x++) {
                u32 left = x * width > j * WIDTH ? x * width : j * WIDTH;
                u32 end = (x + 1) * width < (j + 1) * WIDTH ? (x + 1) * width : (j + 1) * WIDTH;
                sum += sums[x] * (end - left);
            }
            *to++ = (u8)(sum / (WIDTH * HEIGHT));
        }
    }
}

void picture_init(void)
{
    screen = allocate((HEIGHT + 2 * MARGIN) * STRIDE);
    make_taps();
}

void picture_small(enum View view, u8 *to, u32 height, u32 width)
{
    draw(view);
    if (height == 84 && width == 84)
        shrink_to_84(to);
    else
        shrink(to, height, width);
}

void picture_rgb(u8 *to)
{
    u32 colour;
    s16 x, y;
    for (colour = 0; colour < 3; colour++) {
        u8 *place = to + colour;
        draw(RED + colour);
        for (y = 0; y < HEIGHT; y++)
            for (x = 0; x < WIDTH; x++, place += 3)
                *place = *pixel(x, y);
    }
}
