/** An example of a page: what is to be pasted, and what it answers, which is '' when it answers nothing. */
export type Example = { title: string; language: 'sh' | 'js'; code: string; answer: string }

/** The fenced blocks of a page in their order: a `sh` or a `js` one is an example, any other the answer of the one before. */
export function readExamples(markdown: string): Example[] {
  const examples: Example[] = []
  let title = ''
  for (const [, heading, language = '', text = ''] of markdown.matchAll(/^#+ (.+)|^```(\w*)\n((?:.*\n)*?)```$/gm)) {
    const last = examples.at(-1)
    if (heading) title = heading
    else if (language === 'sh' || language === 'js') examples.push({ title, language, code: text, answer: '' })
    else if (last?.answer === '') last.answer = text
    else throw new Error(`an answer to nothing below "${title}"`)
  }
  return examples
}
