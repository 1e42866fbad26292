import { ApiError } from '#lib/errors.ts'
import type { PropertyType, PropertyValue } from './new_property.ts'

type Values = Record<string, PropertyValue | null>
type Property = { key: string; stored_as: string; type: PropertyType }

/**
 * Replaces the keys of properties with the names under which their values are stored. Null removes a value.
 *
 * @param place name of the values in errors
 * @throws {ApiError} `validation_error` for a key that is not a property of the account, or a value of the wrong type
 */
export function storedValues(values: Values, properties: Property[], place = 'properties'): Values {
  const byKey = new Map(properties.map(property => [property.key, property]))
  return Object.fromEntries(
    Object.entries(values).map(([key, value]) => {
      const property = byKey.get(key)
      if (!property)
        throw invalid(place, `has the key ${JSON.stringify(key.slice(0, 100))}, which is not a contact property`)
      if (value !== null && typeof value !== property.type)
        throw invalid(`${place}.${key}`, `must be a ${property.type}`)
      return [property.stored_as, value]
    }),
  )
}

function invalid(field: string, requirement: string): ApiError {
  return new ApiError('validation_error', `\`${field}\` ${requirement}.`)
}
