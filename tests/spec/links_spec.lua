-- The Markdown files of this tree: what they link to is there.

local markdown = require "tests.support.markdown"
local support = require "tests.support"

-- What a command on a page writes.
local WRITTEN = { ["gate.md"] = true }

local function is_there(path) return require("lfs").attributes(support.root .. "/" .. path) ~= nil end

describe("a Markdown file", function()
  for _, path in ipairs(markdown.files()) do
    it("has links to files and headings that are there: " .. path, function()
      for _, link in ipairs(markdown.links(markdown.text(path))) do
        local file, heading = link:match "^([^#]*)#?(.*)$"
        if not link:find "^%a+:" then
          local target = file == "" and path or markdown.beside(path, file)
          assert.is_true(is_there(target), link)
          local known = heading == "" or markdown.anchors(markdown.text(target))[heading]
          assert.is_truthy(known, "no heading for " .. link)
        end
      end
    end)

    it("names no other Markdown file than those that are there: " .. path, function()
      for name in markdown.prose(markdown.text(path)):gmatch "[%w_./-]+%.md%f[^%w_]" do
        local is_known = is_there(name) or is_there(markdown.beside(path, name)) or WRITTEN[name]
        assert.is_truthy(is_known, name)
      end
    end)
  end
end)

describe("the book", function()
  it("has every page that is in doc/", function()
    local index = markdown.text "doc/index.md"
    for _, path in ipairs(markdown.files "doc/") do
      local name = path:match "^doc/(.*)%.md$"
      local is_page = name ~= "index" and name ~= "README"
      assert.is_true(not is_page or index:find("\n" .. name .. "\n", 1, true) ~= nil, name)
    end
  end)
end)
