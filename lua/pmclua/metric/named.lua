--- named.lua: the metrics that have names, in the order in which they are listed.
--
-- Values are in the unit of their event: nanoseconds for clocks and times, what sysfs says for others
-- (Joules, MiB). An event that is no plain name has a label ("tsc = msr/tsc/"). Where machines differ,
-- `variants` are tried in order, and the first whose events open is taken.
--
-- Sources: perf-stat(1) and its shadow metrics for what it prints beside counts; Yasin, "A Top-Down
-- Method for Performance Analysis and Counters Architecture", ISPASS 2014, for topdown level 1; the
-- Intel SDM vol. 3, 15.2 for APERF/MPERF. `unit` "%" is a share of 1 shown as percent.

local function per_kilo(name, misses, meaning)
  return { name = name, formula = ("1000 * %s / instructions"):format((misses:gsub("-", "_"))), unit = "",
           kind = "ratio", events = { misses, "instructions" }, meaning = meaning }
end

local function share(name, part, of, meaning)
  return { name = name, formula = ("%s / %s"):format((part:gsub("-", "_")), (of:gsub("-", "_"))), unit = "%",
           kind = "ratio", events = { part, of }, meaning = meaning }
end

local function per_second(name, event, meaning)
  return { name = name, formula = ("1e9 * %s / duration_time"):format((event:gsub("-", "_"))), unit = "/s",
           kind = "ratio", events = { event, "duration_time" }, meaning = meaning }
end

local function simulated(name, misses, of, factor, meaning)
  local function field(event) return "valgrind_" .. event:gsub("-", "_") end
  return { name = "sim_" .. name, unit = factor and "" or "%", kind = "ratio", meaning = meaning,
    formula = ("%s%s / %s"):format(factor and factor .. " * " or "", field(misses), field(of)),
    events = { "valgrind::" .. misses, "valgrind::" .. of } }
end

-- Intel since Ice Lake counts the four shares itself, in a group that slots leads; before, they follow from
-- slots and bubbles.
local PERF_METRICS = { "{slots,topdown-retiring,topdown-bad-spec,topdown-fe-bound,topdown-be-bound}" }
local FOUR = "(topdown_retiring + topdown_bad_spec + topdown_fe_bound + topdown_be_bound)"
local BUBBLES = { "topdown-total-slots", "topdown-slots-issued", "topdown-slots-retired",
                  "topdown-fetch-bubbles", "topdown-recovery-bubbles" }

local function topdown(name, counted, derived, meaning)
  return { name = name, unit = "%", kind = "ratio", meaning = meaning, variants = {
    { formula = counted .. " / " .. FOUR, events = PERF_METRICS, where = "Intel since Ice Lake" },
    { formula = derived, events = BUBBLES, where = "Intel before Ice Lake, and Atom" },
  } }
end

local BANDWIDTH = "1e9 * (memory_reads + memory_writes) / duration_time"

