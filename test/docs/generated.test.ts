import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { operations } from '#api/routes/index.ts'
import { apiPage } from '#docs/generate/api_page.ts'
import { generateFiles } from '#docs/generate/files.ts'
import { anchorOf } from '#docs/generate/markdown.ts'
import { sections } from '#docs/generate/variables.ts'
import { Environment } from '#lib/config.ts'
import { EVENT_TYPES } from '#lib/webhooks/event_types.ts'
import { ROOT } from '#test/support/root.ts'

for (const [path, text] of Object.entries(generateFiles())) {
  t.test(`${path} equals the output of "npm run docs"`, async t => {
    t.equal(await readFile(join(ROOT, path), 'utf8'), text)
  })
}

t.test('docs/api.md has every operation, and its internal links lead to headings', async t => {
  const page = apiPage()
  const headings = Array.from(page.matchAll(/^#+ (.+)$/gm), ([, heading]) => anchorOf(heading as string))
  t.equal(new Set(headings).size, headings.length, 'no heading occurs twice')
  const targets = new Set(Array.from(page.matchAll(/\]\(#([^)]+)\)/g), ([, target]) => target))
  t.ok(targets.size > 30, `${targets.size} targets`)
  t.strictSame(
    [...targets].filter(target => !headings.includes(target as string)),
    [],
  )
  for (const { summary, method, path } of operations) {
    t.match(page, `### ${summary}\n\n\`${method} ${path}\``)
  }
})

t.test('docs/configuration.md has every variable, with a description and a default', async t => {
  const variables = sections.flatMap(section => section.variables)
  t.strictSame(
    variables.map(({ name }) => name),
    Object.keys(Environment.shape),
  )
  for (const { name, description, value, unset } of variables) {
    t.match(description, /^[A-Z].{10,}[.]$/, name)
    t.ok(value || unset, name)
  }
})

t.test('docs/webhooks.md lists each type of event', async t => {
  const page = await readFile(join(ROOT, 'docs/webhooks.md'), 'utf8')
  t.strictSame(
    EVENT_TYPES.filter(type => !page.includes(`\`${type}\``)),
    [],
  )
})
