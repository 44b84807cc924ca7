--- sums.lua: readings of many groups in one buffer, and sums of them.
--
-- Invariant: sums only grow. A group that can no longer be read keeps what it gave last, so that a
-- difference of two sums is never negative.

local core = require "pmclua.core"
local ffi = require "ffi"

local C = core.private_C()

local M = {}

--- A buffer of `words` words, all 0. Opaque: index it through core.word, core.number and core.raw.
function M.buffer(words) return ffi.new("uint64_t[?]", words) end

--- Sets the first `count` words to 0.
function M.clear(buffer, count) ffi.fill(buffer, count * 8) end

--- Marks the `count` words of a group from word `at` on as lost.
function M.lose(buffer, at, count)
  ffi.fill(buffer + at, count * 8)
  buffer[at] = 1
end

--- Adds the `count` words of a group's reading to those of `sum` from word `at` (from 0) on.
function M.add(sum, at, reading, count) C.pmclua_reading_add(sum + at, reading, count) end

--- out = later - earlier, of the `count` words of a group from word `at` on.
function M.subtract(earlier, later, out, at, count)
  C.pmclua_reading_delta(earlier + at, later + at, out + at, count)
end

return M
