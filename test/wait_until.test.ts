import t from 'tap'
import { waitUntil } from '#test/support/wait_until.ts'

t.test('waitUntil returns the first truthy result of the condition', async t => {
  let tries = 0
  t.equal(await waitUntil(async () => ++tries === 3 && `after ${tries}`, 'the third try'), 'after 3')
})

t.test('waitUntil rejects at its limit with what it waited for', async t => {
  let tries = 0
  await t.rejects(
    waitUntil(() => false, 'the mail is sent', 0),
    { message: 'not within 0 s: the mail is sent' },
  )
  const count = () => {
    tries++
    return null
  }
  await t.rejects(
    waitUntil(count, async () => `${tries > 2 ? 'many' : 'few'} tries`, 100),
    { message: 'not within 0.1 s: many tries' },
  )
})

t.test('waitUntil rejects with the error of the condition', async t => {
  const ended = async () => {
    throw new Error('the process has ended')
  }
  await t.rejects(waitUntil(ended, 'a line is printed'), { message: 'the process has ended' })
})
