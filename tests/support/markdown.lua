--- markdown.lua: what the Markdown files of this tree hold: headings, links, blocks of commands.

local support = require "tests.support"

local M = {}

-- Built, or written by others for specs to read.
local LEFT_OUT = { build = true, [".git"] = true, ["tests/fixtures"] = true }

--- The Markdown files below a folder of the tree, as paths from its root.
---@param folder? string
---@param list? string[]
---@return string[]
function M.files(folder, list)
  folder, list = folder or "", list or {}
  for _, name in ipairs(require("pmclua.host.machine").entries(support.root .. "/" .. folder)) do
    local path = folder .. name
    local mode = require("lfs").symlinkattributes(support.root .. "/" .. path, "mode")
    if mode == "file" and name:find "%.md$" then list[#list + 1] = path
    elseif mode == "directory" and not LEFT_OUT[path] then M.files(path .. "/", list) end
  end
  return list
end

---@param path string from the tree's root
function M.text(path) return support.read(support.root .. "/" .. path) end

--- A page's text without its blocks of code.
---@param page string
function M.prose(page)
  return (("\n" .. page):gsub("\n```.-\n```%f[\n%z]", "\n"))
end

--- What a heading is called in links: in small letters, "-" for spaces, no other signs.
local function anchor(heading)
  return (heading:lower():gsub("[^%w%s_\128-\255-]", ""):gsub("%s", "-"))
end

--- The anchors of a page's headings.
---@param page string
---@return table<string, true>
function M.anchors(page)
  local found = {}
  for heading in M.prose(page):gmatch "\n#+ ([^\n]+)" do
    local name, count = anchor(heading), 0
    while found[count > 0 and ("%s-%d"):format(name, count) or name] do count = count + 1 end
    found[count > 0 and ("%s-%d"):format(name, count) or name] = true
  end
  return found
end

--- Where the links of a page lead, in order; code is none.
---@param page string
---@return string[]
function M.links(page)
  local list = {}
  for target in M.prose(page):gsub("`[^`]*`", ""):gmatch "%]%(([^%s)]+)[^)]*%)" do
    list[#list + 1] = target
  end
  for target in M.prose(page):gmatch "\n%[[^%]\n]+%]: (%S+)" do list[#list + 1] = target end
  return list
end

--- A path beside another one, "a/b.md" and "../c.md": "c.md".
---@param from string
---@param to string
function M.beside(from, to)
  local path = (from:match "^(.*/)" or "") .. to
  local changed
  repeat path, changed = path:gsub("[^/]+/%.%./", "", 1) until changed == 0
  return path
end

--- What a page has its reader do, in order: files to save, of blocks below a line that ends with "as `NAME`:", and
--- commands of console blocks, each with the output that is shown below it.
---@param page string
---@return { file?: string, text?: string, command?: string, shown?: string }[]
function M.steps(page)
  local list = {}
  for before, kind, block in page:gmatch "([^\n]*)\n\n?```([%w-]*)\n(.-)```" do
    local file = before:match "as `([^`]+)`:$"
    if file then list[#list + 1] = { file = file, text = block } end
    for command, shown in (kind == "console" and block .. "$ " or ""):gmatch "$ ([^\n]+)\n(.-)%f[$]" do
      list[#list + 1] = { command = command, shown = shown }
    end
  end
  return list
end

return M
