--- probe.lua: events at a place in a program or in the OS kernel, by the uprobe and kprobe PMUs.
--
--   /usr/bin/ls:main  ./prog:work+0x10  ./prog:work%return  uprobe:'/a b/c':f  uretprobe:./prog:work
--   kprobe:do_sys_openat2  kretprobe:do_sys_openat2
--   uprobe/path='/usr/bin/ls',offset=0x1234,retprobe/   kprobe/func=vfs_read,offset=4/   kprobe/addr=0x…/
--
-- attr.uprobe_path and attr.kprobe_func, pointers to the OS kernel, are text here.

local core = require "pmclua.core"
local probe_kind = require "pmclua.event.probe_kind"
local number = require "pmclua.event.number"
local problem = require "pmclua.event.problem"

local M = {}

-- The terms that this module adds to those of the PMU's format files; which hold text.
local own_terms = {
  uprobe = { path = "text", offset = "number" },
  kprobe = { func = "text", offset = "number", addr = "number" },
}

local function read_term(term, kind)
  if not term.value then problem.at(term.name, "'%s' needs a value", term.name.text) end
  if kind == "number" then return number.read(term.value, term.name.text) end
  if term.value.text == "" then problem.at(term.value, "'%s' is empty", term.name.text) end
  return term.value.text
end

