import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { setUp } from '#flows/accounts/create_sandbox.ts'
import { startApi } from '#test/support/api.ts'
import { Terminal } from '#test/support/markdown_examples.ts'
import { ROOT } from '#test/support/root.ts'
import { openWorld } from '#test/support/world.ts'

t.test('the program in docs/coming_from_resend.md sends an email', async t => {
  const world = await openWorld(t)
  const key = (await setUp(world.pool, world.secrets)) as string
  const api = await startApi(t, world, key)
  const page = await readFile(join(ROOT, 'docs/coming_from_resend.md'), 'utf8')
  const [, code = ''] = /^```js\n(.*?)^```/ms.exec(page) ?? []
  const terminal = new Terminal(ROOT)
  t.teardown(() => terminal.close())
  const variables = `export API=${api.url}/api KEY=${key}\n`
  await terminal.run({ title: '', language: 'sh', code: variables, answer: '' })
  t.match(await terminal.run({ title: '', language: 'js', code, answer: '' }), /^\{ id: '[0-9a-f-]{36}' \}/)
})
