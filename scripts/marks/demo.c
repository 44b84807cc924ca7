/*
 * demo.c: which half of this program causes the page faults?
 *
 *     cc -O2 -I../../core -o demo demo.c
 *     pmclua stat --marks -e page-faults,task-clock -- ./demo
 */
#include <pmclua_mark.h>
#include <stdlib.h>

enum { BYTES = 4 << 20, ROUNDS = 5 };

int main(void)
{
    unsigned long sum = 0;
    for (int round = 0; round < ROUNDS; round++) {
        pmclua_mark_begin("fill");
        unsigned char *bytes = malloc(BYTES);
        for (int i = 0; i < BYTES; i++)
            bytes[i] = (unsigned char)(i * round);
        pmclua_mark_end("fill");

        pmclua_mark_begin("sum");
        for (int i = 0; i < BYTES; i++)
            sum += bytes[i];
        pmclua_mark_end("sum");
        free(bytes);
    }
    return sum == 0;
}
