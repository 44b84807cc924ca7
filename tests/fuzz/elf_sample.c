/* elf_sample.c: functions to be found in mutated libraries: a loop, a tail call, a local one, an alias. */
static __attribute__((noinline)) int part(int x) { return x ^ 7; }

int leaf(int x) { return 2 * x; }

int tail(int x) { return leaf(x + 1); }

int loop(int n)
{
    int sum = 0;
    while (n-- > 0)
        sum += part(n);
    return sum;
}

int alias(int n) __attribute__((alias("loop")));
