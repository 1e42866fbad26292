/**
 * Texts that are JSON, that are not, and that parsers disagree about, after the categories of public collections of JSON texts
 * (RFC 8259).
 */
export type JsonText = { kind: 'is' | 'is not' | 'may be'; text: string | Buffer }

/** Control characters by the pictures that represent them below. */
const pictures: Record<string, string> = {
  ...{
    '␠': ' ',
    '␣': '\u00a0',
    '␉': '\t',
    '␊': '\n',
    '␋': '\v',
    '␌': '\f',
    '␍': '\r',
    '␀': '\0',
    '␟': '\x1f',
    '␡': '\x7f',
  },
  ...{ '␢': '\u2060', '‖': '\u2028', '␛': '\ufeff' },
}
const texts = (list: string) =>
  list.split('¦').map(text => text.trim().replace(/[␠␣␉␊␋␌␍␀␟␡␢‖␛]/g, picture => pictures[picture] as string))
const latin1 = (list: string[]) => list.map(text => Buffer.from(text, 'latin1'))
const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)

const valid = texts(String.raw`
  [] ¦ [[]] ¦ [[] ] ¦ [""] ¦ ["a"] ¦ [false] ¦ [null, 1, "1", {}] ¦ [null] ¦ [1␊] ¦ ␠[1] ¦ [2]␠ ¦ [1,null,2] ¦
  ␉[]␍␊ ¦ [␉1␊,␍2 ] ¦ ␠{}␠ ¦ {"a" :␊1} ¦ [123e65] ¦ [0e+1] ¦ [0e1] ¦ [ 4] ¦
  [-0.0000000000000000000000000000000001] ¦ [20e1] ¦ [-0] ¦ [-123] ¦ [-1] ¦ [1E22] ¦ [1E-2] ¦ [1E+2] ¦
  [123e45] ¦ [123.456e78] ¦ [1e-2] ¦ [1e+2] ¦ [123] ¦ [123.456789] ¦ [0] ¦ 0 ¦ -0.1 ¦ {} ¦ {"":0} ¦ {"a":[]} ¦
  {"a":"b"} ¦ {"a":"b","a":"c"} ¦ {"a":"b","a":"b"} ¦ {"a\u0001b": 42} ¦ {"a": {}} ¦
  {"min": -1.0e+28, "max": 1.0e+28} ¦ {"\u0442":"\u043e"} ¦ {␊"a": "b"␊} ¦ {"__proto__":{"polluted":1}} ¦
  {"constructor":{"prototype":{"polluted":1}}} ¦ {"toString":1,"hasOwnProperty":1} ¦ "\u0060\u012a\u12AB" ¦
  "\ud801\udc37" ¦ "\uD83D\uDE39\uD83D\uDC8D" ¦ "\"\\\/\b\f\n\r\t" ¦ "\\u0001" ¦ "\"" ¦ "a/*b*/c" ¦ "\\a" ¦
  "\\n" ¦ "\u0012" ¦ "\uFFFF" ¦ "asd" ¦ ["asd"] ¦ "\uDBFF\uDFFF" ¦ " " ¦ "" ¦ "new\u00A0line" ¦ "‖ " ¦ "␡" ¦
  "π" ¦ "􏿿" ¦ "⍂㈴⍂" ¦ "\u2064" ¦ "\u200B" ¦ "\uFDD0" ¦ "␛" ¦ "€𝄞" ¦ true ¦ false ¦ null ¦ 42`)

