--- sampling.lua: passes in which an event is sampled: how many events lie between two samples, and a profile of each
--- repetition.
--
-- Such a pass counts nothing else. Its period is drawn anew for each repetition, around a mean that follows from what
-- the event counted before in the same cell; where nothing is known yet, a run that is not recorded finds it out.

local chains = require("pmclua.base.lazy").module "pmclua.profile.chains"
local heap_log = require("pmclua.base.lazy").module "pmclua.experiment.heap_log"
local identity = require("pmclua.base.lazy").module "pmclua.profile.identity"
local lists = require "pmclua.base.lists"
local number = require("pmclua.base.lazy").module "pmclua.base.number"
local make = require "pmclua.profile.make"
local passes = require("pmclua.base.lazy").module "pmclua.counting.passes"
local period = require "pmclua.profile.period"
local random = require "pmclua.stats.random"
local reading = require "pmclua.counting.reading"
local remarks = require "pmclua.base.remarks"
local target_sampler = require("pmclua.base.lazy").module "pmclua.experiment.target_sampler"
local written = require("pmclua.base.lazy").module "pmclua.profile.written"

---@class pmclua.Sampling
local Sampling = {}
Sampling.__index = Sampling

local M = {}

---@param events pmclua.Event[]
---@param index integer of the sampled one
local function pass_of(events, index)
  local attr = lists.copy(events[index].opened)
  attr.inherit = attr.inherit or 1
  local group = { attrs = { attr }, events = { index } }
  return { groups = {}, events = {}, sampled = index, sampled_groups = { group, is_sampled = true } }
end

-- Whether there is nothing to be counted but what is sampled. Of a target, which is not run anew for each pass, the
-- samples tell the count, too.
local function only_sampled(declaration)
  return lists.all(declaration.events, function(event)
    return lists.contains(declaration.sample, event.field)
  end)
end

