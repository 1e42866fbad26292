import type { WinnerMetric } from './ab_test.ts'

/** Numbers of recipients of a variant: those whose email was delivered, and those of them who opened it or clicked a link. */
export type VariantFigures = { delivered: number; unique_opened: number; unique_clicked: number }

/** `winner` is the index of the variant. `confidence`: 0 to 1, that the variant is better than the second best. */
export type Choice = { winner: number; confidence: number; significant: boolean }

/**
 * Chooses the variant with the highest rate; the first one if several are equal or there is no data. A two-proportion z-test
 * against the second best tells whether the difference is more than chance.
 */
export function chooseWinner(variants: VariantFigures[], metric: WinnerMetric): Choice {
  const ranked = variants
    .map((figures, index) => ({ index, events: eventsOf(figures, metric), delivered: figures.delivered }))
    .sort((a, b) => rateOf(b) - rateOf(a) || a.index - b.index)
  const [best, second] = ranked as [Ranked, Ranked]
  const z = zScore(best, second)
  const confidence = z === 0 ? 0 : errorFunction(z / Math.SQRT2)
  return { winner: best.index, confidence, significant: isSignificant(confidence) }
}

/** Tells whether a difference is significant: chance alone would cause it in at most 5 % of tests. */
export function isSignificant(confidence: number): boolean {
  return confidence >= 0.95
}

type Ranked = { index: number; events: number; delivered: number }

function eventsOf({ unique_opened, unique_clicked }: VariantFigures, metric: WinnerMetric): number {
  return metric === 'open_rate' ? unique_opened : unique_clicked
}

function rateOf({ events, delivered }: Ranked): number {
  return delivered === 0 ? 0 : events / delivered
}

/** Returns the z-score; 0 if there is nothing to compare. */
function zScore(best: Ranked, second: Ranked): number {
  if (best.delivered === 0 || second.delivered === 0) return 0
  const pooled = (best.events + second.events) / (best.delivered + second.delivered)
  const error = Math.sqrt(pooled * (1 - pooled) * (1 / best.delivered + 1 / second.delivered))
  return error > 0 ? (rateOf(best) - rateOf(second)) / error : 0
}

/** Approximates the error function for x >= 0, with an error of at most 1.5e-7 (Abramowitz and Stegun, Handbook of Mathematical Functions, 7.1.26). */
function errorFunction(x: number): number {
  const t = 1 / (1 + 0.3275911 * x)
  const factors = [1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592]
  return 1 - factors.reduce((sum, factor) => (sum + factor) * t, 0) * Math.exp(-x * x)
}
