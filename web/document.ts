import { type Html, html } from './html.ts'

type Parts = {
  title: string
  style_url: string
  /** Additional elements of the head. */
  head?: Html
  body: Html
}

/** Returns a complete HTML document. */
export function documentHtml({ title, style_url, head, body }: Parts): Html {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${style_url}">
${head ?? ''}
</head>
<body>
${body}
</body>
</html>
`
}
