import t from 'tap'
import { now, setClock } from '#lib/clock.ts'
import { CHALLENGE_SECONDS, createChallenge, isChallenge } from '#lib/members/challenge.ts'
import { createSecrets } from '#lib/secrets.ts'

const KEY = 'a secret key of more than 32 characters'
const secrets = createSecrets(KEY)
const textOf = (challenge: Uint8Array) => Buffer.from(challenge).toString('base64url')

t.test('a challenge is valid only for its purpose, on every server with the same secret', async t => {
  const text = textOf(createChallenge(secrets, 'add 1'))
  t.ok(isChallenge(createSecrets(KEY), 'add 1', text))
  t.notOk(isChallenge(secrets, 'add 2', text))
  t.notOk(isChallenge(createSecrets(`${KEY}!`), 'add 1', text))
})

t.test('a challenge with any byte changed, or cut, is invalid', async t => {
  const challenge = createChallenge(secrets, 'add 1')
  const text = textOf(challenge)
  for (let at = 0; at < challenge.length; at++) {
    const changed = Buffer.from(challenge)
    changed[at] = (changed[at] as number) ^ 1
    t.notOk(isChallenge(secrets, 'add 1', textOf(changed)), `byte ${at}`)
  }
  for (const wrong of ['', text.slice(0, -2), `${text}AA`]) t.notOk(isChallenge(secrets, 'add 1', wrong))
})

t.test('a challenge expires', async t => {
  const text = textOf(createChallenge(secrets, 'add 1'))
  const made_at = now().getTime()
  t.teardown(() => setClock(Date.now(), performance.now()))
  setClock(made_at + (CHALLENGE_SECONDS - 5) * 1_000, performance.now())
  t.ok(isChallenge(secrets, 'add 1', text))
  setClock(made_at + (CHALLENGE_SECONDS + 5) * 1_000, performance.now())
  t.notOk(isChallenge(secrets, 'add 1', text))
})
