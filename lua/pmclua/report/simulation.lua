--- simulation.lua: what simulated counts depend on, in words.

local lists = require "pmclua.base.lists"
local text = require "pmclua.base.text"

local M = {}

local function has_caches(header)
  return lists.any(lists.joined(lists.column(header.events, "simulated")), function(counter)
    return counter:find "^%u+%d?m" or counter:find "^[ID]L" or counter:find "^[ID]1"
  end)
end

local INHERITED = { "environment", "signals", "streams", "cpu" }

local function surroundings(facts)
  local own = lists.map(INHERITED, function(name)
    return facts[name] == "inherit" and (name == "cpu" and "CPUs" or name) or nil
  end)
  local drawn = facts.random == "fixed" and ", what it draws fixed" or ""
  if #own == 0 then return "in surroundings that are the same on every machine" .. drawn end
  return ("with this machine's own %s"):format(text.list(own)) .. drawn
end

--- "Valgrind 3.19.0, user space only, in surroundings that are the same on every machine".
---@param header table
---@return string
function M.words(header)
  local facts = header.simulation
  if not facts then return "Valgrind, user space only" end
  local version = "Valgrind " .. text.safe(tostring(facts.valgrind or ""))
  local parts = { version, "user space only", surroundings(facts) }
  if has_caches(header) then
    local caches = "caches of bytes, ways, line: I1 %s; D1 %s; LL %s"
    parts[#parts + 1] = caches:format(text.safe(facts.I1 or "?"), text.safe(facts.D1 or "?"),
      text.safe(facts.LL or "?"))
  end
  return table.concat(parts, ", ")
end

return M
