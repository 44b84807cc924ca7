--- unread.lua: what debug information of a file is there and could not be read, and what to do about it.

local lists = require "pmclua.base.lists"
local text = require "pmclua.base.text"

local M = {}

local FORMS = {
  split = "%s: the debug information of some of its code is in %s, which is missing or of another build: "
    .. "what was inlined there has no name; keep .dwo files where they were built, or pack them: dwp -e %s",
  shared = "%s: some of its debug information is in %s, which is missing: what was inlined may have no name; "
    .. "install that file (of a Debian package it is in the same -dbgsym package)",
  compressed = "%s: the debug information in %s is compressed with zstd, which this elfutils cannot read: no "
    .. "lines and no inlined functions; try objcopy --decompress-debug-sections",
}

--- Sentences on what could not be read, of what was asked so far.
---@param symbols pmclua.core.Symbols
---@param path string of its file
---@return string[]
function M.sentences(symbols, path)
  return lists.map(symbols:unread(), function(unread)
    return FORMS[unread.kind]:format(text.safe(path), text.safe(unread.name), text.safe(path))
  end)
end

return M
