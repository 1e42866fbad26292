/** Characters of a URL. The token of a longer one is too long for some servers and clients on its way. */
const MAX_URL = 2_000

/** An absolute URL of the web; one with braces in its host waits for a value of somebody else. */
const WEB = /^https?:\/\/[^/?#\\{}]+(?:[/?#\\]|$)/i
/** Browsers read over these (WHATWG URL 4.4). */
const READ_OVER = /^[\0- ]+|[\0- ]+$|[\t\n\r]/g

/** Returns the URL that a link leads to, as it is signed; null: a link that is not tracked. */
export function trackedUrl(href: string): string | null {
  const url = href.replace(READ_OVER, '')
  return url.length <= MAX_URL && WEB.test(url) && URL.canParse(url) ? url : null
}
