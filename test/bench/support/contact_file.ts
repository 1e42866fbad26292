import { newId } from '#lib/ids.ts'

const PROPERTIES = ['plan', 'seats', 'city', 'country', 'company', 'role', 'score', 'source', 'language', 'since']
const NUMBERS = new Set(['seats', 'score'])

/** Maps the columns of a generated file: two names and ten properties. */
export const COLUMN_MAP = {
  ...{ email: 'email', first_name: 'first_name', last_name: 'last_name' },
  properties: Object.fromEntries(
    PROPERTIES.map(key => [key, { column: key, type: NUMBERS.has(key) ? 'number' : 'string' }]),
  ),
}

/** The nth person of a file. */
export function person(n: number, mark: string) {
  const values = [...['pro', 'free', 'team'].slice(n % 3, (n % 3) + 1), n % 90, `City ${n % 500}`, `C${n % 40}`]
  const rest = [`Company ${n % 9_000}`, `Role ${n % 12}`, n % 1_000, 'import', 'en', `2026-01-${(n % 28) + 1}`]
  return {
    email: `person${(n * 7_919) % 10_000_019}-${mark}@example${n % 50}.com`,
    ...{ first_name: `First${n % 700}`, last_name: `Last${n % 5_000}` },
    properties: Object.fromEntries([...values, ...rest].map((value, i) => [PROPERTIES[i] as string, value])),
  }
}

/** A CSV file with this many rows. */
export function contactFile(rows: number, mark: string): Buffer {
  const lines = [['email', 'first_name', 'last_name', ...PROPERTIES].join(',')]
  for (let n = 0; n < rows; n++) {
    const { email, first_name, last_name, properties } = person(n, mark)
    lines.push([email, first_name, last_name, ...Object.values(properties)].join(','))
  }
  return Buffer.from(`${lines.join('\n')}\n`)
}

/** The same rows as input of COPY into contacts. */
export function* copyLines(rows: number, mark: string, place: { account_id: string; domain_id: string }) {
  for (let n = 0; n < rows; n++) {
    const { email, first_name, last_name, properties } = person(n, mark)
    const values = [place.account_id, newId(), place.domain_id, email, first_name, last_name]
    yield `${values.join('\t')}\t${JSON.stringify(properties)}\timport\n`
  }
}
