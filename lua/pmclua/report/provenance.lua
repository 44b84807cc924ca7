--- provenance.lua: how to repeat a result's experiment, as rows of name and value.

local lists = require "pmclua.base.lists"
local text = require "pmclua.base.text"

local M = {}

local UNKNOWN = "the file does not say how it was made: an older pmclua stored it, or it was merged\n"

local function words(list)
  return require("pmclua.workload.shellwords").join(lists.map(list, tostring))
end

local function assignments(map) return table.concat(lists.assignments(map), " ") end

-- Field, name, how it is shown.
local FIELDS = { { "argv", "command", words }, { "launch", "launch", words }, { "launcher", "launcher" },
  { "program", "program" }, { "program_hash", "its hash" },
  { "libraries", "brought in by LD_*", assignments },
  { "cwd", "folder" }, { "stdin", "standard input" }, { "env", "environment", assignments },
  { "source", "source" }, { "source_hash", "its hash" }, { "symbol", "symbol" },
  { "params", "parameters", assignments }, { "compiler", "compiler" }, { "command", "compiled by", words },
  { "library", "library" }, { "library_hash", "its hash" }, { "threads", "threads" }, { "cpus", "CPUs" },
  { "defined", "defined in" }, { "unknown", "not known" } }

local function add(rows, name, value, show)
  if value ~= nil then rows[#rows + 1] = { name, show and show(value) or tostring(value) } end
end

local function add_workload(rows, workload, is_alone)
  local cells = table.concat(workload.cells or {}, "; ")
  local where = (is_alone or cells == "") and "" or (" (%s)"):format(cells)
  add(rows, workload.kind or "workload", tostring(workload.workload) .. where)
  for _, field in ipairs(FIELDS) do add(rows, "  " .. field[2], workload[field[1]], field[3]) end
end

-- Files that differ in the number of their shard alone, and the hosts that differ.
local function alike(header)
  local facts = require("pmclua.result.origins").host_facts(header)
  return lists.groups(lists.map(header.sources or {}, function(source)
    local rows = {}
    add(rows, "host", source.hostname)
    for _, fact in ipairs(facts) do add(rows, "  " .. fact[2], source[fact[1]]) end
    lists.append(rows, M.rows { how = source.how, pmclua = source.pmclua })
    return { path = source.path, rows = rows }
  end), function(source)
    return (table.concat(lists.joined(source.rows), "\0"):gsub("%-%-shard[ =]%d+/", "--shard N/"))
  end)
end

local NAMED = 4                 -- files, of more the first and the last

local function files_of(same)
  if #same <= NAMED then return table.concat(lists.column(same, "path"), ", ") end
  return ("%s … %s (%d files)"):format(same[1].path, same[#same].path, #same)
end

--- Rows of name and value; none of a result whose file says nothing of it.
---@param header table
---@return string[][]
function M.rows(header)
  local rows, how = {}, header.how
  for _, same in ipairs(alike(header)) do
    add(rows, "file", files_of(same))
    lists.append(rows, same[1].rows)
  end
  if not how then return rows end
  add(rows, "pmclua", header.pmclua)
  if how.script then
    add(rows, "script", how.script.path)
    add(rows, "  its hash", how.script.hash)
    add(rows, "  arguments", how.script.args and #how.script.args > 0 and how.script.args or nil, words)
  end
  add(rows, "run in", how.folder)
  add(rows, "commit", how.commit and how.commit .. (how.branch and " (" .. how.branch .. ")" or "")
    .. ((how.changes or 0) > 0 and (", %s changed"):format(text.plural(how.changes, "file")) or ""))
  add(rows, "environment", how.environment, assignments)
  for _, same in ipairs(lists.groups(how.workloads or {}, function(workload) return workload.workload end)) do
    for _, workload in ipairs(same) do add_workload(rows, workload, #same == 1) end
  end
  return rows
end

--- The texts that were stored: of the script and of sources, each once.
---@param header table
---@return { title: string, text: string }[]
function M.texts(header)
  local list, seen = {}, {}
  local function put(title, content)
    if content and not seen[content] then
      seen[content] = true
      list[#list + 1] = { title = title, text = content }
    end
  end
  local function put_all(how)
    if how.script then put(how.script.path or "script", how.script.text) end
    for _, workload in ipairs(how.workloads or {}) do
      put(workload.source or "source of " .. tostring(workload.workload), workload.source_text)
    end
  end
  put_all(header.how or {})
  for _, source in ipairs(header.sources or {}) do put_all(source.how or {}) end
  return list
end

--- The same as text for a terminal.
---@param header table
---@return string
function M.render(header)
  local rows, longest = M.rows(header), 0
  if #rows == 0 then return UNKNOWN end
  for _, row in ipairs(rows) do longest = math.max(longest, text.width(text.safe(row[1]))) end
  local lines = lists.map(rows, function(row)
    return text.pad(text.safe(row[1]), longest + 2) .. text.safe(row[2])
  end)
  for _, stored in ipairs(M.texts(header)) do
    lines[#lines + 1] = ("\n---- %s"):format(text.safe(stored.title))
    lists.append(lines, lists.map(text.lines(stored.text), text.safe))
  end
  return table.concat(lines, "\n") .. "\n"
end

return M
