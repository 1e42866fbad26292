import type { Visit } from '#web/request/visit.ts'

/** A frame with a mail may open links in windows of their own, and nothing else: it has no origin and runs no script. */
export const SANDBOX = 'allow-popups allow-popups-to-escape-sandbox'

/** Bytes of the images of a mail that stand in its HTML when it is shown. */
const MAX_IMAGE_BYTES = 10_000_000

/** An image that the HTML names by `cid:`. `size` is null if it is not stored. */
export type Inline = { content_id: string | null; content_type: string; size: number | null; read(): Promise<Buffer> }

/**
 * Responds with the HTML of a mail, for a frame. A stranger has written it: nothing in it runs, and it loads images from
 * elsewhere only if the member asks for them (`?images=1`). The frame has no origin and so sends no cookies: images that
 * came with the mail are put into the HTML.
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
  ctx.body = `<!doctype html><base target="_blank">${await putIn(disarm(mail), inlines)}`
}

/** Renames elements that no policy covers: a link opens connections ahead of time, and a base decides where links lead. */
function disarm(mail: string): string {
  return mail.replaceAll(/<(?=(?:link|base|meta)\b)/gi, '<x-')
}

async function putIn(mail: string, inlines: Inline[]): Promise<string> {
  const urls = new Map<string, string>()
  let left = MAX_IMAGE_BYTES
  for (const { content_id, content_type, size, read } of inlines) {
    const isShown = content_id !== null && mail.includes(`cid:${content_id}`)
    if (!isShown || size === null || size > left || !/^image\/[\w.+-]+$/.test(content_type)) continue
    left -= size
    urls.set(content_id, `data:${content_type};base64,${(await read()).toString('base64')}`)
  }
  if (urls.size === 0) return mail
  return mail.replaceAll(/cid:([^"'\s)>]+)/gi, (whole, id: string) => urls.get(id) ?? whole)
}

/** Tells whether a mail has images from elsewhere. */
export function hasRemoteImages(mail: string): boolean {
  return /(?:src|srcset|background|poster|href)\s*=\s*["']?\s*(?:https?:)?\/\/|url\(\s*["']?\s*(?:https?:)?\/\//i.test(
    mail.replaceAll(/<a\b[^>]*>/gi, ''),
  )
}
