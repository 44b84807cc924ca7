--- chains.lua: call chains by function: "main;f;g" and its count.
--
-- Frame pointers lead from a function to its caller, as far as all of them keep one. A function that has no frame of its
-- own, as those that call nothing, returns to the word on top of the stack: that is its caller where a call of it
-- ends there. So a chain is complete where it reaches `main`, or what another start calls: then what lies outside is
-- left out. The others begin with a frame that says that their caller is unknown.

local identity = require "pmclua.profile.identity"

local M = {}

--- The outermost frame of chains that are not complete.
M.UNKNOWN = "[caller unknown]"

-- Functions that programs and threads begin with, as C libraries call them; and those of Go, with its goroutines.
local STARTS = { main = true, _start = true, start_thread = true, ["runtime.goexit"] = true,
  ["runtime.mstart"] = true, ["runtime.rt0_go"] = true }

-- Go's assembly has symbols of its own.
local function is_start(fn) return STARTS[(fn:gsub("%.abi0$", ""))] end

-- A name that only its source file sees may be another function's elsewhere: it has that file beside it.
local function frame_name(of)
  local source = of.is_local and of.source and of.source:match "[^/]+$"
  local name = source and ("%s (%s)"):format(identity.full(of), source) or identity.full(of)
  return (name:gsub("[;%c]", ":"))
end

--- The frames of an instruction, outermost first: its function, and those that were copied into that.
---@param of table what it belongs to: a function with its `inlined` functions, innermost first
---@param inlined? table[]
---@return string "main;fill (draw.c)"
function M.frames(of, inlined)
  local names = { frame_name(of) }
  for i = #(inlined or {}), 1, -1 do names[#names + 1] = frame_name(inlined[i]) end
  return table.concat(names, ";")
end

--- The name of a frame without its source file.
---@param frame string
---@return string
function M.bare_name(frame) return frame:match "^(.+) %([^()]+%)$" or frame end

--- Short forms of chains: a frame has its source file only where another one has its name.
---@param list table<string, any>[] each by chain
---@return fun(chain: string): string
function M.shortener(list)
  local only, shown = {}, {}
  for _, by_chain in ipairs(list) do
    for chain in pairs(by_chain) do
      for frame in chain:gmatch "[^;]+" do
        local name = M.bare_name(frame)
        if only[name] == nil then only[name] = frame elseif only[name] ~= frame then only[name] = false end
      end
    end
  end
  for name, frame in pairs(only) do
    if frame then shown[frame] = name end
  end
  return function(chain)
    return (chain:gsub("[^;]+", function(frame) return shown[frame] or frame end))
  end
end

-- Whether a frame is where threads start: the C library may have no names.
local function thread_start(sampled, attribution)
  local file = sampled.thread_file
  if not file then return function() return false end end
  local own = attribution:place(file, sampled.thread_offset).fn
  return function(its, fn) return its.path == file.path and fn == own end
end

-- The caller of an instruction: a guess only where its code calls the function that the instruction is of.
local function caller_of(guess, parent, attribution, file, offset)
  if not guess or attribution:calls(guess.file, guess.offset, file, offset) then return parent end
  return guess.parent
end

-- Names and callers of all frames by their numbers, and which of them are a start.
local function tree_of(sampled, attribution)
  local is_thread_start, guesses = thread_start(sampled, attribution), {}
  local tree = { names = {}, parents = {}, starts = {} }
  for number, parent, file, offset, _, is_guess in sampled:each_frame() do
    local its = sampled.files[file]
    local place = attribution:place(its, offset)
    local fn = place.fn
    tree.names[number] = M.frames(place, place.inlined)
    tree.parents[number] = caller_of(guesses[parent], parent, attribution, its, offset)
    guesses[number] = is_guess and { file = its, offset = offset, parent = parent } or nil
    tree.starts[number] = is_start(fn) and "own" or is_thread_start(its, fn) and "thread" or nil
  end
  return tree
end

-- From the outermost function on. What threads start from is called what glibc calls it, where it has no name.
local function text_of(tree, number)
  local names, first = {}, nil
  while number > 0 do
    names[#names + 1] = tree.names[number]
    if tree.starts[number] then
      first = #names
      if tree.starts[number] == "thread" then names[first] = "start_thread" end
    end
    number = tree.parents[number]
  end
  local list = { not first and M.UNKNOWN or nil }
  for i = first or #names, 1, -1 do list[#list + 1] = names[i] end
  return table.concat(list, ";")
end

--- The call chains of a profile, and the count of each.
---@param sampled pmclua.core.Samples
---@param attribution pmclua.Attribution
---@return table<string, number>
function M.of(sampled, attribution)
  local tree, chains = tree_of(sampled, attribution), {}
  for number, _, _, _, samples in sampled:each_frame() do
    if samples > 0 then
      local text = text_of(tree, number)
      chains[text] = (chains[text] or 0) + samples * sampled.period
    end
  end
  return chains
end

local function add_callers(callers, chain)
  local caller
  for frame in chain:gmatch "[^;]+" do
    local name = M.bare_name(frame)
    callers[name] = callers[name] or {}
    if caller then callers[name][caller] = true end
    caller = name
  end
end

--- Who calls whom, of the profiles of two sides; nil: one of them has no chains.
---@param a pmclua.Profile[]
---@param b pmclua.Profile[]
---@return { a: table<string, table<string, true>>, b: table }? sets of callers by full name
function M.callers(a, b)
  local callers = { a = {}, b = {} }
  for side, profiles in pairs { a = a, b = b } do
    for _, profile in ipairs(profiles) do
      if not profile.chains then return nil end
      for chain in pairs(profile.chains) do add_callers(callers[side], chain) end
    end
  end
  return callers
end

--- How much of some profiles has a chain that reaches its start, and all that has a line; nil: no chains were taken.
---@param profiles pmclua.Profile[]
---@return number? complete
---@return number? whole
function M.complete(profiles)
  local complete, whole, has_any = 0, 0, false
  for _, profile in ipairs(profiles) do
    for _, line in ipairs(profile.chains and profile.lines or {}) do whole = whole + line.count end
    for chain, count in pairs(profile.chains or {}) do
      if chain:sub(1, #M.UNKNOWN) ~= M.UNKNOWN then complete = complete + count end
    end
    has_any = has_any or profile.chains ~= nil
  end
  if has_any then return complete, whole end
end

return M
