import fc from 'fast-check'
import t from 'tap'
import { searchedBlock, searchedTerms } from '#lib/sending/search_terms.ts'

const email = {
  id: '01a1fe06-bc30-74e2-b59b-779a16313e3d',
  text: 'invoice 100% ünï\nshop <s@b.com>\nx@y.com',
  sender: 'Shop <S@b.com>',
  to: ['X@y.com', '"<a@b.com>" <c@d.com>'],
  domain_id: 'd',
  template_id: 't',
  tags: [{ name: 'kind', value: 'v' }],
}

const termsOfEmails = (account_id: string, fields = {}) =>
  searchedBlock(account_id, [email, { ...email, ...fields }]).terms

t.test('a substring of a line has only terms of that line', async t => {
  const line = fc.string({ unit: 'binary', minLength: 1, maxLength: 40 }).map(text => text.replace(/\n/g, ' '))
  fc.assert(
    fc.property(
      fc.array(line, { minLength: 1, maxLength: 4 }),
      fc.nat(),
      fc.nat(),
      fc.nat(),
      (lines, n, from, length) => {
        const searched = lines[n % lines.length] as string
        const start = from % searched.length
        const q = searched.slice(start, start + 1 + (length % (searched.length - start)))
        const terms = new Set(termsOfEmails('a', { text: lines.join('\n') }))
        return (
          searchedTerms('a', { q }).terms.length > 0 && searchedTerms('a', { q }).terms.every(term => terms.has(term))
        )
      },
    ),
  )
  t.pass('it holds')
})

const found: Parameters<typeof searchedTerms>[1][] = [
  ...[{ from: 's@b.com' }, { to: 'x@y.com' }, { to: 'c@d.com' }, { domain: 'd' }, { tag: 'kind' }, { tag: 'kind:v' }],
  ...[{ template: 't' }, { tag: 'kind', from: 's@b.com' }, { template: 't', to: 'c@d.com' }],
  { q: 'shop <s@b.com>', from: 's@b.com', to: 'x@y.com', domain: 'd', template: 't', tag: 'kind' },
]

t.test('addresses, domains, templates and tags are matched as a whole', async t => {
  const terms = new Set(termsOfEmails('a'))
  for (const values of found) {
    t.ok(
      searchedTerms('a', values).terms.every(term => terms.has(term)),
      JSON.stringify(values),
    )
  }
  for (const values of [{ from: 'x@y.com' }, { to: 'a@b.com' }, { tag: 'v' }, { q: 'x@y.coms' }, { q: 'com\nx' }]) {
    t.notOk(
      searchedTerms('a', values).terms.every(term => terms.has(term)),
      JSON.stringify(values),
    )
  }
})

t.test('the needle and marks of a search occur in order in the text of its block', async t => {
  const terms = ['\uf8ff\uf000', '\ue000\ue800', '\u{f0000}x'].map(part => `a${part}b`)
  for (const values of [...found, ...terms.map(q => ({ q, to: 'x@y.com', tag: 'kind' }))]) {
    const emails = [email, { ...email, text: `${values.q ?? ''}\n${terms}`, id: 'second' }]
    const { text, ids } = searchedBlock('a', emails)
    const entries = text.split('\uf8ff')
    t.strictSame([entries.length, ids], [3, emails.map(({ id }) => id)])
    const { needle = '', marks } = searchedTerms('a', values)
    let end = entries[1]?.indexOf(needle) ?? -1
    for (const mark of marks.split('%')) end = end === -1 ? -1 : (entries[1]?.indexOf(mark, end + 1) ?? -1)
    t.not(end, -1, JSON.stringify(values))
  }
})

t.test('accounts share no search terms, and long text has at most 16', async t => {
  const [mine, theirs] = ['a', 'b'].map(account_id => new Set(termsOfEmails(account_id)))
  t.equal(mine?.intersection(theirs as Set<number>).size, 0)
  t.ok(searchedTerms('a', { q: 'abcdefghij'.repeat(90) }).terms.length <= 16)
})
