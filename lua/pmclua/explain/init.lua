--- explain/init.lua: from an errno and its context to what happened, why and what to do. Nothing of its files is
--- loaded before something is refused.

return require("pmclua.base.lazy").fields({}, {
  ["pmclua.base.problem"] = { "problem", "raiser", "is", "asked", "misuse", "usage_error" },
  ["pmclua.explain.refusal"] = { "spec", "system", "open", "facts" },
})
