import fc from 'fast-check'
import t from 'tap'
import { chooseWinner } from '#lib/campaigns/choose_winner.ts'

const opened = (unique_opened: number, delivered: number) => ({ delivered, unique_opened, unique_clicked: 0 })
const round = (share: number) => Math.round(share * 1_000) / 1_000

t.test('the highest rate wins, by opens or by clicks', async t => {
  const variants = [
    { delivered: 100, unique_opened: 30, unique_clicked: 9 },
    { delivered: 50, unique_opened: 20, unique_clicked: 2 },
  ]
  t.equal(chooseWinner(variants, 'open_rate').winner, 1)
  t.equal(chooseWinner(variants, 'click_rate').winner, 0)
})

t.test('the first variant wins without significance when variants are equal or have no data', async t => {
  for (const variants of [
    [opened(0, 0), opened(0, 0), opened(0, 0)],
    [opened(5, 10), opened(50, 100)],
    [opened(0, 10), opened(0, 0)],
  ]) {
    t.strictSame(chooseWinner(variants, 'open_rate'), { winner: 0, confidence: 0, significant: false })
  }
  t.strictSame(chooseWinner([opened(0, 0), opened(1, 1)], 'open_rate'), {
    winner: 1,
    confidence: 0,
    significant: false,
  })
})

t.test('the confidence is that of the two-proportion z-test', async t => {
  // Computed with Python's math.erf.
  for (const [best, second, confidence, significant] of [
    [opened(250, 1_000), opened(200, 1_000), 0.993, true],
    [opened(210, 1_000), opened(200, 1_000), 0.42, false],
    [opened(25, 1_000), opened(20, 1_000), 0.549, false],
    [opened(1_100, 5_000), opened(1_000, 5_000), 0.986, true],
  ] as const) {
    const choice = chooseWinner([second, best], 'open_rate')
    t.strictSame({ ...choice, confidence: round(choice.confidence) }, { winner: 1, confidence, significant })
  }
})

t.test('a winner has the highest rate, and a confidence from 0 to 1', async () => {
  const variant = fc
    .tuple(fc.nat(5_000), fc.double({ min: 0, max: 1, noNaN: true }))
    .map(([delivered, share]) => opened(Math.floor(delivered * share), delivered))
  fc.assert(
    fc.property(fc.array(variant, { minLength: 2, maxLength: 5 }), variants => {
      const { winner, confidence, significant } = chooseWinner(variants, 'open_rate')
      const rates = variants.map(({ unique_opened, delivered }) => (delivered === 0 ? 0 : unique_opened / delivered))
      return (
        rates[winner] === Math.max(...rates) && confidence >= 0 && confidence <= 1 && significant === confidence >= 0.95
      )
    }),
    { numRuns: 1_000, examples: [[[opened(0, 0), opened(0, 0)]]] },
  )
})
