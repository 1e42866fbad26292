import { randomBytes } from 'node:crypto'
import t from 'tap'
import {
  parseUnsubscribeLocal,
  parseUnsubscribeToken,
  unsubscribeLocal,
  writeUnsubscribeToken,
} from '#lib/contacts/unsubscribe_token.ts'
import { newId } from '#lib/ids.ts'
import { TokenKeys } from '#lib/token_keys.ts'

const first = { kid: 1, key: Buffer.alloc(32, 1) }
const second = { kid: 2, key: Buffer.alloc(32, 2) }
const keys = new TokenKeys([first])
const token = {
  account_id: '019d1f3a-5b7c-7def-8123-456789abcdef',
  domain_id: '019d1f3a-5b7c-7def-8123-456789abcde0',
  email_id: '019d1f3a-5b7c-7def-8123-456789abcde1',
  topic_id: '019d1f3a-5b7c-7def-8123-456789abcde2',
  address: 'ann@acme.com',
}

t.test('parseUnsubscribeToken returns the fields of the token', async t => {
  const addresses = ['a@b.co', `${'x'.repeat(64)}@${'y'.repeat(180)}.com`, 'jörg@bücher.example', 'ann@acme.com']
  for (const address of addresses) {
    for (const topic_id of [null, newId()]) {
      const given = { account_id: newId(), domain_id: newId(), email_id: newId(), topic_id, address }
      const text = writeUnsubscribeToken(given, keys)
      t.match(text, /^[\w-]+$/)
      t.strictSame(parseUnsubscribeToken(text, keys), given)
    }
  }
})

t.test('tokens of earlier versions stay valid', async t => {
  const text =
    'AQEBAZ0fOlt8fe-BI0VniavN7wGdHzpbfH3vgSNFZ4mrzeABnR86W3x974EjRWeJq83hAZ0fOlt8fe-BI0VniavN4p' +
    'v9yV_NqscIFGkA8-jIQi6EUiylkX8'
  t.strictSame(parseUnsubscribeToken(text, keys), token)
  t.equal(parseUnsubscribeLocal('u-agor6os3pr667ajdivtytk6n4fjyvb7wwwroxyw6ui', keys), token.email_id)
})

t.test('a token does not reveal the address', async t => {
  const bytes = Buffer.from(writeUnsubscribeToken(token, keys), 'base64url')
  t.equal(bytes.indexOf('ann'), -1)
  const tails = ['ann@acme.com', 'bob@acme.com'].map(address =>
    Buffer.from(writeUnsubscribeToken({ ...token, address }, keys), 'base64url')
      .subarray(-9)
      .toString('hex'),
  )
  t.not(tails[0], tails[1], 'encrypted addresses of one domain have different ends')
})

t.test('tokens are signed with the newest key and verified with older ones', async t => {
  const old = writeUnsubscribeToken(token, keys)
  const both = new TokenKeys([first, second])
  t.strictSame(parseUnsubscribeToken(old, both), token)
  t.equal(Buffer.from(writeUnsubscribeToken(token, both), 'base64url')[1], 2)
  t.equal(parseUnsubscribeToken(writeUnsubscribeToken(token, both), keys), null)
  const local = unsubscribeLocal(token.email_id, keys)
  t.equal(parseUnsubscribeLocal(local, both), token.email_id)
  t.equal(parseUnsubscribeLocal(unsubscribeLocal(token.email_id, both), keys), null)
})

t.test('a token with any bit changed is refused', async t => {
  const bytes = Buffer.from(writeUnsubscribeToken(token, keys), 'base64url')
  for (let bit = 0; bit < bytes.length * 8; bit++) {
    const changed = Buffer.from(bytes)
    changed[bit >> 3] = (changed[bit >> 3] as number) ^ (1 << (bit & 7))
    t.equal(parseUnsubscribeToken(changed.toString('base64url'), keys), null, `bit ${bit}`)
  }
})

t.test('malformed tokens are refused', async t => {
  const text = writeUnsubscribeToken(token, keys)
  const bytes = Buffer.from(text, 'base64url')
  const others = new TokenKeys([{ kid: 1, key: second.key }])
  const forms = [
    ...['', text.slice(0, -1), text.slice(1), `${text}A`, `${text}=`, `${text}%20`, ` ${text}`, text.toLowerCase()],
    ...[text.replace('-', '+'), 'x'.repeat(5_000), writeUnsubscribeToken(token, others)],
    ...[0, 1, 2, 66, 76, 77].map(length => bytes.subarray(0, length).toString('base64url')),
    unsubscribeLocal(token.email_id, keys),
  ]
  for (const form of forms.filter(form => form !== text)) t.equal(parseUnsubscribeToken(form, keys), null, form)
})

t.test('random tokens are refused', async t => {
  const good = Buffer.from(writeUnsubscribeToken(token, keys), 'base64url')
  let accepted = 0
  for (let n = 0; n < 20_000; n++) {
    const random = randomBytes(78 + (n % 40))
    // Every second one has a valid head, so that only the tag is wrong.
    if (n % 2) good.copy(random, 0, 0, 67)
    if (parseUnsubscribeToken(random.toString('base64url'), keys)) accepted++
  }
  t.equal(accepted, 0)
})

t.test('the local part of the unsubscribe address holds the id of its email', async t => {
  const local = unsubscribeLocal(token.email_id, keys)
  t.match(local, /^u-[a-z2-7]{42}$/)
  t.equal(parseUnsubscribeLocal(local.toUpperCase(), keys), token.email_id)
  const changed = [...local].map((digit, at) => local.slice(0, at) + (digit === 'c' ? 'd' : 'c') + local.slice(at + 1))
  for (const text of ['', 'u-', local.slice(1), `${local}a`, local.replace('u-', 'b-'), `${local}@b.co`, ...changed]) {
    t.equal(parseUnsubscribeLocal(text, keys), null)
  }
})
