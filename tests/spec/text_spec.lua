-- Words and numbers as people read them.

local support = require "tests.support"
local text = require "pmclua.base.text"

local function says(f, rows)
  for _, row in ipairs(rows) do assert.equal(row[2], f(row[1])) end
end

describe("a number for people", function()
  it("is a count with separators, to the last digit", function()
    says(text.count, { { 0, "0" }, { -0.0, "0" }, { 999, "999" }, { 1000, "1,000" },
                       { -1234567, "-1,234,567" },
                       { 128441020, "128,441,020" }, { 2 ^ 53, "9,007,199,254,740,992" } })
  end)

  it("is exact for every u64", function()
    assert.equal("18,446,744,073,709,551,615", text.count(18446744073709551615ULL))
    assert.equal("9,007,199,254,740,993", text.count(9007199254740993ULL))
    assert.equal("18,446.7 P", text.short(18446744073709551615ULL))
  end)

  it("is a cost per iteration with as many places as it deserves", function()
    says(text.count, { { 3.999, "4.00" }, { 212.25, "212.3" }, { 1234.5, "1,235" }, { 0.3, "0.300" },
                       { 0.01234, "0.0123" }, { 1e-7, "1.00e-07" }, { -0.5, "-0.500" } })
  end)

  it("is short in a unit, and never '1000.00 K'", function()
    says(text.short, { { 128441020, "128.4 M" }, { 119.5e6, "119.5 M" }, { 1.2e6, "1.20 M" },
                       { 9999, "9,999" }, { 999996, "1.00 M" }, { 999940, "999.9 K" }, { -3e6, "-3.00 M" } })
  end)

  it("is a time in the unit that fits", function()
    says(text.time, { { 416, "416 ns" }, { 416.25, "416.3 ns" }, { 0.5, "0.500 ns" }, { 999.97, "1.00 µs" },
                      { 41.2e6, "41.20 ms" }, { 1.3e9, "1.30 s" }, { 312.4e9, "312.4 s" }, { 0, "0 ns" } })
  end)

  it("is a waiting time in words", function()
    says(text.duration, { { 0.5, "0.5 s" }, { 8, "8 s" }, { 125, "2 min 05 s" }, { 3720, "1 h 02 min" },
                          { 59.6, "1 min 00 s" } })
  end)

  it("is memory in binary units", function()
    says(text.bytes, { { 0, "0 B" }, { 512, "512 B" }, { 65536, "64 KiB" }, { 1536 * 1024, "1.50 MiB" } })
  end)

  it("is a ratio to three places near 1", function()
    says(text.ratio, { { 0.93, "0.930" }, { 1, "1.000" }, { 1.5612, "1.561" }, { 12.345, "12.35" },
                       { 1204, "1,204" }, { 0.001, "0.0010" } })
  end)

  it("is a share in percent without needless places", function()
    says(text.percent, { { 0.004, "0.4 %" }, { 0.62, "62 %" }, { 1, "100 %" }, { 0.01, "1 %" },
                         { 0.001, "0.1 %" }, { 0.039, "3.9 %" }, { 0, "0 %" }, { -0.02, "-2 %" },
                         { 0.0001, "0.01 %" } })
  end)

  it("has the unit of its event or metric", function()
    assert.equal("41.20 ms", text.value(41.2e6, "ns"))
    assert.equal("1 KiB", text.value(1024, "B"))
    assert.equal("2.5 %", text.value(0.025, "%"))
    assert.equal("12 Joules", text.value(12, "Joules"))
    assert.equal("1,204", text.value(1204, ""))
  end)

  it("has its interval in its own scale, with places that tell the ends apart", function()
    assert.equal("127.9 … 129.2 M", text.interval(127.9e6, 129.2e6, 128e6))
    assert.equal("41.06 … 41.49", text.interval(41.06e6, 41.49e6, 41.2e6, "ns"))
    assert.equal("2.34 … 2.36", text.interval(2.34, 2.36, 2.35))
    assert.equal("1,204 … 1,209", text.interval(1204, 1209, 1205))
    assert.equal("1.20001 … 1.20002 M", text.interval(1.20001e6, 1.20002e6, 1.2e6))
    assert.equal("2 … 3 %", text.interval(0.02, 0.03, 0.025, "%"))
    assert.equal("=", text.interval(5, 5, 5))
    assert.equal("0.924 … 0.937", text.ratio_interval(0.924, 0.937))
    assert.equal("0.97 … 1.09", text.ratio_interval(0.97, 1.09))
    assert.equal("1.000 … 1.001", text.ratio_interval(1, 1.001))
  end)

  it("is a dash where it is absent, never 0", function()
    for _, name in ipairs { "count", "short", "time", "duration", "ratio", "percent", "bytes", "value" } do
      assert.equal("–", text[name](nil), name)
    end
    assert.equal("–", text.interval(nil, nil, 1))
    assert.equal("–", text.ratio_interval(nil, nil))
  end)

  it("says of what is no number that it is none", function()
    assert.equal("not a number", text.count(0 / 0))
    assert.equal("infinite", text.ratio(1 / 0))
    assert.equal("-infinite", text.time(-1 / 0))
  end)

  it("has a point in a locale of commas too", function()
    support.need(support.have "localedef", "no localedef")
    local folder = support.folder()
    support.run { "localedef", "-i", "de_DE", "-f", "UTF-8", folder .. "/de_DE.UTF-8" }
    local before, found = os.setlocale(nil, "numeric"), nil
    support.with_env({ LOCPATH = folder }, function() found = os.setlocale("de_DE.UTF-8", "numeric") end)
    local shown = text.time(41.2e6)
    os.setlocale(before, "numeric")
    support.need(found, "no German locale to make one of")
    assert.equal("41.20 ms", shown)
  end)
end)

