import { randomBytes, randomInt } from 'node:crypto'
import { parseUnsubscribeToken, writeUnsubscribeToken } from '#lib/contacts/unsubscribe_token.ts'
import { newId } from '#lib/ids.ts'
import { TAG_BYTES, type TokenKey, TokenKeys } from '#lib/token_keys.ts'
import {
  parseLinkToken,
  parseRecipientToken,
  writeLinkToken,
  writeRecipientTokens,
} from '#lib/tracking/tracking_tokens.ts'
import { Report, readOptions, tell } from './campaign.ts'

type Options = { tokens: number; rounds: number }
type Kind = { name: string; token: string; parse: (text: string) => unknown }
/** `foreign`: valid or nearly valid tokens of ours for another use. */
type Target = Kind & { foreign: string[] }

/** Fraction by which the times of two refusals may differ. */
const SAME_TIME = 0.03
/** Tokens per measurement: few, so that it ends before another process gets the CPU. */
const TOGETHER = 100

/**
 * Somebody guesses tokens of links, pixels, polls and unsubscribes: valid tokens of another kind, recipient, campaign or key,
 * changed ones, and random ones with a valid head, so that only the tag is wrong. None is accepted, and the time of a refusal
 * does not reveal how much was right.
 *
 * @param rounds 0: no times are compared
 */
export function guessTokens({ tokens, rounds }: Options): Report {
  const report = new Report()
  const targets = makeTargets()
  for (const { name, token, parse, foreign } of targets) {
    report.expect(parse(token) !== null, `a valid token of a ${name} was refused`)
    const count = Math.ceil(tokens / targets.length)
    const taken = [...foreign, ...guesses(token, count)].filter(guess => guess !== token && parse(guess) !== null)
    report.note({ [`${name}: guesses`]: foreign.length + count })
    report.expect(taken.length === 0, `${taken.length} were accepted as the token of a ${name}, such as ${taken[0]}`)
    if (rounds === 0) continue
    const ratio = compareTimes(token, parse, rounds)
    report.note({ [`${name}: late to early refusal`]: ratio.toFixed(3) })
    report.expect(Math.abs(ratio - 1) < SAME_TIME, `the time reveals how much of the token of a ${name} was right`)
  }
  return report
}

function makeTargets(): Target[] {
  const [older, newer, stranger] = [1, 2, 2].map(kid => ({ kid, key: randomBytes(32) })) as [
    TokenKey,
    TokenKey,
    TokenKey,
  ]
  const keys = new TokenKeys([older, newer])
  const [kinds, others] = [makeKinds(keys), makeKinds(keys)]
  const strangers = makeKinds(new TokenKeys([stranger]))
  return kinds.map((kind, n) => ({
    ...kind,
    foreign: [
      ...kinds.filter((_, at) => at !== n).map(({ token }) => token),
      ...strangers.map(({ token }) => token),
      // The tag of the same use for another recipient, or in another campaign; and a key that has not signed it.
      spliceTag(kind.token, (others[n] as Kind).token),
      ...[older.kid, 3, 255].map(kid => withKid(kind.token, kid)),
    ],
  }))
}

function spliceTag(token: string, other: string): string {
  const [bytes, others] = [token, other].map(text => Buffer.from(text, 'base64url')) as [Buffer, Buffer]
  return Buffer.concat([bytes.subarray(0, -TAG_BYTES), others.subarray(-TAG_BYTES)]).toString('base64url')
}

function withKid(token: string, kid: number): string {
  const bytes = Buffer.from(token, 'base64url')
  bytes[1] = kid
  return bytes.toString('base64url')
}

function makeKinds(keys: TokenKeys): Kind[] {
  const recipient = { account_id: newId(), delivery_id: newId() }
  const { open, click, poll } = writeRecipientTokens(recipient, keys)
  const link = writeLinkToken({ source_id: newId(), link: 0, url: 'https://acme.com/?q=1' }, keys)
  const person = { account_id: newId(), domain_id: newId(), email_id: newId(), topic_id: null, address: 'ann@acme.com' }
  return [
    { name: 'pixel', token: open, parse: text => parseRecipientToken(text, 'open', keys) },
    { name: 'click', token: click, parse: text => parseRecipientToken(text, 'click', keys) },
    { name: 'poll', token: poll, parse: text => parseRecipientToken(text, 'poll', keys) },
    { name: 'link', token: link, parse: text => parseLinkToken(text, keys) },
    {
      name: 'unsubscribe',
      token: writeUnsubscribeToken(person, keys),
      parse: text => parseUnsubscribeToken(text, keys),
    },
  ]
}

function guesses(token: string, count: number): string[] {
  const bytes = Buffer.from(token, 'base64url')
  return Array.from({ length: count }, (_, n) => {
    const guess = Buffer.from(bytes)
    if (n % 2) randomBytes(TAG_BYTES).copy(guess, guess.length - TAG_BYTES)
    else guess[randomInt(guess.length)] = randomInt(256)
    return guess.toString('base64url')
  })
}

/** Returns the time of a refusal because of the last byte of the tag, divided by that because of the first. */
function compareTimes(token: string, parse: Kind['parse'], rounds: number): number {
  const bytes = Buffer.from(token, 'base64url')
  const wrongAt = (at: number) => {
    const wrong = Buffer.from(bytes)
    wrong[at] = (wrong[at] as number) ^ 255
    return wrong.toString('base64url')
  }
  const [early, late] = [wrongAt(bytes.length - TAG_BYTES), wrongAt(bytes.length - 1)]
  const times = Array.from({ length: rounds }, () => [time(early, parse), time(late, parse)] as const)
  return quickest(times.map(([, late]) => late)) / quickest(times.map(([early]) => early))
}

function time(text: string, parse: Kind['parse']): number {
  const start = performance.now()
  for (let n = 0; n < TOGETHER; n++) parse(text)
  return performance.now() - start
}

/** The mean of the quickest tenth: other processes can only make the others longer. */
function quickest(times: number[]): number {
  const few = times.toSorted((a, b) => a - b).slice(0, Math.ceil(times.length / 10))
  return few.reduce((sum, ms) => sum + ms, 0) / few.length
}

/** node test/faults/guess_tokens.ts [--tokens 1000000] [--rounds 3000] */
if (import.meta.main) tell(guessTokens(readOptions({ tokens: 1_000_000, rounds: 3_000 })))
