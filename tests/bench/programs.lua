--- programs.lua: what the rows run: the references in C, compiled into a folder that goes away, pmclua
--- itself and its peers, each by the runner.

local core = require "pmclua.core"
local session = require("pmclua.workload.session").new()

local M = {}

--- The session that everything is run in; rows may define kernels of their own in it.
M.session = session

--- The pmclua that runs this.
M.PMCLUA = core.folder() .. "/pmclua"

local here = arg[0]:match "^(.*)/" or "."
local folder = here .. "/reference"
local object_folder

local defined = {}

-- A command as the session knows it, defined once.
local function define(words, output)
  local key = output .. "\0" .. table.concat(words, "\0")
  defined[key] = defined[key] or session:workload(function(message)
    for _, word in ipairs(words) do message:text("argument", word) end
    message:number("output", core.OUTPUT[output]):number("errors", core.OUTPUT[output])
  end)
  return defined[key]
end

--- Runs a command to its end: the runner's result (wall_ns, max_rss_bytes, output, errors, exit …).
---@param words string[]
---@param output "null"|"capture"
---@return table
function M.run(words, output) return session:run { workload = define(words, output) } end

--- True where there is a program of this name.
function M.have(name)
  local path = os.getenv "PATH" or "/usr/bin:/bin"
  for part in path:gmatch "[^:]+" do
    if core.stat(part .. "/" .. name) then return true end
  end
  return false
end

local function check(result, words)
  if result.outcome == "done" and result.exit == 0 then return result end
  error(("%s failed: %s"):format(table.concat(words, " "), result.errors ~= "" and result.errors
    or result.outcome .. " " .. tostring(result.exit)), 0)
end

--- Wall time of a command in ns.
---@param words string[]
function M.wall_ns(words) return check(M.run(words, "null"), words).wall_ns end

--- Peak memory of a command in bytes.
---@param words string[]
function M.peak_bytes(words) return check(M.run(words, "null"), words).max_rss_bytes end

--- The number that a program prints.
---@param words string[]
function M.number(words)
  local output = check(M.run(words, "capture"), words).output
  return tonumber(output) or error(("%s printed no number: %s"):format(words[1], output), 0)
end

--- A folder of this run alone; `M.clean` removes it.
function M.folder()
  if not object_folder then
    local file = assert(core.write_temporary((os.getenv "TMPDIR" or "/tmp") .. "/pmclua-bench-XXXXXX", ""))
    os.remove(file)
    assert(core.mkdir(file, 448))                -- 0700
    object_folder = file
  end
  return object_folder
end

--- The path of a file in reference/.
---@param name string
function M.source(name) return ("%s/%s"):format(folder, name) end

local compiled = {}

--- A reference compiled: the path of its program, or of a shared object. Raises what the compiler says.
---@param name string of reference/NAME.c
---@param options? string[] for the compiler, after the source
---@return string path
function M.compile(name, options)
  if compiled[name] then return compiled[name] end
  local path = M.folder() .. "/" .. name
  local words = { os.getenv "CC" or "cc", "-O2", "-I" .. require("pmclua.host.paths").include(), "-o", path,
    M.source(name .. ".c"), unpack(options or {}) }
  check(M.run(words, "capture"), words)
  compiled[name] = path
  return path
end

--- Removes what was compiled and ends the runner.
function M.clean()
  session:close()
  if not object_folder then return end
  os.execute(("rm -rf '%s'"):format(object_folder))
  object_folder, compiled = nil, {}
end

return M
