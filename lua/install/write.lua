#!/usr/bin/env pmclua
-- Writes the manual pages, the book's pages on commands, the completions and what editors read.
--
-- usage: pmclua lua/install/write.lua SCRIPTS FOLDER
--   SCRIPTS: the folder of the reusable scripts; FOLDER gets man/*.1, commands/*.md,
--   completions/pmclua.{bash,zsh,fish} and editor/pmclua.lua

local describe, man, completion = require "describe", require "man", require "completion"

local here = arg[0]:match "^(.*)/" or "."
local source, folder = arg[1], arg[2]
if not folder then
  io.stderr:write "usage: pmclua lua/install/write.lua SCRIPTS FOLDER\n"
  os.exit(2, true)
end

local function write(path, text)
  local file = assert(io.open(path, "w"))
  assert(file:write(text))
  assert(file:close())
end

for _, part in ipairs { "", "/man", "/commands", "/completions", "/editor" } do
  require("lfs").mkdir(folder .. part)
end
local scripts, roff, markdown = describe.folder(source), require "roff", require "markdown"

--- A page of manual and book, made by one of man's functions.
local function write_page(make, what)
  local page, name = make(roff, what)
  write(("%s/man/%s.1"):format(folder, name), page)
  write(("%s/commands/%s.md"):format(folder, name), (make(markdown, what)))
end

write_page(man.pmclua, scripts)
for _, script in ipairs(scripts) do write_page(man.script, script) end
write(folder .. "/editor/pmclua.lua", require("editor").text())
for shell, text in pairs(completion.of(scripts, here .. "/shells")) do
  write(("%s/completions/pmclua.%s"):format(folder, shell), text)
end
