import { globSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { stripTypeScriptTypes } from 'node:module'
import { join } from 'node:path'
import { type CallExpression, type Node, type Property, parse, type TemplateLiteral } from 'acorn'
import { ancestor } from 'acorn-walk'
import t from 'tap'
import { isPlainMessage } from '#test/support/http/message_form.ts'
import { ROOT } from '#test/support/root.ts'

/** All sentences of the API's errors, one per line, `…` for a value. `--write` rewrites the file. */
const LIST = join(import.meta.dirname, 'error_messages.txt')

/** Files that contain error messages; messages about single fields are tested in field_messages.test.ts. */
const WORDS_ERRORS = /\bApiError\b|\bwhy\b|\bexplain/

/** Members and calls whose texts are documentation or messages for operators. */
const DOCUMENTATION = new Set(['description', 'summary', 'describe', 'meta', 'warn', 'error', 'info', 'StartupError'])

t.test('errors are sentences that say what is wrong', async t => {
  const found = new Set<string>()
  for (const path of globSync('{api,flows,lib}/**/*.ts', { cwd: ROOT })) {
    const text = await readFile(join(ROOT, path), 'utf8')
    if (WORDS_ERRORS.test(text)) for (const sentence of sentencesOf(text)) found.add(sentence)
  }
  const listed = [...found].sort()
  if (process.argv.includes('--write')) await writeFile(LIST, `${listed.join('\n')}\n`)
  t.strictSame(listed, (await readFile(LIST, 'utf8')).trimEnd().split('\n'))
  for (const sentence of listed) t.ok(isPlainMessage(sentence.replace(/^…/, 'A')), sentence)
})

/** Returns the texts of a file that are sentences. */
function sentencesOf(typescript: string): string[] {
  const sentences: string[] = []
  const add = (text: string, above: Node[]) => {
    if (/^(?:[A-Z`"…]).* .*\.$/s.test(text) && !above.some(isDocumentation)) sentences.push(text)
  }
  ancestor(parse(stripTypeScriptTypes(typescript), { ecmaVersion: 'latest', sourceType: 'module' }), {
    Literal: ({ value }, _state, above) => add(String(value), above),
    TemplateLiteral: (template, _state, above) => add(textOf(template), above),
  })
  return sentences
}

function textOf({ quasis }: TemplateLiteral): string {
  return quasis.map(({ value }) => value.cooked).join('…')
}

function isDocumentation(node: Node): boolean {
  if (node.type === 'Property') return DOCUMENTATION.has(nameOf((node as Property).key))
  if (node.type !== 'CallExpression' && node.type !== 'NewExpression') return false
  const { callee } = node as CallExpression
  return DOCUMENTATION.has(nameOf(callee.type === 'MemberExpression' ? callee.property : callee))
}

function nameOf(node: Node): string {
  return 'name' in node ? String(node.name) : ''
}
