import { buffer } from 'node:stream/consumers'
import { portOf } from '#lib/net/fetch/policy.ts'
import { FetchError, type FetchPolicy, type FetchRequest, fetchSafely } from '#lib/net/fetch_safely.ts'
import { ProviderError } from './provider_error.ts'

/** What was answered, whatever its status. */
export type ProviderAnswer = { status: number; text: string }

/** `path` is put behind the URL of the API. Throws ProviderError when there is no answer. */
export type AskProvider = (
  path: string,
  request?: Pick<FetchRequest, 'method' | 'headers' | 'body'>,
) => Promise<ProviderAnswer>

export type ProviderApi = { provider: string; url: string; policy: FetchPolicy }

/** A page of a hundred records has less than 100 kB. */
const MAX_BYTES = 4 * 1024 * 1024

/** Asks one provider, all in all until `signal` says that it is over. */
export function createAsk({ provider, url, policy }: ProviderApi, signal: AbortSignal): AskProvider {
  // The operator has chosen this port, whatever strangers may choose.
  const own = { ...policy, ports: [portOf(new URL(url))] }
  return async (path, request = {}) => {
    try {
      signal.throwIfAborted()
      const limits = { max_bytes: MAX_BYTES, deadline_ms: DEADLINE_MS, signal }
      const { status, body } = await fetchSafely({ ...request, ...limits, url: url + path }, own)
      return { status, text: (await buffer(body)).toString() }
    } catch (cause) {
      if (signal.aborted) throw new ProviderError(`${provider} did not answer in time.`, { cause })
      if (!(cause instanceof FetchError)) throw cause
      throw new ProviderError(`${provider} could not be asked.`, { cause })
    }
  }
}

/** Of one request. */
const DEADLINE_MS = 10_000

/** Undefined: it is none, such as the page of some proxy or no body at all; the status says enough. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const MAX_WORDS = 300

/** In characters: a user name of three is found in every other word. */
const MIN_SECRET = 4

/** What a provider said, in one line without the credentials, which some repeat. */
export function wordsOf(text: string, secrets: string[]): string {
  const forms = secrets
    .filter(secret => secret.length >= MIN_SECRET)
    .flatMap(secret => [
      ...[secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)],
      ...[Buffer.from(secret).toString('base64'), Buffer.from(secret).toString('hex')],
    ])
  const hidden = forms
    .sort((one, other) => other.length - one.length)
    .reduce((words, form) => words.replaceAll(new RegExp(RegExp.escape(form), 'gi'), '[redacted]'), text)
  const line = hidden.replace(/[\p{C}\p{Z}]+/gu, ' ').trim()
  return line.length > MAX_WORDS ? `${line.slice(0, MAX_WORDS).toWellFormed()}…` : line
}
