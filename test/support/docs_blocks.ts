/** A code block of a page. `language`: '' if it is indented. */
export type Block = { page: string; language: string; text: string }

/** Pages whose curl commands test/docs/commands.test.ts runs. */
export const CURL_PAGES = ['contacts', 'campaigns', 'automations', 'polls', 'sending', 'webhooks', 'events']

/** Fenced blocks, and indented ones without their indentation. */
export function readBlocks(page: string, markdown: string): Block[] {
  const fenced = [...markdown.matchAll(/^```(\w*)\n((?:.*\n)*?)```$/gm)].map(([, language = '', text = '']) => ({
    ...{ page, language, text },
  }))
  const rest = markdown.replaceAll(/^```\w*\n(?:.*\n)*?```$/gm, '')
  const indented = [...rest.matchAll(/(?<=\n\n)(?: {4}.*\n|\n(?= {4}))+/g)].map(([text]) => ({
    ...{ page, language: '', text: text.replaceAll(/^ {4}/gm, '') },
  }))
  return [...fenced, ...indented]
}
