--- edit.lua: the binding of libedit, part of core/: a line from the terminal, with history and
--- completion. Loaded by the REPL alone.
--
-- libedit calls back into Lua for completion, so `read` is never compiled: a callback from compiled code
-- would end the process. It holds no Lua memory: what it gets is malloc'd, and it frees it.

local core = require "pmclua.core"
local ffi = require "ffi"
local packages = require "pmclua.base.packages"

ffi.cdef [[
char *readline(const char *prompt);
int add_history(const char *line);
int read_history(const char *path);
int append_history(int lines, const char *path);
int write_history(const char *path);
void using_history(void);
void stifle_history(int lines);
extern const char *rl_readline_name;
extern const char *rl_basic_word_break_characters;
extern char *rl_completer_word_break_characters;
extern char **(*rl_attempted_completion_function)(const char *text, int start, int end);
extern int rl_attempted_completion_over;
extern int rl_completion_append_character;
extern char *rl_line_buffer;
void *malloc(size_t bytes);
void free(void *memory);
char *strdup(const char *text);
int setenv(const char *name, const char *value, int replace);
int unsetenv(const char *name);
]]

local M = {}

local HISTORY_LINES = 2000

-- Characters that end a word to complete. Not "." and ":" (a path of fields), nor those of event names.
local WORD_BREAKS = " \t\n\"'`()[]{}<>=+*%^#~;,|&"

-- Strings and the callback that libedit keeps: they must outlive every call.
local kept = {}

local function matches_of(words)
  if #words == 0 then return nil end
  local prefix = words[1]
  for _, word in ipairs(words) do
    local length = #prefix
    while length > 0 and word:sub(1, length) ~= prefix:sub(1, length) do length = length - 1 end
    prefix = prefix:sub(1, length)
  end
  local list = ffi.cast("char **", ffi.C.malloc((#words + 2) * ffi.sizeof "char *"))
  list[0] = ffi.C.strdup(prefix)
  for i, word in ipairs(words) do list[i] = ffi.C.strdup(word) end
  list[#words + 1] = nil
  return list
end

---@class pmclua.core.Edit
local Edit = {}
Edit.__index = Edit

-- Calls it while a variable of the environment has this value, unless that is nil.
local function with_variable(name, value, fn)
  local before = os.getenv(name)
  if value then ffi.C.setenv(name, value, 1) end
  fn()
  if not value then return end
  if before then ffi.C.setenv(name, before, 1) else ffi.C.unsetenv(name) end
end

--- libedit, ready to read; nil where it is not installed.
---@param complete fun(line: string, word: string): string[]? words that may stand where `word` ends `line`;
---   nil: files
---@param settings? string its file of key bindings; nil: the user's own
---@return pmclua.core.Edit?
function M.open(complete, settings)
  local lib = core.load(packages.named("libedit").library)
  if not lib then return nil end
  kept.name, kept.breaks = "pmclua", ffi.new("char[?]", #WORD_BREAKS + 1, WORD_BREAKS)
  lib.rl_readline_name = kept.name
  lib.rl_basic_word_break_characters = kept.breaks
  lib.rl_completer_word_break_characters = kept.breaks
  lib.rl_completion_append_character = 0
  kept.callback = ffi.cast("char **(*)(const char *, int, int)", function(word, _, stop)
    local line = ffi.string(lib.rl_line_buffer, stop)
    local done, words = pcall(complete, line, ffi.string(word))
    lib.rl_attempted_completion_over = (done and words) and 1 or 0
    return done and words and matches_of(words) or nil
  end)
  lib.rl_attempted_completion_function = kept.callback
  with_variable("EDITRC", settings, lib.using_history)
  lib.stifle_history(HISTORY_LINES)
  return setmetatable({ lib = lib }, Edit)
end

--- A line without its newline; nil at the end of input, and when a signal came.
---@param prompt string
---@return string?
function Edit:read(prompt)
  local line = self.lib.readline(prompt)
  if line == nil then return nil end
  local text = ffi.string(line)
  ffi.C.free(line)
  return text
end
jit.off(Edit.read)

--- Reads the history that `path` holds; a missing file is an empty history.
---@param path string in a folder that nobody else may write
function Edit:load_history(path)
  if core.read_plain(path) then self.lib.read_history(path) end
end

---@param line string
function Edit:remember(line) self.lib.add_history(line) end

--- Puts a file of the newest lines, mode 0600, in the place of what is at `path`, be it a link. True when it could.
---@param path string in a folder that nobody else may write
function Edit:save_history(path)
  local temporary = core.write_temporary(path .. ".XXXXXX", "")
  local is_saved = temporary and self.lib.write_history(temporary) == 0 and core.rename(temporary, path)
  if temporary and not is_saved then os.remove(temporary) end
  return is_saved == true
end

return M
