import type { SMTPServerDataStream, SMTPServerOptions, SMTPServerSession } from 'smtp-server'
import type { Blobs } from '#flows/files/blobs.ts'
import type { Foundation } from '#flows/process/run_process.ts'
import { createReadTokenKeys, type ReadTokenKeys } from '#flows/process/token_keys.ts'
import { findOperatorParty } from '#flows/receiving/find_operator.ts'
import { createFindReceivingDomain, refuseRecipient } from '#flows/receiving/find_receiving_domain.ts'
import { findReturnPathParty } from '#flows/receiving/find_return_path.ts'
import { createReceiveEmail, type ReceivingParty } from '#flows/receiving/receive_email.ts'
import { withAsciiDomain } from '#lib/mail/address.ts'
import { isBarePostmaster, parseRecipient } from '#lib/receiving/recipient.ts'
import { readContent } from '#lib/receiving/smtp/content.ts'
import type { SmtpLimits } from '#lib/receiving/smtp/limits.ts'
import { SmtpReplyError } from '#lib/receiving/smtp/reply_error.ts'
import { clientOf } from './client.ts'
import { type Listening, listenForSmtp, replyAfter } from './listener.ts'

/** The recipients of a message by their address in lower case, in which smtp-server compares them. */
type Parties = Map<string, ReceivingParty>

/** Receives mail for verified domains with receiving enabled, and for no others. */
export async function startInbound(foundation: Foundation, blobs: Blobs, limits: SmtpLimits): Promise<Listening> {
  const inbound = new Inbound(foundation, blobs, limits)
  const place = { key: 'SMTP_PORT', port: foundation.config.SMTP_PORT, limits } as const
  const listening = await listenForSmtp(foundation, place, inbound.options())
  return {
    port: listening.port,
    async stop() {
      await listening.stop()
      await inbound.idle()
    },
  }
}

class Inbound {
  readonly #foundation: Foundation
  readonly #limits: SmtpLimits
  readonly #receiveEmail: ReturnType<typeof createReceiveEmail>
  readonly #findDomain: ReturnType<typeof createFindReceivingDomain>
  readonly #readTokenKeys: ReadTokenKeys
  readonly #envelopes = new WeakMap<SMTPServerSession, Parties>()
  readonly #underWay = new Set<Promise<void>>()

  constructor(foundation: Foundation, blobs: Blobs, limits: SmtpLimits) {
    this.#foundation = foundation
    this.#limits = limits
    this.#receiveEmail = createReceiveEmail({ ...foundation, blobs, patience: limits })
    this.#readTokenKeys = createReadTokenKeys(foundation)
    this.#findDomain = createFindReceivingDomain(foundation.pool, limits.remember_ms)
  }

  options(): SMTPServerOptions {
    const toReply = (error: unknown) => this.#toReply(error)
    return {
      disabledCommands: ['AUTH'],
      // Invalid senders are accepted, since there is mail from `user.@docomo.ne.jp`. `parseRecipient` checks recipients.
      lenientAddressParsing: true,
      onMailFrom: (_address, session, callback) => callback(this.#begin(session)),
      onRcptTo: ({ address }, session, callback) => replyAfter(this.#addRecipient(address, session), callback, toReply),
      onData: (stream, session, callback) => {
        // No reply if the client has disconnected.
        const toError = (error: unknown) => (stream.errored ? (error as Error) : toReply(error))
        replyAfter(this.#receiveInTime(stream, session), callback, toError)
      },
    }
  }

  /** Resolves once no message is being stored. */
  async idle(): Promise<void> {
    await Promise.all(this.#underWay)
  }

  #begin(session: SMTPServerSession): SmtpReplyError | null {
    this.#envelopes.set(session, new Map())
    const isBusy = this.#underWay.size >= this.#limits.storing
    return isBusy ? new SmtpReplyError(421, '4.3.2 Too much mail at once, try again later') : null
  }

  async #addRecipient(text: string, session: SMTPServerSession): Promise<undefined> {
    const parties = this.#envelopes.get(session) as Parties
    // Reports on sent mail, and mail to unsubscribe, are received regardless of quotas, even for domains with receiving
    // disabled.
    const dependencies = { ...this.#foundation, readTokenKeys: this.#readTokenKeys }
    const reported = await findReturnPathParty(dependencies, text)
    if (reported) parties.set(reported.recipient, reported)
    // Stored under `postmaster`, not under the address of the operator, which may belong to another account.
    else if (isBarePostmaster(text)) parties.set('postmaster', await this.#findOperator())
    else {
      const party = await this.#findReceiver(text, parties)
      parties.set(party.recipient.toLowerCase(), party)
    }
  }

  async #findOperator(): Promise<ReceivingParty> {
    const operator = await findOperatorParty(this.#foundation)
    if (!operator) throw new SmtpReplyError(450, '4.2.1 There is no account yet')
    return operator
  }

  async #findReceiver(text: string, parties: Parties): Promise<ReceivingParty> {
    const address = parseRecipient(text)
    const domain = address && (await this.#findDomain(address.domain))
    if (!domain) throw await refuseRecipient(this.#foundation.pool, address?.domain)
    const others = [...parties.values()].filter(party => party.account_id === domain.account_id)
    if (domain.room !== null && others.length >= domain.room) {
      throw new SmtpReplyError(452, '4.2.2 The receiver has reached a quota')
    }
    return { account_id: domain.account_id, domain_id: domain.id, recipient: address.address }
  }

  async #receiveInTime(stream: SMTPServerDataStream, session: SMTPServerSession): Promise<string> {
    const received = this.#receive(stream, session)
    const settled = received.catch(() => {}).finally(() => this.#underWay.delete(settled))
    this.#underWay.add(settled)
    await withinTime(received, stream, this.#limits.store_ms)
    return '2.0.0 Stored'
  }

  async #receive(stream: SMTPServerDataStream, session: SMTPServerSession): Promise<void> {
    const { mailFrom } = session.envelope
    const content = await readContent(stream, this.#limits)
    const recipients = [...(this.#envelopes.get(session) as Parties).values()]
    const envelope = {
      mail_from: mailFrom ? withAsciiDomain(mailFrom.address) : '',
      recipients,
      client: clientOf(session),
    }
    try {
      await this.#receiveEmail(envelope, content)
    } finally {
      await content.close()
    }
  }

  #toReply(error: unknown): SmtpReplyError {
    if (error instanceof SmtpReplyError) return error
    this.#foundation.log.error({ err: error }, 'mail could not be received')
    return new SmtpReplyError(451, '4.3.0 Try again later', error)
  }
}

/** Rejects `ms` after the end of the message. If it is stored later, the sender's retry is recognized as the same message. */
function withinTime(received: Promise<void>, stream: SMTPServerDataStream, ms: number): Promise<void> {
  return new Promise((resolve, reject) => {
    let timer: NodeJS.Timeout | undefined
    stream.once('end', () => {
      timer = setTimeout(() => reject(new Error(`a message was not stored in ${ms} ms`)), ms).unref()
    })
    received.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
