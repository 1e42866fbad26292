/** Maximum characters of a tracked URL. The token of a longer one would be too long for some servers and clients. */
const MAX_URL = 2_000

/** An absolute http or https URL. One with braces in its host is a placeholder of another system. */
const WEB = /^https?:\/\/[^/?#\\{}]+(?:[/?#\\]|$)/i
/** Characters that browsers ignore (WHATWG URL 4.4). */
const IGNORED = /^[\0- ]+|(?<![\0- ])[\0- ]+$|[\t\n\r]/g

/** Returns the URL of a link's target, as it is signed, or null for a link that is not tracked. */
export function trackedUrl(href: string): string | null {
  const url = href.replace(IGNORED, '')
  return url.length <= MAX_URL && WEB.test(url) && URL.canParse(url) ? url : null
}
