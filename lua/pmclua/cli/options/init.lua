--- options/init.lua: a script's options, declared as one table; types come from the defaults.
--
--     local opt = pmc.options {
--       { "pid", type = "integer", help = "count this process" },       --pid N, nil when not given
--       { "url", "http://localhost", short = "u", help = "…" },         --url TEXT
--       { "verbose", false },                                           a flag
--       { "file", argument = true },                                    a word of its own
--       { "command", rest = true },                                     all words from the first on
--       "timeout", "pin",                                               as other scripts have them
--     }
--
-- Invariant: a word of the command line is taken by an option of the script, or by an option that all
-- experiments have, or it is an error with exit status 2. options/reader.lua reads them.

local lists = require "pmclua.base.lists"
local meant = require("pmclua.base.arguments").meant
local problem = require "pmclua.base.problem"
local reader = require "pmclua.cli.options.reader"
local shared = require "pmclua.cli.options.shared"

local field_of, type_of = reader.field_of, reader.type_of

local M = {}

---@class pmclua.Option
---@field [1] string name; "-" in it is "_" in the result
---@field [2] any default; its type is the option's
---@field type? "string"|"number"|"integer"|"flag"|"list" a list is separated by commas
---@field short? string one letter
---@field value? string what the help calls its value
---@field choices? string[] the only values that are possible
---@field by? string of formats: the option that names a file, whose ending selects one where none is given
---@field many? boolean may be given several times: a list; an argument: several words
---@field argument? boolean a word without "--", required where it has no default
---@field rest? boolean all words from the first that belongs to no option on: a list
---@field help? string
---@field old? string a name that it had: it still works, with a note
---@field kind? string its type, filled in here

local KEYS = { "type", "short", "value", "choices", "by", "many", "argument", "rest", "help", "old" }
local IS_KEY = lists.set { 1, 2, unpack(KEYS) }
local TYPES = { string = true, number = true, integer = true, list = true, flag = true }

--- An error in one declaration; nil: none. `seen` gets its names.
local function problem_of(option, seen)
  if type(option) ~= "table" or type(option[1]) ~= "string" or not option[1]:match "^%a[%w_-]*$" then
    return "an option is a table whose first value is its name: { \"name\", default, help = \"...\" }"
  end
  for key in pairs(option) do
    if not IS_KEY[key] then
      return ("option '%s' has no key '%s'%s"):format(option[1], tostring(key), meant(key, KEYS))
    end
  end
  if not TYPES[type_of(option)] then
    return ("option '%s': there is no type '%s'; types are string, number, integer, list and flag")
      :format(option[1], type_of(option))
  end
  for _, name in ipairs { field_of(option), option.short and "-" .. option.short or nil } do
    if seen[name] then return ("two options are called '%s'"):format(name) end
    seen[name] = option
  end
  option.kind = type_of(option)
end

-- ---- words that are refused ----

-- Names of one option in perf stat, in hyperfine and here.
local SYNONYMS = {
  { "e", "event", "events" }, { "M", "metric", "metrics" }, { "o", "output" }, { "w", "warmup" },
  { "r", "n", "runs", "repeat", "repetitions" },
}

local function synonyms_of(word)
  return lists.find(SYNONYMS, function(set) return lists.contains(set, word) end) or {}
end

-- "--format markdown" for --markdown and hyperfine's --export-markdown; nil for what is no choice.
local function as_choice(word, options)
  local value = word:gsub("^export%-", "")
  local option = lists.find(options, function(other) return lists.contains(other.choices or {}, value) end)
  return option and ("--%s %s"):format(option[1], value)
end

-- ", did you mean '--repetitions'?" for an option that there is not.
local function meant_option(unknown, options)
  local word, names = unknown:gsub("^%-+", ""), lists.column(options, 1)
  local chosen = as_choice(word, options)
  if chosen then return (", did you mean '%s'?"):format(chosen) end
  local synonyms = synonyms_of(word)
  local same = lists.find(names, function(name) return lists.contains(synonyms, name) end)
  if same then return (", did you mean '--%s'?"):format(same) end
  return meant(unknown, lists.map(lists.joined { { "help" }, names }, function(name) return "--" .. name end))
end

local function takes_command(options)
  return lists.any(options, function(option) return option.argument and option[1] == "command" end)
end

--- An error with what may have been meant and the script's usage.
local function refusal(message, unknown, options, about)
  if unknown then message = message .. meant_option(unknown, options) end
  if message == "too many arguments" and takes_command(options) then
    message = message .. ": quote a command with its arguments: 'ls -l'"
  end
  local usage = require("pmclua.cli.help").usage(about.name, about.header, options)
  return problem.usage_error(("%s\n%s\n(`pmclua %s --help` explains)"):format(message, usage, about.word))
end

