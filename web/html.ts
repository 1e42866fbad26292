import type { html } from 'hono/html'

/** Templates of pages. Values in them are escaped unless they are `raw`. */
export { html, raw } from 'hono/html'

/** The result of a template. */
export type Html = ReturnType<typeof html>
