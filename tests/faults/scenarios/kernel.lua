-- A kernel whose page faults are known: four for each iteration.
local pmc = require "pmclua"

return pmc.experiment {
  events = { "page-faults", "task-clock" }, repetitions = 6, warmup = 0, iterations = 5, seed = 1,
  workloads = { pmc.kernel { symbol = "fault", code = [[
    #include <stdint.h>
    #include <sys/mman.h>
    void fault(void *state, uint64_t iterations)
    {
        (void)state;
        while (iterations--) {
            volatile char *place = mmap(0, 4 * 4096, PROT_READ | PROT_WRITE,
                                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            for (int i = 0; i < 4; i++)
                place[i * 4096] = 1;
            munmap((void *)place, 4 * 4096);
        }
    }]] } },
}
