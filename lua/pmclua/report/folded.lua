--- folded.lua: stacks as flamegraph.pl takes them, one a line: "main;parse 412"; of two sides with both counts, as
--- difffolded.pl writes them.

local json = require "pmclua.base.json"
local text = require "pmclua.base.text"

local M = {}

--- Writes stacks.
---@param stacks pmclua.Stacks
---@param put fun(piece: string)
function M.write(stacks, put)
  for _, entry in ipairs(stacks.list) do
    local counts = json.number(entry[1]) .. (stacks.b and " " .. json.number(entry[2]) or "")
    put(("%s %s\n"):format(text.safe(entry.stack), counts))
  end
end

return M
