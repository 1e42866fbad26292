import { type Field, fieldsOf, nameOf, type Schema, type ShowRecord, typeOf } from './api_schemas.ts'
import { anchorOf, table } from './markdown.ts'

/** Fields that are already shown, with a link to their table. */
type Shown = { link: string; fields: Field[] }

/** A table refers to an earlier table that shares at least this many of its fields, and at least half of them. */
const LEAST_COMMON = 4

/** A record with fewer fields than this, all of them simple, is written inline. */
const SMALL = 3

/** The tables of one kind of schemas: requests or responses. Each is shown once; later ones refer to earlier ones. */
export class Records {
  readonly #schemas: Record<string, Schema>
  readonly #isRequest: boolean
  readonly #wanted = new Set<string>()
  readonly #links = new Map<string, string>()
  readonly #shown: Shown[] = []

  constructor(schemas: Record<string, Schema>, isRequest: boolean) {
    this.#schemas = schemas
    this.#isRequest = isRequest
  }

  /** Shows a schema below a heading. */
  show(name: string, heading: string): string {
    const schema = this.#schemas[name] as Schema
    if (schema.items) return `A ${typeOf(schema, this.refer)}.`
    if (schema.anyOf) return `One of: ${typeOf(schema, this.refer)}.`
    const link = `[${name}](#${anchorOf(heading)})`
    this.#links.set(name, link)
    return this.#tableOf(schema, link)
  }

  /** Returns a link to the table of a schema, or, for a small schema, its fields. */
  readonly refer: ShowRecord = name => {
    const schema = this.#schemas[name] as Schema
    const properties = Object.entries(schema.properties ?? {})
    const { data } = schema.properties ?? {}
    if (properties.length === 0) return typeOf(schema, this.refer)
    if (name.startsWith('ListOf') && data?.items) return `[list](#lists) of ${typeOf(data.items, this.refer)}`
    const described = properties.filter(([, { description }]) => description !== undefined)
    if (described.length < SMALL && described.every(([, member]) => this.#isSimple(member))) {
      return `\`{ ${properties.map(([name]) => name).join(', ')} }\``
    }
    if (!this.#links.has(name)) {
      this.#links.set(name, `[${name}](#${anchorOf(headingOf(name))})`)
      this.#wanted.add(name)
    }
    return this.#links.get(name) as string
  }

  /** Shows the schemas that were referred to since the last call, and those that they refer to. */
  rest(): string[] {
    const parts: string[] = []
    for (let [name] = this.#wanted; name !== undefined; [name] = this.#wanted) {
      this.#wanted.delete(name)
      parts.push(`#### ${headingOf(name)}`, this.show(name, headingOf(name)))
    }
    return parts
  }

  #isSimple({ $ref, items, properties }: Schema): boolean {
    const isRecord = $ref !== undefined && this.#schemas[nameOf($ref)]?.properties !== undefined
    return !isRecord && !properties && !items
  }

  #tableOf(schema: Schema, link: string): string {
    const fields = fieldsOf(schema, this.refer)
    const isIn = (base: Shown) => (field: Field) => base.fields.some(known => isSame(known, field))
    const common = (base: Shown) => fields.filter(isIn(base)).length
    const base = this.#shown.toSorted((one, other) => common(other) - common(one))[0]
    this.#shown.push({ link, fields })
    if (!base || common(base) < Math.max(LEAST_COMMON, fields.length / 2)) return this.#rows(fields)
    const names = new Set(fields.map(({ name }) => name))
    const missing = base.fields
      .filter(({ name }) => !names.has(name) && !isNested(name))
      .map(({ name }) => `\`${name}\``)
    const same = `The fields of ${base.link}${missing.length > 0 ? ` without ${missing.join(', ')}` : ''}`
    const others = fields.filter(field => !isIn(base)(field))
    const but = others.some(({ name }) => base.fields.some(known => known.name === name)) ? 'but' : 'and'
    return others.length > 0 ? `${same}, ${but}:\n\n${this.#rows(others)}` : `${same}.`
  }

  #rows(fields: Field[]): string {
    const rows = fields.map(field => [`\`${field.name}\``, field.type, field.description + this.#noteOn(field)])
    return table(['Field', 'Type', 'Meaning'], rows)
  }

  #noteOn({ name, isRequired }: Field): string {
    if (this.#isRequest) return isRequired && !isNested(name) ? ' **Required.**' : ''
    return isRequired ? '' : ' May be absent.'
  }
}

function headingOf(name: string): string {
  return `${name} record`
}

function isNested(name: string): boolean {
  return /[.[]/.test(name)
}

function isSame(one: Field, other: Field): boolean {
  return (Object.keys(one) as (keyof Field)[]).every(key => one[key] === other[key])
}
