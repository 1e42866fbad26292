import t from 'tap'
import { generateApiKey } from '#lib/api_key.ts'
import { ApiError, OutageError } from '#lib/errors.ts'
import { createLog } from '#lib/log.ts'
import { kindOf } from '#lib/log_repeats.ts'

/** The output of a log, as text. */
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

t.test('the level decides which records are written', async t => {
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

t.test('fields with secret names are not written, three levels deep', async t => {
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

t.test('line breaks and control characters in any field stay within one line', async t => {
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

t.test('an API key is not written, in any field', async t => {
  const key = generateApiKey()
  const text = written(log => {
    log.info({ path: `/emails/${key}`, [key]: [key] }, `asked for ${key}.`)
    log.error(new Error(`no such email: ${key}`))
  })
  t.notMatch(text, key.slice(3))
  for (const line of text.trimEnd().split('\n')) t.doesNotThrow(() => JSON.parse(line))
})

t.test('an outage writes one line per second and kind, with the number left out', async t => {
  const lines: { msg: string; n?: number; left_out?: number }[] = []
  const log = createLog('info', { write: line => void lines.push(JSON.parse(line)) })
  const away = new OutageError('connect ECONNREFUSED')
  const refused = new ApiError('sending_service_unavailable', 'x', { cause: away })
  const flushed = new Promise(resolve => setTimeout(resolve, 1_100))
  for (let n = 0; n < 100; n++) {
    log.error({ err: refused, n }, 'a request failed')
    log.error({ err: Object.assign(new Error('x'), { code: '57P03' }), n }, `Failed task ${n} (${n}.${n}ms): ${n}`)
    log.warn({ err: new AggregateError([away]), n }, 'a request failed')
    log.error({ err: new Error('a defect'), n }, 'a defect')
  }
  const shown = () => lines.filter(({ msg }) => msg !== 'a defect').map(({ n, left_out }) => [n, left_out])
  t.same(shown(), [
    [0, undefined],
    [0, undefined],
    [0, undefined],
  ])
  t.equal(lines.length, 103, 'a defect does not count as an outage')
  await flushed
  t.same(shown().slice(3), [
    [99, 98],
    [99, 98],
    [99, 98],
  ])
})

t.test('kindOf ignores ids, numbers and errors in messages', async t => {
  const kinds = [
    'Error with notify listener (trying again in 888ms): connect ECONNREFUSED 127.0.0.1:41851',
    'Error with notify listener (trying again in 12ms): Connection terminated unexpectedly',
  ].map(kindOf)
  t.equal(new Set(kinds).size, 1)
  t.equal(kindOf("Failed to complete jobs '1', '22', '3':\nError: x"), kindOf("Failed to complete jobs '9':\nerror: y"))
  t.not(kindOf('Failed to complete jobs'), kindOf('Failed to fail jobs'))
})