-- Folders of vendors' tables: one that cannot be read is a mistake; of one without this CPU there is a remark.
local function take_vendor(folders, refuse)
  local safe = require("pmclua.base.text").safe
  local mistake, lacks = require("pmclua.vendor").take(folders)
  if mistake then refuse("--vendor " .. safe(mistake)) end
  for _, lack in ipairs(lacks) do
    require("pmclua.cli.say").say("vendors' events may be missing: " .. safe(lack))
  end
end

--- Reads words by tables of options.
---@param args string[]
---@param own pmclua.Option[] the script's, checked
---@param common pmclua.Option[] those of every experiment that it takes too
---@param about { name: string, word: string, header?: pmclua.Header }
---@return table given what was given, by field; raises a usage error, or ends the script after --help
function M.read(args, own, common, about)
  local options, on = lists.joined { own, common }, {}
  function on.refuse(message, unknown) error(refusal(message, unknown, options, about), 0) end
  function on.help()
    local help = require "pmclua.cli.help"
    help.write(help.script(about.name, about.header, own, common))
    error(problem.problem { code = "", message = "", quiet = true, status = 0 }, 0)
  end
  local given = reader.read(args, options, on)
  if type(given.vendor) == "table" then take_vendor(given.vendor, on.refuse) end
  return given
end

-- ---- a script's options ----

--- Who a message is about: the running script.
---@param script? pmclua.Script
function M.about(script)
  if not script then return { name = "SCRIPT", word = "SCRIPT" } end
  local about = { name = script.word, word = script.word }
  return setmetatable(about, { __index = function(_, key)
    if key ~= "header" then return nil end
    -- From the root: the script may have changed the folder.
    local path, folder = script.path, script.modules
    if path and folder then path = folder .. "/" .. path:match "[^/]*$" end
    about.header = require("pmclua.cli.script").header(path)
    return about.header
  end })
end

--- Options of all experiments, but for those that the script has itself.
local function common_options(own)
  return lists.where(require("pmclua.cli.experiment_options").list, function(option)
    return not own[field_of(option)]
  end)
end

local function default_of(option)
  if option[2] ~= nil or not (option.many or option.rest) then return option[2] end
  return {}
end

-- Reading an option that was not declared raises, as a misspelt one would be nil.
local function strict(values, declared)
  local names = lists.keys(declared)
  local function shown() return "options: " .. table.concat(names, ", ") end
  return setmetatable(values, { __tostring = shown, __index = function(_, name)
    if declared[name] == nil then
      local message = ("no option '%s' was declared%s"):format(tostring(name), meant(name, names))
      require("pmclua.explain").misuse(message, 3)
    end
  end })
end

local function declaration_problem(declaration, own, script)
  if type(declaration) ~= "table" then return "pmc.options takes a list of options" end
  if script and script.given then return "pmc.options can be called only once" end
  for key in pairs(declaration) do
    if type(key) ~= "number" and key ~= "experiment" then
      return ("pmc.options has no key '%s'%s"):format(tostring(key), meant(key, { "experiment" }))
    end
  end
  for _, option in ipairs(declaration) do
    local why = problem_of(option, own)
    if why then return why end
  end
end

--- The part of `--help` for a declaration, without reading arguments.
---@param declaration (pmclua.Option|string)[] as pmc.options takes it
---@return pmclua.Option[] own, pmclua.Option[] common those of every experiment that it takes too
function M.describe(declaration)
  declaration = shared.resolved(declaration)
  local own = {}
  local why = declaration_problem(declaration, own)
  if why then error(why, 0) end
  return declaration, declaration.experiment ~= false and common_options(own) or {}
end

-- Formats that nobody named are what the file's name asks for.
local function take_endings(declaration, given)
  for _, option in ipairs(declaration) do
    local field, path = field_of(option), option.by and given[option.by]
    if path and given[field] == nil then
      given[field] = require("pmclua.report").format_among(path, option.choices)
    end
  end
end

--- Declares the options of the running script and reads its arguments. `experiment = false` beside the
--- options says that the script is no experiment and does not take the options that all of those have.
---@param declaration (pmclua.Option|string)[] a text: that option of pmclua's own scripts
---@return table options by name, "_" for "-"; reading one that was not declared raises
function M.declare(declaration)
  local script, own = require("pmclua.host.running").script, {}
  declaration = shared.resolved(declaration)
  local why = declaration_problem(declaration, own, script)
  if why then problem.misuse(why, 3) end
  local common = declaration.experiment ~= false and common_options(own) or {}
  local given = M.read(script and script.args or {}, declaration, common, M.about(script))
  take_endings(declaration, given)
  local values, declared = {}, {}
  for _, option in ipairs(declaration) do
    local field = field_of(option)
    declared[field] = true
    values[field] = given[field]
    if values[field] == nil then values[field] = default_of(option) end
    given[field] = nil
  end
  if script then
    script.args, script.given = {}, given        -- what is left is the experiment's
  end
  return strict(values, declared)
end

return M
