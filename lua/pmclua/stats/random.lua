--- random.lua: a small random generator that gives the same numbers on every machine.
--
-- Invariant: what a generator draws depends on its seed and stream alone, never on the machine, the
-- time, the JIT or another generator. Stored results name their seed, and the seed replays them.
--
-- Generator: xoshiro128**, seeded by SplitMix64 (Blackman, Vigna: "Scrambled linear pseudorandom
-- number generators", ACM TOMS 47, 2021; prng.di.unimi.it). State and results are 32-bit integers as
-- `bit` has them (signed), so no 64-bit object is made while drawing.

local bit = require "bit"
local bxor, rol, lshift, rshift, tobit = bit.bxor, bit.rol, bit.lshift, bit.rshift, bit.tobit

local TWO32 = 2 ^ 32

local Random = require("pmclua.public.class").new("stats", "random")
Random.__tostring = function() return "a generator of random numbers" end

local M = {}

local function splitmix(state)
  local z = state
  z = bxor(z, rshift(z, 30)) * 0xbf58476d1ce4e5b9ULL
  z = bxor(z, rshift(z, 27)) * 0x94d049bb133111ebULL
  return bxor(z, rshift(z, 31))
end

-- FNV-1a, 64 bits: streams of different names start far apart.
local function hash(name)
  local h = 0xcbf29ce484222325ULL
  for i = 1, #name do
    h = bxor(h, 0ULL + name:byte(i)) * 0x100000001b3ULL
  end
  return h
end

local function half(word, shift)
  return tobit(tonumber(bit.band(rshift(word, shift), 0xffffffffULL)))
end

--- A generator. Two of the same seed but different streams are independent: what one part of a plan
--- draws does not depend on whether another part draws at all.
---@param seed integer from 0 to 2^53
---@param stream? string a name, e.g. "order"
---@return pmclua.Random
function M.new(seed, stream)
  local state = 0ULL + seed
  if stream then state = bxor(state, hash(stream)) end
  local golden = 0x9e3779b97f4a7c15ULL
  local first, second = splitmix(state + golden), splitmix(state + golden + golden)
  return setmetatable({ half(first, 0), half(first, 32), half(second, 0), half(second, 32) }, Random)
end

local function draw(self)
  local a, b, c, d = self[1], self[2], self[3], self[4]
  local scrambled = tobit(rol(tobit(b * 5), 7) * 9)
  local t = lshift(b, 9)
  c, d = bxor(c, a), bxor(d, b)
  self[2], self[1] = bxor(b, c), bxor(a, d)
  self[3], self[4] = bxor(c, t), rol(d, 11)
  return scrambled % TWO32
end

---@class pmclua.Random
---@field bits fun(self): integer from 0 to 2^32-1

Random.bits = draw

--- From [0, 1), 53 random bits.
---@return number
function Random:uniform()
  local high, low = rshift(draw(self), 5) % TWO32, rshift(draw(self), 6) % TWO32
  return (high * 2 ^ 26 + low) / 2 ^ 53
end

--- From 1 to n, each exactly as likely: draws beyond the last whole multiple of n are thrown away.
---@param n integer
---@return integer
function Random:integer(n)
  local limit = TWO32 - TWO32 % n
  local value
  repeat value = draw(self) until value < limit
  return value % n + 1
end

--- Fisher-Yates, in place.
---@param list table
---@return table list the same
function Random:shuffle(list)
  for i = #list, 2, -1 do
    local j = Random.integer(self, i)
    list[i], list[j] = list[j], list[i]
  end
  return list
end

--- A normal variate of mean 0 and standard deviation 1, by Marsaglia's polar method. Its last digit may depend on the C
--- library's log: for simulations, not for plans.
---@return number
function Random:normal()
  local u, v, s
  repeat
    u, v = 2 * Random.uniform(self) - 1, 2 * Random.uniform(self) - 1
    s = u * u + v * v
  until s > 0 and s < 1
  return u * math.sqrt(-2 * math.log(s) / s)
end

return M
