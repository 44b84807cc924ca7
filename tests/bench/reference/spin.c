/* spin.c: some 10 ms of the same work each time. */
int main(void)
{
    for (volatile int i = 0; i < 25000000; i++)
        ;
    return 0;
}
