import type { Visit } from '#web/request/visit.ts'

/** Lets a frame with mail open links in new windows, and nothing else: it has no origin and runs no scripts. */
export const SANDBOX = 'allow-popups allow-popups-to-escape-sandbox'

/** Maximum bytes of attached images that are put into the HTML of one email. */
const MAX_IMAGE_BYTES = 10_000_000

/** An image that the HTML refers to by `cid:`. `size` is null if it is not stored. */
export type Inline = { content_id: string | null; content_type: string; size: number | null; read(): Promise<Buffer> }

/**
 * Responds with the HTML of an email, for a frame. The HTML is untrusted: no script runs, and remote images are loaded only
 * if the member requests them (`?images=1`). The frame has no origin and therefore sends no cookies, so attached images
 * become data URLs in the HTML.
 */
export async function respondMail({ ctx, query }: Visit, mail: string, inlines: Inline[] = []): Promise<void> {
  const images = query.images === '1' ? 'data: http: https:' : 'data:'
  const policy = [
    `sandbox ${SANDBOX}`,
    ...["default-src 'none'", "style-src 'unsafe-inline'", `img-src ${images}`],
    ...["form-action 'none'", "base-uri 'none'", "frame-ancestors 'self'"],
  ]
  ctx.set({
    'cache-control': 'no-store',
    'content-disposition': 'inline',
    'content-security-policy': policy.join('; '),
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    'x-dns-prefetch-control': 'off',
  })
  ctx.set('content-type', 'text/html; charset=utf-8')
  ctx.body = `<!doctype html><base target="_blank">${await inlineImages(neutralize(mail), inlines)}`
}

/** Renames elements that the policy does not cover: `link` can open connections, and `base` can redirect links. */
function neutralize(mail: string): string {
  return mail.replaceAll(/<(?=(?:link|base|meta)\b)/gi, '<x-')
}

const REFERENCE = /cid:([^"'\s)>]+)/gi

/**
 * Puts attached images into the HTML. Their bytes count once per place that shows them: a stranger may show one image thousands of
 * times.
 */
async function inlineImages(mail: string, inlines: Inline[]): Promise<string> {
  const places = new Map<string, number>()
  for (const [, id = ''] of mail.matchAll(REFERENCE)) places.set(id, (places.get(id) ?? 0) + 1)
  const urls = new Map<string, string>()
  let left = MAX_IMAGE_BYTES
  for (const { content_id, content_type, size, read } of inlines) {
    if (content_id === null || size === null || !/^image\/[\w.+-]+$/.test(content_type)) continue
    const bytes = size * (places.get(content_id) ?? 0)
    if (bytes === 0 || bytes > left) continue
    left -= bytes
    urls.set(content_id, `data:${content_type};base64,${(await read()).toString('base64')}`)
  }
  if (urls.size === 0) return mail
  return mail.replaceAll(REFERENCE, (whole, id: string) => urls.get(id) ?? whole)
}

/** Returns true if the HTML refers to remote images. Takes linear time, since strangers may have written it. */
export function hasRemoteImages(mail: string): boolean {
  return /(?:(?:src|srcset|background|poster|href)\s*=|url\()\s*(?:["']\s*)?(?:https?:)?\/\//i.test(
    mail.replaceAll(/<a\b[^<>]*>/gi, ''),
  )
}
