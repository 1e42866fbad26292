import t from 'tap'
import { startApi } from '#test/support/api.ts'
import { newMember, PASSWORD } from '#test/support/members.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const [api, other] = [await startApi(t, world, account.key), await startApi(t, world, account.key)]

/** Posts the sign-in form; returns the status. */
async function signIn(email: string, password = PASSWORD, { url } = api): Promise<number> {
  const headers = { 'sec-fetch-site': 'same-origin' }
  const body = new URLSearchParams({ email, password })
  return (await fetch(`${url}/login`, { method: 'POST', headers, body, redirect: 'manual' })).status
}

t.test('sign-in allows five wrong passwords per minute, and any number of right ones', async t => {
  const { email } = await newMember(world, account.id, 'owner')
  const statuses: number[] = []
  for (let n = 0; n < 8; n++) statuses.push(await signIn(email, PASSWORD, n % 2 ? api : other))
  t.strictSame(statuses, Array(8).fill(303))

  const mixed: number[] = []
  for (let n = 0; n < 4; n++) mixed.push(await signIn(email, 'wrong'), await signIn(email))
  t.strictSame(mixed, [422, 303, 422, 303, 422, 303, 422, 303], 'a successful sign-in does not reset the failures')
  t.strictSame(
    [await signIn(email, 'wrong'), await signIn(email), await signIn(email, PASSWORD, other)],
    [422, 429, 429],
  )
})

t.test('sign-in checks only five of many concurrent wrong passwords', async t => {
  const { email } = await newMember(world, account.id, 'owner')
  const statuses = await Promise.all(Array.from({ length: 20 }, (_, n) => signIn(email, 'wrong', n % 2 ? api : other)))
  t.strictSame(statuses.toSorted(), [...Array(5).fill(422), ...Array(15).fill(429)])
})
