#include <stdio.h>
#include <string.h>
#include "bzlib.h"
static char in[60000], out[80000], back[60000];
int main(void)
{
    unsigned i, state = 1, size = sizeof out, length = sizeof back;
    for (i = 0; i < sizeof in; i++) {
        state = state * 1103515245u + 12345u;
        in[i] = i % 64 < 40 ? "the compressor sorts all of its rotations"[(i + state / 65536 % 3) % 41]
                            : 'a' + state / 65536 % 26;
    }
    if (BZ2_bzBuffToBuffCompress(out, &size, in, sizeof in, 1, 0, 30) != BZ_OK
        || BZ2_bzBuffToBuffDecompress(back, &length, out, size, 0, 0) != BZ_OK)
        return 1;
    printf("%u %d\n", size, memcmp(in, back, length));
    return 0;
}
