--- repl/init.lua: the prompt: a line is read, run and shown, until the end of input.
--
-- An interrupt ends what runs, never the session: a hook looks for it in Lua (so what is typed is not
-- compiled), waits in the core look for it, and the second one in a row kills what looks for neither.

local core = require "pmclua.core"
local running = require "pmclua.host.running"

local M = {}

local HOOK_INSTRUCTIONS = 10000

-- ---- lines ----

--- Reads by io.read: a dumb terminal, a pipe, no libedit.
local function plain_reader(show_prompts)
  return {
    read = function(_, prompt)
      if show_prompts then
        io.write(prompt)
        io.flush()
      end
      return (io.read "*l")
    end,
    remember = function() end,
  }
end

local function history_path()
  local paths = require "pmclua.host.paths"
  local folder = paths.state()
  return folder and paths.make(folder) and folder .. "/history" or nil
end

-- The file of key bindings, which may type anything; nil: libedit's choice, which is the user's own.
local function key_bindings()
  local paths, named = require "pmclua.host.paths", os.getenv "EDITRC"
  local folder = named and paths.directory(named) or os.getenv "HOME" or ""
  local is_own = folder:sub(1, 1) == "/" and paths.accept(folder, named and "EDITRC" or "HOME")
  return not is_own and "/dev/null" or nil
end

--- Reads by libedit, with completion in `scope` and the history of earlier sessions.
local function edited_reader(scope)
  local complete = require "pmclua.cli.repl.complete"
  os.setlocale("", "ctype")       -- before libedit starts: it asks which bytes are characters
  local edit = require("pmclua.core.edit").open(function(line, word)
    return complete.words(scope, line, word)
  end, key_bindings())
  if not edit then
    local missing = require("pmclua.base.packages").missing "libedit"
    require("pmclua.host.output").note("no line editing: " .. missing)
    return plain_reader(true)
  end
  local path, last = history_path(), nil
  if path then edit:load_history(path) end
  return {
    read = function(_, prompt)
      io.flush()
      return edit:read(prompt)
    end,
    remember = function(_, line)
      if line:find "%S" and line ~= last then edit:remember(line) end
      if path then edit:save_history(path) end
      last = line
    end,
  }
end

local function open_reader(scope)
  if not core.is_terminal(0) then return plain_reader(false) end
  local term = os.getenv "TERM"
  if not core.is_terminal(1) or not term or term == "dumb" then return plain_reader(true) end
  return edited_reader(scope)
end

-- ---- chunks ----

--- Compiles what was typed, as an expression where it is one: a function of `keep`, which is called with
--- the expression's values, or one that returns what a `return` names; or nil, what is wrong, and whether
--- more lines could mend it.
---@param source string
---@return function? chunk, string? why, boolean? unfinished
function M.compile(source)
  local expression = source:gsub("^%s*=", ""):gsub("[;%s]+$", "")
  local returned = loadstring("return " .. expression, "=stdin")
  if returned then
    -- Not "return …", whose tail call would take the line out of tracebacks and error positions: but for
    -- "1; -- one", which can stand nowhere else.
    local before_end = expression:find("--", 1, true) and "\n" or ""
    local kept = ("local __keep = ... __keep(%s%s)"):format(expression, before_end)
    return loadstring(kept, "=stdin") or returned
  end
  local chunk, why = loadstring(source, "=stdin")
  if chunk then return chunk end
  return nil, why, why:find "'<eof>'$" ~= nil
end

-- A chunk of several lines as one, to be recalled and edited as a whole; as it was typed where a line's end matters.
local function as_one_line(source)
  local joined = source:gsub("%s*\n%s*", " ")
  local has_ends = source:find("--", 1, true) or source:find "%[=*%[" or source:find "\\\n"
  return not has_ends and M.compile(joined) and joined or source
end

