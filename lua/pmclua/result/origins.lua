--- origins.lua: the files that a merged result was made of, and in what they differ besides what was
--- measured.

local lists = require "pmclua.base.lists"
local text = require "pmclua.base.text"

local M = {}

local HOST = { { "cpu", "CPU" }, { "microcode", "microcode" }, { "os_kernel", "Linux" },
  { "governor", "governor" } }
local FACTS = { { "pmclua", "pmclua" }, { "script", "script" }, { "launch", "launcher" },
  unpack(HOST) }

---@class pmclua.Source one file of a merged result
---@field path string
---@field hostname? string
---@field rank? integer
---@field shard? integer
---@field pmclua? string its version
---@field script? string hash of its text
---@field how? table of its header
---@field [string] string? facts of its host, by their names in it

-- How a file was made; the text of a script that another file has, too, stands there alone.
local function how_of(header, sources)
  local how = header.how
  local script = how and how.script
  local is_known = script and lists.any(sources, function(source) return source.script == script.hash end)
  if not is_known then return how end
  how = lists.copy(how)
  how.script = lists.without(script, "text")
  return how
end

local function source_of(header, path, sources)
  local host, script = header.host or {}, (header.how or {}).script or {}
  local source = { path = path, hostname = host.hostname, rank = header.rank,
    shard = (header.shard or {}).index, pmclua = header.pmclua, script = script.hash,
    how = how_of(header, sources) }
  for _, fact in ipairs(HOST) do source[fact[1]] = host[fact[1]] end
  return source
end

local function launch_of(source)
  local launches = lists.map((source.how or {}).workloads or {}, function(facts)
    return facts.launch and table.concat(facts.launch, " ") or "none"
  end)
  return launches[1] and table.concat(lists.unique(launches), ", ")
end

--- Adds the file of a header, or the files that it was merged from itself.
---@param sources pmclua.Source[] changed
---@param header table
---@param path string
---@return table<integer, integer> where each of its own is now; 0: that of records that name none
function M.add(sources, header, path)
  local before, own = #sources, header.sources or {}
  if #own == 0 then own = { source_of(header, path, sources) } end
  lists.append(sources, own)
  local map = { [0] = before + 1 }
  for i = 1, #own do map[i] = before + i end
  return map
end

-- "6.1.0 (a.jsonl, b.jsonl)": the files of one value, the first of many.
local FEW = 3
local function line_of(group)
  local names = lists.map({ unpack(group, 1, FEW) }, function(source)
    return text.safe(source.path:match "[^/]*$")
  end)
  if #group > FEW then names[FEW + 1] = ("%d more"):format(#group - FEW) end
  return ("%s (%s)"):format(text.safe(group.key), table.concat(names, ", "))
end

local function groups_by(header, fact)
  return lists.groups(header.sources or {}, function(source)
    local value = source[fact[1]]
    if fact[1] == "launch" then value = launch_of(source) end
    return value and value ~= "unknown" and tostring(value) or nil
  end)
end

--- The facts of hosts in which the files of a result differ.
---@param header table
---@return string[][] field of a source, and what it is called
function M.host_facts(header)
  return lists.where(HOST, function(fact) return #groups_by(header, fact) > 1 end)
end

--- In what the files of a result differ, as texts: "Linux: 6.1.0 (a.jsonl), 6.6.1 (b.jsonl)".
---@param header table
---@return string[]
function M.differences(header)
  local list = {}
  for _, fact in ipairs(FACTS) do
    local groups = groups_by(header, fact)
    if #groups > 1 then
      list[#list + 1] = ("%s: %s"):format(fact[2], table.concat(lists.map(groups, line_of), ", "))
    end
  end
  return list
end

return M
