--- options.lua: a script's options, declared as one table; types come from the defaults.
--
--     local opt = pmc.options {
--       { "pid", type = "integer", help = "count this process" },       --pid N, nil when not given
--       { "url", "http://localhost", short = "u", help = "…" },         --url TEXT
--       { "verbose", false },                                           a flag
--       { "file", argument = true },                                    a word of its own
--       { "command", rest = true },                                     all words from the first on
--     }
--
-- Invariant: a word of the command line is taken by an option of the script, or by an option that all
-- experiments have, or it is an error with exit status 2. argparse is loaded only for words that are not
-- plain (options/plain.lua).

local problem = require "pmclua.base.problem"

local M = {}

---@class pmclua.Option
---@field [1] string name; "-" in it is "_" in the result
---@field [2] any default; its type is the option's
---@field type? "string"|"number"|"integer"|"flag"|"list" a list is separated by commas
---@field short? string one letter
---@field value? string what the help calls its value
---@field choices? string[] the only values that are possible
---@field many? boolean may be given several times: a list; an argument: several words
---@field argument? boolean a word without "--", required where it has no default
---@field rest? boolean all words from the first that belongs to no option on: a list
---@field help? string
---@field kind? string its type, filled in here

--- Ends the script quietly with exit status 0, after `--help`.
local function finished() return problem.problem { code = "", message = "", quiet = true, status = 0 } end

-- ---- declarations ----

local KEYS = { "type", "short", "value", "choices", "many", "argument", "rest", "help" }
local IS_KEY = { true, true }
for _, key in ipairs(KEYS) do IS_KEY[key] = true end
local TYPES = { string = true, number = true, integer = true, list = true, flag = true }

local function near(word, words)
  local nearest = require("pmclua.base.text").nearest(tostring(word), words)
  return nearest and (", did you mean '%s'?"):format(nearest) or ""
end

local function type_of(option)
  if option.type then return option.type end
  if option[2] == nil then return "string" end
  local found = type(option[2])
  return found == "boolean" and "flag" or found == "table" and "list" or found
end

local function field_of(option) return (option[1]:gsub("-", "_")) end

--- What is wrong with one declaration; nil when nothing is. `seen` gets its names.
local function problem_of(option, seen)
  if type(option) ~= "table" or type(option[1]) ~= "string" or not option[1]:match "^%a[%w_-]*$" then
    return "an option is a table whose first value is its name: { \"name\", default, help = \"...\" }"
  end
  for key in pairs(option) do
    if not IS_KEY[key] then
      return ("option '%s' has no key '%s'%s"):format(option[1], tostring(key), near(key, KEYS))
    end
  end
  if not TYPES[type_of(option)] then
    return ("option '%s': there is no type '%s'; there are string, number, integer, list and flag")
      :format(option[1], type_of(option))
  end
  for _, name in ipairs { field_of(option), option.short and "-" .. option.short or nil } do
    if seen[name] then return ("two options are called '%s'"):format(name) end
    seen[name] = option
  end
  option.kind = type_of(option)
end

-- ---- reading words ----

