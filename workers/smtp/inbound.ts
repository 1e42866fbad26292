import type { SMTPServerDataStream, SMTPServerSession } from 'smtp-server'
import type { Blobs } from '#flows/files/blobs.ts'
import type { Foundation } from '#flows/process/run_process.ts'
import { findOperatorParty } from '#flows/receiving/find_operator.ts'
import { createFindReceivingDomain } from '#flows/receiving/find_receiving_domain.ts'
import { findReturnPathParty } from '#flows/receiving/find_return_path.ts'
import { createReceiveEmail, type ReceivingParty } from '#flows/receiving/receive_email.ts'
import { isBarePostmaster, parseRecipient } from '#lib/receiving/recipient.ts'
import { readContent } from '#lib/receiving/smtp/content.ts'
import type { SmtpLimits } from '#lib/receiving/smtp/limits.ts'
import { SmtpReplyError } from '#lib/receiving/smtp/reply_error.ts'
import { type Listening, listenForSmtp } from './listener.ts'

type Callback = (error?: Error | null, message?: string) => void

/** The recipients of a message, by their address in lower case: as smtp-server tells them apart. */
type Parties = Map<string, ReceivingParty>

/** Takes in mail for verified domains that receive, and for nobody else. */
export async function startInbound(foundation: Foundation, blobs: Blobs, limits: SmtpLimits): Promise<Listening> {
  const { config, log, pool } = foundation
  const receiveEmail = createReceiveEmail({ ...foundation, blobs, patience: limits })
  const findDomain = createFindReceivingDomain(pool, limits.remember_ms)
  const envelopes = new WeakMap<SMTPServerSession, Parties>()
  const underWay = new Set<Promise<void>>()

  const addRecipient = async (text: string, session: SMTPServerSession): Promise<void> => {
    const parties = envelopes.get(session) as Parties
    // Reports of what was sent come whatever the quota says, and to domains that receive nothing else.
    const reported = await findReturnPathParty(foundation, text)
    if (reported) {
      parties.set(reported.recipient, reported)
      return
    }
    if (isBarePostmaster(text)) {
      const operator = await findOperatorParty(foundation)
      if (!operator) throw new SmtpReplyError(450, '4.2.1 There is no account yet')
      parties.set('postmaster', operator) // not by its address, which may be another account's
      return
    }
    const address = parseRecipient(text)
    const domain = address && (await findDomain(address.domain))
    if (!domain) throw new SmtpReplyError(550, '5.7.1 No mail is received here for this address')
    const others = [...parties.values()].filter(party => party.account_id === domain.account_id)
    if (domain.room !== null && others.length >= domain.room) {
      throw new SmtpReplyError(452, '4.2.2 The receiver has reached a quota')
    }
    const party = { account_id: domain.account_id, domain_id: domain.id, recipient: address.address }
    parties.set(address.address.toLowerCase(), party)
  }

  const receive = async (stream: SMTPServerDataStream, session: SMTPServerSession): Promise<void> => {
    const { mailFrom } = session.envelope
    const content = await readContent(stream, limits)
    const client = {
      address: session.remoteAddress,
      helo: session.hostNameAppearsAs,
      name: null,
      tls: session.secure ? versionOf(session) : null,
      protocol: protocolOf(session),
    }
    const recipients = [...(envelopes.get(session) as Parties).values()]
    try {
      await receiveEmail({ mail_from: mailFrom ? mailFrom.address : '', recipients, client }, content)
    } finally {
      await content.close()
    }
  }

  const answer = (error: unknown, callback: Callback) => {
    if (error instanceof SmtpReplyError) return callback(error)
    log.error({ err: error }, 'mail could not be received')
    callback(new SmtpReplyError(451, '4.3.0 Try again later', error))
  }

  const listening = await listenForSmtp(
    foundation,
    { key: 'SMTP_PORT', port: config.SMTP_PORT, limits },
    {
      disabledCommands: ['AUTH'],
      // Senders are taken as they are: there is mail from `user.@docomo.ne.jp`. Recipients are read by `parseRecipient`.
      lenientAddressParsing: true,
      onMailFrom(_address, session, callback) {
        envelopes.set(session, new Map())
        const isBusy = underWay.size >= limits.storing
        callback(isBusy ? new SmtpReplyError(421, '4.3.2 Too much mail at once, try again later') : null)
      },
      onRcptTo({ address }, session, callback) {
        addRecipient(address, session).then(
          () => callback(),
          error => answer(error, callback),
        )
      },
      onData(stream, session, callback) {
        const received = receive(stream, session)
        const settled = received.catch(() => {}).finally(() => underWay.delete(settled))
        underWay.add(settled)
        withinTime(received, stream, limits.store_ms).then(
          () => callback(null, '2.0.0 Stored'),
          // When the client has gone there is nobody to answer.
          error => (stream.errored ? callback(error) : answer(error, callback)),
        )
      },
    },
  )
  return {
    port: listening.port,
    async stop() {
      await listening.stop()
      await Promise.all(underWay)
    },
  }
}

/** A message that is stored too late, after its sender was told to try again, is known by then. */
function withinTime(received: Promise<void>, stream: SMTPServerDataStream, ms: number): Promise<void> {
  return new Promise((resolve, reject) => {
    let timer: NodeJS.Timeout | undefined
    stream.once('end', () => {
      timer = setTimeout(() => reject(new Error(`a message was not stored in ${ms} ms`)), ms).unref()
    })
    received.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}

/** RFC 3848; RFC 6531 section 3.7.3 for a message that asked for SMTPUTF8. */
function protocolOf({ transmissionType, envelope }: SMTPServerSession): string {
  return (envelope as { smtpUtf8?: boolean }).smtpUtf8
    ? transmissionType.replace(/^ESMTP/, 'UTF8SMTP')
    : transmissionType
}

function versionOf({ tlsOptions }: SMTPServerSession): string | null {
  return tlsOptions ? ((tlsOptions as { version?: string }).version ?? null) : null
}
