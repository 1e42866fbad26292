import { spawnSync } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { newId } from '#lib/ids.ts'
import { startApi } from '#test/support/api.ts'
import { CURL_PAGES } from '#test/support/docs_blocks.ts'
import { Terminal } from '#test/support/markdown_examples.ts'
import { ROOT } from '#test/support/root.ts'
import { makeScratch } from '#test/support/scratch.ts'
import { addDomain, newAccount, openWorld } from '#test/support/world.ts'

const skip = { skip: spawnSync('curl', ['--version']).error ? 'there is no curl' : false }
const folder = await makeScratch('mailbrook-docs-')
await writeFile(join(folder, 'contacts.csv'), 'email,first_name,plan\nanna@y.com,Anna,pro\n')

const DAY_MS = 24 * 60 * 60_000

/** Each page in the order in which a reader meets its commands, with an account that has acme.com. */
for (const name of CURL_PAGES) {
  t.test(`the commands of docs/${name}.md do what the page says`, skip, async t => {
    const world = await openWorld(t)
    const account = await newAccount(world)
    const id = newId()
    await addDomain(world.pool, world.secrets, { account_id: account.id, id, name: 'acme.com', status: 'verified' })
    const api = await startApi(t, world, account.key)
    const template = { name: 'Digest', alias: 'digest', subject: 'This week', html: '<p>News</p>' }
    const { body } = await api.request('POST', '/api/templates', { body: template })
    await api.request('POST', `/api/templates/${body.id}/publish`, {})
    await api.request('POST', '/api/contacts', { body: { email: 'ben@y.com', domain: 'acme.com' } })
    const terminal = new Terminal(folder)
    t.teardown(() => terminal.close())
    const page = await readFile(join(ROOT, 'docs', `${name}.md`), 'utf8')
    const commands = [...page.matchAll(/^ {4}curl .*\n(?: {4}(?!curl ).*\n)*/gm)].map(([command]) => command)
    t.ok(commands.length > 0)
    let campaign_id = id
    let automation_id = id
    let email_id = id
    for (const command of commands) {
      const code = command
        .replaceAll('http://localhost:3000', api.url)
        .replaceAll('mb_...', account.key)
        .replace(/(?<=\/domains\/)[0-9a-f-]{36}|(?<="segment_id":")\.\.\./, id)
        .replace(/(?<=\/campaigns\/)[0-9a-f-]{36}/, campaign_id)
        .replace(/(?<=\/automations\/)[0-9a-f-]{36}/, automation_id)
        .replace(/(?<=\/polls\/)[0-9a-f-]{36}/, email_id)
        // The reader replaces this time with one in the future.
        .replace(/(?<="scheduled_at":")\d{4}-[^"]*/, new Date(Date.now() + DAY_MS).toISOString())
      const answer = JSON.parse(await terminal.run({ title: name, language: 'sh', code, answer: '' }))
      if (answer.object === 'campaign') campaign_id = answer.id
      if (answer.object === 'automation') automation_id = answer.id
      if (code.includes('/api/emails ')) email_id = answer.id
      t.strictSame(
        [answer.name, answer.message].filter(() => answer.statusCode),
        [],
        command,
      )
    }
  })
}