describe("a text for a terminal", function()
  it("shows control characters instead of obeying them", function()
    assert.equal("a\\e[31mb\\n\\t\\r\\x00\\x7f", text.safe "a\27[31mb\n\t\r\0\127")
  end)

  it("shows C1 controls, bytes that are not UTF-8 and characters that reorder a line", function()
    assert.equal("\\xc2\\x9b31m", text.safe "\194\15531m")
    assert.equal("\\xff\\xc0\\xaf", text.safe "\255\192\175")
    assert.equal("\\xed\\xa0\\x80", text.safe "\237\160\128")
    assert.equal("a\\xe2\\x80\\xaeb", text.safe "a\226\128\174b")
    assert.equal("\\xe2\\x82", text.safe "\226\130")
  end)

  it("leaves printable text of any language as it is", function()
    for _, s in ipairs { "plain", "é ü", "漢字", "µs · ± … 🙂", "" } do assert.equal(s, text.safe(s)) end
  end)

  it("is harmless whatever bytes it was made of", function()
    local random = require("pmclua.stats.random").new(1)
    for _ = 1, 2000 do
      local bytes = {}
      for i = 1, random:integer(12) do bytes[i] = string.char(random:integer(256) - 1) end
      local safe = text.safe(table.concat(bytes))
      assert.is_nil(safe:find "%c")
      assert.equal(safe, text.safe(safe))
    end
  end)

  it("knows its width in columns", function()
    says(text.width, { { "abc", 3 }, { "é", 1 }, { "e\204\129", 1 }, { "漢字", 4 }, { "🙂", 2 }, { "…", 1 } })
  end)

  it("is padded and cut by columns, not bytes", function()
    assert.equal("é  ", text.pad("é", 3))
    assert.equal(" 漢", text.pad("漢", 3, "right"))
    assert.equal("abcdef", text.pad("abcdef", 3))
    assert.equal("wör…", text.cut("wörter", 4))
    assert.equal("漢…", text.cut("漢字漢", 4))
    assert.equal("wörter", text.cut("wörter", 6))
    assert.equal("./par…json", text.cut_middle("./parse large.json", 10))
    assert.equal("漢…漢", text.cut_middle("漢字漢", 5))
    assert.equal("wörter", text.cut_middle("wörter", 6))
  end)

  it("has an ASCII spelling", function()
    assert.equal("+-1 % .. 41 us - x2?", text.ascii "±1 % … 41 µs · ×2漢")
  end)

  it("is broken at spaces", function()
    assert.same({ "the quick", "brown", "antidisestablishment", "x" },
                text.wrap("the quick brown antidisestablishment x", 10))
    assert.same({}, text.wrap("", 10))
  end)

  it("takes the last part of a path, whatever follows it", function()
    says(text.base_name, { { "/usr/lib/libc.so.6", "libc.so.6" }, { "main.c", "main.c" },
      { "src/parse/", "parse" }, { "/", "/" }, { "", "" } })
  end)

  it("lists and counts things as English does", function()
    says(text.list, { { {}, "" }, { { "a" }, "a" }, { { "a", "b" }, "a and b" },
                      { { "a", "b", "c" }, "a, b and c" } })
    assert.equal("a, b or c", text.list({ "a", "b", "c" }, "or"))
    assert.equal("1 event", text.plural(1, "event"))
    assert.equal("1,000 entries", text.plural(1000, "entry", "entries"))
  end)
end)

describe("the nearest word", function()
  local events = { "cycles", "instructions", "cache-misses", "cache-references", "branch-misses",
                   "page-faults" }

  it("is one with swapped, missing, doubled or wrong letters", function()
    says(function(word) return text.nearest(word, events) end, {
      { "cyclse", "cycles" }, { "cycle", "cycles" }, { "instrutions", "instructions" },
      { "cache_missses", "cache-misses" }, { "brnach-misses", "branch-misses" },
      { "page-fults", "page-faults" } })
  end)

  it("overlooks case and '_' for '-'", function()
    assert.equal("page-faults", text.nearest("Page_Faults", events))
  end)

  it("is the only one that begins so", function()
    assert.equal("instructions", text.nearest("inst", events))
    assert.is_nil(text.nearest("cache", events))
  end)

  it("is none where nothing is near", function()
    assert.is_nil(text.nearest("quux", events))
    assert.is_nil(text.nearest("cycles", {}))
    assert.is_nil(text.nearest("", events))
    assert.is_nil(text.nearest("ls", { "lfs" }))
  end)

  it("is the first of equally near ones", function()
    assert.equal("bat", text.nearest("cat", { "bat", "rat" }))
  end)

  it("is of equally near ones the one that begins so", function()
    assert.equal("syscalls", text.nearest("syscall", { "vsyscall", "syscalls" }))
  end)
end)
