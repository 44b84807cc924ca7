#!/usr/bin/env pmclua
-- The whole matrix of faults: what was tried, and what did not hold.
--
-- usage: pmclua tests/faults/run.lua [PATTERN]      only the cases whose description has the pattern
-- exit: 0 when all held

io.stdout:setvbuf "line"
local root = (arg[0]:match "^(.*)/" or ".") .. "/../.."
package.path = ("%s/?.lua;%s/?/init.lua;%s"):format(root, root, package.path)
local pipe = assert(io.popen "mktemp -d")
local folder = pipe:read "*l"
pipe:close()
require "ffi".cdef "int setenv(const char *name, const char *value, int overwrite);"
require "ffi".C.setenv("TMPDIR", folder, 1)

local faults = require "tests.faults"

local tried, met, failed, calls = 0, 0, 0, {}
for _, case in ipairs(faults.matrix()) do
  local name = faults.describe(case)
  if not arg[1] or name:find(arg[1]) then
    local problems, was_met = faults.try(case)
    tried, met = tried + 1, met + (was_met and 1 or 0)
    local key = case.program .. " " .. case.call
    calls[key] = (calls[key] or 0) + 1
    if problems[1] then
      failed = failed + 1
      print(("FAILED %s\n    %s"):format(name, table.concat(problems, "\n    ")))
    end
  end
end
local names = {}
for key in pairs(calls) do names[#names + 1] = key end
table.sort(names)
for _, key in ipairs(names) do print(("%-32s %5d cases"):format(key, calls[key])) end
print(("[faults] %d calls, %d cases, %d met, %d failed"):format(#names, tried, met, failed))
os.execute("rm -rf " .. folder)
return failed == 0 and 0 or 1
