import { randomBytes, randomUUID } from 'node:crypto'
import t from 'tap'
import { parseReturnPathLocal, returnPathLocal } from '#lib/mail/return_path.ts'
import { createSecrets } from '#lib/secrets.ts'

const secrets = createSecrets('a secret key of thirty-two chars')
const id = '019d1f3a-5b7c-7def-8123-456789abcdef'

t.test('parseReturnPathLocal returns the id of the delivery', async t => {
  const ids = Array.from({ length: 500 }, () => randomUUID())
  const locals = ids.map(id => returnPathLocal(id, secrets))
  t.strictSame(
    locals.map(local => parseReturnPathLocal(local, secrets)),
    ids,
  )
  t.strictSame(
    locals.filter(local => !/^b-[a-z2-7]{42}$/.test(local)),
    [],
  )
})

t.test('a return path is base32 of the id and its signature, and fits a local part', async t => {
  const local = returnPathLocal(id, secrets)
  t.ok(local.length <= 64)
  // 24 digits are the first 15 bytes exactly.
  t.equal(local.slice(2, 26), 'AGOR6OS3PR667AJDIVTYTK6N'.toLowerCase())
})

t.test('a return path survives a change of case', async t => {
  const local = returnPathLocal(id, secrets)
  t.equal(parseReturnPathLocal(local.toUpperCase(), secrets), id)
  t.equal(parseReturnPathLocal(local.replace('b-a', 'B-A'), secrets), id)
})

t.test('a return path that we did not write is refused', async t => {
  const local = returnPathLocal(id, secrets)
  const changed = [...local].map((digit, at) => local.slice(0, at) + (digit === 'c' ? 'd' : 'c') + local.slice(at + 1))
  const forged = Array.from(
    { length: 200 },
    () =>
      `b-${randomBytes(42)
        .toString('hex')
        .replace(/[0189]/g, 'a')
        .slice(0, 42)}`,
  )
  const others = createSecrets('A secret key of thirty-two chars')
  for (const text of [
    '',
    'b-',
    local.slice(1),
    local.slice(0, -1),
    `${local}a`,
    `${local}@b.co`,
    `${local}\n`,
    'postmaster',
    returnPathLocal(id, others),
    ...changed,
    ...forged,
  ]) {
    t.equal(parseReturnPathLocal(text, secrets), null)
  }
})
