--- explain.lua: error objects, and what stands behind an errno. Its rooms are in explain/; nothing of them is
--- loaded before something is refused.

return require("pmclua.base.lazy").fields({}, {
  ["pmclua.explain.problem"] = { "problem", "is", "misuse", "spec", "system", "open", "facts", "times" },
})
