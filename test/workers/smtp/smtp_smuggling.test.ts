import { buffer } from 'node:stream/consumers'
import t from 'tap'
import { v7 as uuid } from 'uuid'
import { createBlobs } from '#flows/files/blobs.ts'
import { newReceiver } from '#test/support/receiving.ts'
import { openClient } from '#test/support/smtp/smtp_client.ts'
import { openWorld } from '#test/support/world.ts'
import { startSmtp } from '#workers/smtp.ts'

const world = await openWorld(t, { SMTP_PORT: '0', SMTP_GREETING_DELAY_MS: '0', SMTP_CONNECTIONS_PER_ADDRESS: '200' })
const account = await newReceiver(world)
const { port, stop } = await startSmtp(world)
t.teardown(stop)

/** Sequences that one server or another takes for the end of a message. */
const ends = [
  '\n.\n',
  '\n.\r\n',
  '\r\n.\n',
  '\r.\r',
  '\r.\r\n',
  '\r\n.\r',
  '\n.\r',
  '\r.\n',
  '\r\n\0.\r\n',
  '\r\n.\0\r\n',
  '\r\n..\r\n',
  '\r\r\n.\r\r\n',
  '\n\n.\r\n',
  '\r\n. \r\n',
]

/** Ways to split the data: whole, byte by byte, and at critical places. */
const segmentations: Record<string, (text: string) => string[]> = {
  whole: text => [text],
  bytes: text => [...text],
  'after every CR': text => text.split(/(?<=\r)/),
  'before every dot': text => text.split(/(?=\.)/),
}

for (const [name, cut] of Object.entries(segmentations)) {
  t.test(`only CRLF . CRLF ends a message: ${name}`, async t => {
    await Promise.all(
      ends.map(async end => {
        const to = `${uuid()}@${account.domain}`
        const inner = `MAIL FROM:<evil@y.com>\r\nRCPT TO:<evil-${to}>\r\nDATA\r\nFrom: evil\r\n\r\nsmuggled`
        const client = await openClient(t, port)
        await client.begin(to)
        for (const part of cut(`Subject: x\r\n\r\nHello${end}${inner}\r\n.\r\n`)) {
          client.write(Buffer.from(part, 'latin1'))
          await new Promise(setImmediate)
        }
        t.match(await client.reply(), /^250 /)
        t.match(await client.command('NOOP'), /^250 .*OK/, 'no other reply was sent')
        const { rows } = await world.pool.pg.query('SELECT * FROM received_emails WHERE received_for && $1', [
          [to, `evil-${to}`],
        ])
        t.equal(rows.length, 1, JSON.stringify(end))
        const raw = await buffer(createBlobs(world).read(account.id, rows[0].raw_blob_id))
        t.notMatch(raw.toString('latin1'), /\r(?!\n)|(?<!\r)\n/, 'no CR or LF stands alone')
        t.match(raw.toString('latin1'), /^Subject: x\r\n\r\nHello[\s\S]*smuggled\r\n$/)
      }),
    )
  })
}

t.test('commands after the end of a message in the same packet are executed', async t => {
  const client = await openClient(t, port)
  const to = `${uuid()}@${account.domain}`
  client.write(
    `MAIL FROM:<>\r\nRCPT TO:<${to}>\r\nDATA\r\nx: y\r\n\r\n.\r\nMAIL FROM:<>\r\nRCPT TO:<${to}>\r\nDATA\r\nx: z\r\n\r\n.\r\nQUIT\r\n`,
  )
  await client.ended()
  t.equal(client.heard.match(/^250 2\.0\.0 Stored/gm)?.length, 2)
  t.match(client.heard, /221 2\.0\.0 Bye\r\n$/)
})
