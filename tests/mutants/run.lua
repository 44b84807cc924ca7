#!/usr/bin/env pmclua
-- Do the specs notice a wrong token? Exchanges one token at a time and runs the specs that enter its function.
--
-- method: tokens are drawn with a seed from lua/pmclua and core, or the FOLDERs named. The specs run in a copy of
--   the tree, quickest first, until one fails. Which functions a file of specs enters is found once, by an
--   instrumented copy, and kept in build/mutants/map.txt.
-- usage: pmclua tests/mutants/run.lua [COUNT [SEED [FOLDER…]]]      by default 100 mutants, seed 1
-- reading: a survivor is printed with its line. Either a spec is missing, or the mutant is equivalent: then it
--   belongs into tests/mutants/equivalent.txt, with its proof. "no spec": none enters the function.
-- exit: 0 if none survived

local program = dofile((arg[0]:match "^(.*)/" or ".") .. "/../support/program.lua")

local stats = require "pmclua.stats"
local support = require "tests.support"
local reach = require "tests.mutants.reach"
local tokens = require "tests.mutants.tokens"

local COUNT, SEED = tonumber(arg[1]) or 100, tonumber(arg[2]) or 1
local FOLDERS = { unpack(arg, 3) }

local function is_wanted(path)
  for _, folder in ipairs(FOLDERS) do
    if path:sub(1, #folder) == folder then return true end
  end
  return #FOLDERS == 0
end

-- Everything that can be exchanged, in the order of files and places.
local function candidates()
  local list, texts = {}, {}
  for _, source in ipairs(reach.sources()) do
    if is_wanted(source.path) then
      local text = support.read(support.root .. "/" .. source.path)
      texts[source.path] = text
      for _, t in ipairs((tokens.of(text, source.language))) do
        if t.to then list[#list + 1] = { path = source.path, token = t } end
      end
    end
  end
  return list, texts
end

-- The line that a token stands in: its number, its text, and the token's place among those of the line.
local function line_of(text, at)
  local first = at
  while first > 1 and text:byte(first - 1) ~= 10 do first = first - 1 end
  local _, number = text:sub(1, at):gsub("\n", "")
  return number + 1, text:sub(first):match "^[^\n]*", at - first + 1
end

-- A mutant's name: it holds where lines above it change.
local function name_of(mutant, text)
  local _, line, column = line_of(text, mutant.token.at)
  local indent = #line:match "^%s*"
  return ("%s | %s | %d | %s -> %s"):format(mutant.path, line:sub(indent + 1), column - indent,
    mutant.token.text, mutant.token.to)
end

-- Names of mutants that no spec could notice; what follows " # " is why.
local function equivalents()
  local set = {}
  for _, line in ipairs(support.lines_of(support.root .. "/tests/mutants/equivalent.txt")) do
    set[line:match "^(.*%S)%s+# " or line] = true
  end
  return set
end

local function runs_for(map, mutant)
  local id, list = mutant.path .. ":" .. mutant.token.scope, {}
  local chunk = mutant.token.scope == 0
  for _, row in ipairs(map) do
    local enters = row.entered[id]
    if chunk then                             -- of a file's own chunk: whoever enters one of its functions
      for other in pairs(row.entered) do
        if other:sub(1, #mutant.path + 1) == mutant.path .. ":" then enters = true break end
      end
    end
    if enters then list[#list + 1] = row end
  end
  return list
end

local RUN = "cd %s && timeout -k 10 %d build/pmclua tests/support/specs.lua x %s >specs.log 2>&1"

-- "killed" and by which specs, "survived", "no spec", or "stillborn": it does not compile.
local function try(tree, map, mutant, text)
  local rows = runs_for(map, mutant)
  if #rows == 0 then return "no spec" end
  local file = tree .. "/" .. mutant.path
  support.write(file, tokens.exchange(text, mutant.token))
  local result, by = "survived", nil
  if not reach.make(tree) then result = "stillborn" end
  for _, row in ipairs(result == "survived" and rows or {}) do
    if 0 ~= os.execute(RUN:format(support.quote(tree), 30 + 4 * row.seconds, row.spec)) then
      result, by = "killed", row.spec
      break
    end
  end
  support.write(file, text)
  return result, by
end

local function main(scratch)
  io.stdout:setvbuf "line"                    -- a run that is ended keeps its survivors
  local list, texts = candidates()
  local map, known = reach.map(scratch), equivalents()
  local tree, random = reach.copy("tree-" .. SEED), stats.random(SEED, "mutants")
  assert(reach.make(tree), "the copy does not build")
  local tally = { killed = 0, survived = 0, ["no spec"] = 0, stillborn = 0, equivalent = 0 }
  while tally.killed + tally.survived + tally["no spec"] + tally.equivalent < COUNT do
    local mutant = list[random:integer(#list)]
    local text = texts[mutant.path]
    local name = name_of(mutant, text)
    local result = known[name] and "equivalent" or try(tree, map, mutant, text)
    tally[result] = tally[result] + 1
    io.stderr:write(("\rmutants: %d killed, %d survived"):format(tally.killed,
      tally.survived + tally["no spec"]))
    if result == "survived" or result == "no spec" then
      print(("%s:%d: %s\n  %s"):format(mutant.path, line_of(text, mutant.token.at), result, name))
    end
  end
  local sums = "%d mutants, seed %d: %d killed, %d survived, %d that no spec enters, %d equivalent"
    .. " (%d more did not compile)"
  io.stderr:write "\n"
  print(sums:format(COUNT, SEED, tally.killed, tally.survived, tally["no spec"], tally.equivalent,
    tally.stillborn))
  return tally.survived + tally["no spec"] == 0 and 0 or 1
end

os.exit(program.run(main))
