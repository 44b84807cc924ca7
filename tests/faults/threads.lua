-- Runs a kernel on four threads, and commands in between, for a sanitizer that watches pmclua's runner.
local pmc = require "pmclua"
local kernel = pmc.kernel { symbol = "turn", threads = 4,
  code = [[
    #include <stdint.h>
    void turn(void *state, uint64_t n) { (void)state; while (n--) __asm__ volatile(""); }]] }
for _ = 1, 3 do
  local result = pmc.compare(kernel, "true", {
    events = { "task-clock", "page-faults" }, repetitions = 10, quiet = true })
  for cell in result:cells() do assert(cell.task_clock.n == 10) end
end
