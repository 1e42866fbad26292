import { clientError } from '../error.ts'

/** Tells whether a text is an address of HTTP. `localhost:3000` is a URL too, with the scheme `localhost`. */
export function isWeb(text: string): boolean {
  return /^https?:/i.test(text) && URL.canParse(text)
}

/** Returns the address of a server without a slash at its end, also of that of its API. @throws {MailbrookError} `client_error` */
export function serverAddress(text: string): string {
  if (!isWeb(text)) throw clientError(`The address of the server must be a URL with http:// or https://, not ${text}`)
  return text.replace(/(?<!\/)\/+$/, '').replace(/\/api$/, '')
}

/** Encodes a query string. Lists become values separated by commas. @throws {MailbrookError} `client_error` */
export function encodeQuery(query: object = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null)
  const texts = given.map(([name, value]): [string, string] => [
    name,
    value instanceof Date ? timeOf(name, value) : String(value),
  ])
  return texts.length > 0 ? `?${new URLSearchParams(texts)}` : ''
}

function timeOf(name: string, date: Date): string {
  if (Number.isNaN(date.getTime())) throw clientError(`\`${name}\` is an invalid date.`)
  return date.toISOString()
}
