--- evidence.lua: what a result stores of a workload so that others can run it again: words without secrets, hashes of files,
--- CPUs. Each kind says which facts: workload:facts.

local core = require "pmclua.core"
local lists = require "pmclua.base.lists"
local shellwords = require "pmclua.workload.shellwords"

local M = {}

local MOST_TEXT = 2 ^ 18            -- bytes; of a longer source only the hash is stored
local MOST_HASHED = 2 ^ 26          -- bytes; of a larger file only the size is stored

M.HIDDEN, M.REMOVED = "(not stored: its name says that it is secret)", "(removed)"
local SECRET = { "PASS", "SECRET", "TOKEN", "CREDENTIAL", "AUTH", "COOKIE", "PRIVATE", "APIKEY", "API_KEY",
  "ACCESS_KEY", "SESSION" }

local function is_secret(name)
  local plain = name:upper():gsub("-", "_")
  return lists.any(SECRET, function(sign) return plain:find(sign, 1, true) end)
end

--- The arguments of a command line, without the values of options whose names look secret.
---@param list? string[]
---@return string[]
function M.words(list)
  local out, is_next = {}, false
  for i, word in ipairs(list or {}) do
    local name, value = word:match "^([%w_-]+)=(.*)$"
    local option = word:match "^%-%-?([%w_-]+)$"
    if is_next and not option then out[i] = M.HIDDEN
    elseif name and value ~= "" and is_secret(name) then out[i] = name .. "=" .. M.HIDDEN
    else out[i] = word end
    is_next = option ~= nil and is_secret(option)
  end
  return out
end

local function read(path)
  local facts = core.stat(path)
  if not facts or facts.bytes > MOST_HASHED then return nil, facts end
  return (require("pmclua.host.machine").text(path)), facts
end

--- A variable of the environment, without a value that looks secret.
---@param name string
---@param value string|number|false false: it is removed
---@param levels table
---@return string
function M.variable(name, value, levels)
  if value == false then return M.REMOVED end
  return is_secret(name) and M.HIDDEN or shellwords.fill(tostring(value), levels)
end

--- The hash of a file; its size and time if it cannot be read or is too large.
---@param path string
---@return string? nil: there is no such file
function M.identity(path)
  local text, facts = read(path)
  if text then return core.hash(text) end
  return facts and ("%d bytes of %s"):format(facts.bytes, core.decimal(facts.mtime_ns)) or nil
end

--- Hashes of files by path; nil: there are no files.
---@param files string[] paths
---@return table<string, string>?
function M.hashes(files)
  local hashes
  for _, path in ipairs(files) do
    hashes = hashes or {}
    hashes[path] = M.identity(path)
  end
  return hashes
end

--- A source, unless it is too long to be stored.
---@param text? string
---@return string?
function M.text(text) return text and #text <= MOST_TEXT and text or nil end

--- The text of a file, unless it is too large to be hashed.
---@param path string
---@return string?
function M.file(path) return (read(path)) end

--- Where the threads of a workload are put; nil: nowhere in particular.
---@param asked? string|number
---@param levels table
---@param threads? integer
---@return string?
function M.cpus(asked, levels, threads)
  return asked and require("pmclua.workload.pinning").said(shellwords.fill(tostring(asked), levels), threads)
end

return M
