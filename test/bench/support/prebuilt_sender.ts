import { promisify } from 'node:util'
import MailComposer from 'nodemailer/lib/mail-composer'
import SMTPConnection from 'nodemailer/lib/smtp-connection'

/** A baseline of `campaign`: one prebuilt message, sent repeatedly by nodemailer's SMTPConnection. Prints its rate. */
const { SINK_URL = '', COUNT = '1000', EMAIL = '{}' } = process.env
const CONNECTIONS = 5
const { hostname, port } = new URL(SINK_URL)
const { html, ...email } = JSON.parse(EMAIL)
const text = html.replace(/<[^>]+>/g, '')
const message = await new MailComposer({ ...email, html, text }).compile().build()

async function send(connections: SMTPConnection[], count: number): Promise<number> {
  let left = count
  const start = performance.now()
  await Promise.all(
    connections.map(async connection => {
      const sendOne = promisify(connection.send.bind(connection))
      // A copy each time, since nodemailer changes it.
      while (left-- > 0) await sendOne({ from: 'bench@sandbox.internal', to: 'ok@sink.internal' }, message)
    }),
  )
  return count / ((performance.now() - start) / 1000)
}

const connections = await Promise.all(
  Array.from({ length: CONNECTIONS }, async () => {
    const connection = new SMTPConnection({ host: hostname, port: Number(port) })
    await new Promise<void>(resolve => connection.connect(() => resolve()))
    return connection
  }),
)
await send(connections, Number(COUNT) / 4)
console.log(await send(connections, Number(COUNT)))
for (const connection of connections) connection.quit()
