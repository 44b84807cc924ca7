--- stored.lua: mutated result files: changed values, missing members, cut off, deep, huge, of another schema.
--
-- Each file is made from a good one by replacing values. The positions of the values are found once, and
-- inputs are put together from pieces of text, so nothing is decoded in order to mutate it.

local input = require "tests.fuzz.input"
local lpeg = require "lpeg"
local made = require "tests.support.results"
local pmc = require "pmclua"
local support = require "tests.support"

local hold, one_of = input.hold, input.one_of

-- A command's result with all that a header may have, so that each of it is mutated.
local function good_text()
  local records = made.records { { 7, 8, 9 }, { 10, 11, 13 }, { 0, 1, 0 } }
  records[4] = made.record({ 1, 2, 3 }, { index = 9, outcome = "signalled", signal = 11, why = "crashed" })
  records[5] = made.record({ 4, 5, 6 }, { index = 10, region = "parse", thread = 3, cpu = 1 })
  local header = made.header { metrics = { "ipc", "share = 100 * cycles / instructions [%]" },
    baseline = { n = 256 }, primary = "cycles", margin = { cycles = 0.01 }, per = { element = "n * n" },
    expect = { "cycles > 0" }, stop = { repetitions = 9 }, host = { cpu = "made by hand", cpus = 2 } }
  return support.read(made.stored(support.folder() .. "/made.jsonl", header, records))
end

--- Where each value of a text of JSON lines is, { first, last }, and each member with one comma beside it.
local function places_of(text)
  local P, S, V, Cp = lpeg.P, lpeg.S, lpeg.V, lpeg.Cp
  local places = {}
  local function note(first, after) places[#places + 1] = { first, after - 1 } end
  local function note_member(first, after) places[#places + 1] = { first, after - 1, is_member = true } end
  local quoted = P '"' * (P "\\" * 1 + (1 - S '"\\')) ^ 0 * '"'
  local behind_comma = #P "," * (Cp() / function(at) return at + 1 end) + Cp()
  local function items(item)
    return Cp() * item * behind_comma / note_member * (Cp() * "," * item * Cp() / note_member) ^ 0
  end
  lpeg.match(P {
    (V "value" * "\n") ^ 0 * -1,
    value = Cp() * (V "map" + V "list" + quoted + (1 - S ',]}\n') ^ 1) * Cp() / note,
    map = "{" * items(quoted * ":" * V "value") ^ -1 * "}",
    list = "[" * items(V "value") ^ -1 * "]",
  }, text)
  return places
end

-- What is written in the place of a value; a member is taken away.
local OTHERS = { "-1", "0", "0.5", "1e300", "1e999", "9007199254740993", "18446744073709551616", '""',
  '"x\\u001b[31m"', '"=1+1"', '"a-b"', "true", "null", "[]", '[1,"a"]', '{"a":1}',
  ("["):rep(70) .. ("]"):rep(70), '"' .. ("9"):rep(400) .. '"', ("9"):rep(400) }

local good, in_header, behind

local function prepare()
  good, in_header, behind = good_text(), {}, {}
  local header_bytes = good:find "\n"
  for _, place in ipairs(places_of(good)) do
    table.insert(place[2] < header_bytes and in_header or behind, place)
  end
end

local function in_place_of(random, place)
  if place.is_member then return "" end
  local other = one_of(random, in_header)
  local is_value = not other.is_member and random:integer(4) == 1
  return is_value and good:sub(other[1], other[2]) or one_of(random, OTHERS)
end

--- The good text with something else in one or two places, and now and then bytes that are anything.
local function mutated(random)
  local text, limit = good, #good + 1
  for _ = 1, random:integer(2) do
    local place = one_of(random, random:integer(2) == 1 and in_header or behind)
    if place[2] < limit then                                   -- what is behind an earlier change has moved
      text = text:sub(1, place[1] - 1) .. in_place_of(random, place) .. text:sub(place[2] + 1)
      limit = place[1]
    end
  end
  return random:integer(8) == 1 and input.mutated(random, text) or text
end

local FORMATS = { "table", "csv", "json", "markdown", "html", "hyperfine" }

local path, again

local function read_and_report(format)
  local text = pmc.load(path):report { format = format } or ""
  hold(not text:gsub("[\n\t]", ""):find "%c", "control characters in " .. format, text)
end

--- What was understood is written again, and tells the same.
local function write_again()
  local result = pmc.load(path)
  os.remove(again)
  result:store(again)
  hold(pmc.load(again):report { format = "csv" } == result:report { format = "csv" },
    "written again it is another", support.read(path))
end

--- Tries one file, in one format of report or by writing it again; whether it was understood.
---@param random pmclua.Random
---@return boolean
return function(random)
  if not good then
    prepare()
    path = support.folder() .. "/mutated.jsonl"
    again = path .. ".again"
  end
  local text = mutated(random)
  support.write(path, text)
  if random:integer(8) == 1 then return input.refused_in_words(text, write_again) end
  return input.refused_in_words(text, read_and_report, one_of(random, FORMATS))
end
