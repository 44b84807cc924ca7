--- marks.lua: programs that set marks around a known number of page faults, and their counts by mark.

local pmc = require "pmclua"
local support = require "tests.support"

local M = {}

--- What each program begins with: touch(n) is n page faults.
M.HEAD = [[
#include <pmclua_mark.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
static void touch(unsigned long n)
{
    char *m = (char *)mmap(0, (n + 1) * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (unsigned long i = 0; i < n; i++) m[i * 4096] = 1;
    munmap(m, (n + 1) * 4096);
}
#define MARK(name, what) do { pmclua_mark_begin(name); what; pmclua_mark_end(name); } while (0)
]]

local PROGRAMS = {
  -- Each prints nothing; main's body.
  repeated = "for (int i = 0; i < 10; i++) MARK(\"ten\", touch(100)); MARK(\"once\", touch(7));",
  nested = [[
    pmclua_mark_begin("outer"); touch(5);
    for (int i = 0; i < 4; i++) MARK("inner", touch(20));
    touch(1); pmclua_mark_end("outer");]],
  overlapping = [[
    pmclua_mark_begin("first"); touch(1); pmclua_mark_begin("second"); touch(10);
    pmclua_mark_end("first"); touch(100); pmclua_mark_end("second");]],
  forked = [[
    pmclua_mark_begin("parent"); touch(3);
    if (fork() == 0) { MARK("child", touch(50)); pmclua_mark_end("parent"); _exit(0); }
    pmclua_mark_end("parent"); wait(0);]],
  executed = [[
    if (argc > 1) { MARK("executed", touch(9)); return 0; }
    MARK("before", touch(4));
    if (fork() == 0) execl(argv[0], argv[0], "again", (char *)0);
    wait(0);]],
  unbalanced = [[
    pmclua_mark_end("stray"); pmclua_mark_begin("open"); MARK("good", touch(2)); pmclua_mark_begin("open");]],
  deep = [[
    for (int i = 0; i < 200; i++) pmclua_mark_begin("deep");
    touch(11);
    for (int i = 0; i < 200; i++) pmclua_mark_end("deep");
    MARK("after", touch(6));]],
  many = [[
    char name[20];
    for (int i = 0; i < 2000; i++) { snprintf(name, sizeof name, "mark %d", i); MARK(name, touch(1)); }]],
  preserving = [[
    errno = 42; pmclua_mark_begin("a"); if (errno != 42) return 1; pmclua_mark_end("a");
    pmclua_mark_end("b"); if (errno != 42) return 1;
    touch(1);]],
  unmarked = "touch(1);",
}

local built = {}

--- Runs a compiler.
---@param words string[]
function M.cc(words)
  local run = support.run(words)
  assert(run.status == 0, run.err)
end

--- The path of a program that sets marks, built once.
---@param name string
---@param source string what follows the declarations above
---@return string path
function M.build(name, source)
  if built[name] then return built[name] end
  support.need(support.have "cc", "no C compiler")
  local folder = support.folder()
  support.write(folder .. "/" .. name .. ".c", M.HEAD .. source)
  M.cc { "cc", "-O1", "-Wall", "-Wextra", "-Werror", "-I" .. support.root .. "/core",
    "-o", folder .. "/" .. name, folder .. "/" .. name .. ".c", "-lpthread" }
  built[name] = folder .. "/" .. name
  return built[name]
end

--- The path of one of the programs above.
---@param name string
---@return string path
function M.program(name)
  return M.build(name, "int main(int argc, char **argv)\n{ (void)argc; (void)argv;" .. PROGRAMS[name]
    .. "; return 0; }")
end

--- Measures a program's marks, once where `options` do not say how often.
---@param path string|table a workload
---@param options? table
---@return pmclua.Result
function M.measure(path, options)
  local settings = { events = { "page-faults", "task-clock" }, regions = "marks", repetitions = 1, warmup = 0,
    timeout = "30s" }
  for key, value in pairs(options or {}) do settings[key] = value end
  return pmc.measure(path, settings)
end

-- By region: page faults, and entries.
local function regions_of(records)
  local faults, entries = {}, {}
  for _, record in ipairs(records) do
    if record.region and record.region ~= "(empty mark)" then
      faults[record.region], entries[record.region] = record.counts[1], record.iterations
    end
  end
  return faults, entries
end

--- As `measure`: page faults and entries by region, the result, and its records.
---@param path string|table a workload
---@param options? table
---@return table<string, number> faults
---@return table<string, integer> entries
---@return pmclua.Result result
---@return table[] records
function M.counted(path, options)
  local records = {}
  options = options or {}
  options.each = function(record) records[#records + 1] = record end
  local result = M.measure(path, options)
  local faults, entries = regions_of(records)
  return faults, entries, result, records
end

return M
