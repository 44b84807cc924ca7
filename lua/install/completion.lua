--- completion.lua: completions for bash, zsh and fish, from the option tables that `--help` prints. The
-- parts that do not depend on options are in shells/.

local describe = require "describe"
local lists = require "pmclua.base.lists"

local M = {}

-- ---- what may follow ----

--- The generic events and Valgrind's, which are the same on all machines.
local function event_names()
  local simulated = require "pmclua.event.simulated"
  local names = lists.joined { require("pmclua.event.names").all(),
    lists.map(simulated.names(), function(name) return simulated.PMU .. "::" .. name end) }
  table.sort(names)
  return table.concat(names, " ")
end

-- pmclua's own metrics; a machine's tables have more.
local function metric_names() return table.concat(require("pmclua.metric").names(), " ") end

---@class install.Value
---@field kind "words"|"files"|"events"|"metrics"|"nodes"|"commands"|"free"
---@field words? string[]

--- How to complete an option's value, or an argument.
---@param option pmclua.Option
---@return install.Value? nil for a flag
local function value_of(option)
  local name, value = option[1], option.value
  if option.kind == "flag" then return nil end
  if option.choices then return { kind = "words", words = lists.map(option.choices, tostring) } end
  if name == "format" then return { kind = "words", words = require("pmclua.report").formats() } end
  if name:find "^metrics?$" and option.kind ~= "flag" then return { kind = "metrics" } end
  if name == "below" then return { kind = "nodes" } end
  if value == "FILE" or name:find "^files?$" then return { kind = "files" } end
  if name:find "^events?$" or value == "SPEC" or name == "words" then return { kind = "events" } end
  if name == "command" or name == "workloads" then return { kind = "commands" } end
  local is_file = (option.argument or option.rest) and name ~= "code"
  return { kind = is_file and "files" or "free" }
end

local function is_argument(option) return option.argument or option.rest end

local function all_options(script) return lists.joined { script.own, script.common } end

--- A user's own script, as far as it can be known: it takes the options of experiments.
local function any_experiment()
  return { name = "*", own = {}, common = require("pmclua.cli.experiment_options").list }
end

local function spellings(option)
  local parts = describe.option(option)
  return parts.short and { parts.short, parts.long } or { parts.long }
end

--- Single-quoted for a shell.
local function quoted(text) return "'" .. text:gsub("'", [['\'']]) .. "'" end

