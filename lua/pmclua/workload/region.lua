--- region.lua: functions of a command as regions: `regions = { "compute", "lib.so:parse*" }`.
--
-- Each item is a function's name or pattern; or a table: { "compute", name = , returns = "probe" }, or
-- { from = , to = , name = } for any two points: tracepoints, functions, "f+0x10", "f%return", "0xADDRESS".
--
-- Invariant: what cannot be followed is refused before anything runs.

local check = require "pmclua.base.arguments"
local core = require "pmclua.core"
local explain = require "pmclua.explain"
local files = require "pmclua.event.function_files"
local functions = require "pmclua.workload.functions"
local lists = require "pmclua.base.lists"
local named = require "pmclua.event.functions"
local regions = require "pmclua.core.regions"
local text = require "pmclua.base.text"
local shellwords = require "pmclua.workload.shellwords"

local M = {}

-- ---- what a script writes ------------------------------------------------------------------------------

local ITEM = { name = "string", returns = "string", from = "string", to = "string" }
local OPTIONS = { threads = "string", keep = "number", returns = "string", ring_bytes = "number" }
local CHOICES = { threads = { "all", "one" }, returns = { "instructions", "probe" } }

local function check_choice(table_, key, wrong)
  local value = table_[key]
  if value == nil or lists.contains(CHOICES[key], value) then return end
  wrong("regions: %s must be %s, not %s", key, text.list(CHOICES[key], "or"), tostring(value))
end

local function check_item(item, i, wrong)
  if type(item) == "string" then item = { item } end
  if type(item) ~= "table" then
    wrong("regions: item %d is a %s, not a function's name", i, type(item))
    return nil
  end
  for key, value in pairs(item) do
    if not (key == 1 or ITEM[key]) then
      wrong("regions: item %d has no '%s'%s", i, tostring(key), check.meant(key, check.keys(ITEM)))
    elseif value == "" then
      wrong("regions: item %d names no %s", i, key == 1 and "function" or key)
    elseif type(value) ~= "string" then
      wrong("regions: %s of item %d must be a string", tostring(key), i)
    end
  end
  check_choice(item, "returns", wrong)
  if (item[1] == nil) == (item.from == nil) or (item.from == nil) ~= (item.to == nil) then
    wrong("regions: item %d is a function's name, or has both from and to", i)
  end
  return { pattern = item[1], name = item.name, returns = item.returns, from = item.from, to = item.to }
end

---@class pmclua.RegionSpec
---@field items? { pattern: string?, name: string?, returns: string?, from: string?, to: string? }[]
---@field threads? "all"|"one"
---@field keep integer? calls kept one by one
---@field ring_bytes integer?

--- Checks what a script wrote as `regions`.
---@param value string|table
---@return pmclua.RegionSpec|table spec as it was written, where there are mistakes
---@return string[] mistakes
function M.check(value)
  if type(value) == "string" then value = { value } end
  local spec, mistakes, wrong = { items = {} }, check.mistakes()
  if type(value) ~= "table" then
    wrong("regions must be a list of functions, not a %s", type(value))
    return spec, mistakes
  end
  for key, option in pairs(check.named(value)) do
    if not OPTIONS[key] then
      wrong("regions: there is no option '%s'%s", tostring(key), check.meant(key, check.keys(OPTIONS)))
    elseif type(option) ~= OPTIONS[key] then
      wrong("regions: %s must be a %s", key, OPTIONS[key])
    end
    spec[key] = option
  end
  check_choice(spec, "threads", wrong)
  check_choice(spec, "returns", wrong)
  local stray = check.stray("regions", check.numbered(value))
  if stray then wrong("%s", stray) end
  for i, item in ipairs(value) do spec.items[i] = check_item(item, i, wrong) end
  if #value == 0 then wrong "regions is empty: name at least one function" end
  return spec, mistakes
end

-- ---- points of two ends --------------------------------------------------------------------------------

local problem = files.problem

local function tracepoint(spec, kind)
  local list, why = require("pmclua.event").parse(spec)
  if not list then problem("ENOENT", explain.spec(spec, why)) end
  local event = list[1]
  if #list > 1 or event.source ~= "tracepoint" then
    problem("EINVAL", ("'%s' is not a point: one tracepoint, function or address"):format(text.safe(spec)))
  end
  if event.filter then problem("EINVAL", "a point cannot have a filter") end
  return { { kind = kind, attr = event.attr } }
end

local function is_tracepoint(spec)
  local system = spec:match "^([%w_]+):[%w_]+$"
  return system and require("pmclua.event.tracepoint").has_system(system)
end

local function returns_of(list, symbol, path, kind)
  return lists.map(named.returns(list, symbol), function(exit)
    return { kind = kind, file = path, offset = exit.offset }
  end)
end

--- The points that one end of a region means. Raises a problem.
local function ends(spec, kind, image)
  if is_tracepoint(spec) then return tracepoint(spec, kind) end
  local file, name = files.split(spec)
  if name:find "^0x%x+$" then
    local path = files.file(file, image)
    local offset = files.of_file(path):offset(core.u64(name))
    if not offset then
      problem("ENXIO", ("%s is not in the code of %s"):format(name, text.safe(path)))
    end
    return { { kind = kind, file = path, offset = offset } }
  end
  local bare, suffix = spec:match "^(.-)(%%return)$"
  local base, plus = spec:match "^(.-)%+(0x%x+)$"
  if not base then base, plus = spec:match "^(.-)%+(%d+)$" end
  local symbol, path, list = named.one(bare or base or spec, image)
  if suffix then return returns_of(list, symbol, path, kind) end
  local more = plus and tonumber(plus) or 0
  if more > 0 and more >= symbol.bytes then
    problem("ENXIO", ("'%s' has %s, and +%s is beyond them"):format(symbol.shown,
      text.plural(symbol.bytes, "byte"), plus))
  end
  return { { kind = kind, file = path, offset = symbol.offset + more } }
