--- fuzz: gives mutated input to everything that reads text and files from outside. The C targets are *.c
--- here.
---
--- A target makes one input from a random generator and tries it. It raises an error if something does not
--- hold: an input is either understood or refused with a proper message, never with a Lua error, and nothing
--- printed of it contains control characters.

local machines = require "tests.fuzz.machines"

local M = {}

---@class fuzz.Target
---@field name string
---@field try fun(random: pmclua.Random): boolean tries one input; whether it was understood
---@field share integer how many the suite tries
---@field modules string[] that it is about, below pmclua

---@type fuzz.Target[]
M.TARGETS = {
  { name = "spec", try = require "tests.fuzz.specs", share = 6000,
    modules = { "event.grammar", "event.encode", "event.pmu", "event.format" } },
  { name = "formula", try = require "tests.fuzz.formulae", share = 3000,
    modules = { "metric", "metric.grammar", "metric.evaluate" } },
  { name = "expression", try = require "tests.fuzz.expressions", share = 5000,
    modules = { "metric.expression", "metric.compute", "metric.definition" } },
  { name = "tables", try = require "tests.fuzz.tables", share = 500,
    modules = { "vendor.perf_text", "vendor.records", "vendor.json_file", "vendor.linux", "vendor.perfmon",
      "vendor.arm", "vendor.jevents" } },
  { name = "stored", try = require "tests.fuzz.stored", share = 400,
    modules = { "store.header", "store.members", "store.reader", "store.decode", "store.shape" } },
  { name = "marks", try = require "tests.fuzz.marks", share = 3000, modules = { "core.marks", "marks" } },
  { name = "signatures", try = require "tests.fuzz.signatures", share = 2000,
    modules = { "public.types", "public.call", "public.class" } },
  { name = "sysfs", try = machines.sysfs, share = 300, modules = { "event.sysfs", "event.list" } },
  { name = "tracefs", try = machines.tracefs, share = 300,
    modules = { "event.tracepoint", "explain.filter" } },
}

--- Tries a target `count` times, the same each time for one seed. Raises with the input that broke it.
---@param target fuzz.Target
---@param count integer
---@param seed integer
---@return integer accepted how many inputs were understood
function M.try(target, count, seed)
  local random, accepted = require("pmclua.stats").random(seed, "fuzz " .. target.name), 0
  for _ = 1, count do accepted = accepted + (target.try(random) and 1 or 0) end
  return accepted
end

return M
