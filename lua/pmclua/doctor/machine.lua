--- machine.lua: what the doctor asks of a machine: its files, this process's rights, what can be loaded.
--
-- Nothing is concluded here. `root` stands before every path, so that a tree of files can play a machine.

local host = require "pmclua.host.machine"

local M = {}

---@class pmclua.doctor.Machine
---@field root string before every path; "": this machine
---@field arch string as LuaJIT names it
local Machine = { arch = jit.arch }
Machine.__index = Machine

--- A file without its last newline; nil where it cannot be read.
---@param path string
---@return string?
function Machine:text(path)
  local text = host.text(self.root .. path)
  return text and (text:gsub("%s+$", ""))
end

--- The first line of a file.
---@param path string
---@return string?
function Machine:line(path)
  local text = self:text(path)
  return text and text:match "^[^\n]*"
end

---@param path string
---@return number?
function Machine:number(path) return tonumber(self:line(path) or "") end

--- The kind of a path ("file", "directory", …); nil: nothing that this user may see.
---@param path string
---@return string?
function Machine:kind(path) return require("lfs").attributes(self.root .. path, "mode") end

--- Whether a file can be opened so by this user, in a way that changes nothing of it.
---@param path string
---@param mode "r"|"r+"
---@return boolean
function Machine:can_open(path, mode)
  local file = io.open(self.root .. path, mode)
  if file then file:close() end
  return file ~= nil
end

--- The names in a folder, sorted; none where it cannot be read.
---@param path string
---@return string[]
function Machine:names(path) return host.entries(self.root .. path) end

--- Whether this process is in a user namespace of its own, whose root is not root of the machine.
---@return boolean
function Machine:is_in_user_namespace()
  return self.root == "" and host.is_in_user_namespace()
end

--- Whether this process has a capability now, for the whole machine.
---@param name string
---@return boolean
function Machine:capability(name)
  return not self:is_in_user_namespace() and host.has_capability(self:text "/proc/self/status", name)
end

--- Whether it may count what it likes.
---@return boolean
function Machine:is_privileged()
  return self:capability "CAP_PERFMON" or self:capability "CAP_SYS_ADMIN"
end

--- Whether system calls of this process are filtered, as in most containers.
---@return boolean
function Machine:is_filtered() return host.is_filtered(self:text "/proc/self/status") end

--- A limit of this process: soft and hard, in the unit of the limit; nil: not known.
---@param name string as /proc/self/limits has it
---@return number? soft, number? hard math.huge: none
function Machine:limit(name) return host.limit(self:text "/proc/self/limits", name) end

--- Whether a program of that name is in a folder of PATH in which pmclua looks.
---@param name string
---@return boolean
function Machine:has_program(name)
  for folder in require("pmclua.host.tools").from_root(os.getenv "PATH"):gmatch "[^:]+" do
    if self:kind(folder .. "/" .. name) == "file" then return true end
  end
  return false
end

--- Whether perf_event_open takes an attr: true, or the name of the errno.
---@param attr table
---@return true|string
function Machine.opens(_, attr) return require("pmclua.explain").facts().opens(attr) end

--- Whether a library that pmclua loads when first needed is here.
---@param name string "libdw.so.1"
---@return boolean
function Machine.can_load(_, name) return require("pmclua.core").can_load(name) end

--- A machine of files.
---@param root string? default: this machine
---@return pmclua.doctor.Machine
function M.new(root) return setmetatable({ root = root or "" }, Machine) end

return M
