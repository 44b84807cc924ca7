--- check.lua: the options of a workload's constructor against a table of what there is.

local explain = require "pmclua.explain"

local check = {}

--- The keys of a map as text, sorted: Lua maps have no order of their own.
---@param map table
---@return string[]
function check.keys(map)
  local keys = {}
  for key in pairs(map) do keys[#keys + 1] = tostring(key) end
  table.sort(keys)
  return keys
end

--- ", did you mean 'WORD'?" for the nearest of `words`; "" where none is near.
---@param word any
---@param words string[]
---@return string
function check.meant(word, words)
  local near = type(word) == "string" and require("pmclua.text").nearest(word, words)
  return near and (", did you mean '%s'?"):format(near) or ""
end

--- Raises at the caller's caller for an unknown option or one of the wrong type.
---@param what string "pmc.kernel"
---@param spec table as the script gave it
---@param known table<string, string> option -> Lua type, several separated by "|"; "" takes any
---@param level? integer whose mistake it is, as error() counts from the constructor (default 3)
function check.options(what, spec, known, level)
  level = (level or 3) + 1
  if type(spec) ~= "table" then
    explain.misuse(("%s takes a table, not a %s"):format(what, type(spec)), level)
  end
  for key, value in pairs(spec) do
    local wanted = known[key]
    if not wanted then
      explain.misuse(("%s has no option '%s'%s"):format(what, tostring(key), check.meant(key,
        check.keys(known))), level)
    end
    if wanted ~= "" and not ("|" .. wanted .. "|"):find("|" .. type(value) .. "|", 1, true) then
      explain.misuse(("%s: %s must be a %s, not a %s"):format(what, key, (wanted:gsub("|", " or a ")),
        type(value)),
        level)
    end
  end
end

return check
