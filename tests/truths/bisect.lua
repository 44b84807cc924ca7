-- bisect.lua: does the search name the commit, in histories whose truth is known?
--
-- usage: ./pmclua tests/truths/bisect.lua [HISTORIES] [NAME]     (make check-bisect)
-- Plays HISTORIES (300) of each scenario through the code that decides. Exit 1 where fewer than 97 % of 30 claims or
-- more are right, or where more than 1 of 300 is claimed of equals.

dofile((debug.getinfo(1, "S").source:sub(2):gsub("truths/[^/]*$", "")) .. "support/program.lua")

local histories = require "tests.support.histories"

local times, only = tonumber(arg[1]) or 300, arg[2]
local failed = false

local function row(scenario)
  local sum = histories.summary(scenario, times, 1)
  local others = {}
  for kind, count in pairs(sum.kinds) do others[#others + 1] = ("%s %d"):format(kind, count) end
  table.sort(others)
  local is_wrong
  if #scenario.steps == 0 or scenario.is_gradual then is_wrong = sum.claims > math.max(1, times / 300)
  else is_wrong = sum.claims >= 30 and sum.right < 0.97 * sum.claims end
  failed = failed or is_wrong
  print(("| %s | %.0f %% | %s%s | %.0f | %.0f | %.0f | %s |"):format(scenario.name, 100 * sum.claims / times,
    sum.claims > 0 and ("%.1f"):format(100 * sum.right / sum.claims) or "–", is_wrong and " !" or "",
    sum.runs,
    sum.builds, sum.seconds, table.concat(others, ", ")))
end

print(times .. " histories each\n")
print "| step / run sd / layout sd, % | claims | right | runs | builds | s | answers |"
print "|---|---|---|---|---|---|---|"
for _, scenario in ipairs(histories.SCENARIOS) do
  if not only or scenario.name == only then row(scenario) end
end
os.exit(failed and 1 or 0)
