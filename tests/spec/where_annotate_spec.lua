-- A function beside its source and its instructions, as text and as a page of HTML.

local pmc = require "pmclua"
local profiles = require "tests.support.profiles"
local support = require "tests.support"
local where = require "tests.support.where"

local function faults() return where.program("faults.c", "-g", "-ldl", "-lpthread") end

local function numbered(path)
  local lines = {}
  for line in (support.read(path) .. "\n"):gmatch "(.-)\n" do lines[#lines + 1] = line end
  return lines
end

describe("an annotated function", function()
  it("has its faults at the line and at the instruction that make them", function()
    local found = pmc.where(faults(), faults() .. " thread", { event = "page-faults", repetitions = 2 })
    local annotation = found:annotation(found:row "g")
    local source, code = annotation.sources[1], annotation.codes[1]
    assert.equal(support.fixture "where/faults.c", source.path)
    local hot = {}
    for _, line in ipairs(source.lines) do
      assert.equal(numbered(source.path)[line.number], line.text)
      if line.b then hot[#hot + 1] = line end
    end
    assert.same({ 1, 300, "TOUCH(g)" }, { #hot, hot[1].b, hot[1].text })
    assert.is_nil(hot[1].a)
    support.need(code.why == nil, code.why)
    local sum, writes = 0, 0
    for _, one in ipairs(code.list) do
      sum = sum + (one.b or 0)
      if one.b and one.text:find "^mov" then writes = writes + one.b end
    end
    assert.same({ 300, 300, "B" }, { sum, writes, code.sides })
  end)

  it("is shown as text, both sides beside the source", function()
    local found = pmc.where(faults(), faults() .. " thread", { event = "page-faults", repetitions = 2 })
    local shown = found:report { annotate = "f", width = 80, utf8 = true }
    assert.matches("^f · page%-faults · A 1,000.*, B 1,000.*, B %- A 0\n", shown)
    assert.matches("\n1,000%S* +1,000%S* +0 +same +%d+ +TOUCH%(f%)\n", shown)
    assert.is_true(support.widest(shown) <= 80)
  end)

  it("says what is not there: source, file, function", function()
    local line = profiles.line("parse", 9, { lines = { [3] = 9 }, source = "/nowhere/parse.c",
      file = "/nowhere/parse" })
    local code = profiles.code({ profiles.profile { line } }, { profiles.profile { line } })
    local shown = code:report { annotate = "parse", width = 80, utf8 = true }
    assert.matches("/nowhere/parse.c\n.*\n9 +9 +0 +same +3\nno program here says that this is its", shown)
    assert.matches("the file is not here, and its code was not kept\n", shown)
    assert.matches("no function 'pars' has a line of its own, did you mean 'parse'",
      support.message_of(code.report, code, { annotate = "pars" }))
  end)

  it("refuses the instructions of a file that has changed since", function()
    local found = pmc.where(faults(), { event = "page-faults" })
    for _, line in ipairs(found:row("f").line.place and found.profiles[1].lines or {}) do
      for _, at in ipairs(line.fn == "f" and line.at or {}) do at.address = at.address + 1 end
    end
    local code = found:annotation(found:row "f").codes[1]
    assert.matches("^the file is not the one that was sampled", code.why)
    assert.is_true(#code.list > 0)
  end)
end)

describe("the source that a program names", function()
  local SECRET = "the secret of root"

  -- A program whose debug information says that its code is of `source`.
  local function program(folder, source)
    local code = support.write(folder .. "/code.c", ([[
      #include <stdlib.h>
      #line 1 "%s"
      void spend(void) { char *all = malloc(1 << 22); for (int i = 0; i < 1 << 22; i += 4096) all[i] = 1; }
      int main(void) { spend(); return 0; }]]):format(source))
    return support.build(folder .. "/program", "cc", "-g", code)
  end

  local function annotated(...)
    return support.pmclua { "where", "-e", "page-faults", "-o", "-", "--annotate", "spend", ... }
  end

  before_each(function() support.need(support.have "cc", "no C compiler") end)

  it("is shown to root only where the program's owner could have read it", function()
    support.need(support.have_root(), "the program is to be another user's")
    local folder = support.folder()
    local secret = support.write(folder .. "/secret", SECRET)
    local path = program(folder, secret)
    os.execute(("chown 65534 %s; chmod 600 %s"):format(path, secret))
    local hidden = annotated("--", path)
    assert.equal(0, hidden.status, hidden.err)
    assert.matches("the source cannot be shown: " .. secret .. ": Permission denied",
      (hidden.out:gsub("%s+", " ")), 1, true)
    assert.not_matches(SECRET, hidden.out)
    os.execute("chmod 644 " .. secret)
    assert.matches(SECRET, annotated("--", path).out)
    support.write(folder .. "/inner/secret", SECRET)
    os.execute(("cd %s; chmod 700 inner; rm secret; ln -s inner/secret secret"):format(folder))
    assert.not_matches(SECRET, annotated("--", path).out)
    os.execute("chown 0 " .. path)
    assert.matches(SECRET, annotated("--", path).out)
  end)

  it("is waited for by nobody where it is a FIFO or has no end", function()
    local folder = support.folder()
    os.execute(("mkfifo %s/fifo"):format(folder))
    for _, source in ipairs { folder .. "/fifo", "/dev/zero" } do
      local result = annotated("--", program(folder, source))
      assert.equal(0, result.status, result.err)
      assert.matches("it is not a regular file", (result.out:gsub("%s+", " ")))
    end
  end)

  it("is not what stands at its path here, where the program sees other files", function()
    support.need(support.have_root(), "needs root")
    support.need(support.run({ "unshare", "-m", "true" }).status == 0, "no mount namespaces")
    local folder = support.folder()
    local source = support.write(folder .. "/inner/p.c", [[
      #include <sys/mman.h>
      #include <unistd.h>
      void fault(void)
      {
          volatile char *page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
          *page = 1;
          munmap((void *)page, 4096);
      }
      int main(void) { for (alarm(60); write(1, "r", 1) == 1; usleep(500)) fault(); }]])
    support.build(folder .. "/p", "cc", "-g", source)
    support.write(source, (SECRET .. "\n"):rep(20))
    local line = "cd %s; unshare -m sh -c 'mount -t tmpfs none inner; cp p inner/; exec inner/p' >said & "
      .. "echo $!"
    local pid = support.output_of(line:format(folder)):match "%d+"
    support.await_text(folder .. "/said", "r")
    local shown = support.pmclua { "where", "--annotate", "fault", "-e", "page-faults", "-p", pid,
      "--timeout", "300" }
    support.run { "kill", pid }
    assert.equal(0, shown.status, shown.err)
    assert.not_matches(SECRET, shown.out .. shown.err)
    assert.matches("no program here says that this is its", shown.out .. shown.err)
  end)

  it("is no stored result's choice: a program here has to say the same, or the reader", function()
    local folder = support.folder()
    local source = support.write(folder .. "/source.c", "a line of its source")
    support.write(folder .. "/secret.c", SECRET)
    local path, stored = program(folder, source), folder .. "/stored.jsonl"
    assert.equal(0, annotated("--store", stored, "--", path).status)
    assert.matches("a line of its source", annotated(stored).out)
    local changed = support.read(stored):gsub("source%.c", "secret.c")
    local forged = support.write(folder .. "/forged.jsonl", changed)
    local hidden = annotated(forged)
    assert.equal(0, hidden.status, hidden.err)
    assert.not_matches(SECRET, hidden.out)
    assert.matches("says that this is its source: --source FOLDER", (hidden.out:gsub("%s+", " ")), 1, true)
    local page = support.pmclua { "where", "-o", "-", "--format", "html", forged }
    assert.not_matches(SECRET, page.out)
    os.remove(path)
    assert.not_matches("a line of its source", annotated(stored).out)
    assert.matches("a line of its source", annotated("--source", folder, stored).out)
    assert.not_matches(SECRET, annotated("--source", support.folder(), forged).out)
    assert.matches(SECRET, annotated("--source", folder, forged).out)
  end)
end)

describe("the page of a code ledger", function()
  local function page()
    local a, b = {}, {}
    for i = 1, 12 do
      a[i] = profiles.profile { profiles.line("<parse>", 100 + i % 2), profiles.line("copy", 50) }
      b[i] = profiles.profile { profiles.line("<parse>", 120 + i % 2), profiles.line("copy", 49) }
    end
    return profiles.code(a, b):report { format = "html" }
  end

  it("has no script, fetches nothing, and escapes names", function()
    local html = page()
    assert.not_matches("<script", html)
    assert.not_matches("http", (html:gsub("http%-equiv", "")))
    assert.matches("default%-src 'none'", html)
    assert.not_matches("<parse>", html)
    assert.matches("&lt;parse&gt;", html)
  end)

  it("sorts its rows by each column, what is not a line behind them", function()
    local html = page()
    local parse = html:match '<tr style="([^"]+)"><td>&lt;parse'
    local copy = html:match '<tr style="([^"]+)"><td>copy'
    local total = html:match '<tr style="order:(%d+)"><td>total'
    assert.same({ "--o1:1;--o2:1;--o3:1;--o4:1;--o5:1", "--o1:2;--o2:2;--o3:2;--o4:2;--o5:2" }, { parse,
      copy })
    assert.is_true(tonumber(total) > 1e6)
    for k = 1, 5 do
      assert.matches(("body:has(#sort%d:checked) .ledger tbody tr { order: var(--o%d); }"):format(k, k),
        html, 1, true)
      assert.matches(('id="sort%d"'):format(k), html, 1, true)
    end
  end)
end)
