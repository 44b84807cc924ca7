--- terminal.lua: pmclua in a real terminal, by tmux: sends keys, reads the screen.
--
-- Nothing here sleeps for a fixed time: it looks for what a test expects until it appears or a limit passes.

local support = require "tests.support"

local M = {}

local LIMIT_S = 20 * support.slower
local ENDED = "ended with status "

-- The shell tells how the program ended (tmux does not always notice) and outlives an interrupt. It stays
-- until the terminal is closed: tmux may lose the last lines of what ends.
local WRAPPER = { "sh", "-c",
  ([[trap : INT; "$@"; status=$?; echo; echo "%s$status"; exec cat]]):format(ENDED), "sh" }

---@class support.Terminal
local Terminal = {}
Terminal.__index = Terminal

function Terminal:tmux(...)
  local words = { "tmux", "-u", "-S", self.folder .. "/socket", ... }
  for i, word in ipairs(words) do words[i] = support.quote(word) end
  return support.output_of(table.concat(words, " ") .. " 2>&1")
end

--- Starts a command in a terminal of 90 columns and 50 lines.
---@param words string[] argv
---@param environment? table<string, string>
---@return support.Terminal
function M.open(words, environment)
  local self = setmetatable({ folder = support.folder() }, Terminal)
  local variables = { HOME = self.folder, XDG_STATE_HOME = self.folder .. "/state", LC_ALL = "C.UTF-8" }
  for name, value in pairs(environment or {}) do variables[name] = value end
  -- Whose memory it was that is left, a watcher does not know once libedit is unloaded.
  if support.watcher == "asan" then variables.ASAN_OPTIONS = os.getenv "ASAN_OPTIONS" .. ":detect_leaks=0" end
  if support.watcher == "valgrind" then variables.VALGRIND_LEAKS = "no" end
  local parts = { "exec env -u NO_COLOR" }
  for name, value in pairs(variables) do parts[#parts + 1] = name .. "=" .. support.quote(value) end
  for _, list in ipairs { WRAPPER, words } do
    for _, word in ipairs(list) do parts[#parts + 1] = support.quote(word) end
  end
  self:tmux("-f", "/dev/null", "new-session", "-d", "-x", "90", "-y", "50", table.concat(parts, " "))
  return self
end

--- What the screen shows, without blanks at the ends of lines.
function Terminal:screen()
  return (self:tmux("capture-pane", "-p"):gsub("[ \t]+\n", "\n"):gsub("\n+$", "\n"))
end

--- Waits until the screen shows `text`. Returns the screen; raises with it when the limit passes.
---@param text string plain
function Terminal:expect(text)
  local deadline = os.time() + LIMIT_S
  repeat
    local screen = self:screen()
    if screen:find(text, 1, true) then return screen end
    os.execute "sleep 0.05"
  until os.time() > deadline
  error(("the screen never showed %q:\n%s"):format(text, self:screen()), 2)
end

--- Types text as it is.
---@param text string
function Terminal:type(text) self:tmux("send-keys", "-l", "--", text) end

--- Presses keys by tmux's names: "Enter", "Tab", "Up", "C-c".
function Terminal:press(...) self:tmux("send-keys", ...) end

--- Types a line, and waits until the screen shows what it prints, in a line of its own.
---@param line string
---@param expected string
function Terminal:enter(line, expected)
  self:type(line)
  self:press "Enter"
  return self:expect("\n" .. expected)
end

--- Waits for the program to end.
---@return integer status
function Terminal:wait_end()
  return tonumber(self:expect("\n" .. ENDED):match(ENDED .. "(%d+)"))
end

function Terminal:close() self:tmux "kill-server" end

return M