end

local function pair_of(item, image)
  local region = { name = item.name or item.from .. " … " .. item.to, notes = {}, points = {},
    switches = functions.switches_stacks(image.program) }
  for _, kind in ipairs { "from", "to" } do
    lists.append(region.points, ends(item[kind], kind, image))
  end
  return region
end

--- The regions that a checked spec means in a program. Raises a problem.
---@param spec pmclua.RegionSpec
---@param image pmclua.functions.Image
---@return pmclua.Region[]  `skipped`: problems of functions that patterns mean and that cannot be followed
function M.find(spec, image)
  local list, seen = { skipped = {} }, {}
  for _, item in ipairs(spec.items) do
    local matches, skipped = { item.from and pair_of(item, image) or nil }, nil
    if item.pattern then
      matches, skipped = functions.find(item.pattern, image, { returns = item.returns or spec.returns })
    end
    lists.append(list.skipped, skipped or {})
    for i, region in ipairs(matches) do
      if item.name and item.pattern then
        region.name = #matches > 1 and ("%s (%d)"):format(item.name, i) or item.name
      end
      local first = region.points[1]
      local key = item.from and region.name or ("%s:%s"):format(first.file, tostring(first.offset))
      if not seen[key] then list[#list + 1], seen[key] = region, true end
    end
  end
  return list
end

-- ---- a command with regions ----------------------------------------------------------------------------

-- A variable of the command's environment.
local function variable_of(command, name, levels)
  local value = command.env and command.env[name]
  if value == nil then return os.getenv(name) end
  return value and shellwords.fill(tostring(value), levels) or nil
end

-- The command's program, as what its functions are looked for in; raises a problem where it cannot be found.
local function image_of(command, levels)
  local path = command:program(levels)
  if not path then error(explain.system(2, "execute", shellwords.fill(command.argv[1], levels)), 0) end
  return { program = path, cwd = command.cwd and shellwords.fill(command.cwd, levels),
    library_path = variable_of(command, "LD_LIBRARY_PATH", levels),
    preload = variable_of(command, "LD_PRELOAD", levels) }
end

---@class pmclua.RegionCommand: pmclua.Command a command and its regions
---@field command pmclua.Command
---@field spec pmclua.RegionSpec
local RegionCommand = {}
local meta = { kind = "command" }

function meta.__index(self, key)
  local own = RegionCommand[key]
  if own ~= nil then return own end
  return rawget(self, "command")[key]
end

function meta.__tostring(self) return tostring(self.command) end

--- A command whose regions are followed, of a command and what a script wrote as `regions`.
---@param command pmclua.Command
---@param spec pmclua.RegionSpec from M.check
---@return pmclua.RegionCommand
function M.of(command, spec)
  if not command.takes.regions then
    explain.misuse(("regions need a command, but '%s' is a %s"):format(command.name, command.kind), 3)
  end
  return setmetatable({ command = command, spec = spec, name = command.name, found = {} }, meta)
end

--- A command with regions that are known already.
---@param command pmclua.Command
---@param spec pmclua.RegionSpec
---@param list pmclua.Region[]
---@return pmclua.RegionCommand
function M.with(command, spec, list)
  local self = M.of(command, spec)
  self.found = setmetatable({}, { __index = function() return list end })
  return self
end

--- The regions, found once for each program. Raises a problem.
---@param levels table
---@return pmclua.Region[]
function RegionCommand:regions(levels)
  local image = image_of(self.command, levels or {})
  local key = ("%s %s %s"):format(image.program, image.library_path or "", image.preload or "")
  local known = self.found[key]
  if not known then
    known = M.find(self.spec, image)
    self.found[key] = known
  end
  return known
end

--- The problem with the command or its regions, if it can be seen now: an error object, or nil.
function RegionCommand:problem(levels, session)
  local wrong = self.command:problem(levels, session)
  if wrong then return wrong end
  local ok, why = pcall(self.regions, self, levels)
  if not ok then return why end
end

--- Adds regions to a definition, with what their spec says of all of them.
---@param message pmclua.core.Message
---@param spec pmclua.RegionSpec
---@param list pmclua.Region[]
function M.define(message, spec, list)
  regions.define(message, list,
    { one_thread = spec.threads == "one", keep = spec.keep, ring_bytes = spec.ring_bytes })
end

--- Adds the command and its regions, with its levels filled in, to a definition.
function RegionCommand:define(message, levels, options)
  self.command:define(message, levels, options)
  M.define(message, self.spec, self:regions(levels))
end

--- Why the runner could not follow the regions: an error object; nil when it could, or when it was
--- something else that went wrong.
---@param result table of Session:run
---@return pmclua.Problem?
function M.refusal(result)
  local step = result.region_stage
  return step and require("pmclua.workload.region_refusal").problem(step, result.errnum) or nil
end

--- How a repetition failed, in words; nil: it did not.
function RegionCommand:complaint(result)
  local refusal = M.refusal(result)
  return refusal and tostring(refusal) or self.command:complaint(result)
end

return M
