--- style.lua: how the HTML report looks. Colours that the colour-blind can tell (Okabe, Ito), and never
-- colour alone.

return [[
:root { --ink: #1b1f24; --quiet: #5a6370; --paper: #ffffff; --rule: #d8dee4; --good: #0072b2; --bad: #b34700;
  --warn: #7a5c00; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e9ed; --quiet: #9aa4b0; --paper: #14171b; --rule: #333a42; --good: #56b4e9;
    --bad: #e69f00; --warn: #f0e442; }
}
body { margin: 2rem auto; max-width: 64rem; padding: 0 1rem; color: var(--ink); background: var(--paper);
  font: 16px/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.15rem; margin-top: 2.2rem; border-bottom: 1px solid var(--rule); }
figure { margin: 1.2rem 0; overflow-x: auto; scroll-timeline: --sideways inline; }
figcaption { font-weight: 600; margin-bottom: .3rem; position: sticky; left: 0; }
figcaption::after { content: " → scrolls sideways"; font-size: .9rem; color: var(--quiet); font-weight: 400; }
@supports (animation-timeline: --sideways) {
  figcaption::after { font-size: 0; animation: scrolls linear; animation-timeline: --sideways; }
  @keyframes scrolls { from, to { font-size: .9rem; } }
}
table { border-collapse: collapse; font-variant-numeric: tabular-nums; overflow-wrap: normal; }
th, td { padding: .2rem .9rem .2rem 0; text-align: left; vertical-align: baseline; }
thead th { color: var(--quiet); font-weight: 500; border-bottom: 1px solid var(--rule); }
tbody tr { background: var(--paper); }
tbody tr:nth-child(even) { background: color-mix(in srgb, var(--rule) 25%, var(--paper)); }
figure.table th, figure.table td { white-space: nowrap; }
figure.table td.long { white-space: normal; min-width: 11rem; }
.number { text-align: right; } .shape { font-family: monospace; letter-spacing: -1px; }
.facts { overflow-wrap: anywhere; } .facts th { color: var(--quiet); font-weight: 500; white-space: nowrap; }
.dim { color: var(--quiet); } .warn { color: var(--warn); } .good { color: var(--good); font-weight: 600; }
.bad { color: var(--bad); font-weight: 600; }
.verdicts { list-style: none; padding: 0; font-size: 1.1rem; }
.verdicts .dim { font-weight: 400; white-space: nowrap; } .verdicts .plain { color: var(--ink); }
.sentence { font-size: 1.15rem; font-weight: 600; } .notes { color: var(--quiet); font-size: .92rem; }
img { max-width: 100%; }
nav ul { columns: 16rem; padding-left: 1.2rem; font-size: .95rem; } a { color: var(--good); }
@media (max-width: 40rem) {
  body { margin: 1rem auto; } h1 { font-size: 1.3rem; } th, td { padding-right: .6rem; }
  .verdict { position: sticky; right: 0; background: inherit; padding-left: .5rem;
    border-left: 1px solid var(--rule); }
  thead tr { background: var(--paper); } figure img { max-width: none; width: 38rem; }
}
]]
