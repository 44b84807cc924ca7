--- reader.lua: the words of a command line to values, by a list of options.
--
-- Invariant: words mean what they mean to GNU tools: --name value, --name=value, -n value, -nvalue, -ab for
-- -a -b, "--" before words that are no options; of an option given twice the last counts. Where an argument
-- takes the rest, options end at the first word that belongs to none: the options of `stat -r 5 ls -l` are -r.

local lists = require "pmclua.base.lists"
local meant = require("pmclua.base.arguments").meant

local M = {}

--- The type of an option: as declared, or that of its default.
---@param option pmclua.Option
---@return string
function M.type_of(option)
  if option.type then return option.type end
  if option[2] == nil then return "string" end
  local kind = type(option[2])
  return kind == "boolean" and "flag" or kind == "table" and "list" or kind
end

--- The field that its value gets.
---@param option pmclua.Option
---@return string
function M.field_of(option) return (option[1]:gsub("-", "_")) end

local type_of, field_of = M.type_of, M.field_of

local function note_old(old, new) require("pmclua.public").note_old(old, new) end

-- ---- values --------------------------------------------------------------------------------------------

local function choice(option, text)
  local words = {}
  for i, value in ipairs(option.choices) do
    words[i] = tostring(value)
    if words[i] == text then return value end
  end
  local listed = require("pmclua.base.text").list(words, "or")
  return nil, ("'%s' is not %s%s"):format(text, listed, meant(text, words))
end

local function number(text, is_integer)
  local value = tonumber(text)
  local is_finite = value and math.abs(value) < math.huge
  if is_finite and not (is_integer and value % 1 ~= 0) then return value end
  return nil, ("'%s' is not a %s"):format(text, is_integer and "whole number" or "number")
end

-- The value of a text; nil and why it is none.
local function converted(option, text)
  local kind = type_of(option)
  if option.choices then return choice(option, text) end
  if kind == "number" or kind == "integer" then return number(text, kind == "integer") end
  return kind == "list" and lists.collect(text:gmatch "[^,]+") or text
end

-- ---- words -----------------------------------------------------------------------------------------------

---@class pmclua.OptionReader
---@field words string[]
---@field at integer index of the next word
---@field by_name table<string, pmclua.Option> by "--name" and "-n"
---@field arguments pmclua.Option[] those without a name, in their order
---@field has_rest boolean one of them takes all words to the end
---@field have_ended boolean options have: what follows are arguments
---@field given table<string, any> values by field
---@field on { refuse: fun(why: string, unknown?: string), help: fun() }
local Reader = {}
Reader.__index = Reader

local function is_option(word) return word:find "^%-." ~= nil end

function Reader:is_help(word) return word == "--help" or word == "-h" and not self.by_name["-h"] end

-- Help is given where it is asked for beside what is wrong.
function Reader:refuse(why, unknown)
  for i = self.at, self.have_ended and 0 or #self.words do
    local word = self.words[i]
    if word == "--" or self.has_rest and not is_option(word) then break end
    if self:is_help(word) then self.on.help() end
  end
  self.on.refuse(why, unknown)
end

function Reader:take(option, text)
  local field, value, why = field_of(option), converted(option, text)
  if value == nil then
    self:refuse(("%s%s: %s"):format((option.argument or option.rest) and "" or "--", option[1], why))
  end
  if option.many or option.rest then
    self.given[field] = self.given[field] or {}
    table.insert(self.given[field], value)
  else
    self.given[field] = value
  end
end

-- The next word as an option's value. One that looks like an option has to be joined: --name=-1.
function Reader:next_value(name)
  local value = self.words[self.at]
  if not value or is_option(value) then self:refuse(("option '%s' requires an argument"):format(name)) end
  self.at = self.at + 1
  return value
end

function Reader:named(name)
  return self.by_name[name] or self:refuse(("unknown option '%s'"):format(name), name)
end

function Reader:read_long(word)
  local name, value = word:match "^(.-)=(.*)$"
  name = name or word
  local option = self:named(name)
  if name == "--" .. (option.old or "") then note_old(name, "--" .. option[1]) end
  if type_of(option) ~= "flag" then return self:take(option, value or self:next_value(name)) end
  if value then self:refuse(("option '%s' does not take arguments"):format(name)) end
  self.given[field_of(option)] = true
end

function Reader:read_letters(word)
  for k = 2, #word do
    local name = "-" .. word:sub(k, k)
    local option = self:named(name)
    if type_of(option) ~= "flag" then
      return self:take(option, k < #word and word:sub(k + 1) or self:next_value(name))
    end
    self.given[field_of(option)] = true
  end
end

function Reader:read_argument(word)
  local option = self.arguments[1] or self:refuse "too many arguments"
  self.have_ended = self.have_ended or self.has_rest
  self:take(option, word)
  if not (option.many or option.rest) then table.remove(self.arguments, 1) end
end

function Reader:read_word(word)
  if self.have_ended or not is_option(word) then self:read_argument(word)
  elseif word == "--" then self.have_ended = true
  elseif self:is_help(word) then self.on.help()
  elseif word:sub(1, 2) == "--" then self:read_long(word)
  else self:read_letters(word) end
end

function Reader:check_arguments()
  for _, option in ipairs(self.arguments) do
    local field = field_of(option)
    if option.rest then self.given[field] = self.given[field] or {}
    elseif option[2] == nil and self.given[field] == nil then
      self:refuse(("missing argument '%s'"):format(option[1]))
    end
  end
end

local function new(words, options, on)
  local self = setmetatable({ words = words, at = 1, by_name = {}, arguments = {}, has_rest = false,
    have_ended = false, given = {}, on = on }, Reader)
  for _, option in ipairs(options) do
    if option.argument or option.rest then table.insert(self.arguments, option)
    else self.by_name["--" .. option[1]] = option end
    if option.old then self.by_name["--" .. option.old] = option end
    if option.short then self.by_name["-" .. option.short] = option end
    self.has_rest = self.has_rest or option.rest or false
  end
  return self
end

--- Reads words.
---@param words string[]
---@param options pmclua.Option[]
---@param on { refuse: fun(why: string, unknown?: string), help: fun() } both raise; unknown: the option that
---   there is not
---@return table<string, any> given by field; what was not given is nil, but for `rest`, which is a list then
function M.read(words, options, on)
  local self = new(words, options, on)
  while words[self.at] do
    self.at = self.at + 1
    self:read_word(words[self.at - 1])
  end
  self:check_arguments()
  return self.given
end

return M
