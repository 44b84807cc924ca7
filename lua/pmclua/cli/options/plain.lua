--- plain.lua: command lines as most people write them, without argparse.
--
-- Invariant: what is read here, argparse reads the same; whatever is unusual or wrong is left to it, and so
-- is every message. (argparse takes 1.8 ms to load, as long as the rest of a short run.)

local M = {}

---@class pmclua.PlainOptions how an option is to be read
---@field field fun(option: pmclua.Option): string
---@field is_flag fun(option: pmclua.Option): boolean
---@field converted fun(option: pmclua.Option, text: string): any nil where argparse is to say why not

-- Puts a value where it belongs. False: it is there already.
local function put(given, field, option, value)
  if option.many then
    given[field] = given[field] or {}
    table.insert(given[field], value)
    return true
  end
  if given[field] ~= nil then return false end
  given[field] = value
  return true
end

-- The option at words[i] goes into `given`: the index after it, or nil.
local function read_option(given, words, i, by_name, how)
  local name, value = words[i]:match "^%-%-([^=]+)=(.+)$"
  name = name or words[i]:match "^%-%-(.+)$" or words[i]:match "^%-%a$"
  -- "--dry_run" is no name of "dry-run", though their fields are one.
  local option = name and by_name[(name:gsub("^(%a.*)$", function(long) return (long:gsub("-", "_")) end))]
  if not option or option.argument or option.rest then return nil end
  if name:sub(1, 1) ~= "-" and name ~= option[1] then return nil end
  if how.is_flag(option) then
    return value == nil and put(given, how.field(option), option, true) and i + 1 or nil
  end
  local after = value and i + 1 or i + 2
  value = value or words[i + 1]
  if not value or value:sub(1, 1) == "-" then return nil end
  local converted = how.converted(option, value)
  return converted ~= nil and put(given, how.field(option), option, converted) and after or nil
end

-- Words that are no options go to the arguments in turn. False: they do not fit.
local function read_arguments(given, rest, options, how)
  local at = 1
  for _, option in ipairs(options) do
    if option.argument or option.rest then
      local last = (option.many or option.rest) and #rest or math.min(at, #rest)
      if last < at and option[2] == nil and not option.rest then return false end
      local values = {}
      for i = at, last do
        values[#values + 1] = how.converted(option, rest[i])
        if values[#values] == nil or #values ~= i - at + 1 then return false end
      end
      given[how.field(option)] = (option.many or option.rest) and values or values[1]
      at = last + 1
    end
  end
  return at > #rest
end

--- What the words give, by field; nil where argparse is to be asked.
---@param words string[]
---@param options pmclua.Option[]
---@param by_name table<string, pmclua.Option> by field, and by "-x"
---@param how pmclua.PlainOptions
---@return table?
function M.read(words, options, by_name, how)
  local given, rest, i, ended = {}, {}, 1, false
  while words[i] do
    if ended or words[i]:sub(1, 1) ~= "-" then
      rest[#rest + 1] = words[i]
      i = i + 1
    elseif words[i] == "--" then
      ended, i = true, i + 1
    else
      i = read_option(given, words, i, by_name, how)
      if not i then return nil end
    end
  end
  return read_arguments(given, rest, options, how) and given or nil
end

return M
