import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { SMTPServer, type SMTPServerSession } from 'smtp-server'
import { createBlobs } from '../flows/blobs.ts'
import { findReturnPathParty } from '../flows/find_return_path.ts'
import { type ReceivingParty, receiveEmail } from '../flows/receive_email.ts'
import { type Foundation, type Running, startOnFoundation, superviseProcess } from '../flows/run_process.ts'
import { parseAddress } from '../lib/address.ts'
import { findReceivingDomain } from '../sql/domains.ts'

/** Takes in mail for verified domains that receive. */
export async function startSmtp(foundation: Foundation): Promise<Running & { port: number }> {
  const { config, log, pool } = foundation
  const blobs = createBlobs(foundation)
  const parties = new WeakMap<SMTPServerSession, ReceivingParty[]>()
  const server = new SMTPServer({
    name: config.HELO_NAME,
    disabledCommands: ['AUTH', 'STARTTLS'],
    size: 40 * 1024 * 1024,
    logger: false,
    closeTimeout: 10_000,
    onMailFrom: (_address, session, callback) => {
      parties.set(session, [])
      callback()
    },
    onRcptTo: ({ address }, session, callback) => {
      findParty(address)
        .then(party => {
          if (!party) return callback(reply(550, '5.7.1 We do not receive mail for this address'))
          parties.get(session)?.push(party)
          callback()
        })
        .catch(error => {
          log.error({ err: error }, 'a recipient could not be looked up')
          callback(reply(451, '4.3.0 Try again later'))
        })
    },
    onData: (stream, session, callback) => {
      const { mailFrom } = session.envelope
      const client = {
        address: session.remoteAddress,
        helo: session.hostNameAppearsAs,
        name: session.clientHostname ?? null,
        tls: null,
      }
      buffer(stream)
        .then(raw => {
          const mail_from = mailFrom ? mailFrom.address : ''
          return receiveEmail({ pool, blobs }, { mail_from, recipients: parties.get(session) ?? [], client, raw })
        })
        .then(() => callback(null, '2.0.0 Stored'))
        .catch(error => {
          log.error({ err: error }, 'a message could not be stored')
          callback(reply(451, '4.3.0 Try again later'))
        })
    },
  })
  const findParty = async (address: string): Promise<ReceivingParty | null> => {
    const party = await findReturnPathParty(foundation, address)
    if (party) return party
    const parsed = parseAddress(address)
    const domain = parsed && (await findReceivingDomain(pool, parsed.domain))
    return domain && { account_id: domain.account_id, domain_id: domain.id, recipient: parsed.address }
  }
  server.on('error', error => log.warn({ err: error }, 'a connection failed'))
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(config.SMTP_PORT, resolve)
  })
  return {
    port: (server.server.address() as AddressInfo).port,
    async stop() {
      await new Promise<void>(resolve => server.close(() => resolve()))
      blobs.close()
    },
  }
}

function reply(code: number, text: string): Error {
  return Object.assign(new Error(text), { responseCode: code })
}

if (import.meta.main) await superviseProcess(() => startOnFoundation(startSmtp))
