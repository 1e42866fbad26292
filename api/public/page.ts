import { createHash } from 'node:crypto'
import type { Context } from '#api/context.ts'
import { readableColor } from '#lib/domains/brand.ts'
import { escapeHtml } from '#lib/escape_html.ts'
import { LANGUAGES } from './languages/index.ts'
import type { Words } from './languages/words.ts'

export type Language = { tag: string; words: Words }

const COLOR = '#1f4fa3'

/** Returns the best language for the Accept-Language of a request. */
export function languageOf(ctx: Context): Language {
  const [first = ''] = Object.keys(LANGUAGES)
  const tag = ctx.acceptsLanguages(...Object.keys(LANGUAGES)) || first
  return { tag, words: LANGUAGES[tag] as Words }
}

/**
 * Fills in the placeholders of a text and returns HTML. The values are plain text, or lists of it. Each is isolated, so that a
 * name in a script that is written from right to left does not move the words around it.
 */
export function fill(text: string, values: Record<string, string | string[]>): string {
  return escapeHtml(text).replace(/\{(\w+)\}/g, (whole, name) => {
    const value = values[name]
    return value === undefined ? whole : [value].flat().map(isolated).join(', ')
  })
}

function isolated(value: string): string {
  return `<bdi>${escapeHtml(value)}</bdi>`
}

/**
 * Buttons are at least 44 px high: WCAG 2.2, criterion 2.5.5. Sizes in rem grow with the text size of the reader. Texts of the
 * sender have the direction of their own script.
 */
function styleOf(color: string): string {
  return `*{box-sizing:border-box}
body{margin:0;padding:1.5rem 1rem;background:#f4f4f5;color:#1c1c1f;font:1rem/1.5 system-ui,sans-serif}
main{max-width:34rem;margin:0 auto;padding:1.5rem;background:#fff;border-radius:.5rem;overflow-wrap:anywhere}
h1{margin:0 0 .25rem;font-size:1.5rem;line-height:1.25}
p{margin:0 0 1rem}
h1,legend,span,small{unicode-bidi:plaintext}
img{display:block;max-width:100%;max-height:4rem;margin:0 0 1rem}
[role=status]:empty{display:none}
[role=status]{margin:0 0 1rem;padding:.75rem 1rem;border-left:.25rem solid ${color};background:#eef2f8}
[role=status] p:last-child{margin:0}
form{margin:0 0 1rem}
fieldset{margin:0 0 1rem;padding:0;border:0}
legend{padding:0;margin:0 0 .5rem;font-weight:600}
label{display:flex;gap:.75rem;min-height:44px;padding:.625rem 0;border-top:1px solid #d4d4d8;cursor:pointer}
input{flex:none;width:1.5rem;height:1.5rem;margin:0;accent-color:${color}}
small{display:block;color:#52525b;font-size:.9375rem}
button{min-height:44px;padding:.5rem 1.25rem;border:2px solid ${color};border-radius:.375rem;background:${color};color:#fff;font:inherit;font-weight:600;cursor:pointer}
button.second{background:#fff;color:${color}}
:focus-visible{outline:3px solid #1c1c1f;outline-offset:2px}`
}

type PageParts = { title: string; body: string; color?: string | null; logo_url?: string | null }

/** Responds with a page that runs no scripts, sends no referrer and is not cached. */
export function showPage(ctx: Context, language: Language, status: number, parts: PageParts): void {
  const style = styleOf(readableColor(parts.color ?? COLOR))
  const hash = createHash('sha256').update(style).digest('base64')
  const images = parts.logo_url ? `; img-src ${new URL(parts.logo_url).origin}` : ''
  setPrivate(ctx)
  ctx.set({
    'content-security-policy': `default-src 'none'; style-src 'sha256-${hash}'${images}; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`,
    'content-language': language.tag,
  })
  ctx.vary('accept-language')
  ctx.status = status
  ctx.type = 'html'
  ctx.body = `<!doctype html>
<html lang="${language.tag}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${parts.title}</title>
<style>${style}</style>
</head>
<body>
<main>
${parts.body}
</main>
</body>
</html>
`
}

/** The token in the address must not get into a cache or to another server. */
export function setPrivate(ctx: Context): void {
  ctx.set({
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    'x-robots-tag': 'noindex',
  })
}
