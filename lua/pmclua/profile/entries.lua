--- entries.lua: what Linux was entered for, by the samples that were taken in it: a system call, a page fault of some
--- kind, an interrupt.
--
-- The outermost frame of Linux says what it is, frames within it which one. Linux's functions are known by name alone,
-- so what they cannot tell stays unknown here.

local M = {}

---@class pmclua.Entry samples in Linux that were entered from one instruction for one thing
---@field kind "call"|"fault"|"interrupt"|"other" other: unknown
---@field name? string of a call: what its function in Linux is called; of a fault: "anonymous", "huge", "file",
---  "copy on write", "major"
---@field file? string where user space goes on: behind a system call, at an instruction that faulted
---@field build_id? string
---@field address? number offset in that file
---@field samples integer

-- By functions at or near the entry, of x86 and of Arm.
local KINDS = {
  { "^entry_SYS", "call" }, { "^entry_INT80", "call" }, { "^do_syscall_64", "call" },
  { "^syscall_return_via_sysret", "call" }, { "^ret_from_fork", "call" }, { "^el0_svc", "call" },
  { "^asm_exc_page_fault", "fault" }, { "^el0_da", "fault" }, { "^el0_ia", "fault" },
  { "^asm_sysvec_", "interrupt" }, { "^asm_common_interrupt", "interrupt" }, { "^asm_exc_nmi", "interrupt" },
  { "^el0t?_64_irq", "interrupt" }, { "^el0_irq", "interrupt" }, { "^el0_interrupt", "interrupt" },
}

local FAULTS = {
  do_anonymous_page = "anonymous", do_huge_pmd_anonymous_page = "huge", hugetlb_fault = "huge",
  do_wp_page = "copy on write", wp_page_copy = "copy on write", do_huge_pmd_wp_page = "copy on write",
  do_cow_fault = "copy on write", do_fault = "file", do_read_fault = "file", do_shared_fault = "file",
}
-- Within the fault of a file: its page is read from storage.
local MAJOR = { do_swap_page = true, page_cache_ra_unbounded = true, page_cache_ra_order = true,
  page_cache_sync_ra = true, filemap_read_folio = true }

-- Functions in Linux that are not called as their system call is.
local OTHER_NAMES = { newstat = "stat", newfstat = "fstat", newlstat = "lstat", newuname = "uname",
  sendfile64 = "sendfile", umount = "umount2", mmap_pgoff = "mmap", fadvise64_64 = "fadvise64" }

local function kind_of(fn)
  for _, known in ipairs(KINDS) do
    if fn:find(known[1]) then return known[2] end
  end
end

local function call_of(fn)
  local name = fn:match "^__%w+_sys_(.+)$" or fn:match "^ksys_(.+)$"
  return name and (OTHER_NAMES[name] or name)
end

local NAMES = {
  call = function(before, fn) return before or call_of(fn) end,
  fault = function(before, fn) return MAJOR[fn] and "major" or before or FAULTS[fn] end,
}

-- Knowledge of the chain after a frame of Linux, from that after its caller.
local function step(before, fn)
  local kind = before.kind or kind_of(fn)
  local name_of = NAMES[kind]
  return { file = before.file, address = before.address, kind = kind,
    name = name_of and name_of(before.name, fn) or nil }
end

local function add(list, by_key, known, samples)
  local kind = known.kind or "other"
  local key = table.concat({ kind, known.name or "", known.file and known.file.path or "",
    known.file and known.file.build_id or "", tostring(known.address) }, "\0")
  local entry = by_key[key]
  if not entry then
    entry = { kind = kind, name = known.name, file = known.file and known.file.path,
      build_id = known.file and known.file.build_id, address = known.address, samples = 0 }
    by_key[key], list[#list + 1] = entry, entry
  end
  entry.samples = entry.samples + samples
end

--- The entries of a profile.
---@param sampled pmclua.core.Samples with entries
---@param attribution pmclua.Attribution
---@return pmclua.Entry[]
function M.of(sampled, attribution)
  local after, list, by_key = { [0] = {} }, {}, {}
  for number, parent, file, offset, samples in sampled:each_frame() do
    local its = sampled.files[file]
    local place = attribution:place(its, offset)
    after[number] = its.path == "[linux]" and step(after[parent], place.fn)
      or { file = not its.pid and its or nil, address = not its.pid and offset or nil }
    if samples > 0 then add(list, by_key, after[number], samples) end
  end
  return list
end

return M
