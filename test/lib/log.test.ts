import t from 'tap'
import { generateApiKey } from '../../lib/api_key.ts'
import { ApiError } from '../../lib/errors.ts'
import { createLog } from '../../lib/log.ts'

/** What a log writes, as text. */
function written(write: (log: ReturnType<typeof createLog>) => void, level = 'trace'): string {
  const lines: string[] = []
  write(createLog(level, { write: line => void lines.push(line) }))
  return lines.join('')
}

const canary = 'canary-7261'

t.test('a record is one line of JSON with its level, time, process and message', async t => {
  const text = written(log => log.info({ email_id: 'x' }, 'sent'))
  t.equal(text.indexOf('\n'), text.length - 1)
  const record = JSON.parse(text)
  t.match(record, { level: 30, time: Number, pid: process.pid, email_id: 'x', msg: 'sent' })
  t.strictSame(Object.keys(record).sort(), ['email_id', 'level', 'msg', 'pid', 'time'])
})

t.test('the level says what is written', async t => {
  t.equal(
    written(log => log.debug('x'), 'info'),
    '',
  )
  t.equal(
    written(log => log.error('x'), 'silent'),
    '',
  )
  t.match(
    written(log => log.warn('x'), 'info'),
    '"msg":"x"',
  )
})

t.test('what is secret by name is not written, at any of three levels', async t => {
  for (const name of [
    'authorization',
    'password',
    'secret',
    'secret_key',
    'private_key',
    'api_key',
    'token',
    'content',
  ]) {
    for (const record of [{ [name]: canary }, { a: { [name]: canary } }, { a: { b: { [name]: { c: canary } } } }]) {
      const text = written(log => log.info(record, 'x'))
      t.notMatch(text, canary, JSON.stringify(record))
      t.match(text, '[redacted]')
    }
  }
})

t.test('line breaks and control characters in any field stay in their one line', async t => {
  const hostile = `a\r\nb\nc\u2028d\u2029e\u0085f\x1b[2Jg\x00h\u202ei${String.fromCharCode(0xd800)}`
  const error = Object.assign(new Error(hostile), { code: hostile })
  const text = written(log => {
    log.info({ path: hostile, [hostile]: 1, deep: { list: [hostile] } }, hostile)
    log.error({ err: error }, hostile)
    log.error(error)
    log.warn({ err: new ApiError('not_found', hostile, { cause: error }) }, '%s', hostile)
  })
  const lines = text.trimEnd().split('\n')
  t.equal(lines.length, 4)
  for (const line of lines) {
    t.doesNotThrow(() => JSON.parse(line))
    t.notMatch(line, /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/u)
  }
  t.match(JSON.parse(lines[0] as string), { path: hostile, msg: hostile })
})

t.test('an API key is not written, whatever field it is in', async t => {
  const key = generateApiKey()
  const text = written(log => {
    log.info({ path: `/emails/${key}`, [key]: [key] }, `asked for ${key}.`)
    log.error(new Error(`no such email: ${key}`))
  })
  t.notMatch(text, key.slice(3))
  for (const line of text.trimEnd().split('\n')) t.doesNotThrow(() => JSON.parse(line))
})
