-- real_changes.lua: does `pmclua gate --simulate --why` fail for changes that cost, for no others, and name the right line?
--
-- usage: ./pmclua tests/truths/real_changes.lua NAME FOLDER [FIRST [LAST]]
-- NAME is a file of tests/truths/real_changes/, which says what is built, FOLDER the unpacked source that it is about:
-- `apt-get source NAME`, with a `deb-src` line among apt's sources. It has ten planted changes, which cost, and ten equal
-- ones, which do not. A change is lines of a file (-) and what replaces them (+), the last of each without its end; they
-- must be there once. `in`, `caller` and `line` say what is right of the cause, any of several; a line that the change
-- brings always is. The limit is +0.1 % of instructions.
-- A line of standard output for each change: its number, caught, missed, equal or false; what the gate says it costs
-- (nothing is run where the compiler makes the same program of both); then which of function, line and caller are right,
-- and the cause. Exit 1 where one is not as it should be.

dofile((debug.getinfo(1, "S").source:sub(2):gsub("truths/[^/]*$", "")) .. "support/program.lua")

local json = require "dkjson"
local lists = require "pmclua.base.lists"
local support = require "tests.support"
local text = require "pmclua.base.text"

local name, source = arg[1], arg[2]
if not source then error "usage: real_changes.lua NAME FOLDER [FIRST [LAST]]" end
local described = support.root .. "/tests/truths/real_changes/" .. name
local work = support.folder()

local function sh(line)
  local ran = support.run { "sh", "-c", line }
  if ran.status ~= 0 then error(line .. ": " .. ran.err, 0) end
end

-- ---- what is described --------------------------------------------------------------------------------------

local ONCE = { file = true, sources = true, flags = true, before = true }

-- A line of a text that is replaced, or of what replaces it: another text begins where the sign turns to "-".
local function add_edit(change, sign, line)
  local edits = change.edits
  if sign == "-" and change.sign ~= "-" then edits[#edits + 1] = { ["-"] = {}, ["+"] = {} } end
  table.insert(edits[#edits][sign], line)
  change.sign = sign
end

local function new_change(kind, what)
  return { kind = kind, what = what, edits = {}, ["in"] = {}, caller = {}, line = {} }
end

local function read_changes(path)
  local changes = {}
  local subject, change = new_change(), nil
  for _, said in ipairs(text.lines(support.read(path))) do
    local into = change or subject
    local sign, line = said:match "^([-+]) ?(.*)$"
    local kind, what = said:match "^== (%l+): (.*)$"
    local key, value = said:match "^(%l+) (.*)$"
    if sign then add_edit(into, sign, line)
    elseif kind then change = lists.append(changes, { new_change(kind, what) })[#changes]
    elseif ONCE[key] then into[key] = value
    elseif key then table.insert(into[key], value)
    end
  end
  return subject, changes
end

local subject, changes = read_changes(described .. ".txt")

-- ---- a side -------------------------------------------------------------------------------------------------

local function replaced(code, from, to)
  local first, last = code:find(from, 1, true)
  if not first then error("this is not in the source: " .. from, 0) end
  if code:find(from, last + 1, true) then error("this is there more than once: " .. from, 0) end
  return code:sub(1, first - 1) .. to .. code:sub(last + 1)
end

local function build(side, change)
  local folder = work .. "/" .. side
  sh(("rm -rf %s && cp -r %s %s"):format(folder, support.quote(source), folder))
  support.write(folder .. "/driver.c", support.read(described .. ".c"))
  local file = folder .. "/" .. (change.file or subject.file)
  local code = support.read(file)
  for _, edit in ipairs(change.edits) do
    code = replaced(code, table.concat(edit["-"], "\n"), table.concat(edit["+"], "\n"))
  end
  support.write(file, code)
  sh(("cd %s && %s && cc -g -O2 -w %s -o prog %s"):format(folder, subject.before or ":", subject.flags or "",
    change.sources or subject.sources))
  return folder .. "/prog"
end

-- ---- what the gate says -----------------------------------------------------------------------------------

local function trimmed(line) return line:match "^%s*(.-)%s*$" end

local function lines_of(code) return lists.map(text.lines(code), trimmed) end

-- The lines that a change brings.
local function brought(change)
  return lists.joined(lists.map(change.edits, function(edit)
    local before = lists.set(lists.map(edit["-"], trimmed))
    return lists.where(lists.map(edit["+"], trimmed), function(line)
      return #line > 1 and not before[line]
    end)
  end))
end

local function source_line(part)
  local is_here = part.line and (part.source or ""):find(work, 1, true) == 1
  return is_here and lines_of(support.read(part.source))[part.line] or ""
end

local function is_one_of(list, value) return lists.any(list, function(one) return one == value end) end

local function judged(change, part)
  local line = source_line(part)
  local right = lists.joined { brought(change), change.line }
  return table.concat({ is_one_of(change["in"], part["function"]) and "function" or "-",
    lists.any(right, function(one) return line:find(one, 1, true) end) and "line" or "-",
    is_one_of(change.caller, part.caller) and "caller" or "-" }, " ")
end

local function told(part)
  if not part then return "no cause" end
  local file = (part.source or "?"):match "[^/]*$"
  return ("%s (%s:%s) < %s"):format(part["function"], file, part.line, part.caller)
end

local function gated(old, new)
  local ran = support.pmclua { "gate", "--simulate", "--why", "--format", "json", "--limit",
    "valgrind_instructions <= +0.1%", "--against", old, "--", new }
  local facts = json.decode(ran.out)
  if not facts then error(ran.err, 0) end
  local limit, cause = facts.limits[1], facts.causes[1]
  return ran.status == 3, limit.ratio and ("%+.3f %%"):format((limit.ratio - 1) * 100) or "the same program",
    cause and cause.parts[1]
end

-- ---- all of them ------------------------------------------------------------------------------------------

local old = build("old", new_change())
local wrong = 0
for i = tonumber(arg[3]) or 1, tonumber(arg[4]) or #changes do
  local change = changes[i]
  local is_planted = change.kind == "planted"
  local is_failed, percent, part = gated(old, build("new", change))
  local verdict = is_planted and (is_failed and "caught" or "missed") or is_failed and "false" or "equal"
  local marks = verdict == "caught" and (part and judged(change, part) or "- - -") or ""
  if is_planted and marks ~= "function line caller" or verdict == "false" then wrong = wrong + 1 end
  io.write(("%s %d\t%s\t%s\t%s\t%s\t%s\n"):format(name, i, verdict, percent, marks, change.what,
    is_failed and told(part) or ""))
  io.flush()
end
os.exit(wrong == 0 and 0 or 1)
