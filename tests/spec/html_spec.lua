-- Pages as a browser shows them: on a telephone and on a desk, by day and by night, without a network.

local json = require "dkjson"
local sizes = require "tests.support.sizes"
local support = require "tests.support"

-- A page that opens another in frames of several widths, and says what a reader would see.
local READER = [[<!DOCTYPE html><body><pre id="seen"></pre><script>
const seen = {};
function look(name, frame) {
  const page = frame.contentDocument, view = frame.contentWindow, width = view.innerWidth;
  const all = selector => [...page.querySelectorAll(selector)];
  const colour = (node, what) => view.getComputedStyle(node)[what];
  const verdicts = all("td.verdict").map(cell => cell.getBoundingClientRect());
  seen[name] = { width: page.documentElement.scrollWidth <= width, verdicts: verdicts.length,
    in_view: verdicts.every(box => box.left >= 0 && box.right <= width),
    one_line: all("figure.table tr:not(:has(.long)) td").every(cell =>
      cell.getBoundingClientRect().height < 45),
    says: all("figure.table").map(figure => [figure.scrollWidth > figure.clientWidth + 1,
      view.getComputedStyle(figure.querySelector("figcaption"), "::after").fontSize != "0px"]),
    above: all("figure img").every(image => {
      const caption = image.closest("figure").querySelector("figcaption");
      return caption.getBoundingClientRect().bottom <= image.getBoundingClientRect().top; }),
    paper: colour(page.body, "backgroundColor"), ink: colour(page.body, "color"),
    loaded: view.performance.getEntriesByType("resource").map(one => one.name.slice(0, 5)),
    links: all("[src], [href]").map(one =>
      (one.getAttribute("src") || one.getAttribute("href")).slice(0, 5)) };
}
for (const width of [390, 500, 1000]) {
  const frame = document.createElement("iframe");
  frame.style = `border: 0; height: 800px; width: ${width}px`;
  // Again and again: where a table scrolls is known to styles from the next picture on.
  frame.onload = () => setInterval(() => {
    look(width, frame);
    document.getElementById("seen").textContent = JSON.stringify(seen); }, 100);
  frame.src = "page.html";
  document.body.append(frame);
}
</script>]]

-- What is seen at each width, by "0" (dark) or "1" (light).
local function seen_by(scheme)
  local folder = support.folder()
  support.write(folder .. "/page.html", sizes.result({ baseline = "rows" }):report { format = "html" })
  local reader = support.write(folder .. "/reader.html", READER)
  local run = support.run({ "chromium", "--headless", "--no-sandbox", "--disable-gpu",
    "--allow-file-access-from-files", "--virtual-time-budget=5000",
    "--user-data-dir=" .. folder .. "/profile", "--blink-settings=preferredColorScheme=" .. scheme,
    "--dump-dom", "file://" .. reader }, { limit_s = 60 })
  assert.equal(0, run.status, run.err)
  local text = run.out:match '<pre id="seen">(.-)</pre>'
  return assert(json.decode((text:gsub("&lt;", "<"):gsub("&amp;", "&"))), run.out:sub(1, 300))
end

describe("a page", function()
  before_each(function()
    support.need(support.have "chromium", "chromium is not here (tests/packages others)")
  end)

  it("has its verdicts in view at every width, and says where a table scrolls", function()
    local seen = seen_by "1"
    for _, width in ipairs { "390", "500", "1000" } do
      local page = seen[width]
      assert.same({ true, true, true, true }, { page.width, page.in_view, page.one_line, page.above }, width)
      assert.is_true(page.verdicts >= 6)
      for _, says in ipairs(page.says) do assert.equal(says[1], says[2], width) end
    end
    assert.is_true(seen["390"].says[1][1])
    assert.is_false(seen["1000"].says[1][1])
  end)

  it("is light by day and dark by night, and loads nothing from outside", function()
    local day, night = seen_by("1")["1000"], seen_by("0")["1000"]
    assert.same({ "rgb(255, 255, 255)", "rgb(27, 31, 36)" }, { day.paper, day.ink })
    assert.same({ "rgb(20, 23, 27)", "rgb(230, 233, 237)" }, { night.paper, night.ink })
    for _, page in ipairs { day, night } do
      for _, place in ipairs(page.loaded) do assert.equal("data:", place) end
      for _, place in ipairs(page.links) do assert.is_truthy(place == "data:" or place:find "^#", place) end
    end
  end)
end)
