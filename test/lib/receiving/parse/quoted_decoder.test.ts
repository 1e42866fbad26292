import { buffer } from 'node:stream/consumers'
import t from 'tap'
import { QuotedDecoder } from '#lib/receiving/parse/quoted_decoder.ts'

const cases: Record<string, string> = {
  'a=3Db=c3=A9': 'a=b\xc3\xa9',
  'soft=\r\n line=  \r\nend': 'soft lineend',
  'bare=\nfeed': 'barefeed',
  'blanks  \t\r\nat  the end \n.': 'blanks\r\nat  the end\n.',
  'at the very end=': 'at the very end',
  'at the very end  ': 'at the very end',
  '=ZZ =4 =': '=ZZ =4 ',
  'a = b': 'a = b',
  '=\r=41': '=\rA',
  [`x${' '.repeat(3_000)}y`]: `x${' '.repeat(3_000)}y`,
  '\xe9=E9': '\xe9\xe9',
}

for (const [encoded, decoded] of Object.entries(cases)) {
  t.test(`${JSON.stringify(encoded.slice(0, 30))} is decoded, wherever it is cut`, async t => {
    for (let cut = 0; cut <= Math.min(encoded.length, 40); cut++) {
      const decoder = new QuotedDecoder()
      for (const piece of [encoded.slice(0, cut), encoded.slice(cut)]) decoder.write(Buffer.from(piece, 'latin1'))
      decoder.end()
      t.equal((await buffer(decoder)).toString('latin1'), decoded, `at ${cut}`)
    }
  })
}
