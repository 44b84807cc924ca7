--- together.lua: lines that come together become one: what it takes to load a library, to start a thread or
--- a process.
--
-- Invariant: the lines that are joined add up to the line that they become.

local ledger = require "pmclua.ledger"
local lists = require "pmclua.base.lists"

local M = {}

local set = lists.words

-- For each way to start a thread or process: its system calls, functions, and the most page faults.
local FAMILIES = {
  { label = "%s more threads", one = "one more thread", is_thread = true, key = "threads",
    calls = set("clone clone3 futex mmap munmap mprotect madvise set_robust_list rseq rt_sigprocmask exit "
      .. "gettid tgkill"),
    functions = set("start_thread pthread_create pthread_create@GLIBC_2.34 __pthread_create_2_1 clone "
      .. "__clone3 clone3 __clone_internal allocate_stack __pthread_join __pthread_clockjoin_ex "
      .. "__nptl_free_tcb _dl_allocate_tls _dl_allocate_tls_init __libc_start_call_thread "
      .. "advise_stack_range"), faults = 24 },
  { label = "%s more processes", one = "one more process", is_process = true, key = "processes",
    calls = set("clone clone3 fork vfork wait4 waitid execve exit_group set_robust_list rt_sigprocmask "
      .. "rt_sigaction pipe2 dup2 dup3 close open"), functions = set "", faults = 4096 },
  { label = "%s more files loaded", one = "one more file loaded", key = "libraries",
    calls = set "openat read pread64 fstat newfstatat statx mmap mprotect munmap close access",
    functions = set "", is_loading = true, faults = 256 },
}

local function delta(line) return line.count and line.count.b - line.count.a or 0 end

local function more(by_name, ...)
  local sum = 0
  for _, name in ipairs { ... } do sum = sum + (by_name[name] and delta(by_name[name]) or 0) end
  return sum
end

local function count_of(family, by_name)
  local clones = more(by_name, "clone", "clone3", "fork", "vfork")
  local children = more(by_name, "wait4", "waitid")
  if family.is_thread then return math.abs(children) < math.abs(clones) / 2 and clones or 0 end
  if family.is_process then return math.abs(children) >= math.abs(clones) / 2 and clones or 0 end
  -- A file that is loaded is opened, mapped in several parts and closed; one that is read is not mapped.
  local opened, mapped = more(by_name, "close"), more(by_name, "mmap")
  return opened * mapped > 0 and math.abs(mapped) >= 2 * math.abs(opened) and opened or 0
end

local LOADER = "^ld%-linux"

local function is_of_loader(line)
  local place = line.place or line.other
  local file = place and (place.file ~= "" and place.file or place.path) or ""
  return (file:match "[^/]*$"):find(LOADER) ~= nil or file:find("^ld%.so") ~= nil
end

local function belongs(line, family, count)
  if line.call then return family.calls[line.call] and delta(line) * count >= 0 end
  if line.kind == "faults" then
    return delta(line) * count > 0 and math.abs(delta(line)) <= family.faults * math.abs(count)
  end
  if line.kind ~= "code" then return false end
  return family.functions[line.name] or family.is_loading and is_of_loader(line) or false
end

local function join(lines, family, count)
  local rest, members = {}, {}
  for _, line in ipairs(lines) do
    table.insert(belongs(line, family, count) and members or rest, line)
  end
  if #members < 2 then return lines end
  local amount = math.floor(math.abs(count) + 0.5)
  local name = amount == 1 and family.one or family.label:format(amount)
  if count < 0 then name = name:gsub("more", "fewer") end
  rest[#rest + 1] = { kind = "together", key = family.key, label = name, name = name,
    a = ledger.added(members, "a"), b = ledger.added(members, "b"), members = members }
  return rest
end

--- The lines, with those that come together as one.
---@param lines pmclua.WhyLine[]
---@param numbers pmclua.WhyLine[] calls of which only the number is known
---@return pmclua.WhyLine[]
function M.join(lines, numbers)
  for _, family in ipairs(FAMILIES) do
    local calls = lists.where(lists.joined { lines, numbers }, function(line) return line.call end)
    local count = count_of(family, lists.by(calls, "call"))
    if math.abs(count) >= 0.9 then lines = join(lines, family, count) end
  end
  return lines
end

return M
