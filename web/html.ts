import type { html } from 'hono/html'

/** Templates of pages: what is put into them is escaped, unless it is `raw`. */
export { html, raw } from 'hono/html'

/** Text of a template. */
export type Html = ReturnType<typeof html>
