--- inputs.lua: what decides on a compiled object: the compiler and its flags, the environment, and the preprocessed
-- source. With -dD that text holds every header and every macro, so also what -march=native means on this CPU.
--
-- An object whose compilation may have read more than that (`is_known`) is not used again.

local core = require "pmclua.core"
local lists = require "pmclua.base.lists"
local text_of = require("pmclua.host.machine").text
local tool = require "pmclua.host.tools"

local M = {}

-- Variables that no compiler reads and that change with the terminal, folder or login: names, and prefixes up
-- to the first "_".
local IRRELEVANT = lists.words [[_ PWD OLDPWD SHLVL TERM COLORTERM NO_COLOR COLUMNS LINES DISPLAY
  WINDOWID TMPDIR TMUX STY LS_COLORS PS1 PS2 PS3 PS4 PROMPT_COMMAND HISTFILE HISTSIZE HISTCONTROL USER
  LOGNAME HOSTNAME MAIL LESS LESSOPEN LESSCLOSE PAGER EDITOR VISUAL GPG_TTY WAYLAND_DISPLAY VTE_VERSION
  JOURNAL_STREAM INVOCATION_ID]]
local IRRELEVANT_BEGINNINGS = lists.words "TERM_ SSH_ XDG_ DBUS_ TMUX_ SUDO_ PMCLUA_"

--- The variables that may change the object, and the working directory, which is in debug information.
---@param environment string[] "NAME=value"
---@return string
function M.surroundings(environment)
  local list = lists.where(environment, function(entry)
    local name = entry:match "^[^=]*"
    return not IRRELEVANT[name] and not IRRELEVANT_BEGINNINGS[name:match "^%u+_"]
  end)
  table.sort(list)
  return table.concat(list, "\0") .. "\0" .. (core.real_path "." or "")
end

--- The programs that a compiler's command names, and the assembler: their paths and change signatures.
---@param words string[] "ccache", "/usr/bin/cc", "-m32"
---@return string
function M.programs(words)
  return table.concat(lists.map(lists.joined { words, { "as" } }, function(word)
    local path = word:find("/", 1, true) and word or tool.find(word)
    return path and ("%s %s"):format(path, core.signature(path) or "") or ""
  end), "\0")
end

-- ---- the preprocessed source ---------------------------------------------------------------------------

--- A source as the compiler proper sees it, with all macros.
---@param argv string[] the compiler's command, without what is to be done
---@param source string path
---@param temporaries string the folder of its temporary files
---@return string? text nil: it cannot be preprocessed
function M.preprocessed(argv, source, temporaries)
  local arguments = lists.joined { { unpack(argv, 2) },
    { "-E", "-dD", "-fpch-preprocess", source } }
  local text, trouble, status = tool.read(argv[1], arguments,
    { seconds = 60, megabytes = 64, temporaries = temporaries })
  return not trouble and status == 0 and text or nil
end

-- ---- what that text does not show ----------------------------------------------------------------------

-- By file extension: languages whose preprocessed text is all that their compiler reads.
local LANGUAGES = lists.words "c C cc cpp cxx S"

-- Flags that name further inputs, or hand on flags that may.
local MORE_INPUTS = { "^@", "^%-%-?specs", "^%-B", "^%-wrapper", "^%-fplugin", "^%-fprofile", "^%-fmodule",
  "^%-fbranch%-prob", "^%-fauto%-profile", "^%-include%-pch", "^%-Wa,", "^%-X", "^%-f[%w-]*list=" }

-- Directives of the assembler, and precompiled headers, that take further files into a preprocessed text.
local TAKES_IN = { ".incbin", ".include", "#pragma GCC pch_preprocess" }

-- The user's files that the compiler says it read, in make's format; nil if the text is incomplete.
local function dependencies_of(text)
  local list = text and text:gsub("\\\n", " "):match "^[^:]*:(.*)\n$"
  if not list then return nil end
  return lists.map(lists.collect(list:gsub("\\ ", "\1"):gmatch "%S+"), function(path)
    return (path:gsub("\1", " "):gsub("%$%$", "$"))
  end)
end

-- GCC before 13 defines a target's macros where it compiles, but not where it only preprocesses: below such a pragma
-- it may compile other lines. Those of system headers restore what was before.
local function has_own_target(text)
  if not text:find("#pragma GCC target", 1, true) then return false end
  local is_system
  for line in text:gmatch "[^\n]+" do
    local flags = line:match '^# %d+ ".*"(.*)$'
    if flags then is_system = flags:find("3", 1, true) end
    if not is_system and line:find "^#pragma GCC target" then return true end
  end
  return false
end

--- Whether the preprocessed text is all that a compilation read.
---@param unit pmclua.Unit
---@param words string[] the compiler's command
---@param text string
---@param source string path
---@param object string path, beside which the compiler listed what it read (-MMD)
---@param began_ns number|ffi.cdata* the file system's clock before: what was changed since may be newer than the text
---@return boolean
function M.is_known(unit, words, text, source, object, began_ns)
  local function names_more(word)
    return lists.any(MORE_INPUTS, function(pattern) return word:find(pattern) ~= nil end)
  end
  local made, needed = core.stat(object), dependencies_of(text_of(object .. ".d"))
  return LANGUAGES[unit.extension or "c"] and not lists.any(words, names_more)
    and not lists.any(TAKES_IN, function(words_of_it) return text:find(words_of_it, 1, true) ~= nil end)
    and not has_own_target(text)
    and made and made.mtime_ns >= began_ns and needed       -- else the clock was set back
    and lists.all(needed, function(path)
      local _, _, mtime_ns = core.signature(path)
      return path == source
        or mtime_ns and mtime_ns < began_ns and text:find(('"%s"'):format(path), 1, true) ~= nil
    end) or false
end

return M