-- The options of the command line itself: "-e CHUNK", "-h, --help", "-".
local function flags()
  local list = {}
  for _, entry in ipairs(require("pmclua.cli.help").COMMAND_LINE) do
    local spelled, value = {}, entry[1]:match "^%-%a (%u+)$"
    for word in entry[1]:gmatch "%f[^%s,%z]%-%-?%a[%w-]*" do spelled[#spelled + 1] = word end
    if #spelled > 0 then list[#list + 1] = { words = spelled, value = value, help = entry[2] } end
  end
  return list
end

local function filled(template, values)
  local text = assert(require("pmclua.host.machine").text(template))
  return (text:gsub("@(%u+)@", function(name) return assert(values[name], name) end))
end

-- ---- bash ----

local function bash_kind(value)
  return value.kind == "words" and "words " .. table.concat(value.words, " ") or value.kind
end

local function bash_script(script, options, kinds)
  local words, has_rest = {}, false
  for _, option in ipairs(all_options(script)) do
    local value, spelled = value_of(option), spellings(option)
    if is_argument(option) then
      spelled, has_rest = not has_rest and { "rest" } or {}, true     -- all arguments are as the first
    else
      for _, word in ipairs(spelled) do words[#words + 1] = word end
    end
    for i, word in ipairs(spelled) do spelled[i] = script.name .. ":" .. word end
    if value and #spelled > 0 then
      local pattern = table.concat(spelled, " | ")
      kinds[#kinds + 1] = ("    %s) echo %s ;;"):format(pattern, quoted(bash_kind(value)))
    end
  end
  options[#options + 1] = ("    %s) echo %s ;;"):format(script.name, quoted(table.concat(words, " ")))
end

local function bash(scripts, folder)
  local options, kinds, flag_words = {}, {}, lists.joined(lists.column(flags(), "words"))
  for _, script in ipairs(scripts) do bash_script(script, options, kinds) end
  local tables = {
    "_pmclua_flags=" .. quoted(table.concat(flag_words, " ")),
    "_pmclua_events=" .. quoted(event_names()), "_pmclua_metrics=" .. quoted(metric_names()), "",
    "_pmclua_options() {  # SCRIPT: its options", "  case $1 in", table.concat(options, "\n"), "  esac", "}",
    "",
    "_pmclua_kind() {     # SCRIPT OPTION: what its value is; nothing where it takes none",
    "  case $1:$2 in", table.concat(kinds, "\n"), "  esac", "}",
  }
  return filled(folder .. "/pmclua.bash", { TABLES = table.concat(tables, "\n") })
end

-- ---- zsh ----

local ZSH = { files = "_files", events = "_pmclua_events", metrics = "_pmclua_metrics",
  nodes = "_pmclua_nodes", free = " " }

local function zsh_text(text) return (text:gsub("[%[%]:\\]", "\\%0")) end

local function zsh_action(value)
  if value.kind == "words" then return ("(%s)"):format(table.concat(value.words, " ")) end
  return ZSH[value.kind] or " "
end

local function zsh_option(option)
  local value, parts, spelled = value_of(option), describe.option(option), spellings(option)
  local tail = ("[%s]"):format(zsh_text(parts.help))
  if value then tail = ("%s:%s:%s"):format(tail, zsh_text(parts.value), zsh_action(value)) end
  local specs = {}
  for i, word in ipairs(spelled) do
    local except = option.many and "*" or #spelled > 1 and ("(%s)"):format(table.concat(spelled, " ")) or ""
    -- "--name=V" or "--name V"; "-nV" or "-n V".
    local joined = value and (word:sub(1, 2) == "--" and "=" or "+") or ""
    specs[i] = quoted(except .. word .. joined .. tail)
  end
  return table.concat(specs, " ")
end

local function zsh_argument(option)
  local value = value_of(option)
  if option.rest and value.kind == "commands" then return "'*::command:_normal'" end
  local action = value.kind == "commands" and "_command_names -e"
    or value.kind == "free" and ('_guard "^-*" %s'):format(option[1]) or zsh_action(value)
  return quoted(("%s:%s:%s"):format((option.rest or option.many) and "*" or "", option[1], action))
end

local function zsh_script(script)
  local specs = { "'--help[what it does, and these]'" }
  for _, option in ipairs(all_options(script)) do
    specs[#specs + 1] = is_argument(option) and zsh_argument(option) or zsh_option(option)
  end
  local name = script.name == "*" and "_pmclua_experiment" or "_pmclua_script_" .. script.name:gsub("-", "_")
  return ("%s() {\n  _arguments -s -S : \\\n    %s\n}"):format(name, table.concat(specs, " \\\n    "))
end

local function zsh(scripts, folder)
  local functions, specs = lists.map(scripts, zsh_script), {}
  for _, flag in ipairs(flags()) do
    for _, word in ipairs(flag.words) do
      local many, value = flag.value and "*" or "", flag.value and (":%s: "):format(flag.value) or ""
      specs[#specs + 1] = quoted(("%s%s[%s]%s"):format(many, word, zsh_text(flag.help), value))
    end
  end
  return filled(folder .. "/pmclua.zsh", { TABLES = table.concat(functions, "\n\n"),
    EVENTS = event_names(), METRICS = metric_names(), FLAGS = table.concat(specs, " ") })
end

-- ---- fish ----

local FISH = { events = "__pmclua_event_list", metrics = "__pmclua_metric_list", nodes = "__pmclua_vendor n" }

local function fish_value(value)
  if value.kind == "words" then return "-x -a " .. quoted(table.concat(value.words, " ")) end
  if value.kind == "files" then return "-r -F" end
  return FISH[value.kind] and ("-x -a '(%s)'"):format(FISH[value.kind]) or "-x"
end

local function fish_option(condition, option)
  local value, parts = value_of(option), describe.option(option)
  return ("complete -c pmclua -n %s%s -l %s %s-d %s"):format(condition,
    parts.short and " -s " .. parts.short:sub(2) or "", option[1], value and fish_value(value) .. " " or "",
    quoted(parts.help))
end

--- A command to run: what it is called, and what it takes itself; behind the options that take values.
local function fish_argument(condition, option, script)
  local value, skipped = value_of(option), {}
  if value.kind == "files" then return ("complete -c pmclua -n %s -F"):format(condition) end
  if value.kind == "events" then
    return ("complete -c pmclua -n %s -a '(__pmclua_event_list)'"):format(condition)
  end
  if value.kind ~= "commands" then return nil end
  for _, other in ipairs(all_options(script)) do
    if not is_argument(other) and other.kind ~= "flag" then lists.append(skipped, spellings(other)) end
  end
  return ("complete -c pmclua -n %s -a '(__fish_complete_subcommand --fcs-skip=2 %s)'"):format(condition,
    table.concat(skipped, " "))
end

local function fish(scripts, folder)
  local lines = {}
  for _, flag in ipairs(flags()) do
    local spelled = lists.map(flag.words, function(word)
      return (word:sub(1, 2) == "--" and "-l " or "-s ") .. word:match "[^-].*"
    end)
    lines[#lines + 1] = ("complete -c pmclua -n __pmclua_at_script %s %s-d %s"):format(
      table.concat(spelled, " "), flag.value and "-x " or "", quoted(flag.help))
  end
  for _, script in ipairs(scripts) do
    local condition = script.name == "*" and "__pmclua_by_path" or ("'__pmclua_in %s'"):format(script.name)
    for _, option in ipairs(all_options(script)) do
      lines[#lines + 1] = is_argument(option) and fish_argument(condition, option, script)
        or not is_argument(option) and fish_option(condition, option) or nil
    end
  end
  return filled(folder .. "/pmclua.fish", { TABLES = table.concat(lines, "\n"),
    EVENTS = event_names(), METRICS = metric_names() })
end

--- The completions of each shell.
---@param scripts install.Script[]
---@param folder string where shells/ is
---@return { bash: string, zsh: string, fish: string }
function M.of(scripts, folder)
  local list = lists.joined { scripts, { any_experiment() } }
  return { bash = bash(list, folder), zsh = zsh(list, folder), fish = fish(list, folder) }
end

return M