--- Takes path, offset, func and addr out of the terms of the PMUs that have them.
---@param pmu string
---@param terms table[]
---@return table place term to text or u64; empty where there are none
---@return table[] others
function M.take(pmu, terms)
  local kinds = own_terms[pmu]
  if not kinds then return {}, terms end
  local taken, others = {}, {}
  for _, term in ipairs(terms) do
    local kind = kinds[term.name.text]
    if not kind then
      others[#others + 1] = term
    elseif taken[term.name.text] then
      problem.at(term.name, "'%s' is given twice", term.name.text)
    else
      taken[term.name.text] = read_term(term, kind)
    end
  end
  return taken, others
end

local function set_location(attr, path, func, offset)
  attr.uprobe_path, attr.kprobe_func = path, func
  if offset ~= 0ULL then attr.config2 = core.exact(offset) end    -- probe_offset, kprobe_addr
end

--- Adds what was taken to an encoded event.
---@param event table changed
---@param taken table
---@param position integer of the terms
function M.locate(event, taken, position)
  if not next(taken) then return end
  if event.pmu == "uprobe" and not (taken.path and taken.offset) then
    problem.raise(position, 1, "a uprobe is placed by path='FILE' and offset=NUMBER")
  elseif event.pmu == "kprobe" and ((taken.func == nil) == (taken.addr == nil) or taken.addr and taken.offset)
  then
    problem.raise(position, 1, "a kprobe is placed by func=NAME (and offset=NUMBER), or by addr=NUMBER")
  end
  if event.attr.config1 or event.attr.config2 then
    problem.raise(position, 1, "config1 and config2 hold the probe's own location")
  end
  event.source = "probe"
  set_location(event.attr, taken.path, taken.func, taken.addr or taken.offset or 0ULL)
end

local function file_offset(item, options)
  local location = item.location
  local is_offset = number.is_number(location.text) and not location.quoted
  if is_offset then return number.read(location, "an offset") end
  local resolve = options and options.function_offset or require("pmclua.event.functions").offset
  local offset, why = resolve(item.path.text, location.text)
  if not offset then
    problem.at(location, "%s", why or ("there is no such function in " .. item.path.text))
  end
  return 0ULL + offset
end

local function find_pmu(item, tree)
  local pmu = tree:pmu(item.pmu)
  if not pmu then
    require("pmclua.event.unknown").check_sight(tree, item.position, item.stop - item.position)
    problem.raise(item.position, item.stop - item.position, "this Linux has no %s PMU", item.pmu)
  end
  return pmu
end

-- The bit of config that makes a return probe: the PMU's format file says which, config:0 so far.
local function return_config(pmu)
  local format = pmu:format("retprobe")
  return format and 2 ^ format.ranges[1][1] or 1
end

local RETURN = 1             -- attr.config of a return probe; tracefs has other words for other bits

-- Whether tracefs can say where it is: a file or a function by name, or an address of Linux.
local function has_location(kind, attr)
  local is_named = type(attr.uprobe_path or attr.kprobe_func) == "string"
  return is_named or kind == "kprobe" and attr.config1 == nil and attr.config2 ~= nil
end

--- Whether the runner can have threads and children inherit this probe: events of the PMUs of probes must not
--- be inherited (probe_kind.lua), so it defines such a probe through tracefs.
---@param event pmclua.Event
---@return boolean
function M.can_be_inherited(event)
  local kind = probe_kind.of(event)
  if not kind or event.attr.config > RETURN or not has_location(kind, event.attr) then return false end
  local tracepoint = require "pmclua.event.tracepoint"
  local file = io.open(("%s/%s_events"):format(tracepoint.root(), kind), "r+")    -- "w" would clear it
  if file then file:close() end
  return file ~= nil
end

-- ---- returns --------------------------------------------------------------------------------------------

local OF_PROGRAM = "a return probe changes the program's stack: a C++ exception through the function "
  .. "aborts the program, and returns beyond 64 nested calls are missed; "
  .. "PATH:FUNCTION%return avoids both"
local OF_LINUX = "a return probe of Linux misses returns while more calls are active at once than it "
  .. "has room for (10, or twice the number of CPUs)"

local function is_return_probe(event, kind)
  local pmu = require("pmclua.event.sysfs").tree():of_type(tonumber(event.attr.type))
  local bit_value = pmu and return_config(pmu) or RETURN
  return kind ~= nil and math.floor(tonumber(event.attr.config or 0) / bit_value) % 2 == 1
end

--- A caution for whoever counts an event; nil: none.
---@param event { attr: table?, caution: string? }
---@return string?
function M.caution(event)
  if event.caution then return event.caution end
  local kind = probe_kind.of(event)
  if not kind or not is_return_probe(event, kind) then return nil end
  return kind == "uprobe" and OF_PROGRAM or OF_LINUX
end

local ASK_FOR_ONE = "%s; uretprobe:PATH:FUNCTION sets a return probe all the same, which aborts C++ "
  .. "programs that throw through the function and misses returns beyond 64 nested calls"

local function caution_of(exits, jumps_out)
  local parts = {}
  if #exits > 1 then
    parts[1] = ("%d instructions leave the function: its returns are the sum of their counts"):format(#exits)
  end
  if jumps_out then
    parts[#parts + 1] = "it may also be left by a conditional or indirect jump, which is not "
      .. "counted"
  end
  return parts[1] and table.concat(parts, "; ")
end

-- Plain probes on the instructions that leave a function: an event each.
local function encode_exits(item, pmu)
  if item.offset then problem.at(item.offset, "the returns of a function take no offset") end
  local location = item.location
  if number.is_number(location.text) and not location.quoted then
    problem.at(location, ASK_FOR_ONE, "the returns of an address cannot be found: name a function")
  end
  local exits, jumps_out = require("pmclua.event.functions").exits(item.path.text, location.text)
  if not exits then problem.at(location, ASK_FOR_ONE, jumps_out) end
  local events, caution = {}, caution_of(exits, jumps_out)
  for i, exit in ipairs(exits) do
    local event = { source = "probe", pmu = pmu.name, attr = { type = pmu.type, config = 0 } }
    event.caution = i == 1 and caution or nil
    set_location(event.attr, item.path.text, nil, 0ULL + exit.offset)
    if #exits > 1 then event.own_name = item.text:gsub("%%return", ("+0x%x"):format(exit.into)) end
    events[i] = event
  end
  return events
end

--- Encodes "path:function+offset" and "kprobe:function". Raises a problem.
---@param item table of the grammar
---@param tree pmclua.event.Tree
---@param options table? `function_offset`: function(path, function) to the offset in the file, or nil and why
---@return table[] events several where a function's returns are meant
---@return pmclua.event.Token? modifiers
function M.encode(item, tree, options)
  local pmu = find_pmu(item, tree)
  if item.words[2] then problem.at(item.words[2], "expected nothing after the modifiers") end
  if item.is_return == "exits" and pmu.name == "uprobe" then
    return encode_exits(item, pmu), item.words[1]
  end
  local event = {
    source = "probe", pmu = pmu.name,
    attr = { type = pmu.type, config = item.is_return and return_config(pmu) or 0 },
  }
  local offset = item.offset and number.read(item.offset, "an offset") or 0ULL
  if pmu.name == "uprobe" then offset = offset + file_offset(item, options) end
  set_location(event.attr, item.path and item.path.text, not item.path and item.location.text or nil, offset)
  return { event }, item.words[1]
end

return M
