--- event/init.lua: spec text to attrs and back.
--
--     local events, problem = event.parse("{cycles,instructions}:u,msr/tsc/")
--
-- A superset of the grammar of perf stat -e, stricter where perf guesses (README.md). Nothing is opened.

local explain = require "pmclua.explain"
local lazy = require "pmclua.base.lazy"
local encode = lazy.module "pmclua.event.encode"
local grammar = lazy.module "pmclua.event.grammar"
local group = lazy.module "pmclua.event.group"
local generic_list = require "pmclua.event.generic_list"
local lists = require "pmclua.base.lists"
local problem = lazy.module "pmclua.event.problem"

local M = {}

---@class pmclua.CodedEvent what a spec is coded as, without the names and the unit that every event gets
---@field part_of string? where a word stands for events of several PMUs: the word, as a name in formulae
---@field attr? table ABI field name to number, u64 above 2^53, or text (uprobe_path, kprobe_func)
---@field source? "hardware"|"software"|"cache"|"raw"|"pmu"|"tracepoint"|"breakpoint"|"probe"|"pfm"|"tool"|"valgrind"|
---  "syscalls"|"absent"
---@field pmu string? its sysfs name, or libpfm4's; "cpu" is the core PMU, whatever its name is
---@field cpus string? the CPUs on which alone it is to be opened, for all tasks
---@field core_cpus string? the CPUs whose tasks it counts, on hybrid machines
---@field leader integer? index of its group's leader in the list; nil: it is one, or alone
---@field group string? name of its group
---@field verified? boolean false: nothing says that the PMU has such a code
---@field tool string? the field of the record that it is read from; it has no attr
---@field simulated string[]? which of Valgrind's counters are summed, or the system call; it has no attr
---@field instead_of string? the event that cannot be opened here and that it stands in for; `refusal` is why
---@field tracepoint string? "system:name"
---@field filter string? what the OS kernel is to filter a tracepoint by
---@field period number? asked sampling period, which counting ignores
---@field precise_max boolean? precise_ip as high as it opens
---@field sample_read boolean?
---@field weak boolean? of a leader: the group may be split where it does not fit
---@field full string? libpfm4's own name, with all attributes
---@field device string? the sysfs name of libpfm4's PMU, where this machine has it
---@field percore boolean?
---@field bpf boolean?
---@field absent string? why there is no such event here: a metric needs it, or the PMU lacks it
---@field alias string? the event that sysfs names, or a vendor's table
---@field table string? the vendor's table that it is from
---@field description string? what that says
---@field placed table[]? how the config words of a PMU's event came about
---@field snapshot boolean? the value is a level, not a count
---@field per_package boolean?
---@field unit? string
---@field scale? number the count times this is in `unit`

---@class pmclua.NamedEvent: pmclua.CodedEvent
---@field name string as shown; the label where one was given
---@field field string its name in formulae

---@class pmclua.Event: pmclua.NamedEvent
---@field spec string as asked
---@field source string
---@field unit string
---@field scale number the count times this is in `unit`

---@class pmclua.event.Options
---@field sysfs string? root instead of SYSFS_PATH or /sys
---@field tracefs string? root instead of TRACEFS_PATH or where tracefs is mounted
---@field symbol_address nil|fun(name: string): number?, string? address in the program to run; or why not
---@field function_offset nil|fun(path: string, name: string): number?, string? offset in the file; or why not

---@class pmclua.event.OwnOptions: pmclua.event.Options with what modules alone ask for
---@field is_unexplained boolean? the problem of a name that is not there has no hint: nobody reads it

local function text_of(item, source)
  item.text = source:sub(item.position, item.stop - 1)
  return item
end

local function encode_entries(source, options)
  local list = {}
  for _, entry in ipairs(grammar.parse(source)) do
    if entry.form == "group" then
      group.append(list, lists.map(entry.members, function(item)
        return encode.item(text_of(item, source), options)
      end), entry)
    else
      lists.append(list, encode.item(text_of(entry, source), options))
    end
  end
  for _, event in ipairs(list) do event.state = nil end
  return list
end

--- The events that a spec stands for: a name, or a list with commas and groups.
---@param spec string
---@param options pmclua.event.Options?
---@return pmclua.Event[]? events
---@return pmclua.event.Problem? problem what is wrong, where, and the nearest valid word
function M.parse(spec, options)
  local events = type(spec) == "string" and generic_list.parse(spec, options)
  if events then return events end
  return problem.catch(encode_entries, spec, options)
end

--- Appends the events of one spec to those of others: their leaders stand where they now are.
---@param list pmclua.Event[] changed
---@param events pmclua.Event[] as parse gave them
function M.append(list, events)
  local base = #list
  for i, event in ipairs(events) do
    if event.leader then event.leader = event.leader + base end
    list[base + i] = event
  end
end

-- For scripts, as pmc.events: mistakes raise at the caller's line. ----------------------------------------

--- The events that a spec stands for.
---@param spec string
---@param options pmclua.event.Options?
---@return pmclua.Event[]
function M.encode(spec, options)
  local events, why = M.parse(spec, options)
  return events or explain.misuse(explain.spec(spec, why), 3)
end

--- Explains each event of a spec: what it counts, where each field comes from, whether it opens here.
---@param spec string
---@param options pmclua.event.Options?
---@return pmclua.event.Explanation[]
function M.explain(spec, options)
  return require("pmclua.event.explain").list(M.encode(spec, options))
end

--- Events whose name or description has all the words.
---@param words string e.g. "branch miss"
---@param filter pmclua.event.Filter?
---@return pmclua.event.Entry[] the best matches first
function M.find(words, filter)
  local copy = lists.copy(filter or {})
  local all = lists.append(lists.collect(words:gmatch "%S+"), copy.words or {})
  copy.words = #all > 0 and all or nil
  return M.list(copy)
end

--- The event name that is nearest to a word that finds nothing.
---@param word string
---@return string?
function M.nearest(word)
  return require("pmclua.base.text").nearest(word, lists.column(M.list(), "name"))
end

---@type pmclua.event.OwnOptions
local WHETHER = { is_unexplained = true }

--- Whether what a spec stands for opens here: of the events of several PMUs one, of a {group} all.
---@param spec string
---@param is_sure? boolean only where the PMU is known to have its code
---@return boolean
function M.available(spec, is_sure)
  local opened, any = {}, false
  for i, event in ipairs(M.parse(spec, WHETHER) or {}) do
    local tried = require("pmclua.event.explain").try(event, opened[event.leader])
    local is_there = tried.status == "counted" and (event.verified or not is_sure)
    if not is_there and event.leader then return false end
    opened[i], any = tried.attr, any or is_there
  end
  return any
end

return lazy.fields(M, { ["pmclua.event.format"] = { format = "event", format_list = "list" },
  ["pmclua.event.json"] = { json = "encode" }, ["pmclua.event.list"] = { "silences", list = "all" } })
