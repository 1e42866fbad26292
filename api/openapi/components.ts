import { isDeepStrictEqual } from 'node:util'
import type { JsonSchema, NamedSchemas } from './json_schema.ts'
import { simplify } from './simplify.ts'

const SCHEMAS = '#/components/schemas/'
const RESPONSES = '#/components/responses/'

/** Schemas and responses that a document contains once and refers to. */
export class Components {
  readonly #schemas = new Map<string, JsonSchema>()
  readonly #responses = new Map<string, JsonSchema>()

  /** Adds the named schemas that a schema refers to. Returns the schema with references to them. */
  add(schema: NamedSchemas): JsonSchema {
    const { $defs = {}, ...json } = moveReferences(simplify(schema))
    for (const [name, named] of Object.entries($defs)) {
      const known = this.#schemas.get(name)
      if (known && !isDeepStrictEqual(known, named)) throw new Error(`two schemas have the name ${name}`)
      this.#schemas.set(name, named)
    }
    return json
  }

  /** Adds a response. Returns a reference to it. */
  addResponse(name: string, response: JsonSchema): JsonSchema {
    this.#responses.set(name, response)
    return { $ref: RESPONSES + name }
  }

  /** All schemas and responses, sorted by name. */
  get all(): { schemas: JsonSchema; responses: JsonSchema } {
    return { schemas: sorted(this.#schemas), responses: sorted(this.#responses) }
  }
}

function sorted(map: Map<string, JsonSchema>): JsonSchema {
  return Object.fromEntries([...map].sort(([one], [other]) => (one < other ? -1 : 1)))
}

function moveReferences(schema: NamedSchemas): NamedSchemas {
  const move = (key: string, value: unknown) =>
    key === '$ref' && typeof value === 'string' ? value.replace('#/$defs/', SCHEMAS) : value
  return JSON.parse(JSON.stringify(schema, move))
}
