--- reads.lua: what a compilation depended on: every file that the compiler, the assembler and the linker looked
-- for, found or not, as the runner saw them ask (core/runner/reads.c), and the environment.
--
-- A listing has a line for each: "absent PATH", "folder PATH", "list SIGNATURE PATH" (a folder whose files were
-- listed), "file SIGNATURE HASH PATH"; the hash is "-" for the system's files. "unknown" is a line that never holds.

local bit = require "bit"
local core = require "pmclua.core"
local paths = require "pmclua.host.paths"

local M = {}

local UNKNOWN = "unknown \n"

--- The words of a command that writes to `list` what `argv` looks for.
---@param list string path
---@param argv string[] the first is a path
---@return string[]
function M.words(list, argv) return { paths.runner(), "reads", list, unpack(argv) } end

-- ---- the environment -----------------------------------------------------------------------------------

local function set_of(words)
  local set = {}
  for word in words:gmatch "%S+" do set[word] = true end
  return set
end

-- What no compiler makes code of, and changes from one terminal, folder or login to the next: names, and their
-- beginnings up to the first "_".
local IRRELEVANT = set_of [[_ PWD OLDPWD SHLVL TERM COLORTERM NO_COLOR COLUMNS LINES DISPLAY WINDOWID TMPDIR
  TMUX STY LS_COLORS PS1 PS2 PS3 PS4 PROMPT_COMMAND HISTFILE HISTSIZE HISTCONTROL USER LOGNAME HOSTNAME MAIL
  LESS LESSOPEN LESSCLOSE PAGER EDITOR VISUAL GPG_TTY WAYLAND_DISPLAY VTE_VERSION
  JOURNAL_STREAM INVOCATION_ID]]
local IRRELEVANT_BEGINNINGS = set_of "TERM_ SSH_ XDG_ DBUS_ TMUX_ SUDO_ PMCLUA_"

local function is_relevant(name)
  return not IRRELEVANT[name] and not IRRELEVANT_BEGINNINGS[name:match "^%u+_"]
end

--- What of an environment may decide what is made, and the working directory, which is in debug information.
---@param environment string[] "NAME=value"
---@return string
function M.surroundings(environment)
  local list = {}
  for _, entry in ipairs(environment) do
    if is_relevant(entry:match "^[^=]*") then list[#list + 1] = entry end
  end
  table.sort(list)
  return table.concat(list, "\0") .. "\0" .. (core.real_path "." or "")
end

-- ---- what was looked for -------------------------------------------------------------------------------

local KIND, FOLDER, FILE = 0xf000, 0x4000, 0x8000

local function is_kind(mode, kind) return bit.band(mode, KIND) == kind end

-- Files that only their packages change: their signature is enough.
local function is_systems(path)
  return path:find "^/usr/" or path:find "^/lib" or path:find "^/etc/" or path:find "^/bin/"
end

-- Made anew by the OS kernel each time.
local function is_made_up(path) return path:find "^/proc/" or path:find "^/sys/" or path:find "^/dev/" end

local function text_of(path)
  local file = io.open(path, "rb")
  local text = file and file:read "*a"
  if file then file:close() end
  return text
end

--- Whether a source says when it is compiled.
---@param text string
function M.has_time(text)
  local is_said = text:find "__TIMESTAMP__" or text:find "__DATE__" or text:find "__TIME__"
  return is_said ~= nil and (text:find "__TIMESTAMP__" or not os.getenv "SOURCE_DATE_EPOCH") and true
end

-- Of a file that is not there, the first folder on its way that is not.
local function absent_part(path)
  local parent = paths.directory(path)
  while parent ~= "/" and parent ~= "." and not core.signature(parent) do
    path, parent = parent, paths.directory(parent)
  end
  return path
end

--- The line of one path; nil where it was changed since `before_ns`, so that it is not known what was read.
local function line_of(kind, path, before_ns)
  local signature, mode, mtime_ns = core.signature(path)
  if not signature then return ("absent %s\n"):format(absent_part(path)) end
  if is_kind(mode, FOLDER) then
    return kind == "d" and ("list %s %s\n"):format(signature, path) or ("folder %s\n"):format(path)
  end
  if not is_kind(mode, FILE) or mtime_ns >= before_ns then return nil end
  if is_systems(path) then return ("file %s - %s\n"):format(signature, path) end
  local text = text_of(path)
  if not text or M.has_time(text) then return nil end
  return ("file %s %s %s\n"):format(signature, core.hash(text), path)
end

-- What was looked for, each once and in order, with how; nil where something was missed. `made`: what was made before
-- anything looked for it, as files between the compiler's parts.
local function asked_for(text)
  local made, kinds, order = {}, {}, {}
  for kind, path in text:gmatch "(.) ?([^\n]*)\n" do
    if kind == "?" then return nil end
    if kind == "w" and not kinds[path] then made[path] = true end
    if not kinds[path] then order[#order + 1] = path end
    if kinds[path] ~= "d" then kinds[path] = kind end
  end
  return order, kinds, made
end

--- The listing of a compilation.
---@param text string what the runner wrote
---@param own table<string, true> paths that are this compilation's own
---@param before_ns number when the source was written: what was changed since is not known
---@param needed string[] paths that must have been seen: those of the compiler's own list
---@return string
function M.listing(text, own, before_ns, needed)
  local order, kinds, made = asked_for(text)
  if not order or #order == 0 then return UNKNOWN end
  local here = core.real_path "." or ""
  for _, path in ipairs(needed) do
    local from = paths.from(here, path)
    if not kinds[from] and not own[path] then return UNKNOWN end
  end
  local lines, seen = {}, {}
  for _, path in ipairs(order) do
    if not made[path] and not own[path] and not is_made_up(path) then
      local line = line_of(kinds[path], path, before_ns)
      if not line then return UNKNOWN end
      if not seen[line] then lines[#lines + 1], seen[line] = line, true end
    end
  end
  return table.concat(lines)
end

-- ---- is it still so? -----------------------------------------------------------------------------------

-- A file that was written, or is another, and has the same contents all the same.
local function has_contents(line)
  local hash, path = line:match "^file %S+ (%x%x+) (.*)$"
  local text = hash and text_of(path)
  return text and core.hash(text) == hash
end

--- Whether all that a listing has is as it was.
---@param listing string
---@return boolean
function M.hold(listing)
  local at = core.listing_next(listing, 1)
  while at do
    local line, next_line = listing:match("^([^\n]*)\n()", at)
    if not line or not has_contents(line) then return false end
    at = core.listing_next(listing, next_line)
  end
  return listing ~= ""
end

return M
