import t from 'tap'
import { LARGE, type Prepared } from '#flows/delivery/prepare/prepare_message.ts'
import { SharedMessages } from '#flows/delivery/prepare/shared_messages.ts'
import { PERSONAL_RENDERER } from '#lib/contents/compile_content.ts'
import type { ClaimedDelivery } from '#sql/delivery/deliveries.ts'
import { PLAIN } from '#test/support/delivering.ts'

const ROOM = 10 * LARGE
/** Id of every delivery of mail that is not personal. */
const SAME = '0'

t.test('recipients share one message, which is dropped after the last of them', async t => {
  const { shared, composed } = open()
  const [a, b] = [delivery('small', 'a.com'), delivery('small', 'b.com')]
  shared.join(a)
  shared.join(b)
  const [one, other] = await Promise.all([compose(shared, a), compose(shared, b)])
  t.equal(one, other)
  t.strictSame(composed, ['small'])
  shared.leave(a)
  t.equal(await compose(shared, b), one)
  shared.leave(b)
  shared.join(a)
  t.not(await compose(shared, a), one)
  t.strictSame(composed, ['small', 'small'])
})

t.test('recipients of a personal email share the prepared email, not the message', async t => {
  const { shared, composed, prepared } = open()
  const [a, b] = [personal('1', 'small'), personal('2', 'small')]
  for (const each of [a, b]) shared.join(each)
  const [one, other] = await Promise.all([compose(shared, a), compose(shared, b)])
  t.not(one, other)
  t.equal(await compose(shared, a), one)
  t.strictSame([prepared, composed], [['small'], ['small 1', 'small 2']])
  shared.leave(a)
  t.equal(await compose(shared, b), other)
  shared.leave(b)
  shared.join(a)
  t.not(await compose(shared, a), one)
  t.strictSame(
    [prepared, composed],
    [
      ['small', 'small'],
      ['small 1', 'small 2', 'small 1'],
    ],
  )
})

t.test('each large message of a personal email takes its own room', async t => {
  const { shared, composed } = open()
  const all = ['1', '2', '3'].map(id => personal(id, '4 x'))
  for (const each of all) shared.join(each)
  const [first, second] = all.map(each => compose(shared, each))
  await first
  await turn()
  t.strictSame(composed, ['4 x 1'], 'a destination gets at most half of the room')
  shared.leave(all[0] as ClaimedDelivery)
  await second
  t.strictSame(composed, ['4 x 1', '4 x 2'])
})

t.test('a large message waits for room, which the last recipient of another frees', async t => {
  const { shared, composed } = open()
  const [first, second, third] = [delivery('4 first', 'a.com'), delivery('4 second', 'a.com'), delivery('4 b', 'b.com')]
  const sibling = delivery('4 first', 'c.com')
  for (const each of [first, sibling, second, third]) shared.join(each)
  const all = [first, sibling, second, third].map(each => compose(shared, each))
  await Promise.all([all[0], all[1], all[3]])
  t.strictSame(composed, ['4 first', '4 b'], 'a destination gets at most half of the room')

  shared.leave(first)
  await turn()
  t.equal(composed.length, 2)
  shared.leave(sibling)
  await all[2]
  t.strictSame(composed, ['4 first', '4 b', '4 second'])
})

t.test('small messages do not wait for room', async t => {
  const { shared, composed } = open()
  const [huge, large, small] = [delivery('30', 'a.com'), delivery('2', 'a.com'), delivery('small', 'a.com')]
  for (const each of [huge, large, small]) shared.join(each)
  await compose(shared, huge)
  const waiting = compose(shared, large)
  await compose(shared, small)
  t.strictSame(composed, ['30', 'small'], 'a message larger than all the room is composed alone')
  shared.leave(huge)
  await waiting
})

t.test('a message that could not be composed takes no room', async t => {
  const { shared } = open()
  const broken = [1, 2, 3, 4, 5].map(i => delivery(`4 broken ${i}`, 'a.com'))
  for (const each of broken) {
    shared.join(each)
    await t.rejects(compose(shared, each), /broken/)
    shared.leave(each)
  }
  const sound = delivery('4', 'a.com')
  shared.join(sound)
  await compose(shared, sound)
})

t.test('stop() rejects messages that wait for room or would wait', async t => {
  const { shared, composed } = open()
  const [first, second, late] = [delivery('4 first', 'a.com'), delivery('4 second', 'a.com'), delivery('4', 'b.com')]
  for (const each of [first, second]) shared.join(each)
  await compose(shared, first)
  const waiting = compose(shared, second)
  await turn()
  shared.stop()
  await t.rejects(waiting, /stopped/)
  shared.leave(second)
  shared.join(late)
  await t.rejects(compose(shared, late), /stopped/)
  shared.leave(late)
  shared.leave(first)
  t.strictSame(composed, ['4 first'])
})

/** `size` of a message is LARGE times the number at the beginning of its id, or half of LARGE. */
function open() {
  const prepared: string[] = []
  const composed: string[] = []
  const prepareMessage = async ({ id }: { id: string }): Promise<Prepared> => {
    prepared.push(id)
    return {
      sender: { name: 'x.com', return_path: null, tls: 'opportunistic', transport: null },
      size: LARGE * (Number.parseInt(id, 10) || 0.5),
      async compose(recipient) {
        if (id.includes('broken')) throw new Error('broken')
        composed.push(recipient.id === SAME ? id : `${id} ${recipient.id}`)
        return Buffer.from(id)
      },
    }
  }
  return { shared: new SharedMessages(prepareMessage, ROOM), prepared, composed }
}

function personal(id: string, email_id: string): ClaimedDelivery {
  return { ...delivery(email_id, 'a.com'), id, renderer: PERSONAL_RENDERER }
}

function delivery(email_id: string, destination: string): ClaimedDelivery {
  const token = { account_id: '1', id: SAME, attempt: 1, lease_owner: '3' }
  return { ...token, ...PLAIN, email_id, recipient: `a@${destination}`, destination }
}

async function compose(shared: SharedMessages, delivery: ClaimedDelivery): Promise<Buffer> {
  return shared.compose(delivery, await shared.prepare(delivery))
}

function turn(): Promise<void> {
  return new Promise(resolve => setImmediate(resolve))
}
