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
