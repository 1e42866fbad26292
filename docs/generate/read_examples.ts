/** An example of a page: the code and its output, which is '' if there is none. */
export type Example = { title: string; language: 'sh' | 'js'; code: string; answer: string }

/** Reads the fenced blocks of a page: `sh` and `js` blocks are examples; any other block is the output of the example before it. */
export function readExamples(markdown: string): Example[] {
  const examples: Example[] = []
  let title = ''
  for (const [, heading, language = '', text = ''] of markdown.matchAll(/^#+ (.+)|^```(\w*)\n((?:.*\n)*?)```$/gm)) {
    const last = examples.at(-1)
    if (heading) title = heading
    else if (language === 'sh' || language === 'js') examples.push({ title, language, code: text, answer: '' })
    else if (last?.answer === '') last.answer = text
    else throw new Error(`output without an example below "${title}"`)
  }
  return examples
}
