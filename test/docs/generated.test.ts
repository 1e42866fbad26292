import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { generateFiles } from '#docs/generate/files.ts'
import { sections } from '#docs/generate/variables.ts'
import { Environment } from '#lib/config.ts'
import { ROOT } from '#test/support/root.ts'

for (const [path, text] of Object.entries(generateFiles())) {
  t.test(`${path} is what "npm run docs" writes`, async t => {
    t.equal(await readFile(join(ROOT, path), 'utf8'), text)
  })
}

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
