--- identity.lua: which function a line of a profile belongs to.
--
-- Invariant: two lines of one build of a file have the same key exactly if they belong to one function, as far as that
-- can be established. A function is its full name and the file that declares it.

local M = {}

--- The name that tells a function from others of its source file: with parameters.
---@param of table a line of a profile, or what an instruction belongs to
---@return string
function M.full(of) return of.full or of.fn end

--- The key of a function.
---@param file string that has its code
---@param build_id? string
---@param of table a line of a profile, or what an instruction belongs to
---@return string
function M.key(file, build_id, of)
  return table.concat({ file, build_id or "", M.full(of), of.source or "", of.which or "" }, "\0")
end

--- The function that an instruction belongs to in the source: the innermost one that was copied there.
---@param line pmclua.ProfileLine
---@param at pmclua.ProfileAt
---@return table of as for `key`; `is_copy` where it is another than the line's
function M.innermost(line, at)
  local copied = at.inlined and at.inlined[1]
  if not copied then return line end
  return { fn = copied.fn, full = copied.full, source = copied.declared or at.source, is_copy = true }
end

return M
