import t from 'tap'
import { prepareTemplate, publishTemplate } from '#flows/templates/change_template.ts'
import { resolveTemplates } from '#flows/templates/resolve_templates.ts'
import { ApiError } from '#lib/errors.ts'
import { NewEmail } from '#lib/sending/new_email.ts'
import { shows } from '#test/support/shows.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)

async function make(html: string): Promise<string> {
  const id = await world.pool.transaction(await prepareTemplate(account.id, { name: 'Long', html, subject: 'Hi' }))
  await publishTemplate(world.pool, account.id, id)
  return id
}

const readHtml = () => Promise.reject(new Error('no html is long'))

const emailOf = (template_id: string) =>
  NewEmail.parse({ from: 'a@b.com', to: 'c@d.com', template_id, variables: { a: 'x' } })

t.test('the rendered templates of one request have a total length limit', async t => {
  const [long, short] = [await make('x'.repeat(4_000_000)), await make('x')]
  const emails = [...Array(16).fill(long), short].map(emailOf)
  const results = await resolveTemplates(world.pool, account.id, emails, readHtml)
  t.strictSame(
    results.map(result => (result instanceof ApiError ? result.name : result.template_id)),
    [...Array(15).fill(long), 'validation_error', 'validation_error'],
  )
})

t.test('rendering many long templates does not block the event loop', async t => {
  const id = await make('{{a}}'.repeat(20_000))
  let turns = 0
  let isDone = false
  const turn = () => {
    turns++
    if (!isDone) setImmediate(turn)
  }
  turn()
  const any: typeof world.pool.any = async query => {
    const rows = await world.pool.any(query)
    turns = 0
    return rows
  }
  await resolveTemplates({ ...world.pool, any }, account.id, Array(100).fill(id).map(emailOf), readHtml)
  isDone = true
  t.ok(turns > 2, `${turns} turns`)
})

t.test('resolveTemplates makes no query without templates', async t => {
  const nothing = { any: () => t.fail('a query') } as never
  const email = { from: 'a@b.com', to: 'c@d.com', subject: '{{a}}' }
  const emails = [{}, { variables: { a: 1 } }].map(fields => NewEmail.parse({ ...email, ...fields }))
  const resolved = await resolveTemplates(nothing, account.id, emails, readHtml)
  shows(t, resolved, [{ subject: '{{a}}' }, { subject: '1' }])
})