const invalid = texts(String.raw`
  [1 true] ¦ ["": 1] ¦ [""], ¦ [,1] ¦ [1,,2] ¦ ["x",,] ¦ ["x"]] ¦ ["",] ¦ ["x" ¦ [x ¦ [3[4]] ¦ [1,] ¦ [1,,] ¦
  ["a",␊4␊,1, ¦ [,] ¦ [-] ¦ [   , ""] ¦ [1,␊1␊,1 ¦ ["x ¦ [*] ¦ ["" ¦ [ ¦ ] ¦ [1 ¦ []] ¦ [][] ¦ [␌] ¦ [␋1] ¦
  [fals] ¦ [nul] ¦ [tru] ¦ True ¦ TRUE ¦ nulL ¦ undefined ¦ None ¦ [True] ¦ truefalse ¦ nan ¦ Infinity ¦
  [++1234] ¦ [+1] ¦ [+Inf] ¦ [-01] ¦ [-1.0.] ¦ [-2.] ¦ [-NaN] ¦ [.-1] ¦ [.2e-3] ¦ [0.1.2] ¦ [0.3e+] ¦ [0.3e] ¦
  [0.e1] ¦ [0e+] ¦ [0e] ¦ [0E+] ¦ [1.0e+] ¦ [1.0e-] ¦ [1.0e] ¦ [1 000.0] ¦ [1eE2] ¦ [2.e+3] ¦ [2.e3] ¦ [9.e+] ¦
  [Inf] ¦ [NaN] ¦ [1+2] ¦ [0x1] ¦ [0x42] ¦ [-Infinity] ¦ [1.2a-3] ¦ [1.8011670033376514H-308] ¦ [- 1] ¦ [-012] ¦
  [-.123] ¦ [-1x] ¦ [1ea] ¦ [2.] ¦ [.123] ¦ [1.2.3] ¦ [012] ¦ [１] ¦ [1e1e1] ¦ [1_000] ¦ [1n] ¦ 00 ¦ - ¦ + ¦ . ¦
  ["x", truth] ¦ {[: "x"}␊ ¦ {"x", null} ¦ {"x"::"b"} ¦ {🇨🇭} ¦ {"a":"a" 123} ¦ {key: 'value'} ¦ {"a" b} ¦
  {:"b"} ¦ {"a" "b"} ¦ {"a": ¦ {"a" ¦ {1:1} ¦ {9999E9999:1} ¦ {null:null} ¦ {"id":0,,,,,} ¦ {'a':0} ¦
  {"id":0,} ¦ {"a":"b",,"c":"d"} ¦ {"a":"b"}/**/ ¦ {"a":"b"}/**// ¦ {"a":"b"}// ¦ {"a":"b"}/ ¦ {a: "b"} ¦
  {"a":"a ¦ {"a":true} "x" ¦ {"a":"b"}# ¦ {"a":"b" ¦ { ¦ } ¦ {}} ¦ {"": ""}{} ¦ {{ ¦ {,} ¦ {"a"} ¦ {[]:1} ¦
  {"a":1 "b":2} ¦ ["\uD800\"] ¦ ["\uD800\u"] ¦ ["\uD800\u1"] ¦ ["\uD800\u1x"] ¦ [é] ¦ ["\\\"] ¦ ["\🌀"] ¦
  ["\"] ¦ ["\x00"] ¦ ["\u00A"] ¦ ["\uD834\uDd"] ¦ ["\uqqqq"] ¦ ["\a"] ¦ [\n] ¦ " ¦ ['single'] ¦ abc ¦ ["\ ¦
  ["new␊line"] ¦ ["␉"] ¦ "a" x ¦ "␀" ¦ "␟" ¦ \u0020"asd" ¦ “a” ¦ "a\ ¦ "\u ¦ ' ¦ ""x ¦ "a""b" ¦ ␢ ¦ <.> ¦
  [<null>] ¦ [1]x ¦ [1]] ¦ /**/ ¦ 2@ ¦ {}␌ ¦ ␣[] ¦ * ¦ #{} ¦ {"a":/*x*/"b"} ¦ a ¦ , ¦ [1],[2] ¦ ␛␛[] ¦ ; ¦ \ ¦
  \" ¦ {"a":1}{"a":1} ¦ %7B%7D ¦ a=b ¦ <a/> ¦ ---␊a: b ¦ {} {} ¦ ␀ ¦ ␀{} ¦ {}␀`)

const tooDeep = ['['.repeat(1_000_000), '{"":'.repeat(50_000), '{"a":[{'.repeat(30_000)]

const noUtf8 = latin1([
  ...[
    '\xe5',
    '"\xe5"',
    '["\xff"]',
    '["\xe0\xff"]',
    '["\xc0\xaf"]',
    '["\xed\xa0\x80"]',
    '["\xf4\xbf\xbf\xbf"]',
    '[\xff]',
  ],
  ...[
    '["\xfc\x83\xbf\xbf\xbf\xbf"]',
    '{"\xb9":"0"}',
    '[1\xe5]',
    '[1e1\xe5]',
    '[0\xe5]',
    '\xef\xbb',
    '"\x80"',
    '"\xf0\x9f"',
  ],
  ...['\xff\xfe[\0]\0', '\xfe\xff\0[\0]'],
])

const undecided = texts(String.raw`
  [123.456e-789] ¦ [0.4e00669999999999999999999999999999] ¦ [-1e+9999] ¦ [1.5e+9999] ¦ [-123123e100000] ¦
  [1e400] ¦ [-123123123123123123123123123123] ¦ [100000000000000000000] ¦
  [-237462374673276894279832749832423479823246327846] ¦ ["\uDADA"] ¦ ["\uD888\u1234"] ¦ ["\ud800"] ¦
  ["\uDFAA"] ¦ ["\uDd1e\uD834"] ¦ ["\uD800\uD800\n"] ¦ ["\ud800abc"] ¦ ["\u0000"] ¦ {"\u0000":1} ¦
  {"\uDFAA":0} ¦ ["a\u0000b"] ¦ ␛{} ¦ ␛`)

const large = [
  ...[
    nested(101),
    nested(500),
    nested(100_000),
    nested(1_000_000),
    `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`,
  ],
  ...[`["${'\\u0061'.repeat(500_000)}"]`, `[${'9'.repeat(1_000_000)}]`, `{"${'k'.repeat(1_000_000)}":1}`],
  ...[`[${'1,'.repeat(500_000)}1]`, `{"x":"${'x'.repeat(1_000_000)}"}`, ' '.repeat(1_000_000)],
]

export const jsonTexts: JsonText[] = [
  ...valid.map(text => ({ kind: 'is' as const, text })),
  ...[...invalid, ...noUtf8].map(text => ({ kind: 'is not' as const, text })),
  // Refused for their depth, whether or not they end correctly.
  ...tooDeep.map(text => ({ kind: 'may be' as const, text })),
  ...[...undecided, ...large].map(text => ({ kind: 'may be' as const, text })),
]
