import { Tokenizer } from 'htmlparser2'

/** Attribute values are decoded, and names are in lower case. An attribute without a value is ''. */
export type HtmlHandler = {
  open(name: string, attributes: Record<string, string>): void
  close(name: string): void
  /** `text` is decoded. An entity comes in a separate call. */
  text(text: string): void
}

/**
 * Reads HTML token by token (WHATWG HTML 13.2.5) and calls the handler for its tags and text. End tags are passed on as they are,
 * whether or not they match a start tag: matching takes a stack, which hostile HTML makes quadratic.
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
        // The first of several attributes with the same name counts.
        if (!Object.hasOwn(attributes, attribute)) attributes[attribute] = value
      },
      onopentagend: () => handler.open(name, attributes),
      onselfclosingtag: () => handler.open(name, attributes), // in HTML, `<p/>` is `<p>`
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
