import { type ChildProcess, spawn } from 'node:child_process'
import type { Example } from '#docs/generate/read_examples.ts'

const END = '\x1e'

/** A shell that gets one example after the other as typed input, like that of a reader. */
export class Terminal {
  readonly #shell: ChildProcess
  #stdout = ''
  #stderr = ''
  #onOutput = () => {}

  constructor(cwd: string) {
    // Nothing else of the environment, since a proxy or a .curlrc would affect the result.
    const shell = spawn('sh', { cwd, env: { PATH: process.env.PATH } })
    shell.stdout.setEncoding('utf8').on('data', text => {
      this.#stdout += text
      this.#onOutput()
    })
    shell.stderr.setEncoding('utf8').on('data', text => (this.#stderr += text))
    shell.once('close', () => this.#onOutput())
    this.#shell = shell
  }

  /** Runs an example; returns its output. */
  async run({ language, code }: Example): Promise<string> {
    this.#stdout = ''
    this.#stderr = ''
    const command = language === 'js' ? `node --input-type=module <<'END'\n${code}END\n` : code
    this.#shell.stdin?.write(`${command}printf '\\036'\n`)
    const isOver = () => this.#stdout.endsWith(END) || this.#shell.exitCode !== null
    await new Promise<void>(resolve => {
      this.#onOutput = () => isOver() && resolve()
      this.#onOutput()
    })
    if (!this.#stdout.endsWith(END)) throw new Error(`the shell ended: ${this.#stderr}`)
    return this.#stdout.slice(0, -1) || this.#stderr
  }

  close(): void {
    this.#shell.stdin?.end()
  }
}

const ID = /[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g
const TIME = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g
const LOG_ID = /^"\d+"$/
const COUNTDOWN = /(?<=^ratelimit-(?:remaining|reset): )\d+$/

/**
 * Compares output with that of a page. `...` on the page stands for anything, at its depth of brackets or within its string.
 * Times, ids of logs and remaining limits are compared by their form. Every other id of the page stands for an id that is the
 * same everywhere and different from all others.
 */
export class Answers {
  readonly #ids = new Map<string, string>()

  /** Returns whether the output matches the page. */
  fits(answer: string, found: string): boolean {
    const pairs = align(wordsOf(answer), wordsOf(found))
    if (!pairs) return false
    const ids = new Map(pairs.flatMap(([expected, word]) => zip(idsOf(expected), idsOf(word))))
    for (const [expected, id] of ids) {
      const known = this.#ids.get(expected)
      if (known ? known !== id : [...this.#ids.values()].includes(id)) return false
    }
    for (const [expected, id] of ids) this.#ids.set(expected, id)
    return true
  }
}

/** Lines of an HTTP header; otherwise strings, brackets, commas and colons, and the text between them. */
export function wordsOf(text: string): string[] {
  return text.match(/^[\w-]+: .*$|\.\.\.|"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s"{}[\],:]+/gm) ?? []
}

const idsOf = (word: string): string[] => word.match(ID) ?? []
const zip = (ones: string[], others: string[]) => ones.map((one, i) => [one, others[i] ?? ''] as const)

type Pair = [expected: string, found: string]

/** Each word with the word found in its place, or null if they do not match. */
function align(expected: string[], found: string[]): Pair[] | null {
  const pairs: Pair[] = []
  for (const [i, word] of expected.entries()) {
    if (word === '...') {
      const rest = alignAfterAny(expected.slice(i + 1), found.slice(i))
      return rest && [...pairs, ...rest]
    }
    if (!isLike(word, found[i])) return null
    pairs.push([word, found[i] as string])
  }
  return expected.length === found.length ? pairs : null
}

function alignAfterAny(expected: string[], found: string[]): Pair[] | null {
  let depth = 0
  for (let i = 0; i <= found.length && depth >= 0; i++) {
    const pairs = depth === 0 ? align(expected, found.slice(i)) : null
    if (pairs) return pairs
    if (/^[{[]$/.test(found[i] ?? '')) depth++
    if (/^[}\]]$/.test(found[i] ?? '')) depth--
  }
  return null
}

function isLike(expected: string, found: string | undefined): boolean {
  if (found === undefined) return false
  const [pattern, text] = [expected, found].map(formOf) as [string, string]
  const parts = pattern.split('...').map(RegExp.escape)
  return new RegExp(`^${parts.join('.*')}$`, 's').test(text)
}

function formOf(word: string): string {
  return word.replace(ID, 'ID').replace(TIME, 'TIME').replace(LOG_ID, 'LOG_ID').replace(COUNTDOWN, 'COUNT')
}
