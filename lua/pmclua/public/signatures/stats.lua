--- stats.lua: signatures of pmc.stats: functions of lists of numbers.

return [==[

namespace pmc.stats
  The numbers behind the reports: functions of lists of finite numbers, which they do not change. Without an answer they
  return nil and a reason.

pmc.stats.median(values: number[]) -> median: number?, reason: string?
  The median.
  > print(pmc.stats.median { 3, 1, 2 })

pmc.stats.quantile(values: number[], p: number(0..1)) -> quantile: number?, reason: string?
  A quantile, type 7: as R and NumPy by default.
  > print(pmc.stats.quantile({ 3, 1, 2 }, 0.9))

pmc.stats.mad(values: number[]) -> mad: number?, median: number|string
  The median absolute deviation from the median, unscaled, and the median; nil and the reason where there is no value.
  > print(pmc.stats.mad { 3, 1, 2 })

pmc.stats.sorted(values: number[]) -> sorted: number[]?, reason: string?
  A copy in ascending order.
  > print(pmc.stats.sorted({ 3, 1, 2 })[1])

pmc.stats.ranks(values: number[]) -> ranks: number[]?, reason: string?
  Ranks from 1; equal values share the mean of their ranks.
  > print(pmc.stats.ranks({ 30, 10, 20 })[1])

pmc.stats.outliers(values: number[]) -> indices: integer[]?, reason: string?
  The indices of outliers: a modified z-score above 3.5.
  > print(pmc.stats.outliers({ 1, 2, 3, 2, 1, 99 })[1])

pmc.stats.median_interval(values: number[], level?: level) -> interval: stats_interval?, reason: string?
  The median and its interval by order statistics. level: default 0.95.
  > print(pmc.stats.median_interval({ 9, 3, 5, 4, 7, 6, 8 }).low)

record stats_interval
  median: number
  low?: number -- absent where there are too few values for the level
  high?: number
  level: number -- as asked
  coverage?: number -- as reached
  n: integer
  reason?: string -- why there is no interval

pmc.stats.summary(values: number[], level?: level) -> summary: stats_summary?, reason: string?
  The same with what else is said of values.
  > print(pmc.stats.summary({ 9, 3, 5, 4, 7, 6, 8 }).q1)

record stats_summary stats_interval
  minimum: number
  maximum: number
  q1: number -- quartiles
  q3: number
  mad: number
  exact: boolean -- all values, of at least two, are one value
  outliers: integer[]

pmc.stats.paired_ratio(a: number[], b: number[], level?: level) -> ratio: stats_interval?, reason: string?
  The ratio of a to b, pair by pair, with the interval of the sign test. Both must be above 0.
  > print(pmc.stats.paired_ratio({ 2, 4, 6 }, { 1, 2, 3 }).median)

pmc.stats.paired_difference(a: number[], b: number[], level?: level) -> difference: stats_interval?, reason: string?
  The median of a - b, pair by pair.
  > print(pmc.stats.paired_difference({ 2, 4, 6 }, { 1, 2, 3 }).median)

pmc.stats.bonferroni(level: level, comparisons: integer(1..)) -> level: number
  The level that each of several intervals needs so that all hold together.
  > print(pmc.stats.bonferroni(0.95, 5))

pmc.stats.hodges_lehmann(x: number[], y: number[], level?: level) -> shift: table?, reason: string?
  The shift of x against y, { shift, low, high, level, coverage, reason }.
  > print(pmc.stats.hodges_lehmann({ 4, 5, 6 }, { 1, 2, 3 }).shift)

pmc.stats.mann_whitney(x: number[], y: number[]) -> test: table?, reason: string?
  The Mann-Whitney test, { u, p, method }.
  > print(pmc.stats.mann_whitney({ 4, 5, 6 }, { 1, 2, 3 }).p)

pmc.stats.spearman(x: number[], y: number[]) -> r: number?, reason: string?
  Spearman's rank correlation, from -1 to 1.
  > print(pmc.stats.spearman({ 1, 2, 3 }, { 2, 4, 9 }))

pmc.stats.line(x: number[], y: number[]) -> fit: table?, reason: string?
  The line y = a + b·x by least squares: { a, b, n, method, r2, a_error, b_error, pattern, why }.
  > print(pmc.stats.line({ 1, 2, 3 }, { 12, 22, 32 }).b)

pmc.stats.theil_sen(x: number[], y: number[]) -> fit: table?, reason: string?
  The same robustly: { a, b, n, method }.
  > print(pmc.stats.theil_sen({ 1, 2, 3 }, { 12, 22, 32 }).b)

pmc.stats.bootstrap(x: number[], y: number[], options?: bootstrap_options) -> intervals: table?, reason: string?
  Intervals of a and b by resampling: { a, b, level, resamples }.
  > print(pmc.stats.bootstrap({ 1, 2, 3, 4 }, { 12, 22, 32, 42 }, { seed = 1 }).b.low)

record bootstrap_options
  level?: level
  resamples?: integer(1..1e6)
  seed?: integer(0..)
  robust?: boolean -- true: Theil-Sen

pmc.stats.slope(x: number[], y: number[], level?: level) -> slope: table?, reason: string?
  The slope of counts y over iterations x, robustly: { slope, low, high, level, intercept, r2, pattern, exact, n,
  reason }.
  > print(pmc.stats.slope({ 1, 2, 3, 4 }, { 12, 22, 32, 42 }).slope)

pmc.stats.slopes(list: series[], compute: function, options?: slopes_options) -> low: number?, high: number|string
  The interval of what is computed from the slopes of several series { x, y }, by resampling; nil and the reason where
  there are too few points.
  > print(pmc.stats.slopes({ { x = { 1, 2, 3 }, y = { 2, 4, 6 } } }, function(slopes) return slopes[1] end))

record slopes_options
  level?: level
  resamples?: integer(1..1e6)
  seed?: integer(0..)

record series
  x: number[]
  y: number[]
  group?: integer -- the i-th points of the series of one group were measured together
  clusters?: table -- of each point: those of one cluster are taken together

pmc.stats.growth(x: number[], y: number[], level?: level) -> growth: table?, reason: string?
  How y grows with sizes x, with relative errors: { shape, parameters, exponent, shapes, residuals, x, y, n, level };
  shape is "power", "linear", "n log n" or "steps", the best by AICc. All numbers are above 0.
  > print(pmc.stats.growth({ 1, 2, 4, 8 }, { 3, 6.1, 11.9, 24 }).exponent.value)

pmc.stats.components(groups: (number[])[]) -> components: table?, reason: string?
  Variance between and within groups: { mean, between, within, between_share, within_share, groups, n }.
  > print(pmc.stats.components({ { 1, 2 }, { 5, 6 } }).between)

pmc.stats.random(seed: integer(0..), stream?: string) -> random
  A generator that gives the same numbers on every machine.
  > print(pmc.stats.random(7):integer(6))

class random random
  A random generator.
  > random = pmc.stats.random(7)

random:bits() -> integer
  A whole number from 0 to 2^32 - 1.
  > print(random:bits())

random:uniform() -> number
  A number from 0 to 1, 1 excluded.
  > print(random:uniform())

random:integer(n: integer(1..4294967296)) -> integer
  A whole number from 1 to n.
  > print(random:integer(6))

random:normal() -> number
  A number of mean 0 and standard deviation 1.
  > print(random:normal())

random:shuffle(list: table) -> table
  The same list, in random order.
  > print(random:shuffle({ 1, 2, 3 })[1])
]==]
