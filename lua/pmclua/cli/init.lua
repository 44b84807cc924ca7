--- cli/init.lua: the executable's command line, as in lua(1): what to run, running it, the exit status.
--
-- Start-up pays for what a run uses: nothing is loaded here before it is needed.

local M = {}

-- LuaJIT compiles what was run 56 times, which takes as long as running it some 1000 times. Who
-- waits for so many never pays twice as much, and a run of a few milliseconds is over before.
if jit.opt then jit.opt.start "hotloop=1000" end

-- On arm64 LuaJIT before August 2023, Debian 12's too, may move the address of the Lua stack through 32 bits where a
-- side trace begins: SIGSEGV (github.com/LuaJIT/LuaJIT/issues/1031). It counts exits to 254, so none gets a trace.
if jit.opt and jit.arch == "arm64" and jit.version_num < 20199 then jit.opt.start "hotexit=256" end

local STATUS = { done = 0, failed = 1, usage = 2 }

local function complain(message)
  require("pmclua.host.output").say("pmclua: " .. message)
end

-- ---- the command line ----

---@class pmclua.CommandLine what the command line asks for
---@field steps { kind: "chunk"|"module", text: string }[] -e and -l, in order
---@field word? string the script: a path, a name, or "-"
---@field args table what the script gets, with its own word at 0
---@field interactive? boolean
---@field show? "version"|"help"|"list"

local FLAGS = { ["-v"] = "version", ["-h"] = "help", ["--help"] = "help", ["--version"] = "version",
  ["--list"] = "list" }
local STEPS = { e = "chunk", l = "module" }

--- Reads one option at argv[i]. Returns the index of the next word; or nil and what is wrong.
local function read_option(plan, argv, i)
  local word = argv[i]
  if word == "-i" then
    plan.interactive = true
  elseif FLAGS[word] then
    plan.show = FLAGS[word]
  else
    local letter, text = word:match "^%-([el])(.*)$"
    if not letter then
      local flags = require("pmclua.base.lists").keys(FLAGS)
      return nil, ("unknown option '%s'%s"):format(word, require("pmclua.base.text").meant(word, flags, ", "))
    end
    if text == "" then
      i = i + 1
      text = argv[i]
    end
    if not text then return nil, ("'-%s' needs an argument"):format(letter) end
    table.insert(plan.steps, { kind = STEPS[letter], text = text })
  end
  return i + 1
end

--- Parses the words of the command line; or nil and the mistake.
---@param argv string[]
---@return pmclua.CommandLine?, string?
local function parse(argv)
  local plan, i = { steps = {}, args = {} }, 1
  while argv[i] and argv[i]:find "^%-." do
    if argv[i] == "--" then
      i = i + 1
      break
    end
    local next_word, why = read_option(plan, argv, i)
    if not next_word then return nil, why end
    i = next_word
  end
  plan.word = argv[i]
  for j, text in pairs(argv) do plan.args[j - i] = text end
  return plan
end

-- ---- running ----

--- Calls fn; what it raises becomes what a person should read.
---@param fn fun(): any
---@return boolean ok, any result or problem
function M.guard(fn)
  return xpcall(fn, function(value)
    -- Too little stack is left to load what describes the others.
    if type(value) == "string" and value:find("stack overflow", 1, true) then
      return (debug.traceback(value, 2):gsub("\n[^\n]*pmclua%.cli:.*", ""))
    end
    return require("pmclua.cli.failure").describe(value)
  end)
end

-- A possible cause of a refusal that does not name one.
local function name_unmounted(problem, message)
  local field = require("pmclua.base.raised").field
  if not field(problem, "operation") or field(problem, "misuse") then return end
  local unmounted, hint = require("pmclua.host.machine").unmounted()
  if unmounted and not message:find("not mounted", 1, true) then complain(unmounted .. "; " .. hint) end
end

--- Prints an error and gives the exit status it stands for. An error without a value is silent, as in
--- lua(1).
local function report(problem)
  local status, message = require("pmclua.cli.failure").status(problem)
  if message then
    complain(message)
    if status ~= STATUS.usage then name_unmounted(problem, message) end
  end
  return status
end

--- Raises where words were given for an experiment and the script ran none.
local function refuse_left_over(script)
  if not script or script.taken or not next(script.given or {}) then return end
  local name = next(script.given):gsub("_", "-")
  error(require("pmclua.base.problem").usage_error(
    ("--%s has no effect: %s ran no experiment"):format(name, script.name)), 0)
end

-- Whether a table, or the first of its list, has keys of an experiment: then its script forgot to declare it.
local function looks_declared(value)
  if type(value) ~= "table" or getmetatable(value) then return false end
  local check = require("pmclua.experiment.keys").check
  for key in pairs(value) do
    if check[key] and key ~= "name" then return true end
  end
  return looks_declared(value[1])
end

--- Raises what is wrong with what a script declared or returned, if anything is.
local function refuse(message)
  if not message then return end
  error(require("pmclua.base.problem").problem { code = "EINVAL", operation = "run", message = message }, 0)
end

-- A script without an exit status of its own ends as what it has run did.
local function report_bad_end()
  local status, problem = require("pmclua.host.running").end_status()
  if problem then complain(tostring(problem)) end
  return status
end

