import t from 'tap'
import { createSecrets } from '#lib/secrets.ts'

const secrets = createSecrets('a secret key of thirty-two chars')
const others = createSecrets('A secret key of thirty-two chars')
const context = 'domains|dkim_key|7|1'
const plaintext = Buffer.from('-----BEGIN PRIVATE KEY-----')

t.test('open returns what seal encrypted', async t => {
  for (const secret of [plaintext, Buffer.alloc(0), Buffer.alloc(100_000, 1)]) {
    t.ok(secrets.open(secrets.seal(secret, context), context).equals(secret))
  }
  const sealed = secrets.seal(plaintext, context)
  t.equal(sealed.length, 1 + 4 + 12 + 16 + plaintext.length)
  t.equal(sealed.indexOf(plaintext.subarray(0, 8)), -1)
  t.notOk(sealed.equals(secrets.seal(plaintext, context)), 'each call uses a new nonce')
})

t.test('open works in another process with the same key', async t => {
  const again = createSecrets('a secret key of thirty-two chars')
  t.ok(again.open(secrets.seal(plaintext, context), context).equals(plaintext))
  t.ok(again.pepper.equals(secrets.pepper))
  t.ok(again.sign('click', plaintext).equals(secrets.sign('click', plaintext)))
  // Secrets and signatures of older versions must stay valid.
  t.equal(
    secrets.sign('click', Buffer.from('x')).toString('hex'),
    'e6f4be03263a81825ba50a92958df3d54652d4d3ab772f797db849681e9ca2a1',
  )
  t.equal(secrets.pepper.toString('hex'), '1186d37f08e45747f7f444a17b72d78abe3cc2683ebe6fe2ee3f8625d350cd97')
  const stored = Buffer.from('01002af7710ca7ee2bbbbee6eb3b9b5cd66f1ddf937038a4261710f73cac6a64517ca19c7a', 'hex')
  t.equal(secrets.open(stored, context).toString(), 'kept')
})

t.test('open distinguishes another key from a damaged secret', async t => {
  t.throws(() => others.open(secrets.seal(plaintext, context), context), /SECRET_KEY does not fit/)
})

t.test('open throws for any flipped bit', async t => {
  const sealed = secrets.seal(plaintext, context)
  for (let bit = 0; bit < sealed.length * 8; bit++) {
    const changed = Buffer.from(sealed)
    changed.writeUInt8(changed.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3)
    t.throws(() => secrets.open(changed, context), `bit ${bit}`)
  }
})

t.test('open throws for another context', async t => {
  const sealed = secrets.seal(plaintext, context)
  for (const elsewhere of ['domains|dkim_key|8|1', 'domains|dkim_key|7|2', 'webhooks|secret|7|1', '', `${context} `]) {
    t.throws(() => secrets.open(sealed, elsewhere), /was changed or moved/)
  }
})

t.test('open throws for bytes that were never sealed', async t => {
  const sealed = secrets.seal(Buffer.alloc(0), context)
  for (let length = 0; length < sealed.length; length++) {
    t.throws(() => secrets.open(sealed.subarray(0, length), context), /not a sealed secret/)
  }
})

t.test('signatures differ by purpose, by data and by key', async t => {
  const data = Buffer.from('data')
  const signature = secrets.sign('click', data)
  t.equal(signature.length, 32)
  t.notOk(signature.equals(secrets.sign('unsubscribe', data)))
  t.notOk(signature.equals(secrets.sign('click', Buffer.from('Data'))))
  t.notOk(signature.equals(others.sign('click', data)))
  t.notOk(secrets.sign('clickd', Buffer.from('ata')).equals(signature))
  t.notOk(secrets.pepper.equals(others.pepper))
})

t.test('a short key is refused', async t => {
  t.throws(() => createSecrets('x'.repeat(31)), /SECRET_KEY is shorter than 32 characters/)
})