--- Lines until they are a chunk. Returns it; or nil and what is wrong; nothing at the end of input.
local function read_chunk(reader)
  local source, prompt = nil, "> "
  local function remember()
    if source then reader:remember(as_one_line(source)) end
  end
  while true do
    core.catch_interrupts("count", true)
    local line = reader:read(prompt)
    if not line then
      remember()
      if core.interrupts() > 0 then return nil, "" end
      if not source then return end
      return nil, "the input ends within a statement"
    end
    source = source and source .. "\n" .. line or line
    local chunk, why, unfinished = M.compile(source)
    if chunk or not unfinished then remember() end
    if chunk then return chunk, nil, source end
    if not unfinished then return nil, why end
    prompt = ">> "
  end
end

-- ---- running ----

local Interrupted = setmetatable({ code = "EINTR" }, { __tostring = function() return "interrupted" end })

local function watch_interrupts()
  if core.take_interrupt() then error(Interrupted, 0) end
end

-- A loop that keeps what was typed from ending, `while true do pcall(pmc.measure, …) end`, is left between two calls.
local function leave_typed()
  if debug.getinfo(2, "S").source == "=stdin" then error(Interrupted, 0) end
end

--- Runs a chunk until it ends or is interrupted. Returns true and its values, packed; or false and an
--- error object or text.
local function run_chunk(chunk, scope)
  local results = { n = 0 }
  local function keep(...)
    if select("#", ...) > 0 then results = { n = select("#", ...), ... } end
  end
  setfenv(chunk, scope)
  jit.off(chunk, true)
  running.begin_typed(function() debug.sethook(leave_typed, "", 1) end)
  core.catch_interrupts("script", true)
  debug.sethook(watch_interrupts, "", HOOK_INSTRUCTIONS)
  local ok, problem = require("pmclua.cli").guard(function() keep(chunk(keep)) end)
  debug.sethook()
  return ok, ok and results or problem
end

local function show(results)
  local pretty = require "pmclua.cli.repl.pretty"
  local shown = {}
  for i = 1, results.n do shown[i] = pretty.show(results[i]) end
  if results.n > 0 then io.write(table.concat(shown, "\t"), "\n") end
end

local function show_problem(problem)
  io.flush()
  if problem ~= nil and not (type(problem) == "table" and problem.quiet) then
    require("pmclua.host.output").say(tostring(problem))
  end
end

local noted_local = false
local function note_local(source)
  if noted_local or not source:find "^%s*local%s" or source:find "[\n;]" then return end
  noted_local = true
  require("pmclua.host.output").say("note: a `local` lasts only for its line here; leave the word out to "
    .. "keep the name")
end

--- Runs and shows one chunk. True when all went well.
local function step(chunk, source, scope)
  local ok, results = run_chunk(chunk, scope)
  if not ok then
    show_problem(results)
    return false
  end
  if results.n > 0 then scope._ = results[1] end
  local shown, problem = require("pmclua.cli").guard(function() show(results) end)
  if not shown then show_problem(problem) end
  if source then note_local(source) end
  return running.end_status() == 0
end

local FIRST_STEPS = [[
pmclua doctor            in a shell: what counts on this machine
pmclua stat -- COMMAND   in a shell: counts a command, as perf stat does
print(pmc.measure "ls")  here: measures one, with intervals
]]

--- Reads, runs and shows until the end of input. Returns the exit status: on a terminal 0, else 1 when
--- anything failed.
---@param scope table the globals of what is typed
---@return integer status
function M.run(scope)
  local on_terminal = core.is_terminal(0)
  if on_terminal then
    io.write(FIRST_STEPS)
    io.write(("pmclua %s (%s): pmc.help() explains `pmc`, Ctrl-D leaves\n")
      :format(core.version, jit.version))
  end
  local reader, failed = open_reader(scope), false
  while true do
    local chunk, why, source = read_chunk(reader)
    if not chunk and not why then break end
    if chunk then
      failed = not step(chunk, source, scope) or failed
    else
      show_problem(why)
      failed = failed or why ~= ""
    end
  end
  if on_terminal then io.write "\n" end
  return failed and not on_terminal and 1 or 0
end

return M