--- Adds the passes in which the events of `sample` are sampled, those that open here.
---@param list pmclua.Pass[]
---@param declaration pmclua.Declaration
function M.add_passes(list, declaration)
  if declaration.target and only_sampled(declaration) then
    while #list > 0 do table.remove(list) end
  end
  for _, name in ipairs(declaration.sample) do
    for index, event in ipairs(declaration.events) do
      if event.field == name and event.opened and not event.why then
        list[#list + 1] = pass_of(declaration.events, index)
      end
    end
  end
end

---@param declaration pmclua.Declaration
---@param plan pmclua.Plan
---@param session pmclua.Session
---@return pmclua.Sampling? nil: nothing is sampled
function M.new(declaration, plan, session)
  if not declaration.sample then return nil end
  if not lists.any(plan.passes, function(pass) return pass.sampled end) then return nil end
  local data = declaration.sample.data
  for _, pass in ipairs(data and plan.passes or {}) do
    if pass.sampled then require("pmclua.experiment.skid").check(declaration.events[pass.sampled]) end
  end
  return setmetatable({ declaration = declaration, events = declaration.events, passes = plan.passes,
    data = data, log = heap_log.of(declaration),
    session = session, counted = {},
    target = declaration.target, rates = {}, iterations = declaration.iterations, longer = {},
    ring_bytes = declaration.sample.ring_bytes, call_chains = declaration.sample.call_chains,
    periods = random.new(declaration.seed, "periods"), said = remarks.new(),
    attribution = require("pmclua.profile.attribute").new { trust_maps = declaration.sample.trust_maps } },
    Sampling)
end

-- The count of one iteration, and its time.
local function note(self, cell, index, count, of)
  local iterations = tonumber(of.iterations or 1)
  self.counted[cell] = self.counted[cell] or {}
  self.counted[cell][index] = { count = tonumber(count) / iterations,
    wall_ns = tonumber(of.wall_ns) / iterations,
    cpu_ns = tonumber((of.user_ns or 0) + (of.system_ns or 0)) / iterations }
end

-- Notes a repetition's count, from which the next sampled ones take their period.
local function note_counts(self, record)
  for _, pass in ipairs(self.passes) do
    local count = pass.sampled and record.counts[pass.sampled]
    if count then note(self, record.cell, pass.sampled, count, record) end
  end
end

-- No event occurs this often: with this period nothing is sampled, and the run gives the count.
local NEVER = 2 ^ 52

-- Samples in Linux are told by system call where calls are traced and the clock also ticks in Linux.
local function takes_entries(self, pass)
  local event = self.events[pass.sampled]
  return self.declaration.system_calls and event.unit == "ns" and event.opened.exclude_kernel ~= 1
    and not self.call_chains or nil
end

local function set_of(self, pass, events_between)
  return self.session:events(pass.sampled_groups, { period = events_between,
    ring_bytes = self.ring_bytes, call_chains = self.call_chains, entries = takes_entries(self, pass),
    data = self.data })
end

-- The event's count in one iteration; `run(set)` runs the workload once where it is not known yet.
local function known_count(self, step, run)
  local index, cell = self.passes[step.pass].sampled, step.cell.index
  local known = self.counted[cell] and self.counted[cell][index]
  if known then return known end
  local result = run(set_of(self, self.passes[step.pass], NEVER))
  if not result.profile or result.outcome ~= "done" then
    result.profile = nil         -- nothing was sampled
    return nil, result
  end
  note(self, cell, index, result.profile.total, result)
  return self.counted[cell][index]
end

-- A kernel's repetition is made this long, unless the script says how many iterations it has: one as long as for
-- counting would have a single sample.
local KERNEL_NS = 2e8

local function longer(self, step, iterations, known)
  if step.cell.workload.per ~= "iteration" or self.iterations ~= nil then return iterations end
  local cell = step.cell.index
  self.longer[cell] = self.longer[cell]
    or math.max(iterations, math.ceil(KERNEL_NS / math.max(1, known.wall_ns)))
  return self.longer[cell]
end

local EACCES = 13

-- A program that was executed and that Linux does not let be sampled is missing in the profile, which is left out then,
-- as counts are.
local function with_drop(result)
  if not (result.profile and result.profile.drop) then return result end
  result.dropped, result.errnum, result.profile = result.profile.drop, EACCES, nil
  return result
end

--- Runs a step's workload, sampled.
---@param step table of plan.steps
---@param job table for Session:run
---@return table result
function Sampling:run(step, job)
  local function run_once(events)
    job.events = events
    if self.log then self.log:reset() end
    return self.session:run(job)
  end
  local known, failed = known_count(self, step, run_once)
  if not known then return failed end
  job.iterations = longer(self, step, job.iterations, known)
  local pass = self.passes[step.pass]
  local mean = period.mean(self.events[pass.sampled], known.count * job.iterations,
    known.cpu_ns * job.iterations / 1e9)
  return with_drop(run_once(set_of(self, pass, period.draw(mean, self.periods))))
end

-- How long to count an event whose rate is not known yet.
local TRIAL_S = 0.1

-- A target's count in a second, and its CPU time.
local function rate_of(target, event)
  local pause = require("pmclua.core").pause
  local profile = target_sampler.around(target, event, { period = NEVER },
    function() return pause(TRIAL_S * 1e9) end)
  return tonumber(profile.total) / TRIAL_S
end

--- Runs `fn`, which gives the result of one repetition, and samples the target meanwhile.
---@param step table of plan.steps
---@param fn fun(): table
---@return table result
function Sampling:around(step, fn)
  local pass = self.passes[step.pass]
  local event, cell = self.events[pass.sampled], step.cell.index
  self.rates[cell] = self.rates[cell] or {}
  local rate = self.rates[cell][pass.sampled] or event.unit ~= "ns" and rate_of(self.target, event) or 0
  self.rates[cell][pass.sampled] = rate
  -- Assumes one second: how long a target will be sampled is not known.
  local drawn = period.draw(period.mean(event, rate, 1), self.periods)
  local profile, result, about_cpus = target_sampler.around(self.target, event,
    { period = drawn, ring_bytes = self.ring_bytes, call_chains = self.call_chains, data = self.data }, fn)
  self.said:append(about_cpus)
  result.profile, profile.is_partial = profile, #about_cpus > 0
  return with_drop(result)
end

local function remark(self, form, ...) self.said:add(form:format(...)) end

-- Below it an event was not on the PMU all the time.
local LEAST_SHARE = 0.98

-- For how much of the time it was; nil: for all.
local function part_of_time(profile, event)
  local share = profile:share_of_time()
  return share < LEAST_SHARE and not passes.takes_no_counter(event) and share or nil
end

local function remark_on(self, profile, event)
  if profile.lost > 0 then
    remark(self, "%s: samples were lost, as their rings were full: they are a line of the rest; "
      .. "larger ones: sample.ring_bytes (%d here)", event.name, profile.ring_bytes)
  end
  if profile.chains_lost > 0 then
    remark(self, "%s: some call chains found no room among the %d frames of all chains of a run: they are "
      .. "under [caller unknown]", event.name, profile.frames_max)
  end
  local share = part_of_time(profile, event)
  if share then
    remark(self, "%s: was on the PMU for %s of the time only, as others used it: what it missed is nowhere",
      event.name, number.percent(share))
  end
  if profile.news_lost > 0 then
    remark(self, "%s: records of mapped files were lost: some samples may be unmapped, or attributed wrongly",
      event.name)
  end
end

-- The file of the program or kernel, as Linux names it where it is mapped.
local function program_of(self, step)
  local workload, cell = step.cell.workload, step.cell
  if workload.in_process or self.target then return nil end
  if workload.object then
    return workload:object(self.session, cell.levels, step.code, cell.compiled)
  end
  local path = workload:program(require("pmclua.experiment.placing").levels(self.declaration, cell,
    step.code))
  return path and require("pmclua.core").real_path(path)
end

-- The functions of a program by their full name: where each is, and what declares it.
local function functions_of(symbols)
  local known = {}
  local function look_up(full)
    local same = lists.where(symbols and symbols:match(full) or {},
      function(symbol) return symbol.full == full end)
    for _, symbol in ipairs(same) do
      local code = symbols:code(symbol.offset)
      symbol.source = code and code.declared
    end
    return same
  end
  return function(full)
    known[full] = known[full] or look_up(full)
    return known[full]
  end
end

-- By the source files that declare functions of one full name, where a program has several, the frame of each.
local function homes_of(functions)
  return function(full)
    local homes, count = {}, 0
    for _, symbol in ipairs(functions(full)) do
      if symbol.is_local and symbol.source and not homes[symbol.source] then
        homes[symbol.source] = chains.frames { fn = full, source = symbol.source, is_local = true }
        count = count + 1
      end
    end
    return count > 1 and homes or {}
  end
end

-- The hash of a function's source lines without its name.
local function text_of(functions, texts)
  return function(line)
    for _, symbol in ipairs(functions(identity.full(line))) do
      if symbol.source and symbol.source == line.source then
        return texts:text { fn = line.fn, full = line.full, source = line.source, address = symbol.address }
      end
    end
  end
end

-- The program of a simulated run: its path, its build, and what its sources read like.
local function simulated_program(run, step)
  local path = program_of(run, step)
  if not path then return nil end
  run.simulated_programs = run.simulated_programs or {}
  local known = run.simulated_programs[path]
  if not known then
    local symbols = require("pmclua.core.symbols").open(path)
    local functions, texts = functions_of(symbols), written.new(symbols)
    known = { path = path, build_id = symbols and symbols:build_id(), homes = homes_of(functions),
      written = texts, text = text_of(functions, texts), has = function(full)
        return lists.any(functions(full), function(symbol) return not symbol.imported end)
      end,
      copied = symbols and symbols:has_debug_information()
        and require("pmclua.simulate.copied").new(symbols, functions) or nil }
    run.simulated_programs[path] = known
  end
  return known
end

-- Gives call sites what their lines were copied with.
local function add_copied(sites, program)
  for _, site in ipairs(program and program.copied and sites or {}) do
    site.inlined = site.line and program.copied(site.full, site.source, site.line)
  end
end

--- Gives the record of a simulated run its profiles: Valgrind counts by line, without samples.
---@param record table
---@param run pmclua.Run
---@param step table of plan.steps
---@param result table of Simulation:run, with `files` and, of call chains, `chains`: for counters the cost of each
---  chain, and how often each was called where that is known
function M.add_simulated(record, run, step, result)
  local declaration, program = run.declaration, nil
  for _, name in ipairs(declaration.sample or {}) do
    for _, index in ipairs(run.plan.passes[step.pass].events) do
      local event = declaration.events[index]
      if event.field == name then
        program = program or simulated_program(run, step)
        local profile = require("pmclua.simulate.profile").new(result.files, event, program)
        if declaration.sample.call_chains and result.chains then
          profile.chains, profile.calls, profile.sites = result.chains(event.simulated,
            program and program.homes)
          add_copied(profile.sites, program)
        end
        profile.sources = program and written.sources(profile.lines, function() return program.written end)
        record.profiles = lists.append(record.profiles or {}, { profile })
      end
    end
  end
end

-- Watches the lines that threads share, of the first profile that is kept.
local function confirm(self, profile, step)
  local data, workload = profile.data, step.cell.workload
  if not self.declaration.sample.confirm or self.is_confirmed or step.warmup or not data then return end
  self.is_confirmed = true
  data.confirmed = require("pmclua.experiment.confirm").of(data.sharing, workload,
    { pin = self.declaration.pin, levels = step.cell.levels, log = self.log, sites = data.sites,
      total = profile.total })
end

-- The profile of a result; nil where it was not counted.
local function profile_of(self, step, result)
  local raw = result.profile
  if not raw then return nil end
  local event = self.events[self.passes[step.pass].sampled]
  remark_on(self, raw, event)
  if reading.is_impossible(reading.most_per_ns(event), raw.total, raw.running_ns) then
    remark(self, "%s: a profile is left out: %s", event.name, reading.why(event, "impossible"))
    return nil
  end
  if result.outcome == "done" and not self.target then
    note(self, step.cell.index, self.passes[step.pass].sampled, raw.total, result)
  end
  self.attribution:forget_processes()
  local profile = make.new(raw, { name = event.name, unit = event.unit, attr = event.opened },
    self.attribution, { call_chains = self.call_chains, lines = self.declaration.sample.lines,
      entries = takes_entries(self, self.passes[step.pass]), data = self.data,
      log = self.log and self.log.path })
  local ran = part_of_time(raw, event)
  profile.ran = ran and ran > 0 and ran or nil
  if step.cell.workload.per == "iteration" then profile.iterations = tonumber(result.iterations) end
  profile.program = program_of(self, step)
  confirm(self, profile, step)
  self.attribution:note_unread()
  self.said:append(self.attribution.remarks)
  return profile
end

--- Takes in a repetition: what it counted, and the record of a sampled one gets its profile.
---@param record table
---@param step table
---@param result table of Session:run
function Sampling:note(record, step, result)
  if record.outcome == "done" and not self.target then note_counts(self, record) end
  if self.passes[step.pass].sampled then record.profiles = { profile_of(self, step, result) } end
end

--- Remarks on what was sampled, each once.
---@return string[]
function Sampling:remarks() return self.said end

function Sampling:close()
  self.attribution:close()
  if self.log then self.log:close() end
end

return M