local function converter(option)
  local kind = type_of(option)
  local function number(text)
    local value = tonumber(text)
    local finite = value and math.abs(value) < math.huge
    if finite and (kind == "number" or value % 1 == 0) then return value end
    return nil, ("'%s' is not a %s"):format(text, kind == "integer" and "whole number" or "number")
  end
  local function list(text)
    local items = {}
    for item in text:gmatch "[^,]+" do items[#items + 1] = item end
    return items
  end
  local function text_itself(text) return text end
  return (kind == "number" or kind == "integer") and number or kind == "list" and list or text_itself
end

local function choice(option)
  local words = {}
  for i, word in ipairs(option.choices) do words[i] = tostring(word) end
  return function(text)
    for i, word in ipairs(words) do
      if word == text then return option.choices[i] end
    end
    local listed = require("pmclua.base.text").list(words, "or")
    return nil, ("'%s' is not %s%s"):format(text, listed, near(text, words))
  end
end

local function conversion(option)
  local convert = option.choices and choice(option) or converter(option)
  local name = (option.argument or option.rest) and option[1] or "--" .. option[1]
  return function(text)
    local value, why = convert(text)
    if value == nil then return nil, name .. ": " .. why end
    return value
  end
end

local function add_argument(parser, option)
  local required = option[2] == nil and not option.rest
  parser:argument(option[1]):target(field_of(option)):convert(conversion(option))
    :args(option.rest and "*" or (option.many and (required and "+" or "*")) or required and "1" or "?")
end

local function add_option(parser, option)
  local names = (option.short and "-" .. option.short .. " " or "") .. "--" .. option[1]
  if type_of(option) == "flag" then
    parser:flag(names):target(field_of(option))
  else
    parser:option(names):target(field_of(option)):convert(conversion(option))
      :count(option.many and "*" or "?")
  end
end

local function new_parser(options)
  local parser = require "argparse"("script"):add_help(false)
  for _, option in ipairs(options) do
    if option.argument or option.rest then add_argument(parser, option) else add_option(parser, option) end
  end
  return parser
end

-- How options/plain.lua reads them.
local PLAIN = {
  field = field_of, is_flag = function(option) return type_of(option) == "flag" end,
  converted = function(option, text) return (conversion(option)(text)) end,
}

local function takes_value(option) return option and type_of(option) ~= "flag" end

--- True where the value of an option is the next word: `-r 5`, `--repetitions 5`, not `-r5`.
local function takes_next(word, by_name)
  local long = word:match "^%-%-([^=]+)$"
  if long then return takes_value(by_name[(long:gsub("-", "_"))]) end
  local letters = word:match "^%-([^-].*)$" or ""
  for k = 1, #letters do
    if takes_value(by_name["-" .. letters:sub(k, k)]) then return k == #letters end
  end
  return false
end

--- The words with "--" put before the first that belongs to no option, so that the options of a command
--- to run are its own: `stat -r 5 ls -l`.
local function with_end_of_options(args, by_name)
  local i = 1
  while args[i] and args[i] ~= "--" and args[i]:find "^%-." do
    i = i + (takes_next(args[i], by_name) and 2 or 1)
  end
  local out = { unpack(args) }
  if args[i] and args[i] ~= "--" then table.insert(out, i, "--") end
  return out
end

--- True where the words ask for help, before any that are not the script's.
local function wants_help(args, by_name)
  for _, word in ipairs(args) do
    if word == "--" then return false end
    if word == "--help" or word == "-h" and not by_name["-h"] then return true end
  end
  return false
end

-- What one thing is called by perf stat, by hyperfine and here.
local SYNONYMS = {
  { "e", "event", "events" }, { "M", "metric", "metrics" }, { "o", "output" }, { "w", "warmup" },
  { "r", "n", "runs", "repeat", "repetitions" },
}

-- The other words for a word.
local function synonyms_of(word)
  for _, set in ipairs(SYNONYMS) do
    for _, synonym in ipairs(set) do
      if synonym == word then return set end
    end
  end
  return {}
end

-- "--format markdown" for --markdown and hyperfine's --export-markdown; nil for what is no choice.
local function as_choice(word, options)
  for _, option in ipairs(options) do
    for _, value in ipairs(option.choices or {}) do
      if value == word:gsub("^export%-", "") then return ("--%s %s"):format(option[1], value) end
    end
  end
end

-- ", did you mean '--repetitions'?" for an option that there is not.
local function meant(unknown, options)
  local names, word = { "--help" }, unknown:gsub("^%-+", "")
  local chosen = as_choice(word, options)
  if chosen then return (", did you mean '%s'?"):format(chosen) end
  for _, option in ipairs(options) do
    names[#names + 1] = "--" .. option[1]
    for _, synonym in ipairs(synonyms_of(word)) do
      if synonym == option[1] then return (", did you mean '--%s'?"):format(synonym) end
    end
  end
  return near(unknown, names)
end

-- Whether a command is one argument.
local function takes_command(options)
  for _, option in ipairs(options) do
    if option.argument and option[1] == "command" then return true end
  end
  return false
end

--- argparse's message with a better suggestion, and how the script is called.
local function explain_refusal(message, options, about)
  message = message:match "^[^\n]*"
  local unknown = message:match "^unknown option '(.*)'$"
  if unknown then message = message .. meant(unknown, options) end
  if message == "too many arguments" and takes_command(options) then
    message = message .. ": a command and its arguments take quotes: 'ls -l'"
  end
  local usage = require("pmclua.cli.help").usage(about.name, about.header, options)
  return problem.usage_error(("%s\n%s\n(`pmclua %s --help` explains)"):format(message, usage, about.word))
end

--- Reads words by tables of options.
---@param args string[]
---@param own pmclua.Option[] the script's, checked
---@param common pmclua.Option[] those of every experiment that it takes too
---@param about { name: string, word: string, header?: pmclua.Header }
---@return table given what was given, by field; raises a usage error, or ends the script after --help
function M.read(args, own, common, about)
  local options, by_name, has_rest, required = { unpack(own) }, {}, false, false
  for _, option in ipairs(common) do options[#options + 1] = option end
  for _, option in ipairs(options) do
    by_name[field_of(option)] = option
    if option.short then by_name["-" .. option.short] = option end
    has_rest = has_rest or option.rest
    required = required or option.argument and option[2] == nil
  end
  if #args == 0 and not required then return {} end
  local words = has_rest and with_end_of_options(args, by_name) or args
  if wants_help(words, by_name) then
    local help = require "pmclua.cli.help"
    help.write(help.script(about.name, about.header, own, common))
    error(finished(), 0)
  end
  local given = require("pmclua.cli.options.plain").read(words, options, by_name, PLAIN)
  if given then return given end
  local ok
  ok, given = new_parser(options):pparse(words)
  if not ok then error(explain_refusal(given, options, about), 0) end
  for _, option in ipairs(options) do
    local field = field_of(option)
    if option.many and #given[field] == 0 then given[field] = nil end
  end
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
    about.header = require("pmclua.cli.script").header(script.path)
    return about.header
  end })
end

--- Options of all experiments, but for those that the script has itself.
local function common_options(own)
  local list = {}
  for _, option in ipairs(require("pmclua.cli.experiment_options").list) do
    if not own[field_of(option)] then list[#list + 1] = option end
  end
  return list
end

local function default_of(option)
  if option[2] ~= nil or not (option.many or option.rest) then return option[2] end
  return {}
end

-- Reading an option that was not declared raises, as a misspelt one would be nil.
local function strict(values, declared)
  local names = {}
  for name in pairs(declared) do names[#names + 1] = name end
  table.sort(names)
  return setmetatable(values, { __index = function(_, name)
    if declared[name] == nil then
      local said = ("no option '%s' was declared%s"):format(tostring(name), near(name, names))
      require("pmclua.explain").misuse(said, 3)
    end
  end })
end

local function declaration_problem(declaration, own, script)
  if type(declaration) ~= "table" then return "pmc.options takes a list of options" end
  if script and script.given then return "pmc.options can be called once" end
  for key in pairs(declaration) do
    if type(key) ~= "number" and key ~= "experiment" then
      return ("pmc.options has no key '%s'%s"):format(tostring(key), near(key, { "experiment" }))
    end
  end
  for _, option in ipairs(declaration) do
    local why = problem_of(option, own)
    if why then return why end
  end
end

--- What `--help` shows of a declaration, without reading arguments.
---@param declaration pmclua.Option[] as pmc.options takes it
---@return pmclua.Option[] own, pmclua.Option[] common those of every experiment that it takes too
function M.describe(declaration)
  local own = {}
  local why = declaration_problem(declaration, own)
  if why then error(why, 0) end
  return declaration, declaration.experiment ~= false and common_options(own) or {}
end

--- Declares the options of the running script and reads its arguments. `experiment = false` beside the
--- options says that the script is no experiment and does not take the options that all of those have.
---@param declaration pmclua.Option[]
---@return table options by name, "_" for "-"; reading one that was not declared raises
function M.declare(declaration)
  local script, own = require("pmclua.host.running").script, {}
  local why = declaration_problem(declaration, own, script)
  if why then problem.misuse(why, 3) end
  local common = declaration.experiment ~= false and common_options(own) or {}
  local given = M.read(script and script.args or {}, declaration, common, M.about(script))
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
