import fc from 'fast-check'
import t from 'tap'
import { categorizeReply } from '#lib/receiving/replies/categorize_reply.ts'
import { ownText } from '#lib/receiving/replies/own_text.ts'
import { readCategory, readOwnText } from '#lib/receiving/replies/read_reply.ts'

const words = [
  'not ',
  'interested ',
  'send me ',
  'a ',
  "n't ",
  'on wrote ',
  'On 1 ',
  'schrieb am :',
  'skrev den',
  'From: @',
]
const marks = [
  ' ',
  '\t',
  '\u00a0',
  '\n',
  '\r',
  '>',
  '\n>',
  '_',
  '-',
  '- ',
  ':',
  '@',
  '·',
  '.',
  "'",
  '😀',
  'x',
  '*',
  '/',
]
const tags = [
  '<',
  '<p',
  '<div class=',
  '<div class="gmail',
  '<style>',
  '<style',
  '</style',
  '&nbsp;',
  '&',
  '<blockquote',
]
const token = fc.constantFrom(...words, ...marks, ...tags)
const hostile = fc.tuple(fc.constantFrom('', 'x', '<p>', 'On '), fc.array(token, { minLength: 1, maxLength: 3 }))

const READERS: [name: string, clip: number, read: (text: string) => unknown][] = [
  ['ownText of a text', 20_000, text => ownText({ text: `x\n${text}x`, html: null })],
  ['ownText of HTML', 100_000, html => ownText({ text: null, html })],
  ['categorizeReply', 2_500, text => categorizeReply(text)],
]

for (const [name, clip, read] of READERS) {
  t.test(`${name} takes linear time for any repeated text`, async t => {
    const property = fc.property(hostile, ([begin, tokens]) => {
      const unit = tokens.join('')
      const text = (length: number) => begin + unit.repeat(Math.ceil(length / unit.length))
      const quarter = leastMs(() => read(text(clip / 4)))
      const whole = leastMs(() => read(text(clip)))
      const long = leastMs(() => read(text(1_000_000)))
      // Quadratic time would be 16 times as long, and hundreds of milliseconds. Some kernels count CPU time in steps of up
      // to 4 ms, so that `quarter` may be 0.
      if (whole > 9 * quarter + 50) throw new Error(`${whole} ms for four times as much as ${quarter} ms`)
      if (long > 4 * whole + 30) throw new Error(`${long} ms for 1 MB, ${whole} ms for ${clip} characters`)
    })
    const examples = [...words, ...marks, ...tags].map((one): [[string, string[]]] => [['', [one]]])
    fc.assert(property, { numRuns: examples.length + 20, seed: 20261122, examples })
    t.pass()
  })
}

t.test('readOwnText and readCategory leave the main thread free', async t => {
  const [main, all] = [process.threadCpuUsage(), process.cpuUsage()]
  const text = await readOwnText({ text: 'I am not interested. 😀\n> quoted', html: null })
  t.equal(await readCategory(text), 'not_interested')
  t.equal(text, 'I am not interested. 😀')
  // Compiling the patterns alone takes a few hundred milliseconds on some thread.
  const [mainMs, allMs] = [sum(process.threadCpuUsage(main)), sum(process.cpuUsage(all))]
  t.ok(mainMs < allMs / 2, `${mainMs} of ${allMs} ms were on the main thread`)
})

/** CPU time of this thread alone, which does not depend on the load of the machine. */
function leastMs(run: () => unknown): number {
  return Math.min(...Array.from({ length: 3 }, () => msOf(run)))
}

function msOf(run: () => unknown): number {
  const start = process.threadCpuUsage()
  run()
  return sum(process.threadCpuUsage(start))
}

function sum({ user, system }: NodeJS.CpuUsage): number {
  return (user + system) / 1_000
}
