--- man.lua: the manual pages, from the headers and option tables that `--help` prints.

local describe = require "describe"
local lists = require "pmclua.base.lists"
local roff = require "roff"

local M = {}

local EXIT = {
  { "0", "done" },
  { "1", "failed" },
  { "2", "the command line is not valid" },
  { "3", "a limit or a prediction did not hold" },
  { "77", "nothing can be counted here, or not what a limit needs" },
  { "128 + n", "ended by signal n, after reporting what was complete" },
}

local ENVIRONMENT = {
  { "PMCLUA_PATH", "absolute folders in which scripts are looked for first, separated by colons" },
  { "LUA_PATH, LUA_CPATH", "where to look for modules that are not next to the script, as with lua(1)" },
  { "XDG_DATA_HOME", "its folder pmclua/scripts holds the user's own scripts" },
  { "XDG_STATE_HOME", "its folder pmclua holds stored results and the prompt's history" },
  { "TMPDIR", "where temporary files are made, before /tmp and /var/tmp" },
  { "XDG_CACHE_HOME", "its folder pmclua holds compiled kernels and vendors' tables" },
  { "PMCLUA_VENDOR", "folders of vendors' events and metrics, with : between them" },
  { "SYSFS_PATH", "another root for files that are read from /sys, as with perf" },
  { "NO_COLOR", "set to anything: no colours" },
  { "COLUMNS", "the width of reports" },
  { "PMCLUA_RUNNER", "another pmclua-runner" },
  { "PMCLUA_LIB", "a folder of Lua modules that replace the built-in ones" },
}

local function date()
  return os.date("!%Y-%m-%d", tonumber(os.getenv "SOURCE_DATE_EPOCH" or os.time()))
end

local function heading(page)
  -- No hyphenation and no justification: most of the words are meant to be typed.
  return (".TH %s 1 %s \"pmclua %s\" \"pmclua manual\"\n.nh\n.ad l"):format(page:upper(), date(),
    require("pmclua.core").version)
end

local function option_tag(parts)
  local value = parts.value and " " .. roff.italic(parts.value) or ""
  local short = parts.short and roff.bold(parts.short) .. ", " or ""
  return short .. roff.bold(parts.long) .. value
end

local function option_items(options)
  return table.concat(lists.map(options, function(option)
    local parts = describe.option(option)
    local tag = (option.argument or option.rest) and roff.italic(option[1]) or option_tag(parts)
    return roff.item(tag, parts.help)
  end), "\n")
end

local function pair_items(pairs)
  return table.concat(lists.map(pairs, function(pair)
    return roff.item(roff.bold(pair[1]), pair[2])
  end), "\n")
end

local function see_also(names)
  return table.concat(lists.map(names, function(name)
    return (".BR %s (1)"):format(roff.escape(name))
  end), " ,\n")
end

local function add(blocks, title, text)
  if text and text ~= "" then blocks[#blocks + 1] = roff.section(title) .. "\n" .. text end
end

--- A part of a header as paragraphs. In the header it begins in the middle of a line, with a small letter.
local function sentences(part)
  return part and roff.paragraphs((part:gsub("^%l%l*%f[%s]", function(word)
    return word == "pmclua" and word or word:sub(1, 1):upper() .. word:sub(2)
  end)))
end

--- The synopsis: the header's usage, each form on a line of its own.
local function synopsis(script)
  local usage = require("pmclua.cli.help").usage(script.name, script.header, script.own):gsub("^usage: ", "")
  local lines = lists.collect(usage:gmatch "%s*([^\n]+)")
  return table.concat(lists.map(lines, roff.escape), "\n.br\n")
end

--- pmclua-NAME(1).
---@param script install.Script
---@return string page, string name without the section
function M.script(script)
  local parts, page = script.header.parts, "pmclua-" .. script.name
  local blocks = { heading(page) }
  add(blocks, "Name", roff.escape(page) .. " \\- " .. roff.escape(script.header.question))
  add(blocks, "Synopsis", synopsis(script))
  add(blocks, "Description", roff.paragraphs(script.header.question))
  add(blocks, "Method", sentences(parts.method))
  add(blocks, "Options", option_items(script.own))
  add(blocks, "Options of every experiment", option_items(script.common))
  add(blocks, "Example", parts.example and roff.verbatim(parts.example))
  add(blocks, "Reading the result", sentences(parts.reading))
  add(blocks, "Caveats", sentences(parts.caveats))
  add(blocks, "See also", see_also { "pmclua" })
  return table.concat(blocks, "\n") .. "\n", page
end

local DESCRIPTION = [[
pmclua runs experiments with Linux hardware performance counters. A short Lua script says what to count and
what to run; the report says what it cost and which differences are real.

A word with a `/` or ending in `.lua` is the path of a script. Any other word is the name of a script, which
is looked for in the folders of `PMCLUA_PATH`, in the user's own scripts and in those installed. The words
after it belong to the script.

Results go to standard output, everything else to standard error.

The documents are in `share/doc/pmclua` below the folder where pmclua is installed. `SCRIPTING.md` is the
reference: every function, workload and key of an experiment. `READING.md` explains the words of reports,
`TRAPS.md` how counters mislead, `CI.md` gates in continuous integration.]]

--- pmclua(1).
---@param scripts install.Script[]
---@return string page, string name
function M.pmclua(scripts)
  local pages = lists.map(scripts, function(script) return "pmclua-" .. script.name end)
  local questions = lists.map(scripts, function(script) return { script.name, script.header.question } end)
  local blocks = { heading "pmclua" }
  add(blocks, "Name", "pmclua \\- experiments with hardware performance counters, in Lua")
  add(blocks, "Synopsis", roff.escape "pmclua [OPTIONS] [SCRIPT.lua | NAME] [ARGUMENTS]")
  add(blocks, "Description", roff.paragraphs(DESCRIPTION))
  add(blocks, "Options", pair_items(require("pmclua.cli.help").COMMAND_LINE))
  add(blocks, "Scripts", pair_items(questions))
  add(blocks, "Options of every experiment", option_items(require("pmclua.cli.experiment_options").list))
  add(blocks, "Exit status", pair_items(EXIT))
  add(blocks, "Environment", pair_items(ENVIRONMENT))
  add(blocks, "See also", see_also(lists.joined { pages, { "perf", "luajit" } }))
  return table.concat(blocks, "\n") .. "\n", "pmclua"
end

return M
