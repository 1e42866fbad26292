import t, { type Test } from 'tap'
import { setTransportFault } from '#sql/safety/platform.ts'
import { shows } from '#test/support/shows.ts'
import { newAccount, openWorld } from '#test/support/world.ts'
import { switchCommands } from '#workers/admin/switches.ts'

const world = await openWorld(t)

/** Runs in this process: starting one each time would take longer than all of them (admin.test.ts does so once). */
async function run(t: Test, words: string[], values: Record<string, string> = {}): Promise<string[]> {
  const printed = t.capture(console, 'log')
  const command = switchCommands[words.slice(0, 2).join(' ')]
  await command?.run(world, values, words.slice(2))
  printed.restore()
  return printed.args().map(([line]) => String(line))
}

t.test('pause and resume work for the server, an account and a domain, and sending status lists them', async t => {
  const account = await newAccount(world)
  const owner = { account: `account ${account.id}` }
  t.strictSame(await run(t, ['sending', 'pause']), ['paused'])
  t.strictSame(await run(t, ['account', 'pause', account.id]), ['paused'])
  const reason = 'A list\nit bought'
  t.strictSame(await run(t, ['domain', 'pause', account.domain.toUpperCase()], { ...owner, reason }), ['paused'])
  t.strictSame(await run(t, ['sending', 'warm-up', '50']), ['50 on the first day'])
  await setTransportFault(world.pool, 'Invalid login')
  const since = 'paused since 20\\S*Z by operator'
  shows(t, await run(t, ['sending', 'status']), [
    new RegExp(`^sending: ${since}$`),
    'transport: Invalid login',
    'warm-up: 50 on the first day',
    new RegExp(`^domain ${account.domain} of ${owner.account}: ${since}: A list\\?it bought$`),
    new RegExp(`^account ${owner.account}: ${since}$`),
  ])

  t.strictSame(await run(t, ['sending', 'resume']), ['resumed'])
  t.strictSame(await run(t, ['account', 'resume', account.id]), ['resumed'])
  t.strictSame(await run(t, ['domain', 'resume', account.domain], owner), ['resumed'])
  t.strictSame(await run(t, ['sending', 'warm-up', '0']), ['off'])
  await setTransportFault(world.pool, null)
  t.strictSame(await run(t, ['sending', 'status']), ['sending: on', 'transport: no fault is known', 'warm-up: off'])
})

t.test('pausing again keeps the time and takes the new reason', async t => {
  const account = await newAccount(world)
  await run(t, ['account', 'pause', account.id], { reason: 'one' })
  const read = () => world.pool.pg.query('SELECT paused_at, pause_reason FROM accounts WHERE id = $1', [account.id])
  const [before] = (await read()).rows
  await run(t, ['account', 'pause', account.id], { reason: 'two' })
  t.strictSame((await read()).rows, [{ ...before, pause_reason: 'two' }])
})

t.test('invalid arguments are refused', async t => {
  const account = await newAccount(world)
  const owner = { account: account.id }
  for (const [message, words, values] of [
    ['Which account?', ['account', 'pause']],
    ['There is no account nobody.', ['account', 'resume', 'nobody']],
    ['Which domain?', ['domain', 'pause'], owner],
    ['--account is missing', ['domain', 'pause', account.domain]],
    [`The account account ${account.id} has no domain other.com.`, ['domain', 'resume', 'other.com'], owner],
    ['How many on the first day? 0 turns it off.', ['sending', 'warm-up']],
    ['How many on the first day? 0 turns it off.', ['sending', 'warm-up', '-1']],
  ] as [string, string[], Record<string, string>?][]) {
    await t.rejects(run(t, words, values), { message })
  }
})
