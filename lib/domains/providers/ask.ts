import { buffer } from 'node:stream/consumers'
import { portOf } from '#lib/net/fetch/policy.ts'
import { FetchError, type FetchPolicy, type FetchRequest, fetchSafely } from '#lib/net/fetch_safely.ts'
import { ProviderError } from './provider_error.ts'

/** The response, whatever its status. */
export type ProviderAnswer = { status: number; text: string }

/** `path` is appended to the URL of the API. @throws {ProviderError} if there is no response */
export type ProviderClient = (
  path: string,
  request?: Pick<FetchRequest, 'method' | 'headers' | 'body'>,
) => Promise<ProviderAnswer>

export type ProviderApi = { provider: string; url: string; policy: FetchPolicy }

/** A page of a hundred records has less than 100 kB. */
const MAX_BYTES = 4 * 1024 * 1024

/** Returns a function that sends requests to one provider. `signal` ends all of them. */
export function createProviderClient({ provider, url, policy }: ProviderApi, signal: AbortSignal): ProviderClient {
  // The operator chose this URL, so the limits on the ports of users' URLs do not apply.
  const own = { ...policy, ports: [portOf(new URL(url))] }
  return async (path, request = {}) => {
    try {
      signal.throwIfAborted()
      const limits = { max_bytes: MAX_BYTES, deadline_ms: DEADLINE_MS, signal }
      const { status, body } = await fetchSafely({ ...request, ...limits, url: url + path }, own)
      return { status, text: (await buffer(body)).toString() }
    } catch (cause) {
      if (signal.aborted) throw new ProviderError(`${provider} did not respond in time.`, { cause })
      if (!(cause instanceof FetchError)) throw cause
      throw new ProviderError(`${provider} could not be reached.`, { cause })
    }
  }
}

/** Per request. */
const DEADLINE_MS = 10_000

/** In characters. */
const MAX_MESSAGE = 300

/** In characters. Shorter secrets are not redacted: a user name of three letters would occur in many words. */
const MIN_SECRET = 4

/** Returns a provider's message on one line, without the credentials, which some providers repeat. */
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
  return line.length > MAX_MESSAGE ? `${line.slice(0, MAX_MESSAGE).toWellFormed()}…` : line
}
