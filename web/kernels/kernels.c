/* The two matrix products that nets spend their time in, with WebAssembly's vector instructions.
 * All matrices are by rows. `make` in this folder writes kernels.wasm. */
typedef float v4 __attribute__((vector_size(16), aligned(4)));
typedef unsigned int u32;

#define EXPORT(name) __attribute__((export_name(#name)))
#define ROWS 4

/* The sums of up to ROWS rows in the columns from j on: eight, or one. */
static void eight(float *c, const float *a, const float *b, u32 rows, u32 n, u32 k, u32 j)
{
    v4 low[ROWS], high[ROWS];
    u32 i, l;
    for (i = 0; i < ROWS; i++)
        low[i] = high[i] = (v4){0, 0, 0, 0};
    for (l = 0; l < k; l++) {
        const v4 one = *(const v4 *)(b + l * n + j), two = *(const v4 *)(b + l * n + j + 4);
        for (i = 0; i < ROWS; i++) {
            const float f = a[(i < rows ? i : 0) * k + l];
            low[i] += one * f;
            high[i] += two * f;
        }
    }
    for (i = 0; i < rows; i++) {
        *(v4 *)(c + i * n + j) = low[i];
        *(v4 *)(c + i * n + j + 4) = high[i];
    }
}

static void one(float *c, const float *a, const float *b, u32 rows, u32 n, u32 k, u32 j)
{
    u32 i, l;
    for (i = 0; i < rows; i++) {
        float sum = 0;
        for (l = 0; l < k; l++)
            sum += a[i * k + l] * b[l * n + j];
        c[i * n + j] = sum;
    }
}

/* c [m,n] = a [m,k] b [k,n] */
EXPORT(product) void product(float *c, const float *a, const float *b, u32 m, u32 n, u32 k)
{
    u32 i, j;
    for (i = 0; i < m; i += ROWS) {
        const u32 rows = m - i < ROWS ? m - i : ROWS;
        for (j = 0; j + 8 <= n; j += 8)
            eight(c + i * n, a + i * k, b, rows, n, k, j);
        for (; j < n; j++)
            one(c + i * n, a + i * k, b, rows, n, k, j);
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