--- The exit status of what a chunk returned: an experiment is run, a whole number is the status itself.
local function conclude(is_last, value, ...)
  local experiment = package.loaded["pmclua.experiment"]
  refuse(experiment and require("pmclua.cli.script").several(value, ...))
  local script = require("pmclua.host.running").script
  if experiment and experiment.is(value) then
    local context = script or { args = {}, folder = "." }
    local status = require("pmclua.cli.experiment").main(value, context.args, context)
    return status == STATUS.done and report_bad_end() or status
  end
  refuse_left_over(script)
  local is_number = type(value) == "number" and value % 1 == 0 and value >= 0 and value < 256
  local status = is_number and value or report_bad_end()
  if is_last and status == STATUS.done then refuse(require("pmclua.cli.script").forgotten()) end
  if looks_declared(value) then
    complain "the script returned a table and ran nothing: `return pmc.experiment { … }` runs it"
    return STATUS.failed
  end
  return status
end

--- Runs a loaded chunk in `scope`, or says why there is none. Returns the exit status.
---@param is_last? boolean nothing that could run what the chunk declares comes after it
local function run(chunk, why, scope, args, is_last)
  if not chunk then
    complain(why)
    return STATUS.failed
  end
  setfenv(chunk, scope)
  local ok, result = M.guard(function() return conclude(is_last, chunk(unpack(args))) end)
  if ok then return result end
  return report(result)
end

local function run_step(step, scope, is_last)
  if step.kind == "module" then
    local ok, result = M.guard(function()
      _G[step.text] = require(step.text)
      return conclude(is_last)
    end)
    return ok and result or report(result)
  end
  local chunk, why = loadstring(step.text, "=(command line)")
  return run(chunk, why, scope, {}, is_last)
end

local function run_stdin(scope, args)
  local chunk, why = loadfile()
  if chunk and #args > 0 then require("pmclua.cli.script").enter_stdin(args) end
  return run(chunk, why, scope, args, true)
end

--- The chunk of a script's file; nil and why there is none. Those of our own need no parsing.
local function load_script(path)
  local file, why = io.open(path, "rb")
  if not file then return nil, "cannot open " .. why end
  local source
  source, why = file:read "*a"            -- once: it may be a pipe
  file:close()
  if not source then return nil, ("cannot read %s: %s"):format(path, why) end
  if source:find "^\127ELF" then
    return nil, ("%s is a program, not a script: `pmclua stat -- %s` counts it"):format(path, path)
  end
  local ok, embedded = pcall(require, "pmclua.embedded")
  local chunk = ok and embedded.script(source)
  if chunk then return chunk end
  return loadstring((source:gsub("^#[^\n]*", "")), "@" .. path)
end

local function run_script(word, args, scope, is_last)
  local script = require "pmclua.cli.script"
  local path, why = script.find(word)
  if not path then
    complain(why)
    return STATUS.usage
  end
  local chunk
  chunk, why = load_script(path)
  if not chunk then return run(nil, why) end
  if args[1] == "--help" and not script.takes_arguments(path) then
    local help = require "pmclua.cli.help"
    help.write(help.header(script.header(path)) .. "\n")
    return STATUS.done
  end
  script.enter(word, path, args)
  return run(chunk, nil, scope, args, is_last)
end

local function wants_repl(plan)
  if plan.interactive then return true end
  return not plan.word and #plan.steps == 0 and require("pmclua.core").is_terminal(0)
end

--- Runs the chunks and modules, the script, then the REPL: whatever of these is asked for.
local function carry_out(plan)
  -- Of -e, standard input and the REPL: `pmc` is there without asking.
  local scope = require("pmclua.base.scope").new { pmc = function() return require "pmclua" end }
  local status, repl = STATUS.done, wants_repl(plan)
  _G.arg = plan.args
  for i, step in ipairs(plan.steps) do
    status = run_step(step, scope, i == #plan.steps and not plan.word and not repl)
    if status ~= STATUS.done then return status end
  end
  if plan.word and plan.word ~= "-" then
    status = run_script(plan.word, plan.args, repl and scope or require("pmclua.base.scope").new(), not repl)
  elseif plan.word or (#plan.steps == 0 and not repl) then
    status = run_stdin(scope, plan.args)
  end
  if repl then return require("pmclua.cli.repl").run(scope) end
  return status
end

local show = {}

function show.help() io.write(require("pmclua.cli.help").command_line()) end

function show.version()
  io.write(("pmclua %s (%s)\n"):format(require("pmclua.core").version, jit.version))
end

function show.list()
  local help, text = require "pmclua.cli.help", require "pmclua.base.text"
  local groups, longest = help.scripts(), 0
  for _, group in ipairs(groups) do
    for _, entry in ipairs(group.scripts) do longest = math.max(longest, #entry.name) end
  end
  for i, group in ipairs(groups) do
    help.write((i > 1 and "\n" or "") .. group.purpose .. ":\n")
    for _, entry in ipairs(group.scripts) do
      help.write(("%s%s\n"):format(text.pad(entry.name, longest + 2), entry.question))
    end
  end
end

local function start(argv)
  require("pmclua.cli.modules").install()
  local plan, why = parse(argv)
  if not plan then
    complain(("%s\n%s\n(`pmclua -h` explains)"):format(why, require("pmclua.cli.help").USAGE))
    return STATUS.usage
  end
  if plan.show then
    show[plan.show]()
    return STATUS.done
  end
  return carry_out(plan)
end

--- Does what the command line asks.
---@param argv table words of the command line, the program at 0
---@return integer status for exit(3)
function M.main(argv)
  local ok, result = M.guard(function() return start(argv) end)
  return ok and result or report(result)
end

return M