return {
  { name = "ipc", formula = "instructions / cycles", unit = "", kind = "ratio",
    events = { "instructions", "cycles" }, meaning = "instructions retired per cycle" },
  { name = "cpi", formula = "cycles / instructions", unit = "", kind = "ratio",
    events = { "cycles", "instructions" }, meaning = "cycles per instruction retired" },

  share("branch_miss_rate", "branch-misses", "branches", "share of branches predicted wrongly"),
  per_kilo("branch_mpki", "branch-misses", "mispredicted branches per 1000 instructions"),
  share("cache_miss_rate", "cache-misses", "cache-references", "share of cache references that miss"),
  per_kilo("cache_mpki", "cache-misses", "last-level cache misses per 1000 instructions"),
  share("l1d_miss_rate", "L1-dcache-load-misses", "L1-dcache-loads",
        "share of loads that miss the L1 data cache"),
  per_kilo("l1d_mpki", "L1-dcache-load-misses", "L1 data cache load misses per 1000 instructions"),
  share("llc_miss_rate", "LLC-load-misses", "LLC-loads", "share of last-level cache loads that miss"),
  per_kilo("llc_mpki", "LLC-load-misses", "last-level cache load misses per 1000 instructions"),
  share("dtlb_miss_rate", "dTLB-load-misses", "dTLB-loads", "share of loads that miss the data TLB"),
  per_kilo("dtlb_mpki", "dTLB-load-misses", "data TLB load misses per 1000 instructions"),
  share("itlb_miss_rate", "iTLB-load-misses", "iTLB-loads", "share of fetches that miss the instruction TLB"),
  per_kilo("itlb_mpki", "iTLB-load-misses", "instruction TLB misses per 1000 instructions"),

  simulated("branch_miss_rate", "branch-misses", "branches", nil,
            "share of conditional branches that Valgrind's predictor mispredicts"),
  simulated("branch_mpki", "branch-misses", "instructions", 1000,
            "conditional branches that Valgrind's predictor mispredicts, per 1000 instructions"),
  simulated("l1d_miss_rate", "l1d-load-misses", "loads", nil,
            "share of loads that miss Valgrind's L1 data cache"),
  simulated("l1d_mpki", "l1d-load-misses", "instructions", 1000,
            "load misses of Valgrind's L1 data cache per 1000 instructions"),
  simulated("cache_miss_rate", "ll-misses", "ll-accesses", nil,
            "share of accesses that miss Valgrind's last-level cache"),
  simulated("cache_mpki", "ll-misses", "instructions", 1000,
            "misses of Valgrind's last-level cache per 1000 instructions"),
  simulated("llc_miss_rate", "ll-load-misses", "ll-loads", nil,
            "share of reads that miss Valgrind's last-level cache"),
  simulated("llc_mpki", "ll-load-misses", "instructions", 1000,
            "read misses of Valgrind's last-level cache per 1000 instructions"),

  share("frontend_stalls", "stalled-cycles-frontend", "cycles",
        "share of cycles without a new instruction to issue"),
  share("backend_stalls", "stalled-cycles-backend", "cycles",
        "share of cycles in which the back end was stalled"),
  { name = "stalls_per_instruction", unit = "", kind = "ratio",
    formula = "max(stalled_cycles_frontend, stalled_cycles_backend) / instructions",
    events = { "stalled-cycles-frontend", "stalled-cycles-backend", "instructions" },
    meaning = "stalled cycles per instruction, at the end that stalls more" },
  topdown("retiring", "topdown_retiring", "topdown_slots_retired / topdown_total_slots",
          "share of issue slots whose work was kept (topdown level 1)"),
  topdown("bad_speculation", "topdown_bad_spec",
          "(topdown_slots_issued - topdown_slots_retired + topdown_recovery_bubbles) / topdown_total_slots",
          "share of issue slots wasted on work thrown away (topdown level 1)"),
  topdown("frontend_bound", "topdown_fe_bound", "topdown_fetch_bubbles / topdown_total_slots",
          "share of issue slots that the front end left empty (topdown level 1)"),
  topdown("backend_bound", "topdown_be_bound",
          "1 - (topdown_fetch_bubbles + topdown_slots_issued + topdown_recovery_bubbles)"
            .. " / topdown_total_slots",
          "share of issue slots that the back end could not take (topdown level 1)"),

  { name = "cpus_utilised", formula = "task_clock / duration_time", unit = "CPUs", kind = "ratio",
    events = { "task-clock", "duration_time" }, meaning = "CPUs kept busy, on average" },
  { name = "wait_share", formula = "wait_time / duration_time", unit = "%", kind = "ratio",
    events = { "wait_time", "duration_time" }, meaning = "share of time waiting for a CPU" },
  { name = "off_cpu_share", formula = "off_cpu_time / duration_time", unit = "%", kind = "ratio",
    events = { "off_cpu_time", "duration_time" }, meaning = "share of time asleep or blocked" },
  { name = "system_share", formula = "system_time / (user_time + system_time)", unit = "%", kind = "ratio",
    events = { "user_time", "system_time" }, meaning = "share of CPU time spent in Linux" },
  per_second("context_switches_per_second", "context-switches", "context switches per second of wall time"),
  per_second("migrations_per_second", "cpu-migrations", "moves between CPUs per second of wall time"),
  per_second("page_faults_per_second", "page-faults", "page faults per second of wall time"),

  -- Cycles of the OS kernel, too: an ordinary user's are of user space alone, and task-clock's time is all.
  { name = "frequency", formula = "all_cycles / task_clock", unit = "GHz", kind = "ratio",
    events = { "all_cycles = cycles:uk", "task-clock" },
    meaning = "effective frequency while running (Linux included)" },
  { name = "busy_frequency", formula = "tsc * aperf / mperf / duration_time", unit = "GHz", kind = "ratio",
    events = { "tsc = msr/tsc/", "aperf = msr/aperf/", "mperf = msr/mperf/", "duration_time" },
    meaning = "effective frequency of a CPU while not halted (x86; one CPU as target)" },
  { name = "package_energy", formula = "energy_pkg", unit = "J", kind = "ratio",
    events = { "energy_pkg = power/energy-pkg/" }, meaning = "energy of the whole package (RAPL; all CPUs)" },
  { name = "package_power", formula = "1e9 * energy_pkg / duration_time", unit = "W", kind = "ratio",
    events = { "energy_pkg = power/energy-pkg/", "duration_time" },
    meaning = "power of the whole package (RAPL; all CPUs)" },
  { name = "memory_power", formula = "1e9 * energy_ram / duration_time", unit = "W", kind = "ratio",
    events = { "energy_ram = power/energy-ram/", "duration_time" },
    meaning = "power of the memory (RAPL; servers)" },
  { name = "memory_bandwidth", unit = "MiB/s", kind = "ratio", variants = {
      { formula = BANDWIDTH, where = "Intel servers",
        events = { "memory_reads = uncore_imc/cas_count_read/", "memory_writes = uncore_imc/cas_count_write/",
                   "duration_time" } },
      { formula = BANDWIDTH, where = "Intel clients",
        events = { "memory_reads = uncore_imc/data_reads/", "memory_writes = uncore_imc/data_writes/",
                   "duration_time" } },
      { formula = BANDWIDTH, where = "Intel clients since Tiger Lake",
        events = { "memory_reads = uncore_imc_free_running/data_read/",
                   "memory_writes = uncore_imc_free_running/data_write/", "duration_time" } },
    }, meaning = "bytes read from and written to memory per second (all CPUs)" },
}
