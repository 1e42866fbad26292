import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import t from 'tap'
import { ask } from '#client/cli/input/ask.ts'

/** Opens a question on a terminal. */
function open() {
  const { signal, abort } = withAbort()
  const input = new PassThrough()
  const answer = ask('Continue? ', { signal, input, output: new PassThrough(), terminal: true })
  return { input, answer, abort }
}

function withAbort() {
  const controller = new AbortController()
  return { signal: controller.signal, abort: () => controller.abort() }
}

t.test('a question returns the line that is typed', async t => {
  const { input, answer } = open()
  input.write('yes\r')
  t.equal(await answer, 'yes')
})

t.test('a question whose input ends returns an empty line', async t => {
  const { input, answer } = open()
  input.end()
  t.equal(await answer, '')
})

t.test('Ctrl-C in a question interrupts the command', async t => {
  const { input, answer, abort } = open()
  // As the handler of the command does.
  const interrupted = once(process, 'SIGINT').then(abort)
  input.write('\u0003')
  await interrupted
  await t.rejects(answer, { name: 'AbortError' })
})
