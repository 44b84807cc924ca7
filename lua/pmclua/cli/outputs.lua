--- outputs.lua: `pmc.outputs`: whether a script's results can be written, asked before hours are spent on them.

local core = require "pmclua.core"

local M = {}

local EEXIST = 17

local check = {}

function check.report(path) require("pmclua.host.output").check(path) end

-- Results are never overwritten.
function check.store(path)
  if path == "-" then return end
  if core.stat(path) then require("pmclua.store.failure").refuse("create", path, "EEXIST", EEXIST) end
  require("pmclua.host.output").check(path)
end

function check.plot(path)
  require("pmclua.report.plot").format_of(path)
  require("pmclua.report.plot.gnuplot").need_program()
  require("pmclua.host.output").check(path)
end

local ORDER = { "report", "store", "plot" }

--- Raises an error object where one of them could not be written. Nothing that is there is changed.
---@param files { report?: string, store?: string, plot?: string } paths: of a report ("-" is standard output), of a
---  new file for repetitions, and of a plot
---@return nil
function M.check(files)
  for _, name in ipairs(ORDER) do
    if files[name] then check[name](files[name]) end
  end
end

return M
