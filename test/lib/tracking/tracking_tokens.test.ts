import { randomBytes } from 'node:crypto'
import t from 'tap'
import { newId } from '#lib/ids.ts'
import { TokenKeys } from '#lib/token_keys.ts'
import {
  parseLinkToken,
  parseRecipientToken,
  writeLinkToken,
  writeRecipientTokens,
} from '#lib/tracking/tracking_tokens.ts'

const [first, second] = [1, 2].map(kid => ({ kid, key: randomBytes(32) })) as [Key, Key]
type Key = { kid: number; key: Buffer }
const keys = new TokenKeys([first])
const recipient = { account_id: newId(), delivery_id: newId() }
const link = { source_id: newId(), link: 300, url: 'https://acme.com/ä?q=1&b=%20#top' }

t.test('tokens return the recipient and the link they were made for', async t => {
  const { open, click } = writeRecipientTokens(recipient, keys)
  t.equal(open.length, 60)
  t.strictSame(parseRecipientToken(open, 'open', keys), recipient)
  t.strictSame(parseRecipientToken(click, 'click', keys), recipient)
  t.strictSame(parseLinkToken(writeLinkToken(link, keys), keys), link)
})

t.test('a token is invalid for another purpose', async t => {
  const { open, click } = writeRecipientTokens(recipient, keys)
  t.equal(parseRecipientToken(open, 'click', keys), null)
  t.equal(parseRecipientToken(click, 'open', keys), null)
  t.equal(parseLinkToken(open, keys), null)
  t.equal(parseRecipientToken(writeLinkToken(link, keys), 'click', keys), null)
})

t.test('tokens of an older key stay valid', async t => {
  const old = writeLinkToken(link, keys)
  const both = new TokenKeys([first, second])
  t.strictSame(parseLinkToken(old, both), link)
  t.not(writeLinkToken(link, both), old)
  t.equal(parseLinkToken(writeLinkToken(link, both), keys), null)
})

t.test('a token with any bit changed is refused', async t => {
  const { open } = writeRecipientTokens(recipient, keys)
  const parses: [string, (text: string) => unknown][] = [
    [open, text => parseRecipientToken(text, 'open', keys)],
    [writeLinkToken(link, keys), text => parseLinkToken(text, keys)],
  ]
  for (const [token, parse] of parses) {
    const bytes = Buffer.from(token, 'base64url')
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const changed = Buffer.from(bytes)
      changed[bit >> 3] = (changed[bit >> 3] as number) ^ (1 << (bit & 7))
      t.equal(parse(changed.toString('base64url')), null, `bit ${bit}`)
    }
    for (const form of ['', token.slice(1), token.slice(0, -1), `${token}A`, `${token}=`, ` ${token}`, '\0', 'ä']) {
      t.equal(parse(form), null, JSON.stringify(form))
    }
  }
})

t.test('random text is not a valid token', async t => {
  let taken = 0
  for (let n = 0; n < 20_000; n++) {
    const bytes = randomBytes(20 + (n % 60))
    bytes.set([1, 1, n % 2 ? 3 : 4])
    const text = bytes.toString('base64url')
    if (parseLinkToken(text, keys) || parseRecipientToken(text, 'open', keys)) taken++
  }
  t.equal(taken, 0)
})
