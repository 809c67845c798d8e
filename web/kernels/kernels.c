/* The two matrix products that nets spend their time in, with WebAssembly's vector instructions.
 * All matrices are by rows. `make` in this folder writes kernels.wasm. */
typedef float v4 __attribute__((vector_size(16), aligned(4)));
typedef unsigned int u32;

#define EXPORT(name) __attribute__((export_name(#name)))
#define ROWS 4

/* The sums of four rows in eight columns. Rows beyond the last one repeat it: `a` and `c` say where. */
static void eight(float *const c[ROWS], const float *const a[ROWS], const float *b, u32 n, u32 k)
{
    v4 low0 = {0}, low1 = {0}, low2 = {0}, low3 = {0}, high0 = {0}, high1 = {0}, high2 = {0}, high3 = {0};
    const float *a0 = a[0], *a1 = a[1], *a2 = a[2], *a3 = a[3];
    u32 l;
    for (l = 0; l < k; l++, b += n) {
        const v4 one = *(const v4 *)b, two = *(const v4 *)(b + 4);
        low0 += one * a0[l];
        high0 += two * a0[l];
        low1 += one * a1[l];
        high1 += two * a1[l];
        low2 += one * a2[l];
        high2 += two * a2[l];
        low3 += one * a3[l];
        high3 += two * a3[l];
    }
    *(v4 *)c[3] = low3, *(v4 *)(c[3] + 4) = high3;
    *(v4 *)c[2] = low2, *(v4 *)(c[2] + 4) = high2;
    *(v4 *)c[1] = low1, *(v4 *)(c[1] + 4) = high1;
    *(v4 *)c[0] = low0, *(v4 *)(c[0] + 4) = high0;
}

static float one(const float *a, const float *b, u32 n, u32 k)
{
    float sum = 0;
    u32 l;
    for (l = 0; l < k; l++)
        sum += a[l] * b[l * n];
    return sum;
}

/* c [m,n] = a [m,k] b [k,n] */
EXPORT(product) void product(float *c, const float *a, const float *b, u32 m, u32 n, u32 k)
{
    u32 i, j, r;
    for (i = 0; i < m; i += ROWS)
        for (j = 0; j < n; j += 8) {
            const float *from[ROWS];
            float *to[ROWS];
            for (r = 0; r < ROWS; r++) {
                const u32 row = i + r < m ? i + r : m - 1;
                from[r] = a + row * k;
                to[r] = c + row * n + j;
            }
            if (j + 8 <= n) {
                eight(to, from, b + j, n, k);
                continue;
            }
            for (r = 0; r < ROWS; r++) {
                u32 rest;
                for (rest = 0; j + rest < n; rest++)
                    to[r][rest] = one(from[r], b + j + rest, n, k);
            }
        }
}

/* c [m,n] = a [m,k] b [n,k] transposed */
EXPORT(product_of_rows) void product_of_rows(float *c, const float *a, const float *b, u32 m, u32 n, u32 k)
{
    u32 i, j, l;
    for (j = 0; j < n; j++)
        for (i = 0; i < m; i++) {
            const float *x = a + i * k, *y = b + j * k;
            v4 sums = {0, 0, 0, 0}, more = sums;
            float sum;
            for (l = 0; l + 8 <= k; l += 8) {
                sums += *(const v4 *)(x + l) * *(const v4 *)(y + l);
                more += *(const v4 *)(x + l + 4) * *(const v4 *)(y + l + 4);
            }
            sums += more;
            sum = sums[0] + sums[1] + sums[2] + sums[3];
            for (; l < k; l++)
                sum += x[l] * y[l];
            c[i * n + j] = sum;
        }
}

/* The patches under a convolution's kernel: x [c,h,w] -> columns [c*kh*kw, oh*ow]. */
EXPORT(patches) void patches(float *to, const float *x, u32 channels, u32 h, u32 w, u32 kh, u32 kw,
                             u32 stride, u32 top, u32 left, u32 oh, u32 ow)
{
    u32 c, i, j, y, z;
    for (c = 0; c < channels; c++)
        for (i = 0; i < kh; i++)
            for (j = 0; j < kw; j++)
                for (y = 0; y < oh; y++) {
                    const u32 row = y * stride + i - top; /* below 0: larger than any */
                    for (z = 0; z < ow; z++) {
                        const u32 column = z * stride + j - left;
                        *to++ = row < h && column < w ? x[(c * h + row) * w + column] : 0;
                    }
                }
}
