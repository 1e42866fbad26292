import { Tokenizer } from 'htmlparser2'

/** Attribute values are decoded, names in lower case; an attribute without a value is ''. */
export type HtmlHandler = {
  open(name: string, attributes: Record<string, string>): void
  close(name: string): void
  /** Decoded; an entity comes by itself. */
  text(text: string): void
}

/**
 * Reads HTML token by token (WHATWG HTML 13.2.5) and tells the handler of its tags and text. End tags are told as they
 * stand there, whether or not they belong to a start tag: to match them takes a stack, which hostile HTML makes quadratic.
 */
export function readTokens(html: string, handler: HtmlHandler): void {
  let name = ''
  let attributes: Record<string, string> = {}
  let attribute = ''
  let value = ''
  const slice = (start: number, end: number) => html.slice(start, end)
  const tokenizer = new Tokenizer(
    { xmlMode: false, decodeEntities: true },
    {
      onopentagname: (start, end) => {
        name = slice(start, end).toLowerCase()
        attributes = {}
      },
      onattribname: (start, end) => {
        attribute = slice(start, end).toLowerCase()
        value = ''
      },
      onattribdata: (start, end) => {
        value += slice(start, end)
      },
      onattribentity: codepoint => {
        value += String.fromCodePoint(codepoint)
      },
      onattribend: () => {
        // The first of one name counts.
        if (!Object.hasOwn(attributes, attribute)) attributes[attribute] = value
      },
      onopentagend: () => handler.open(name, attributes),
      onselfclosingtag: () => handler.open(name, attributes), // as HTML reads it: `<p/>` is `<p>`
      onclosetag: (start, end) => handler.close(slice(start, end).toLowerCase()),
      ontext: (start, end) => handler.text(slice(start, end)),
      ontextentity: codepoint => handler.text(String.fromCodePoint(codepoint)),
      oncdata: () => {},
      oncomment: () => {},
      ondeclaration: () => {},
      onprocessinginstruction: () => {},
      onend: () => {},
    },
  )
  tokenizer.write(html)
  tokenizer.end()
}
