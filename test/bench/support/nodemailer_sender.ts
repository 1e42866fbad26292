import { generateKeyPairSync } from 'node:crypto'
import { createTransport } from 'nodemailer'

/** The baseline of `deliver`: nodemailer as commonly used, pooled, signing with an RSA key in PEM. Prints its rate. */
const { SINK_URL = '', COUNT = '1000', CALLERS = '64', EMAIL = '{}' } = process.env
const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const dkim = {
  domainName: 'sandbox.internal',
  keySelector: 'mb1',
  privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
}
const { hostname, port } = new URL(SINK_URL)
const transport = createTransport({
  host: hostname,
  port: Number(port),
  pool: true,
  maxConnections: 20,
  maxMessages: 100,
  dkim,
})
const email = JSON.parse(EMAIL)

async function send(count: number): Promise<number> {
  let left = count
  const start = performance.now()
  const sendSome = async () => {
    while (left-- > 0) await transport.sendMail(email)
  }
  await Promise.all(Array.from({ length: Number(CALLERS) }, sendSome))
  return count / ((performance.now() - start) / 1000)
}

await send(Number(COUNT) / 4)
console.log(await send(Number(COUNT)))
transport.close()
